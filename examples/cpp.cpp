/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* From C++17, by tandem.hpp: objects that free themselves, exceptions made of statuses, and tensors from and to
 * vectors. The hidden layer of a small network.
 *
 *     c++ -std=c++17 cpp.cpp $(pkg-config --cflags --libs tandem) -o cpp */
#include <cmath>
#include <cstdio>
#include <vector>

#include <tandem/tandem.hpp>

namespace {
double run() {
    const std::vector<float> numbers = {1, 2, 3, 4}, weights = {0.5F, -0.5F, 1, 0.25F};
    const tandem::Device device = tandem::Device::open();
    const tandem::Queue queue(device);
    const tandem::Tensor x = tandem::Tensor::from_host(queue, numbers, {2, 2});
    const tandem::Tensor weight = tandem::Tensor::from_host(queue, weights, {2, 2});
    tandem::Tensor y = tandem::Tensor::empty(device, TDM_F32, {2, 2});
    tandem::check(tdm_linear(queue, x, weight, nullptr, TDM_ACTIVATION_TANH, y));
    const std::vector<float> result = y.to_host<float>(queue);

    const double wanted[] = {-0.5, 1.5, -0.5, 4}; /* x times the transpose of the weights */
    double worst = 0;
    for (std::size_t i = 0; i < result.size(); i++) {
        std::printf("%s%.4f", i ? " " : "", static_cast<double>(result[i]));
        worst = std::fmax(worst, std::fabs(static_cast<double>(result[i]) - std::tanh(wanted[i])));
    }
    std::printf("\n");
    return worst;
}
} // namespace

int main() {
    try {
        tandem::Device::open("gpu:99");
    } catch (const tandem::Error &failure) {
        std::printf("caught: %s\n", failure.what());
    }
    try {
        const double worst = run();
        std::printf("right within 1e-6: %s\n", worst < 1e-6 ? "yes" : "no");
        return worst < 1e-6 ? 0 : 1;
    } catch (const tandem::Error &failure) {
        std::fprintf(stderr, "cpp: %s\n", failure.what());
        return 1;
    }
}

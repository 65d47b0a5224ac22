/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* From C++17, by tandem.hpp: objects that free themselves, exceptions made of statuses, and operations as functions
 * that return tensors. The second half of a transformer's block: LayerNorm, two linear layers and the residual.
 *
 *     c++ -std=c++17 cpp.cpp $(pkg-config --cflags --libs tandem) -o cpp */
#include <cmath>
#include <cstdio>
#include <vector>

#include <tandem/tandem.hpp>

namespace {
tandem::Tensor block(const tandem::Queue &queue, const tandem::StateDict &net,
                     const tandem::Tensor &x) {
    const auto normal = tandem::layer_norm(queue, x, net.get_tensor("norm.weight"));
    const auto hidden = tandem::linear(queue, net, "up.", normal, TDM_ACTIVATION_TANH);
    return tandem::add(queue, x, tandem::linear(queue, net, "down.", hidden));
}

double run() {
    const tandem::Device device = tandem::Device::open();
    const tandem::Queue queue(device);
    const auto from = [&](const std::vector<float> &numbers, const tandem::Shape &shape) {
        return tandem::Tensor::from_host(queue, numbers, shape);
    };
    tandem::StateDict net = tandem::StateDict::create();
    net.set("norm.weight", from({1, 2}, {2}));
    net.set("up.weight", from({0.5F, 0, 0, 0.5F, 1, 0.5F}, {3, 2}));
    net.set("down.weight", from({1, 0, 0, 0, 1, -1}, {2, 3}));
    const tandem::Tensor y = block(queue, net, from({1, 3, 5, 2}, {2, 2}));
    std::printf("%s\n", tandem::format(queue, y).c_str());

    /* a row's norm is (-1, 2) or, where the first is the larger, (1, -2) */
    const double half = std::tanh(0.5), one = std::tanh(1.0);
    const double wanted[] = {1 - half, 3 + one, 5 + half, 2 - one};
    const std::vector<float> result = y.to_host<float>(queue);
    double worst = 0;
    for (std::size_t i = 0; i < result.size(); i++)
        worst = std::fmax(worst, std::fabs(static_cast<double>(result[i]) - wanted[i]));
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
        std::printf("right within 1e-4: %s\n", worst < 1e-4 ? "yes" : "no");
        return worst < 1e-4 ? 0 : 1;
    } catch (const tandem::Error &failure) {
        std::fprintf(stderr, "cpp: %s\n", failure.what());
        return 1;
    }
}

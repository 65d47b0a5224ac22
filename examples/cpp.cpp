/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* From C++17: objects that free themselves, exceptions made of statuses, and TDM_SHAPE, which works
 * as in C. The hidden layer of a small network.
 *
 *     c++ -std=c++17 cpp.cpp $(pkg-config --cflags --libs tandem) -o cpp */
#include <cmath>
#include <cstdio>
#include <memory>
#include <stdexcept>
#include <vector>

#include <tandem/tandem.h>

namespace {
void check(tdm_status status) {
    if (status != TDM_OK) throw std::runtime_error(tdm_last_error());
}

/* The library's objects, each with the function that ends it. */
struct Delete {
    void operator()(tdm_device *device) const { tdm_device_release(device); }
    void operator()(tdm_queue *queue) const { tdm_queue_destroy(queue); }
};
using Device = std::unique_ptr<tdm_device, Delete>;
using Queue = std::unique_ptr<tdm_queue, Delete>;

Device open_device(const char *name) {
    tdm_device *device;
    check(tdm_device_open(name, &device));
    return Device(device);
}

Queue make_queue(const Device &device) {
    tdm_queue *queue;
    check(tdm_queue_create(device.get(), 0, &queue));
    return Queue(queue);
}

/* A tensor with a reference of its own. */
class Tensor {
  public:
    Tensor() = default;
    Tensor(const Tensor &other) : tensor(tdm_tensor_retain(&other.tensor)) {}
    Tensor &operator=(const Tensor &) = delete;
    ~Tensor() { tdm_tensor_release(&tensor); }
    tdm_tensor *get() { return &tensor; }

  private:
    tdm_tensor tensor = {};
};

double run() {
    const std::vector<float> numbers = {1, 2, 3, 4}, weights = {0.5F, -0.5F, 1, 0.25F};
    std::vector<float> result(4);
    Device device = open_device(nullptr);
    Queue queue = make_queue(device);
    Tensor x, weight, y;
    check(tdm_from_host(queue.get(), numbers.data(), TDM_F32, TDM_SHAPE(2, 2), x.get()));
    check(tdm_from_host(queue.get(), weights.data(), TDM_F32, TDM_SHAPE(2, 2), weight.get()));
    check(tdm_empty(device.get(), TDM_F32, TDM_SHAPE(2, 2), y.get()));
    check(tdm_linear(queue.get(), x.get(), weight.get(), nullptr, TDM_ACTIVATION_TANH, y.get()));
    check(tdm_to_host(queue.get(), y.get(), result.data()));

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
        open_device("gpu:99");
    } catch (const std::runtime_error &failure) {
        std::printf("caught: %s\n", failure.what());
    }
    try {
        const double worst = run();
        std::printf("right within 1e-6: %s\n", worst < 1e-6 ? "yes" : "no");
        return worst < 1e-6 ? 0 : 1;
    } catch (const std::runtime_error &failure) {
        std::fprintf(stderr, "cpp: %s\n", failure.what());
        return 1;
    }
}

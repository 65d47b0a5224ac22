/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* tandem.hpp: ownership after copies, moves and exceptions, by the device's own count of memory in use; and failures
 * throw the C API's status and message. */
#include <cstdio>
#include <limits>
#include <string>
#include <type_traits>
#include <vector>

#include <tandem/tandem.hpp>

namespace {
int failures;

void expect(bool right, const char *what, int line) {
    if (right) return;
    failures++;
    std::printf("handles.cpp:%d: not so: %s\n", line, what);
}
#define EXPECT(right) expect(right, #right, __LINE__)

std::uint64_t in_use(const tandem::Device &device) {
    tdm_memory_stats stats = TDM_MEMORY_STATS_DEFAULTS;
    tandem::check(tdm_device_get_memory_stats(device, &stats));
    return stats.in_use;
}

template <typename Function>
void expect_error(tdm_status status, const char *part, int line, Function function) {
    try {
        function();
        expect(false, "it throws", line);
    } catch (const tandem::Error &error) {
        expect(error.status() == status, tdm_status_name(error.status()), line);
        expect(std::string(error.what()).find(part) != std::string::npos, error.what(), line);
    }
}

template <typename Function>
void expect_invalid(int line, Function function, const std::string &part = "") {
    try {
        function();
        expect(false, "it throws", line);
    } catch (const std::invalid_argument &error) {
        expect(std::string(error.what()).find(part) != std::string::npos, error.what(), line);
    }
}

template <typename T> constexpr bool is_unique() {
    return std::is_nothrow_move_constructible_v<T> && std::is_nothrow_move_assignable_v<T> &&
           !std::is_copy_constructible_v<T> && !std::is_copy_assignable_v<T>;
}

template <typename T> constexpr bool is_counted() {
    return std::is_nothrow_move_constructible_v<T> && std::is_nothrow_move_assignable_v<T> &&
           std::is_nothrow_copy_constructible_v<T> && std::is_nothrow_copy_assignable_v<T>;
}

static_assert(is_unique<tandem::Queue>() && is_unique<tandem::Event>() &&
              is_unique<tandem::Graph>() && is_unique<tandem::StateDict>() &&
              is_unique<tandem::Transfer>() && is_unique<tandem::File>() &&
              is_unique<tandem::Mirror>() && is_unique<tandem::CacheListing>());
static_assert(is_counted<tandem::Device>() && is_counted<tandem::Buffer>() &&
              is_counted<tandem::Tensor>());
static_assert(!std::is_convertible_v<tdm_queue *, tandem::Queue>, "owning is said aloud");
static_assert(tandem::dtype_of<float>() == TDM_F32 && tandem::dtype_of<double>() == TDM_F64 &&
              tandem::dtype_of<std::int8_t>() == TDM_I8 &&
              tandem::dtype_of<std::uint16_t>() == TDM_U16 && tandem::dtype_of<int>() == TDM_I32 &&
              tandem::dtype_of<long long>() == TDM_I64 && tandem::dtype_of<bool>() == TDM_BOOL &&
              tandem::dtype_of<unsigned long long>() == TDM_U64);

void test_references(const tandem::Device &device) {
    const std::uint64_t before = in_use(device);
    {
        tandem::Buffer a(device, 1000);
        EXPECT(in_use(device) == before + 1000);
        tandem::Buffer b = a; /* one more reference */
        a.reset();
        EXPECT(!a && a.get() == nullptr && b);
        EXPECT(in_use(device) == before + 1000);
        a = b;
        const tandem::Buffer &same = a;
        a = same; /* onto itself */
        b = std::move(a);
        EXPECT(!a && tdm_buffer_get_size(b) == 1000); // NOLINT: empty after the move
        b = tandem::Buffer(device, 10);               /* the first one ends */
        EXPECT(in_use(device) == before + 10);
        tdm_buffer *mine = b.release();
        EXPECT(!b && in_use(device) == before + 10);
        const tandem::Buffer shared = tandem::Buffer::of(mine);
        tdm_buffer_release(mine);
        EXPECT(in_use(device) == before + 10);
    }
    EXPECT(in_use(device) == before);
    tandem::Device again = device, other = tandem::Device::of(device);
    EXPECT(again.get() == device.get() && other.get() == device.get());
    EXPECT(std::string(again.info().id) == "cpu:0");
}

void test_tensors(const tandem::Device &device, const tandem::Queue &queue) {
    const std::uint64_t before = in_use(device);
    {
        const std::vector<float> numbers = {1, 2, 3, 4, 5, 6};
        tandem::Tensor x = tandem::Tensor::from_host(queue, numbers, {2, 3});
        tandem::Tensor copy = x;
        EXPECT(copy->buffer == x->buffer && x->ndim == 2 && x.count() == 6);
        tandem::Tensor moved = std::move(copy);
        EXPECT(!copy && moved && !copy->buffer);  // NOLINT: empty after the move
        moved = tandem::Tensor::of(*moved.get()); /* one more reference, moved onto itself */
        EXPECT(moved.to_host<float>(queue) == numbers);

        tdm_tensor column;
        tandem::check(tdm_tensor_slice(x, 1, 1, 1, 1, &column));
        tandem::Tensor view = tandem::Tensor::of(column);
        x.reset();
        moved.reset();
        EXPECT(!x && in_use(device) > before); /* the view keeps the memory */
        EXPECT(view.to_host<float>(queue) == std::vector<float>({2, 5}));

        tandem::Tensor y = tandem::Tensor::zeros(queue, TDM_F32, {2, 1});
        tandem::check(tdm_add(queue, view, view, y));
        EXPECT(y.to_host<float>(queue) == std::vector<float>({4, 10}));
        tandem::check(tdm_ones(queue, TDM_I64, TDM_SHAPE(3), x));
        EXPECT(x.to_host<std::int64_t>(queue) == std::vector<std::int64_t>(3, 1));
        const std::vector<std::int64_t> extents = {1, 2, 1};
        EXPECT(tandem::Tensor::full(queue, 7, TDM_U8, extents).to_host<std::uint8_t>(queue) ==
               std::vector<std::uint8_t>(2, 7));
    }
    EXPECT(in_use(device) == before);
}

void test_failures(const tandem::Device &device, const tandem::Queue &queue) {
    const std::uint64_t before = in_use(device);
    const std::vector<float> four(4);
    const auto huge = std::numeric_limits<std::int64_t>::max();
    using tandem::Tensor;
    expect_error(
        TDM_ERROR_NOT_FOUND, "gpu:99", __LINE__, [] { tandem::Device::open("gpu:99"); });
    expect_error(
        TDM_ERROR_OUT_OF_MEMORY, "", __LINE__,
        [&] { tandem::Buffer(device, std::numeric_limits<std::size_t>::max() / 2); });
    expect_error(
        TDM_ERROR_INVALID_ARGUMENT, "flags", __LINE__, [&] { tandem::Queue(device, 64); });
    expect_error(TDM_ERROR_IO, "no-such-file", __LINE__,
                 [&] { tandem::StateDict::load(queue, "no-such-file"); });
    expect_error(
        TDM_ERROR_INVALID_SHAPE, "", __LINE__,
        [&] {
            Tensor x = Tensor::from_host(queue, four, {2, 2}),
                   y = Tensor::zeros(queue, TDM_F32, {3});
            tandem::check(tdm_softmax(queue, x, y));
        });
    expect_error(
        TDM_ERROR_INVALID_SHAPE, "ndim", __LINE__,
        [&] {
            Tensor::empty(queue, TDM_F32, {1, 1, 1, 1, 1, 1, 1, 1});
        });
    expect_error(
        TDM_ERROR_INVALID_SHAPE, "ndim", __LINE__,
        [&] { Tensor::empty(queue, TDM_F32, std::vector<std::int64_t>()); });
    expect_error(TDM_ERROR_INVALID_ARGUMENT, "queue", __LINE__,
                 [&] { tandem::check(tdm_queue_finish(tandem::Queue())); });
    for (const tandem::Shape &shape :
         {tandem::Shape{5}, tandem::Shape{2, 1}, tandem::Shape{0}, tandem::Shape{-2, -2},
          tandem::Shape{-4, -1}, tandem::Shape{huge, huge, 4}, tandem::Shape{3}})
        expect_invalid(__LINE__, [&] { Tensor::from_host(queue, four, shape); });
    for (const tandem::Shape &shape :
         {tandem::Shape(std::vector<std::int64_t>()), tandem::Shape{1, 1, 1, 1, 1, 1, 4}})
        expect_error(
            TDM_ERROR_INVALID_SHAPE, "ndim is", __LINE__,
            [&] { Tensor::from_host(queue, four, shape); });
    expect_invalid(
        __LINE__,
        [&] {
            Tensor::from_host(queue, four, {2, 3});
        },
        "4 elements, which is not what the shape [2, 3] has");
    expect_invalid(__LINE__, [&] { Tensor::from_host(queue, four, {4}).to_host<double>(queue); });
    Tensor x = Tensor::from_host(queue, four, {2, 2});
    const Tensor none;
    expect_invalid(
        __LINE__,
        [&] {
            Tensor(x).write(queue, std::vector<int>{1, 2});
        },
        "2 elements of i32, the tensor is of f32 and of shape [2, 2]");
    for (int i = 0; i < 11; i++)
        expect_error(
            TDM_ERROR_INVALID_ARGUMENT, "an operand is an empty Tensor", __LINE__,
            [&] {
                if (i == 0) tandem::softmax(queue, none);
                if (i == 1) tandem::add(queue, x, none);
                if (i == 2) tandem::sum(queue, none);
                if (i == 3) tandem::linear(queue, none, x);
                if (i == 4) tandem::matmul(queue, none, none);
                if (i == 5) tandem::where(queue, none, x, x);
                if (i == 6) tandem::attention(queue, none, x, x);
                if (i == 7) tandem::repeat(queue, none, 2, 0);
                if (i == 8) tandem::diff(queue, none);
                if (i == 9) tandem::tile(queue, none, {2});
                if (i == 10) tandem::stack(queue, {none, x}, 0);
            });
    expect_error(
        TDM_ERROR_INVALID_ARGUMENT, "b has no buffer", __LINE__,
        [&] { tandem::matmul(queue, x, none); });
    expect_error(
        TDM_ERROR_INVALID_ARGUMENT, "weight has no buffer", __LINE__,
        [&] { tandem::linear(queue, x, none); });
    expect_error(TDM_ERROR_NOT_FOUND, "the device's name is empty; NULL is the default one",
                 __LINE__, [] { tandem::Device::open(""); });
    for (int i = 0; i < 3; i++)
        expect_error(TDM_ERROR_OUT_OF_RANGE, "overflows 64 bits", __LINE__, [&] {
            if (i == 0) tandem::tile(queue, x, {huge, 1});
            if (i == 1) tandem::repeat(queue, x, huge / 2 + 2, 1);
            const Tensor wide = tandem::broadcast(x, {huge / 32, 2, 2});
            if (i == 2) tandem::concat(queue, std::vector<Tensor>(40, wide), 0);
        });
    for (const std::int64_t times : {std::int64_t(-1), -huge - 1})
        expect_error(
            TDM_ERROR_INVALID_SHAPE, "dimension 0 of shape is -2", __LINE__,
            [&] { tandem::repeat(queue, x, times, 0); });
    expect_error(TDM_ERROR_INVALID_ARGUMENT, "n is -", __LINE__,
                 [&] { tandem::diff(queue, x, 0, -huge - 1); });
    for (const auto count : {1, 3})
        expect_invalid(
            __LINE__,
            [&] {
                tandem::roll(queue, x, std::vector<std::int64_t>(std::size_t(count)), {0, 1});
            },
            "as many shifts as dims");
    x.reset();
    EXPECT(tandem::Shape({0, huge, huge}).has(0) && !tandem::Shape({0, 2}).has(2));
    EXPECT(in_use(device) == before);
}

void test_graph(const tandem::Device &device, const tandem::Queue &queue) {
    tandem::Tensor x = tandem::Tensor::full(queue, 1, TDM_F32, {4});
    tandem::Graph graph(queue);
    tandem::check(tdm_graph_begin(graph));
    tandem::check(tdm_add(queue, x, x, x));
    tandem::check(tdm_graph_end(graph));
    for (int i = 0; i < 3; i++)
        tandem::check(tdm_graph_replay(graph));
    tandem::Event event(device);
    tandem::check(tdm_queue_record_event(queue, event));
    tandem::check(tdm_event_wait(event));
    queue.finish();
    EXPECT(x.to_host<float>(queue) == std::vector<float>(4, 8));
    tandem::StateDict dict = tandem::StateDict::create();
    tandem::check(tdm_state_dict_set(dict, "x", x));
    x.reset();
    EXPECT(tdm_state_dict_get_count(dict) == 1);
    tandem::Event none, moved = std::move(event);
    EXPECT(!none && !event && moved); // NOLINT: empty after the move
}
} // namespace

int main() {
    try {
        const tandem::Device device = tandem::Device::open("cpu");
        const tandem::Queue queue(device);
        test_references(device);
        test_tensors(device, queue);
        test_failures(device, queue);
        test_graph(device, queue);
        EXPECT(in_use(device) == 0);
    } catch (const std::exception &failure) {
        std::printf("handles.cpp: %s\n", failure.what());
        return 1;
    }
    std::printf("C++ %ld: %d failures\n", static_cast<long>(__cplusplus / 100), failures);
    return failures ? 1 : 0;
}

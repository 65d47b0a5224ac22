/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* operations.hpp and functions.hpp: shapes, dtypes and values of what functions return; kernels, graphs and views by
 * the classes of objects.hpp. Numbers in them are the C functions', which the suite tests. */
#include <cmath>
#include <cstdio>
#include <limits>
#include <string>
#include <vector>

#include <tandem/tandem.hpp>

namespace {
using tandem::Tensor;
using Numbers = std::vector<float>;
using Extents = std::vector<std::int64_t>;

int failures;

void expect(bool right, const char *what, int line) {
    if (right) return;
    failures++;
    std::printf("operations.cpp:%d: not so: %s\n", line, what);
}
#define EXPECT(right) expect(right, #right, __LINE__)

struct Machine {
    tandem::Device device = tandem::Device::open();
    tandem::Queue queue = tandem::Queue(device);

    Tensor of(const Numbers &numbers, const tandem::Shape &shape, tdm_dtype dtype = TDM_F32) const {
        const Tensor made = Tensor::from_host(queue, numbers, shape);
        return dtype == TDM_F32 ? made : tandem::cast(queue, made, dtype);
    }

    /* Has y this dtype, this shape and, within 1e-5 of each, these numbers? */
    bool is(const Tensor &y, tdm_dtype dtype, const Extents &shape, const Numbers &want) const {
        const Numbers got = tandem::cast(queue, y, TDM_F32).to_host<float>(queue);
        bool right = y->dtype == dtype && y.shape() == shape && got.size() == want.size();
        for (std::size_t i = 0; right && i < got.size(); i++)
            right = std::fabs(got[i] - want[i]) <= 1e-5F * (1.0F + std::fabs(want[i]));
        if (!right) std::printf("%s\n", tandem::format(queue, y).c_str());
        return right;
    }
};

void test_dtypes() {
    static const tdm_dtype meetings[][3] = {
        {TDM_F32, TDM_F32, TDM_F32}, {TDM_F16, TDM_BF16, TDM_F32}, {TDM_F64, TDM_F16, TDM_F64},
        {TDM_I64, TDM_F16, TDM_F16}, {TDM_U8, TDM_I16, TDM_I16},   {TDM_U8, TDM_I8, TDM_I16},
        {TDM_U32, TDM_I32, TDM_I64}, {TDM_BOOL, TDM_U8, TDM_U8},   {TDM_U16, TDM_U64, TDM_U64},
        {TDM_I8, TDM_U16, TDM_I32},  {TDM_BOOL, TDM_F32, TDM_F32}, {TDM_I16, TDM_I64, TDM_I64}};
    for (const auto &m : meetings) {
        EXPECT(tandem::common_dtype(m[0], m[1]) == m[2]);
        EXPECT(tandem::common_dtype(m[1], m[0]) == m[2]);
    }
}

void test_layers(const Machine &m) {
    const tandem::Queue &q = m.queue;
    const Tensor x = m.of({1, 2, 3, 4, 5, 6}, {2, 3}), w = m.of({1, 0, 2, 0, 1, 1}, {2, 3});
    const Tensor b = m.of({10, 20}, {2}), none;
    EXPECT(m.is(tandem::matmul(q, x, w, {1, false, true}), TDM_F32, {2, 2}, {7, 5, 16, 11}));
    tandem::MatmulOptions options;
    options.alpha = 2;
    options.transpose_a = true;
    EXPECT(m.is(tandem::matmul(q, x, x, options), TDM_F32, {3, 3},
                {34, 44, 54, 44, 58, 72, 54, 72, 90}));
    options = {};
    options.transpose_b = true;
    options.bias = b;
    options.activation = TDM_ACTIVATION_RELU;
    EXPECT(m.is(tandem::matmul(q, tandem::reshape(x, {1, 2, 3}), w, options), TDM_F32, {1, 2, 2},
                {17, 25, 26, 31}));
    Tensor written = m.of({0, 0}, {2});
    written.write(q, std::vector<float>{3, 4});
    EXPECT(m.is(written, TDM_F32, {2}, {3, 4}));
    const Tensor repeated =
        tandem::matmul(q, tandem::reshape(x, {1, 2, 1, 3}),
                       tandem::reshape(tandem::transpose(w, 0, 1), {1, 1, 3, 2}));
    EXPECT(m.is(repeated, TDM_F32, {1, 2, 1, 2}, {7, 5, 16, 11}));
#if __cplusplus >= 202002L
    EXPECT(m.is(tandem::matmul(q, x, x, {.transpose_b = true, .bias = b}), TDM_F32, {2, 2},
                {24, 52, 42, 97}));
#endif
    EXPECT(m.is(tandem::linear(q, x, w, b), TDM_F32, {2, 2}, {17, 25, 26, 31}));
    EXPECT(m.is(tandem::linear(q, x, w), TDM_F32, {2, 2}, {7, 5, 16, 11}));
    tandem::StateDict dict = tandem::StateDict::create();
    dict.set("0.weight", w);
    dict.set("0.bias", b);
    EXPECT(m.is(tandem::linear(q, dict, "0.", x), TDM_F32, {2, 2}, {17, 25, 26, 31}));
    EXPECT(m.is(tandem::linear(q, x, tandem::pack_weight(q, w), b), TDM_F32, {2, 2},
                {17, 25, 26, 31}));
    EXPECT(m.is(dict.get_tensor("0.bias"), TDM_F32, {2}, {10, 20}));
    EXPECT(m.is(dict.to(q, m.device).get_tensor("0.bias"), TDM_F32, {2}, {10, 20}));
    tandem::linear_prepare(q, "0.", dict);
    EXPECT(m.is(tandem::linear(q, dict, "0.", x), TDM_F32, {2, 2}, {17, 25, 26, 31}));
    const Tensor c = m.of({1, 1, 1}, {3});
    EXPECT(m.is(tandem::bias_add(q, x, c, TDM_ACTIVATION_NONE, x), TDM_F32, {2, 3},
                {3, 5, 7, 9, 11, 13}));
    const float one = std::sqrt(1.5F);
    EXPECT(
        m.is(tandem::layer_norm(q, x, c, none, 0), TDM_F32, {2, 3}, {-one, 0, one, -one, 0, one}));
    const auto normalized = tandem::layer_norm_residual(q, x, none, c, 0, x);
    EXPECT(m.is(normalized.sum, TDM_F32, {2, 3}, {2, 4, 6, 8, 10, 12}));
    EXPECT(m.is(normalized.y, TDM_F32, {2, 3}, {1 - one, 1, 1 + one, 1 - one, 1, 1 + one}));
    const Tensor equal = Tensor::full(q, 3, TDM_F32, {2, 2});
    EXPECT(m.is(tandem::rms_norm(q, equal, none, 0), TDM_F32, {2, 2}, {1, 1, 1, 1}));
    const auto [sum, y] = tandem::rms_norm_residual(q, equal, none, 0, equal);
    EXPECT(m.is(sum, TDM_F32, {2, 2}, {6, 6, 6, 6}) && m.is(y, TDM_F32, {2, 2}, {1, 1, 1, 1}));
    const Tensor two = m.of({4, 4, 4}, {3});
    EXPECT(m.is(tandem::batch_norm(q, x, c, two, none, none, 0), TDM_F32, {2, 3},
                {0, 0.5F, 1, 1.5F, 2, 2.5F}));
    EXPECT(m.is(tandem::l2_normalize(q, m.of({3, 4}, {1, 2})), TDM_F32, {1, 2}, {0.6F, 0.8F}));
    EXPECT(m.is(tandem::softmax(q, equal), TDM_F32, {2, 2}, {0.5F, 0.5F, 0.5F, 0.5F}));
    EXPECT(m.is(tandem::softmax(q, equal, {1, none, true}), TDM_F32, {2, 2}, {1, 0, 0.5F, 0.5F}));
    const float log_of_2 = std::log(2.0F);
    EXPECT(m.is(tandem::log_softmax(q, equal), TDM_F32, {2, 2},
                {-log_of_2, -log_of_2, -log_of_2, -log_of_2}));
    EXPECT(m.is(tandem::logsumexp(q, equal), TDM_F32, {2}, {3 + log_of_2, 3 + log_of_2}));
    EXPECT(m.is(tandem::logsumexp(q, equal, true), TDM_F32, {2, 1}, {3 + log_of_2, 3 + log_of_2}));
    const float infinity = std::numeric_limits<float>::infinity();
    EXPECT(m.is(tandem::softmax(q, equal, {0.5, m.of({-infinity, 0}, {2})}), TDM_F32, {2, 2},
                {0, 1, 0, 1}));
    const Tensor zeros = Tensor::zeros(q, TDM_F32, {1, 2, 5});
    const Tensor values = m.of({1, 2, 3, 4}, {1, 2, 2});
    EXPECT(m.is(tandem::attention(q, zeros, zeros, values), TDM_F32, {1, 2, 2}, {2, 3, 2, 3}));
    EXPECT(m.is(tandem::attention(q, zeros, zeros, values, {0.5, true}), TDM_F32, {1, 2, 2},
                {1, 2, 2, 3}));
    EXPECT(
        m.is(tandem::attention(q, zeros, zeros, values, {0, false, none, m.of({1}, {1}, TDM_I32)}),
             TDM_F32, {1, 2, 2}, {1, 2, 1, 2}));
    EXPECT(m.is(tandem::scale(q, 3, c), TDM_F32, {3}, {3, 3, 3}));
}

void test_functions(const Machine &m) {
    const tandem::Queue &q = m.queue;
    const float v = 0.5F;
    const Tensor x = Tensor::full(q, v, TDM_F32, {1, 2}), i = m.of({-7, 7}, {2}, TDM_I16);
#define SAME(name) EXPECT(m.is(tandem::name(q, x), TDM_F32, {1, 2}, {std::name(v), std::name(v)}))
    SAME(abs);
    SAME(sqrt);
    SAME(exp);
    SAME(exp2);
    SAME(expm1);
    SAME(log);
    SAME(log2);
    SAME(log10);
    SAME(log1p);
    SAME(sin);
    SAME(cos);
    SAME(tan);
    SAME(asin);
    SAME(acos);
    SAME(atan);
    SAME(sinh);
    SAME(cosh);
    SAME(tanh);
    SAME(asinh);
    SAME(atanh);
    SAME(erf);
    SAME(erfc);
    SAME(floor);
    SAME(ceil);
    SAME(trunc);
#undef SAME
    const float root_of_2 = std::sqrt(2.0F), s = 1 / (1 + std::exp(-v));
    EXPECT(m.is(tandem::rsqrt(q, x), TDM_F32, {1, 2}, {root_of_2, root_of_2}));
    EXPECT(m.is(tandem::acosh(q, m.of({1, 2}, {2})), TDM_F32, {2}, {0, std::acosh(2.0F)}));
    EXPECT(m.is(tandem::reciprocal(q, x), TDM_F32, {1, 2}, {2, 2}));
    EXPECT(m.is(tandem::round(q, x), TDM_F32, {1, 2}, {0, 0}));
    EXPECT(m.is(tandem::sigmoid(q, x), TDM_F32, {1, 2}, {s, s}));
    EXPECT(m.is(tandem::silu(q, x), TDM_F32, {1, 2}, {v * s, v * s}));
    EXPECT(m.is(tandem::gelu(q, x), TDM_F32, {1, 2}, {0.345731F, 0.345731F}));
    EXPECT(m.is(tandem::gelu_tanh(q, x), TDM_F32, {1, 2}, {0.345714F, 0.345714F}));
    EXPECT(m.is(tandem::exp(q, i), TDM_F32, {2}, {std::exp(-7.0F), std::exp(7.0F)}));
    EXPECT(m.is(tandem::neg(q, i), TDM_I16, {2}, {7, -7}));
    EXPECT(m.is(tandem::sign(q, i), TDM_I16, {2}, {-1, 1}));
    EXPECT(m.is(tandem::square(q, i), TDM_I16, {2}, {49, 49}));
    EXPECT(m.is(tandem::relu(q, i), TDM_I16, {2}, {0, 7}));
    EXPECT(m.is(tandem::bitwise_not(q, i), TDM_I16, {2}, {6, -8}));
    EXPECT(m.is(tandem::isnan(q, x), TDM_BOOL, {1, 2}, {0, 0}));
    EXPECT(m.is(tandem::isinf(q, x), TDM_BOOL, {1, 2}, {0, 0}));
    EXPECT(m.is(tandem::isfinite(q, x), TDM_BOOL, {1, 2}, {1, 1}));
    EXPECT(m.is(tandem::signbit(q, i), TDM_BOOL, {2}, {1, 0}));

    const Tensor column = m.of({1, 2}, {2, 1}, TDM_F16), b = m.of({2, 3}, {2}, TDM_I32);
    EXPECT(m.is(tandem::add(q, column, x), TDM_F32, {2, 2}, {1.5F, 1.5F, 2.5F, 2.5F}));
    EXPECT(m.is(tandem::sub(q, i, b), TDM_I32, {2}, {-9, 4}));
    EXPECT(m.is(tandem::mul(q, i, b), TDM_I32, {2}, {-14, 21}));
    EXPECT(m.is(tandem::div(q, i, b), TDM_I32, {2}, {-3, 2}));
    EXPECT(m.is(tandem::rem(q, i, b), TDM_I32, {2}, {-1, 1}));
    EXPECT(m.is(tandem::remainder(q, i, b), TDM_I32, {2}, {1, 1}));
    EXPECT(m.is(tandem::floor_divide(q, i, b), TDM_I32, {2}, {-4, 2}));
    EXPECT(m.is(tandem::minimum(q, i, b), TDM_I32, {2}, {-7, 3}));
    EXPECT(m.is(tandem::maximum(q, i, b), TDM_I32, {2}, {2, 7}));
    EXPECT(m.is(tandem::pow(q, b, b), TDM_F32, {2}, {4, 27}));
    EXPECT(m.is(tandem::atan2(q, x, x), TDM_F32, {1, 2}, {std::atan(1.0F), std::atan(1.0F)}));
    const float sum = v + std::log(2.0F), next = std::nextafter(v, 1.0F);
    EXPECT(m.is(tandem::hypot(q, x, x), TDM_F32, {1, 2}, {root_of_2 / 2, root_of_2 / 2}));
    EXPECT(m.is(tandem::logaddexp(q, x, x), TDM_F32, {1, 2}, {sum, sum}));
    EXPECT(m.is(tandem::copysign(q, x, i), TDM_F32, {1, 2}, {-v, v}));
    EXPECT(m.is(tandem::nextafter(q, x, b), TDM_F32, {1, 2}, {next, next}));
    EXPECT(m.is(tandem::bitwise_and(q, i, b), TDM_I32, {2}, {0, 3}));
    EXPECT(m.is(tandem::bitwise_or(q, i, b), TDM_I32, {2}, {-5, 7}));
    EXPECT(m.is(tandem::bitwise_xor(q, i, b), TDM_I32, {2}, {-5, 4}));
    EXPECT(m.is(tandem::shift_left(q, i, b), TDM_I32, {2}, {-28, 56}));
    EXPECT(m.is(tandem::shift_right(q, i, b), TDM_I32, {2}, {-2, 0}));
    EXPECT(m.is(tandem::equal(q, i, b), TDM_BOOL, {2}, {0, 0}));
    EXPECT(m.is(tandem::not_equal(q, i, b), TDM_BOOL, {2}, {1, 1}));
    EXPECT(m.is(tandem::less(q, i, b), TDM_BOOL, {2}, {1, 0}));
    EXPECT(m.is(tandem::less_equal(q, i, b), TDM_BOOL, {2}, {1, 0}));
    EXPECT(m.is(tandem::greater(q, i, b), TDM_BOOL, {2}, {0, 1}));
    EXPECT(m.is(tandem::greater_equal(q, i, b), TDM_BOOL, {2}, {0, 1}));
    EXPECT(m.is(tandem::where(q, tandem::less(q, i, b), column, x), TDM_F32, {2, 2},
                {1, 0.5F, 2, 0.5F}));
    EXPECT(m.is(tandem::fma(q, column, x, x), TDM_F32, {2, 2}, {1, 1, 1.5F, 1.5F}));
    EXPECT(m.is(tandem::clamp(q, i, -2, 5), TDM_I16, {2}, {-2, 5}));
}

void test_reductions(const Machine &m) {
    const tandem::Queue &q = m.queue;
    const Tensor x = m.of({1, 2, 3, 4, 5, 6}, {2, 3}), i = tandem::cast(q, x, TDM_U8);
    EXPECT(m.is(tandem::sum(q, x), TDM_F32, {1}, {21}));
    EXPECT(m.is(tandem::sum(q, x, {0}), TDM_F32, {3}, {5, 7, 9}));
    EXPECT(m.is(tandem::sum(q, x, {1}, true), TDM_F32, {2, 1}, {6, 15}));
    EXPECT(m.is(tandem::sum(q, i, {0, 1}), TDM_U64, {1}, {21}));
    EXPECT(m.is(tandem::prod(q, x, {1}), TDM_F32, {2}, {6, 120}));
    EXPECT(m.is(tandem::mean(q, x, {-1}), TDM_F32, {2}, {2, 5}));
    EXPECT(m.is(tandem::max(q, i, {0}), TDM_U8, {3}, {4, 5, 6}));
    EXPECT(m.is(tandem::min(q, x, {0}), TDM_F32, {3}, {1, 2, 3}));
    EXPECT(m.is(tandem::any(q, x, {0}), TDM_BOOL, {3}, {1, 1, 1}));
    EXPECT(m.is(tandem::all(q, x), TDM_BOOL, {1}, {1}));
    EXPECT(m.is(tandem::variance(q, x, {1}, 1), TDM_F32, {2}, {1, 1}));
    EXPECT(m.is(tandem::standard_deviation(q, x, {0}), TDM_F32, {3}, {1.5F, 1.5F, 1.5F}));
    EXPECT(m.is(tandem::count_nonzero(q, x, {1}, true), TDM_I64, {2, 1}, {3, 3}));
    EXPECT(m.is(tandem::cumprod(q, x, 1), TDM_F32, {2, 3}, {1, 2, 6, 4, 20, 120}));
    EXPECT(m.is(tandem::norm(q, TDM_NORM_L1, x, {0}), TDM_F32, {3}, {5, 7, 9}));
    EXPECT(m.is(tandem::argmax(q, x, 1), TDM_I64, {2}, {2, 2}));
    EXPECT(m.is(tandem::argmin(q, x, 0, true), TDM_I64, {1, 3}, {0, 0, 0}));
    EXPECT(m.is(tandem::dot(q, x, x), TDM_F32, {1}, {91}));
    EXPECT(m.is(tandem::cumsum(q, i, 0), TDM_U64, {2, 3}, {1, 2, 3, 5, 7, 9}));
}

void test_arrays(const Machine &m) {
    const tandem::Queue &q = m.queue;
    const Tensor x = m.of({1, 2, 3, 4, 5, 6}, {2, 3}), rows = m.of({1, 0, 1}, {3}, TDM_I32);
    EXPECT(m.is(tandem::gather_rows(q, x, rows), TDM_F32, {3, 3}, {4, 5, 6, 1, 2, 3, 4, 5, 6}));
    EXPECT(m.is(tandem::one_hot(q, rows, 2), TDM_F32, {3, 2}, {0, 1, 1, 0, 0, 1}));
    EXPECT(
        m.is(tandem::concat(q, {x, x}, -1), TDM_F32, {2, 6}, {1, 2, 3, 1, 2, 3, 4, 5, 6, 4, 5, 6}));
    EXPECT(m.is(tandem::stack(q, {rows, rows}, -1), TDM_I32, {3, 2}, {1, 1, 0, 0, 1, 1}));
    EXPECT(m.is(tandem::flip(q, x, {1}), TDM_F32, {2, 3}, {3, 2, 1, 6, 5, 4}));
    EXPECT(m.is(tandem::argsort(q, x, true), TDM_I64, {2, 3}, {2, 1, 0, 2, 1, 0}));
    EXPECT(m.is(tandem::sort(q, x, true), TDM_F32, {2, 3}, {3, 2, 1, 6, 5, 4}));
    EXPECT(m.is(tandem::roll(q, x, {1, -1}, {1, 0}), TDM_F32, {2, 3}, {6, 4, 5, 3, 1, 2}));
    EXPECT(
        m.is(tandem::tile(q, rows, {2, 2}), TDM_I32, {2, 6}, {1, 0, 1, 1, 0, 1, 1, 0, 1, 1, 0, 1}));
    EXPECT(m.is(tandem::repeat(q, rows, 2, -1), TDM_I32, {6}, {1, 1, 0, 0, 1, 1}));
    EXPECT(m.is(tandem::diff(q, x), TDM_F32, {2, 2}, {1, 1, 1, 1}));
    EXPECT(m.is(tandem::diff(q, x, 0, 1), TDM_F32, {1, 3}, {3, 3, 3}));
    EXPECT(m.is(tandem::take_along_axis(q, x, m.of({2, 0}, {2, 1}, TDM_I64), 1), TDM_F32, {2, 1},
                {3, 4}));
    EXPECT(m.is(tandem::isin(q, x, m.of({2, 6}, {2})), TDM_BOOL, {2, 3}, {0, 1, 0, 0, 0, 1}));
    EXPECT(m.is(tandem::tril(q, x), TDM_F32, {2, 3}, {1, 0, 0, 4, 5, 0}));
    EXPECT(m.is(tandem::triu(q, x, 1), TDM_F32, {2, 3}, {0, 2, 3, 0, 0, 6}));
    EXPECT(m.is(tandem::eye(q, 2, 3, TDM_I16, 1), TDM_I16, {2, 3}, {0, 1, 0, 0, 0, 1}));
    EXPECT(m.is(tandem::linspace(q, 0, 1, 3), TDM_F32, {3}, {0, 0.5F, 1}));
    const auto [values, indices] = tandem::top_k(q, x, 2);
    EXPECT(m.is(values, TDM_F32, {2, 2}, {3, 2, 6, 5}) &&
           m.is(indices, TDM_I64, {2, 2}, {2, 1, 2, 1}));
    EXPECT(m.is(tandem::slice(x, 1, 0, 2, 2), TDM_F32, {2, 2}, {1, 3, 4, 6}));
    EXPECT(m.is(tandem::transpose(x, 0, 1), TDM_F32, {3, 2}, {1, 4, 2, 5, 3, 6}));
    EXPECT(m.is(tandem::reshape(x, {-1, 2}), TDM_F32, {3, 2}, {1, 2, 3, 4, 5, 6}));
    EXPECT(m.is(tandem::broadcast(rows, {2, 3}), TDM_I32, {2, 3}, {1, 0, 1, 1, 0, 1}));
    EXPECT(m.is(tandem::to(q, x, m.device), TDM_F32, {2, 3}, {1, 2, 3, 4, 5, 6}));
    EXPECT(tandem::format(q, rows).find("tensor([1, 0, 1]") == 0);
    EXPECT(m.is(Tensor::ones(q, TDM_F64, {2}), TDM_F64, {2}, {1, 1}));
    EXPECT(m.is(Tensor::arange(q, 1, 2, 0.5), TDM_F32, {2}, {1, 1.5F}));
    tdm_generator generator = {42, 0};
    EXPECT(Tensor::rand(q, generator, TDM_F32, {4, 5}).shape() == Extents({4, 5}));
    EXPECT(Tensor::randn(q, generator, TDM_F32, {4}).count() == 4 && generator.next == 24);
}

/* A view keeps the memory of what it is a view of, and what fails throws, whatever was made before. */
void test_ownership(const Machine &m) {
    Tensor view = tandem::slice(m.of({1, 2, 3}, {3}), 0, 1, 2);
    EXPECT(m.is(view, TDM_F32, {2}, {2, 3}));
    const Tensor x = m.of({1, 2, 3}, {3}), y = m.of({1, 2}, {2}), none;
    std::string names; // of functions, as messages have them; that of an empty tensor has none
    const auto fails = [&](auto function) {
        try {
            function();
        } catch (const tandem::Error &error) {
            const std::string text = error.what();
            names += text.substr(0, text.find(':') + 1);
        }
    };
    fails([&] { tandem::add(m.queue, x, y); });
    fails([&] { tandem::matmul(m.queue, x, y); });
    fails([&] { tandem::exp(m.queue, none); });
    fails([&] { tandem::linear(m.queue, x, none); });
    fails([&] { tandem::sum(m.queue, x, {5}); });
    fails([&] { tandem::concat(m.queue, {}, 0); });
    EXPECT(std::string(tdm_last_error()) == "tdm_concat: count is 0, at least 1");
    fails([&] { tandem::concat(m.queue, {x, y}, 3); });
    fails([&] { tandem::stack(m.queue, {x, y}, 0); });
    fails([&] { tandem::gather_rows(m.queue, none, y); });
    fails([&] { tandem::top_k(m.queue, x, 4); });
    fails([&] { tandem::reshape(x, {2, 2}); });
    fails([&] { tandem::slice(x, 0, 2, 2); });
    EXPECT(names == "tdm_add:tdm_matmul:tdm_linear:tdm_sum:tdm_concat:tdm_concat:tdm_stack:"
                    "tdm_gather_rows:tdm_top_k:tdm_tensor_reshape:tdm_tensor_slice:");
}

void test_kernels_and_graphs(const Machine &m) {
    const Tensor x = m.of({1, 2, 3}, {3});
    Tensor y = Tensor::empty(m.queue, TDM_F32, {3}), r = Tensor::empty(m.queue, TDM_F32, {1});
    const auto scaled = tandem::Kernel::elementwise(
        m.device, "y = x * s + n",
        {TDM_TENSOR("x"), TDM_NUMBER("s"), TDM_INTEGER("n"), TDM_TENSOR("y")});
    scaled.run(m.queue, {{"x", x}, {"s", 2}, {"n", 3.0F}, {"y", y}});
    EXPECT(m.is(y, TDM_F32, {3}, {5, 7, 9}));
    for (const double fraction : {0.5, 2.5}) {
        bool refused = false;
        try {
            scaled.run(m.queue, {{"x", x}, {"s", 2}, {"n", fraction}, {"y", y}});
        } catch (const tandem::Error &) {
            refused = true;
        }
        EXPECT(refused);
    }
    tdm_row_kernel texts = TDM_ROW_KERNEL_DEFAULTS;
    texts.map = "x * x";
    const auto squares =
        tandem::Kernel::rows(m.device, texts, {TDM_TENSOR("x"), TDM_TENSOR("sum")});
    squares.run(m.queue, {{"x", x}, {"sum", r}});
    EXPECT(m.is(r, TDM_F32, {1}, {14}));
    static const char text[] = "KERNEL(halve)\n{\n    FOR_PIECES(row, begin, end)\n    {\n"
                               "        GLOBAL const T *const xr = ROW(x, row);\n"
                               "        GLOBAL T *const yr = ROW(y, row);\n"
                               "        FOR_LANES(j, begin, end)\n        {\n"
                               "            STORE(yr, j, SCALAR(args.s) * LOAD(xr, j));\n"
                               "        }\n    }\n}\n";
    const auto halved = tandem::Kernel::source(m.device, text, "halve.cl", "halve",
                                               {TDM_TENSOR("x"), TDM_OUTPUT("y"), TDM_NUMBER("s")});
    Tensor half = Tensor::empty(m.queue, TDM_F32, {3});
    halved.run(m.queue, {{"x", x}, {"y", half}, {"s", 0.5}});
    EXPECT(m.is(half, TDM_F32, {3}, {0.5F, 1, 1.5F}));

    const tandem::Graph graph(m.queue);
    graph.record([&] { tandem::check(tdm_add(m.queue, x, y, y)); });
    graph.replay();
    graph.replay();
    EXPECT(m.is(y, TDM_F32, {3}, {7, 11, 15}));
    try {
        graph.record([&] { throw 1; });
    } catch (int) { // the queue runs again
    }
    const tandem::Event event(m.device);
    tandem::check(tdm_add(m.queue, x, y, y));
    event.record(m.queue);
    event.wait_in(m.queue);
    m.queue.flush();
    event.wait();
    EXPECT(m.is(y, TDM_F32, {3}, {8, 13, 18}));
}
} // namespace

int main() {
    try {
        const Machine m;
        test_dtypes();
        test_layers(m);
        test_functions(m);
        test_reductions(m);
        test_arrays(m);
        test_ownership(m);
        test_kernels_and_graphs(m);
        m.queue.finish();
    } catch (const tandem::Error &error) {
        std::printf("operations.cpp: %s\n", error.what());
        return 1;
    }
    std::printf("%s: %d failures\n", tdm_version(), failures);
    return failures != 0;
}

/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/** @file
 * For C++17: the operations as functions that return what they make. tandem.hpp includes it.
 *
 *     using namespace tandem;
 *     Tensor attended = softmax(queue, matmul(queue, x, x, {1, false, true}), {.scale = 0.125});   // C++20
 *     Tensor y = layer_norm(queue, add(queue, x, linear(queue, x, weight, bias, TDM_ACTIVATION_GELU)), g, b);
 *
 * Each is the C function of that name, whose header says what it computes, on a new tensor: contiguous, of the shape
 * that the C function wants. A Tensor without a buffer stands for NULL where that is allowed, and throws elsewhere. A
 * failure throws Error.
 * The C functions take outputs that exist already, which spares the allocation; both may be mixed.
 *
 * Dtypes of results, unless said otherwise: that of the input. Of two: a float goes before an integer, f64 before f32,
 * f16 and bf16 meet in f32, the wider integer goes before the narrower one, and integers of one width and different
 * signs meet in the next wider signed one. A function of floats makes f32 of integers.
 *
 * Threads: as the queue. */
#ifndef TANDEM_OPERATIONS_HPP
#define TANDEM_OPERATIONS_HPP

#include <tandem/arrays.hpp> // IWYU pragma: export

namespace tandem {

/* ---- ops.h, layers.h ---- */

/** tdm_matmul_options. */
struct MatmulOptions {
    double alpha = 1;                                /**< factor of the product */
    bool transpose_a = false;                        /**< over the last two dimensions */
    bool transpose_b = false;                        /**< the same of b */
    Tensor bias = {};                                /**< [N], added to each row; may be empty */
    tdm_activation activation = TDM_ACTIVATION_NONE; /**< after the bias */
    tdm_math math = TDM_MATH_DEFAULT;                /**< how exact */
};

/** activation(alpha · op(a) · op(b) + bias) */
inline Tensor matmul(const Queue &queue, const Tensor &a, const Tensor &b,
                     const MatmulOptions &options = {}) {
    tdm_matmul_options o = TDM_MATMUL_OPTIONS_DEFAULTS;
    o.alpha = options.alpha;
    o.transpose_a = options.transpose_a;
    o.transpose_b = options.transpose_b;
    o.bias = detail::optional(options.bias);
    o.activation = options.activation;
    o.math = options.math;
    tdm_tensor shape = a->ndim >= b->ndim ? detail::given(a) : detail::given(b);
    const tdm_tensor &other = a->ndim >= b->ndim ? *b.get() : *a.get();
    for (int i = 3; i <= other.ndim; i++)
        if (shape.shape[shape.ndim - i] == 1)
            shape.shape[shape.ndim - i] = other.shape[other.ndim - i];
    if (a->ndim >= 2 && b->ndim >= 2) {
        shape.shape[shape.ndim - 2] = a->shape[a->ndim - (o.transpose_a ? 1 : 2)];
        shape.shape[shape.ndim - 1] = b->shape[b->ndim - (o.transpose_b ? 2 : 1)];
    }
    return detail::into(detail::make(queue, a->dtype, detail::shape_of(shape)), tdm_matmul, queue,
                        &o, a, b);
}

/** The weight of a linear layer in the order in which the device multiplies by it the fastest, for products alone. */
inline Tensor pack_weight(const Queue &queue, const Tensor &weight) {
    return Tensor(detail::made<tdm_tensor>(tdm_pack_weight, queue, weight));
}

/** Packs "<prefix>weight" of a dict. */
inline void linear_prepare(const Queue &queue, const std::string &prefix, StateDict &dict) {
    tandem::check(tdm_linear_prepare(queue, prefix.c_str(), dict));
}

/** activation(x · weightᵀ + bias); the bias may be empty */
inline Tensor linear(const Queue &queue, const Tensor &x, const Tensor &weight,
                     const Tensor &bias = {}, tdm_activation activation = TDM_ACTIVATION_NONE) {
    return detail::into(detail::make_of_rows(queue, x, weight->shape[0], x->dtype), tdm_linear,
                        queue, x, weight, detail::optional(bias), activation);
}

/** The same with "<prefix>weight" and "<prefix>bias" of a dict. */
inline Tensor linear(const Queue &queue, const StateDict &dict, const std::string &prefix,
                     const Tensor &x, tdm_activation activation = TDM_ACTIVATION_NONE) {
    tdm_tensor weight;
    tandem::check(tdm_state_dict_get(dict, (prefix + "weight").c_str(), &weight));
    return detail::into(detail::make_of_rows(queue, x, weight.shape[0], x->dtype), tdm_linear_apply,
                        queue, dict, prefix.c_str(), x, activation);
}

/** activation(x + bias) + residual; bias and residual may be empty */
inline Tensor bias_add(const Queue &queue, const Tensor &x, const Tensor &bias,
                       tdm_activation activation = TDM_ACTIVATION_NONE,
                       const Tensor &residual = {}) {
    return detail::into(detail::make_like(queue, x, x->dtype), tdm_bias_add, queue, x,
                        detail::optional(bias), activation, detail::optional(residual));
}

/** Of each row; weight and bias may be empty. */
inline Tensor layer_norm(const Queue &queue, const Tensor &x, const Tensor &weight = {},
                         const Tensor &bias = {}, double epsilon = 1e-5) {
    return detail::into(detail::make_like(queue, x, x->dtype), tdm_layer_norm, queue, x,
                        detail::optional(weight), detail::optional(bias), epsilon);
}

/** Of each row; the weight may be empty. */
inline Tensor rms_norm(const Queue &queue, const Tensor &x, const Tensor &weight = {},
                       double epsilon = 1e-6) {
    return detail::into(detail::make_like(queue, x, x->dtype), tdm_rms_norm, queue, x,
                        detail::optional(weight), epsilon, nullptr, nullptr);
}

/** A sum x + residual, and the norm of its rows. */
struct Normalized {
    Tensor sum; /**< x + residual */
    Tensor y;   /**< the norm of that */
};

/** layer_norm of x + residual, and that sum: auto [sum, y] = … weight and bias may be empty. */
inline Normalized layer_norm_residual(const Queue &queue, const Tensor &x, const Tensor &weight,
                                      const Tensor &bias, double epsilon, const Tensor &residual) {
    Normalized made = {detail::make_like(queue, x, x->dtype),
                       detail::make_like(queue, x, x->dtype)};
    tandem::check(tdm_layer_norm_residual(queue, x, detail::optional(weight),
                                          detail::optional(bias), epsilon, residual, made.sum,
                                          made.y));
    return made;
}

/** rms_norm of x + residual, and that sum; the weight may be empty */
inline Normalized rms_norm_residual(const Queue &queue, const Tensor &x, const Tensor &weight,
                                    double epsilon, const Tensor &residual) {
    Normalized made = {detail::make_like(queue, x, x->dtype),
                       detail::make_like(queue, x, x->dtype)};
    tandem::check(
        tdm_rms_norm(queue, x, detail::optional(weight), epsilon, residual, made.sum, made.y));
    return made;
}

/** Of channels; weight and bias may be empty. */
inline Tensor batch_norm(const Queue &queue, const Tensor &x, const Tensor &mean,
                         const Tensor &variance, const Tensor &weight = {}, const Tensor &bias = {},
                         double epsilon = 1e-5) {
    return detail::into(detail::make_like(queue, x, x->dtype), tdm_batch_norm, queue, x, mean,
                        variance, detail::optional(weight), detail::optional(bias), epsilon);
}

/** Of each row. */
inline Tensor l2_normalize(const Queue &queue, const Tensor &x, double epsilon = 1e-12) {
    return detail::into(detail::make_like(queue, x, x->dtype), tdm_l2_normalize, queue, x, epsilon);
}

/** tdm_softmax_options. */
struct SoftmaxOptions {
    double scale = 1;    /**< factor of x */
    Tensor mask = {};    /**< added to x · scale; may be empty */
    bool causal = false; /**< row i counts the columns up to i + cols - rows alone */
};

/** Of each row of x · scale + mask. */
inline Tensor softmax(const Queue &queue, const Tensor &x, const SoftmaxOptions &options = {}) {
    tdm_softmax_options o = TDM_SOFTMAX_OPTIONS_DEFAULTS;
    o.scale = options.scale;
    o.mask = detail::optional(options.mask);
    o.causal = options.causal;
    return detail::into(detail::make_like(queue, x, x->dtype), tdm_softmax_scaled, queue, &o, x);
}

/** x - max - ln Σexp(x - max) of each row */
inline Tensor log_softmax(const Queue &queue, const Tensor &x) {
    return detail::into(detail::make_like(queue, x, x->dtype), tdm_log_softmax, queue, x);
}

/** ln Σexp(x) of each row */
inline Tensor logsumexp(const Queue &queue, const Tensor &x, bool keep = false) {
    return detail::into(detail::make_reduced(queue, x, {-1}, keep, x->dtype), tdm_logsumexp, queue,
                        x);
}

/** tdm_attention_options; each tensor may be empty. */
struct AttentionOptions {
    double scale = 0;    /**< factor of the scores; 0: 1/√(head size) */
    bool causal = false; /**< query i of Tq attends to the keys up to i + Tk - Tq */
    Tensor mask = {};    /**< bool: true where a key counts */
    Tensor lengths = {}; /**< for each batch, how many keys count */
    Tensor offsets = {}; /**< of ragged batches */
};

/** softmax(scale · q·kᵀ) · v of each head. */
inline Tensor attention(const Queue &queue, const Tensor &q, const Tensor &k, const Tensor &v,
                        const AttentionOptions &options = {}) {
    tdm_attention_options o = TDM_ATTENTION_OPTIONS_DEFAULTS;
    o.scale = options.scale;
    o.causal = options.causal;
    o.mask = detail::optional(options.mask);
    o.lengths = detail::optional(options.lengths);
    o.offsets = detail::optional(options.offsets);
    tdm_tensor shape = detail::given(q);
    if (q->ndim >= 1 && v->ndim >= 1) shape.shape[q->ndim - 1] = v->shape[v->ndim - 1];
    return detail::into(detail::make(queue, q->dtype, detail::shape_of(shape)), tdm_attention,
                        queue, &o, q, k, v);
}

/** alpha · x */
inline Tensor scale(const Queue &queue, double alpha, const Tensor &x) {
    return detail::into(detail::make_like(queue, x, x->dtype), tdm_scale, queue, alpha, x);
}

/** x converted to the dtype; with the dtype that it has a contiguous copy */
inline Tensor cast(const Queue &queue, const Tensor &x, tdm_dtype dtype) {
    return detail::into(detail::make_like(queue, x, dtype), tdm_cast, queue, x);
}

/* ---- reduce.h: over the dimensions named, or all. keep leaves them with extent 1. ---- */

/** A reduction whose result has the dtype RESULT(x's). In parentheses as <windows.h> has macros max and min. */
#define TANDEM_REDUCTION(name, RESULT)                                                             \
    inline Tensor(name)(const Queue &queue, const Tensor &x, const std::vector<int> &dims = {},    \
                        bool keep = false) {                                                       \
        return detail::into(detail::make_reduced(queue, x, dims, keep, RESULT), tdm_##name, queue, \
                            x, dims.empty() ? nullptr : dims.data(), dims.size());                 \
    }
/** Σx */
TANDEM_REDUCTION(sum, detail::as_sum(x->dtype))
/** Πx */
TANDEM_REDUCTION(prod, detail::as_sum(x->dtype))
/** Σx / n */
TANDEM_REDUCTION(mean, x->dtype)
/** The largest element; NaN, where there is one. */
TANDEM_REDUCTION(max, x->dtype)
/** The smallest element; NaN, where there is one. */
TANDEM_REDUCTION(min, x->dtype)
/** How many elements are not 0, in i64. */
TANDEM_REDUCTION(count_nonzero, TDM_I64)
/** Is any element not 0? */
TANDEM_REDUCTION(any, TDM_BOOL)
/** Is no element 0? */
TANDEM_REDUCTION(all, TDM_BOOL)
#undef TANDEM_REDUCTION

/** correction 1 estimates the variance of what x was drawn from */
inline Tensor variance(const Queue &queue, const Tensor &x, const std::vector<int> &dims = {},
                       double correction = 0, bool keep = false) {
    return detail::into(detail::make_reduced(queue, x, dims, keep, x->dtype), tdm_variance, queue,
                        x, dims.empty() ? nullptr : dims.data(), dims.size(), correction);
}

/** the root of that */
inline Tensor standard_deviation(const Queue &queue, const Tensor &x,
                                 const std::vector<int> &dims = {}, double correction = 0,
                                 bool keep = false) {
    return detail::into(detail::make_reduced(queue, x, dims, keep, x->dtype),
                        tdm_standard_deviation, queue, x, dims.empty() ? nullptr : dims.data(),
                        dims.size(), correction);
}

/** L1, L2 or the largest magnitude */
inline Tensor norm(const Queue &queue, tdm_norm_kind kind, const Tensor &x,
                   const std::vector<int> &dims = {}, bool keep = false) {
    return detail::into(detail::make_reduced(queue, x, dims, keep, x->dtype), tdm_norm_over, queue,
                        kind, x, dims.empty() ? nullptr : dims.data(), dims.size());
}

/** Where the largest element along dim is, in i64. */
inline Tensor argmax(const Queue &queue, const Tensor &x, int dim, bool keep = false) {
    return detail::into(detail::make_reduced(queue, x, {dim}, keep, TDM_I64), tdm_argmax, queue, x,
                        dim);
}

/** The same of the smallest. */
inline Tensor argmin(const Queue &queue, const Tensor &x, int dim, bool keep = false) {
    return detail::into(detail::make_reduced(queue, x, {dim}, keep, TDM_I64), tdm_argmin, queue, x,
                        dim);
}

/** Σab, one element */
inline Tensor dot(const Queue &queue, const Tensor &a, const Tensor &b) {
    return detail::into(detail::make_reduced(queue, a, {}, false, a->dtype), tdm_dot, queue, a, b);
}

/** The sums so far along dim. */
inline Tensor cumsum(const Queue &queue, const Tensor &x, int dim) {
    return detail::into(detail::make_like(queue, x, detail::as_sum(x->dtype)), tdm_cumsum, queue, x,
                        dim);
}

/** The products so far along dim. */
inline Tensor cumprod(const Queue &queue, const Tensor &x, int dim) {
    return detail::into(detail::make_like(queue, x, detail::as_sum(x->dtype)), tdm_cumprod, queue,
                        x, dim);
}

/* ---- tensor.h: views, which share the buffer; move.h; create.h ---- */

/** `count` elements of a dimension, from `start` on. */
inline Tensor slice(const Tensor &x, int dim, std::int64_t start, std::int64_t count,
                    std::int64_t step = 1) {
    return detail::view(tdm_tensor_slice, x, dim, start, count, step);
}

/** Two dimensions swapped. */
inline Tensor transpose(const Tensor &x, int dim0, int dim1) {
    return detail::view(tdm_tensor_transpose, x, dim0, dim1);
}

/** Another shape of as many elements, of a contiguous tensor. */
inline Tensor reshape(const Tensor &x, const Shape &shape) {
    return detail::view(tdm_tensor_reshape, x, shape.ndim(), shape.data());
}

/** Repeated to another shape. */
inline Tensor broadcast(const Tensor &x, const Shape &shape) {
    return detail::view(tdm_tensor_broadcast, x, shape.ndim(), shape.data());
}

/** On another device; x itself where it is there already. */
inline Tensor to(const Queue &queue, const Tensor &x, const Device &device) {
    return Tensor(detail::made<tdm_tensor>(tdm_to, queue, x, device));
}

/** As text, the way PyTorch prints. */
inline std::string format(const Queue &queue, const Tensor &x) {
    std::size_t length = 0;
    tandem::check(tdm_format(queue, x, nullptr, 0, &length));
    std::string text(length + 1, '\0');
    tandem::check(tdm_format(queue, x, &text[0], text.size(), &length));
    text.resize(length);
    return text;
}

} // namespace tandem

#endif

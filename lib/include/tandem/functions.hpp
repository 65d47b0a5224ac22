/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/** @file
 * For C++17: the functions of functions.h as functions that return what they make. tandem.hpp includes it, and
 * operations.hpp says what holds of them. */
#ifndef TANDEM_FUNCTIONS_HPP
#define TANDEM_FUNCTIONS_HPP

#include <algorithm>

#include <tandem/objects.hpp>

namespace tandem {

/** The dtype in which two meet. */
inline tdm_dtype common_dtype(tdm_dtype a, tdm_dtype b) noexcept {
    const auto is_signed = [](tdm_dtype d) {
        return d == TDM_I8 || d == TDM_I16 || d == TDM_I32 || d == TDM_I64;
    };
    if (a == b) return a;
    if (tdm_dtype_is_float(a) != tdm_dtype_is_float(b)) return tdm_dtype_is_float(a) ? a : b;
    if (tdm_dtype_is_float(a)) return a == TDM_F64 || b == TDM_F64 ? TDM_F64 : TDM_F32;
    if (a == TDM_BOOL || b == TDM_BOOL) return a == TDM_BOOL ? b : a;
    if (is_signed(b)) std::swap(a, b);
    const std::size_t size = tdm_dtype_size(a), other = tdm_dtype_size(b);
    if (is_signed(a) == is_signed(b)) return size > other ? a : b;
    return size > other ? a : other == 1 ? TDM_I16 : other == 2 ? TDM_I32 : TDM_I64;
}

/** The dtypes of results. */
namespace detail {
/** f32 for a dtype that is no float. */
inline tdm_dtype as_float(tdm_dtype dtype) noexcept {
    return tdm_dtype_is_float(dtype) ? dtype : TDM_F32;
}
/** i32 for a bool. */
inline tdm_dtype as_number(tdm_dtype dtype) noexcept { return dtype == TDM_BOOL ? TDM_I32 : dtype; }
/** i64 or u64 for a dtype that is no float. */
inline tdm_dtype as_sum(tdm_dtype dtype) noexcept {
    if (tdm_dtype_is_float(dtype)) return dtype;
    const bool is_unsigned =
        dtype == TDM_U8 || dtype == TDM_U16 || dtype == TDM_U32 || dtype == TDM_U64;
    return is_unsigned ? TDM_U64 : TDM_I64;
}

/** NULL for a tensor without a buffer. */
inline const tdm_tensor *optional(const Tensor &tensor) noexcept {
    return tensor ? tensor.get() : nullptr;
}

/** x, which must not be empty. */
inline const tdm_tensor &given(const tdm_tensor *x) {
    if (!x->buffer)
        tandem::check(
            tdm_fail(TDM_ERROR_INVALID_ARGUMENT,
                     "an operand is an empty Tensor, which was moved from or never made"));
    return *x;
}

/** Contiguous, content undefined. */
inline Tensor make(const Queue &queue, tdm_dtype dtype, const Shape &shape) {
    return Tensor::empty(queue, dtype, shape);
}

inline Shape shape_of(const tdm_tensor &x) noexcept { /**< its extents */
    return {x.shape, static_cast<std::size_t>(x.ndim)};
}

/** Of x's shape. */
inline Tensor make_like(const Queue &queue, const Tensor &x, tdm_dtype dtype) {
    return make(queue, dtype, shape_of(given(x)));
}

/** Throws an Error that names the function that was called instead of the one that failed. */
inline void check_in(const char *function, tdm_status status) {
    if (status == TDM_OK) return;
    const std::string text = tdm_last_error();
    throw Error(tdm_fail(status, (function + text.substr(text.find(':'))).c_str()));
}

/** Of the shape that a, b and c, if there is one, broadcast to. */
inline Tensor make_broadcast(const Queue &queue, const char *function, tdm_dtype dtype,
                             const tdm_tensor *a, const tdm_tensor *b,
                             const tdm_tensor *c = nullptr) {
    tdm_tensor two = given(a);
    static_cast<void>(given(b));
    if (c) static_cast<void>(given(c));
    check_in(function, tdm_broadcast_shape(a, b, &two.ndim, two.shape));
    tdm_tensor all = two;
    if (c) check_in(function, tdm_broadcast_shape(&two, c, &all.ndim, all.shape));
    return make(queue, dtype, shape_of(all));
}

/** Of the shape of x without these dimensions, all if none is named, or with extent 1 in their place. */
inline Tensor make_reduced(const Queue &queue, const Tensor &x, const std::vector<int> &dims,
                           bool keep, tdm_dtype dtype) {
    tdm_tensor y = given(x);
    y.ndim = 0;
    for (int d = 0; d < x->ndim; d++) {
        const auto is_d = [&](int dim) { return dim == d || dim == d - x->ndim; };
        const bool stays = !dims.empty() && std::none_of(dims.begin(), dims.end(), is_d);
        if (stays || keep) y.shape[y.ndim++] = stays ? x->shape[d] : 1;
    }
    if (y.ndim == 0) y.shape[y.ndim++] = 1;
    return make(queue, dtype, shape_of(y));
}

/** Of the shape of x with another last extent. */
inline Tensor make_of_rows(const Queue &queue, const Tensor &x, std::int64_t cols,
                           tdm_dtype dtype) {
    tdm_tensor y = given(x);
    if (y.ndim > 0) y.shape[y.ndim - 1] = cols;
    return make(queue, dtype, shape_of(y));
}

/** Calls a C function with these arguments and, as the last one, y, its output; returns y. */
template <typename Function, typename... Arguments>
Tensor into(Tensor y, Function function, const Arguments &...arguments) {
    tandem::check(function(arguments..., y));
    return y;
}

/** The view that a C function makes, with a reference to its buffer. */
template <typename Function, typename... Arguments>
Tensor view(Function function, const Arguments &...arguments) {
    return Tensor::of(made<tdm_tensor>(function, arguments...));
}
} // namespace detail

/** A function of one tensor, whose result has the dtype RESULT(x's). */
#define TANDEM_FUNCTION_OF_ONE(name, RESULT)                                                       \
    inline Tensor name(const Queue &queue, const Tensor &x) {                                      \
        return detail::into(detail::make_like(queue, x, RESULT(x->dtype)), tdm_##name, queue, x);  \
    }
/** A function of two tensors, whose result has the dtype RESULT(that in which theirs meet). */
#define TANDEM_FUNCTION_OF_TWO(name, RESULT)                                                       \
    inline Tensor name(const Queue &queue, const Tensor &a, const Tensor &b) {                     \
        const tdm_dtype dtype = RESULT(common_dtype(a->dtype, b->dtype));                          \
        return detail::into(detail::make_broadcast(queue, "tdm_" #name, dtype, a, b), tdm_##name,  \
                            queue, a, b);                                                          \
    }
/** Both of a bool. */
#define TANDEM_BOOL(dtype) TDM_BOOL
/** Both of that dtype itself. */
#define TANDEM_SAME(dtype) dtype

/** -x */
TANDEM_FUNCTION_OF_ONE(neg, detail::as_number)
/** |x| */
TANDEM_FUNCTION_OF_ONE(abs, detail::as_number)
/** -1, 0 or 1 */
TANDEM_FUNCTION_OF_ONE(sign, detail::as_number)
/** x² */
TANDEM_FUNCTION_OF_ONE(square, detail::as_number)
/** max(x, 0) */
TANDEM_FUNCTION_OF_ONE(relu, detail::as_number)
/** ~x; of bools: not */
TANDEM_FUNCTION_OF_ONE(bitwise_not, TANDEM_SAME)
/** √x */
TANDEM_FUNCTION_OF_ONE(sqrt, detail::as_float)
/** 1 / √x */
TANDEM_FUNCTION_OF_ONE(rsqrt, detail::as_float)
/** 1 / x */
TANDEM_FUNCTION_OF_ONE(reciprocal, detail::as_float)
/** e^x */
TANDEM_FUNCTION_OF_ONE(exp, detail::as_float)
/** 2^x */
TANDEM_FUNCTION_OF_ONE(exp2, detail::as_float)
/** e^x - 1 */
TANDEM_FUNCTION_OF_ONE(expm1, detail::as_float)
/** ln x */
TANDEM_FUNCTION_OF_ONE(log, detail::as_float)
/** the logarithm of x to base 2 */
TANDEM_FUNCTION_OF_ONE(log2, detail::as_float)
/** the logarithm of x to base 10 */
TANDEM_FUNCTION_OF_ONE(log10, detail::as_float)
/** ln(1 + x) */
TANDEM_FUNCTION_OF_ONE(log1p, detail::as_float)
/** sin x */
TANDEM_FUNCTION_OF_ONE(sin, detail::as_float)
/** cos x */
TANDEM_FUNCTION_OF_ONE(cos, detail::as_float)
/** tan x */
TANDEM_FUNCTION_OF_ONE(tan, detail::as_float)
/** arcsin x */
TANDEM_FUNCTION_OF_ONE(asin, detail::as_float)
/** arccos x */
TANDEM_FUNCTION_OF_ONE(acos, detail::as_float)
/** arctan x */
TANDEM_FUNCTION_OF_ONE(atan, detail::as_float)
/** sinh x */
TANDEM_FUNCTION_OF_ONE(sinh, detail::as_float)
/** cosh x */
TANDEM_FUNCTION_OF_ONE(cosh, detail::as_float)
/** the inverse of sinh at x */
TANDEM_FUNCTION_OF_ONE(asinh, detail::as_float)
/** the inverse of cosh at x */
TANDEM_FUNCTION_OF_ONE(acosh, detail::as_float)
/** the inverse of tanh at x */
TANDEM_FUNCTION_OF_ONE(atanh, detail::as_float)
/** tanh x */
TANDEM_FUNCTION_OF_ONE(tanh, detail::as_float)
/** erf x */
TANDEM_FUNCTION_OF_ONE(erf, detail::as_float)
/** 1 - erf x */
TANDEM_FUNCTION_OF_ONE(erfc, detail::as_float)
/** x, rounded down */
TANDEM_FUNCTION_OF_ONE(floor, detail::as_float)
/** x, rounded up */
TANDEM_FUNCTION_OF_ONE(ceil, detail::as_float)
/** x, rounded to the nearest integer, of two the even one */
TANDEM_FUNCTION_OF_ONE(round, detail::as_float)
/** x, rounded towards 0 */
TANDEM_FUNCTION_OF_ONE(trunc, detail::as_float)
/** gelu(x), the activation of ops.h */
TANDEM_FUNCTION_OF_ONE(gelu, detail::as_float)
/** gelu_tanh(x), the activation of ops.h */
TANDEM_FUNCTION_OF_ONE(gelu_tanh, detail::as_float)
/** silu(x), the activation of ops.h */
TANDEM_FUNCTION_OF_ONE(silu, detail::as_float)
/** 1 / (1 + e^-x) */
TANDEM_FUNCTION_OF_ONE(sigmoid, detail::as_float)
/** Is x NaN? */
TANDEM_FUNCTION_OF_ONE(isnan, TANDEM_BOOL)
/** Is x Inf or -Inf? */
TANDEM_FUNCTION_OF_ONE(isinf, TANDEM_BOOL)
/** Is x neither NaN nor infinite? */
TANDEM_FUNCTION_OF_ONE(isfinite, TANDEM_BOOL)
/** Is x negative, -0 or a NaN of that sign? */
TANDEM_FUNCTION_OF_ONE(signbit, TANDEM_BOOL)
/** a + b */
TANDEM_FUNCTION_OF_TWO(add, detail::as_number)
/** a - b */
TANDEM_FUNCTION_OF_TWO(sub, detail::as_number)
/** a · b */
TANDEM_FUNCTION_OF_TWO(mul, detail::as_number)
/** a / b */
TANDEM_FUNCTION_OF_TWO(div, detail::as_number)
/** a % b, of the sign of a */
TANDEM_FUNCTION_OF_TWO(rem, detail::as_number)
/** a - b · floor_divide(a, b), of the sign of b */
TANDEM_FUNCTION_OF_TWO(remainder, detail::as_number)
/** a / b, rounded down */
TANDEM_FUNCTION_OF_TWO(floor_divide, detail::as_number)
/** min(a, b) */
TANDEM_FUNCTION_OF_TWO(minimum, detail::as_number)
/** max(a, b) */
TANDEM_FUNCTION_OF_TWO(maximum, detail::as_number)
/** a^b */
TANDEM_FUNCTION_OF_TWO(pow, detail::as_float)
/** √(a² + b²) */
TANDEM_FUNCTION_OF_TWO(hypot, detail::as_float)
/** ln(e^a + e^b) */
TANDEM_FUNCTION_OF_TWO(logaddexp, detail::as_float)
/** a with the sign of b */
TANDEM_FUNCTION_OF_TWO(copysign, detail::as_float)
/** the number after a in the direction of b */
TANDEM_FUNCTION_OF_TWO(nextafter, detail::as_float)
/** the angle of the point (b, a) */
TANDEM_FUNCTION_OF_TWO(atan2, detail::as_float)
/** a & b; of bools: and */
TANDEM_FUNCTION_OF_TWO(bitwise_and, TANDEM_SAME)
/** a | b */
TANDEM_FUNCTION_OF_TWO(bitwise_or, TANDEM_SAME)
/** a ^ b */
TANDEM_FUNCTION_OF_TWO(bitwise_xor, TANDEM_SAME)
/** a << b */
TANDEM_FUNCTION_OF_TWO(shift_left, detail::as_number)
/** a >> b */
TANDEM_FUNCTION_OF_TWO(shift_right, detail::as_number)
/** a == b */
TANDEM_FUNCTION_OF_TWO(equal, TANDEM_BOOL)
/** a != b */
TANDEM_FUNCTION_OF_TWO(not_equal, TANDEM_BOOL)
/** a < b */
TANDEM_FUNCTION_OF_TWO(less, TANDEM_BOOL)
/** a <= b */
TANDEM_FUNCTION_OF_TWO(less_equal, TANDEM_BOOL)
/** a > b */
TANDEM_FUNCTION_OF_TWO(greater, TANDEM_BOOL)
/** a >= b */
TANDEM_FUNCTION_OF_TWO(greater_equal, TANDEM_BOOL)

#undef TANDEM_FUNCTION_OF_ONE
#undef TANDEM_FUNCTION_OF_TWO
#undef TANDEM_BOOL
#undef TANDEM_SAME

/** c ? a : b, of the dtype in which a and b meet */
inline Tensor where(const Queue &queue, const Tensor &c, const Tensor &a, const Tensor &b) {
    const tdm_dtype dtype = common_dtype(a->dtype, b->dtype);
    return detail::into(detail::make_broadcast(queue, "tdm_where", dtype, a, b, c), tdm_where,
                        queue, c, a, b);
}

/** a · b + c, rounded once */
inline Tensor fma(const Queue &queue, const Tensor &a, const Tensor &b, const Tensor &c) {
    const tdm_dtype dtype = common_dtype(common_dtype(a->dtype, b->dtype), c->dtype);
    return detail::into(detail::make_broadcast(queue, "tdm_fma", detail::as_float(dtype), a, b, c),
                        tdm_fma, queue, a, b, c);
}

/** x held between low and high */
inline Tensor clamp(const Queue &queue, const Tensor &x, double low, double high) {
    return detail::into(detail::make_like(queue, x, detail::as_number(x->dtype)), tdm_clamp, queue,
                        x, low, high);
}

} // namespace tandem

#endif

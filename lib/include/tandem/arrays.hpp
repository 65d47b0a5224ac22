/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/** @file
 * For C++17: the operations of arrays.h as functions that return what they make, eye and linspace. tandem.hpp includes
 * it, and operations.hpp says what holds of them. */
#ifndef TANDEM_ARRAYS_HPP
#define TANDEM_ARRAYS_HPP

#include <cstdint>

#include <tandem/functions.hpp> // IWYU pragma: export

namespace tandem {

namespace detail {
/** a + b, at most INT64_MAX, which is refused as an extent of a tensor that has elements. */
inline std::int64_t sum_of(std::int64_t a, std::int64_t b) noexcept {
    return b > INT64_MAX - a ? INT64_MAX : a + b;
}
/** The same of extent · times; negative times give a negative extent. */
inline std::int64_t product_of(std::int64_t extent, std::int64_t times) noexcept {
    if (times < 0) return extent > 0 ? -extent : 0;
    return extent > 0 && times > INT64_MAX / extent ? INT64_MAX : extent * times;
}
} // namespace detail

/** Rows of a table by their numbers: [indices…, cols…]. */
inline Tensor gather_rows(const Queue &queue, const Tensor &table, const Tensor &indices) {
    std::vector<std::int64_t> shape = indices.shape();
    for (int d = 1; d < table->ndim; d++)
        shape.push_back(table->shape[d]);
    return detail::into(detail::make(queue, table->dtype, shape), tdm_gather_rows, queue, table,
                        indices);
}

/** Rows of `cols` elements, 1 where the index says and else 0. */
inline Tensor one_hot(const Queue &queue, const Tensor &indices, std::int64_t cols,
                      tdm_dtype dtype = TDM_F32) {
    std::vector<std::int64_t> shape = indices.shape();
    shape.push_back(cols);
    return detail::into(detail::make(queue, dtype, shape), tdm_one_hot, queue, indices);
}

/** One after the other along dim. */
inline Tensor concat(const Queue &queue, const std::vector<Tensor> &tensors, int dim) {
    std::vector<const tdm_tensor *> all;
    std::int64_t extent = 0;
    for (const Tensor &tensor : tensors) {
        const int at = dim < 0 ? dim + tensor->ndim : dim;
        all.push_back(tensor);
        if (at >= 0 && at < tensor->ndim) extent = detail::sum_of(extent, tensor->shape[at]);
    }
    Tensor y;
    if (!tensors.empty() && tensors[0]->ndim > 0) {
        std::vector<std::int64_t> shape = tensors[0].shape();
        const int at = dim < 0 ? dim + tensors[0]->ndim : dim;
        if (at >= 0 && at < tensors[0]->ndim) shape[static_cast<std::size_t>(at)] = extent;
        y = detail::make(queue, tensors[0]->dtype, shape);
    }
    tandem::check(tdm_concat(queue, all.data(), all.size(), dim, y));
    return y;
}

/** Along a new dimension. */
inline Tensor stack(const Queue &queue, const std::vector<Tensor> &tensors, int dim) {
    std::vector<const tdm_tensor *> all;
    for (const Tensor &tensor : tensors)
        all.push_back(tensor);
    Tensor y;
    if (!tensors.empty()) {
        const int ndim = detail::given(tensors[0]).ndim;
        const int inside = std::clamp(dim < 0 ? dim + ndim + 1 : dim, 0, ndim);
        std::vector<std::int64_t> shape = tensors[0].shape();
        shape.insert(shape.begin() + inside, static_cast<std::int64_t>(tensors.size()));
        y = detail::make(queue, tensors[0]->dtype, shape);
    }
    tandem::check(tdm_stack(queue, all.data(), all.size(), dim, y));
    return y;
}

/** The last elements first along these dimensions. */
inline Tensor flip(const Queue &queue, const Tensor &x, const std::vector<int> &dims) {
    return detail::into(detail::make_like(queue, x, x->dtype), tdm_flip, queue, x, dims.data(),
                        dims.size());
}

/** The order of each row's elements, in i64. */
inline Tensor argsort(const Queue &queue, const Tensor &x, bool descending = false) {
    return detail::into(detail::make_like(queue, x, TDM_I64), tdm_argsort, queue, x, descending);
}

/** Largest elements of rows, and where they are. */
struct TopK {
    Tensor values;  /**< the largest first */
    Tensor indices; /**< in i64 */
};

/** The k largest of each row: auto [values, indices] = … */
inline TopK top_k(const Queue &queue, const Tensor &x, std::int64_t k) {
    TopK made = {detail::make_of_rows(queue, x, k, x->dtype),
                 detail::make_of_rows(queue, x, k, TDM_I64)};
    tandem::check(tdm_top_k(queue, x, made.values, made.indices));
    return made;
}

/** The elements of each row in their order. */
inline Tensor sort(const Queue &queue, const Tensor &x, bool descending = false) {
    return detail::into(detail::make_like(queue, x, x->dtype), tdm_sort, queue, x, descending);
}

/** Moved on by a shift along each dimension that is named; what leaves at the end comes in at the beginning. */
inline Tensor roll(const Queue &queue, const Tensor &x, const std::vector<std::int64_t> &shifts,
                   const std::vector<int> &dims) {
    Tensor y = detail::make_like(queue, x, x->dtype);
    if (shifts.size() != dims.size())
        throw std::invalid_argument("tandem::roll: there must be as many shifts as dims");
    tandem::check(tdm_roll(queue, x, shifts.data(), dims.data(), dims.size(), y));
    return y;
}

/** x so many times along each of the last dimensions. */
inline Tensor tile(const Queue &queue, const Tensor &x, const std::vector<std::int64_t> &times) {
    static_cast<void>(detail::given(x));
    std::vector<std::int64_t> shape = x.shape();
    if (shape.size() < times.size()) shape.insert(shape.begin(), times.size() - shape.size(), 1);
    for (std::size_t i = 1; i <= times.size(); i++) {
        std::int64_t &extent = shape[shape.size() - i];
        extent = detail::product_of(extent, times[times.size() - i]);
    }
    return detail::into(detail::make(queue, x->dtype, shape), tdm_tile, queue, x);
}

namespace detail {
/** Of x's shape with another extent of dim, if there is such a dimension. */
inline Tensor make_along(const Queue &queue, const Tensor &x, int dim, std::int64_t extent) {
    tdm_tensor y = given(x);
    const int at = dim < 0 ? dim + y.ndim : dim;
    if (at >= 0 && at < y.ndim) y.shape[at] = extent;
    return make(queue, y.dtype, shape_of(y));
}

inline std::int64_t extent_of(const Tensor &x, int dim) noexcept { /**< 0 of no dimension */
    const int at = dim < 0 ? dim + x->ndim : dim;
    return at >= 0 && at < x->ndim ? x->shape[at] : 0;
}
} // namespace detail

/** Each element `times` times in a row along dim. */
inline Tensor repeat(const Queue &queue, const Tensor &x, std::int64_t times, int dim) {
    const std::int64_t extent = detail::product_of(detail::extent_of(x, dim), times);
    return detail::into(detail::make_along(queue, x, dim, extent), tdm_repeat, queue, x, dim);
}

/** The differences of neighbours along dim, n times. */
inline Tensor diff(const Queue &queue, const Tensor &x, int dim = -1, std::int64_t n = 1) {
    const std::int64_t extent = detail::extent_of(x, dim);
    const std::int64_t left = n >= 0 && n < extent ? extent - n : 0;
    return detail::into(detail::make_along(queue, x, dim, left), tdm_diff, queue, x, dim, n);
}

/** The elements that the indices name along dim. */
inline Tensor take_along_axis(const Queue &queue, const Tensor &x, const Tensor &indices, int dim) {
    return detail::into(detail::make_like(queue, indices, x->dtype), tdm_take_along_axis, queue, x,
                        indices, dim);
}

/** Whether each element is one of the values. */
inline Tensor isin(const Queue &queue, const Tensor &x, const Tensor &values) {
    return detail::into(detail::make_like(queue, x, TDM_BOOL), tdm_isin, queue, x, values);
}

/** x on and below the diagonal, else 0. */
inline Tensor tril(const Queue &queue, const Tensor &x, std::int64_t diagonal = 0) {
    return detail::into(detail::make_like(queue, x, x->dtype), tdm_tril, queue, x, diagonal);
}

/** x on and above the diagonal, else 0. */
inline Tensor triu(const Queue &queue, const Tensor &x, std::int64_t diagonal = 0) {
    return detail::into(detail::make_like(queue, x, x->dtype), tdm_triu, queue, x, diagonal);
}

/** 1 where column = row + diagonal, else 0. */
inline Tensor eye(const Queue &queue, std::int64_t rows, std::int64_t cols,
                  tdm_dtype dtype = TDM_F32, std::int64_t diagonal = 0) {
    return Tensor(detail::made<tdm_tensor>(tdm_eye, queue, rows, cols, diagonal, dtype));
}

/** `count` numbers from start to end, which is the last of them unless endpoint is false. */
inline Tensor linspace(const Queue &queue, double start, double end, std::int64_t count,
                       tdm_dtype dtype = TDM_F32, bool endpoint = true) {
    return Tensor(
        detail::made<tdm_tensor>(tdm_linspace, queue, start, end, count, endpoint, dtype));
}

} // namespace tandem

#endif

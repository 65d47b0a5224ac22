/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* The plan of a reduction: x's dimensions sorted and merged, so that what becomes one result lies in lines along memory
 * or in columns, and long groups cut into parts, so that few of them are work for the whole device, too. */
#include "reduce.h"

#include "strided.h"
#include "temporary.h"

/* ---- arguments ---- */

static tdm_status read_dims(const char *function, const tdm_tensor *x, const int *dims,
                            size_t count, tdmi_reduced *reduced) {
    if (count == 0 && dims)
        return tdmi_fail(TDM_ERROR_INVALID_ARGUMENT,
                         "%s: count is 0, but dims is not NULL; all dimensions are NULL and 0",
                         function);
    TDMI_TRY(tdmi_check_dims(function, x, dims, count, reduced->dim));
    for (int i = 0; i < TDM_MAX_DIMS && count == 0; i++)
        reduced->dim[i] = true;
    return TDM_OK;
}

tdm_status tdmi_check_reduced(const char *function, const tdm_tensor *x, const int *dims,
                              size_t count, const char *name, const tdm_tensor *y,
                              tdmi_reduced *reduced) {
    TDMI_TRY(read_dims(function, x, dims, count, reduced));
    tdm_tensor without = {.ndim = 0}, with = *x;
    reduced->elements = 1;
    bool empty = false; /* then the other extents may be of any size */
    for (int i = 0; i < x->ndim; i++) {
        reduced->of_y[i] = -1;
        if (reduced->dim[i]) {
            empty = empty || x->shape[i] == 0;
            if (__builtin_mul_overflow(reduced->elements, x->shape[i], &reduced->elements))
                reduced->elements = INT64_MAX;
            with.shape[i] = 1;
        } else {
            without.shape[without.ndim++] = x->shape[i];
        }
    }
    if (empty) reduced->elements = 0;
    const bool all = without.ndim == 0, kept = y->ndim == x->ndim;
    bool fits = all ? tdm_tensor_get_count(y) == 1 : kept || y->ndim == without.ndim;
    const tdm_tensor *wanted = kept ? &with : &without;
    for (int i = 0; fits && !all && i < y->ndim; i++)
        fits = y->shape[i] == wanted->shape[i];
    if (fits) {
        for (int i = 0, next = 0; i < x->ndim; i++)
            if (!reduced->dim[i]) reduced->of_y[i] = kept ? i : next++;
        return TDM_OK;
    }
    char text[128], with_text[128], without_text[128];
    if (all)
        return tdmi_fail(TDM_ERROR_INVALID_SHAPE,
                         "%s: the shape of %s is %s, it must have one element", function, name,
                         tdmi_shape_text(y, text));
    return tdmi_fail(TDM_ERROR_INVALID_SHAPE, "%s: the shape of %s is %s, it must be %s or %s",
                     function, name, tdmi_shape_text(y, text),
                     tdmi_shape_text(&without, without_text), tdmi_shape_text(&with, with_text));
}

static bool is_narrow_float(tdm_dtype dtype) {
    return tdm_dtype_is_float(dtype) && tdm_dtype_size(dtype) == 2;
}

tdm_status tdmi_check_reduced_dtypes(const char *function, const tdm_queue *queue,
                                     bool floats_alone, const char *name, const tdm_tensor *x,
                                     const char *y_name, const tdm_tensor *y) {
    const bool is_float = tdm_dtype_is_float(x->dtype), narrow = is_narrow_float(x->dtype);
    if (floats_alone && !is_float)
        return tdmi_fail(TDM_ERROR_INVALID_DTYPE,
                         "%s: the dtype of %s is %s, it must be one of %s; tdm_cast converts",
                         function, name, tdm_dtype_name(x->dtype), tdmi_float_dtypes());
    if (is_float) TDMI_TRY(tdmi_check_computes(function, queue->device, name, x->dtype));
    if (!is_float && (y->dtype == TDM_I64 || y->dtype == TDM_U64)) return TDM_OK;
    if (is_float && (y->dtype == x->dtype || (narrow && y->dtype == TDM_F32))) return TDM_OK;
    return tdmi_fail(TDM_ERROR_INVALID_DTYPE,
                     "%s: the dtype of %s is %s, for %s of %s it must be %s%s", function, y_name,
                     tdm_dtype_name(y->dtype), name, tdm_dtype_name(x->dtype),
                     is_float ? tdm_dtype_name(x->dtype) : "i64 or u64", narrow ? " or f32" : "");
}

tdm_status tdmi_check_extents(const char *function, const tdm_tensor *x) {
    if (tdm_tensor_get_count(x) == 0) return TDM_OK;
    for (int i = 0; i < x->ndim; i++)
        if (x->shape[i] > INT32_MAX)
            return tdmi_fail(TDM_ERROR_UNSUPPORTED,
                             "%s: a dimension of x has %lld elements, allowed are fewer than 2^31",
                             function, (long long)x->shape[i]);
    return TDM_OK;
}

/* ---- dimensions ---- */

/* The most elements that dimensions are merged to, as kernels index a line with 32 bits. */
static const int64_t MOST_MERGED = (int64_t)1 << 30;

/* Operands of the dimensions. One that is reduced has a stride of 0 in y, and no other has, as y's elements are
 * distinct. */
enum { OF_X, OF_Y };

/* Dimensions of extent above 1, those with the largest distance in x first. */
static tdmi_dims find_dims(const tdm_tensor *x, const tdmi_reduced *reduced, const tdm_tensor *y) {
    tdmi_dims d = {.operands = 2};
    for (int i = 0; i < x->ndim; i++) {
        if (x->shape[i] == 1) continue;
        d.shape[d.count] = x->shape[i];
        d.strides[OF_X][d.count] = x->strides[i];
        d.strides[OF_Y][d.count++] = reduced->dim[i] ? 0 : y->strides[reduced->of_y[i]];
    }
    tdmi_dims_sort(&d, OF_X);
    tdmi_dims_merge(&d, MOST_MERGED);
    return d;
}

/* All but the last dimension, as the args have them: those that are kept, and the lines. */
static void describe(const tdmi_dims *d, bool in_columns, tdm_reduce_args *args) {
    const int last = d->count - 1;
    const int64_t *const of_x = d->strides[OF_X], *const of_y = d->strides[OF_Y];
    args->rows = args->lines = 1;
    args->outer_ndim = args->line_ndim = 0;
    args->cols = last >= 0 ? (tdm_u32)d->shape[last] : 1;
    args->y_step = last >= 0 && in_columns ? of_y[last] : 1;
    for (int i = 0; i < last; i++) {
        if (of_y[i] == 0) {
            args->line_shape[args->line_ndim] = d->shape[i];
            args->line_stride[args->line_ndim++] = of_x[i];
            args->lines *= d->shape[i];
        } else {
            args->outer_shape[args->outer_ndim] = d->shape[i];
            args->x_stride[args->outer_ndim] = of_x[i];
            args->y_stride[args->outer_ndim++] = of_y[i];
            args->rows *= d->shape[i];
        }
    }
}

/* ---- launches ---- */

typedef tdmi_reduction_plan plan;

static size_t size_of(tdm_dtype dtype) { return tdm_dtype_size(dtype); }

static bool has_row_loops(const tdm_queue *queue) { return queue->device->facts->row_loops; }

/* Of GPUs the columns of a group, which has as many lanes. Of one lane alone at least LEAST_COLUMNS, in whole cache
 * lines of every dtype. */
enum { COLUMNS_OF_MANY = 256, ELEMENTS_PER_LANE = 4, LEAST_COLUMNS = 256, COLUMNS_STEP = 64 };

static int64_t block_of(const plan *p) {
    const int64_t cols = p->args.cols, width = p->args.width;
    return cols < width ? cols : width;
}

enum { PART_STEP = 64 }; /* SUM_ROWS of the kernels */

/* One lane alone reads columns the faster the more of a line it has, so it has as many as leave work for the others,
 * which may be parts of lines. */
static void choose_width(plan *p) {
    p->args.width = COLUMNS_OF_MANY;
    if (!p->in_columns || !has_row_loops(p->queue)) return;
    const tdmi_reduction *r = p->reduction;
    const tdmi_device_facts *facts = p->queue->device->facts;
    const int64_t groups = r->seldom_cut ? (int64_t)facts->info.compute_units : facts->max_groups;
    const int64_t parts =
        r->seldom_cut || p->args.lines < PART_STEP ? 1 : p->args.lines / PART_STEP;
    size_t size = sizeof(float); /* of what is kept of a column */
    if (size_of(r->t) > size) size = size_of(r->t);
    if (size_of(r->again_t) > size) size = size_of(r->again_t);
    const int64_t cols = p->args.cols, most = TDM_REDUCE_WIDTH / (int64_t)size;
    int64_t blocks = (cols + most - 1) / most;
    while (p->args.rows * blocks * parts < groups && cols / (2 * blocks) >= LEAST_COLUMNS)
        blocks *= 2;
    const int64_t width = (cols + blocks - 1) / blocks;
    p->args.width = (tdm_i32)((width + COLUMNS_STEP - 1) / COLUMNS_STEP * COLUMNS_STEP);
}

int64_t tdmi_items_uncut(const plan *p) {
    const int64_t block = block_of(p);
    return p->in_columns ? p->args.rows * ((p->args.cols + block - 1) / block) : p->args.rows;
}

/* Lines are cut so that parts are of whole SUM_ROWS. */
static tdmi_pieces cut_lines(const plan *p) {
    enum { LEAST_BYTES = 16 << 10 };
    const tdmi_device_facts *facts = p->queue->device->facts;
    const int64_t items = tdmi_items_uncut(p), lines = p->args.lines;
    const int64_t width = p->in_columns ? block_of(p) : p->args.cols;
    const int64_t bytes = width * (int64_t)size_of(p->reduction->t);
    int64_t wanted = (facts->max_groups + items - 1) / items;
    int64_t least = LEAST_BYTES / bytes;
    if (facts->min_group_bytes > least * bytes) least = facts->min_group_bytes / bytes;
    if (least < PART_STEP) least = PART_STEP;
    if (wanted > lines / least) wanted = lines / least;
    if (wanted < lines / MOST_MERGED + 1) wanted = lines / MOST_MERGED + 1;
    const int64_t chunk = ((lines + wanted - 1) / wanted + PART_STEP - 1) / PART_STEP * PART_STEP;
    if (wanted == 1 || chunk >= lines) return (tdmi_pieces){0, 1};
    return (tdmi_pieces){(uint32_t)chunk, (uint32_t)((lines + chunk - 1) / chunk)};
}

void tdmi_cut_reduction(plan *p) {
    const bool by_lines = p->in_columns || p->args.lines > 1;
    if (by_lines || p->reduction->kernel == TDMI_KERNEL_CUMSUM) {
        const tdmi_pieces pieces = by_lines ? cut_lines(p)
                                            : tdmi_cut_rows(p->queue, p->args.rows, p->args.cols,
                                                            size_of(p->reduction->t));
        p->args.chunk = pieces.chunk;
        p->args.chunks = pieces.chunks;
    } else { /* the same for a row in every batch */
        const tdm_cut cut =
            tdmi_cut_chunks(p->queue, p->args.rows, p->args.cols, 0, size_of(p->reduction->t));
        p->args.chunk = cut.chunk;
        p->args.chunks = cut.chunks;
    }
}

/* The number of a group's elements in one launch decides its lanes; on a CPU, where there is one lane, the number of an
 * item's elements decides whether it is worth a thread. */
tdm_status tdmi_launch_reduction(const plan *p, tdmi_variant variant, const tdmi_mem *const *mems,
                                 const tdm_reduce_args *args) {
    const bool in_columns = (variant.op & TDM_OP_IN_COLUMNS) != 0;
    const int64_t chunks = args->chunks, cols = args->cols;
    int64_t at_once = args->chunks > 1 && args->lines == 1 && !in_columns ? args->chunk : cols;
    if (in_columns && cols > COLUMNS_OF_MANY) at_once = COLUMNS_OF_MANY;
    if (in_columns) at_once *= ELEMENTS_PER_LANE;
    const int64_t block = block_of(p);
    const int64_t items = args->rows * (in_columns ? (cols + block - 1) / block : 1) * chunks;
    if (has_row_loops(p->queue)) at_once = (args->rows * args->lines * cols + items - 1) / items;
    const size_t size = size_of((tdm_dtype)variant.t);
    /* reductions write little */
    const bool kept = variant.kernel != TDMI_KERNEL_CUMSUM || p->x->buffer == p->y->buffer;
    variant.stream = tdmi_stores(p->queue, args->rows * args->lines, cols, size, kept);
    return tdmi_launch_items(p->queue, variant, items, at_once, mems, args);
}

static tdmi_variant variant_of(const plan *p, unsigned op, tdm_dtype t) {
    return (tdmi_variant){.kernel = (uint8_t)p->reduction->kernel,
                          .t = (uint8_t)t,
                          .u = (uint8_t)t,
                          .op = (uint8_t)(op | (p->in_columns ? TDM_OP_IN_COLUMNS : 0))};
}

/* The strides of rows of so many elements each, one after the other. */
static void make_contiguous(int ndim, const int64_t *shape, int64_t elements, int64_t *strides) {
    for (int i = ndim - 1; i >= 0; i--) {
        strides[i] = elements;
        elements *= shape[i];
    }
}

/* Puts together what parts have left, whose first element is that of the scratch memory. */
static tdm_status put_together(const plan *p, const tdmi_mem *scratch) {
    const tdmi_reduction *r = p->reduction;
    tdm_reduce_args args = p->args;
    const tdmi_mem *x = tdmi_mem_of(p->x), *y = tdmi_mem_of(p->y);
    if (r->op == TDM_OP_REDUCE_VARIANCE && r->kernel == TDMI_KERNEL_REDUCE) {
        tdmi_variant variant = variant_of(p, 0, r->t);
        variant.kernel = TDMI_KERNEL_REDUCE_VARIANCE;
        const tdmi_mem *mems[] = {scratch, y};
        args.partial = 0;
        const int64_t items = args.rows * (p->in_columns ? args.cols : 1);
        return tdmi_launch_items(p->queue, variant, items, args.chunks, mems, &args);
    }
    const tdm_i64 parts = args.chunks;
    args.chunks = 1;
    args.line_ndim = 1;
    args.sign = 0; /* sums have theirs already */
    if (r->kernel == TDMI_KERNEL_EXTREME && r->op == TDM_OP_EXTREME_PLACE) {
        const tdmi_mem *mems[] = {x, scratch, y};
        tdmi_variant variant = variant_of(p, r->op | TDM_OP_IN_COLUMNS, r->t);
        args.again = 1;
        args.lines = args.line_shape[0] = parts;
        if (!p->in_columns) {
            args.cols = 1;
            args.line_stride[0] = 1;
        }
        return tdmi_launch_reduction(p, variant, mems, &args);
    }
    const int64_t across = p->in_columns ? args.cols : 1;
    args.x_offset = 0;
    make_contiguous(args.outer_ndim, args.outer_shape, across * parts, args.x_stride);
    args.lines = args.line_shape[0] = p->in_columns ? parts : 1;
    args.line_stride[0] = args.cols;
    if (!p->in_columns) args.cols = (tdm_u32)parts;
    const tdmi_mem *mems[] = {scratch, scratch, y};
    return tdmi_launch_reduction(p, variant_of(p, r->again, r->again_t), mems, &args);
}

static tdmi_variant first_variant(const plan *p) {
    const tdmi_reduction *r = p->reduction;
    tdmi_variant variant = variant_of(p, r->op, r->t);
    variant.vectors = p->in_columns ? 0 : tdmi_reduced_vectors(p->places, size_of(r->t));
    return variant;
}

tdm_status tdmi_leave_parts(const plan *p, const tdmi_mem **scratch) {
    const tdmi_reduction *r = p->reduction;
    tdm_reduce_args args = p->args;
    const int64_t across = p->in_columns ? args.cols : 1;
    const int64_t each = r->op == TDM_OP_REDUCE_VARIANCE && r->kernel == TDMI_KERNEL_REDUCE ? 2 : 1;
    TDMI_TRY(tdmi_queue_scratch(p->queue, (size_t)(args.rows * across * args.chunks) * r->left,
                                scratch));
    make_contiguous(args.outer_ndim, args.outer_shape, each * across * args.chunks, args.y_stride);
    args.y_offset = 0;
    args.y_step = each;
    args.y_chunk = each * across;
    args.divisor = tdmi_scalar(1);
    args.partial = 1;
    args.wide = 1;
    args.to = (tdm_i32)r->again_t;
    /* no other: what the second launch has in its place, as an argument that is the same is not handed over */
    const tdmi_mem *other = r->other ? tdmi_mem_of(r->other) : *scratch;
    const tdmi_mem *mems[] = {tdmi_mem_of(p->x), other, *scratch};
    return tdmi_launch_reduction(p, first_variant(p), mems, &args);
}

static tdm_status run(plan *p) {
    tdmi_cut_reduction(p);
    if (p->args.chunks == 1) {
        const tdmi_mem *other = p->reduction->other ? tdmi_mem_of(p->reduction->other) : NULL;
        const tdmi_mem *mems[] = {tdmi_mem_of(p->x), other, tdmi_mem_of(p->y)};
        return tdmi_launch_reduction(p, first_variant(p), mems, &p->args);
    }
    const tdmi_mem *scratch;
    TDMI_TRY(tdmi_leave_parts(p, &scratch));
    return put_together(p, scratch);
}

tdm_status tdmi_copy_of(tdm_queue *queue, const tdm_tensor *x, tdm_tensor *copy) {
    TDMI_TRY(tdmi_temporary(queue, x->dtype, x->ndim, x->shape, copy));
    const tdm_status status = tdmi_copy_into(queue, x, copy);
    if (status != TDM_OK) tdm_tensor_release(copy);
    return status;
}

tdm_status tdmi_plan_reduction(const char *function, tdm_queue *queue,
                               const tdmi_reduction *reduction, const tdm_tensor *x,
                               const tdmi_reduced *reduced, const tdm_tensor *y, plan *p) {
    TDMI_TRY(tdmi_check_extents(function, x));
    const tdmi_dims d = find_dims(x, reduced, y);
    p->queue = queue;
    p->reduction = reduction;
    p->x = x;
    p->y = y;
    p->args = reduction->args;
    p->in_columns = d.count > 0 && d.strides[OF_Y][d.count - 1] != 0;
    p->adjacent = d.count == 0 || d.strides[OF_X][d.count - 1] == 1;
    describe(&d, p->in_columns, &p->args);
    choose_width(p);
    p->args.x_offset = x->offset;
    p->args.y_offset = y->offset;
    p->args.count = reduced->elements;
    p->places = x->offset;
    for (int i = 0; i < d.count - 1; i++)
        p->places |= d.strides[OF_X][i];
    if (reduction->other) {
        p->args.other_offset = reduction->other->offset;
        p->places |= reduction->other->offset;
    }
    return TDM_OK;
}

tdm_status tdmi_run_reduction(const char *function, tdm_queue *queue,
                              const tdmi_reduction *reduction, const tdm_tensor *x,
                              const tdmi_reduced *reduced, const tdm_tensor *y) {
    plan p;
    TDMI_TRY(tdmi_plan_reduction(function, queue, reduction, x, reduced, y, &p));
    if (p.adjacent) return run(&p);
    tdm_tensor copy;
    TDMI_TRY(tdmi_copy_of(queue, x, &copy));
    tdm_status status = tdmi_run_reduction(function, queue, reduction, &copy, reduced, y);
    tdm_buffer_release(copy.buffer);
    return status;
}

/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* Content that needs no input: ranges and random numbers. */
#include "launch.h"

/* A contiguous tensor of any size is written as rows of this length, the last one apart. */
static const int64_t LONG_ROW = (int64_t)1 << 30;

/* The part that one launch writes: rows of y, and the number of their first element. */
typedef struct part {
    tdmi_rows rows;
    int64_t offset; /* in y's buffer, elements */
    int64_t first;  /* element of y */
} part;

typedef tdm_status (*run_part)(tdm_queue *queue, const tdm_tensor *y, const part *p,
                               const void *context);

static tdm_status for_parts(const char *function, tdm_queue *queue, const tdm_tensor *y,
                            run_part run, const void *context) {
    int64_t count = tdm_tensor_get_count(y);
    if (count == 0) return TDM_OK;
    part p = {.offset = y->offset};
    if (!tdm_tensor_is_contiguous(y)) {
        TDMI_TRY(tdmi_rows_of(function, "y", y, &p.rows));
        if (p.rows.cols > LONG_ROW)
            return tdmi_fail(TDM_ERROR_UNSUPPORTED,
                             "%s: the rows of y have %lld elements, at most 2^30 where y is not "
                             "contiguous",
                             function, (long long)p.rows.cols);
        return run(queue, y, &p, context);
    }
    for (; p.first < count; p.first += LONG_ROW) {
        int64_t left = count - p.first;
        int64_t cols = left < LONG_ROW ? left : LONG_ROW;
        p.rows = (tdmi_rows){.rows = 1, .cols = cols, .stride = cols};
        p.offset = y->offset + p.first;
        TDMI_TRY(run(queue, y, &p, context));
    }
    return TDM_OK;
}

static tdm_status launch(tdm_queue *queue, const tdm_tensor *y, const part *p, tdmi_variant variant,
                         const void *args, tdm_u32 *chunk, tdm_u32 *chunks) {
    variant.t = variant.u = (uint8_t)tdmi_dtype_stored(y->dtype);
    variant.stream =
        tdmi_stores(queue, p->rows.rows, p->rows.cols, tdm_dtype_size(y->dtype), false);
    variant.vectors = tdmi_is_aligned(p->offset | tdmi_row_step(p->rows.rows, p->rows.stride),
                                      tdm_dtype_size(y->dtype));
    const tdmi_mem *mems[] = {tdmi_mem_of(y)};
    return tdmi_launch_cut(queue, variant, p->rows.rows, p->rows.cols, mems, args, chunk, chunks);
}

static tdm_status run_range(tdm_queue *queue, const tdm_tensor *y, const part *p,
                            const void *context) {
    tdm_range_args args = *(const tdm_range_args *)context;
    args.rows = p->rows.rows;
    args.first = p->first;
    args.y_offset = p->offset;
    args.y_stride = p->rows.stride;
    args.cols = (tdm_u32)p->rows.cols;
    return launch(queue, y, p, (tdmi_variant){.kernel = TDMI_KERNEL_RANGE}, &args, &args.chunk,
                  &args.chunks);
}

/* As cast makes an i64 of it; for u64, which holds more, a u64. */
static int64_t whole(tdm_dtype dtype, double value) {
    const bool of_u64 = dtype == TDM_U64 && value > 0;
    return of_u64 ? (int64_t)tdmi_element_bits(TDM_U64, value) : tdmi_to_i64(value);
}

tdm_status tdm_fill_range(tdm_queue *queue, double start, double step, tdm_tensor *y) {
    TDMI_UNCANCELLED();
    const tdmi_arg args[] = {{"y", y, TDMI_ARG_OUTPUT | TDMI_ARG_ANY_DTYPE, 0}};
    TDMI_TRY(tdmi_check_args(__func__, queue, args, 1));
    tdm_range_args kernel_args = {.start = tdmi_scalar(start),
                                  .step = tdmi_scalar(step),
                                  .start_i64 = whole(y->dtype, start),
                                  .step_i64 = whole(y->dtype, step)};
    return for_parts(__func__, queue, y, run_range, &kernel_args);
}

/* ---- random numbers ---- */

typedef struct random_fill {
    unsigned op;
    tdm_random_args args; /* the same for all parts */
} random_fill;

static tdm_status run_random(tdm_queue *queue, const tdm_tensor *y, const part *p,
                             const void *context) {
    const random_fill *fill = context;
    tdm_random_args args = fill->args;
    args.rows = p->rows.rows;
    args.first = (int64_t)((uint64_t)args.first + (uint64_t)p->first);
    args.y_offset = p->offset;
    args.y_stride = p->rows.stride;
    args.cols = (tdm_u32)p->rows.cols;
    return launch(queue, y, p,
                  (tdmi_variant){.kernel = TDMI_KERNEL_RANDOM, .op = (uint8_t)fill->op}, &args,
                  &args.chunk, &args.chunks);
}

/* The numbers low + v scale. */
static tdm_status fill_random(const char *function, tdm_queue *queue, tdm_generator *generator,
                              unsigned op, double low, double scale, const tdm_tensor *y) {
    if (tdm_dtype_is_float(y->dtype) && (low != 0 || scale != 1)) op |= TDM_OP_RANDOM_SCALED;
    random_fill fill = {.op = op,
                        .args = {.first = (int64_t)generator->next,
                                 .low = tdmi_scalar(low),
                                 .scale = tdmi_scalar(scale),
                                 .seed_low = (tdm_u32)generator->seed,
                                 .seed_high = (tdm_u32)(generator->seed >> 32)}};
    TDMI_TRY(for_parts(function, queue, y, run_random, &fill));
    generator->next += (uint64_t)tdm_tensor_get_count(y);
    return TDM_OK;
}

static tdm_status check_random(const char *function, tdm_queue *queue,
                               const tdm_generator *generator, const tdm_tensor *y,
                               unsigned flags) {
    const tdmi_arg args[] = {{"y", y, TDMI_ARG_OUTPUT | flags, 0}};
    TDMI_NOT_NULL(function, generator);
    return tdmi_check_args(function, queue, args, 1);
}

tdm_status tdm_fill_uniform(tdm_queue *queue, tdm_generator *generator, double low, double high,
                            tdm_tensor *y) {
    TDMI_UNCANCELLED();
    TDMI_TRY(check_random(__func__, queue, generator, y, TDMI_ARG_ANY_DTYPE));
    if (!tdm_dtype_is_float(y->dtype)) return fill_random(__func__, queue, generator, 0, 0, 1, y);
    TDMI_TRY(tdmi_check_finite(__func__, "low", low, y->dtype));
    TDMI_TRY(tdmi_check_finite(__func__, "high", high, y->dtype));
    if (high < low)
        return tdmi_fail(TDM_ERROR_INVALID_ARGUMENT, "%s: high is %g, at least low, which is %g",
                         __func__, high, low);
    TDMI_TRY(tdmi_check_finite(__func__, "high - low", high - low, y->dtype));
    return fill_random(__func__, queue, generator, 0, low, high - low, y);
}

tdm_status tdm_fill_normal(tdm_queue *queue, tdm_generator *generator, double mean,
                           double deviation, tdm_tensor *y) {
    TDMI_UNCANCELLED();
    TDMI_TRY(check_random(__func__, queue, generator, y, 0));
    TDMI_TRY(tdmi_check_finite(__func__, "mean", mean, y->dtype));
    TDMI_TRY(tdmi_check_finite(__func__, "deviation", deviation, y->dtype));
    if (deviation < 0)
        return tdmi_fail(TDM_ERROR_INVALID_ARGUMENT, "%s: deviation is %g, at least 0", __func__,
                         deviation);
    return fill_random(__func__, queue, generator, TDM_OP_RANDOM_NORMAL, mean, deviation, y);
}

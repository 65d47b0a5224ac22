/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* tdm_fill_uniform, the same on every device bit for bit, and tdm_fill_normal. */
#include "operations/list.h"
#include "reference/bounds.h"
#include "reference/philox.h"
#include "reference/values.h"

enum { Y = 1 };

/* Another stream for each number of rows, from a place near which the number of a block passes 32 bits. */
static tdm_generator generator_of(const op_case *c) {
    const uint64_t any = UINT64_C(0x5eed0f7a4dee5), first = UINT64_C(0x3fffffffd);
    return (tdm_generator){.seed = any + (uint64_t)op_rows(c), .next = first};
}

static tdm_status call_uniform(const op_case *c, tdm_queue *queue, tdm_tensor *const *t) {
    tdm_generator generator = generator_of(c);
    return tdm_fill_uniform(queue, &generator, 0.0, 1.0, t[Y]);
}

static tdm_status call_normal(const op_case *c, tdm_queue *queue, tdm_tensor *const *t) {
    tdm_generator generator = generator_of(c);
    return tdm_fill_normal(queue, &generator, c->number, 1.0, t[Y]);
}

static void refer_uniform(const op_part *p) {
    const tdm_generator g = generator_of(p->c);
    const uint64_t first = g.next + (uint64_t)(p->row * op_cols(p->c) + p->col);
    for (int64_t i = 0; i < p->rows * p->cols; i++) {
        unsigned char element[8];
        philox_uniform(g.seed, first + (uint64_t)i, p->c->dtype, 0.0, 1.0, element);
        p->y[Y][i] = (double)decode(p->c->dtype, element);
    }
}

/* Within 2 ulp of Box and Muller's formula in extended precision, without a mean; with one, which is added in the same
 * rounding, within as much and that rounding. 16-bit dtypes are that, rounded once more. */
static void refer_normal(const op_part *p) {
    const tdm_generator g = generator_of(p->c);
    const uint64_t first = g.next + (uint64_t)(p->row * op_cols(p->c) + p->col);
    const tdm_dtype dtype = p->c->dtype, arithmetic = dtype == TDM_F64 ? TDM_F64 : TDM_F32;
    const double mean = dtype == TDM_F64 ? p->c->number : (double)(float)p->c->number;
    for (int64_t i = 0; i < p->rows * p->cols; i++) {
        const double z = (double)philox_normal(g.seed, first + (uint64_t)i, dtype);
        const double y = z + mean;
        p->y[Y][i] = y;
        p->bound[Y][i] = 4 * half_ulp(arithmetic, z);
        /* in f64 the reference's sum is rounded as well */
        if (mean != 0) p->bound[Y][i] += half_ulp(arithmetic, y) * (dtype == TDM_F64 ? 2 : 1);
        if (arithmetic != dtype) p->bound[Y][i] += half_ulp(dtype, y);
    }
}

/* Not counted by tests/traffic: lanes keep blocks of the stream in memory that is theirs alone. */
#define RANDOM(title, of, ...)                                                                     \
    {                                                                                              \
        .name = "fill_" #title, .function = "tdm_fill_" #title,                                    \
        .operand = {[Y] = {"y", OP_OUT, OP_ALL, .dtype = OP_SAME}}, .layout = OP_ADJACENT,         \
        .unit = OP_BY_ELEMENT, .long_rows = {.reads = -1}, .cost = of, .call = call_##title,       \
        .reference = refer_##title, __VA_ARGS__                                                    \
    }

static const operation pages[] = {RANDOM(uniform, 16, ),
                                  RANDOM(normal, 200, .number = {"mean", 0, true})};
const op_list op_random = OP_LIST(pages);

/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* A case: one operation, one dtype, one shape. The table of cases is in cases.c. There are two
 * kinds of operations. A case on buffers of one device is a plan, a call and a float64 reference
 * (ops_*.c), and the run does the rest. A case that needs more, a second device or a file, is a
 * task (task.h, tasks_*.c), which does more itself. */
#ifndef BENCH_CASE_H
#define BENCH_CASE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <tandem/tandem.h>

#include "baselines/baseline.h"
#include "cases/selection.h"
#include "operations/operation.h"
#include "rows/shape.h"

typedef struct bench_op bench_op;
typedef struct bench_task bench_task;

typedef struct bench_case {
    const bench_op *op;
    tdm_dtype dtype;
    bench_shape shape;
} bench_case;

/* The devices that cases run on, open, each with a queue. */
typedef struct bench_devices {
    tdm_device *device;
    tdm_queue *queue;
    tdm_device *second; /* for cases of two devices; else NULL */
    tdm_queue *second_queue;
} bench_devices;

/* One operand. The tensor's buffer is filled in for each set of buffers. */
typedef struct bench_operand {
    tdm_tensor tensor;
    bool is_input, is_output; /* both: updated in place */
    bool on_host;             /* host memory of tdm_host_alloc, not a buffer */
    double low, high;         /* an input's random values */
} bench_operand;

/* The operands of a case, and its work. */
typedef struct bench_plan {
    bench_operand operand[BENCH_MAX_OPERANDS];
    int operands;
    double flops;     /* 0: memory-bound, its rate is in bytes */
    bool transpose_b; /* of a product: B is [N, K] */
    /* Each output has row_count rows; a segment of a row costs row_cost per element to
     * recompute. With whole_rows a reference needs whole rows. */
    int64_t row_count, row_length, row_cost;
    bool whole_rows;
} bench_plan;

/* One set of buffers, by operand. */
typedef struct bench_set {
    tdm_tensor tensor[BENCH_MAX_OPERANDS];
    void *host[BENCH_MAX_OPERANDS];
} bench_set;

typedef struct bench_segment bench_segment;

struct bench_op {
    const char *name; /* "bias_add+gelu" */
    int variant;      /* the operation's own */
    bench_baseline_kind baseline;
    void (*plan)(const bench_case *c, bench_plan *plan);
    tdm_status (*call)(const bench_case *c, tdm_queue *queue, bench_set *set);
    bool (*reference)(bench_segment *segment); /* see segment.h; false when memory is short */
    const bench_task *task; /* NULL, or the second kind: the four members before it are unused */
    const operation
        *operation; /* with a page in operations/, and these of its operands; else NULL */
    unsigned given;
    const char *peers; /* the work's name in peers.py; NULL: the op's own, if it is on rows */
};

/* Each ends with an op that has no name. The first of matmul's is the plain product. */
extern const bench_op bench_ops_matmul[], bench_ops_feed_forward[], bench_ops_arrays[],
    bench_ops_expressions[], bench_ops_copies[], bench_ops_tasks[];

enum { BENCH_MAX_OPS = 192 };

/* Those of all pages, and rows that call one of them in another way. */
const bench_op *bench_ops_pages(void);

/* The cases that a selection has, in the order of the table, without repeats; malloc'ed, the caller
 * frees. NULL when memory is short. */
bench_case *bench_select_cases(const bench_selection *selection, size_t *count);

/* One case, selected or not. False when there is no such operation. */
bool bench_make_case(const char *op, tdm_dtype dtype, const char *shape, bench_case *c);

/* Adds a contiguous operand to a plan and returns its index; inputs are random in [low, high). */
int bench_add_operand(bench_plan *plan, tdm_dtype dtype, int ndim, const int64_t *shape,
                      bool is_input, bool is_output, double low, double high);

/* rows x columns of a case; one extent is one row. */
int64_t bench_rows(const bench_case *c);
int64_t bench_cols(const bench_case *c);

/* Does a call of this case need two devices? */
bool bench_needs_two_devices(const bench_case *c);

/* Bytes of one operand. */
size_t bench_operand_bytes(const bench_operand *operand);

/* The request of a baseline for a case: all but the device, the inputs and the sets of buffers. */
bench_request bench_case_request(const bench_case *c, const bench_plan *plan);

#endif

/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* The second kind of operation: a case that needs more than the buffers and the queue of one device
 * makes, checks and compares what it works on itself; the samples are taken as for the first kind.
 */
#ifndef BENCH_TASK_H
#define BENCH_TASK_H

#include "baselines/baseline.h"
#include "cases/case.h"
#include "cases/verify.h"
#include "rows/row.h"

/* One case at work. */
typedef struct bench_task_run {
    const bench_devices *on;
    uint64_t seed; /* of the inputs and of the rows that are verified */
    const bench_case *c;
    bench_row *row;          /* prepare sets flops or bytes, and a note */
    bench_baseline baseline; /* prepare fills it in, or says in row->problem why there is none */
    double bound_seconds;    /* instead of a baseline: the most time that a call may take; else 0 */
    const char *failure;     /* the message of a call that failed on another thread; else NULL */
    bool skipped;            /* prepare failed because the case cannot run here */
    void *state;             /* the task's own: state_size bytes, zero before prepare */
} bench_task_run;

struct bench_task {
    bool two_devices; /* on->second is there */
    size_t state_size;
    /* False with row->problem where it fails; destroy is called then too. */
    bool (*prepare)(bench_task_run *run);
    /* The work once, waited for. A failure is in run->failure, else in tdm_last_error. */
    tdm_status (*call)(bench_task_run *run);
    /* Compares the results of the last call. */
    void (*check)(bench_task_run *run, bench_verdict *verdict);
    void (*destroy)(bench_task_run *run);
};

/* Their definitions are in tasks_*.c. */
extern const bench_task bench_task_two_devices, bench_task_save, bench_task_load,
    bench_task_to_there, bench_task_to_back, bench_task_to_same, bench_task_graph,
    bench_task_graph_nodes, bench_task_attention, bench_task_encoder, bench_task_encoder_ragged;

/* Says why prepare gave up: the first for a failure of Tandem, the second for a case that cannot
 * run here. Both return false. */
bool bench_task_failed(bench_task_run *run, const char *what);
bool bench_task_skip(bench_task_run *run, const char *why);

/* Inputs, for prepare; false, and why. Random values in new host memory (bench_alloc); and a buffer of
 * the queue's device, with these bytes unless they are NULL. */
bool bench_task_random(bench_task_run *run, uint64_t seed, tdm_dtype dtype, int64_t count,
                       double low, double high, void **values);
bool bench_task_buffer(bench_task_run *run, tdm_queue *queue, size_t size, const void *values,
                       tdm_buffer **buffer);

#endif

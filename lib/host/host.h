/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* Work on the host's own cores: worker threads, and matrix products of BLAS libraries. Used by the
 * cpu backend, and by the opencl backend inside native kernels. */
#ifndef TDMI_HOST_H
#define TDMI_HOST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <tandem/ops.h>

/* min_group_bytes of every device that is the host's CPU: waking a thread for less does not pay. */
enum { TDMI_HOST_GROUP_BYTES = 32 << 10 };

/* Threads that tdmi_parallel uses, the caller included: TANDEM_CPU_THREADS, or the number of cores
 * that this process may run on, or its control group's quota in cores where that is less. */
int tdmi_worker_count(void);

/* Which of them this thread is: 0 for any thread that is no worker. Threads that run bodies of one
 * tdmi_parallel have different numbers, below tdmi_worker_count(). */
int tdmi_worker_number(void);

/* The next user of the cores when a loop has ended: most often another loop, for which the workers stay
 * awake a moment, or threads that are not ours, such as those of a driver that called us. */
typedef enum tdmi_next { TDMI_NEXT_LOOP, TDMI_NEXT_OTHERS } tdmi_next;

/* Runs body(context, i) for i in [0, count) on the workers and the caller, and returns when all are
 * done. Items are handed out one at a time, in order. When another thread is using the workers, or
 * from inside a body, everything runs on the caller. The body must not fail. */
void tdmi_parallel(uint32_t count, void (*body)(void *context, uint32_t index), void *context,
                   tdmi_next next);

/* One row-major matrix product on host memory: C = activation(alpha op(A) op(B) + beta C + bias). */
typedef struct tdmi_host_gemm {
    tdm_dtype dtype;
    bool transpose_a, transpose_b, panels; /* panels: B lies in these (panels.c) */
    int64_t m, n, k;
    double alpha, beta;
    const void *a, *b;
    void *c;
    int64_t lda, ldb, ldc;
    const void *bias; /* of the columns, or NULL */
    tdm_activation activation;
} tdmi_host_gemm;

/* Memory for the calling thread's work on a part of a product: at least `size` bytes, aligned to 64, with
 * the room that there is; NULL when there is none. Memory given back is kept for the next caller. */
void *tdmi_host_scratch_take(size_t size, size_t *room);
void tdmi_host_scratch_give(void *scratch, size_t room);

#endif

/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* Shared by the files of the random programs: the program's state, and the model of its tensors' contents. */
#ifndef TEST_PROGRAMS_H
#define TEST_PROGRAMS_H

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "reference/bounds.h"
#include "support/array.h"

/* clang-format off */
#define PROGRAM_KINDS(X)                                                                           \
    X(CREATE) X(CREATE_2) X(VIEW) X(BINARY) X(BINARY_2) X(UNARY) X(ROWS) X(REDUCE) X(PRODUCT)      \
    X(CAST) X(COPY) X(MOVE) X(WRITE) X(FILL) X(READ) X(RELEASE) X(FINISH) X(NEW_QUEUE) X(TRIM)     \
    X(GRAPH) X(KERNEL)
/* clang-format on */
typedef enum kind {
#define KIND(name) name,
    PROGRAM_KINDS(KIND) KIND_COUNT
} kind;

enum { TENSORS = 10, QUEUES = 2, DEVICES = 2, MOST = 216, NUMBERS = 6 };

/* A kind and random numbers, which choose among what there is: any steps are a program. */
typedef struct step {
    kind kind;
    uint32_t r[NUMBERS];
} step;

/* The contents of a buffer, as far as views of it go. */
typedef struct memory {
    int users, device, queue; /* queue: the one of its device that used it last, or -1 */
    double v[MOST], e[MOST];  /* each element, and how far it may be off */
} memory;

typedef struct slot {
    tdm_tensor t;
    memory *m;
    tdm_transfer *transfer; /* that brings it; until then `source` must not be written */
    const memory *source;
} slot;

typedef struct state {
    tdm_device *devices[DEVICES];
    tdm_queue *queues[DEVICES][QUEUES];
    slot slots[TENSORS];
    int live;
    bool prints, failed;
    char why[600];
} state;
extern state s;
extern long calls, refused, compared;

/* A line of the program that is printed; the first failure. */
void tell(const char *format, ...) __attribute__((format(printf, 1, 2)));
void fail(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* A call that must succeed, or may be refused for where its operands lie, and then changes nothing. */
bool ok(tdm_status status);
#define MUST(call)                                                                                 \
    do {                                                                                           \
        if (!ok(call)) fail("refused: %s", tdm_last_error());                                      \
    } while (0)

typedef struct elements {
    double v[MOST], e[MOST];
} elements;

/* The place of element n, counted row-major, in the buffer. */
int64_t place_of(const tdm_tensor *t, int64_t n);
elements get(const slot *x);

/* Results of arithmetic, stored: exact ones are rounded as the device does, others may be off by a rounding more. */
void put(const slot *y, const elements *n);

/* No element may be off; and all are whole numbers. */
bool is_exact(const slot *x, bool whole);

const char *name_of(const slot *x);
void await(slot *x);
void release(slot *x);
slot *pick(uint32_t r);

/* A place for a new tensor, which has no buffer yet; and a tensor, whose elements are anything. */
slot *new_slot(uint32_t r, int where, const slot *not_a, const slot *not_b);
slot *new_tensor(uint32_t r, int where, tdm_dtype dtype, int ndim, const int64_t *shape,
                 const slot *not_a, const slot *not_b);

/* The queue comes after what another one did with the memory. */
tdm_queue *use(const slot *x, int on, uint32_t r, bool writes);

void compare(slot *x, int on, uint32_t r);

/* Keeps what is computed small: y = clamp(y, -limit, limit), where it may be larger. */
void limit(slot *y, tdm_queue *on);

/* One of a's shape, dtype and device; where a result goes. */
slot *find_alike(uint32_t r, slot *a);
slot *find_output(uint32_t r, slot *a, const slot *b);

/* programs_compute.c: steps that compute with a tensor, on a queue of its device. */
elements combine(int op, const slot *a, const slot *b);
void run_binary(const step *st, slot *a, int q);
void run_unary(const step *st, slot *a, int q);
void run_rows(const step *st, slot *a, int q);
void run_reduce(const step *st, slot *a, int q);
void run_product(const step *st, slot *a, int q);
void run_kernel(const step *st, slot *a, int q);
void run_graph(const step *st, slot *a, int q);

#endif

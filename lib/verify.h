/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* TANDEM_VERIFY: a share of the calls is made again on the cpu backend, in f64 where they are of floats, and the
 * results are compared within the bounds that the headers document. docs/log.md is the user's page. */
#ifndef TDMI_VERIFY_H
#define TDMI_VERIFY_H

#include <math.h>

#include "check.h"
#include "core.h"

/* How far a float may be from the reference: e is 2^-23, in f64 2^-52. Integers, and whatever is exact, must be the
 * same. */
typedef enum tdmi_verify_kind {
    TDMI_VERIFY_EXACT,
    TDMI_VERIFY_MOVED, /* the same, and subnormal numbers count on every device */
    TDMI_VERIFY_ULPS,  /* factor · e · |y| + number · e */
    TDMI_VERIFY_TERMS, /* k · e · |y|, where k is tdmi_sum_factor of a row's or a result's terms */
    TDMI_VERIFY_SIZES, /* factor · e · max(M, |y|): M is what the call makes of its operands' absolute values */
    TDMI_VERIFY_SUMS, /* (k + factor) · e · M */
    TDMI_VERIFY_SOFTMAX, /* factor: 0 where there is neither scale nor mask, else 4; number: the scale */
    TDMI_VERIFY_VARIANCE,   /* number: the correction */
    TDMI_VERIFY_LAYER_NORM, /* number: the epsilon */
    TDMI_VERIFY_ATTENTION   /* number: the scale, or 0; M is of v's absolute values */
} tdmi_verify_kind;

static inline double tdmi_sum_factor(double terms) { return fmin(8 + terms / 2, 64); }

typedef struct tdmi_verify_rule {
    tdmi_verify_kind kind;
    double factor, number;
    /* how many products may be subnormal, times their sum's factor if that is above 1; not of a variance's squares */
    double products;
    bool rounds_twice;  /* a 16-bit result may have been rounded once before */
    bool adds_residual; /* operand 1 is added to operand 0, the sum is rounded, and is output 4 */
} tdmi_verify_rule;

enum { TDMI_VERIFY_MOST = 7 };

/* A call that is verified: on which queue, and with which tensors, it is to be made next. */
typedef struct tdmi_verification {
    tdm_queue *queue;
    tdm_tensor *t[TDMI_VERIFY_MOST]; /* in the order of the arguments; NULL where there is none */
    bool sizes;                      /* the operands are absolute values */
    tdm_status status;               /* of the call, as it was last made */
} tdmi_verification;

/* Keeps a copy of what the tensors have, unless this is none of the calls that are verified (NULL). */
tdmi_verification *tdmi_verify_begin(const char *function, tdm_queue *queue, const tdmi_arg *args,
                                     int count, tdmi_verify_rule rule);

/* Whether the call is to be made once more, and with what. */
bool tdmi_verify_next(tdmi_verification *v);

/* Compares and frees all. The call's status, or TDM_ERROR_BACKEND where a result is wrong. */
tdm_status tdmi_verify_end(tdmi_verification *v) TDM_MUST_USE;

/* Before an operation checks its arguments: `call` is that operation with v->queue and v->t, then comes a rule. One
 * load and a branch where nothing is verified. */
#define TDMI_VERIFY(function, queue, args, count, call, ...)                                       \
    if (__builtin_expect((queue) && (queue)->verifies, 0)) {                                       \
        tdmi_verification *const v =                                                               \
            tdmi_verify_begin(function, queue, args, count, (tdmi_verify_rule){__VA_ARGS__});      \
        while (v && tdmi_verify_next(v))                                                           \
            v->status = (call);                                                                    \
        if (v) return tdmi_verify_end(v);                                                          \
    }

#endif

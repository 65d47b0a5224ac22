/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* Contents of an input's rows other than usual numbers, on which digits are easily lost. */
#ifndef TEST_CONTENTS_H
#define TEST_CONTENTS_H

#include "operations/operation.h"

/* Each with its name. */
#define CONTENT_LIST(X)                                                                            \
    X(PLAIN, "plain")                                                                              \
    X(OUTLIER, "an outlier") /* one element, anywhere */                                           \
    X(ZERO_PART, "a part that is 0")                                                               \
    X(ZEROS, "zeros")                                                                              \
    X(LAST_INFINITY, "an infinity at the end")                                                     \
    X(INFINITIES, "two infinities") /* of either sign, anywhere */                                 \
    X(FIRST_NAN, "a NaN at the beginning")                                                         \
    X(ANY_NAN, "a NaN anywhere") /* of any bits */                                                 \
    /* of operations on elements: zeros of both signs, infinities, numbers that overflow f16 */    \
    X(SPECIALS, "special values")                                                                  \
    /* of those that make something of several elements: 1 and halves of its last place, in */     \
    /* long rows among zeros; products and squares below half of the least subnormal number */     \
    X(CRUMBS, "crumbs")                                                                            \
    X(FAINT, "faint")                                                                              \
    /* with OP_MEANS */                                                                            \
    X(CONSTANT, "a constant")                                                                      \
    X(FAR_MEAN, "a mean far from 0") /* and little noise */                                        \
    X(LEANING, "leaning sums") /* on a coarse grid, the first element off it: all round alike */   \
    X(DRIFT, "drift")          /* a step half-way, and a first element far from both halves */     \
    X(ROOT_CRUMBS, "roots of crumbs") /* of either sign; with OP_SQUARES, too */                   \
    /* with OP_SQUARES */                                                                          \
    X(HUGE_PART, "a part that is huge") /* squares overflow, in one chunk alone */                 \
    X(TINY, "tiny")                     /* squares vanish, everywhere */                           \
    X(TINY_BUT_ONE, "tiny but for one element")                                                    \
    X(TINY_PARTS, "parts of sizes far apart")                                                      \
    X(BRINK, "on the brink of overflow") /* squares overflow in the row's sum, in no chunk's */    \
    X(LEVELS, "two levels")     /* so far apart that only a term between two chunks overflows */   \
    X(SUBNORMALS, "subnormals") /* for f32 */                                                      \
    /* with OP_EXPONENTS */                                                                        \
    X(FAR_APART, "elements far apart") /* by hundreds, or thousands where the dtype has them */    \
    X(MASKED, "masked")                /* -Inf but for some in the middle */                       \
    X(RISING, "rising")                /* each element the largest so far */                       \
    X(LOG_CRUMBS, "logarithms of crumbs")

typedef enum content {
#define CONTENT(NAME, name) NAME,
    CONTENT_LIST(CONTENT) CONTENTS
#undef CONTENT
} content;

extern const char *const content_names[CONTENTS];

/* The smallest number of f32 arithmetic that the device does not take for 0: one without subnormals is right to give 0
 * instead of them. */
double least_result(void);

/* Is the operation right of such rows of this dtype, on the device under test? */
bool has_content(const operation *op, tdm_dtype dtype, content what);

/* One row: usual numbers are in [low, high). */
void fill_row(tdm_dtype dtype, content what, double low, double high, int64_t cols, double *v);

/* An epsilon for such rows: 0 only where nothing is divided by 0. */
double epsilon_for(tdm_dtype dtype, content what);

/* Whether such rows have their own lengths: `chains` in tests/suite/operations.c. */
bool is_chained(content what);

#endif

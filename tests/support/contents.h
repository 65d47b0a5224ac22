/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* Contents of an input's rows other than usual numbers, on which digits are easily lost. */
#ifndef TEST_CONTENTS_H
#define TEST_CONTENTS_H

#include "operations/operation.h"

typedef enum content {
    PLAIN,
    OUTLIER,       /* one element, anywhere */
    ZERO_PART,     /* a part of the row is 0 */
    ZEROS,         /* all of it */
    LAST_INFINITY, /* the last element */
    INFINITIES,    /* of either sign, two anywhere */
    FIRST_NAN,     /* the first */
    ANY_NAN,       /* one anywhere, of any bits */
    SPECIALS, /* zeros of both signs, numbers that overflow f16, infinities; of operations on elements */
    CRUMBS, /* 1 and halves of its last place, in long rows among zeros; of operations that make something of several
             * elements */
    FAINT, /* products and squares are less than half of the smallest subnormal number; of the same operations */
    /* with OP_MEANS */
    CONSTANT,
    FAR_MEAN, /* and little noise */
    LEANING, /* a coarse grid and a first element off it, so that differences from it round in one direction */
    DRIFT,       /* the second half a little above the first, and a first element far from both */
    ROOT_CRUMBS, /* of such squares, of either sign; with OP_SQUARES, too */
    /* with OP_SQUARES */
    HUGE_PART,    /* squares overflow, in one chunk alone */
    TINY,         /* squares vanish, everywhere */
    TINY_BUT_ONE, /* … but for one element */
    TINY_PARTS,   /* parts of the row are of sizes far apart */
    BRINK,        /* the sum of a row's squares overflows, but that of no chunk's */
    LEVELS,       /* two halves, so far apart that only a term between two chunks overflows */
    SUBNORMALS,   /* … for f32 */
    /* with OP_EXPONENTS */
    FAR_APART,  /* hundreds apart, thousands where the dtype has them */
    MASKED,     /* -Inf but for some in the middle */
    RISING,     /* each element the largest so far */
    LOG_CRUMBS, /* the logarithms of CRUMBS */
    CONTENTS
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

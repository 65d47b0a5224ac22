/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* Errors of functions of floats, and those of one, two and three operands as they are measured. */
#ifndef TESTS_ACCURACY_H
#define TESTS_ACCURACY_H

#include <stdbool.h>
#include <stdint.h>

#include <tandem/tandem.h>

enum { PART = 1 << 20, OPERANDS = 3 };
enum { F32, F16, BF16, TYPES };

typedef struct findings {
    double ulp, at[OPERANDS];             /* the largest error */
    double subnormal;                     /* among subnormal results */
    const char *wrong;                    /* a special value that is wrong, or NULL */
    double wrong_at[OPERANDS], got, want; /* the first such */
    uint64_t bits;                        /* of all results, mixed; a NaN is a NaN */
    bool is_measured;
} findings;

/* One result in f. The reference has the error of double. Near zeros of the function `least` is the size
 * whose units are counted. */
void compare(int type, const double *operands, double got, double want, double least, findings *f);

void check(tdm_status status);

/* The functions of two and three floats, by number from 0. */
extern const int several_count;
const char *several_name(int function);
int several_operands(int function);
/* f32, at so many pairs of random numbers and of hard ones. */
void measure_several(tdm_queue *queue, int function, uint64_t inputs, findings *f);

#endif

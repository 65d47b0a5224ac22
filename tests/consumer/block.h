/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* The inputs of the code in README.md and docs/lesson.md, and what it computes, in double. For C and C++. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <tandem/tandem.h>

enum { ROWS = 32, COLS = 64, HIDDEN = 256, NORM = 0, UP = 2, DOWN = 4, PARAMETERS = 6 };

static const char *const names[PARAMETERS] = {"norm.weight", "norm.bias",   "up.weight",
                                              "up.bias",     "down.weight", "down.bias"};
static const int sizes[PARAMETERS][2] = {{1, COLS},   {1, COLS},      {HIDDEN, COLS},
                                         {1, HIDDEN}, {COLS, HIDDEN}, {1, COLS}};
static float x_numbers[ROWS * COLS], parameters[PARAMETERS][HIDDEN * COLS];

static void check(tdm_status status) {
    if (status == TDM_OK) return;
    fprintf(stderr, "%s\n", tdm_last_error());
    exit(1);
}

static void make_numbers(void) {
    unsigned state = 1;
    for (int i = -ROWS * COLS; i < PARAMETERS * HIDDEN * COLS; i++) {
        state = state * 1664525u + 1013904223u;
        const float number = (float)(state >> 8) / 8388608.0f - 1.0f;
        if (i < 0)
            x_numbers[ROWS * COLS + i] = number;
        else
            parameters[i / (HIDDEN * COLS)][i % (HIDDEN * COLS)] = 0.25f * number;
    }
}

/* activation(x · wᵀ + b) of one row */
static void linear_row(const double *x, int inputs, int which, int has_gelu, double *y) {
    for (int i = 0; i < sizes[which][0]; i++) {
        double sum = (double)parameters[which + 1][i];
        for (int j = 0; j < inputs; j++)
            sum += x[j] * (double)parameters[which][i * inputs + j];
        y[i] = has_gelu ? 0.5 * sum * (1 + erf(sum * sqrt(0.5))) : sum;
    }
}

/* y is x + MLP(LayerNorm(x)) within rounding, each element of which is there. */
static void check_block(const char *what, const float *y) {
    double worst = 0;
    for (int r = 0; r < ROWS; r++) {
        const float *x = x_numbers + r * COLS;
        double mean = 0, square = 0, n[COLS], h[HIDDEN], z[COLS];
        for (int j = 0; j < COLS; j++)
            mean += (double)x[j] / COLS;
        for (int j = 0; j < COLS; j++)
            square += ((double)x[j] - mean) * ((double)x[j] - mean) / COLS;
        for (int j = 0; j < COLS; j++)
            n[j] = ((double)x[j] - mean) / sqrt(square + 1e-5) * (double)parameters[NORM][j] +
                   (double)parameters[NORM + 1][j];
        linear_row(n, COLS, UP, 1, h);
        linear_row(h, HIDDEN, DOWN, 0, z);
        for (int j = 0; j < COLS; j++) {
            const double error = fabs((double)y[r * COLS + j] - ((double)x[j] + z[j]));
            worst = error <= worst ? worst : error; /* NaN counts */
        }
    }
    if (worst <= 1e-5) return;
    fprintf(stderr, "%s: differs by %g\n", what, worst);
    exit(1);
}

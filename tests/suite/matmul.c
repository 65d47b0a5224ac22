/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* matmul: every dtype, layout and epilogue against the float64 reference. */
#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "gemm_case.h"

TestSuite(matmul, .init = device_open, .fini = device_close, TAGS("device lanes"));

/* Shapes from 1 to a few tiles, with and without a remainder, every dtype. */
Test(matmul, shapes, TAGS("few kinds")) {
    static const int64_t shapes[][3] = {
        {1, 1, 1},     {1, 7, 3},    {5, 1, 9},       {2, 3, 1},     {16, 16, 16},
        {17, 31, 33},  {64, 64, 64}, {65, 63, 129},   {1, 300, 70},  {300, 1, 70},
        {128, 10, 64}, {3, 5, 2000}, {130, 131, 132}, {257, 190, 80}};
    int count = small ? 8 : (int)(sizeof shapes / sizeof shapes[0]);
    for (int d = 0; d < float_dtype_count; d++) {
        for (int i = 0; i < count; i++) {
            if (!in_turn(d + i)) continue;
            gemm_case g = plain;
            g.dtype = float_dtypes[d];
            g.m = shapes[i][0], g.n = shapes[i][1], g.k = shapes[i][2];
            if (!run_case(&g)) break;
        }
    }
}

/* Both ways to transpose, leading dimensions longer than the row, offsets, views stored column by
 * column (C too), alpha and beta: all combinations at random. */
Test(matmul, layouts) {
    for (int d = 0; d < float_dtype_count; d++) {
        for (int i = 0; i < (small ? 16 : 128); i++) {
            gemm_case g = plain;
            g.dtype = float_dtypes[d];
            g.m = random_integer(1, small ? 20 : 70);
            g.n = random_integer(1, small ? 20 : 70);
            g.k = random_integer(1, small ? 20 : 70);
            g.transpose_a = i & 1, g.transpose_b = i & 2;
            g.view_a = i & 4, g.view_b = i & 8;
            g.view_c = random_integer(0, 2) == 0;
            g.pad = random_integer(0, 1) * random_integer(1, 9);
            static const double alphas[] = {1.0, 1.0, 0.5, -1.25, 0.0}, betas[] = {0.0, 1.0, -0.7};
            g.alpha = alphas[random_integer(0, 4)];
            g.beta = betas[random_integer(0, 2)];
            if (!run_case(&g)) break;
        }
    }
}

/* Strided batches, a matrix repeated over the batch, and a batch of many small products. */
Test(matmul, batches) {
    for (int d = 0; d < float_dtype_count; d++) {
        for (int i = 0; i < (small ? 4 : 24); i++) {
            gemm_case g = plain;
            g.dtype = float_dtypes[d];
            g.batch = random_integer(1, 7);
            g.m = random_integer(1, 33), g.n = random_integer(1, 33), g.k = random_integer(1, 33);
            g.one_a = i % 4 == 1, g.one_b = i % 4 == 2;
            g.transpose_a = random_integer(0, 1), g.transpose_b = random_integer(0, 1);
            g.view_a = random_integer(0, 1), g.view_b = random_integer(0, 1);
            g.pad = i & 1 ? random_integer(1, 5) : 0;
            g.beta = i % 3 == 0 ? 0.5 : 0.0;
            g.alpha = i % 5 == 0 ? -2.0 : 1.0;
            if (!run_case(&g)) break;
        }
        gemm_case many = plain;
        many.dtype = float_dtypes[d];
        many.batch = small ? 5 : 200, many.m = 20, many.n = 19, many.k = 21;
        run_case(&many);
        many.batch = 3, many.m = 1, many.n = 100, many.k = 64, many.bias = true;
        run_case(&many);
    }
    check_case("two batch dimensions of one common stride");
    array *a = array_new(TDM_F32, 4, (int64_t[]){2, 3, 4, 5}, NULL);
    array *b = array_2d(TDM_F32, 5, 6, 6);
    array *c = array_new(TDM_F32, 4, (int64_t[]){2, 3, 4, 6}, NULL);
    array_uniform(a, -1, 1);
    array_uniform(b, -1, 1);
    product_check(NULL, a, b, NULL, c);
}

/* Bias and every activation after the product, alone and with alpha, beta, batches, and every view that C may be: gaps
 * between rows, between matrices, stored column by column, one row or column only. */
Test(matmul, epilogues) {
    for (int d = 0; d < float_dtype_count; d++) {
        for (int i = 0; i < (small ? 21 : 84); i++) {
            gemm_case g = plain;
            g.dtype = float_dtypes[d];
            g.activation = (tdm_activation)(i % TDM_ACTIVATION_COUNT);
            if (g.activation != TDM_ACTIVATION_NONE && !in_turn(d + i)) continue;
            g.bias = i % 3 != 1;
            g.batch = i % 4 == 3 ? 0 : random_integer(1, 4);
            g.view_c = i & 4;
            g.pad = i & 8 ? random_integer(1, 5) : 0;
            g.m = i % 5 == 1 ? 1 : random_integer(2, 40);
            g.n = i % 5 == 2 ? 1 : random_integer(2, 80);
            g.k = random_integer(1, 40);
            g.transpose_b = random_integer(0, 1);
            g.alpha = i % 9 == 8 ? 0.0 : i % 9 == 5 ? -0.5 : 1.0;
            g.beta = i % 8 == 5 ? 0.5 : 0.0;
            if (!run_case(&g)) break;
        }
    }
}

/* Matrices of C that lie between each other's rows, and two batch dimensions of one stride. */
Test(matmul, epilogues_of_interleaved_matrices) {
    static const struct {
        int ndim;
        int64_t shape[4], strides[4];
    } views[] = {{3, {2, 3, 4}, {20, 4, 1}},
                 {3, {2, 3, 4}, {4, 8, 1}},
                 {3, {2, 3, 4}, {3, 1, 6}},
                 {4, {2, 2, 3, 4}, {50, 25, 4, 1}},
                 {4, {2, 1, 3, 4}, {30, 7, 1, 5}}};
    for (size_t i = 0; i < sizeof views / sizeof views[0]; i++) {
        for (int d = 0; d < float_dtype_count; d++) {
            check_case("%s, C number %zu", tdm_dtype_name(float_dtypes[d]), i);
            array *c = array_new(float_dtypes[d], views[i].ndim, views[i].shape, views[i].strides);
            array *a = array_2d(float_dtypes[d], 3, 5, 5), *b = array_2d(float_dtypes[d], 5, 4, 4);
            array *bias = array_1d(float_dtypes[d], 4);
            array_uniform(a, -1, 1);
            array_uniform(b, -1, 1);
            array_uniform(bias, -1, 1);
            tdm_matmul_options options = TDM_MATMUL_OPTIONS_DEFAULTS;
            options.bias = &bias->t;
            options.activation = TDM_ACTIVATION_SILU;
            const char *provider = NULL;
            OK(tdm_matmul_provider(queue, &options, &a->t, &b->t, &c->t, &provider));
            product_check(&options, a, b, bias, c);
            array_free_all();
        }
    }
}

/* Small integers: every sum is exact in every dtype, so nothing but the exact result will do. */
Test(matmul, exact) {
    static const struct {
        tdm_dtype dtype;
        int64_t range, k;
    } limits[] = {
        {TDM_F32, 100, 200}, {TDM_F64, 10000, 200}, {TDM_F16, 4, 100}, {TDM_BF16, 1, 200}};
    for (int d = 0; d < 4; d++) {
        if (!computes_with(limits[d].dtype)) continue;
        for (int i = 0; i < (small ? 3 : 20); i++) {
            gemm_case g = plain;
            g.dtype = limits[d].dtype;
            g.integers = limits[d].range;
            g.m = random_integer(1, small ? 30 : 150);
            g.n = random_integer(1, small ? 30 : 150);
            g.k = random_integer(1, small ? 30 : limits[d].k);
            g.transpose_a = i & 1, g.transpose_b = i & 2;
            g.batch = i % 5 == 4 ? 2 : 0;
            g.beta = i % 4 == 3 ? 1.0 : 0.0;
            g.bias = i % 4 == 2;
            g.activation = i % 8 == 6 ? TDM_ACTIVATION_RELU : TDM_ACTIVATION_NONE;
            if (!run_case(&g)) break;
        }
    }
}

/* A dimension of 0 is a no-op that succeeds (CLBlast returns an error); K = 0 leaves beta·C. */
Test(matmul, zero_dimensions, TAGS("kinds")) {
    for (int d = 0; d < float_dtype_count; d++) {
        for (int i = 0; i < 8; i++) {
            gemm_case g = plain;
            g.dtype = float_dtypes[d];
            g.m = i & 1 ? 0 : 5, g.n = i & 2 ? 0 : 6, g.k = i & 4 ? 0 : 7;
            for (int more = 0; more < 4; more++) {
                g.beta = more & 1 ? 0.5 : 0.0;
                g.bias = more & 2;
                g.activation = more & 2 ? TDM_ACTIVATION_SIGMOID : TDM_ACTIVATION_NONE;
                g.batch = more == 3 ? 2 : 0;
                run_case(&g);
            }
        }
        check_case("%s, a batch of 0", tdm_dtype_name(float_dtypes[d]));
        array *a = array_new(float_dtypes[d], 3, (int64_t[]){0, 2, 3}, NULL);
        array *b = array_2d(float_dtypes[d], 3, 4, 4);
        array *c = array_new(float_dtypes[d], 3, (int64_t[]){0, 2, 4}, NULL);
        OK(tdm_matmul(queue, NULL, &a->t, &b->t, &c->t));
        ARRAY_SAME(c);
    }
}

/* NaN and Inf of A and B do reach the result, those of a row or column only its own, and go through an activation
 * that is fused as through one that is not. */
Test(matmul, nan_and_infinity) {
    for (int d = 0; d < float_dtype_count; d++) {
        check_case("%s", tdm_dtype_name(float_dtypes[d]));
        enum { N = 40 };
        array *a = array_2d(float_dtypes[d], N, N, N), *b = array_2d(float_dtypes[d], N, N, N);
        array *c = array_2d(float_dtypes[d], N, N, N);
        array_constant(b, 1.0);
        double *v = numbers(N * N), *want = numbers(N * N);
        v[3 * N + 5] = (double)NAN;
        v[7 * N + 11] = (double)INFINITY;
        v[8 * N + 12] = -(double)INFINITY;
        v[9 * N] = (double)INFINITY, v[9 * N + 39] = -(double)INFINITY;
        array_set(a, v);
        for (int j = 0; j < N; j++) {
            want[3 * N + j] = want[9 * N + j] = (double)NAN;
            want[7 * N + j] = (double)INFINITY;
            want[8 * N + j] = -(double)INFINITY;
        }
        OK(tdm_matmul(queue, NULL, &a->t, &b->t, &c->t));
        ARRAY_CHECK(c, want, NULL);
        tdm_matmul_options options = TDM_MATMUL_OPTIONS_DEFAULTS;
        options.activation = TDM_ACTIVATION_RELU;
        for (int j = 0; j < N; j++)
            want[8 * N + j] = 0;
        check_case("%s with relu", tdm_dtype_name(float_dtypes[d]));
        OK(tdm_matmul(queue, &options, &a->t, &b->t, &c->t));
        ARRAY_CHECK(c, want, NULL);
        options.activation = TDM_ACTIVATION_GELU_TANH;
        v[8 * N + 12] = 0; /* at -Inf it may be NaN */
        array_set(a, v);
        check_case("%s with gelu_tanh", tdm_dtype_name(float_dtypes[d]));
        OK(tdm_matmul(queue, &options, &a->t, &b->t, &c->t));
        ARRAY_CHECK(c, want, NULL);
        array_free_all();
    }
}

/* f32 stays f32: the product of numbers that TF32 would round is exact unless TF32 is requested. */
Test(matmul, no_tf32_unless_asked) {
    enum { N = 64 };
    array *a = array_2d(TDM_F32, N, N, N), *b = array_2d(TDM_F32, N, N, N);
    array *c = array_2d(TDM_F32, N, N, N);
    array_constant(a, 1.0 + 0x1p-13);
    array_constant(b, 1.0);
    const double *want = numbers_of(N * N, (double)N * (1.0 + 0x1p-13));
    tdm_matmul_options options = TDM_MATMUL_OPTIONS_DEFAULTS;
    OK(tdm_matmul(queue, &options, &a->t, &b->t, &c->t));
    ARRAY_CHECK(c, want, numbers_of(N * N, 16.0 * (double)N * 0x1p-23));
    options.math = TDM_MATH_TF32;
    OK(tdm_matmul(queue, &options, &a->t, &b->t, &c->t));
    ARRAY_CHECK(c, want, numbers_of(N * N, (double)N * 0x1p-9));
}

/* Rows or columns so few that the large matrix is read once: each way that it may be stored, every
 * count up to where that ends and one beyond, with the remainder of a slice of k. */
Test(matmul, narrow, TAGS("few")) {
    for (int d = 0; d < float_dtype_count; d++) {
        for (int64_t side = 1; side <= 17; side += small ? 5 : 1) {
            gemm_case g = plain;
            g.dtype = float_dtypes[d];
            const int64_t large = random_integer(small ? 20 : 100, small ? 60 : 700);
            const bool rows = random_integer(0, 1) == 0;
            g.m = rows ? side : large;
            g.n = rows ? large : side;
            g.k = random_integer(small ? 60 : 200, small ? 100 : 1100);
            g.transpose_a = random_integer(0, 1);
            g.transpose_b = random_integer(0, 1);
            g.view_c = random_integer(0, 3) == 0;
            g.pad = random_integer(0, 1) * random_integer(1, 9);
            g.beta = random_integer(0, 2) == 0 ? -0.7 : 0.0;
            g.alpha = random_integer(0, 2) == 0 ? 1.25 : 1.0;
            g.bias = random_integer(0, 2) == 0;
            if (random_integer(0, 3) == 0) g.activation = TDM_ACTIVATION_RELU;
            if (random_integer(0, 2) == 0) {
                g.batch = random_integer(1, 4);
                g.one_a = random_integer(0, 2) == 0;
                g.one_b = !g.one_a && random_integer(0, 2) == 0;
            }
            if (!run_case(&g)) break;
        }
    }
}

/* Larger than the part that is converted at once where a library has 16-bit products by way of f32; the last
 * one is as large and needs no conversion where the library has the dtype. */
Test(matmul, blocks) {
    if (small) return;
    static const int64_t shapes[][3] = {
        {1030, 35, 70}, {40, 1050, 33}, {36, 50, 2100}, {36, 50, 2100}};
    for (int d = 0; d < float_dtype_count; d++) {
        for (int i = 0; i < 4; i++) {
            gemm_case g = plain;
            g.dtype = float_dtypes[d];
            g.m = shapes[i][0], g.n = shapes[i][1], g.k = shapes[i][2];
            g.transpose_a = i == 1, g.transpose_b = i != 1;
            g.alpha = i == 3 ? 1.0 : -0.5;
            g.beta = i == 3 ? 0.0 : 0.75;
            g.bias = i != 1;
            g.activation = i == 0 ? TDM_ACTIVATION_SILU : TDM_ACTIVATION_NONE;
            if (!run_case(&g)) break;
        }
    }
}

/* Every f16, multiplied by numbers that make it round, become subnormal or overflow. */
Test(matmul, every_f16) {
    enum { ALL = 1 << 16, COLS = 19 };
    const int64_t step = small ? 13 : 1, rows = (ALL + step - 1) / step;
    array *a = array_2d(TDM_F16, rows, 1, 1), *b = array_2d(TDM_F16, 1, COLS, COLS);
    array *c = array_2d(TDM_F16, rows, COLS, COLS);
    double *v = numbers(rows), *want = numbers(rows * COLS);
    for (int64_t i = 0; i < rows; i++)
        v[i] = (double)decode(TDM_F16, &(uint16_t){(uint16_t)(i * step)});
    array_set(a, v);
    array_uniform(b, -2.0, 2.0);
    for (int64_t i = 0; i < rows * COLS; i++)
        want[i] = rounded(TDM_F16, v[i / COLS] * b->v[i % COLS]);
    OK(tdm_matmul(queue, NULL, &a->t, &b->t, &c->t));
    ARRAY_CHECK(c, want, NULL);
    array_free_all();
}

/* A and B without gaps, and a C whose rows have some, as oneDNN's 16-bit products want it copied: cut or not; and a
 * column with gaps, which cuBLASLt adds no bias to in CUDA 11. */
Test(matmul, gaps_in_the_result) {
    for (int d = 0; d < float_dtype_count; d++) {
        for (int64_t m = 1; m <= 33; m += 16) {
            gemm_case g = plain;
            g.dtype = float_dtypes[d];
            g.m = m, g.n = random_integer(17, 60), g.k = random_integer(512, small ? 520 : 1500);
            g.transpose_b = true;
            g.pad_c = 5;
            run_case(&g);
        }
        gemm_case column = plain;
        column.dtype = float_dtypes[d];
        column.m = 7, column.n = 1, column.k = 12, column.pad_c = 3;
        column.bias = true;
        run_case(&column);
    }
}

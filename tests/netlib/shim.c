/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* sgemm_ and dgemm_ by tdm_matmul on TDM_TEST_DEVICE, to be loaded before a BLAS. Of correct arguments: a call that is
 * refused ends the program. Matrices by columns are by rows when transposed: C' = op(B)'·op(A)'. */
#include <stdio.h>
#include <stdlib.h>

#include <tandem/tandem.h>

void sgemm_(const char *ta, const char *tb, const int *m, const int *n, const int *k,
            const float *alpha, const float *a, const int *lda, const float *b, const int *ldb,
            const float *beta, float *c, const int *ldc);
void dgemm_(const char *ta, const char *tb, const int *m, const int *n, const int *k,
            const double *alpha, const double *a, const int *lda, const double *b, const int *ldb,
            const double *beta, double *c, const int *ldc);

static tdm_queue *queue;
static long products;

static void must(tdm_status status) {
    if (status == TDM_OK) return;
    fprintf(stderr, "shim: %s\n", tdm_last_error());
    abort();
}

static void say_count(void) { fprintf(stderr, "shim: %ld products\n", products); }

static void begin(void) {
    tdm_device *device;
    if (queue) return;
    must(tdm_device_open(getenv("TDM_TEST_DEVICE"), &device));
    must(tdm_queue_create(device, 0, &queue));
    if (atexit(say_count) != 0) abort();
}

/* Rows of a matrix, with all that lies between them. */
static tdm_tensor matrix(tdm_dtype dtype, const void *elements, int64_t rows, int64_t cols,
                         int stride) {
    tdm_tensor x;
    const int64_t count = rows > 0 && cols > 0 ? (rows - 1) * stride + cols : 0;
    must(tdm_from_host(queue, elements, dtype, 1, &count, &x));
    x.ndim = 2;
    x.shape[0] = rows, x.shape[1] = cols;
    x.strides[0] = stride, x.strides[1] = 1;
    return x;
}

static void multiply(tdm_dtype dtype, bool ta, bool tb, int m, int n, int k, double alpha,
                     const void *a, int lda, const void *b, int ldb, double beta, void *c,
                     int ldc) {
    tdm_matmul_options options = TDM_MATMUL_OPTIONS_DEFAULTS;
    if (m == 0 || n == 0) return;
    begin();
    options.transpose_a = tb, options.transpose_b = ta;
    options.alpha = alpha, options.beta = beta;
    tdm_tensor right = matrix(dtype, a, ta ? m : k, ta ? k : m, lda);
    tdm_tensor left = matrix(dtype, b, tb ? k : n, tb ? n : k, ldb);
    tdm_tensor product = matrix(dtype, c, n, m, ldc);
    must(tdm_matmul(queue, &options, &left, &right, &product));
    product.ndim = 1;
    product.shape[0] = (int64_t)(n - 1) * ldc + m;
    product.strides[0] = 1;
    must(tdm_to_host(queue, &product, c));
    tdm_tensor_release(&left);
    tdm_tensor_release(&right);
    tdm_tensor_release(&product);
    products++;
}

void sgemm_(const char *ta, const char *tb, const int *m, const int *n, const int *k,
            const float *alpha, const float *a, const int *lda, const float *b, const int *ldb,
            const float *beta, float *c, const int *ldc) {
    multiply(TDM_F32, *ta != 'N', *tb != 'N', *m, *n, *k, (double)*alpha, a, *lda, b, *ldb,
             (double)*beta, c, *ldc);
}

void dgemm_(const char *ta, const char *tb, const int *m, const int *n, const int *k,
            const double *alpha, const double *a, const int *lda, const double *b, const int *ldb,
            const double *beta, double *c, const int *ldc) {
    multiply(TDM_F64, *ta != 'N', *tb != 'N', *m, *n, *k, *alpha, a, *lda, b, *ldb, *beta, c, *ldc);
}

/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* Counts that are known to be wrong are refused before the array is read: here it cannot be. */
#include <criterion/criterion.h>
#include <stdint.h>

#include "support/array.h"

TestSuite(counts, .init = device_open, .fini = device_close);

static const tdm_status argument = TDM_ERROR_INVALID_ARGUMENT;

/* Systems keep the lowest pages from programs. */
static void *unreadable(void) { return (void *)(uintptr_t)4096; }

Test(counts, dimensions) {
    const int *const dims = unreadable();
    array *x = array_2d(TDM_F32, 4, 6, 6), *y = array_1d(TDM_F32, 1),
          *z = array_2d(TDM_F32, 4, 6, 6);
    array *truth = array_1d(TDM_BOOL, 1);
    const char *const words = "count is 3, but x has 2 dimensions";
    check_case("three dimensions of two");
    REFUSED(tdm_sum(queue, &x->t, dims, 3, &y->t), argument, words);
    REFUSED(tdm_mean(queue, &x->t, dims, 3, &y->t), argument, words);
    REFUSED(tdm_prod(queue, &x->t, dims, 3, &y->t), argument, words);
    REFUSED(tdm_variance(queue, &x->t, dims, 3, 0, &y->t), argument, words);
    REFUSED(tdm_norm_over(queue, TDM_NORM_L2, &x->t, dims, 3, &y->t), argument, words);
    REFUSED(tdm_max(queue, &x->t, dims, 3, &y->t), argument, words);
    REFUSED(tdm_all(queue, &x->t, dims, 3, &truth->t), argument, words);
    REFUSED(tdm_flip(queue, &x->t, dims, 3, &z->t), argument, words);
    ARRAY_SAME(y);
    ARRAY_SAME(z);
}

Test(counts, stacked_tensors) {
    array *y = array_2d(TDM_F32, 2, 6, 6);
    check_case("three tensors for two rows");
    REFUSED(tdm_stack(queue, unreadable(), 3, 0, &y->t), TDM_ERROR_INVALID_SHAPE,
            "dimension 0 of y is 2, but the tensors have 3");
    ARRAY_SAME(y);
}

Test(counts, parameters) {
    const tdm_parameter *const parameters = unreadable();
    const tdm_row_kernel texts = TDM_ROW_KERNEL(.map = "x");
    const char *const words = "there are 25 parameters";
    tdm_kernel *kernel;
    check_case("25 parameters");
    REFUSED(tdm_kernel_elementwise(device, "y = x", parameters, 25, &kernel), TDM_ERROR_UNSUPPORTED,
            words);
    REFUSED(tdm_kernel_rows(device, &texts, parameters, 25, &kernel), TDM_ERROR_UNSUPPORTED, words);
    REFUSED(tdm_kernel_source(device, "KERNEL(f) {}", "f.cl", "f", parameters, 25, &kernel),
            TDM_ERROR_UNSUPPORTED, words);
}

Test(counts, arguments) {
    const tdm_parameter parameters[] = {TDM_TENSOR("x"), TDM_TENSOR("y")};
    const char *const words = "there are 3 arguments, but the kernel has 2 parameters";
    tdm_kernel *kernel;
    bool is_cached;
    check_case("three arguments of a kernel with two parameters");
    if (!OK(tdm_kernel_elementwise(device, "y = x", parameters, 2, &kernel))) return;
    REFUSED(tdm_kernel_run(queue, kernel, unreadable(), 3), argument, words);
    REFUSED(tdm_kernel_warm(queue, kernel, unreadable(), 3), argument, words);
    REFUSED(tdm_kernel_is_cached(queue, kernel, unreadable(), 3, &is_cached), argument, words);
    tdm_kernel_release(kernel);
}

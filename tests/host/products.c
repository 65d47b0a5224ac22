/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* Products by libraries that the program uses, too: no threads but Tandem's workers, and the libraries'
 * settings as the program left them. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "paths.h"
#include "platform/process.h"
#include "support/check.h"
#include "support/random.h"
#include "support/run.h"

#include <tandem/tandem.h>

TestSuite(products, .init = random_start);

static run_result r;

static void run_with(const char *provider) {
    char blas[64];
    snprintf(blas, sizeof blas, "TANDEM_BLAS=%s", provider);
    const char *changes[] = {ICD_NONE, CACHE, blas, "TANDEM_CPU_THREADS=3", "OMP_NUM_THREADS=5",
                             NULL};
    const char *argv[] = {TEST_PROBE_LIBRARIES, "cpu", NULL};
    check_case("%s", blas);
    run_program(changes, argv, 120, &r);
    CHECK(r.exit_status == 0, "exit status %d: %s", r.exit_status, r.output);
    CHECK(strcmp(r.output, "openblas 3, openmp 5\nthreads +0\nopenblas 3, openmp 5\n") == 0,
          "gave %s", r.output);
}

Test(products, no_other_threads) {
    static const char *const providers[] = {"onednn,openblas", "openblas", "blis", "cblas",
                                            "builtin"};
    for (size_t i = 0; i < sizeof providers / sizeof providers[0]; i++)
        run_with(providers[i]);
}

/* A product by a library in this folder of the strict ones, by several workers. */
static tdm_status multiply_by(const char *folder) {
    static const int64_t shape[] = {512, 512};
    tdm_device *device = NULL;
    tdm_queue *queue = NULL;
    tdm_tensor a, c;
    char path[512];
    snprintf(path, sizeof path, TEST_STRICT_BLAS "/%s", folder);
    OK(tdm_configure("TANDEM_LIBRARY_PATH", path));
    OK(tdm_configure("TANDEM_BLAS", "blis"));
    OK(tdm_configure("TANDEM_CPU_THREADS", "3"));
    OK(tdm_device_open("cpu", &device));
    OK(tdm_queue_create(device, 0, &queue));
    OK(tdm_full(queue, 0.5, TDM_F32, 2, shape, &a));
    OK(tdm_zeros(queue, TDM_F32, 2, shape, &c));
    const tdm_status status = tdm_matmul(queue, NULL, &a, &a, &c);
    float *elements = malloc(sizeof *elements * 512 * 512);
    if (status == TDM_OK && OK(tdm_to_host(queue, &c, elements)))
        CHECK(elements[512 * 511] == 128, "an element is %g", (double)elements[512 * 511]);
    free(elements);
    tdm_tensor_release(&a);
    tdm_tensor_release(&c);
    tdm_queue_destroy(queue);
    tdm_device_release(device);
    return status;
}

Test(products, openmp_of_openblas) {
    const int cores = tdmi_process_cores();
    if (cores == 1) check_skip("one core: there is nothing to be bound to");
    OK(multiply_by("openmp"));
    CHECK(tdmi_process_cores() == cores, "%d cores, not %d", tdmi_process_cores(), cores);
}

Test(products, threads_of_blis) { OK(multiply_by("blis")); }

#if defined(__x86_64__)
/* Where there are kernels for AVX2. Named it multiplies; else it does not, and a diagnosis has the reason. */
Test(products, old_openblas) {
    static const char path[] = "TANDEM_LIBRARY_PATH=" TEST_STRICT_BLAS "/old";
    const char *of_its_own[] = {ICD_NONE, path, "TANDEM_BLAS=openblas", NULL},
               *usual[] = {ICD_NONE, path, "TANDEM_BLAS", NULL};
    const char *const explain[] = {TEST_PROBE, "explain", "cpu:0", "f64", "64", "64", "64", NULL};
    const char *const diagnose[] = {TEST_PROBE, "diagnose", "cpu", NULL};
    run_program(of_its_own, explain, 60, &r);
    CHECK(contains_words(r.output, "TDM_OK|openblas"), "%s", r.output);
    if (!__builtin_cpu_supports("avx2")) return;
    run_program(usual, explain, 60, &r);
    CHECK(contains_words(r.output, "TDM_OK") && !strstr(r.output, "openblas"), "%s", r.output);
    run_program(usual, diagnose, 60, &r);
    CHECK(contains_words(r.output, "libopenblas.so.0|only where TANDEM_BLAS names it|CORETYPE"),
          "%s", r.output);
}
#endif

Test(products, integers_of_64_bits) {
    REFUSED(multiply_by("ilp64"), TDM_ERROR_UNAVAILABLE, "BLIS|libblis.so.4|has 64-bit integers");
}

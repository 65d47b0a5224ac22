/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* Products by libraries that the program uses, too: no threads but Tandem's workers, and the libraries'
 * settings as the program left them. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "command.h"
#include "platform/process.h"

#include <tandem/tandem.h>

TestSuite(products, .init = random_start);

static void run_with(const char *provider) {
    const char *changes[] = {ICD_NONE,
                             CACHE,
                             formatted("TANDEM_BLAS=%s", provider),
                             "TANDEM_CPU_THREADS=3",
                             "OMP_NUM_THREADS=5",
                             NULL};
    gives_with(changes, TEST_PROBE_LIBRARIES " cpu", 0, NULL);
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
    OK(tdm_configure("TANDEM_LIBRARY_PATH", formatted(TEST_STRICT_BLAS "/%s", folder)));
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
    static const char explain[] = TEST_PROBE " explain cpu:0 f64 64 64 64";
    gives_with(of_its_own, explain, 0, "TDM_OK|openblas");
    if (!__builtin_cpu_supports("avx2")) return;
    gives_with(usual, explain, 0, "TDM_OK");
    CHECK(!strstr(r.output, "openblas"), "%s", r.output);
    probe_gives(usual, "diagnose", "cpu",
                "libopenblas.so.0|only where TANDEM_BLAS names it|CORETYPE");
}
#endif

Test(products, integers_of_64_bits) {
    REFUSED(multiply_by("ilp64"), TDM_ERROR_UNAVAILABLE, "BLIS|libblis.so.4|has 64-bit integers");
}

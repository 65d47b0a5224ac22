/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* Products by libraries that the program uses, too: no threads but Tandem's workers, and the libraries'
 * settings as the program left them. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#include "paths.h"
#include "support/check.h"
#include "support/random.h"
#include "support/run.h"

TestSuite(products, .init = random_start);

static run_result r;

static void run_next_to_sleeper(const char *provider) {
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
        run_next_to_sleeper(providers[i]);
}

/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* For tests of the simulated CUDA machine by calls of the runtime and the driver, with reports counted. */
#ifndef TEST_CUDA_SIMULATED_H
#define TEST_CUDA_SIMULATED_H

#include "control.h"
#include "cuda/declarations.h"
#include "support/check.h"

/* The options of a kernel of u32 with 64 lanes. */
static const char *const kernel_options[] = {"--gpu-architecture=sm_90",
                                             "-DT_ID=10",
                                             "-DU_ID=10",
                                             "-DOP=0",
                                             "-DLANES=64",
                                             "-DSTREAM=0",
                                             "-DVECTORS=0",
                                             "-DVECTOR_BYTES=16",
                                             "-DLOOSE=0",
                                             "-DHOLDS=0",
                                             "-DTEAMS=1"};

/* The simulator reports one defect, with these words. */
#define REPORTS(statement, words)                                                                  \
    do {                                                                                           \
        unsigned long before = cuda_sim_reports();                                                 \
        statement;                                                                                 \
        CHECK(cuda_sim_reports() == before + 1, "%s: %lu reports", #statement,                     \
              cuda_sim_reports() - before);                                                        \
        CHECK(contains_words(cuda_sim_last_report(), words), "%s: reported: %s", #statement,       \
              cuda_sim_last_report());                                                             \
    } while (0)
#define FINE(call)                                                                                 \
    do {                                                                                           \
        int fine = (int)(call);                                                                    \
        CHECK(fine == 0 && !cuda_sim_reports(), "%s gave %d; %s", #call, fine,                     \
              cuda_sim_last_report());                                                             \
    } while (0)

#endif

/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* A use of the whole library on two devices of one backend, whose results are known. */
#ifndef TEST_CUDA_WORKOUT_H
#define TEST_CUDA_WORKOUT_H

#include <tandem/status.h>

/* Works on cuda:0 and cuda:1, verifies, and gives everything back. The first failure, if any. */
tdm_status workout(void);

/* The error in the results of the last workout, as far as it came; NULL when there was none. */
const char *workout_is_wrong(void);

#endif

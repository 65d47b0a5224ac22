/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* A use of the whole library on two devices of one backend, whose results are known. */
#ifndef TEST_FAILING_WORKOUT_H
#define TEST_FAILING_WORKOUT_H

#include <tandem/device.h>

/* Works on the first two devices of `backend`, which is TDM_CUDA or TDM_OPENCL, verifies, and gives everything back.
 * The first failure, if any. */
tdm_status workout(tdm_backend backend);

/* The error in the results of the last workout, as far as it came; NULL when there was none. */
const char *workout_is_wrong(void);

#endif

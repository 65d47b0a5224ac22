/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* Functions with which a test controls the stand-in for libOpenCL.so.1, which passes every call on to
 * the real one and makes some fail. Found with dlsym, because the library opens the stand-in itself. */
#ifndef OPENCL_FAULTS_CONTROL_H
#define OPENCL_FAULTS_CONTROL_H

#include <stdbool.h>

/* From now on the nth call of `function`, counted from 1, gives `code` and does nothing; with
 * `last` greater than nth every one up to that. Of several names with commas in between the calls of
 * any are counted, of NULL those of all functions that can fail. */
typedef void opencl_fail_function(const char *function, unsigned long nth, unsigned long last,
                                  int code);

/* No call fails any more; how many did. */
typedef unsigned long opencl_heal_function(void);

/* From now on transfers wait until the next clFinish that does not fail; or no longer, and then all that waited
 * are over when it returns. */
typedef void opencl_lazy_function(bool lazy);

#endif

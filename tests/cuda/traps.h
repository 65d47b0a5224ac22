/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* Declarations that the files of the traps share. */
#ifndef TEST_CUDA_TRAPS_H
#define TEST_CUDA_TRAPS_H

/* Before and after a test: nothing may be reported, alive, or left in the runtime. */
void traps_begin(void);
void traps_end(void);

#endif

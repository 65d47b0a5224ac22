/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* NVIDIA's own NVRTC, which TDM_CUDA_SIM may name ("nvrtc=/…"): the stand-in then lets it compile as well, and
 * its cubins are the real ones with the stand-in's image after their end. So a cache that is filled on the
 * simulated machine has the kernels that a real card's process would have compiled. */
#ifndef SIM_REAL_NVRTC_H
#define SIM_REAL_NVRTC_H

#include "sim.h"

/* Its functions, or NULL where none is named; ends the process where it cannot be opened. */
typedef struct real_nvrtc real_nvrtc;
const real_nvrtc *real_nvrtc_get(void);

nvrtcResult real_nvrtc_version(const real_nvrtc *real, int *major, int *minor);

/* The architectures that it compiles for; how many. */
int real_nvrtc_architectures(const real_nvrtc *real, int *architectures, int most);

typedef struct real_cubin {
    char *bytes; /* of malloc */
    size_t size;
} real_cubin;

/* Compiles for the caller's options. A failure leaves its words in the log. */
nvrtcResult real_nvrtc_compile(const real_nvrtc *real, const char *text, const char *name,
                               int count, const char *const *options, real_cubin *cubin, char *log,
                               size_t size);

#endif

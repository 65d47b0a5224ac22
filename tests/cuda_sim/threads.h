/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* Runs kernels as CUDA does, thread by thread, with "threads=N" in TDM_CUDA_SIM. thread_text.c compiles the
 * text that NVRTC would get, as C++ after builtins.h; threads.c runs the result. */
#ifndef SIM_THREADS_H
#define SIM_THREADS_H

#include "sim.h"

/* --- thread_text.c ------------------------------------------------------------------------------
 */

/* The text's kernels, those of the image, as a shared object, which becomes the image's own. False: the compiler's
 * words are in the log. */
bool sim_text_compile(const char *text, int option_count, const char *const *options,
                      sim_image *image, char *log, size_t size);

/* A stamp of builtins.h and the compiler: a cached kernel with another one is compiled again. */
uint32_t sim_text_stamp(void);

/* A kernel, as builtins.h has it. */
typedef struct sim_kernel {
    int buffers;
    unsigned long args_size;
    void (*call)(void **arguments);
} sim_kernel;

typedef struct sim_text {
    void *library;
    const sim_kernel *kernel;
    char *shared, *start; /* the memory of a block; the shared object itself */
    size_t shared_size, size;
} sim_text;

/* The shared object of an image, and one of its kernels. */
bool sim_text_open(const sim_image *image, sim_text *text);
bool sim_text_find(const char *entry, sim_text *text);
void sim_text_close(sim_text *text);

/* --- threads.c ----------------------------------------------------------------------------------
 */

enum { SIM_MOST_THREADS = 1024, SIM_WARP = 32 };

/* A launch: its arguments as cuLaunchKernel has them, and the memory that they are of. */
typedef struct sim_thread_launch {
    sim_text text;
    const char *name;
    unsigned blocks, threads;
    void **arguments;
    sim_block *const *uses; /* SIM_MAX_USES, some NULL */
} sim_thread_launch;

void sim_thread_run(const sim_thread_launch *launch);

/* One of cp.async, as builtins.h has it: to an address in shared memory. */
typedef struct sim_copy {
    const void *from;
    unsigned to, bytes;
} sim_copy;

/* Reports a defect of the thread that runs and ends the launch. */
__attribute__((noreturn, format(printf, 1, 2))) void sim_thread_defect(const char *format, ...);

/* As kernels read it. */
typedef struct sim_extent {
    unsigned x, y, z;
} sim_extent;
typedef struct sim_extents {
    sim_extent thread, block, grid;
} sim_extents;
extern sim_extents sim_where;

/* --- thread_accesses.c --------------------------------------------------------------------------
 */

/* Of a launch, whose threads' stacks are there, and of its next block. */
void sim_accesses_begin(const sim_thread_launch *launch, const char *stacks, size_t size);
void sim_accesses_block(void);
void sim_accesses_end(void);

/* From now on accesses are this thread's, after so many barriers. */
void sim_accesses_of(unsigned block, unsigned thread, unsigned epoch);

/* These lanes of the warp that begins with that thread have come to a __syncwarp. */
void sim_accesses_sync(unsigned first, uint32_t mask);

#endif

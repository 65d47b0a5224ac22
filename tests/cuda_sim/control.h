/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* Functions with which a test controls the simulated CUDA machine. The variable TDM_CUDA_SIM describes
 * the machine, once, in words of "key=value" (machine.c has the list):
 *
 *   devices=2 capability=90                       what the machine has; the rest as an H100
 *   multiprocessors=132 cache=52428800            of each device; the bytes of its L2 cache
 *   nameN= uuidN= pciN=                           of device N only; "uuid0=none", "pci0=none",
 *                                                 '_' in names for ' '
 *   driver=13000 runtime=13000                    1000 * major + 10 * minor (the runtime's is by
 *                                                 default the library's own); driver=0: none,
 *                                                 driver=stub: the toolkit's stub library
 *   cublas=13                                     its major version
 *   nvrtc=13[.0] architectures=75,90 builtins=1   of the compiler
 *   nvrtc=/usr/…/libnvrtc.so.13                   NVIDIA's own, which compiles every cubin too, by whose version
 *                                                 and architectures the compiler goes (real_nvrtc.h)
 *   compiles=1                                    0: it finds an error in every program
 *   work=1                                        0: kernels and products are launched and not run
 *   kernel_threads=1024                           that a kernel can have in a block at most
 *   skew=BYTES                                    structs of arguments seem so much larger to it
 *   delay=MICROSECONDS                            work is held up for so long, now and then
 *   implicit=1                                    calls that allocate, free or load memory or
 *                                                 modules, and copies of pageable memory, wait for
 *                                                 the device's earlier work
 *   threads=SEED                                  kernels are run thread by thread, in orders that
 *                                                 depend on the seed (threads.c); 0: as C
 *   lazy=1                                        a stream works only while a call waits for it
 *   fail=FUNCTION:N[+]:ERROR                      the Nth call (and all after it) gives that error
 *   leaks=1                                       whatever is alive at exit is reported
 *
 * A report is a defect of the caller that a real driver might forgive: it goes to stderr, and the
 * process is aborted, unless reports are counted. Functions of any thread. */
#ifndef CUDA_SIM_CONTROL_H
#define CUDA_SIM_CONTROL_H

#include <stdbool.h>
#include <stddef.h>

/* The things that are made and destroyed. */
typedef enum cuda_sim_kind {
    CUDA_SIM_MEMORY,
    CUDA_SIM_PINNED,
    CUDA_SIM_STREAM,
    CUDA_SIM_EVENT,
    CUDA_SIM_MODULE,
    CUDA_SIM_KERNEL,
    CUDA_SIM_PROGRAM,
    CUDA_SIM_LT_HANDLE,
    CUDA_SIM_LT_OPERATION,
    CUDA_SIM_LT_LAYOUT,
    CUDA_SIM_LT_PREFERENCE,
    CUDA_SIM_CUBLAS_HANDLE,
    CUDA_SIM_GRAPH,
    CUDA_SIM_GRAPH_EXEC,
    CUDA_SIM_KINDS
} cuda_sim_kind;

/* From now on the nth call of `function`, counted from 1, gives `error` and does nothing; with
 * `onwards` every later one too. Apart from the functions of CUDA, "kernel" is a kernel or product as
 * it runs, whose error the stream's device keeps. Up to eight at a time. */
void cuda_sim_fail(const char *function, unsigned long nth, bool onwards, int error);

/* Forgets the failures of cuda_sim_fail, and the counts of calls. */
void cuda_sim_heal(void);

/* From now on cudaSetDevice makes no context, as before CUDA 12: the thread's first call that needs one does. */
void cuda_sim_choose_late(void);

/* Calls of a function since the start or the last cuda_sim_heal, and how many were made to fail. */
unsigned long cuda_sim_calls(const char *function);
unsigned long cuda_sim_failures(void);

/* The name of the function that is number `index` in the order of first calls since
 * cuda_sim_heal; NULL past the last. */
const char *cuda_sim_called(size_t index);

/* From now on every call on the device gives this error, as after a fault of a kernel. */
void cuda_sim_lose(int device, int error);

/* The blocks of the last kernel that was launched. */
unsigned cuda_sim_blocks(void);

/* The value of cudaPeekAtLastError in this thread: the library must leave no error. */
int cuda_sim_last_error(void);

/* The bytes that a device has in all. */
void cuda_sim_limit(int device, size_t bytes);

/* Whether the device has a context, bytes taken of it, things alive of a kind (kernels live as long
 * as their module). */
bool cuda_sim_has_context(int device);
size_t cuda_sim_memory(int device);
size_t cuda_sim_alive(cuda_sim_kind kind);

/* Counts reports, instead of ending the process, from now on; how many there were, and the last. */
void cuda_sim_count_reports(void);
unsigned long cuda_sim_reports(void);
const char *cuda_sim_last_report(void);

/* Reports the objects that are alive, in one report; returns their number. */
size_t cuda_sim_report_leaks(void);

#endif

/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* The simulated CUDA machine, shared by the stand-ins for libcudart, libcuda, cuBLAS, cuBLASLt and
 * NVRTC. It
 * is libcuda_sim.so: machine.c (devices, contexts), memory.c, fill.c, stream.c (streams and events),
 * graph.c, object.c (handles), report.c (defects, faults).
 *
 * A device address is a number in a separate range for each device that nothing is mapped to, so a host
 * that reads through it crashes; its memory is an ordinary allocation elsewhere, so that the sanitizers
 * check the kernels' accesses. A stream is a thread. Only the machine's own records are locked while
 * work runs, so that ThreadSanitizer sees accesses to its data without a wait. */
#ifndef CUDA_SIM_SIM_H
#define CUDA_SIM_SIM_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "control.h"
#include "cuda/declarations.h"

enum { SIM_MAX_DEVICES = 16 };

/* --- report.c -----------------------------------------------------------------------------------
 */

/* Reports a defect of the caller; ends the process unless reports are counted. */
void sim_report(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Counts a call of a function; the error it is to give instead of doing its work, or 0. Also looks
 * whether this process is a forked child, which may not use CUDA. */
int sim_fault(const char *function);

/* --- object.c -----------------------------------------------------------------------------------
 */

/* The beginning of every object that a handle points to. Its memory is kept after its end, so that a
 * stale handle is known as one. */
typedef struct sim_object {
    cuda_sim_kind kind;
    bool alive;
    struct sim_object *next;
} sim_object;

/* A zeroed object of `size` bytes; NULL without memory. */
void *sim_create(cuda_sim_kind kind, size_t size);

/* Whether a handle is an object of this kind and alive; reports it when it is not. */
bool sim_check(const void *object, cuda_sim_kind kind, const char *function);

/* Ends an object that sim_check found good. */
void sim_end(void *object);

/* --- machine.c ----------------------------------------------------------------------------------
 */

struct CUctx_st {
    struct sim_device *device;
    bool made;
    int sticky;     /* the error that lost it, or 0; read and written atomically */
    unsigned peers; /* a bit for each device whose memory it may reach */
};

typedef struct sim_device {
    int number; /* of the machine; CUDA_VISIBLE_DEVICES may show it under another ordinal */
    char name[128];
    unsigned char uuid[16];
    unsigned domain, bus, slot;
    int capability;
    int multiprocessors, cache; /* bytes */
    size_t memory, used;        /* bytes */
    struct CUctx_st context;
    /* addresses: [base, base + SIM_RANGE), given out from `next` on */
    uintptr_t base, next;
} sim_device;

#define SIM_RANGE ((uintptr_t)1 << 36)

typedef struct sim_machine {
    int device_count; /* visible ones, in the order of their ordinals */
    sim_device *devices[SIM_MAX_DEVICES];
    int all_count;
    sim_device all[SIM_MAX_DEVICES];
    int driver;                                /* 1000 * major + 10 * minor; 0: there is none */
    int runtime;                               /* likewise */
    bool stub;                                 /* the driver found is the toolkit's stub library */
    int delay;                                 /* microseconds that work may be held up for */
    int lazy;                                  /* streams work only while they are waited for */
    bool chooses_late;                         /* cudaSetDevice makes no context */
    int implicit;                              /* calls wait for the device that may do so */
    int skew;                                  /* bytes that structs of arguments seem larger */
    int kernel_threads;                        /* the most that a kernel may have in a block */
    uint32_t threads;                          /* that run one by one: their order's seed, or 0 */
    int leaks;                                 /* reported at exit */
    int builtins;                              /* 0: NVRTC finds no builtins library */
    int compiles;                              /* 0: NVRTC finds an error in every program */
    int architectures[16], architecture_count; /* of NVRTC */
    int nvrtc_major, blas_major;               /* 0: the library's own version */
    int nvrtc_minor;                           /* of a given major version */
    char nvrtc_path[512];                      /* NVIDIA's own, which compiles too; or "" */
    int works;                                 /* 0: kernels and products are not run */
} sim_machine;

/* The version that the stand-in for libcudart was made as: 1000 * major + 10 * minor. */
extern int sim_library_version;

/* Read from the environment at the first call; constant but for the devices' counters. */
sim_machine *sim_get(void);

/* The error of a machine whose driver cannot be used, or 0. */
int sim_driver_error(void);

/* The driver's functions want cuInit first; the runtime does it by itself. The error, or 0. */
void sim_initialise(void);
int sim_check_initialised(const char *function);

/* The device of an ordinal; NULL: the error is in *error. */
sim_device *sim_device_of(int ordinal, int *error);

/* The context a call of this thread works in: the current one, or, as the runtime does, that of
 * device 0, which is made then. NULL: the error is in *error (no driver, no device, lost). */
CUcontext sim_context(int *error);

/* The error of the thread's last failed call, as the runtime keeps it. */
int sim_set_error(int error);
int sim_take_error(void);

/* The thread's current context, as the driver returns it: NULL for none. */
CUcontext sim_current(void);
bool sim_push(CUcontext context);
CUcontext sim_pop(void);
void sim_set_current(CUcontext context);

/* The device whose context a thread without one gets. */
void sim_choose(int number);
int sim_chosen(void);

void sim_make_context(sim_device *device);
int sim_sticky(const struct CUctx_st *context);
void sim_lose_context(CUcontext context, int error);

/* --- memory.c -----------------------------------------------------------------------------------
 */

typedef struct sim_block {
    sim_device *device; /* NULL: pinned host memory */
    uintptr_t address;  /* as the program knows it */
    size_t size;
    char *bytes;      /* the memory itself; of pinned memory the same as the address */
    unsigned pending; /* operations that use it and have not run */
} sim_block;

/* Of a device; NULL: pinned. */
int sim_allocate(sim_device *device, size_t size, void **address);
int sim_free(sim_device *device, void *address, const char *function);

/* The block that holds all of [address, address + size) and belongs to the device; NULL, after a
 * report, when there is none. */
sim_block *sim_find(const sim_device *device, const void *address, size_t size,
                    const char *function);

/* The block that an address lies in, or NULL, and the ordinal of its device. */
sim_block *sim_known(const void *address, int *ordinal);

/* The pinned block that holds all of the range, or NULL. */
sim_block *sim_find_pinned(const void *address, size_t size);

/* Bytes taken of a device. */
size_t sim_used(const sim_device *device);

/* Pieces of device memory or of pinned memory that are alive. */
size_t sim_alive_blocks(cuda_sim_kind kind);

/* Whether an address is in any device's range. */
bool sim_is_device_address(const void *address);

/* Where work on the block reads and writes. */
static inline void *sim_bytes(const sim_block *block, const void *address) {
    return block->bytes + ((uintptr_t)address - block->address);
}

void sim_hold(sim_block *block);    /* one operation more uses it */
void sim_release(sim_block *block); /* it has run */

/* --- stream.c -----------------------------------------------------------------------------------
 */

enum { SIM_MAX_USES = 12 };

/* A piece of work: run(payload) in the stream's thread, once all earlier work has run. Not run when
 * the device has been lost by then. */
typedef struct sim_work {
    void (*run)(void *payload);
    const void *payload; /* copied */
    size_t size;
    sim_block *uses[SIM_MAX_USES]; /* held until it has run; NULL entries are passed over */
    bool is_kernel;                /* may be made to fail as "kernel" */
    bool always;                   /* run also when the device has been lost */
} sim_work;

int sim_stream_create(CUcontext context, unsigned flags, cudaStream_t *stream);
int sim_stream_destroy(cudaStream_t stream);
int sim_stream_finish(cudaStream_t stream);
int sim_stream_query(cudaStream_t stream);

/* Calls that allocate, free or load may wait for all work of the device; no program may rely on it.
 * An option of the machine makes them wait. */
void sim_implicit_wait(CUcontext context);

/* A wait for the whole device, which no capture in any of its streams survives. */
void sim_device_wait(CUcontext context, const char *function);

/* Host memory that is not pinned is refused in a capture; the error, or 0. */
int sim_stream_check_pageable(cudaStream_t stream);

/* From now on no stream is lazy: for calls that wait for no stream in particular. */
void sim_stream_wake_all(void);
sim_device *sim_stream_device(cudaStream_t stream);

/* NULL, after a report, for a handle that is no stream. */
CUcontext sim_stream_context(cudaStream_t stream);

/* Checks the stream and the current context, as every call with a stream must; the error, or 0. */
int sim_stream_check(cudaStream_t stream, const char *function);

/* Puts work on a checked stream; the error, or 0. */
int sim_enqueue(cudaStream_t stream, const sim_work *work);

/* Between begin and end the stream keeps its work in a graph, and runs nothing. */
int sim_stream_begin_capture(cudaStream_t stream, CUstreamCaptureMode mode);
int sim_stream_end_capture(cudaStream_t stream, CUgraph *graph);

int sim_event_create(CUcontext context, unsigned flags, cudaEvent_t *event);
int sim_event_destroy(cudaEvent_t event);
int sim_event_record(cudaEvent_t event, cudaStream_t stream);
int sim_event_finish(cudaEvent_t event);
int sim_event_query(cudaEvent_t event);
int sim_event_elapsed(float *milliseconds, cudaEvent_t start, cudaEvent_t end);
int sim_event_wait(cudaStream_t stream, cudaEvent_t event);

/* --- graph.c ------------------------------------------------------------------------------------
 */

/* A graph for a capture of that mode; the end of the capture, true if another call has invalidated it. */
CUgraph sim_graph_create(CUstreamCaptureMode mode);
bool sim_graph_end_capture(CUgraph graph);

/* As cuThreadExchangeStreamCaptureMode; the error, or 0, of a call that a capture in CUDA's default mode forbids in
 * every thread that is not relaxed. */
void sim_exchange_capture_mode(CUstreamCaptureMode *mode);
int sim_check_captures(const char *function);

/* Appends a copy of the work. The functions here give an error, or 0. */
int sim_graph_add(CUgraph graph, const sim_work *work);
int sim_graph_destroy(CUgraph graph);

/* One that can be launched; its work replaced by that of a graph of the same shape. */
int sim_graph_instantiate(CUgraph graph, CUgraphExec *made);
int sim_graph_update(CUgraphExec exec, CUgraph newer);
int sim_graph_launch(CUgraphExec exec, cudaStream_t stream);
int sim_graph_exec_destroy(CUgraphExec exec);

/* --- fill.c -------------------------------------------------------------------------------------
 */

/* `rows` rows of `count` elements of 1, 2 or 4 bytes, their starts `pitch` bytes apart. */
typedef struct sim_fill {
    char *start; /* filled in by sim_enqueue_fill */
    size_t pitch, count, rows, width;
    uint32_t value;
} sim_fill;

int sim_enqueue_fill(const char *function, cudaStream_t stream, uintptr_t start, sim_fill fill);

/* --- gemm.c -------------------------------------------------------------------------------------
 */

/* A column-major product D = alpha op(A) op(B) + beta D of host memory, then bias over rows, then
 * GELU; f32 sums for all but f64. Types as in cudaDataType, batches by strides. */
typedef struct sim_gemm {
    cudaDataType type;
    bool transpose_a, transpose_b;
    int64_t m, n, k, batch;
    int64_t lda, ldb, ldd, a_stride, b_stride, d_stride;
    const void *a, *b, *bias;
    void *d;
    double alpha, beta;
    bool gelu; /* the tanh form */
} sim_gemm;
void sim_gemm_run(void *gemm);

/* Bytes of one element, 0 for a type that is not simulated. */
size_t sim_type_size(cudaDataType type);

/* Elements from the first to past the last of a column-major matrix, and of a batch of them. */
size_t sim_matrix_extent(int64_t rows, int64_t cols, int64_t leading, int64_t stride,
                         int64_t batch);

/* --- the image of a program, made by nvrtc.c and loaded by program.c
 * ------------------------------ */

enum { SIM_MAX_ENTRIES = 4 };

enum { SIM_MAX_OWN = 512 << 10 };
typedef struct sim_image {
    unsigned char elf[64]; /* an ELF header without sections; all zero in the form of PTX */
    char mark[24];         /* SIM_IMAGE_MARK */
    int32_t architecture, t, u, op, lanes, stream;
    int32_t raw; /* 1: of raw_kernel.h, not of the library's dialect */
    int32_t entry_count;
    int32_t own_size; /* bytes of own */
    uint32_t stamp;   /* not 0: own is a shared object for threads.c, of this stamp */
    struct {
        char name[32]; /* without "tdm_", but of raw ones */
    } entries[SIM_MAX_ENTRIES];
    char own
        [SIM_MAX_OWN]; /* the text of a kernel that is not of the library, which is compiled as C; or "" */
} sim_image;

/* How much of an image there is of it as a file. */
static inline size_t sim_image_size(const sim_image *image) {
    return offsetof(sim_image, own) + (size_t)image->own_size;
}
#define SIM_IMAGE_MARK "simulated cubin"

/* Bytes of an ELF file of 64 bits, by its headers (object.c). */
size_t sim_elf_size(const void *file);

/* As PTX an image is this text, then the struct, then a NUL. */
#define SIM_PTX_MARK "// simulated PTX "

#endif

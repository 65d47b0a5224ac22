/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* The cuda backend's own structs and helpers, shared by the files of this folder. */
#ifndef TDMI_CUDA_BACKEND_H
#define TDMI_CUDA_BACKEND_H

#include <stdatomic.h>

#include "backend.h"

#include "api.h"

enum { TDMI_CUDA_MAX_DEVICES = 256 };

struct tdmi_bdevice {
    int ordinal;                              /* the runtime's number of the device */
    int capability;                           /* 10 * major + minor */
    CUcontext context;                        /* the primary context, kept until the process ends */
    atomic_bool peers[TDMI_CUDA_MAX_DEVICES]; /* [ordinal]: access to its memory was requested */
};

struct tdmi_bqueue {
    tdmi_bdevice *device;
    cudaStream_t own;       /* for other threads, too */
    cudaStream_t stream;    /* where work goes: own, or while it is captured, capturing */
    cudaStream_t capturing; /* NULL until something is */
    bool timing;            /* made with TDM_QUEUE_TIMING */
    bool adopted;           /* own is the program's, and stays when the queue goes */
};

static inline bool tdmi_cuda_is_captured(const tdmi_bqueue *queue) {
    return queue->stream != queue->own;
}

struct tdmi_bcapture {
    tdmi_bdevice *device;
    CUgraphExec graph; /* NULL until something was captured */
};

/* An event with a time costs more to record, and only the queue says which kind is wanted: each
 * kind is made at its first use. */
struct tdmi_bevent {
    tdmi_bdevice *device;
    tdmi_mutex lock;      /* of the two below: one thread may record while others wait */
    cudaEvent_t kinds[2]; /* [0] without a time, [1] with; NULL until recorded */
    cudaEvent_t current;  /* the kind recorded last */
};

struct tdmi_bprogram {
    tdmi_bdevice *device;
    CUmodule module;
    CUfunction function;
    int buffers;
    uint32_t lanes; /* of a group, all its teams together */
};

enum { TDMI_CUDA_MAX_BUFFERS = 12 };

/* Lanes of a group: a warp at least. Of 1024 lanes with more than 32 registers, as most kernels have,
 * only one group fits on a multiprocessor, which idles at each of its barriers; and 1024 leave a
 * third of those for 1536 lanes idle always. */
enum { TDMI_CUDA_LEAST_LANES = 32, TDMI_CUDA_MOST_LANES = 512, TDMI_CUDA_LEAST_TEAM = 8 };
enum { TDMI_CUDA_TENSOR_CORES = 80 }; /* the compute capability that kernels/tensor.h is for */

struct tdmi_bkernel {
    CUfunction function;
    int buffers;
    uint32_t lanes;
    void *handles[TDMI_CUDA_MAX_BUFFERS];
    void *arguments[TDMI_CUDA_MAX_BUFFERS + 1]; /* addresses of handles, then of the struct */
};

extern const tdmi_backend tdmi_backend_cuda;
extern const tdmi_blas tdmi_cuda_blas_cublas;

/* The dialect's header text, put before every kernel; embedded by the build. */
extern const char tdmi_dialect_cuda[];

/* Sets the message for a failure of the runtime or driver (their numbers are the same) and returns
 * its status; what names the call and its sizes. Clears the runtime's last error, which belongs to
 * the caller's own CUDA code. */
tdm_status tdmi_cuda_fail(cudaError_t error, const char *what) TDM_MUST_USE;

/* The remedy for an error that means "no usable device"; "" for others. */
const char *tdmi_cuda_advice(cudaError_t error);

static inline TDM_MUST_USE tdm_status tdmi_cuda_check(cudaError_t error, const char *what) {
    return error == cudaSuccess ? TDM_OK : tdmi_cuda_fail(error, what);
}

/* For calls that may fail without harm: whether it succeeded. Leaves no error in the
 * runtime. */
static inline bool tdmi_cuda_succeeds(cudaError_t error) {
    if (error != cudaSuccess) (void)tdmi_cudart.cudaGetLastError();
    return error == cudaSuccess;
}

/* Makes a call of discovery, and once more when it fails: it may have failed by accident, and what it
 * reports is for the life of the process. The runtime keeps the error of the second. */
#define TDMI_CUDA_TWICE(error, call)                                                               \
    do {                                                                                           \
        (error) = (call);                                                                          \
        if (!tdmi_cuda_succeeds(error)) (error) = (call);                                          \
    } while (0)

/* A device as discovery found it: what is known without a context. */
typedef struct tdmi_cuda_entry {
    int ordinal;
    char name[256];
    CUuuid uuid; /* zeros where the driver cannot tell */
    size_t memory;
    int pci_domain, pci_bus, pci_device;
    int major, minor; /* the compute capability */
    int multiprocessors, most_lanes, cache_bytes, integrated;
} tdmi_cuda_entry;

/* Discovery (discover.c). */
const tdmi_cuda_entry *tdmi_cuda_entry_at(size_t index);

/* A device's own report (facts.c). describe asks the runtime's device of that number. Versions are 1000 *
 * major + 10 * minor: of the newest CUDA that the driver supports, and of the runtime. The text is that
 * of the driver's own version and of this. */
cudaError_t tdmi_cuda_describe(int ordinal, tdmi_cuda_entry *record);
void tdmi_cuda_fill_facts(const tdmi_cuda_entry *record, int driver_version, int runtime_version,
                          tdmi_device_facts *facts);
void tdmi_cuda_driver_text(int driver_version, char *text, size_t size);
static inline int tdmi_cuda_capability(const tdmi_cuda_entry *record) {
    return 10 * record->major + record->minor;
}

/* The functions of the table. Between enter and leave the device's context is current for this thread; leave restores
 * what was current before. Neither makes a context. Leave after every enter that succeeded. */
/* clang-format off */
#define TDMI_CUDA_TABLE(X, b)                                                                      \
    X(b, enter) X(b, leave) X(b, host_alloc) X(b, host_free) X(b, mem_disown) X(b, copy_peer)      \
    X(b, device_handles) X(b, queue_handle) X(b, queue_wait_handle)                                \
    X(b, queue_record_handle) X(b, queue_adopt) X(b, queue_flush) X(b, queue_finish)               \
    X(b, source_check) X(b, capture_begin) X(b, capture_end) X(b, capture_run)                     \
    X(b, capture_deinit)
/* clang-format on */
TDMI_BACKEND_TABLE(TDMI_BACKEND_DECLARE, tdmi_cuda)
TDMI_CUDA_TABLE(TDMI_BACKEND_DECLARE, tdmi_cuda)

/* Enters until the block ends; returns from the calling function where that fails. For calls that no capture forbids:
 * launches, copies, fills, and events that are recorded or that a stream waits for. */
#define TDMI_CUDA_ENTER(device)                                                                    \
    __attribute__((cleanup(tdmi_cuda_leave_block))) bool tdmi_cuda_entered_ = false;               \
    TDMI_TRY(tdmi_cuda_enter(device, &tdmi_cuda_entered_))

static inline void tdmi_cuda_leave_block(const bool *entered) { tdmi_cuda_leave(*entered); }

/* Between begin and end the thread is entered and may call whatever CUDA has, while the program captures a stream in
 * this thread or another one: in the mode that is CUDA's default, and PyTorch's, a capture would not survive cudaMalloc
 * or cudaEventQuery. End after every begin that succeeded, with what begin filled in. */
typedef struct tdmi_cuda_calls {
    bool entered, relaxed;
    CUstreamCaptureMode mode; /* the thread's before */
} tdmi_cuda_calls;

tdm_status tdmi_cuda_begin(const tdmi_bdevice *device, tdmi_cuda_calls *calls) TDM_MUST_USE;
void tdmi_cuda_end(const tdmi_cuda_calls *calls);

/* Begins, and ends where the block does; returns from the calling function where that fails. */
#define TDMI_CUDA_BEGIN(device)                                                                    \
    __attribute__((cleanup(tdmi_cuda_end))) tdmi_cuda_calls tdmi_cuda_calls_ = {0};                \
    TDMI_TRY(tdmi_cuda_begin(device, &tdmi_cuda_calls_))

#endif

/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* The opencl backend's own structs and helpers, shared by the files of this folder.
 *
 * An OpenCL device is reached through the ICD loader (libOpenCL.so.1). Every opened device has one
 * context, which has no other devices unless it was adopted. Handles: tdmi_mem.handle is the
 * cl_mem. */
#ifndef TDMI_OPENCL_BACKEND_H
#define TDMI_OPENCL_BACKEND_H

#include <stdatomic.h>

#include "backend.h"

#include "api.h"

/* compiler.c. The abilities of a driver's compiler beyond plain OpenCL C 1.2. */
typedef struct tdmi_cl_compiler {
    const char *standard; /* of OpenCL C, for -cl-std; NULL: 1.2, which every driver has */
    const char *options;  /* build options, each after a blank: what dialect_opencl.h may use */
    bool tensor_cores;    /* one of them is for NVIDIA's of sm_80 and later */
} tdmi_cl_compiler;

/* Whether a device's list of extensions has this one. */
bool tdmi_cl_has_extension(const char *extensions, const char *name);

/* Of a device whose type, platform and driver are set. */
tdmi_cl_compiler tdmi_cl_compiler_of(const tdm_device_info *info, const char *version,
                                     const char *extensions);

/* A device as discovery found it: what is known without a context. */
typedef struct tdmi_cl_entry {
    cl_platform_id platform;
    cl_device_id id;
    int order;           /* place in the enumeration: the last key of the sort */
    bool native_kernels; /* a CPU that says it runs host functions in queue order */
    bool shares_memory;  /* a CPU that can have memory which needs no mapping: fine-grained SVM */
    tdmi_cl_compiler compiler;
    cl_ulong local_memory; /* of a group, bytes */
    bool exact_division;   /* takes -cl-fp32-correctly-rounded-divide-sqrt */
    bool free_memory;      /* answers CL_DEVICE_GLOBAL_FREE_MEMORY_AMD */
    bool early_markers;    /* their time is that of being enqueued, as on Intel's GPUs */
    tdmi_device_facts facts;
} tdmi_cl_entry;

struct tdmi_bdevice {
    const tdmi_cl_entry *entry;
    cl_context context;
    bool calls_back; /* the driver calls functions of ours; Wine's does not, and refuses to */
    tdmi_mutex lock; /* guards the next three */
    cl_command_queue internal;        /* for host memory, allocations and the probe; made at need */
    bool probed, in_place;            /* whether native kernels see buffers where the host does */
    atomic_uint_least64_t generation; /* counts mem_free: see the kernel's `generation` */
    atomic_bool used_clblast;
};

/* Is the device the host itself? Its memory is then host memory. */
static inline bool tdmi_cl_is_cpu(const tdmi_bdevice *device) {
    return device->entry->facts.info.type == TDM_DEVICE_CPU;
}

/* Does it run functions of ours in queue order? */
static inline bool tdmi_cl_is_native(const tdmi_bdevice *device) {
    return device->entry->native_kernels && device->calls_back;
}

struct tdmi_bqueue {
    tdmi_bdevice *device;
    cl_command_queue queue;
    bool timing;        /* made with TDM_QUEUE_TIMING */
    cl_mem stamp;       /* is filled in place of a marker, for its time; NULL: markers have it */
    atomic_int product; /* tdm_status of its native kernels, which the next finish returns */
};

struct tdmi_bevent {
    tdmi_mutex lock; /* guards the rest: recording may replace it while another thread waits */
    cl_event event;  /* NULL until recorded */
    bool timing;     /* recorded in a queue with timing */
};

#define TDMI_CL_MAX_BUFFERS 12
#define TDMI_CL_MAX_ARGS 896

struct tdmi_bprogram {
    cl_program program; /* NULL: it runs as C, in native kernels */
    tdmi_bdevice *device;
    char entry[64];
    cl_uint buffers;
    size_t args_size;
    tdmi_variant variant;
};

/* Arguments are set again only when they changed. A cl_mem that was freed may come back at the same
 * address as another object, so a bound handle counts as unchanged only while nothing has been
 * freed on the device since it was bound (`generation` equal to the device's). */
struct tdmi_bkernel {
    cl_kernel kernel; /* NULL where the program has no text */
    cl_uint buffers;
    size_t args_size;
    tdmi_variant variant;
    uint64_t generation;
    bool bound; /* the arguments have been set at least once */
    cl_mem mems[TDMI_CL_MAX_BUFFERS];
    unsigned char args[TDMI_CL_MAX_ARGS];
};

/* error.c. The name of an OpenCL code ("CL_OUT_OF_RESOURCES"), or "an unknown error". */
const char *tdmi_cl_error_name(cl_int code);

/* The status that an OpenCL code amounts to; TDM_OK for CL_SUCCESS. */
tdm_status tdmi_cl_status(cl_int code);

/* Fails with "<what>: <name> (<code>)", and a hint where the code alone would mislead. */
tdm_status tdmi_cl_fail(cl_int code, const char *what) TDM_MUST_USE;

static inline TDM_MUST_USE tdm_status tdmi_cl_check(cl_int code, const char *what) {
    return code == CL_SUCCESS ? TDM_OK : tdmi_cl_fail(code, what);
}

/* Makes a call of discovery, and once more when it fails: it may have failed by accident, and what
 * it reports is for the life of the process. */
#define TDMI_CL_TWICE(code, call)                                                                  \
    do {                                                                                           \
        (code) = (call);                                                                           \
        if ((code) != CL_SUCCESS) (code) = (call);                                                 \
    } while (0)

/* Returns from the calling function, with a message, when an OpenCL call failed. */
#define TDMI_CL_TRY(call, what) TDMI_TRY(tdmi_cl_check(call, what))

/* facts.c. Can the device be used? *refused is NULL, or why not, in static storage. Fills in the
 * whole entry except platform, id and order, which are given. Fails, with a message, when a
 * question that had to be answered was not: nothing is known then. */
tdm_status tdmi_cl_describe(tdmi_cl_entry *entry, const char **refused) TDM_MUST_USE;

/* discover.c. A listed device, which is never freed. */
const tdmi_cl_entry *tdmi_cl_entry_at(size_t index);

/* facts.c. A platform's text; always terminated, "" when the platform does not tell. The code of a failure,
 * or CL_SUCCESS, also for a text that the platform does not have. */
cl_int tdmi_cl_platform_text(cl_platform_id platform, cl_platform_info what, char *text,
                             size_t size);

/* Bytes free on the device, or TDM_UNKNOWN. */
uint64_t tdmi_cl_free_memory(const tdmi_cl_entry *entry);

/* queue.c. Makes the rest of a queue that has its cl_command_queue, which is released if this fails. */
tdm_status tdmi_cl_queue_prepare(tdmi_bqueue *queue) TDM_MUST_USE;

/* A new event at this point of the queue, which is flushed. */
tdm_status tdmi_cl_marker(tdmi_bqueue *queue, cl_event *marker);

/* memory.c. The device's own queue, for any thread that holds the device's lock. */
tdm_status tdmi_cl_internal_queue(tdmi_bdevice *device, cl_command_queue *queue) TDM_MUST_USE;

/* blas_host.c. Fails unless native kernels see buffers where the host does. Waits for no queue of the program's. */
tdm_status tdmi_cl_runs_in_place(tdmi_bdevice *device) TDM_MUST_USE;

/* The BLAS providers; of devices that are the host's CPU and run native kernels there is a list,
 * NULL-terminated. A device that ends calls tdmi_clblast_forget first, as CLBlast keeps kernels of its
 * context in a cache. */
extern const tdmi_blas *const tdmi_cl_blas_of_cpu[];
extern const tdmi_blas tdmi_cl_blas_clblast;
void tdmi_clblast_forget(tdmi_bdevice *device);
void tdmi_clblast_diagnose(void);

/* The dialect header of OpenCL C, embedded by the build. */
extern const char tdmi_dialect_opencl[];

extern const tdmi_backend tdmi_backend_opencl;

/* The functions of the table. */
/* clang-format off */
#define TDMI_CL_TABLE(X, b)                                                                        \
    X(b, host_alloc) X(b, host_free) X(b, map) X(b, unmap)                                         \
    X(b, device_find) X(b, device_adopt) X(b, device_handles) X(b, queue_handle)                   \
    X(b, queue_wait_handle) X(b, queue_record_handle) X(b, queue_adopt)                            \
    X(b, queue_flush) X(b, queue_finish) X(b, queue_drain)
/* clang-format on */
TDMI_BACKEND_TABLE(TDMI_BACKEND_DECLARE, tdmi_cl)
TDMI_CL_TABLE(TDMI_BACKEND_DECLARE, tdmi_cl)

#endif

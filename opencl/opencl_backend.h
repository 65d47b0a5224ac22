/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* The opencl backend's own structs and helpers, shared by the files of this folder.
 *
 * An OpenCL device is reached through the ICD loader (libOpenCL.so.1). Every opened device has one
 * context, of its own unless it was adopted: then other devices may be in it, too. Handles: tdmi_mem.handle is the
 * cl_mem. */
#ifndef TDMI_OPENCL_BACKEND_H
#define TDMI_OPENCL_BACKEND_H

#include <pthread.h>
#include <stdatomic.h>

#include "backend.h"

#include "api.h"

/* compiler.c. What a driver's compiler can take beyond plain OpenCL C 1.2. */
typedef struct tdmi_cl_compiler {
    const char *standard; /* of OpenCL C, for -cl-std; NULL: 1.2, which every driver has */
    const char *options;  /* build options, each after a blank: what dialect_opencl.h may use */
    bool tensor_cores;    /* of which one is for NVIDIA's of sm_80 and later */
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
    bool native_kernels; /* a CPU that runs host functions in queue order */
    bool shares_memory;  /* a CPU that can have memory which needs no mapping: fine-grained SVM */
    tdmi_cl_compiler compiler;
    cl_ulong local_memory; /* of a group, bytes */
    bool exact_division;   /* takes -cl-fp32-correctly-rounded-divide-sqrt */
    bool free_memory;      /* answers CL_DEVICE_GLOBAL_FREE_MEMORY_AMD */
    tdmi_device_facts facts;
} tdmi_cl_entry;

struct tdmi_bdevice {
    const tdmi_cl_entry *entry;
    cl_context context;
    pthread_mutex_t lock;      /* guards internal */
    cl_command_queue internal; /* for host memory and for making allocations real; made at need */
    atomic_uint_least64_t generation; /* counts mem_free: see the kernel's `generation` */
    atomic_bool used_clblast;
    atomic_int
        product; /* tdm_status of products on the host's cores: the next wait for work tells */
};

/* Is the device the host itself? Its memory is then host memory. */
static inline bool tdmi_cl_is_cpu(const tdmi_bdevice *device) {
    return device->entry->facts.info.type == TDM_DEVICE_CPU;
}

struct tdmi_bqueue {
    tdmi_bdevice *device;
    cl_command_queue queue;
    bool timing; /* made with TDM_QUEUE_TIMING */
    atomic_int
        product; /* tdm_status of products on the host's cores, which the next finish tells */
};

struct tdmi_bevent {
    pthread_mutex_t lock; /* guards the rest: recording may replace it while another thread waits */
    cl_event event;       /* NULL until recorded */
    bool timing;          /* recorded in a queue with timing */
};

#define TDMI_CL_MAX_BUFFERS 12
#define TDMI_CL_MAX_ARGS 896

struct tdmi_bprogram {
    cl_program program;
    tdmi_bdevice *device;
    char entry[64];
    cl_uint buffers;
    size_t args_size;
    size_t lanes;
};

/* Arguments are set again only when they changed. A cl_mem that was freed may come back at the same
 * address as another object, so a bound handle counts as unchanged only while nothing has been
 * freed on the device since it was bound (`generation` equal to the device's). */
struct tdmi_bkernel {
    cl_kernel kernel;
    cl_uint buffers;
    size_t args_size;
    size_t lanes;
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

/* Makes a call of discovery, and once more when it fails: it may have failed by accident, and what
 * it tells is for the life of the process. */
#define TDMI_CL_TWICE(code, call)                                                                  \
    do {                                                                                           \
        (code) = (call);                                                                           \
        if ((code) != CL_SUCCESS) (code) = (call);                                                 \
    } while (0)

/* Returns from the calling function, with a message, when an OpenCL call failed. */
#define TDMI_CL_TRY(call, what)                                                                    \
    do {                                                                                           \
        cl_int tdmi_cl_code_ = (call);                                                             \
        if (tdmi_cl_code_ != CL_SUCCESS) return tdmi_cl_fail(tdmi_cl_code_, what);                 \
    } while (0)

/* facts.c. Can the device be used? *refused is NULL, or why not, in static storage. Fills in the
 * whole entry except platform, id and order, which are given. Fails, with a message, when a
 * question that had to be answered was not: nothing is known then. */
tdm_status tdmi_cl_describe(tdmi_cl_entry *entry, const char **refused) TDM_MUST_USE;

/* discover.c. A listed device, for good. */
const tdmi_cl_entry *tdmi_cl_entry_at(size_t index);

/* facts.c. A platform's text; always terminated, "" when the platform does not tell. The code of a failure,
 * or CL_SUCCESS, also for a text that the platform does not have. */
cl_int tdmi_cl_platform_text(cl_platform_id platform, cl_platform_info what, char *text,
                             size_t size);

/* Bytes free on the device, or TDM_UNKNOWN. */
uint64_t tdmi_cl_free_memory(const tdmi_cl_entry *entry);

/* queue.c. A new event at this point of the queue, which is flushed. */
tdm_status tdmi_cl_marker(tdmi_bqueue *queue, cl_event *marker);

/* The functions of the table, by file. */
tdm_status tdmi_cl_load(bool *again);
size_t tdmi_cl_count(void);
tdm_status tdmi_cl_info(size_t index, tdmi_device_facts *facts);
void tdmi_cl_diagnose(void);

tdm_status tdmi_cl_device_init(tdmi_bdevice *device, size_t index);
void tdmi_cl_device_deinit(tdmi_bdevice *device);
uint64_t tdmi_cl_device_free_memory(tdmi_bdevice *device);

tdm_status tdmi_cl_mem_alloc(tdmi_bdevice *device, size_t size, tdmi_mem *mem);
void tdmi_cl_mem_free(tdmi_bdevice *device, tdmi_mem *mem);
tdm_status tdmi_cl_host_alloc(tdmi_bdevice *device, size_t size, tdmi_mem *mem);
void tdmi_cl_host_free(tdmi_bdevice *device, tdmi_mem *mem);
tdm_status tdmi_cl_write(tdmi_bqueue *queue, const tdmi_mem *mem, size_t offset, const void *source,
                         size_t size);
tdm_status tdmi_cl_read(tdmi_bqueue *queue, const tdmi_mem *mem, size_t offset, void *destination,
                        size_t size);
tdm_status tdmi_cl_copy(tdmi_bqueue *queue, const tdmi_mem *source, size_t source_offset,
                        const tdmi_mem *destination, size_t destination_offset, size_t size);
tdm_status tdmi_cl_fill(tdmi_bqueue *queue, const tdmi_mem *mem, size_t offset, size_t size,
                        const void *pattern, size_t pattern_size);
tdm_status tdmi_cl_map(tdmi_bqueue *queue, const tdmi_mem *mem, size_t offset, size_t size,
                       unsigned access, void **pointer);
tdm_status tdmi_cl_unmap(tdmi_bqueue *queue, const tdmi_mem *mem, void *pointer);

tdm_status tdmi_cl_mem_adopt(tdmi_bdevice *device, void *handle, size_t size, tdmi_mem *mem,
                             bool *read_only);
void tdmi_cl_device_handles(const tdmi_bdevice *device, void **context, void **id);
void *tdmi_cl_queue_handle(const tdmi_bqueue *queue);
tdm_status tdmi_cl_queue_wait_handle(tdmi_bqueue *queue, void *event);
tdm_status tdmi_cl_queue_record_handle(tdmi_bqueue *queue, void **event);
bool tdmi_cl_device_find(const void *id, size_t *index);
tdm_status tdmi_cl_device_adopt(tdmi_bdevice *device, size_t index, void *context);
tdm_status tdmi_cl_queue_adopt(tdmi_bdevice *device, void *handle, unsigned *flags,
                               tdmi_bqueue *queue);

tdm_status tdmi_cl_queue_init(tdmi_bdevice *device, unsigned flags, tdmi_bqueue *queue);
void tdmi_cl_queue_deinit(tdmi_bqueue *queue);
tdm_status tdmi_cl_queue_flush(tdmi_bqueue *queue);
tdm_status tdmi_cl_queue_finish(tdmi_bqueue *queue);
tdm_status tdmi_cl_queue_drain(tdmi_bqueue *queue);
tdm_status tdmi_cl_event_init(tdmi_bdevice *device, tdmi_bevent *event);
void tdmi_cl_event_deinit(tdmi_bevent *event);
tdm_status tdmi_cl_event_record(tdmi_bevent *event, tdmi_bqueue *queue);
tdm_status tdmi_cl_event_wait(tdmi_bevent *event);
tdm_status tdmi_cl_event_query(tdmi_bevent *event, bool *done);
tdm_status tdmi_cl_event_elapsed(tdmi_bevent *start, tdmi_bevent *end, double *seconds);
tdm_status tdmi_cl_queue_wait_event(tdmi_bqueue *queue, tdmi_bevent *event);

tdm_status tdmi_cl_program_build(tdmi_bdevice *device, const tdmi_program_source *source,
                                 const tdmi_blob *binary, tdmi_bprogram *program,
                                 tdmi_blob *result);
void tdmi_cl_program_deinit(tdmi_bprogram *program);
tdm_status tdmi_cl_kernel_init(tdmi_bprogram *program, tdmi_bqueue *queue, tdmi_bkernel *kernel);
void tdmi_cl_kernel_deinit(tdmi_bkernel *kernel);
tdm_status tdmi_cl_launch(tdmi_bqueue *queue, tdmi_bkernel *kernel, const tdmi_launch *launch);

/* The BLAS providers; of devices that are the host's CPU and run native kernels there is a list,
 * NULL-terminated. What the device has to do for CLBlast before its context goes: CLBlast keeps
 * kernels of that context in a cache of its own. */
extern const tdmi_blas *const tdmi_cl_blas_of_cpu[];
extern const tdmi_blas tdmi_cl_blas_clblast;
void tdmi_clblast_forget(tdmi_bdevice *device);
void tdmi_clblast_diagnose(void);

/* The dialect header of OpenCL C, embedded by the build. */
extern const char tdmi_dialect_opencl[];

extern const tdmi_backend tdmi_backend_opencl;

#endif

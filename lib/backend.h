/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* The contract between the core and a backend. A backend is one const table; the core in lib/ knows
 * nothing else of it. A backend includes this header, its own, and those of base/, host/, machine/ and platform/:
 * nothing of the path of a call.
 *
 * Checks: the core has checked every argument (ranges, dtypes, same device, sizes > 0);
 * a backend asserts at most. Locks: device functions, memory functions and program
 * functions may be called from several threads at once and must be safe for that; calls on one
 * queue (and on kernels, which belong to a queue) are serialised by the user, except queue_finish,
 * queue_drain and event_record, which may come from another thread. Memory: the core allocates the
 * structs below, zeroed, of the sizes the table gives, calls X_init once, and X_deinit once if and
 * only if X_init succeeded; an X_init that fails has cleaned up after itself.
 *
 * Errors: return tdmi_fail(status, message). A lost device returns TDM_ERROR_DEVICE_LOST; the core
 * remembers and asks that device nothing more except to wait, deinit and free. */
#ifndef TDMI_BACKEND_H
#define TDMI_BACKEND_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <tandem/tandem.h>

#include "base/blas_list.h"
#include "base/fail.h"
#include "base/memory.h"
#include "base/threads.h"
#include "bytecode.h"
#include "host/host.h"
#include "machine/loader.h"

/* Each backend defines these for itself; the core only passes them on. */
typedef struct tdmi_bdevice tdmi_bdevice;
typedef struct tdmi_bqueue tdmi_bqueue;
typedef struct tdmi_bevent tdmi_bevent;
typedef struct tdmi_bprogram tdmi_bprogram;
typedef struct tdmi_bkernel tdmi_bkernel;
typedef struct tdmi_bcapture tdmi_bcapture;

/* Facts of a device beyond the public ones, which info() reports without making a context. */
typedef struct tdmi_device_facts {
    tdm_device_info info; /* id, index and same_as are filled in by the core */
    uint8_t uuid[16];     /* meaningful when has_uuid */
    bool has_uuid;
    bool host_memory;      /* a tdmi_mem.handle is a host pointer (the cpu backend) */
    bool streaming_stores; /* streaming stores pay for outputs much larger than the cache */
    bool synchronous;      /* work is done when a queue function returns */
    bool one_thread;    /* the driver ends the process where two threads launch kernels at once */
    bool row_loops;     /* kernels are compiled as C, for one lane: ROW_LOOPS */
    bool tensor_cores;  /* the dialect has assembler for those that it should have: TENSOR_CORES */
    uint32_t min_lanes; /* a group has a power of two of lanes within these, unless a kernel */
    uint32_t max_lanes; /* allows fewer */
    uint32_t min_team; /* the least lanes of a row that is read in vectors; below min_lanes, several
                              rows share a group (TEAMS). 0: no row is */
    uint32_t max_team; /* the most: 1 on an OpenCL CPU, whose barriers take long */
    uint32_t max_groups; /* groups worth launching for row-wise work: enough to fill the device */
    uint32_t min_group_bytes; /* with less to do another group costs more than it brings */
    uint64_t cache_bytes;     /* last-level cache, 0 if unknown */
    uint32_t alignment;       /* of allocations, bytes */
    char cache_key[512];      /* all that a compiled kernel depends on but its text and options */
} tdmi_device_facts;

/* Fill in the UUID (not one of zeros) and the address on the bus (not 0000:00:00.0), in the form
 * that all backends share, by which devices are found to be one card. The type and the name are
 * set before the UUID. */
void tdmi_set_uuid(tdmi_device_facts *facts, const uint8_t uuid[16]);
void tdmi_set_pci(tdm_device_info *info, uint32_t domain, uint32_t bus, uint32_t device,
                  uint32_t function);

/* Three letters, and the bytes as 8-4-4-4-12 digits: "GPU-8e2a…". */
void tdmi_uuid_text(const char *prefix, const uint8_t uuid[16], char text[48]);

/* A piece of device memory. */
typedef struct tdmi_mem {
    void *handle; /* cl_mem, device pointer or host pointer; NULL binds a null pointer */
    void *host;   /* address in host memory, where it has one from the start; else NULL. Only of the
                     cpu backend is it there to be used: elsewhere a mapping gives it */
    /* host and device see there what the other wrote before, so mapping does nothing */
    bool shared;
} tdmi_mem;

/* One kernel variant: what is compiled, and for which constants. */
typedef struct tdmi_variant {
    uint8_t kernel;  /* tdmi_kernel_id, see kernels/args.h */
    uint8_t t;       /* tdm_dtype of the main tensors: T */
    uint8_t u;       /* tdm_dtype of the second kind of tensor (cast source, norm output): U */
    uint8_t op;      /* the kernel's own choice: activation, binary operator, norm kind … : OP */
    uint8_t stream;  /* a tdmi_size_kind; TDMI_LARGE: streaming stores for the outputs: STREAM */
    uint8_t vectors; /* how lanes take rows, see below: VECTORS and HOLDS */
    uint16_t lanes;  /* lanes of a group: LANES */
    uint32_t
        user; /* the number of a user's kernel (user_kernels.h), of which op is its vectors; else 0 */
} tdmi_variant;

/* The size of the work compared with the device's cache. Of work that is larger a CPU fetches ahead, and its outputs
 * bypass the cache unless they are inputs, too, or so few that it does not matter. */
typedef enum tdmi_size_kind { TDMI_IN_CACHE, TDMI_LARGE, TDMI_LARGE_KEPT } tdmi_size_kind;

/* The parts of tdmi_variant.vectors: how many vectors a lane takes of a row at once, 0 where it takes elements; how
 * often the 16 bytes of a vector are halved; whether rows need not begin at multiples of these, so that vectors are
 * read element by element; and whether these vectors are all that the lane has of the row. */
enum {
    TDMI_VECTOR_COUNT = 15,
    TDMI_HALVED_VECTORS = 16,
    TDMI_HALVINGS = 48,
    TDMI_LOOSE = 64,
    TDMI_HOLDS = 128
};

static inline int tdmi_vector_bytes(uint8_t vectors) {
    return 16 >> (vectors & TDMI_HALVINGS) / TDMI_HALVED_VECTORS;
}

/* Everything that a backend needs to build a variant. cpu looks the variant up in its own tables, runs the blocks, or
 * has a user's kernel without blocks compiled. */
typedef struct tdmi_program_source {
    tdmi_variant variant;
    const char *entry;          /* name of the kernel function */
    const char *file;           /* for messages: "layer_norm.cl" */
    const char *text;           /* whole source without the dialect header: args.h to the kernel */
    const char *const *options; /* "-DT=0" …, NULL-terminated; the same for OpenCL and NVRTC */
    const tdmi_bytecode
        *bytecode; /* of a user's expression: the same, as steps; lives as long as the device */
    bool
        is_interpreted; /* where these run: a function of the library's own, which starts no compiler */
    uint32_t group_lanes; /* lanes of a group: variant.lanes of each of its teams */
    int buffers;          /* how many buffer arguments come before the struct */
    size_t args_size;     /* size of that struct */
} tdmi_program_source;

/* A piece of malloc'ed memory handed to the caller, which frees data. */
typedef struct tdmi_blob {
    void *data;
    size_t size;
} tdmi_blob;

/* One launch: `groups` groups of variant.lanes lanes. */
typedef struct tdmi_launch {
    uint32_t groups;
    const tdmi_mem *const *mems; /* as many as the kernel has buffers; NULL binds a null pointer */
    const void *args;            /* the struct, copied before launch() returns */
    uint8_t stream;              /* the variant's, where a program is for all of them: `compiler` */
} tdmi_launch;

/* One matrix product, row-major: op(A) is m x k, stored k x m when transposed; ld in elements is
 * the distance of stored rows; the strides between the matrices of a batch may be 0 for A and B.
 * m, n, k, batch ≥ 1, alpha != 0. Offsets in elements. beta == 0 means C is not read. */
typedef struct tdmi_gemm {
    tdm_dtype dtype;
    bool transpose_a, transpose_b;
    bool tf32;   /* allowed */
    bool panels; /* B lies in panels (lib/host/panels.c); A and C lie by rows */
    int64_t m, n, k, batch;
    double alpha, beta;
    const tdmi_mem *a, *b, *c;
    int64_t a_offset, b_offset, c_offset;
    int64_t lda, ldb, ldc;
    int64_t a_stride, b_stride, c_stride;
    const tdmi_mem *bias; /* [n], NULL for none */
    int64_t bias_offset;
    tdm_activation activation; /* after bias */
    int algorithm;             /* of the provider's, 0 for the one that it prefers */
} tdmi_gemm;

/* How a provider has a product. By way of a wider dtype it takes time to read the matrices first, which a
 * kernel that reads them as they are may do without. */
typedef enum tdmi_blas_support {
    TDMI_BLAS_NO,
    TDMI_BLAS_CONVERTS,
    TDMI_BLAS_YES
} tdmi_blas_support;

/* A BLAS library of the host. Every device that is the host's CPU has it as a provider. The threads are
 * Tandem's workers: each has the library compute a part of the product, alone. Any thread. */
typedef struct tdmi_host_blas {
    tdmi_blas_id id;
    const tdmi_library *library; /* that open() opens; NULL of panels, which are no library */
    /* Opens the library if not yet tried; TDM_ERROR_UNAVAILABLE says what to install. */
    tdm_status (*open)(void);
    /* Adds the diagnostic item of the library. */
    void (*diagnose)(void);
    /* Does it run this product, which has no epilogue, as it stands? */
    bool (*supports)(const tdmi_gemm *gemm);
    /* Where a library compiles something for each shape: makes that for a part of a product, or finds what
     * was made before; release gives it back. TDM_ERROR_UNSUPPORTED: not this shape. Both NULL elsewhere. What
     * was made adds the bias, too, before it rounds. */
    tdm_status (*prepare)(const tdmi_host_gemm *part, void **plan);
    void (*release)(void *plan);
    /* Around all parts of a product, on the thread that hands them out: a library whose number of threads
     * is one for the whole process is held to one in between. NULL where each thread has its own. */
    void (*begin)(void);
    void (*end)(void);
    /* The columns of a part are a multiple of this, but for the last ones; NULL: of 1. */
    int64_t (*step)(tdm_dtype dtype);
    /* Computes a part on the calling thread, and starts no other; of panels bias and activation, too. False: there was
     * not the memory for it. */
    bool (*product)(const tdmi_host_gemm *part, void *plan);
} tdmi_host_blas;

/* A product on the host's cores, cut into parts: each matrix of C into rectangles, of which those at the
 * ends are smaller. */
typedef struct tdmi_host_job {
    const tdmi_host_blas *blas;
    tdmi_host_gemm whole; /* of the first matrices */
    int64_t batch, a_stride, b_stride, c_stride;
    int64_t rows, cols; /* of a rectangle */
    bool widened;       /* 16-bit matrices, converted for a library that has f32 alone */
    int64_t parts_m, parts_n;
    uint32_t items; /* for the workers; each has some of the batch * parts_m * parts_n rectangles */
    tdmi_next next;
    void *plans[4]; /* for the rectangles inside, at the right, at the bottom and in the corner */
    atomic_bool failed;
} tdmi_host_job;

/* Where an operand's memory begins. */
typedef struct tdmi_host_operands {
    const void *a, *b, *bias;
    void *c;
} tdmi_host_operands;

/* Opens the library. When the process is ending it does not, and jobs run without it. */
tdm_status tdmi_host_blas_open(const tdmi_host_blas *blas) TDM_MUST_USE;

/* Prepares a product that is supported, after the library was opened. TDM_ERROR_UNSUPPORTED, as of a
 * provider. Then it is either run once, on any thread, and is done when that returns, or dropped. Running it
 * sets no message: it succeeds, or is TDM_ERROR_OUT_OF_MEMORY. */
tdm_status tdmi_host_job_init(tdmi_host_job *job, const tdmi_host_blas *blas, const tdmi_gemm *gemm,
                              const tdmi_host_operands *operands) TDM_MUST_USE;
tdm_status tdmi_host_job_run(tdmi_host_job *job) TDM_MUST_USE;
void tdmi_host_job_drop(tdmi_host_job *job);

/* Of the cpu backend, and NULL in a library that was built without it: runs a kernel of a CPU's variant
 * (kernel_list.h), one group on the calling thread, several on the workers, too. False: there was not the memory for
 * it. */
extern bool tdmi_cpu_run(const tdmi_variant *variant, uint32_t groups, void *const *buffers,
                         const void *args) __attribute__((weak));

/* Of a weight [n, k] in panels: k rounded up to whole units of 4 bytes. */
static inline int64_t tdmi_panel_depth(tdm_dtype dtype, int64_t k) {
    const int64_t unit = 4 / (int64_t)tdm_dtype_size(dtype);
    return (k + unit - 1) / unit * unit;
}

/* Of the cpu backend, too, and NULL without it (cpu/panels.c). How many columns a panel of weights of this dtype has,
 * or 0 where there is no kernel for them. Writes the weight [n, k], row by row, as panels: n, rounded up to whole
 * panels, times tdmi_panel_depth elements. Multiplies the first rows of a part of a product with such a B, as many as
 * are worth a turn through the panels, without its activation, and returns how many. */
extern int64_t tdmi_cpu_panel_cols(tdm_dtype dtype) __attribute__((weak));
extern void tdmi_cpu_panels_pack(tdm_dtype dtype, int64_t n, int64_t k, const void *weight,
                                 void *panels) __attribute__((weak));
extern int64_t tdmi_cpu_panels_product(const tdmi_host_gemm *part) __attribute__((weak));

#define TDMI_DECLARE(name) extern const tdmi_host_blas tdmi_host_blas_##name;
TDMI_HOST_BLAS_LIST(TDMI_DECLARE)
#undef TDMI_DECLARE

/* A provider of one of them, by a file's functions `attach` and `run`; its host_state begins with the library. */
#define TDMI_HOST_PROVIDER(name)                                                                   \
    static tdm_status attach_##name(tdmi_bdevice *device, tdmi_bqueue *queue, void *state) {       \
        return attach(&tdmi_host_blas_##name, device, queue, state);                               \
    }                                                                                              \
    static const tdmi_blas provider_##name = {.id = TDMI_BLAS_##name,                              \
                                              .state_size = sizeof(host_state),                    \
                                              .attach = attach_##name,                             \
                                              .supports = tdmi_host_provider_supports,             \
                                              .gemm = run,                                         \
                                              .library = tdmi_host_provider_library};
tdmi_blas_support tdmi_host_provider_supports(void *state, const tdmi_gemm *gemm);
const tdmi_library *tdmi_host_provider_library(const void *state);

/* Do f32 products of the host's libraries use AVX-512? oneDNN is asked, which may be set not to
 * (ONEDNN_MAX_CPU_ISA) and is opened for it; without it, whether the processor has AVX-512. */
bool tdmi_host_has_avx512(void);

/* Adds the diagnostic items of all of them. */
void tdmi_host_blas_diagnose(void);

/* The operands that a provider tries its settings with. */
typedef struct tdmi_trial {
    /* Runs the product and says how long it takes; below 0 when it fails or its result is wrong. */
    double (*seconds)(void *context);
    bool (*time_is_up)(void *context);
    /* Keeps a text of `settings`, at once: a driver may not survive what is tried next. */
    void (*keep)(void *context, const char *name, const char *text);
    void *context;
} tdmi_trial;

/* A BLAS provider of a backend. Its state belongs to one queue: the core allocates state_size
 * zeroed bytes at the first product and calls attach; detach, if any, before the queue goes. */
typedef struct tdmi_blas {
    tdmi_blas_id id; /* a device's list has each once */
    size_t state_size;
    /* Opens the library. TDM_ERROR_UNAVAILABLE: the next provider is tried. */
    tdm_status (*attach)(tdmi_bdevice *device, tdmi_bqueue *queue, void *state);
    void (*detach)(void *state);
    /* Can this product, epilogue included, be run? When not, the core asks again without the
     * epilogue, then asks the next provider. */
    tdmi_blas_support (*supports)(void *state, const tdmi_gemm *gemm);
    /* TDM_ERROR_UNSUPPORTED: nothing of it was run, and another provider is to. */
    tdm_status (*gemm)(void *state, const tdmi_gemm *gemm);
    bool has_tensor_cores; /* the library uses them wherever it can */
    /* The library that attach opened. */
    const tdmi_library *(*library)(const void *state);
    /* How many algorithms there are for a product that is supported, from which tdmi_gemm.algorithm
     * chooses; NULL: one. */
    int (*algorithms)(void *state, const tdmi_gemm *gemm);
    /* Of a library whose kernels have settings for a device; else all three are NULL. settings: the names of
     * the texts in which they are kept, NULL-terminated. configure takes such a text, or NULL where none is
     * kept, before the first product: the first text of a process counts. search tries settings of the
     * kernel that runs this product, unless it has come to its end before, keeps the fastest and leaves them
     * in use. */
    const char *const *settings;
    void (*configure)(void *state, const char *name, const char *text);
    void (*search)(void *state, const tdmi_gemm *gemm, const tdmi_trial *trial);
} tdmi_blas;

typedef struct tdmi_backend {
    const char *name;
    tdm_backend id;
    size_t device_size, queue_size, event_size, program_size, kernel_size;

    /* Discovery: makes no context. load opens the runtime library and finds the devices; called
     * first, by one thread at a time. A missing library or driver is TDM_ERROR_UNAVAILABLE; broken
     * platforms and refused devices are reported with tdmi_diagnose and skipped. *again: something
     * failed by accident, so that not all is known; load is then called again by the next call that
     * wants the list. Devices that have been counted keep their index, new ones come after them.
     * TDM_ERROR_OUT_OF_MEMORY ends the listing; after any other failure the other backends are
     * listed all the same. */
    tdm_status (*load)(bool *again);
    size_t (*count)(void);
    tdm_status (*info)(size_t index, tdmi_device_facts *facts);
    /* Adds a diagnostic item for every library of the backend, BLAS included, opening them. */
    void (*diagnose)(void);

    /* Devices: here the context is made. */
    tdm_status (*device_init)(tdmi_bdevice *device, size_t index);
    void (*device_deinit)(tdmi_bdevice *device);
    uint64_t (*device_free_memory)(tdmi_bdevice *device); /* bytes, or TDM_UNKNOWN */

    /* Memory. host_alloc: page-aligned host memory, pinned if possible; mem->host is its address.
     */
    tdm_status (*mem_alloc)(tdmi_bdevice *device, size_t size, tdmi_mem *mem);
    void (*mem_free)(tdmi_bdevice *device, tdmi_mem *mem);
    tdm_status (*host_alloc)(tdmi_bdevice *device, size_t size, tdmi_mem *mem);
    void (*host_free)(tdmi_bdevice *device, tdmi_mem *mem);

    /* Memory that the program owns, used like that of mem_alloc. `handle` is what tdmi_mem.handle would be. mem_adopt
     * takes a reference where the driver counts them, which mem_disown gives back; that is all that we ever do
     * to its life. It fails, in words that begin with "memory", for what is not at least `size` bytes of this
     * device that begin at a multiple of 16. Where handles are addresses, the core has checked alignment and range.
     * *read_only: kernels must not write there. */
    bool adopts_addresses;
    tdm_status (*mem_adopt)(tdmi_bdevice *device, void *handle, size_t size, tdmi_mem *mem,
                            bool *read_only);
    void (*mem_disown)(tdmi_bdevice *device, tdmi_mem *mem);

    /* The driver's own objects, for programs that call the driver themselves; all NULL where there is no
     * driver. The handles stay ours. queue_wait_handle: later work of the queue runs after an event of
     * the program's; fails in words that begin with "event". queue_record_handle: marks this point of the queue by an
     * event that is the program's: OpenCL's is made here, CUDA's is given in *event. */
    void (*device_handles)(const tdmi_bdevice *device, void **context, void **id);
    void *(*queue_handle)(const tdmi_bqueue *queue);
    tdm_status (*queue_wait_handle)(tdmi_bqueue *queue, void *event);
    tdm_status (*queue_record_handle)(tdmi_bqueue *queue, void **event);

    /* The same the other way round: device_init in a context of the program's, and queue_init over a queue of its,
     * which deinit then leaves as they were. device_find: the index of a device by the driver's name for it. Both are
     * NULL where a device has one context for all. They fail in words that begin with "context" and "queue". *flags are
     * those of tdm_queue_create; OpenCL's are found out. */
    bool (*device_find)(const void *id, size_t *index);
    tdm_status (*device_adopt)(tdmi_bdevice *device, size_t index, void *context);
    tdm_status (*queue_adopt)(tdmi_bdevice *device, void *handle, unsigned *flags,
                              tdmi_bqueue *queue);

    /* In-order queues. All asynchronous as far as the backend can; finish reports what failed, of
     * the work or of the wait; drain fails only when it is unknown whether the work is over, or where
     * loss_ends_work says that a device that drain finds lost runs nothing any more. */
    bool loss_ends_work;
    tdm_status (*queue_init)(tdmi_bdevice *device, unsigned flags, tdmi_bqueue *queue);
    void (*queue_deinit)(tdmi_bqueue *queue);
    tdm_status (*queue_flush)(tdmi_bqueue *queue);
    tdm_status (*queue_finish)(tdmi_bqueue *queue);
    tdm_status (*queue_drain)(tdmi_bqueue *queue);
    tdm_status (*write)(tdmi_bqueue *queue, const tdmi_mem *mem, size_t offset, const void *source,
                        size_t size);
    tdm_status (*read)(tdmi_bqueue *queue, const tdmi_mem *mem, size_t offset, void *destination,
                       size_t size);
    tdm_status (*copy)(tdmi_bqueue *queue, const tdmi_mem *source, size_t source_offset,
                       const tdmi_mem *destination, size_t destination_offset, size_t size);
    /* To another device of this backend; the queue is of the source's. NULL: there is no such copy,
     * and the core goes through host memory. */
    tdm_status (*copy_peer)(tdmi_bqueue *queue, const tdmi_mem *source, size_t source_offset,
                            tdmi_bdevice *other, const tdmi_mem *destination,
                            size_t destination_offset, size_t size);
    tdm_status (*fill)(tdmi_bqueue *queue, const tdmi_mem *mem, size_t offset, size_t size,
                       const void *pattern, size_t pattern_size);
    /* map: *pointer valid once the queue is past it. Backends that cannot map leave both NULL; the
     * core then stages through host_alloc. */
    tdm_status (*map)(tdmi_bqueue *queue, const tdmi_mem *mem, size_t offset, size_t size,
                      unsigned access, void **pointer);
    tdm_status (*unmap)(tdmi_bqueue *queue, const tdmi_mem *mem, void *pointer);

    /* For libraries that are given addresses of the device's memory (mem.handle): makes the device the thread's current
     * one, until `leave` gets the value of *entered. NULL: its memory has no addresses. */
    tdm_status (*enter)(const tdmi_bdevice *device, bool *entered);
    void (*leave)(bool entered);

    /* Events. Recording twice replaces, also while other threads wait for the event or query it:
     * those have the recording that they found. elapsed: both have been waited for. */
    tdm_status (*event_init)(tdmi_bdevice *device, tdmi_bevent *event);
    void (*event_deinit)(tdmi_bevent *event);
    tdm_status (*event_record)(tdmi_bevent *event, tdmi_bqueue *queue);
    tdm_status (*event_wait)(tdmi_bevent *event);
    tdm_status (*event_query)(tdmi_bevent *event, bool *done);
    tdm_status (*event_elapsed)(tdmi_bevent *start, tdmi_bevent *end, double *seconds);
    /* The event is of the same device or, where orders_devices says so, of another of this backend's; else
     * the core waits on the host. */
    tdm_status (*queue_wait_event)(tdmi_bqueue *queue, tdmi_bevent *event);
    bool orders_devices;

    /* Programs and kernels. program_build: from `binary` when not NULL (TDM_ERROR_COMPILE when it
     * does not fit: the core builds from source then), else from source; *result, when result is
     * not NULL, receives the binary to keep (data NULL when there is none). TDM_ERROR_UNSUPPORTED:
     * the device runs this kernel with fewer lanes only, and the core asks for half as many;
     * *result may be set then, too. A kernel belongs to one queue, so its arguments need no lock.
     */
    tdm_status (*program_build)(tdmi_bdevice *device, const tdmi_program_source *source,
                                const tdmi_blob *binary, tdmi_bprogram *program, tdmi_blob *result);
    void (*program_deinit)(tdmi_bprogram *program);
    /* Where only users' kernels are compiled, each once for all of the variant's op, stream and vectors: all that the
     * result depends on apart from the source, in the place of the facts' cache_key; "" where there is no compiler, and
     * then those with blocks run in these. So do those that do not compile. NULL elsewhere. */
    const char *(*compiler)(void);
    /* Compiles a source for devices of the usual kind, none of which has to be there, and keeps nothing; NULL where a
     * device is needed. */
    tdm_status (*source_check)(const tdmi_program_source *source);
    tdm_status (*kernel_init)(tdmi_bprogram *program, tdmi_bqueue *queue, tdmi_bkernel *kernel);
    void (*kernel_deinit)(tdmi_bkernel *kernel);
    tdm_status (*launch)(tdmi_bqueue *queue, tdmi_bkernel *kernel, const tdmi_launch *launch);

    /* Graphs of the driver's; all NULL where it has none. Between capture_begin and capture_end the driver
     * keeps what the queue is given, which is launches, products, fills and copies, and runs nothing; products
     * may then be called from this queue alone. capture_end puts that in place of what the capture had, which
     * was zeroed at first; with NULL it forgets it. TDM_ERROR_UNSUPPORTED: this driver has no graphs. */
    size_t capture_size;
    tdm_status (*capture_begin)(tdmi_bqueue *queue);
    tdm_status (*capture_end)(tdmi_bqueue *queue, tdmi_bcapture *capture);
    tdm_status (*capture_run)(tdmi_bqueue *queue, tdmi_bcapture *capture);
    void (*capture_deinit)(tdmi_bcapture *capture);

    /* BLAS providers of a device in order of preference, NULL-terminated. */
    const tdmi_blas *const *(*blas)(tdmi_bdevice *device);
} tdmi_backend;

/* A backend names its functions after the members of the table: tdmi_cuda_load. These all have; it lists its own as
 * well, and both lists declare the functions and fill in the table. */
/* clang-format off */
#define TDMI_BACKEND_TABLE(X, b)                                                                   \
    X(b, load) X(b, count) X(b, info) X(b, diagnose)                                               \
    X(b, device_init) X(b, device_deinit) X(b, device_free_memory)                                 \
    X(b, mem_alloc) X(b, mem_free) X(b, mem_adopt) X(b, write) X(b, read) X(b, copy) X(b, fill)    \
    X(b, queue_init) X(b, queue_deinit)                                                            \
    X(b, event_init) X(b, event_deinit) X(b, event_record) X(b, event_wait)                        \
    X(b, event_query) X(b, event_elapsed) X(b, queue_wait_event)                                   \
    X(b, program_build) X(b, program_deinit) X(b, kernel_init) X(b, kernel_deinit)                 \
    X(b, launch)
/* clang-format on */
#define TDMI_BACKEND_DECLARE(backend, name)                                                        \
    __typeof__(*((const tdmi_backend *)0)->name) backend##_##name;
#define TDMI_BACKEND_NAME(backend, name) .name = backend##_##name,
#define TDMI_BACKEND_SIZES                                                                         \
    .device_size = sizeof(tdmi_bdevice), .queue_size = sizeof(tdmi_bqueue),                        \
    .event_size = sizeof(tdmi_bevent), .program_size = sizeof(tdmi_bprogram),                      \
    .kernel_size = sizeof(tdmi_bkernel)

/* A device in the list of all. */
typedef struct tdmi_listed_device {
    const tdmi_backend *backend;
    size_t index; /* inside the backend */
    tdmi_device_facts facts;
} tdmi_listed_device;

/* Adds an item to the diagnostics; the three texts are copied. Any thread. */
void tdmi_diagnose(tdm_diagnostic_kind kind, bool ok, const char *subject, const char *detail,
                   const char *advice);

/* The same for an optional thing that is not installed: not ok, and nothing is broken. */
void tdmi_diagnose_missing(tdm_diagnostic_kind kind, const char *subject, const char *detail,
                           const char *advice);

/* Replaces every byte by '?' that is a control character or part of one, or no UTF-8: what drivers,
 * files and variables call themselves goes to terminals and into JSON. `lines`: newlines stay. */
void tdmi_clean_text(char *text, bool lines);

/* TANDEM_CPU_DEVICES, 1 when unset. Backends read no TANDEM_… variable themselves. */
int tdmi_env_cpu_devices(void);

#endif

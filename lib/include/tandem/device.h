/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/** @file
 * Devices: listing them (which opens nothing), choosing one, opening it.
 *
 * Names: "cpu" (= "cpu:0"), "cpu:1", "cuda:0", "opencl:2", "gpu:0" (the first physical GPU, through
 * the first backend of the selection that lists it), "cuda:uuid=GPU-…", "opencl:pci=0000:3b:00.0".
 * A UUID is also known by its digits alone.
 *
 * Devices of two backends are the same card when their UUIDs are equal or, where one of them has
 * none, their PCI addresses, unless a driver lists several devices at that address (slices of a
 * card). A slice made by NVIDIA's MIG is a separate device, and its UUID begins with "MIG-".
 *
 * Environment, read once at the first call. tdm_configure (setup.h) sets the same by call and takes
 * precedence over it, as a call that names a device does over TANDEM_DEVICE:
 *   TANDEM_BACKEND      an ordered list, e.g. "cuda,opencl,cpu": which backends are used, and in which
 *                       order the default device is looked for; or "auto" (default): every backend, and
 *                       the default is the first GPU through cuda, then through opencl, else cpu
 *   TANDEM_DEVICE       the name of the default device
 *   TANDEM_CPU_DEVICES  how many devices the cpu backend lists (1..64, default 1)
 *   TANDEM_CPU_THREADS  how many threads the cpu backend, and products on the host's cores, use
 *                       (default: the cores that the process may run on; fewer where its control group,
 *                       such as a container, has a CPU quota of fewer, rounded up)
 *   TANDEM_CPU_COMPILER the C compiler of a program's own kernels on cpu devices: an absolute path, or
 *                       "none" (default: cc, gcc or clang in PATH). Without one expressions run
 *                       all the same, and tdm_kernel_source is TDM_ERROR_UNSUPPORTED
 *   TANDEM_BLAS         the BLAS providers to use, one or an ordered list: onednn, openblas, mkl, blis,
 *                       cblas (one of the three before it, or the system's own), panels (weights that
 *                       tdm_pack_weight packs; without it none are), clblast, cublas, builtin.
 *                       Products that they do not support, by their dtype for example, go to the others that the
 *                       device has (see tdm_matmul_provider). A product is TDM_ERROR_UNSUPPORTED
 *                       on a device that has none of them, and TDM_ERROR_UNAVAILABLE where none of
 *                       them is installed
 *   TANDEM_MATH         "ieee" (default) or "tf32": allow TF32 in f32 matmul
 *   TANDEM_CACHE_DIR    where compiled kernels are kept, and each process lists its memory: an
 *                       absolute path, of this user's and writable by no other; when it is not
 *                       set, $XDG_CACHE_HOME/tandem, else ~/.cache/tandem
 *   TANDEM_LIBRARY_PATH folders (absolute paths, ':' between, on Windows ';') searched first for vendors' libraries
 *   TANDEM_NCCL_LIBRARY the file of NCCL, an absolute path (default: libnccl.so.2; see nccl.h)
 *   TANDEM_TRACE        a file to which the program's matrix products are appended, each once in a process
 *   TANDEM_LOG          "error", "warn", "info" or "debug": lines of the log up to that level go to stderr,
 *                       or with ":" and a file's path after it are appended to that, unless the program has
 *                       called tdm_set_log
 *   TANDEM_PROFILE      a file for a trace of the run in Chrome's format; "%p" in its path is the number of
 *                       the process
 *   TANDEM_VERIFY       the share of the calls, such as 1 or 0.01, that are made once more on cpu in f64 and compared
 *                       within the bounds of the headers. A wrong result is TDM_ERROR_BACKEND, and a line of the
 *                       log, which goes to stderr unless TANDEM_LOG says otherwise; the operands of the call are
 *                       saved in the working directory or, with ":" and a folder after the share, there (docs/log.md)
 * A value that is not allowed is TDM_ERROR_ENVIRONMENT, and so is a variable whose name is nearly one
 * of these. Other variables that begin with TANDEM_ are other programs' (Kubernetes sets
 * TANDEM_SERVICE_HOST for a service called tandem) and are ignored; the diagnostics list them.
 *
 * A program with more rights than its caller (setuid, setgid, file capabilities; AT_SECURE) ignores
 * what names files: TANDEM_CPU_COMPILER, TANDEM_CACHE_DIR, TANDEM_LIBRARY_PATH,
 * TANDEM_NCCL_LIBRARY, TANDEM_TRACE, TANDEM_LOG, TANDEM_PROFILE, TANDEM_VERIFY, XDG_CACHE_HOME and HOME. It keeps
 * nothing, starts no compiler and opens no libraries, since drivers read their own variables: only cpu devices are
 * listed.
 *
 * Threads: every function here may be called from any thread. */
#ifndef TANDEM_DEVICE_H
#define TANDEM_DEVICE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <tandem/status.h>

#if defined(__cplusplus)
extern "C" {
#endif

/** The one list of backends: X(NAME, name, value), in the order in which "auto" lists devices. The values are
 * DLPack's DLDeviceType. A build may leave backends out. */
#define TDM_BACKEND_LIST(X)                                                                        \
    X(CUDA, "cuda", 2)                                                                             \
    X(OPENCL, "opencl", 4)                                                                         \
    X(CPU, "cpu", 1)

/** The API that a device is reached through: TDM_ and a name of the list. */
typedef enum tdm_backend {
#define TDM_BACKEND_ENUM(NAME, name, value) TDM_##NAME = value,
    TDM_BACKEND_LIST(TDM_BACKEND_ENUM)
#undef TDM_BACKEND_ENUM
} tdm_backend;

/** How many backends the list has. */
enum {
#define TDM_BACKEND_COUNT_ENUM(NAME, name, value) +1
    TDM_BACKEND_COUNT = 0 TDM_BACKEND_LIST(TDM_BACKEND_COUNT_ENUM)
#undef TDM_BACKEND_COUNT_ENUM
};

/** The kind of a device, whatever API it is reached through. */
typedef enum tdm_device_type {
    TDM_DEVICE_CPU = 1,
    TDM_DEVICE_GPU = 2,
    TDM_DEVICE_ACCELERATOR = 3
} tdm_device_type;

/** A quantity that the driver does not report. Never confused with 0. */
#define TDM_UNKNOWN UINT64_MAX

/** Facts about a device that are known without opening it. Texts are UTF-8 without control characters. */
typedef struct tdm_device_info {
    char id[32];             /**< canonical name: "cpu:0", "opencl:1" */
    char name[128];          /**< the vendor's name of the device */
    char vendor[64];         /**< e.g. "NVIDIA Corporation" */
    char api_version[128];   /**< e.g. "OpenCL 3.0 PoCL HSTR: …", "CUDA 13.0" */
    char driver_version[64]; /**< "" when unknown */
    char platform[64];       /**< OpenCL platform; "" otherwise */
    char uuid[48];           /**< "GPU-8e2a…" form; "" when unknown */
    char pci[16];            /**< "domain:bus:device.function" in hex; "" when unknown */
    char same_as[32];        /**< id of another listed device that is the same card; "" if none */
    tdm_backend backend;     /**< the API it is reached through */
    tdm_device_type type;    /**< the kind of device */
    int index;               /**< index inside its backend */
    int compute_units;       /**< cores, compute units or multiprocessors */
    int compute_capability;  /**< NVIDIA: 10 * major + minor; else 0 */
    uint64_t memory_total;   /**< bytes */
    uint64_t memory_free; /**< bytes at listing time; TDM_UNKNOWN when only a context could tell */
    uint64_t max_allocation; /**< bytes in one buffer */
    uint64_t max_group_size; /**< lanes in one work-group */
    bool has_f64;            /**< f64 arithmetic (storage always works) */
    bool has_f16;            /**< f16 arithmetic (storage always works) */
    bool unified_memory;     /**< host and device share memory */
} tdm_device_info;

/** How many devices are listed, in the deterministic order of the selection's backends: within
 * OpenCL GPUs, accelerators, CPUs, then by platform and PCI address. Makes no context. Fails only
 * for a bad environment (TDM_ERROR_ENVIRONMENT), after a fork, or when host memory is short; a
 * missing driver is no failure. Where a driver failed to answer, every later call that lists, finds or
 * opens queries it again: a device keeps its index, and one that is found later comes after the others. */
TDM_API TDM_MUST_USE tdm_status tdm_get_device_count(size_t *count);

/** Facts of the index-th listed device. *info is borrowed from the library and stays valid and
 * unchanged until the process ends. TDM_ERROR_OUT_OF_RANGE past the end. */
TDM_API TDM_MUST_USE tdm_status tdm_get_listed_device(size_t index, const tdm_device_info **info);

/** Resolves a device name (NULL: the default device) to an index for tdm_get_listed_device, without
 * opening it. TDM_ERROR_NOT_FOUND names the nearest valid name. */
TDM_API TDM_MUST_USE tdm_status tdm_find_device(const char *name, size_t *index);

/** How many devices of one backend are listed. TDM_ERROR_INVALID_ARGUMENT for a number that is no
 * backend; 0 for one that is not built in, left out by TANDEM_BACKEND or without devices. */
TDM_API TDM_MUST_USE tdm_status tdm_get_backend_device_count(tdm_backend backend, size_t *count);

/** How many physical GPUs are listed: a card that two backends list counts once. "gpu:0" to
 * "gpu:count-1" name them. */
TDM_API TDM_MUST_USE tdm_status tdm_get_gpu_count(size_t *count);

/** An open device. Counted: tdm_device_retain and tdm_device_release. */
typedef struct tdm_device tdm_device;

/** Opens a device (NULL: the default one). Opening a device twice gives the same object, one more
 * reference. *device is NULL on failure. Release it with tdm_device_release. */
TDM_API TDM_MUST_USE tdm_status tdm_device_open(const char *name, tdm_device **device);

/** Opens the index-th physical GPU ("gpu:<index>") or, when there are not that many, "cpu". A GPU
 * that is listed but cannot be opened is an error, never a silent fall-back. */
TDM_API TDM_MUST_USE tdm_status tdm_device_try_gpu(size_t index, tdm_device **device);

/** Opens all physical GPUs, in the order of "gpu:0", "gpu:1" …, or "cpu" alone when there is none.
 * `devices` has room for `capacity`; TDM_ERROR_OUT_OF_RANGE when that is too few (tdm_get_gpu_count
 * returns it, and 1 is always enough without GPUs). On failure nothing stays open and *count is 0. The
 * caller releases each. */
TDM_API TDM_MUST_USE tdm_status tdm_device_try_all_gpus(size_t capacity, tdm_device **devices,
                                                        size_t *count);

/** One more reference; returns its argument. NULL is allowed. */
TDM_API tdm_device *tdm_device_retain(tdm_device *device);

/** One reference less; the last one frees the device and its memory pool. Buffers and queues hold a
 * reference to it. NULL is allowed. */
TDM_API void tdm_device_release(tdm_device *device);

/** Facts of an open device; borrowed, valid until the process ends. */
TDM_API const tdm_device_info *tdm_device_get_info(const tdm_device *device);

/** The memory in a device's pool. */
typedef struct tdm_memory_stats {
    size_t size;          /**< sizeof(tdm_memory_stats): see status.h */
    uint64_t in_use;      /**< bytes in living buffers, as requested */
    uint64_t peak;        /**< the largest in_use so far */
    uint64_t cached;      /**< bytes kept by the pool for reuse */
    uint64_t reserved;    /**< bytes taken from the driver: in use (rounded up) + cached */
    uint64_t allocations; /**< calls to the driver's allocator so far */
    uint64_t device_free; /**< bytes free on the device now; TDM_UNKNOWN when not reported */
} tdm_memory_stats;

/** Sets the size: tdm_memory_stats s = TDM_MEMORY_STATS_DEFAULTS; */
#define TDM_MEMORY_STATS_DEFAULTS                                                                  \
    { sizeof(tdm_memory_stats), 0, 0, 0, 0, 0, 0 }

/** The same for languages without C's macros: writes the first `size` bytes, which are the struct's
 * size in the caller's language. */
TDM_API void tdm_memory_stats_init(tdm_memory_stats *stats, size_t size);

/** How much memory the device's pool holds, and how much of it is in use. Before the call:
 * tdm_memory_stats s = TDM_MEMORY_STATS_DEFAULTS; */
TDM_API TDM_MUST_USE tdm_status tdm_device_get_memory_stats(tdm_device *device,
                                                            tdm_memory_stats *stats);

/** Gives the pool's cached memory, and pinned host memory that was freed, back to the driver. Waits for
 * queues whose work may still use it. */
TDM_API TDM_MUST_USE tdm_status tdm_device_trim(tdm_device *device);

/** A process that uses a device. Its layout is frozen. */
typedef struct tdm_process {
    uint64_t pid;    /**< the process number */
    uint64_t memory; /**< bytes of device memory, as the driver says; TDM_UNKNOWN */
    uint64_t
        tandem_reserved; /**< bytes that Tandem holds for it there; TDM_UNKNOWN: not Tandem's */
    char name[64];       /**< of its program; "" when unknown */
} tdm_process;

enum { TDM_MAX_PROCESSES = 32 };

/** The load of a listed device at this moment. Numbers that no driver reports are TDM_UNKNOWN. */
typedef struct tdm_device_usage {
    size_t size;           /**< sizeof(tdm_device_usage): see status.h */
    uint64_t memory_used;  /**< bytes; of a cpu, or an OpenCL CPU, the machine's memory */
    uint64_t memory_total; /**< bytes */
    uint64_t
        tandem_reserved;  /**< bytes taken from the driver by all processes of this user that have
                                 opened the device through Tandem; 0 when none has */
    uint64_t utilization; /**< percent of the last sampling period in which it was busy */
    uint64_t temperature; /**< degrees Celsius */
    uint64_t power;       /**< milliwatts drawn */
    uint64_t power_limit; /**< milliwatts */
    size_t process_count; /**< at most TDM_MAX_PROCESSES are listed */
    tdm_process processes[TDM_MAX_PROCESSES]; /**< by pid */
} tdm_device_usage;

/** Sets the size: tdm_device_usage u = TDM_DEVICE_USAGE_DEFAULTS; */
/* clang-format off */
#define TDM_DEVICE_USAGE_DEFAULTS                                                                  \
    { sizeof(tdm_device_usage), 0, 0, 0, 0, 0, 0, 0, 0, {{0, 0, 0, {0}}} }
/* clang-format on */

/** The same for languages without C's macros; see tdm_memory_stats_init. */
TDM_API void tdm_device_usage_init(tdm_device_usage *usage, size_t size);

/** Reports the load of the index-th listed device. Opens nothing and makes no context: NVIDIA's cards
 * are asked through NVML, whatever API they are listed by; the machine's memory comes from the
 * system; the memory that Tandem holds, from the processes themselves. A source that is missing leaves its
 * numbers unknown and is no failure. Before the call: tdm_device_usage u =
 * TDM_DEVICE_USAGE_DEFAULTS; */
TDM_API TDM_MUST_USE tdm_status tdm_get_listed_device_usage(size_t index, tdm_device_usage *usage);

/** The subject of a diagnostic: something that was looked for at start-up, found or not, as `tdm doctor` shows it. */
typedef enum tdm_diagnostic_kind {
    TDM_DIAGNOSTIC_VARIABLE, /**< an environment variable that is set; the cache folder */
    TDM_DIAGNOSTIC_LIBRARY,  /**< a shared library; the C compiler of cpu */
    TDM_DIAGNOSTIC_DRIVER,   /**< an OpenCL ICD or platform, the CUDA driver */
    TDM_DIAGNOSTIC_DEVICE,   /**< a device that was listed or refused */
    TDM_DIAGNOSTIC_SELECTION /**< how the default device was decided */
} tdm_diagnostic_kind;

/** One thing that was looked for. */
typedef struct tdm_diagnostic {
    tdm_diagnostic_kind kind; /**< of its subject */
    bool ok;                  /**< found, and of use */
    const char *subject;      /**< e.g. "libclblast.so.1" */
    const char *detail; /**< where it was found, or where it was looked for and why it failed */
    const char *advice; /**< the package or setting that helps; "" when nothing is wrong */
    bool missing;       /**< not ok because it is optional and not installed: nothing is broken */
} tdm_diagnostic;

/** Looks for every library of every backend and reports, in UTF-8 without control characters but
 * newlines. Works with a bad environment too: that is then one of the items. Writes a small file to the cache
 * folder, and removes it. */
TDM_API TDM_MUST_USE tdm_status tdm_get_diagnostic_count(size_t *count);

/** The index-th item, in the order in which things are looked for. *item is borrowed from the
 * library and valid until the process ends. TDM_ERROR_OUT_OF_RANGE past the end. */
TDM_API TDM_MUST_USE tdm_status tdm_get_diagnostic(size_t index, const tdm_diagnostic **item);

/** "cpu", "cuda" …; "unknown" for any other number. Static storage. */
TDM_API const char *tdm_backend_name(tdm_backend backend);

#if defined(__cplusplus)
}
#endif
#endif

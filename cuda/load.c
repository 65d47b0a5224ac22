/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* Opening CUDA's libraries at run time: the runtime of the newest version that is found, and the
 * others of its major version. */
#include "cuda_backend.h"
#include "platform/library.h"
#include "platform/path.h"
#include "system_names.h"

#include <stdio.h>
#include <string.h>

#include <tandem/setup.h>

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static const struct {
    int major;
    const char *nvrtc, *cublaslt, *cublas;
} versions[] = {
#define VERSION(major, cudart, nvrtc, cublaslt, cublas) {major, nvrtc, cublaslt, cublas},
    TDMI_CUDA_VERSIONS(VERSION)};

static const char *const directories[] = {TDMI_CUDA_FOLDERS, NULL};

#define RUNTIME_ADVICE                                                                             \
    "install the run-time libraries of CUDA 11.8, 12 or 13, or name their directory in "           \
    "TANDEM_LIBRARY_PATH"

static const char *const cudart_names[] = {
#define RUNTIME_NAME(major, cudart, nvrtc, cublaslt, cublas) cudart,
    TDMI_CUDA_VERSIONS(RUNTIME_NAME) NULL};
static tdmi_library cudart_library = {.title = "the CUDA runtime",
                                      .names = cudart_names,
                                      .paths = directories,
                                      .advice = RUNTIME_ADVICE};

/* Facts about the runtime, known when it was found. */
static tdmi_mutex runtime_lock = TDMI_MUTEX_INIT;
static atomic_int runtime_major; /* 0 before; then the rest is constant */
static const char *nvrtc_names[2], *cublaslt_names[2], *cublas_names[2];
static char advice[160];

static void remember_major(int major) {
    for (size_t i = 0; i < COUNT(versions); i++) {
        if (versions[i].major != major) continue;
        cudart_library.names = cudart_names + i;
        nvrtc_names[0] = versions[i].nvrtc;
        cublaslt_names[0] = versions[i].cublaslt;
        cublas_names[0] = versions[i].cublas;
    }
    snprintf(advice, sizeof advice,
             "install the CUDA %d toolkit's run-time libraries, or name their directory in "
             "TANDEM_LIBRARY_PATH",
             major);
    atomic_store(&runtime_major, major);
}

#define LIBRARY(library, text)                                                                     \
    static tdmi_library library##_library = {                                                      \
        .title = text, .names = library##_names, .paths = directories, .advice = advice};
LIBRARY(nvrtc, "NVIDIA's run-time compiler NVRTC")
LIBRARY(cublaslt, "NVIDIA's cuBLASLt")
LIBRARY(cublas, "NVIDIA's cuBLAS")

/* The runtime opens the driver's library by this name. */
static const char *const cudrv_names[] = {TDMI_NAMES_CUDA_DRIVER, NULL};
static tdmi_library cudrv_library = {.title = "the NVIDIA driver",
                                     .names = cudrv_names,
                                     .advice = "update the NVIDIA driver",
                                     .shared = true};

#define SYMBOL(table, name, newer) {#name, (void (**)(void)) & table.name, newer},
#define CUDART_SYMBOL(name) SYMBOL(tdmi_cudart, name, false)
#define CUDRV_SYMBOL(name) SYMBOL(tdmi_cudrv, name, false)
#define CUDRV_NEWER_SYMBOL(name) SYMBOL(tdmi_cudrv, name, true)
#define NVRTC_SYMBOL(name) SYMBOL(tdmi_nvrtc, name, false)
#define CUBLASLT_SYMBOL(name) SYMBOL(tdmi_cublaslt, name, false)
#define CUBLAS_SYMBOL(name) SYMBOL(tdmi_cublas, name, false)
#define CUBLAS_NEWER_SYMBOL(name) SYMBOL(tdmi_cublas, name, true)

static const tdmi_symbol cudart_symbols[] = {TDMI_CUDART_LIST(CUDART_SYMBOL)};
static const tdmi_symbol cudrv_symbols[] = {TDMI_CUDRV_LIST(CUDRV_SYMBOL)
                                                TDMI_CUDRV_NEWER_LIST(CUDRV_NEWER_SYMBOL)};
static const tdmi_symbol nvrtc_symbols[] = {TDMI_NVRTC_LIST(NVRTC_SYMBOL)};
static const tdmi_symbol cublaslt_symbols[] = {TDMI_CUBLASLT_LIST(CUBLASLT_SYMBOL)};
static const tdmi_symbol cublas_symbols[] = {TDMI_CUBLAS_LIST(CUBLAS_SYMBOL)
                                                 TDMI_CUBLAS_NEWER_LIST(CUBLAS_NEWER_SYMBOL)};

/* A file may carry any name, so the library itself reports its version. */
tdm_status tdmi_cudart_open(void) {
    if (atomic_load(&runtime_major)) return TDM_OK;
    TDMI_TRY(tdmi_library_open(&cudart_library, cudart_symbols, COUNT(cudart_symbols)));
    int version = 0;
    cudaError_t error;
    TDMI_CUDA_TWICE(error, tdmi_cudart.cudaRuntimeGetVersion(&version));
    if (!tdmi_cuda_succeeds(error))
        return tdmi_fail(TDM_ERROR_BACKEND, "%s at %s does not report its version (error %d)",
                         cudart_library.title, cudart_library.found, (int)error);
    if (version < TDMI_CUDA_OLDEST || version > TDMI_CUDA_NEWEST)
        return tdmi_fail(TDM_ERROR_UNAVAILABLE,
                         "%s at %s is of CUDA %d.%d; Tandem needs CUDA 11.8, 12 or 13: install "
                         "one of them, and set TANDEM_LIBRARY_PATH so that it is found first",
                         cudart_library.title, cudart_library.found, version / 1000,
                         version % 1000 / 10);
    TDMI_LOCKED(&runtime_lock);
    if (!atomic_load(&runtime_major)) remember_major(version / 1000);
    return TDM_OK;
}

/* Opens what belongs to the runtime. */
static tdm_status open_other(tdmi_library *library, const tdmi_symbol *symbols, size_t count) {
    TDMI_TRY(tdmi_cudart_open());
    return tdmi_library_open(library, symbols, count);
}

static tdm_status check_major(const tdmi_library *library, int found) {
    int needed = atomic_load(&runtime_major);
    if (found == needed) return TDM_OK;
    return tdmi_fail(TDM_ERROR_UNAVAILABLE,
                     "%s at %s is of major version %d; the CUDA runtime at %s needs %d: %s",
                     library->title, library->found, found, cudart_library.found, needed, advice);
}

void tdmi_nvrtc_version(int *major, int *minor) {
    *major = *minor = 0;
    if (tdmi_nvrtc.nvrtcVersion(major, minor) == NVRTC_SUCCESS) return;
    if (tdmi_nvrtc.nvrtcVersion(major, minor) != NVRTC_SUCCESS) *major = *minor = 0;
}

tdm_status tdmi_nvrtc_open(void) {
    TDMI_TRY(open_other(&nvrtc_library, nvrtc_symbols, COUNT(nvrtc_symbols)));
    int major, minor;
    tdmi_nvrtc_version(&major, &minor);
    return check_major(&nvrtc_library, major);
}

static void open_builtins(void) {
    int major, minor;
    unsigned failure;
    const size_t folder = tdmi_path_folder_length(nvrtc_library.found);
    tdmi_nvrtc_version(&major, &minor);
    if (folder == 0 || major == 0) return;
    char path[640];
    snprintf(path, sizeof path, "%.*s" TDMI_NVRTC_BUILTINS, (int)folder, nvrtc_library.found, major,
             minor);
    (void)tdmi_library_load(path, 0, &failure, NULL, 0);
}

void tdmi_nvrtc_open_builtins(void) {
    static tdmi_once builtins_once = TDMI_ONCE_INIT;
    tdmi_once_run(&builtins_once, open_builtins);
}

const tdmi_library *tdmi_cublaslt_library(void) { return &cublaslt_library; }

tdm_status tdmi_cublaslt_open(void) {
    TDMI_TRY(open_other(&cublaslt_library, cublaslt_symbols, COUNT(cublaslt_symbols)));
    return check_major(&cublaslt_library, (int)(tdmi_cublaslt.cublasLtGetVersion() / 10000));
}

tdm_status tdmi_cublas_open(void) {
    return open_other(&cublas_library, cublas_symbols, COUNT(cublas_symbols));
}

tdm_status tdmi_cudrv_open(void) {
    static atomic_bool initialised;
    if (atomic_load(&initialised)) return TDM_OK;
    TDMI_TRY(tdmi_library_open(&cudrv_library, cudrv_symbols, COUNT(cudrv_symbols)));
    cudaError_t error;
    TDMI_CUDA_TWICE(error, (cudaError_t)tdmi_cudrv.cuInit(0));
    TDMI_TRY(tdmi_cuda_check(error, "cuInit"));
    atomic_store(&initialised, true);
    return TDM_OK;
}

/* NCCL, which libtandem-comm opens. It is of use with CUDA alone. */
static void diagnose_nccl(void) {
    static void (*get_id)(void);
    static const tdmi_symbol symbol = {"ncclGetUniqueId", &get_id, false};
    static const char *names[] = {TDMI_NAMES_NCCL, NULL};
    static tdmi_library library = {
        .title = "NVIDIA's NCCL",
        .names = names,
        .advice =
            "install NCCL 2.7 or newer (libnccl2), name its directory in TANDEM_LIBRARY_PATH, or "
            "its file in TANDEM_NCCL_LIBRARY"};
    const char *file = tdm_get_setting("TANDEM_NCCL_LIBRARY");
    if (file) {
        names[0] = file;
        library.shared = true; /* this file and no other */
    }
    tdmi_library_diagnose(&library, &symbol, 1);
}

#define DIAGNOSE(name)                                                                             \
    tdmi_library_diagnose_by(&name##_library, name##_symbols, COUNT(name##_symbols),               \
                             tdmi_##name##_open)

void tdmi_cuda_diagnose_libraries(void) {
    DIAGNOSE(cudart);
    if (!atomic_load(&runtime_major)) {
        static const tdmi_library *const others[] = {&nvrtc_library, &cublaslt_library,
                                                     &cublas_library};
        for (size_t i = 0; i < COUNT(others); i++)
            tdmi_diagnose_missing(TDM_DIAGNOSTIC_LIBRARY, others[i]->title,
                                  "not looked for, because the CUDA runtime cannot be used",
                                  "install the CUDA runtime");
        return;
    }
    DIAGNOSE(nvrtc);
    DIAGNOSE(cublaslt);
    DIAGNOSE(cublas);
    diagnose_nccl();
}

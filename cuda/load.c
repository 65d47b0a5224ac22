/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* Opening the toolkit's libraries at run time: exactly the major version the headers were of. */
#include "cuda_backend.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

tdmi_cudart_api tdmi_cudart;
tdmi_cudrv_api tdmi_cudrv;
tdmi_nvrtc_api tdmi_nvrtc;
tdmi_cublaslt_api tdmi_cublaslt;
tdmi_cublas_api tdmi_cublas;

enum { CUDA_MAJOR = CUDART_VERSION / 1000, CUDA_MINOR = CUDART_VERSION % 1000 / 10 };

/* The names depend on the headers' version, which is a number and not text. */
static pthread_once_t names_once = PTHREAD_ONCE_INIT;
static char cudart_file[32], nvrtc_file[32], cublaslt_file[32], cublas_file[32];
static char versioned_directory[64], major_directory[64];
static char toolkit_advice[256], runtime_advice[160];

static const char *const directories[] = {versioned_directory, major_directory,
                                          "/usr/local/cuda/lib64", "/opt/cuda/lib64", NULL};

static void make_names(void) {
    snprintf(cudart_file, sizeof cudart_file, "libcudart.so.%d", CUDA_MAJOR);
    snprintf(nvrtc_file, sizeof nvrtc_file, "libnvrtc.so.%d", CUDA_MAJOR);
    snprintf(cublaslt_file, sizeof cublaslt_file, "libcublasLt.so.%d", CUBLAS_VER_MAJOR);
    snprintf(cublas_file, sizeof cublas_file, "libcublas.so.%d", CUBLAS_VER_MAJOR);
    snprintf(versioned_directory, sizeof versioned_directory, "/usr/local/cuda-%d.%d/lib64",
             CUDA_MAJOR, CUDA_MINOR);
    snprintf(major_directory, sizeof major_directory, "/usr/local/cuda-%d/lib64", CUDA_MAJOR);
    snprintf(toolkit_advice, sizeof toolkit_advice,
             "install the CUDA %d toolkit's run-time libraries, or name their directory in "
             "TANDEM_LIBRARY_PATH",
             CUDA_MAJOR);
    snprintf(runtime_advice, sizeof runtime_advice,
             "install the CUDA %d runtime, and set TANDEM_LIBRARY_PATH so that it is found first",
             CUDA_MAJOR);
}

#define FILE_NAMES(name) static const char *const name##_names[] = {name##_file, NULL};
FILE_NAMES(cudart)
FILE_NAMES(nvrtc)
FILE_NAMES(cublaslt)
FILE_NAMES(cublas)

#define LIBRARY(library, text)                                                                     \
    static tdmi_library library##_library = {                                                      \
        .title = text, .names = library##_names, .paths = directories, .advice = toolkit_advice};
LIBRARY(cudart, "the CUDA runtime")
LIBRARY(nvrtc, "NVIDIA's run-time compiler NVRTC")
LIBRARY(cublaslt, "NVIDIA's cuBLASLt")
LIBRARY(cublas, "NVIDIA's cuBLAS")

/* Two levels, so that the text is of the versioned name that a macro stands for. */
#define TEXT_(name) #name
#define TEXT(name) TEXT_(name)
#define CUDART_SYMBOL(name) {TEXT(name), (void (**)(void)) & tdmi_cudart.name, false},
#define NVRTC_SYMBOL(name) {TEXT(name), (void (**)(void)) & tdmi_nvrtc.name, false},
#define CUBLASLT_SYMBOL(name) {TEXT(name), (void (**)(void)) & tdmi_cublaslt.name, false},
#define CUBLAS_SYMBOL(name) {TEXT(name), (void (**)(void)) & tdmi_cublas.name, false},

static const tdmi_symbol cudart_symbols[] = {TDMI_CUDART_LIST(CUDART_SYMBOL)};
static const tdmi_symbol nvrtc_symbols[] = {TDMI_NVRTC_LIST(NVRTC_SYMBOL)};
static const tdmi_symbol cublaslt_symbols[] = {TDMI_CUBLASLT_LIST(CUBLASLT_SYMBOL)};
static const tdmi_symbol cublas_symbols[] = {TDMI_CUBLAS_LIST(CUBLAS_SYMBOL)};
#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

/* A file may carry any name: ask the library itself what it is. */
static tdm_status check_major(const tdmi_library *library, int found, int wanted,
                              const char *advice) {
    if (found == wanted) return TDM_OK;
    return tdmi_fail(TDM_ERROR_UNAVAILABLE,
                     "%s at %s is of major version %d; this build needs %d: %s", library->title,
                     library->found, found, wanted, advice);
}

tdm_status tdmi_cudart_open(void) {
    pthread_once(&names_once, make_names);
    TDMI_TRY(tdmi_library_open(&cudart_library, cudart_symbols, COUNT(cudart_symbols)));
    int version = 0;
    cudaError_t error;
    TDMI_CUDA_TWICE(error, tdmi_cudart.cudaRuntimeGetVersion(&version));
    if (!tdmi_cuda_succeeds(error))
        return tdmi_fail(TDM_ERROR_BACKEND, "%s at %s does not tell its version (error %d)",
                         cudart_library.title, cudart_library.found, (int)error);
    return check_major(&cudart_library, version / 1000, CUDA_MAJOR, runtime_advice);
}

void tdmi_nvrtc_version(int *major, int *minor) {
    *major = *minor = 0;
    if (tdmi_nvrtc.nvrtcVersion(major, minor) == NVRTC_SUCCESS) return;
    if (tdmi_nvrtc.nvrtcVersion(major, minor) != NVRTC_SUCCESS) *major = *minor = 0;
}

tdm_status tdmi_nvrtc_open(void) {
    pthread_once(&names_once, make_names);
    TDMI_TRY(tdmi_library_open(&nvrtc_library, nvrtc_symbols, COUNT(nvrtc_symbols)));
    int major, minor;
    tdmi_nvrtc_version(&major, &minor);
    return check_major(&nvrtc_library, major, CUDA_MAJOR, toolkit_advice);
}

static void open_builtins(void) {
    int major, minor;
    const char *slash = strrchr(nvrtc_library.found, '/');
    tdmi_nvrtc_version(&major, &minor);
    if (!slash || major == 0) return;
    char path[640];
    snprintf(path, sizeof path, "%.*s/libnvrtc-builtins.so.%d.%d",
             (int)(slash - nvrtc_library.found), nvrtc_library.found, major, minor);
    (void)dlopen(path, RTLD_NOW | RTLD_LOCAL);
}

void tdmi_nvrtc_open_builtins(void) {
    static pthread_once_t builtins_once = PTHREAD_ONCE_INIT;
    pthread_once(&builtins_once, open_builtins);
}

tdm_status tdmi_cublaslt_open(void) {
    pthread_once(&names_once, make_names);
    TDMI_TRY(tdmi_library_open(&cublaslt_library, cublaslt_symbols, COUNT(cublaslt_symbols)));
    int version = (int)(tdmi_cublaslt.cublasLtGetVersion() / 10000);
    return check_major(&cublaslt_library, version, CUBLAS_VER_MAJOR, toolkit_advice);
}

tdm_status tdmi_cublas_open(void) {
    pthread_once(&names_once, make_names);
    return tdmi_library_open(&cublas_library, cublas_symbols, COUNT(cublas_symbols));
}

static pthread_mutex_t driver_lock = PTHREAD_MUTEX_INITIALIZER;
static bool driver_open;

static tdm_status driver_function(const char *name, void **address) {
    enum cudaDriverEntryPointQueryResult found = cudaDriverEntryPointSymbolNotFound;
    cudaError_t error = tdmi_cudart.cudaGetDriverEntryPointByVersion(
        name, address, CUDART_VERSION / 1000 * 1000, cudaEnableDefault, &found);
    if (tdmi_cuda_succeeds(error) && found == cudaDriverEntryPointSuccess && *address)
        return TDM_OK;
    return tdmi_fail(TDM_ERROR_UNAVAILABLE,
                     "the NVIDIA driver has no function %s: update the driver to one for CUDA %d",
                     name, CUDA_MAJOR);
}

static tdm_status driver_functions(void) {
#define DRIVER_FUNCTION(name, text) TDMI_TRY(driver_function(text, (void **)&tdmi_cudrv.name));
    TDMI_CUDRV_LIST(DRIVER_FUNCTION)
    return TDM_OK;
}

tdm_status tdmi_cudrv_open(void) {
    pthread_mutex_lock(&driver_lock);
    tdm_status status = driver_open ? TDM_OK : driver_functions();
    driver_open = status == TDM_OK;
    pthread_mutex_unlock(&driver_lock);
    return status;
}

/* The loader's own item says where a library was found; only a wrong major needs another text. */
static void diagnose(tdmi_library *library, const tdmi_symbol *symbols, size_t count,
                     tdm_status (*open)(void)) {
    if (open() != TDM_OK && library->status == TDM_OK) {
        tdmi_diagnose(TDM_DIAGNOSTIC_LIBRARY, false, library->names[0], tdm_last_error(),
                      library->advice);
        return;
    }
    tdmi_library_diagnose(library, symbols, count);
}

void tdmi_cuda_diagnose_libraries(void) {
    diagnose(&cudart_library, cudart_symbols, COUNT(cudart_symbols), tdmi_cudart_open);
    diagnose(&nvrtc_library, nvrtc_symbols, COUNT(nvrtc_symbols), tdmi_nvrtc_open);
    diagnose(&cublaslt_library, cublaslt_symbols, COUNT(cublaslt_symbols), tdmi_cublaslt_open);
    diagnose(&cublas_library, cublas_symbols, COUNT(cublas_symbols), tdmi_cublas_open);
}

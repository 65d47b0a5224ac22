/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
#include "real_nvrtc.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "cuda/api.h"

struct real_nvrtc {
    tdmi_nvrtc_api api;
};

static pthread_once_t once = PTHREAD_ONCE_INIT;
static real_nvrtc opened;

static void give_up(const char *why) {
    fprintf(stderr, "cuda_sim: NVRTC at %s: %s\n", sim_get()->nvrtc_path, why);
    _exit(2);
}

/* By its path: the stand-in has the same soname. The builtins next to it, as Tandem opens those of the stand-in. */
static void open_library(void) {
    void *handle = dlopen(sim_get()->nvrtc_path, RTLD_NOW | RTLD_LOCAL);
    if (!handle) give_up(dlerror());
#define LOAD(name)                                                                                 \
    do {                                                                                           \
        void *symbol = dlsym(handle, #name);                                                       \
        if (!symbol) give_up("it has no function " #name);                                         \
        memcpy(&opened.api.name, &symbol, sizeof symbol);                                          \
    } while (0);
    TDMI_NVRTC_LIST(LOAD)
#undef LOAD
    int major = 0, minor = 0;
    char path[1024];
    if (opened.api.nvrtcVersion(&major, &minor) != NVRTC_SUCCESS) give_up("it has no version");
    const char *slash = strrchr(sim_get()->nvrtc_path, '/');
    snprintf(path, sizeof path, "%.*s/libnvrtc-builtins.so.%d.%d",
             (int)(slash - sim_get()->nvrtc_path), sim_get()->nvrtc_path, major, minor);
    (void)dlopen(path, RTLD_NOW | RTLD_LOCAL);
}

const real_nvrtc *real_nvrtc_get(void) {
    if (!sim_get()->nvrtc_path[0]) return NULL;
    pthread_once(&once, open_library);
    return &opened;
}

nvrtcResult real_nvrtc_version(const real_nvrtc *real, int *major, int *minor) {
    return real->api.nvrtcVersion(major, minor);
}

int real_nvrtc_architectures(const real_nvrtc *real, int *architectures, int most) {
    int count = 0;
    if (real->api.nvrtcGetNumSupportedArchs(&count) != NVRTC_SUCCESS || count > most ||
        real->api.nvrtcGetSupportedArchs(architectures) != NVRTC_SUCCESS)
        return 0;
    return count;
}

static nvrtcResult take_cubin(const real_nvrtc *real, nvrtcProgram program, real_cubin *cubin) {
    nvrtcResult result = real->api.nvrtcGetCUBINSize(program, &cubin->size);
    if (result != NVRTC_SUCCESS) return result;
    cubin->bytes = malloc(cubin->size);
    if (!cubin->bytes) return NVRTC_ERROR_OUT_OF_MEMORY;
    result = real->api.nvrtcGetCUBIN(program, cubin->bytes);
    if (result == NVRTC_SUCCESS) return result;
    free(cubin->bytes);
    cubin->bytes = NULL;
    return result;
}

static void take_log(const real_nvrtc *real, nvrtcProgram program, char *log, size_t size) {
    size_t length = 0;
    if (real->api.nvrtcGetProgramLogSize(program, &length) != NVRTC_SUCCESS) return;
    char *text = calloc(length + 1, 1);
    if (text && real->api.nvrtcGetProgramLog(program, text) == NVRTC_SUCCESS)
        snprintf(log, size, "%s", text);
    free(text);
}

nvrtcResult real_nvrtc_compile(const real_nvrtc *real, const char *text, const char *name,
                               int count, const char *const *options, real_cubin *cubin, char *log,
                               size_t size) {
    nvrtcProgram program = NULL;
    nvrtcResult result = real->api.nvrtcCreateProgram(&program, text, name, 0, NULL, NULL);
    if (result != NVRTC_SUCCESS) return result;
    result = real->api.nvrtcCompileProgram(program, count, options);
    if (result == NVRTC_SUCCESS)
        result = take_cubin(real, program, cubin);
    else
        take_log(real, program, log, size);
    (void)real->api.nvrtcDestroyProgram(&program);
    return result;
}

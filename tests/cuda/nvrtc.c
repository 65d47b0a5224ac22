/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
#include "nvrtc.h"

#include <dlfcn.h>
#include <elf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api.h"

static struct {
#define FIELD(name) __typeof__(&name) name;
    TDMI_NVRTC_LIST(FIELD)
} nvrtc;

static void *open_library(void) {
    static const char *const names[] = {
#define NAME(major, cudart, nvrtc, cublaslt, cublas) nvrtc,
        TDMI_CUDA_VERSIONS(NAME)};
    static const char *const folders[] = {"", "/usr/local/cuda/lib64/", "/opt/cuda/lib64/"};
    const char *wanted = getenv("TDM_TEST_NVRTC");
    if (wanted) {
        void *handle = dlopen(wanted, RTLD_NOW | RTLD_LOCAL);
        if (handle) return handle;
        printf("FAILED: TDM_TEST_NVRTC: %s\n", dlerror());
        exit(1);
    }
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        for (size_t j = 0; j < sizeof folders / sizeof *folders; j++) {
            char path[96];
            snprintf(path, sizeof path, "%s%s", folders[j], names[i]);
            void *handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
            if (handle) return handle;
        }
    printf("skipped: there is no NVRTC (%s)\n", dlerror());
    return NULL;
}

bool nvrtc_open(int *major, int *minor) {
    void *handle = open_library();
    if (!handle) return false;
#define LOAD(name)                                                                                 \
    do {                                                                                           \
        void *symbol = dlsym(handle, #name);                                                       \
        if (!symbol) {                                                                             \
            printf("FAILED: NVRTC has no function %s\n", #name);                                   \
            exit(1);                                                                               \
        }                                                                                          \
        memcpy(&nvrtc.name, &symbol, sizeof symbol);                                               \
    } while (0);
    TDMI_NVRTC_LIST(LOAD)
    if (nvrtc.nvrtcVersion(major, minor) == NVRTC_SUCCESS) return true;
    printf("FAILED: NVRTC does not tell its version\n");
    exit(1);
}

bool nvrtc_knows(int architecture) {
    int known[128], count = 0;
    if (nvrtc.nvrtcGetNumSupportedArchs(&count) != NVRTC_SUCCESS || count > 128 ||
        nvrtc.nvrtcGetSupportedArchs(known) != NVRTC_SUCCESS)
        count = 0;
    for (int i = 0; i < count; i++)
        if (known[i] == architecture) return true;
    return false;
}

static char *take_log(nvrtcProgram program) {
    size_t size = 0;
    if (nvrtc.nvrtcGetProgramLogSize(program, &size) != NVRTC_SUCCESS) size = 0;
    char *log = calloc(size + 1, 1);
    if (!log) abort();
    if (size && nvrtc.nvrtcGetProgramLog(program, log) != NVRTC_SUCCESS) log[0] = '\0';
    return log;
}

static void take_cubin(nvrtcProgram program, compiled *c) {
    if (nvrtc.nvrtcGetCUBINSize(program, &c->cubin_size) != NVRTC_SUCCESS) c->cubin_size = 0;
    c->good = c->cubin_size > sizeof(Elf64_Ehdr);
    if (!c->good) return;
    c->cubin = malloc(c->cubin_size);
    if (!c->cubin) abort();
    c->good = nvrtc.nvrtcGetCUBIN(program, c->cubin) == NVRTC_SUCCESS &&
              memcmp(c->cubin, ELFMAG, SELFMAG) == 0 && c->cubin[EI_CLASS] == ELFCLASS64;
}

static void take_ptx(nvrtcProgram program, compiled *c) {
    size_t size = 0;
    if (nvrtc.nvrtcGetPTXSize(program, &size) != NVRTC_SUCCESS) size = 0;
    c->ptx = calloc(size + 1, 1);
    if (!c->ptx) abort();
    if (size && nvrtc.nvrtcGetPTX(program, c->ptx) != NVRTC_SUCCESS) c->ptx[0] = '\0';
}

bool append_file(char **text, const char *folder, const char *name) {
    enum { ROOM = 64 << 10, HEAD = 100 };
    char path[1024];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *file = fopen(path, "r");
    if (!file) return false;
    const size_t length = *text ? strlen(*text) : 0;
    *text = realloc(*text, length + ROOM);
    if (!*text) abort();
    char *at = *text + length;
    at += snprintf(at, HEAD, "\n#line 1 \"%s\"\n", name);
    at[fread(at, 1, ROOM - HEAD - 1, file)] = '\0';
    const bool whole = getc(file) == EOF;
    fclose(file);
    return whole;
}

enum { MOST_OPTIONS = 16 };

compiled nvrtc_compile(const char *text, const char *header, int architecture,
                       const char *const *defines) {
    char target[40];
    snprintf(target, sizeof target, "--gpu-architecture=sm_%d", architecture);
    /* those of cuda/program.c, and the report, which changes nothing in the code */
    const char *options[MOST_OPTIONS] = {target, "--std=c++17",
                                         "--device-as-default-execution-space",
                                         "--disable-warnings", "--ptxas-options=-v"};
    int count = 5;
    while (defines && *defines && count < MOST_OPTIONS)
        options[count++] = *defines++;
    const char *const name = "kernel";
    compiled c = {0};
    nvrtcProgram program = NULL;
    nvrtcResult result = nvrtc.nvrtcCreateProgram(&program, text, "variants", header ? 1 : 0,
                                                  header ? &header : NULL, header ? &name : NULL);
    if (result == NVRTC_SUCCESS) {
        result = nvrtc.nvrtcCompileProgram(program, count, options);
        c.log = take_log(program);
        if (result == NVRTC_SUCCESS) {
            take_cubin(program, &c);
            take_ptx(program, &c);
        }
        (void)nvrtc.nvrtcDestroyProgram(&program);
    } else {
        c.log = strdup(nvrtc.nvrtcGetErrorString(result));
        if (!c.log) abort();
    }
    return c;
}

void compiled_free(compiled *c) {
    free(c->log);
    free(c->cubin);
    free(c->ptx);
    *c = (compiled){0};
}

const char *compiled_code(const compiled *c, const char *entry, size_t *size) {
    char wanted[96];
    Elf64_Ehdr file;
    Elf64_Shdr names, section;
    if (!c->good) return NULL;
    memcpy(&file, c->cubin, sizeof file);
    if (file.e_shoff + (size_t)file.e_shnum * sizeof section > c->cubin_size) return NULL;
    const char *table = c->cubin + file.e_shoff;
    memcpy(&names, table + file.e_shstrndx * sizeof names, sizeof names);
    snprintf(wanted, sizeof wanted, ".text.%s", entry);
    for (int i = 0; i < file.e_shnum; i++) {
        memcpy(&section, table + (size_t)i * sizeof section, sizeof section);
        const char *name = c->cubin + names.sh_offset + section.sh_name;
        if (section.sh_type == SHT_NOBITS || strcmp(name, wanted) != 0) continue;
        *size = section.sh_size;
        return section.sh_size ? c->cubin + section.sh_offset : NULL;
    }
    return NULL;
}

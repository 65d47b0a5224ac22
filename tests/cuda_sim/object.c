/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* Handles: their objects are never freed, so that a stale one is known. */
#include <elf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sim.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static sim_object **table; /* open addressing; a power of two of places */
static size_t capacity, used;
static size_t alive[CUDA_SIM_KINDS];

static const char *const kind_names[CUDA_SIM_KINDS] = {
    "device memory",
    "pinned memory",
    "stream",
    "event",
    "module",
    "kernel",
    "NVRTC program",
    "cuBLASLt handle",
    "cuBLASLt operation",
    "cuBLASLt layout",
    "cuBLASLt preference",
    "cuBLAS handle",
    "graph",
    "executable graph",
};

static size_t place_of(sim_object *const *in, size_t size, const void *object) {
    size_t at = ((uintptr_t)object >> 4) * (size_t)0x9e3779b97f4a7c15u & (size - 1);
    while (in[at] && (const void *)in[at] != object)
        at = (at + 1) & (size - 1);
    return at;
}

static bool grow(void) {
    size_t size = capacity ? 2 * capacity : 256;
    sim_object **bigger = calloc(size, sizeof *bigger);
    if (!bigger) return false;
    for (size_t i = 0; i < capacity; i++)
        if (table[i]) bigger[place_of(bigger, size, table[i])] = table[i];
    free(table);
    table = bigger;
    capacity = size;
    return true;
}

void *sim_create(cuda_sim_kind kind, size_t size) {
    sim_object *object = calloc(1, size);
    if (!object) return NULL;
    object->kind = kind;
    object->alive = true;
    pthread_mutex_lock(&lock);
    bool room = 2 * used < capacity || grow();
    if (room) {
        table[place_of(table, capacity, object)] = object;
        used++;
        alive[kind]++;
    }
    pthread_mutex_unlock(&lock);
    if (room) return object;
    free(object);
    return NULL;
}

bool sim_check(const void *object, cuda_sim_kind kind, const char *function) {
    pthread_mutex_lock(&lock);
    const sim_object *found = capacity ? table[place_of(table, capacity, object)] : NULL;
    bool right_kind = found && found->kind == kind, good = right_kind && found->alive;
    pthread_mutex_unlock(&lock);
    if (good) return true;
    sim_report("%s: %p is %s %s", function, object, right_kind ? "a destroyed" : "no",
               kind_names[kind]);
    return false;
}

void sim_end(void *object) {
    sim_object *ending = object;
    pthread_mutex_lock(&lock);
    ending->alive = false;
    alive[ending->kind]--;
    pthread_mutex_unlock(&lock);
}

size_t cuda_sim_alive(cuda_sim_kind kind) {
    if (kind == CUDA_SIM_MEMORY || kind == CUDA_SIM_PINNED) return sim_alive_blocks(kind);
    pthread_mutex_lock(&lock);
    size_t count = alive[kind];
    pthread_mutex_unlock(&lock);
    return count;
}

/* A kernel ends with its module; the handles of BLAS libraries may stay until the process ends. */
static size_t count_leaks(cuda_sim_kind kind) {
    const bool may_stay = kind == CUDA_SIM_LT_HANDLE || kind == CUDA_SIM_CUBLAS_HANDLE;
    return kind == CUDA_SIM_KERNEL || may_stay ? 0 : cuda_sim_alive(kind);
}

size_t cuda_sim_report_leaks(void) {
    size_t total = 0;
    char text[256] = "";
    for (int kind = 0; kind < CUDA_SIM_KINDS; kind++) {
        const size_t count = count_leaks((cuda_sim_kind)kind);
        size_t length = strlen(text);
        if (count)
            snprintf(text + length, sizeof text - length, ", %zu x %s", count, kind_names[kind]);
        total += count;
    }
    if (total) sim_report("leaked: %s", text + 2);
    return total;
}

size_t sim_elf_size(const void *file) {
    Elf64_Ehdr header;
    memcpy(&header, file, sizeof header);
    size_t end = sizeof header;
    const size_t sections = header.e_shoff + (size_t)header.e_shnum * sizeof(Elf64_Shdr);
    const size_t segments = header.e_phoff + (size_t)header.e_phnum * sizeof(Elf64_Phdr);
    if (sections > end) end = sections;
    if (segments > end) end = segments;
    for (size_t i = 0; i < header.e_shnum; i++) {
        Elf64_Shdr section;
        memcpy(&section, (const char *)file + header.e_shoff + i * sizeof section, sizeof section);
        if (section.sh_type != SHT_NOBITS && section.sh_offset + section.sh_size > end)
            end = section.sh_offset + section.sh_size;
    }
    return end;
}

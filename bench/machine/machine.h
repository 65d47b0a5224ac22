/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* The machine: its threads, its fastest way to move bytes, and what it is made of. */
#ifndef BENCH_MACHINE_H
#define BENCH_MACHINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <jansson.h>

/* Threads of bench_parallel: the cores this process may run on. */
int bench_threads(void);

/* Runs body(context, i) on thread i for i in [0, bench_threads()), and returns when all are done. */
void bench_parallel(void (*body)(void *context, int thread), void *context);

/* To be called after fork() in the child, which has to start its threads again. */
void bench_threads_forked(void);

/* Zeroed memory in huge pages where the system has them, aligned to 4 KiB; NULL when short. Freed
 * by bench_free. */
void *bench_alloc(size_t size);
void bench_free(void *memory);

/* How bench_move moves: on one thread or all, with streaming stores or cached ones, and, unless the
 * stores are cached ones, fetching the source ahead of the loads. */
typedef struct bench_move_way {
    bool all_threads, streaming, fetching;
} bench_move_way;

/* Reads `in` bytes and writes `out` bytes, the common part by copying. Both pointers are from
 * bench_alloc. */
void bench_move(bench_move_way way, const void *source, size_t in, void *target, size_t out);

/* The last-level cache in bytes. */
size_t bench_cache_bytes(void);

/* Processor, cores, memory, system, time, versions of the library and its devices. */
json_t *bench_describe_machine(void);

/* Processor, cores, cache and system in a few words. Returns `text`. */
const char *bench_machine_line(char *text, size_t size);

#endif

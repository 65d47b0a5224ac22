/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* The same work in one process, on as many cores or on one: each sample starts a process, which does not use MPI. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cases.h"
#include "machine/child.h"
#include "machine/clock.h"

enum { WORDS = 6 }; /* the program's: CORES DEVICE OP DTYPE SHAPE CALLS */

static const machines_kind *const kinds[] = {&machines_products, &machines_layers,
                                             &machines_training};

const char *one_process_name(bool weak) { return weak ? "one process, one core" : "one process"; }

double one_process_seconds(const group *g, const work *w, int calls) {
    char cores[2 * CPU_SETSIZE / 8 + 1] = "", count[16], why[BENCH_CHILD_WHY_SIZE];
    cpu_set_t set = g->cores;
    const unsigned char *bytes = (const unsigned char *)&set;
    for (size_t i = 0, seen = 0; w->weak && i < CPU_SETSIZE; i++)
        if (CPU_ISSET(i, &set) && seen++ > 0) CPU_CLR(i, &set);
    for (size_t i = 0; i < CPU_SETSIZE / 8; i++)
        snprintf(cores + 2 * i, 3, "%02x", bytes[i]);
    snprintf(count, sizeof count, "%d", calls);
    const char *arguments[] = {
        g->program, "--one-process",          cores,    tdm_device_get_info(g->device)->id,
        w->op,      tdm_dtype_name(w->dtype), w->shape, count,
        NULL};
    char *text = bench_run_child(arguments, why);
    double seconds = -1;
    if (!text)
        fprintf(stderr, "tdm bench: one process: %s\n", why);
    else
        seconds = strtod(text, NULL);
    free(text);
    return seconds > 0 ? seconds : -1;
}

double one_process_time(tdm_queue *queue, int calls,
                        tdm_status (*call)(tdm_queue *queue, void *state), void *state) {
    double start = 0;
    for (int i = -1; i < calls; i++) {
        if (i == 0 && tdm_queue_finish(queue) != TDM_OK) return -1;
        if (i == 0) start = bench_now();
        if (call(queue, state) != TDM_OK) return -1;
    }
    return tdm_queue_finish(queue) == TDM_OK ? (bench_now() - start) / calls : -1;
}

int one_process_run(int argc, char **argv) {
    cpu_set_t cores;
    char threads[16];
    if (argc != WORDS || strlen(argv[0]) != 2 * CPU_SETSIZE / 8) return 2;
    for (size_t i = 0; i < CPU_SETSIZE / 8; i++) {
        const char digits[3] = {argv[0][2 * i], argv[0][2 * i + 1], 0};
        ((unsigned char *)&cores)[i] = (unsigned char)strtoul(digits, NULL, 16);
    }
    (void)sched_setaffinity(0, sizeof cores, &cores);
    snprintf(threads, sizeof threads, "%d", CPU_COUNT(&cores));
    setenv("TANDEM_CPU_THREADS", threads, 1);
    tdm_device *device = NULL;
    tdm_queue *queue = NULL;
    const one_process_work of = {argv[2], argv[4], strcmp(argv[3], "f64") == 0 ? TDM_F64 : TDM_F32,
                                 atoi(argv[5])};
    const machines_kind *kind = NULL;
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (strncmp(kinds[i]->op, of.op, strcspn(of.op, "+")) == 0) kind = kinds[i];
    if (!kind) return 2;
    double seconds = -1;
    if (tdm_device_open(argv[1], &device) == TDM_OK &&
        tdm_queue_create(device, 0, &queue) == TDM_OK)
        seconds = kind->alone(queue, &of);
    if (seconds > 0)
        printf("%.9g\n", seconds);
    else
        fprintf(stderr, "%s\n", tdm_last_error());
    tdm_queue_destroy(queue);
    tdm_device_release(device);
    return seconds > 0 ? 0 : 1;
}

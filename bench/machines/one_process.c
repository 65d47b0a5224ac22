/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* The same work in one process, on as many cores: a process of its own, that knows nothing of MPI, for each sample. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cases.h"
#include "machine/child.h"

enum { WORDS = 5 }; /* the program's: CORES DEVICE DTYPE SHAPE CALLS */

double one_process_seconds(const group *g, const char *const *words, int calls) {
    char cores[2 * CPU_SETSIZE / 8 + 1] = "", count[16], why[BENCH_CHILD_WHY_SIZE];
    const unsigned char *bytes = (const unsigned char *)&g->cores;
    for (size_t i = 0; i < CPU_SETSIZE / 8; i++)
        snprintf(cores + 2 * i, 3, "%02x", bytes[i]);
    snprintf(count, sizeof count, "%d", calls);
    const char *arguments[] = {
        g->program, "--one-process", cores, tdm_device_get_info(g->device)->id,
        words[0],   words[1],        count, NULL};
    char *text = bench_run_child(arguments, "", 0, why, NULL);
    double seconds = -1;
    if (!text)
        fprintf(stderr, "tdm bench: one process: %s\n", why);
    else
        seconds = strtod(text, NULL);
    free(text);
    return seconds > 0 ? seconds : -1;
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
    const tdm_dtype dtype = strcmp(argv[2], "f64") == 0 ? TDM_F64 : TDM_F32;
    double seconds = -1;
    if (tdm_device_open(argv[1], &device) == TDM_OK &&
        tdm_queue_create(device, 0, &queue) == TDM_OK)
        seconds = product_alone(queue, dtype, argv[3], atoi(argv[4]));
    if (seconds > 0)
        printf("%.9g\n", seconds);
    else
        fprintf(stderr, "%s\n", tdm_last_error());
    tdm_queue_destroy(queue);
    tdm_device_release(device);
    return seconds > 0 ? 0 : 1;
}

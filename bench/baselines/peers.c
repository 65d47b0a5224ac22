/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* Peers are timed by a script that Python reads from its standard input, each in a process of its own: thread
 * pools of two libraries would be in each other's way. */
#include "baselines/peers.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "machine/child.h"

/* peers.py, embedded by the build. */
extern const char bench_peers_script[];

static const char *const modules[BENCH_PEERS] = {
#define MODULE(NAME, key, module, title) module,
    BENCH_PEER_LIST(MODULE)};

bool bench_find_peers(const char *python, bool has[BENCH_PEERS], char *why) {
    const char *const arguments[] = {python, "-", "list", NULL};
    char *output =
        bench_run_child(arguments, bench_peers_script, strlen(bench_peers_script), why, NULL);
    bool any = false;
    char *rest, *word = output ? strtok_r(output, " \n", &rest) : NULL;
    memset(has, 0, BENCH_PEERS * sizeof *has);
    for (; word; word = strtok_r(NULL, " \n", &rest))
        for (int i = 0; i < BENCH_PEERS; i++)
            if (strcmp(word, modules[i]) == 0) any = has[i] = true;
    if (output && !any)
        snprintf(why, BENCH_CHILD_WHY_SIZE, "%s has none of PyTorch, NumPy, ONNX Runtime and pygpu",
                 python);
    free(output);
    return any;
}

double bench_time_peer(const char *python, bench_peer peer, const bench_request *request,
                       const char *work, char *why) {
    const long long size[] = {
        request->shape.batch,
        request->shape.extent[0],
        request->shape.extent[1],
        request->shape.extent[2],
        request->transpose_b,
        request->device->type == TDM_DEVICE_CPU ? request->device->compute_units : 0,
        request->sets};
    enum { NUMBERS = sizeof size / sizeof *size };
    char number[NUMBERS][24];
    enum { WORDS = 6 };
    const char *arguments[WORDS + NUMBERS + 1] = {
        python, "-", modules[peer], request->device->id, tdm_dtype_name(request->dtype), work};
    for (int i = 0; i < NUMBERS; i++) {
        snprintf(number[i], sizeof number[i], "%lld", size[i]);
        arguments[WORDS + i] = number[i];
    }
    char *output =
        bench_run_child(arguments, bench_peers_script, strlen(bench_peers_script), why, NULL);
    double seconds = (double)NAN;
    if (output) why[0] = '\0';
    if (output && strcmp(output, "lacks\n") != 0 && sscanf(output, "%lf", &seconds) != 1)
        snprintf(why, BENCH_CHILD_WHY_SIZE, "%s did not answer with a time", python);
    free(output);
    return seconds;
}

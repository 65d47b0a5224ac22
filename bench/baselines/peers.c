/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* Peers are timed by a script, in a process for each library: thread pools of two libraries would be in each
 * other's way. It is started for the first row, as importing a library takes seconds. */
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

/* A row that takes longer is given up: torch.compile may take minutes for an encoder. */
static const double longest_answer = 600.0;

static struct {
    bench_server server;
    int threads;
    char version[32]; /* "" of a library that was not found */
} started[BENCH_PEERS];

bool bench_find_peers(const char *python, bool pytorch_alone, bool has[BENCH_PEERS], char *why) {
    const char *const arguments[] = {
        python, "-c", bench_peers_script, "list", pytorch_alone ? modules[BENCH_PYTORCH] : NULL,
        NULL};
    char *output = bench_run_child(arguments, why);
    bool any = false;
    char *word = output ? strtok(output, " \n") : NULL;
    memset(has, 0, BENCH_PEERS * sizeof *has);
    while (word) { /* a name and a version */
        char *version = strtok(NULL, " \n");
        for (int i = 0; version && i < BENCH_PEERS; i++) {
            if (strcmp(word, modules[i]) != 0 || (pytorch_alone && i != BENCH_PYTORCH)) continue;
            snprintf(started[i].version, sizeof started[i].version, "%s", version);
            any = has[i] = true;
        }
        word = strtok(NULL, " \n");
    }
    if (output && !any)
        snprintf(why, BENCH_CHILD_WHY_SIZE, "%s has %s", python,
                 pytorch_alone ? "no PyTorch" : "none of PyTorch, NumPy and ONNX Runtime");
    free(output);
    return any;
}

json_t *bench_describe_peers(void) {
    json_t *peers = json_object();
    for (int i = 0; i < BENCH_PEERS; i++)
        if (started[i].version[0])
            json_object_set_new(peers, modules[i], json_string(started[i].version));
    return peers;
}

/* With as many threads; 0: as there are cores. */
static bench_server *start(const char *python, bench_peer peer, int threads, char *why) {
    char number[24];
    snprintf(number, sizeof number, "%d", threads);
    const char *const arguments[] = {python, "-c", bench_peers_script, "serve", modules[peer],
                                     number, NULL};
    bench_server *server = &started[peer].server;
    if (server->pid && started[peer].threads != threads) bench_server_end(server);
    if (!server->pid && !bench_server_start(server, arguments, why)) return NULL;
    started[peer].threads = threads;
    return server;
}

/* The device that PyTorch knows, of a card: "cuda:0", or "-". */
static const char *card_of(const tdm_device_info *device) {
    if (device->backend == TDM_CUDA) return device->id;
    return strncmp(device->same_as, "cuda:", 5) == 0 ? device->same_as : "-";
}

double bench_time_peer(const char *python, bench_peer peer, const bench_request *request,
                       const char *work, char *why) {
    static const char failed[] = "failed ";
    char line[512];
    const tdm_device_info *device = request->device;
    const bench_shape *shape = &request->shape;
    snprintf(line, sizeof line, "%s %s %s %s %lld %lld %lld %lld %d %u\n", device->id,
             card_of(device), tdm_dtype_name(request->dtype), work, (long long)shape->batch,
             (long long)shape->extent[0], (long long)shape->extent[1], (long long)shape->extent[2],
             request->transpose_b, request->sets);
    bench_server *server =
        start(python, peer, device->type == TDM_DEVICE_CPU ? device->compute_units : 0, why);
    char *answer = server ? bench_server_ask(server, python, line, longest_answer, why) : NULL;
    double seconds = (double)NAN;
    if (!answer) return seconds;
    why[0] = '\0';
    if (strncmp(answer, failed, sizeof failed - 1) == 0)
        snprintf(why, BENCH_CHILD_WHY_SIZE, "%s: %.200s", python, answer + sizeof failed - 1);
    else if (strcmp(answer, "lacks") != 0 && sscanf(answer, "%lf", &seconds) != 1)
        snprintf(why, BENCH_CHILD_WHY_SIZE, "%s did not answer with a time", python);
    free(answer);
    return seconds;
}

void bench_end_peers(void) {
    for (int i = 0; i < BENCH_PEERS; i++)
        bench_server_end(&started[i].server);
}

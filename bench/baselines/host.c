/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* Baselines on the host's cores: the machine's own ways to move bytes. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "baselines/baseline.h"
#include "baselines/blas.h"
#include "machine/clock.h"
#include "machine/machine.h"

typedef struct host_move {
    bench_move_way way;
    size_t in, out;
    char *source, *target; /* all sets */
    unsigned sets;
} host_move;

static bool call_move(void *state, unsigned set) {
    const host_move *m = state;
    bench_move(m->way, m->source + set * m->in, m->in, m->target + set * m->out, m->out);
    return true;
}

static void destroy_move(void *state) {
    host_move *m = state;
    bench_free(m->source);
    bench_free(m->target);
    free(m);
}

/* Seconds of the fastest of some calls that take about a millisecond each. */
static double try_way(host_move *m, bench_move_way way) {
    m->way = way;
    double fastest = 1e9;
    unsigned set = 0;
    for (int i = 0; i < 4; i++) {
        unsigned calls = 0;
        const double start = bench_now();
        double elapsed = 0.0;
        while (elapsed < 1e-3) {
            call_move(m, set++ % m->sets);
            elapsed = bench_now() - start;
            calls++;
        }
        if (i > 0 && elapsed / calls < fastest) fastest = elapsed / calls;
    }
    return fastest;
}

static void choose_way(host_move *m) {
    double fastest = 1e9;
    bench_move_way best = {false, false, false};
    /* large work is never fastest on one thread */
    const bool large = m->in + m->out > (size_t)32 << 20;
    for (int i = large ? 4 : 0; i < 8; i++) {
        const bench_move_way way = {(i & 4) != 0, (i & 2) != 0, (i & 1) != 0};
        if (way.fetching && (m->in == 0 || (!way.streaming && m->out > 0))) continue;
        if (way.streaming && m->out == 0) continue;
        const double seconds = try_way(m, way);
        if (seconds >= fastest) continue;
        fastest = seconds;
        best = way;
    }
    m->way = best;
}

bool bench_host_move_create(const bench_request *request, bench_baseline *baseline, char *why) {
    host_move *m = calloc(1, sizeof *m);
    if (m) {
        m->in = request->bytes_in;
        m->out = request->bytes_out;
        m->sets = request->sets;
        /* the one number that a norm writes is not worth a store */
        if (m->out < m->in / 64) m->out = 0;
        m->source = bench_alloc(m->in * m->sets);
        m->target = bench_alloc(m->out * m->sets);
    }
    if (!m || !m->source || !m->target) {
        snprintf(why, BENCH_WHY_SIZE, "no memory for the baseline");
        if (m) destroy_move(m);
        return false;
    }
    choose_way(m);
    *baseline = (bench_baseline){.state = m, .call = call_move, .destroy = destroy_move};
    snprintf(baseline->name, sizeof baseline->name, "%s%s%s%s",
             m->out == 0  ? "read"
             : m->in == 0 ? "write"
                          : "copy",
             m->way.streaming ? ", streaming" : "", m->way.fetching ? ", prefetch" : "",
             m->way.all_threads ? "" : ", 1 thread");
    return true;
}

void bench_host_describe(json_t *libraries) {
    for (int library = 0; library < BENCH_BLAS_COUNT; library++) {
        char text[BENCH_WHY_SIZE];
        if (bench_blas_open(library, TDM_F32, text)) bench_blas_version(library, text, sizeof text);
        json_object_set_new(libraries, bench_blas_library(library), json_string(text));
    }
}

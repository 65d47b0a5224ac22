/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* Graphs of CUDA's: what is asked of the driver for a replay, and what becomes of a graph that the driver does
 * not make. */
#include "traps.h"

#include <criterion/criterion.h>

#include "control.h"
#include "small.h"
#include "support/check.h"

enum { UNKNOWN = 999, INVALID = 1 };

TestSuite(graphs, .init = traps_begin, .fini = traps_end);

/* y = 2 x x, by a product and a launch. */
static void record(small *s, tdm_graph *graph) {
    tdm_matmul_options options = TDM_MATMUL_OPTIONS_DEFAULTS;
    OK(tdm_graph_begin(graph));
    OK(tdm_matmul(s->queue, &options, &s->x, &s->x, &s->y));
    OK(tdm_add(s->queue, &s->y, &s->y, &s->y));
    OK(tdm_graph_end(graph));
}

/* Replays with x of one value, and looks at y. */
static void replay(small *s, tdm_graph *graph, float value) {
    float got[SMALL_N * SMALL_N];
    OK(tdm_fill(s->queue, (double)value, &s->x));
    OK(tdm_fill(s->queue, -1.0, &s->y));
    OK(tdm_queue_finish(s->queue));
    cuda_sim_heal();
    OK(tdm_graph_replay(graph));
    OK(tdm_buffer_read(s->queue, s->y.buffer, 0, got, sizeof got));
    const float wanted = 2 * value * value * (float)SMALL_N;
    for (size_t i = 0; i < sizeof got / sizeof *got; i++)
        if (got[i] != wanted) {
            check_fail(__FILE__, __LINE__, "element %zu is %g, not %g", i, (double)got[i],
                       (double)wanted);
            return;
        }
}

static void expect(unsigned long launches, unsigned long graphs, unsigned long made,
                   unsigned long updated) {
    CHECK(cuda_sim_calls("cuLaunchKernel") == launches, "%lu launches, not %lu",
          cuda_sim_calls("cuLaunchKernel"), launches);
    CHECK(cuda_sim_calls("cuGraphLaunch") == graphs, "%lu launches of graphs, not %lu",
          cuda_sim_calls("cuGraphLaunch"), graphs);
    CHECK(cuda_sim_calls("cuGraphInstantiate") == made, "%lu graphs made, not %lu",
          cuda_sim_calls("cuGraphInstantiate"), made);
    CHECK(cuda_sim_calls("cuGraphExecUpdate") == updated, "%lu updates, not %lu",
          cuda_sim_calls("cuGraphExecUpdate"), updated);
}

/* From the second replay on it is one launch, also after changes. */
Test(graphs, one_launch) {
    small s;
    tdm_graph *graph = NULL;
    tdm_buffer *other = NULL;
    OK(small_open(&s, "cuda:0"));
    OK(tdm_buffer_create(s.device, SMALL_BYTES, &other));
    OK(tdm_graph_create(s.queue, &graph));
    record(&s, graph);
    check_case("the first replay");
    replay(&s, graph, 1);
    expect(1, 0, 0, 0);
    check_case("the second replay");
    replay(&s, graph, 2);
    expect(1, 1, 1, 0); /* this launch is captured */
    for (int turn = 3; turn < 6; turn++) {
        check_case("replay %d", turn);
        replay(&s, graph, (float)turn);
        expect(0, 1, 0, 0);
        CHECK(cuda_sim_calls("cublasLtMatmul") == 0, "a product was asked for");
    }
    check_case("another buffer");
    OK(tdm_graph_set_buffer(graph, s.buffers[1], other));
    s.y.buffer = other;
    replay(&s, graph, 3);
    expect(1, 1, 0, 1);
    replay(&s, graph, 5);
    expect(0, 1, 0, 0);
    check_case("recorded again");
    record(&s, graph);
    replay(&s, graph, 2);
    expect(1, 0, 0, 0);
    replay(&s, graph, 3);
    expect(1, 1, 0, 1);
    check_case("recorded again, of another shape");
    OK(tdm_graph_begin(graph));
    OK(tdm_fill(s.queue, 18.0 * SMALL_N, &s.y));
    OK(tdm_graph_end(graph));
    replay(&s, graph, 3);
    replay(&s, graph, 3);
    expect(1, 1, 1, 1);
    tdm_graph_destroy(graph);
    tdm_buffer_release(other);
    small_close(&s);
}

/* What the driver refuses stays a list. */
Test(graphs, stay_lists) {
    static const char *const functions[] = {"cuStreamBeginCapture", "cuStreamEndCapture",
                                            "cuGraphInstantiate"};
    small s;
    OK(small_open(&s, "cuda:0"));
    for (size_t i = 0; i < sizeof functions / sizeof *functions; i++) {
        tdm_graph *graph = NULL;
        check_case("%s", functions[i]);
        OK(tdm_graph_create(s.queue, &graph));
        record(&s, graph);
        replay(&s, graph, 1);
        OK(tdm_fill(s.queue, 2.0, &s.x));
        cuda_sim_fail(functions[i], 1, false, UNKNOWN);
        OK(tdm_graph_replay(graph));
        CHECK(cuda_sim_failures() == 1, "nothing failed");
        for (int turn = 2; turn < 4; turn++) {
            replay(&s, graph, (float)turn);
            expect(1, 0, 0, 0);
        }
        tdm_graph_destroy(graph);
    }
    check_case("an update");
    tdm_graph *graph = NULL;
    OK(tdm_graph_create(s.queue, &graph));
    record(&s, graph);
    replay(&s, graph, 1);
    replay(&s, graph, 2);
    record(&s, graph);
    replay(&s, graph, 3);
    OK(tdm_fill(s.queue, 2.0, &s.x));
    cuda_sim_fail("cuGraphExecUpdate", 1, false, INVALID);
    OK(tdm_graph_replay(graph));
    CHECK(cuda_sim_calls("cuGraphInstantiate") == 1, "no graph was made in its place");
    replay(&s, graph, 4);
    expect(0, 1, 0, 0);

    check_case("a replay that fails");
    cuda_sim_fail("cuGraphLaunch", 1, false, UNKNOWN);
    REFUSED(tdm_graph_replay(graph), TDM_ERROR_BACKEND, "cuGraphLaunch|999");
    replay(&s, graph, 1);
    tdm_graph_destroy(graph);
    small_close(&s);
}

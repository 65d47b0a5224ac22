/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* The operations that are tasks: two devices at once, files, tensors on their way, attention, an encoder,
 * graphs. */
#include "cases/task.h"

#define TASK(title, kind, which)                                                                   \
    { .name = title, .baseline = kind, .task = &bench_task_##which }

const bench_op bench_ops_tasks[] = {
    TASK("two_devices", BENCH_BASELINE_GEMM, two_devices),
    TASK("file_save", BENCH_BASELINE_MOVE, save),
    TASK("file_load", BENCH_BASELINE_MOVE, load),
    TASK("to_device", BENCH_BASELINE_MOVE, to_there),
    TASK("to_device+back", BENCH_BASELINE_MOVE, to_back),
    TASK("to_device+same", BENCH_BASELINE_MOVE, to_same),
    TASK("attention", BENCH_BASELINE_GEMM, attention),
    TASK("encoder", BENCH_BASELINE_GEMM, encoder),
    TASK("encoder+ragged", BENCH_BASELINE_GEMM, encoder_ragged),
    TASK("graph", BENCH_BASELINE_EMPTY_FINISH, graph),
    TASK("graph+nodes", BENCH_BASELINE_GRAPH, graph_nodes),
};
const size_t bench_ops_tasks_count = sizeof bench_ops_tasks / sizeof *bench_ops_tasks;

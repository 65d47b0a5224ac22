/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* The operations that are tasks: two devices at once, files, tensors on their way, attention, an encoder,
 * graphs. */
#include "cases/task.h"

#define TASK(title, which)                                                                         \
    { .name = title, .task = &bench_task_##which }

const bench_op bench_ops_tasks[] = {
    TASK("two_devices", two_devices),
    TASK("file_save", save),
    TASK("file_load", load),
    TASK("to_device", to_there),
    TASK("to_device+back", to_back),
    TASK("to_device+same", to_same),
    TASK("attention", attention),
    {.name = "encoder", .task = &bench_task_encoder, .peers = "encoder"},
    {.name = "encoder+ragged", .task = &bench_task_encoder_ragged, .peers = "encoder+ragged"},
    TASK("graph", graph),
    TASK("graph+nodes", graph_nodes),
    {0},
};

/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* Transfers that wait: a queue has a gate before them, which its next wait opens. */
#ifndef CALLS_GATES_H
#define CALLS_GATES_H

#include <stdbool.h>

#include "opencl/api.h"

/* Whether transfers get gates; when they no longer do, all gates are opened, and what waited is over. */
void gates_hold(bool hold);

/* Puts a gate before the queue's next command, where gates are wanted and it has none. */
void gates_close(cl_command_queue queue);

/* Opens the gate of a queue, or with NULL any gate: whether there was one. */
bool gates_open(cl_command_queue queue);

#endif

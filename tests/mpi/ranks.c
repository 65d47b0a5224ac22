/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* One rank's checks. */
#include "ranks.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

_Thread_local int rank, ranks;
_Thread_local tdm_device *device;
_Thread_local tdm_queue *queue;
_Thread_local tdm_comm *comm;
_Thread_local long checks, failures;

void check(int line, bool ok, const char *format, ...) {
    checks++;
    if (ok) return;
    if (failures++ > 20) return;
    char text[1024];
    va_list list;
    va_start(list, format);
    vsnprintf(text, sizeof text, format, list);
    va_end(list);
    fprintf(stderr, "rank %d, line %d: %s\n", rank, line, text);
}

double *values_of(const tdm_tensor *tensor) {
    const size_t n = (size_t)tdm_tensor_get_count(tensor);
    double *values = malloc((n + 1) * sizeof *values);
    tdm_tensor wide = {0};
    OK(tdm_empty(queue, TDM_F64, tensor->ndim, tensor->shape, &wide));
    OK(tdm_cast(queue, tensor, &wide));
    OK(tdm_to_host(queue, &wide, values));
    tdm_tensor_release(&wide);
    return values;
}

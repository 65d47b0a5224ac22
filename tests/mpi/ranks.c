/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* One rank's checks. */
#include "ranks.h"

#include <stdarg.h>
#include <stdio.h>

int rank, ranks;
tdm_device *device;
tdm_queue *queue;
tdm_comm *comm;
long checks, failures;

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

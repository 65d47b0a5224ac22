/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
#include "rows/shape.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

bench_shape bench_parse_shape(const char *text) {
    bench_shape shape = {.batch = 1};
    char *end;
    snprintf(shape.text, sizeof shape.text, "%s", text);
    const char *star = strchr(text, '*');
    if (star) shape.batch = strtoll(text, &end, 10);
    for (text = star ? star + 1 : text; shape.extents < BENCH_MAX_EXTENTS; text = end + 1) {
        shape.extent[shape.extents++] = strtoll(text, &end, 10);
        if (*end != 'x') break;
    }
    return shape;
}

/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* The bytes that a baseline's copy reads. */
#include <stdlib.h>
#include <string.h>

#include "baselines/baseline.h"

void *bench_make_source(const bench_request *request, size_t bytes) {
    char *source = calloc(1, bytes);
    int first = 0;
    while (first < request->operands && !request->input[first])
        first++;
    if (!source || first == request->operands) return source;
    const size_t size = request->bytes[first];
    for (size_t at = 0; size > 0 && at < bytes; at += size)
        memcpy(source + at, request->input[first], size < bytes - at ? size : bytes - at);
    return source;
}

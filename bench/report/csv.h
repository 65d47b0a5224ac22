/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* Values between commas, quoted as in RFC 4180; lines end with a newline. */
#ifndef BENCH_CSV_H
#define BENCH_CSV_H

#include <stdio.h>

#include <jansson.h>

/* A text, in quotes where it needs them. */
void csv_print_text(FILE *stream, const char *text);

/* A number, a text, "true", "false", or nothing for null; an object or a list as JSON. */
void csv_print_value(FILE *stream, const json_t *value);

#endif

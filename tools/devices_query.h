/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* Chosen figures of the devices, by the keys that they have in the JSON; those of an object in it
 * have a dotted name: "usage.memory_used". */
#ifndef TOOLS_DEVICES_QUERY_H
#define TOOLS_DEVICES_QUERY_H

#include "devices.h"

enum { QUERY_MOST_FIELDS = 64, QUERY_LONGEST_FIELD = 48 };

typedef enum devices_format {
    DEVICES_TABLE,
    DEVICES_CSV,
    DEVICES_JSON, /* one document */
    DEVICES_JSONL /* a device a line */
} devices_format;

typedef struct devices_query {
    char field[QUERY_MOST_FIELDS][QUERY_LONGEST_FIELD];
    size_t count;
} devices_query;

/* Every field, in the order of the JSON. */
void query_all(devices_query *query);

/* Reads field names between commas, in which '.' and '_' are the same: "name,memory.free". Returns
 * EXIT_OK, or EXIT_USAGE after it has said which one is unknown. */
int query_parse(const char *text, devices_query *query);

/* Puts the time first, unless the query has it. */
void query_begin_with_time(devices_query *query);

/* The names of all fields, and "help". */
const char *const *query_words(void);

/* Prints the names of all fields, one a line. */
void query_list(void);

/* These fields of every device as an array, which the caller gives back. */
json_t *query_json(const device_snapshot *snapshot, const devices_query *query);

/* Prints them as a table, csv, with its head when `with_head`, or jsonl. */
void query_print(const device_snapshot *snapshot, const devices_query *query, devices_format format,
                 bool with_head);

#endif

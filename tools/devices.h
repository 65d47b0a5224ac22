/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* The content of `tdm devices`, and the ways to show it. */
#ifndef TOOLS_DEVICES_H
#define TOOLS_DEVICES_H

#include <stdbool.h>
#include <stddef.h>
#include <time.h>

#include <jansson.h>
#include <tandem/tandem.h>

typedef struct device_row {
    const tdm_device_info *info;
    tdm_device_usage usage;
    bool is_default;
} device_row;

/* The devices at one moment. */
typedef struct device_snapshot {
    time_t time;
    size_t backend_counts[TDM_BACKEND_COUNT]; /* in the order of all_backends */
    size_t gpu_count;
    size_t count;
    device_row *rows;
} device_snapshot;

/* "cpu", "gpu" or "accelerator". */
const char *device_type_name(tdm_device_type type);

/* The table, at most `width` columns wide where that is enough for what never changes its width
 * (80 are). */
void print_devices_table(const device_snapshot *snapshot, int width);

/* A device as it stands in the JSON; the caller gives it back. */
json_t *json_device(const device_row *row);

/* All of it as JSON, which the caller gives back. */
json_t *json_devices(const device_snapshot *snapshot);

/* The time of the snapshot with its offset from UTC: "2026-11-27T20:25:00+0000". */
json_t *json_time(const device_snapshot *snapshot);

#endif

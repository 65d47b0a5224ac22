/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* Memory that parts of products use while they run, kept from one to the next: to get it from the system
 * each time costs a page fault for every 4 KiB. */
#include <stdlib.h>

#include "host/host.h"
#include "platform/memory.h"
#include "platform/threads.h"

enum { KEPT = 64, ALIGNMENT = 64, STEP = 64 << 10 };

/* More than this is given back to the system. */
static const size_t most_kept = (size_t)256 << 20;

typedef struct piece {
    void *memory;
    size_t room;
} piece;

static tdmi_mutex lock = TDMI_MUTEX_INIT;
static piece kept[KEPT];
static int count;
static size_t bytes_kept;

void *tdmi_host_scratch_take(size_t size, size_t *room) {
    piece found = {NULL, 0};
    tdmi_mutex_lock(&lock);
    for (int i = count - 1; i >= 0; i--) {
        if (kept[i].room < size && i > 0) continue;
        found = kept[i];
        kept[i] = kept[--count];
        bytes_kept -= found.room;
        break;
    }
    tdmi_mutex_unlock(&lock);
    if (found.room < size) { /* a larger one takes its place */
        tdmi_aligned_free(found.memory);
        found.room = (size + STEP - 1) / STEP * STEP;
        found.memory = tdmi_aligned_alloc(ALIGNMENT, found.room);
    }
    *room = found.room;
    return found.memory;
}

void tdmi_host_scratch_give(void *scratch, size_t room) {
    tdmi_mutex_lock(&lock);
    const bool keep = count < KEPT && room <= most_kept - bytes_kept;
    if (keep) {
        kept[count++] = (piece){scratch, room};
        bytes_kept += room;
    }
    tdmi_mutex_unlock(&lock);
    if (!keep) tdmi_aligned_free(scratch);
}

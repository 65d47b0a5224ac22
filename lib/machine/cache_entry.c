/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* Kernels with what they say of themselves. In an entry's content: the driver's binary, the lines,
 * and an end that has their length. */
#include "machine/cache_entry.h"

#include <stdio.h>
#include <string.h>

#include "base/text.h"

enum { LONGEST = 4096, LONGEST_LINE = 600 };

typedef struct about_end {
    char magic[8];
    uint64_t size; /* of the lines, each with its NUL */
} about_end;

static const char MAGIC[8] = {'T', 'D', 'M', 'A', 'B', 'O', 'U', 'T'};

void tdmi_cache_device(const tdmi_device_facts *facts, char text[TDMI_CACHE_DEVICE]) {
    if (facts->cache_key[0])
        snprintf(text, TDMI_CACHE_DEVICE, "%s", facts->cache_key);
    else
        snprintf(text, TDMI_CACHE_DEVICE, "%.200s|%.200s", facts->info.name,
                 facts->info.api_version);
}

void tdmi_cache_measured_device(const tdmi_device_facts *facts, char text[TDMI_CACHE_DEVICE]) {
    snprintf(text, TDMI_CACHE_DEVICE, "%.120s|%.120s|%.120s|%.100s", facts->info.platform,
             facts->info.name, facts->info.driver_version, facts->info.api_version);
}

/* The lines, each ended by a NUL; their size. */
static size_t write_lines(const tdmi_cache_about *about, char *text) {
    const char *const lines[] = {tdm_version(), about->backend, about->device,
                                 about->source->entry};
    size_t n = 0;
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) {
        size_t length = tdmi_length(lines[i], LONGEST_LINE);
        memcpy(text + n, lines[i], length);
        text[n + length] = '\0';
        n += length + 1;
    }
    for (const char *const *option = about->source->options; *option; option++) {
        const char *blank = option == about->source->options ? "" : " ";
        int length = snprintf(text + n, LONGEST - n, "%s%s", blank, *option);
        if (length < 0 || (size_t)length >= LONGEST - n) break;
        n += (size_t)length;
    }
    text[n] = '\0';
    return n + 1;
}

void tdmi_cache_write_kernel(tdmi_cache_key key, const tdmi_blob *binary,
                             const tdmi_cache_about *about) {
    about_end end;
    if (!binary->data || binary->size == 0) return;
    tdmi_blob whole = {tdmi_malloc(binary->size + LONGEST + 1 + sizeof end), 0};
    char *bytes = whole.data;
    if (!bytes) return;
    memcpy(bytes, binary->data, binary->size);
    memcpy(end.magic, MAGIC, sizeof MAGIC);
    end.size = write_lines(about, bytes + binary->size);
    memcpy(bytes + binary->size + end.size, &end, sizeof end);
    whole.size = binary->size + (size_t)end.size + sizeof end;
    tdmi_disk_cache_write(key, &whole);
    tdmi_free(bytes);
}

bool tdmi_cache_split(tdmi_blob *blob, char *lines[TDMI_CACHE_LINES]) {
    about_end end;
    char *bytes = (char *)blob->data;
    if (blob->size <= sizeof end) return false;
    memcpy(&end, bytes + blob->size - sizeof end, sizeof end);
    if (memcmp(end.magic, MAGIC, sizeof MAGIC) != 0 || end.size == 0 || end.size > LONGEST ||
        end.size >= blob->size - sizeof end)
        return false;
    const char *last = bytes + blob->size - sizeof end - 1;
    char *at = bytes + blob->size - sizeof end - end.size;
    size_t size = (size_t)(at - bytes);
    for (int i = 0; i < TDMI_CACHE_LINES; i++) {
        char *stop = at <= last ? memchr(at, '\0', (size_t)(last - at) + 1) : NULL;
        if (!stop) return false;
        lines[i] = at;
        at = stop + 1;
    }
    blob->size = size;
    return at == last + 1;
}

tdmi_cache_result tdmi_cache_read_kernel(tdmi_cache_key key, tdmi_blob *binary) {
    char *lines[TDMI_CACHE_LINES];
    const tdmi_cache_result result = tdmi_disk_cache_read(key, binary);
    if (result != TDMI_CACHE_GOOD || tdmi_cache_split(binary, lines)) return result;
    tdmi_free(binary->data);
    *binary = (tdmi_blob){NULL, 0};
    return TDMI_CACHE_BAD;
}

/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* A card's identity, in one form for all APIs that report it, and comparing it. */
#include "machine/identity.h"

#include <stdio.h>
#include <string.h>

#include "base/text.h"

enum { PREFIX = 4 }; /* "GPU-" */

void tdmi_uuid_text(const char *prefix, const uint8_t uuid[16], char text[48]) {
    int length = snprintf(text, 48, "%.3s-", prefix);
    for (int i = 0; i < 16; i++)
        length += snprintf(text + length, 48 - (size_t)length, "%s%02x",
                           i == 4 || i == 6 || i == 8 || i == 10 ? "-" : "", uuid[i]);
}

void tdmi_set_uuid(tdmi_device_facts *facts, const uint8_t uuid[16]) {
    static const uint8_t zero[16];
    tdm_device_info *info = &facts->info;
    /* A driver that has none to tell fills in zeros. */
    facts->has_uuid = memcmp(uuid, zero, sizeof zero) != 0;
    if (!facts->has_uuid) return;
    memcpy(facts->uuid, uuid, sizeof facts->uuid);
    /* A slice of a card made by MIG has another UUID, written with another prefix. */
    const char *prefix = info->type == TDM_DEVICE_CPU           ? "CPU"
                         : info->type == TDM_DEVICE_ACCELERATOR ? "ACC"
                         : strstr(info->name, " MIG ")          ? "MIG"
                                                                : "GPU";
    tdmi_uuid_text(prefix, uuid, info->uuid);
}

void tdmi_set_pci(tdm_device_info *info, uint32_t domain, uint32_t bus, uint32_t device,
                  uint32_t function) {
    char text[32];
    /* That is the host's own bridge, and what a driver says that does not know the address. */
    if (domain == 0 && bus == 0 && device == 0 && function == 0) return;
    snprintf(text, sizeof text, "%04x:%02x:%02x.%x", (unsigned)domain, bus & 0xffu, device & 0x1fu,
             function & 7u);
    if (strlen(text) < sizeof info->pci) strcpy(info->pci, text);
}

static bool same_uuid(const tdmi_device_facts *a, const tdmi_device_facts *b) {
    return a->has_uuid && b->has_uuid && memcmp(a->uuid, b->uuid, sizeof a->uuid) == 0;
}

static bool same_address(const tdmi_device_facts *a, const tdmi_device_facts *b) {
    return a->info.pci[0] && strcmp(a->info.pci, b->info.pci) == 0;
}

/* A driver lists a card once. Two of its devices at one address are slices of it, and the address
 * does not tell which of them another driver's device is. */
static bool is_slice(const tdmi_listed_device *devices, size_t count, size_t index) {
    const tdmi_listed_device *device = &devices[index];
    for (size_t i = 0; i < count; i++)
        if (i != index && devices[i].backend == device->backend &&
            strcmp(devices[i].facts.info.platform, device->facts.info.platform) == 0 &&
            same_address(&devices[i].facts, &device->facts) &&
            !same_uuid(&devices[i].facts, &device->facts))
            return true;
    return false;
}

/* By UUID, or, where one of them has none, by address. Two entries of one backend never are: to
 * list a card twice is a smaller fault than to lose one. */
bool tdmi_is_same_device(const tdmi_listed_device *devices, size_t count, size_t a, size_t b) {
    const tdmi_device_facts *left = &devices[a].facts, *right = &devices[b].facts;
    if (devices[a].backend == devices[b].backend) return false;
    if (left->has_uuid && right->has_uuid) return same_uuid(left, right);
    return same_address(left, right) && !is_slice(devices, count, a) &&
           !is_slice(devices, count, b);
}

bool tdmi_has_uuid(const tdm_device_info *info, const char *text) {
    if (!info->uuid[0]) return false;
    /* The same slice may be a "GPU-" to an API that does not say that it is one. */
    if (tdmi_is_same_word(text, "GPU-", PREFIX) || tdmi_is_same_word(text, "MIG-", PREFIX) ||
        tdmi_is_same_word(text, info->uuid, PREFIX))
        text += PREFIX;
    return tdmi_is_same_word(text, info->uuid + PREFIX, SIZE_MAX);
}

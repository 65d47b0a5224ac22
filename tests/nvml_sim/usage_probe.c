/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* Prints the library's figures of a card with the UUID and the address of the arguments, which no
 * machine of the tests has: linked with the static library, whose insides it calls.
 *
 *   usage_probe PREFIX UUID PCI [BYTES]   PREFIX: "GPU" or "MIG"; UUID: 32 hex digits, or "-";
 *                                         PCI: an address, or "-"; BYTES: held by this process
 *
 * One figure a line, "?" for unknown; then the processes; "known: 0" when no monitor knows it. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "base/env.h"
#include "devices/usage.h"
#include "machine/holders.h"
#include "machine/monitor.h"

static const char *number(uint64_t value, char text[24]) {
    snprintf(text, 24, value == TDM_UNKNOWN ? "?" : "%llu", (unsigned long long)value);
    return text;
}

static void print_usage(const tdm_device_usage *usage) {
    const struct {
        const char *name;
        uint64_t value;
    } figures[] = {
        {"memory_used", usage->memory_used},         {"memory_total", usage->memory_total},
        {"tandem_reserved", usage->tandem_reserved}, {"utilization", usage->utilization},
        {"temperature", usage->temperature},         {"power", usage->power},
        {"power_limit", usage->power_limit},         {"process_count", usage->process_count}};
    char text[24], reserved[24];
    for (size_t i = 0; i < sizeof figures / sizeof figures[0]; i++)
        printf("%s=%s;\n", figures[i].name, number(figures[i].value, text));
    for (size_t i = 0; i < usage->process_count; i++) {
        const tdm_process *process = &usage->processes[i];
        printf("process %s%llu memory=%s tandem=%s name=%s;\n",
               process->pid == (uint64_t)getpid() ? "self " : "", (unsigned long long)process->pid,
               number(process->memory, text), number(process->tandem_reserved, reserved),
               process->name);
    }
}

static void read_uuid(const char *text, uint8_t uuid[16]) {
    for (int i = 0; i < 16; i++) {
        char digits[3] = {text[2 * i], text[2 * i + 1], '\0'};
        uuid[i] = (uint8_t)strtoul(digits, NULL, 16);
    }
}

int main(int argc, char **argv) {
    static tdmi_listed_device device;
    static tdm_device_usage usage = TDM_DEVICE_USAGE_DEFAULTS;
    if (argc < 4) return 2;
    prctl(PR_SET_NAME, "probe\033\377"); /* a control character, and a byte that is no UTF-8 */
    tdmi_device_facts *facts = &device.facts;
    device.backend = tdmi_backends[0];
    facts->info.type = TDM_DEVICE_GPU;
    facts->info.memory_total = 1000;
    facts->has_uuid = strlen(argv[2]) == 32;
    if (facts->has_uuid) {
        read_uuid(argv[2], facts->uuid);
        snprintf(facts->info.uuid, sizeof facts->info.uuid, "%.3s-%s", argv[1], argv[2]);
    }
    if (strcmp(argv[3], "-") != 0)
        snprintf(facts->info.pci, sizeof facts->info.pci, "%.15s", argv[3]);
    if (argc > 4) tdmi_holding_add(tdmi_holding_open(&device, 0), strtoull(argv[4], NULL, 10));
    for (int i = 0; tdmi_monitors[i]; i++) {
        printf(
            "monitor %s known: %d\n", tdmi_monitors[i]->name,
            tdmi_monitors[i]->usage(facts->has_uuid ? facts->uuid : NULL, facts->info.pci, &usage));
    }
    tdmi_usage_of(&device, 0, &usage);
    print_usage(&usage);
    if (argc > 4) tdmi_holding_close(0);
    return 0;
}

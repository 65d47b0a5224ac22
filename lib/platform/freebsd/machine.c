/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* The machine, by FreeBSD's kernel. */
#include "platform/machine.h"

#include <stdio.h>
#include <sys/sysctl.h>
#include <sys/types.h>

#include "platform/memory.h"

void tdmi_machine_memory(uint64_t *total, uint64_t *available) {
    static const char *const pages[] = {"vm.stats.vm.v_free_count", "vm.stats.vm.v_inactive_count",
                                        "vm.stats.vm.v_laundry_count"};
    unsigned long bytes;
    size_t size = sizeof bytes;
    *total = sysctlbyname("hw.physmem", &bytes, &size, NULL, 0) == 0 ? bytes : UINT64_MAX;
    *available = 0;
    for (size_t i = 0; i < sizeof pages / sizeof *pages; i++) {
        unsigned count = 0;
        size = sizeof count;
        if (sysctlbyname(pages[i], &count, &size, NULL, 0) == 0)
            *available += (uint64_t)count * tdmi_page_size();
    }
    if (*available == 0) *available = UINT64_MAX;
}

void tdmi_machine_processor(char *name, size_t name_size, char *vendor, size_t vendor_size) {
    char text[256] = "CPU";
    size_t size = sizeof text - 1;
    (void)sysctlbyname("hw.model", text, &size, NULL, 0);
    snprintf(name, name_size, "%s", text);
    snprintf(vendor, vendor_size, "unknown vendor");
}

uint64_t tdmi_machine_cache(void) { return 0; }

void tdmi_machine_instructions(void (*take)(void *context, const char *text), void *context) {
    char name[256], vendor[16];
    tdmi_machine_processor(name, sizeof name, vendor, sizeof vendor);
    take(context, name);
}

/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* The machine, by macOS's kernel. */
#include "platform/machine.h"

#include <mach/mach.h>
#include <stdbool.h>
#include <stdio.h>
#include <sys/sysctl.h>

#include "platform/memory.h"

static bool ask_text(const char *name, char *text, size_t size) {
    return sysctlbyname(name, text, &size, NULL, 0) == 0 && text[0];
}

static uint64_t ask_number(const char *name) {
    uint64_t number = 0;
    size_t size = sizeof number;
    return sysctlbyname(name, &number, &size, NULL, 0) == 0 ? number : 0;
}

void tdmi_machine_memory(uint64_t *total, uint64_t *available) {
    vm_statistics64_data_t pages;
    mach_msg_type_number_t count = HOST_VM_INFO64_COUNT;
    const uint64_t bytes = ask_number("hw.memsize");
    *total = bytes ? bytes : UINT64_MAX;
    *available = UINT64_MAX;
    if (host_statistics64(mach_host_self(), HOST_VM_INFO64, (host_info64_t)&pages, &count) ==
        KERN_SUCCESS)
        *available = ((uint64_t)pages.free_count + pages.inactive_count + pages.purgeable_count) *
                     tdmi_page_size();
}

void tdmi_machine_processor(char *name, size_t name_size, char *vendor, size_t vendor_size) {
    char text[256] = "";
    snprintf(name, name_size, "%s",
             ask_text("machdep.cpu.brand_string", text, sizeof text) ? text : "CPU");
    text[0] = '\0';
    snprintf(vendor, vendor_size, "%s",
             ask_text("machdep.cpu.vendor", text, sizeof text) ? text : "Apple");
}

/* Apple's processors have a second level that cores share, and no third. */
uint64_t tdmi_machine_cache(void) {
    const uint64_t third = ask_number("hw.l3cachesize");
    return third ? third : ask_number("hw.l2cachesize");
}

void tdmi_machine_instructions(void (*take)(void *context, const char *text), void *context) {
    static const char *const names[] = {"machdep.cpu.brand_string", "machdep.cpu.features",
                                        "machdep.cpu.leaf7_features"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        char text[1024] = "";
        if (ask_text(names[i], text, sizeof text)) take(context, text);
    }
}

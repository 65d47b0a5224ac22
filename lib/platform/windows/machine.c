/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* The machine, by Windows. */
#include "platform/machine.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "win.h"

void tdmi_machine_memory(uint64_t *total, uint64_t *available) {
    MEMORYSTATUSEX memory = {.dwLength = sizeof memory};
    const bool known = GlobalMemoryStatusEx(&memory);
    *total = known ? memory.ullTotalPhys : UINT64_MAX;
    *available = known ? memory.ullAvailPhys : UINT64_MAX; /* and no more than may be committed */
    if (known && memory.ullAvailPageFile < *available) *available = memory.ullAvailPageFile;
}

static bool ask(const wchar_t *name, char *text, size_t size) {
    static const wchar_t key[] = L"HARDWARE\\DESCRIPTION\\System\\CentralProcessor\\0";
    wchar_t wide[256];
    DWORD bytes = sizeof wide;
    return RegGetValueW(HKEY_LOCAL_MACHINE, key, name, RRF_RT_REG_SZ, NULL, wide, &bytes) ==
               ERROR_SUCCESS &&
           tdmi_win_narrow_into(wide, text, size) && text[0];
}

/* Intel's names have spaces in front. */
void tdmi_machine_processor(char *name, size_t name_size, char *vendor, size_t vendor_size) {
    char text[256];
    const bool known = ask(L"ProcessorNameString", text, sizeof text);
    snprintf(name, name_size, "%s", known ? text + strspn(text, " ") : "CPU");
    snprintf(vendor, vendor_size, "%s",
             ask(L"VendorIdentifier", text, sizeof text) ? text : "unknown vendor");
}

uint64_t tdmi_machine_cache(void) {
    DWORD bytes = 0;
    uint64_t largest = 0;
    (void)GetLogicalProcessorInformation(NULL, &bytes);
    SYSTEM_LOGICAL_PROCESSOR_INFORMATION *found = bytes ? malloc(bytes) : NULL;
    if (found && GetLogicalProcessorInformation(found, &bytes))
        for (size_t i = 0; i < bytes / sizeof *found; i++)
            if (found[i].Relationship == RelationCache && found[i].Cache.Level == 3 &&
                found[i].Cache.Size > largest)
                largest = found[i].Cache.Size;
    free(found);
    return largest;
}

/* The family, the model and the stepping, and which of the instructions that Windows numbers there are. */
void tdmi_machine_instructions(void (*take)(void *context, const char *text), void *context) {
    static const wchar_t *const values[] = {L"ProcessorNameString", L"Identifier"};
    char text[256];
    for (size_t i = 0; i < sizeof values / sizeof *values; i++)
        if (ask(values[i], text, sizeof text)) take(context, text);
    for (DWORD feature = 0; feature < 64; feature++)
        text[feature] = IsProcessorFeaturePresent(feature) ? '1' : '0';
    text[64] = '\0';
    take(context, text);
}

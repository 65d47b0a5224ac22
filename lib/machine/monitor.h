/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* The contract between the core and a monitor: a vendor's library that reports how busy a card is,
 * whatever API the card is listed by. A monitor is one const table, as a backend is, and is there
 * for the cards of a backend that TANDEM_BACKEND leaves out too. It includes what a
 * backend may include, and this header. */
#ifndef TDMI_MONITOR_H
#define TDMI_MONITOR_H

#include <stdbool.h>
#include <stdint.h>

#include <tandem/device.h>

typedef struct tdmi_monitor {
    const char *name;

    /* Finds a card by its UUID (16 bytes, or NULL) or, when it does not know that one, by its PCI
     * address ("" for none), and fills in what it can tell: memory, utilization, temperature,
     * power, and of each process pid and memory, in any order, at most TDM_MAX_PROCESSES. Leaves
     * alone what it cannot tell. False, and *usage untouched, when it does not know the card or its
     * library cannot be used. Opens the library at first use and makes no context. Any thread. */
    bool (*usage)(const uint8_t *uuid, const char *pci, tdm_device_usage *usage);

    /* Adds a diagnostic item for its library, opening it. */
    void (*diagnose)(void);
} tdmi_monitor;

/* Every monitor that was built, NULL-terminated. */
extern const tdmi_monitor *const tdmi_monitors[];

#endif

/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* Everything that lists devices and may be broken: each OpenCL driver, and each other backend that calls one.
 * Each is tried alone, in a child, so that a broken one can be identified. */
#ifndef DRIVERS_H
#define DRIVERS_H

#include "answer.h"
#include "findings.h"
#include "icd.h"

enum { DRIVER_PATH = 1024 };

typedef struct driver {
    const icd *icd; /* NULL for a backend */
    tdm_backend backend;
    char label[1600]; /* "pocl.icd (libpocl.so.2.9.0)" with its folder, "the cuda backend" */
    answer alone;     /* its devices when no other driver is there */
    bool good;
} driver;

typedef struct drivers {
    driver *items;
    size_t count;
    icd_list icds;
    char folder[DRIVER_PATH]; /* of this process alone; "" when none could be made */
} drivers;

/* The environment that leaves broken drivers out, for child_run. */
typedef struct driver_changes {
    char vendors[DRIVER_PATH + 64], backends[128];
    const char *changes[8];
} driver_changes;

/* Tries each driver and reports on it; false with a message when that is impossible. A driver gets
 * `seconds` for each step. Free in any case. */
bool drivers_try(drivers *all, double seconds, findings *list);
void drivers_free(drivers *all);

bool drivers_are_good(const drivers *all);

/* Makes the folder of the good ones and says what makes them the only ones. */
bool drivers_leave_out(const drivers *all, driver_changes *changes);

/* The driver that listed such a device when it was alone, or NULL. */
const driver *drivers_find(const drivers *all, const answer_device *device);

#endif

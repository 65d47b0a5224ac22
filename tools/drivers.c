/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* Trying every driver alone. */
#include "drivers.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "platform/folder.h"
#include "platform/process.h"
#include "platform/program.h"
#include "system_names.h"
#include "tools.h"

/* --- the folder ------------------------------------------------------------------------------- */

static bool make_folder(drivers *all) {
    if (tdmi_folder_make_temporary(NULL, all->folder, sizeof all->folder)) return true;
    fprintf(stderr,
            "tdm: no folder can be made for temporary files (TMPDIR names another place): %s\n",
            strerror(errno));
    all->folder[0] = '\0';
    return false;
}

static void remove_folder(const char *path);

/* A file of a folder, whose path is the context. */
static void remove_entry(void *context, const char *name) {
    char path[2 * DRIVER_PATH];
    const int length = snprintf(path, sizeof path, "%s/%s", (const char *)context, name);
    if (strcmp(name, ".") == 0 || strcmp(name, "..") == 0 || length >= (int)sizeof path) return;
    if (!tdmi_file_remove(TDMI_HERE, path)) remove_folder(path);
}

static void remove_folder(const char *path) {
    const tdmi_folder folder = tdmi_folder_open(TDMI_HERE, path, false, NULL);
    if (folder == TDMI_NO_FOLDER) return;
    (void)tdmi_folder_list(folder, remove_entry, (void *)path);
    tdmi_folder_close(folder);
    (void)tdmi_folder_remove(path);
}

void drivers_free(drivers *all) {
    if (all->folder[0]) remove_folder(all->folder);
    for (size_t i = 0; i < all->count; i++)
        answer_free(&all->items[i].alone);
    free(all->items);
    icd_free(&all->icds);
    *all = (drivers){0};
}

/* --- which there are -------------------------------------------------------------------------- */

/* Is the backend in a list with commas before, between and after? */
static bool is_in(const char *list, tdm_backend backend) {
    char wanted[32];
    snprintf(wanted, sizeof wanted, ",%s,", tdm_backend_name(backend));
    return strstr(list, wanted);
}

/* Is the backend built and in TANDEM_BACKEND? A TANDEM_BACKEND that is refused selects nothing, so
 * that nothing is left out. */
static bool is_selected(tdm_backend backend) {
    char list[128];
    const char *set = tdmi_environment_get("TANDEM_BACKEND");
    snprintf(list, sizeof list, ",%.120s,", set ? set : "auto");
    bool all = true;
    for (int b = 0; b < TDM_BACKEND_COUNT; b++)
        all = all && !is_in(list, all_backends[b]);
    return is_in("," TANDEM_BUILT_BACKENDS ",", backend) && (all || is_in(list, backend));
}

static bool find_drivers(drivers *all) {
    if (is_selected(TDM_OPENCL) && !icd_read(&all->icds)) return false;
    all->items = calloc(all->icds.count + TDM_BACKEND_COUNT, sizeof *all->items);
    if (!all->items) return false;
    for (size_t i = 0; i < all->icds.count; i++) {
        driver *made = &all->items[all->count++];
        const icd *found = &all->icds.items[i];
        made->icd = found;
        made->backend = TDM_OPENCL;
        snprintf(made->label, sizeof made->label, "%s%s%s%s", found->file,
                 found->library[0] ? " (" : "", found->library, found->library[0] ? ")" : "");
    }
    for (int b = 0; b < TDM_BACKEND_COUNT; b++) {
        /* the cpu backend calls no driver; those of OpenCL are tried one by one where a folder lists them */
        const bool listed = all_backends[b] == TDM_OPENCL && TDMI_OPENCL_VENDORS[0] != '\0';
        if (all_backends[b] == TDM_CPU || listed || !is_selected(all_backends[b])) continue;
        driver *made = &all->items[all->count++];
        made->backend = all_backends[b];
        snprintf(made->label, sizeof made->label, "the %s backend",
                 tdm_backend_name(all_backends[b]));
    }
    return true;
}

/* --- one alone -------------------------------------------------------------------------------- */

static const char broken_advice[] = "update or reinstall this driver, or remove the file; a folder "
                                    "without it, named by OCL_ICD_VENDORS, leaves it out";

/* Listed alone: the user's variables are ignored, except where they say where libraries are. */
static void ask_alone(const drivers *all, driver *one, double seconds) {
    static const char *const kept[] = {"TANDEM_LIBRARY_PATH", "TANDEM_CACHE_DIR"};
    enum { KEPT = sizeof kept / sizeof *kept };
    char vendors[DRIVER_PATH + 64], folders[KEPT][4096], backend[64];
    const char *changes[10] = {"TANDEM_*", NULL};
    size_t n = 1;
    for (int i = 0; i < KEPT; i++) {
        const char *set = tdmi_environment_get(kept[i]);
        if (!set) continue;
        snprintf(folders[i], sizeof folders[i], "%s=%s", kept[i], set);
        changes[n++] = folders[i];
    }
    snprintf(backend, sizeof backend, "TANDEM_BACKEND=%s", tdm_backend_name(one->backend));
    changes[n++] = backend;
    if (one->icd) {
        snprintf(vendors, sizeof vendors, "OCL_ICD_VENDORS=%s/only-%zu", all->folder,
                 (size_t)(one - all->items));
        const char *folder = strchr(vendors, '=') + 1;
        if (!tdmi_folder_make(TDMI_HERE, folder) || !icd_link(one->icd, folder, 0)) {
            snprintf(one->alone.why, sizeof one->alone.why, "cannot be tried alone: %s",
                     strerror(errno));
            return;
        }
        changes[n++] = vendors;
        changes[n++] = "OCL_ICD_FILENAMES";
    }
    answer_ask("list", NULL, changes, seconds, &one->alone);
}

/* The library's own diagnostics of a driver that did not bring the process down: its file's item
 * and its platforms'. */
static void judge(const driver *one, finding *out, char *detail, size_t size) {
    const answer *alone = &one->alone;
    size_t n = 0;
    out->state = FINDING_OK;
    out->advice = "";
    n += (size_t)snprintf(detail, size, "names %s", one->icd->library);
    for (size_t i = 0; i < alone->item_count && n < size; i++) {
        const finding *item = &alone->items[i];
        if (item->kind != TDM_DIAGNOSTIC_DRIVER) continue;
        bool is_file = strstr(item->subject, "/000.icd");
        if (item->state == FINDING_OK && is_file) continue;
        if (item->state != FINDING_OK) {
            out->state = FINDING_BROKEN;
            out->advice = item->advice;
        }
        if (is_file)
            n = (size_t)snprintf(detail, size, "%s", item->detail);
        else
            n += (size_t)snprintf(detail + n, size - n, "; %s: %s", item->subject, item->detail);
    }
    if (out->state != FINDING_OK || alone->device_count > 0) return;
    out->state = FINDING_BROKEN;
    out->advice = "check that its device is present and that this user may open it (groups render "
                  "and video), or remove the driver";
    if (n < size) snprintf(detail + n, size - n, ", which gives no device");
}

static void report_driver(driver *one, findings *list) {
    char detail[2048], advice[192];
    finding found = {TDM_DIAGNOSTIC_DRIVER, FINDING_BROKEN, one->icd ? one->icd->file : one->label,
                     detail, broken_advice};
    if (one->icd && one->icd->fault[0]) {
        snprintf(detail, sizeof detail, "%s", one->icd->fault);
    } else if (!one->alone.whole) {
        snprintf(detail, sizeof detail, "%s%s%s%s", one->icd ? "names " : "",
                 one->icd ? one->icd->library : "", one->icd ? ", which " : "", one->alone.why);
        if (!one->icd) {
            snprintf(advice, sizeof advice,
                     "reinstall the driver and the libraries of this backend; TANDEM_BACKEND "
                     "without %s leaves them out",
                     tdm_backend_name(one->backend));
            found.advice = advice;
        }
    } else {
        one->good = true;
        if (!one->icd) return; /* the library's own items tell */
        judge(one, &found, detail, sizeof detail);
    }
    findings_put(list, &found);
}

bool drivers_try(drivers *all, double seconds, findings *list) {
    *all = (drivers){0};
    if (!find_drivers(all)) {
        fputs("tdm: out of memory\n", stderr);
        return false;
    }
    if (!make_folder(all)) return false;
    for (size_t i = 0; i < all->count && !tdmi_interrupt_caught(); i++) {
        driver *one = &all->items[i];
        if (!one->icd || !one->icd->fault[0]) ask_alone(all, one, seconds);
        report_driver(one, list);
    }
    return true;
}

bool drivers_are_good(const drivers *all) {
    for (size_t i = 0; i < all->count; i++)
        if (!all->items[i].good) return false;
    return true;
}

/* --- without the broken ones ------------------------------------------------------------------ */

static bool is_good(const drivers *all, tdm_backend backend) {
    for (size_t i = 0; i < all->count; i++)
        if (!all->items[i].icd && all->items[i].backend == backend) return all->items[i].good;
    return backend == TDM_CPU || is_selected(backend);
}

/* TANDEM_BACKEND with those of the selection that are good, and the cpu. */
static void name_good_backends(const drivers *all, char *text, size_t size) {
    size_t n = (size_t)snprintf(text, size, "TANDEM_BACKEND");
    char separator = '=';
    for (int b = 0; b < TDM_BACKEND_COUNT && n < size; b++) {
        if (!is_good(all, all_backends[b])) continue;
        n += (size_t)snprintf(text + n, size - n, "%c%s", separator,
                              tdm_backend_name(all_backends[b]));
        separator = ',';
    }
}

bool drivers_leave_out(const drivers *all, driver_changes *changes) {
    bool leaves_backends_out = false;
    size_t n = 0;
    snprintf(changes->vendors, sizeof changes->vendors, "OCL_ICD_VENDORS=%s/good", all->folder);
    const char *folder = strchr(changes->vendors, '=') + 1;
    if (!tdmi_folder_make(TDMI_HERE, folder)) return false;
    for (size_t i = 0; i < all->count; i++) {
        const driver *one = &all->items[i];
        if (one->icd && one->good && !icd_link(one->icd, folder, i)) return false;
        leaves_backends_out = leaves_backends_out || (!one->icd && !one->good);
    }
    changes->changes[n++] = changes->vendors;
    changes->changes[n++] = "OCL_ICD_FILENAMES";
    if (leaves_backends_out) {
        name_good_backends(all, changes->backends, sizeof changes->backends);
        changes->changes[n++] = changes->backends;
    }
    changes->changes[n] = NULL;
    return true;
}

const driver *drivers_find(const drivers *all, const answer_device *device) {
    for (size_t i = 0; i < all->count; i++) {
        const answer *alone = &all->items[i].alone;
        for (size_t d = 0; all->items[i].good && d < alone->device_count; d++) {
            const answer_device *own = &alone->devices[d];
            if (all->items[i].icd && strcmp(own->name, device->name) == 0 &&
                strcmp(own->platform, device->platform) == 0 &&
                strcmp(own->api, device->api) == 0 && strcmp(own->driver, device->driver) == 0 &&
                strcmp(own->pci, device->pci) == 0)
                return &all->items[i];
        }
    }
    return NULL;
}

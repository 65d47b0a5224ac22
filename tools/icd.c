/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* Finding .icd files, and giving children a folder with some of them.
 *
 * ocl-icd takes for $OCL_ICD_VENDORS a folder, an .icd file or a library, Khronos' loader a folder
 * alone; Khronos' has $OCL_ICD_FILENAMES as well, a list of libraries. A folder of
 * copies is therefore what both understand. */
#include "icd.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "platform/folder.h"
#include "platform/path.h"
#include "platform/process.h"
#include "platform/program.h"
#include "system_names.h"
#include "tools.h"

static bool is_icd_name(const char *name) {
    size_t length = strlen(name);
    return length > 4 && strcmp(name + length - 4, ".icd") == 0;
}

/* Texts of files and variables are shown, so they are printable ASCII. */
static void make_printable(char *text) {
    for (; *text; text++)
        if (*text < ' ' || *text > '~') *text = '?';
}

static icd *add(icd_list *list, const char *file) {
    icd *grown = realloc(list->items, (list->count + 1) * sizeof *grown);
    if (!grown) return NULL;
    list->items = grown;
    icd *made = &grown[list->count++];
    memset(made, 0, sizeof *made);
    snprintf(made->file, sizeof made->file, "%s", file);
    return made;
}

/* The kind of a file that cannot be read as one. */
static const char *name_of_kind(tdmi_file_kind kind) {
    return kind == TDMI_FILE_FOLDER   ? "a folder"
           : kind == TDMI_FILE_PIPE   ? "a FIFO, on which an ICD loader may wait for ever"
           : kind == TDMI_FILE_DEVICE ? "a device"
                                      : "a socket";
}

static bool add_file(icd_list *list, const char *path) {
    icd *made = add(list, path);
    tdmi_file_info info;
    if (!made) return false;
    made->is_file = true;
    /* which does not wait, so that a FIFO is no trap for us */
    const tdmi_file file = tdmi_file_open(TDMI_HERE, path, TDMI_OPEN_READ, &info);
    bool read = false;
    if (file != TDMI_NO_FILE && info.kind != TDMI_FILE_REGULAR)
        snprintf(made->fault, sizeof made->fault, "is %s and no file that names a library",
                 name_of_kind(info.kind));
    else if (file != TDMI_NO_FILE)
        read = tdmi_file_read(file, 0, made->library, sizeof made->library - 1) > 0 || errno == 0;
    if (!read && !made->fault[0])
        snprintf(made->fault, sizeof made->fault, "cannot be read: %s", strerror(errno));
    if (file != TDMI_NO_FILE) (void)tdmi_file_close(file);
    memcpy(made->text, made->library, sizeof made->text);
    made->library[strcspn(made->library, "\r\n")] = '\0';
    make_printable(made->library);
    if (!made->library[0] && !made->fault[0])
        snprintf(made->fault, sizeof made->fault, "is empty: its first line names a library");
    return true;
}

typedef struct name_list {
    char **items;
    size_t count;
    bool good;
} name_list;

static void take_name(void *context, const char *name) {
    name_list *all = context;
    if (!is_icd_name(name)) return;
    char **grown = realloc(all->items, (all->count + 1) * sizeof *grown);
    if (grown) all->items = grown;
    char *copy = grown ? copy_text(name) : NULL;
    all->good = all->good && copy;
    if (copy) all->items[all->count++] = copy;
}

static int by_name(const void *a, const void *b) {
    return strcmp(*(char *const *)a, *(char *const *)b);
}

static bool add_folder(icd_list *list, const char *path) {
    name_list found = {.good = true};
    const tdmi_folder folder = tdmi_folder_open(TDMI_HERE, path, true, NULL);
    if (folder == TDMI_NO_FOLDER) return true;
    (void)tdmi_folder_list(folder, take_name, &found);
    tdmi_folder_close(folder);
    if (found.count > 0) qsort(found.items, found.count, sizeof *found.items, by_name);
    for (size_t i = 0; i < found.count; i++) {
        char file[sizeof list->items->file];
        const int length = snprintf(file, sizeof file, "%s/%s", path, found.items[i]);
        if (found.good && length > 0 && (size_t)length < sizeof file)
            found.good = add_file(list, file);
        free(found.items[i]);
    }
    free(found.items);
    return found.good;
}

static bool exists(const char *path, tdmi_file_info *info) {
    return tdmi_file_look_up(TDMI_HERE, path, true, info);
}

static bool add_library(icd_list *list, const char *variable, const char *name, size_t length) {
    icd *made = length > 0 ? add(list, variable) : NULL;
    if (made)
        snprintf(made->library, sizeof made->library, "%.*s", length < 500 ? (int)length : 500,
                 name);
    return made || length == 0;
}

bool icd_read(icd_list *list) {
    const char *vendors = tdmi_environment_get("OCL_ICD_VENDORS"),
               *names = tdmi_environment_get("OCL_ICD_FILENAMES");
    const char separator[] = {tdmi_path_separator, '\0'};
    tdmi_file_info info;
    char full[sizeof list->items->file];
    bool good;
    *list = (icd_list){0};
    if (!vendors || !*vendors) {
        good = add_folder(list, TDMI_OPENCL_VENDORS);
    } else if (exists(vendors, &info) && info.kind == TDMI_FILE_FOLDER) {
        good = add_folder(list, vendors);
    } else if (!is_icd_name(vendors)) {
        /* a path that leads nowhere is a folder that is not there */
        bool nothing = strchr(vendors, '/') && !exists(vendors, &info);
        good = nothing || add_library(list, "OCL_ICD_VENDORS", vendors, strlen(vendors));
    } else {
        int length = snprintf(full, sizeof full, TDMI_OPENCL_VENDORS "/%s", vendors);
        bool there = !strchr(vendors, '/') && length < (int)sizeof full;
        good = add_file(list, there && exists(full, &info) ? full : vendors);
    }
    while (good && names && *names) {
        size_t length = strcspn(names, separator);
        good = add_library(list, "OCL_ICD_FILENAMES", names, length);
        names += length + (names[length] != '\0');
    }
    return good;
}

void icd_free(icd_list *list) {
    free(list->items);
    *list = (icd_list){0};
}

bool icd_link(const icd *driver, const char *folder, size_t number) {
    char path[1100];
    snprintf(path, sizeof path, "%s/%03zu.icd", folder, number);
    FILE *file = tdmi_stream_open(path, "w");
    if (!file) return false;
    const bool written = driver->is_file ? fputs(driver->text, file) >= 0
                                         : fprintf(file, "%s\n", driver->library) > 0;
    return fclose(file) == 0 && written;
}

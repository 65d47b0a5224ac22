/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* Finding .icd files, and giving children a folder with some of them.
 *
 * ocl-icd takes for $OCL_ICD_VENDORS a folder, an .icd file or a library, Khronos' loader a folder
 * alone; Khronos' has $OCL_ICD_FILENAMES as well, a list of libraries. A folder of links is
 * therefore what both understand. */
#include "icd.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define SYSTEM_FOLDER "/etc/OpenCL/vendors"

static bool is_icd_name(const char *name) {
    size_t length = strlen(name);
    return length > 4 && strcmp(name + length - 4, ".icd") == 0;
}

static int is_icd_entry(const struct dirent *entry) { return is_icd_name(entry->d_name); }

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

/* What a file is that cannot be read as one. */
static const char *name_of_type(mode_t mode) {
    return S_ISDIR(mode)    ? "a folder"
           : S_ISFIFO(mode) ? "a FIFO, on which an ICD loader may wait for ever"
           : S_ISSOCK(mode) ? "a socket"
                            : "a device";
}

static bool add_file(icd_list *list, const char *path) {
    icd *made = add(list, path);
    struct stat status;
    if (!made) return false;
    made->is_file = true;
    /* so that a FIFO is no trap for us */
    int file = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC | O_NOCTTY);
    ssize_t size = -1;
    if (file >= 0 && fstat(file, &status) == 0) {
        if (S_ISREG(status.st_mode))
            size = read(file, made->library, sizeof made->library - 1);
        else
            snprintf(made->fault, sizeof made->fault, "is %s and no file that names a library",
                     name_of_type(status.st_mode));
    }
    if (size < 0 && !made->fault[0])
        snprintf(made->fault, sizeof made->fault, "cannot be read: %s", strerror(errno));
    if (file >= 0) close(file);
    made->library[strcspn(made->library, "\r\n")] = '\0';
    make_printable(made->library);
    if (!made->library[0] && !made->fault[0])
        snprintf(made->fault, sizeof made->fault, "is empty: its first line names a library");
    return true;
}

static bool add_folder(icd_list *list, const char *folder) {
    struct dirent **entries = NULL;
    int count = scandir(folder, &entries, is_icd_entry, alphasort);
    bool good = true;
    for (int i = 0; i < count; i++) {
        char path[sizeof list->items->file];
        int length = snprintf(path, sizeof path, "%s/%s", folder, entries[i]->d_name);
        if (good && length > 0 && (size_t)length < sizeof path) good = add_file(list, path);
        free(entries[i]);
    }
    free(entries);
    return good;
}

static bool add_library(icd_list *list, const char *variable, const char *name, size_t length) {
    icd *made = length > 0 ? add(list, variable) : NULL;
    if (made)
        snprintf(made->library, sizeof made->library, "%.*s", length < 500 ? (int)length : 500,
                 name);
    return made || length == 0;
}

bool icd_read(icd_list *list) {
    const char *vendors = getenv("OCL_ICD_VENDORS"), *names = getenv("OCL_ICD_FILENAMES");
    struct stat status;
    char full[sizeof list->items->file];
    bool good;
    *list = (icd_list){0};
    if (!vendors || !*vendors) {
        good = add_folder(list, SYSTEM_FOLDER);
    } else if (stat(vendors, &status) == 0 && S_ISDIR(status.st_mode)) {
        good = add_folder(list, vendors);
    } else if (!is_icd_name(vendors)) {
        /* a path that leads nowhere is a folder that is not there */
        bool nothing = strchr(vendors, '/') && access(vendors, F_OK) != 0;
        good = nothing || add_library(list, "OCL_ICD_VENDORS", vendors, strlen(vendors));
    } else {
        int length = snprintf(full, sizeof full, SYSTEM_FOLDER "/%s", vendors);
        bool there = !strchr(vendors, '/') && length < (int)sizeof full;
        good = add_file(list, there && access(full, F_OK) == 0 ? full : vendors);
    }
    while (good && names && *names) {
        size_t length = strcspn(names, ":");
        good = add_library(list, "OCL_ICD_FILENAMES", names, length);
        names += length + (names[length] == ':');
    }
    return good;
}

void icd_free(icd_list *list) {
    free(list->items);
    *list = (icd_list){0};
}

bool icd_link(const icd *driver, const char *folder, size_t number) {
    char path[1100], target[PATH_MAX];
    snprintf(path, sizeof path, "%s/%03zu.icd", folder, number);
    if (driver->is_file) return realpath(driver->file, target) && symlink(target, path) == 0;
    FILE *file = fopen(path, "we");
    if (!file) return false;
    bool written = fprintf(file, "%s\n", driver->library) > 0;
    return fclose(file) == 0 && written;
}

/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* A test's folder, and whole files in it. */
#include "folder.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "platform/folder.h"
#include "random.h"

static char folder[512];

static void end_test(const char *what) {
    fprintf(stderr, "tests: %s\n", what);
    abort();
}

void folder_make(void) {
    if (!tdmi_folder_make_temporary(NULL, folder, sizeof folder))
        end_test("no folder for temporary files");
}

const char *folder_path(const char *name) {
    static char paths[8][1024];
    static int next;
    char *path = paths[next++ % 8];
    snprintf(path, sizeof paths[0], "%s/%s", folder, name);
    return path;
}

typedef struct names {
    int count;
    char text[64][128];
} names;

static void add(void *context, const char *name) {
    names *all = context;
    if (strcmp(name, ".") == 0 || strcmp(name, "..") == 0) return;
    if (all->count == 64) end_test("too many files");
    snprintf(all->text[all->count++], sizeof all->text[0], "%s", name);
}

static int compare(const void *left, const void *right) { return strcmp(left, right); }

static void list(names *all) {
    const tdmi_folder opened = tdmi_folder_open(TDMI_HERE, folder, true, NULL);
    all->count = 0;
    if (opened == TDMI_NO_FOLDER || !tdmi_folder_list(opened, add, all))
        end_test("the folder cannot be listed");
    tdmi_folder_close(opened);
    qsort(all->text, (size_t)all->count, sizeof all->text[0], compare);
}

bool folder_holds(const char *wanted) {
    char text[4096] = "";
    names all;
    list(&all);
    for (int i = 0; i < all.count; i++) {
        const size_t used = strlen(text);
        snprintf(text + used, sizeof text - used, "%s%s", used ? "|" : "", all.text[i]);
    }
    if (strcmp(text, wanted) == 0) return true;
    fprintf(stderr, "tests: the folder holds %s\n", text);
    return false;
}

void folder_start(void) {
    random_start();
    folder_make();
}

void folder_remove(void) {
    names all;
    if (!folder[0]) return; /* a skipped test has removed it */
    list(&all);
    for (int i = 0; i < all.count; i++)
        (void)tdmi_file_remove(TDMI_HERE, folder_path(all.text[i]));
    (void)tdmi_folder_remove(folder);
    folder[0] = '\0';
}

unsigned char *file_read(const char *path, size_t *size) {
    tdmi_file_info info;
    const tdmi_file file = tdmi_file_open(TDMI_HERE, path, TDMI_OPEN_READ, &info);
    if (file == TDMI_NO_FILE) return NULL;
    *size = (size_t)info.size;
    unsigned char *bytes = malloc(*size + 1);
    if (!bytes) end_test("out of host memory");
    if (tdmi_file_read(file, 0, bytes, *size) != *size) end_test("a file that cannot be read");
    bytes[*size] = 0;
    (void)tdmi_file_close(file);
    return bytes;
}

void file_write(const char *path, const void *bytes, size_t size) {
    FILE *file = fopen(path, "wb");
    if (!file || fwrite(bytes, 1, size, file) != size || fclose(file) != 0)
        end_test("a file that cannot be written");
}

unsigned char *safetensors_bytes(const char *header, const void *data, size_t data_size,
                                 size_t *size) {
    size_t length = strlen(header);
    *size = 8 + length + data_size;
    unsigned char *bytes = malloc(*size);
    if (!bytes) end_test("out of host memory");
    for (int i = 0; i < 8; i++)
        bytes[i] = (unsigned char)((uint64_t)length >> (8 * i));
    memcpy(bytes + 8, header, length);
    for (size_t i = 0; i < data_size; i++)
        bytes[8 + length + i] = data ? ((const unsigned char *)data)[i] : (unsigned char)i;
    return bytes;
}

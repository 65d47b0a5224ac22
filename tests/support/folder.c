/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* A test's folder, and whole files in it. */
#include "folder.h"

#include <dirent.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static char folder[512];

static void end_test(const char *what) {
    fprintf(stderr, "tests: %s\n", what);
    abort();
}

void folder_make(void) {
    const char *base = getenv("TMPDIR");
    snprintf(folder, sizeof folder, "%s/tandem-test.XXXXXX", base && *base ? base : "/tmp");
    if (!mkdtemp(folder)) end_test("no folder for temporary files");
}

const char *folder_path(const char *name) {
    static char paths[8][1024];
    static int next;
    char *path = paths[next++ % 8];
    snprintf(path, sizeof paths[0], "%s/%s", folder, name);
    return path;
}

static int list(struct dirent ***entries) {
    int count = scandir(folder, entries, NULL, alphasort);
    return count < 0 ? 0 : count;
}

bool folder_holds(const char *names) {
    char all[4096] = "";
    struct dirent **entries = NULL;
    int count = list(&entries);
    for (int i = 0; i < count; i++) {
        const char *name = entries[i]->d_name;
        if (strcmp(name, ".") != 0 && strcmp(name, "..") != 0) {
            size_t used = strlen(all);
            snprintf(all + used, sizeof all - used, "%s%s", used ? "|" : "", name);
        }
        free(entries[i]);
    }
    free(entries);
    if (strcmp(all, names) == 0) return true;
    fprintf(stderr, "tests: the folder holds %s\n", all);
    return false;
}

void folder_remove(void) {
    struct dirent **entries = NULL;
    int count = list(&entries);
    for (int i = 0; i < count; i++) {
        const char *name = entries[i]->d_name;
        if (strcmp(name, ".") != 0 && strcmp(name, "..") != 0) remove(folder_path(name));
        free(entries[i]);
    }
    free(entries);
    rmdir(folder);
}

unsigned char *file_read(const char *path, size_t *size) {
    FILE *file = fopen(path, "rb");
    struct stat status;
    if (!file || fstat(fileno(file), &status) != 0) {
        if (file) fclose(file);
        return NULL;
    }
    *size = (size_t)status.st_size;
    unsigned char *bytes = malloc(*size + 1);
    if (!bytes) end_test("out of host memory");
    if (fread(bytes, 1, *size, file) != *size) end_test("a file that cannot be read");
    bytes[*size] = 0;
    fclose(file);
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

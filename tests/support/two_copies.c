/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* Two copies of the library in one process, as when two plugins bring their own.
 *
 *   two_copies LIBRARY LIBRARY NAME
 *
 * Opens the device in both and prints, at each step, the MiB that each hears to be held on it, and
 * by how many processes. */
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

#include <tandem/tandem.h>

typedef struct library {
    void *handle;
    tdm_status (*open)(const char *, tdm_device **);
    void (*close)(tdm_device *);
    tdm_status (*take)(tdm_device *, size_t, tdm_buffer **);
    void (*give)(tdm_buffer *);
    tdm_status (*find)(const char *, size_t *);
    tdm_status (*ask)(size_t, tdm_device_usage *);
    const char *(*error)(void);
    tdm_device *device;
    tdm_buffer *buffer;
} library;

static int find(library *l, const char *name, void *function) {
    void *symbol = dlsym(l->handle, name);
    memcpy(function, &symbol, sizeof symbol);
    return symbol ? 1 : 0;
}

static int load(library *l, const char *path) {
    l->handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!l->handle) fprintf(stderr, "two_copies: %s\n", dlerror());
    return l->handle && find(l, "tdm_device_open", &l->open) &&
           find(l, "tdm_device_release", &l->close) && find(l, "tdm_buffer_create", &l->take) &&
           find(l, "tdm_buffer_release", &l->give) && find(l, "tdm_find_device", &l->find) &&
           find(l, "tdm_get_listed_device_usage", &l->ask) && find(l, "tdm_last_error", &l->error);
}

static int hold(library *l, const char *name, size_t mib) {
    if (l->open(name, &l->device) == TDM_OK && l->take(l->device, mib << 20, &l->buffer) == TDM_OK)
        return 1;
    fprintf(stderr, "two_copies: %s\n", l->error());
    return 0;
}

static void let_go(library *l) {
    l->give(l->buffer);
    l->close(l->device);
}

static void print(const char *when, const library *first, const library *second, const char *name) {
    static tdm_device_usage a = TDM_DEVICE_USAGE_DEFAULTS, b = TDM_DEVICE_USAGE_DEFAULTS;
    size_t index = 0;
    if (first->find(name, &index) != TDM_OK || first->ask(index, &a) != TDM_OK ||
        second->ask(index, &b) != TDM_OK)
        return;
    printf("%s: first %d second %d processes %d;\n", when, (int)(a.tandem_reserved >> 20),
           (int)(b.tandem_reserved >> 20),
           (int)(a.process_count == b.process_count ? a.process_count : 99));
}

int main(int argc, char **argv) {
    library first = {0}, second = {0};
    if (argc != 4 || !load(&first, argv[1]) || !load(&second, argv[2])) return 2;
    if (first.open == second.open) return 2; /* one copy is no test */
    if (!hold(&first, argv[3], 64) || !hold(&second, argv[3], 32)) return 1;
    print("both", &first, &second, argv[3]);
    let_go(&second);
    print("the second closed", &first, &second, argv[3]);
    if (!hold(&second, argv[3], 1)) return 1;
    print("opened again", &first, &second, argv[3]);
    let_go(&first);
    print("the first closed", &first, &second, argv[3]);
    let_go(&second);
    print("all closed", &first, &second, argv[3]);
    return 0;
}

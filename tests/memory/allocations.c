/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* Every allocation of the library's while devices are listed and opened, made to fail in turn, each
 * in a separate process, until a run passes that no failure touched. The calls may then report that
 * memory is short; once there is memory again all devices are listed, described as in an undisturbed
 * process, and can be opened and used. The same where file descriptors are short.
 *
 * The linker replaces the calls of the library, linked into this program, with __wrap_malloc and its
 * like; drivers are shared libraries and keep theirs. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <tandem/tandem.h>

#include "base/env.h"
#include "core.h"

enum { DEVICES = 16, UNTOUCHED = 3, MOST = 2000 };

/* --- allocation ------------------------------------------------------------------------------- */

static unsigned long fail_at, allocations; /* 0: none fails */

static bool fails(void) { return fail_at > 0 && ++allocations == fail_at; }

void *__real_malloc(size_t size);
void *__real_calloc(size_t count, size_t size);
void *__real_realloc(void *old, size_t size);
char *__real_strdup(const char *text);
int __real_posix_memalign(void **pointer, size_t alignment, size_t size);
void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t count, size_t size);
void *__wrap_realloc(void *old, size_t size);
char *__wrap_strdup(const char *text);
int __wrap_posix_memalign(void **pointer, size_t alignment, size_t size);

void *__wrap_malloc(size_t size) { return fails() ? NULL : __real_malloc(size); }

void *__wrap_calloc(size_t count, size_t size) {
    return fails() ? NULL : __real_calloc(count, size);
}

void *__wrap_realloc(void *old, size_t size) { return fails() ? NULL : __real_realloc(old, size); }

char *__wrap_strdup(const char *text) { return fails() ? NULL : __real_strdup(text); }

int __wrap_posix_memalign(void **pointer, size_t alignment, size_t size) {
    return fails() ? 12 : __real_posix_memalign(pointer, alignment, size);
}

/* --- what is done ----------------------------------------------------------------------------- */

typedef struct listing {
    size_t count;
    tdm_device_info devices[DEVICES];
} listing;

static listing *undisturbed; /* shared with the children */

static tdm_status list(listing *now) {
    memset(now, 0, sizeof *now);
    tdm_status status = tdm_get_device_count(&now->count);
    for (size_t i = 0; status == TDM_OK && i < now->count && i < DEVICES; i++) {
        const tdm_device_info *info;
        status = tdm_get_listed_device(i, &info);
        if (status != TDM_OK) break;
        now->devices[i] = *info;
        now->devices[i].memory_free = 0; /* changes */
    }
    return status;
}

/* Opens the device and uses it a little. */
static tdm_status use(const char *name) {
    tdm_device *device = NULL;
    tdm_queue *queue = NULL;
    tdm_buffer *buffer = NULL;
    tdm_event *event = NULL;
    unsigned char byte = 0;
    tdm_status status = tdm_device_open(name, &device);
    if (status == TDM_OK) status = tdm_queue_create(device, 0, &queue);
    if (status == TDM_OK) status = tdm_buffer_create(device, 64, &buffer);
    if (status == TDM_OK) status = tdm_event_create(device, &event);
    if (status == TDM_OK) status = tdm_buffer_fill(queue, buffer, 0, 64, "x", 1);
    if (status == TDM_OK) status = tdm_queue_record_event(queue, event);
    if (status == TDM_OK) status = tdm_buffer_read(queue, buffer, 63, &byte, 1);
    if (status == TDM_OK && byte != 'x') status = TDM_ERROR_BACKEND;
    tdm_event_destroy(event);
    tdm_buffer_release(buffer);
    tdm_queue_destroy(queue);
    tdm_device_release(device);
    return status;
}

static bool may_be(tdm_status status) {
    return status == TDM_OK || (status == TDM_ERROR_OUT_OF_MEMORY && tdm_last_error()[0]);
}

static int bad(unsigned long nth, const char *what) {
    printf("FAILED: allocation %lu: %s: %s\n", nth, what, tdm_last_error());
    return 1;
}

static const char *const used[] = {"cpu", "cuda:0", "cuda:1"};
enum { USED = sizeof used / sizeof used[0] };

static int try_failure(unsigned long nth) {
    static listing now;
    (void)tdmi_env_values(); /* the environment is read once, before memory can be short */
    fail_at = nth;
    tdm_status listed = list(&now);
    bool excused = may_be(listed);
    for (int i = 0; excused && i < USED; i++)
        excused = may_be(use(used[i]));
    bool touched = allocations >= nth;
    fail_at = 0;
    if (!excused) return bad(nth, "the failure is reported as something else");
    if (listed == TDM_OK && memcmp(&now, undisturbed, sizeof now) != 0)
        return bad(nth, "another list");
    if (list(&now) != TDM_OK) return bad(nth, "no list afterwards");
    if (memcmp(&now, undisturbed, sizeof now) != 0) return bad(nth, "another list afterwards");
    for (int i = 0; i < USED; i++)
        if (use(used[i]) != TDM_OK) return bad(nth, used[i]);
    return touched ? 0 : UNTOUCHED;
}

/* The first call has no file descriptor to open a library with. */
static int list_without_files(unsigned long unused) {
    static listing now;
    struct rlimit limit, none;
    (void)unused;
    int lowest = dup(0);
    if (lowest < 0 || close(lowest) != 0 || getrlimit(RLIMIT_NOFILE, &limit) != 0) abort();
    none = limit;
    none.rlim_cur = (rlim_t)lowest;
    if (setrlimit(RLIMIT_NOFILE, &none) != 0) abort();
    if (list(&now) != TDM_OK) return bad(0, "no list without file descriptors");
    if (now.count >= undisturbed->count) return bad(0, "nothing was missing");
    if (setrlimit(RLIMIT_NOFILE, &limit) != 0) abort();
    if (list(&now) != TDM_OK || now.count != undisturbed->count)
        return bad(0, "devices are missing for ever without file descriptors");
    for (int i = 0; i < USED; i++)
        if (use(used[i]) != TDM_OK) return bad(0, used[i]);
    return 0;
}

/* Earlier measurements stay, whole, where they cannot be read. */
static int keep_without_memory(unsigned long unused) {
    char folder[] = "/tmp/tandem-allocations-XXXXXX", command[64];
    tdm_device *device = NULL;
    tdm_cache_listing *entries = NULL;
    tdmi_tuned records[2] = {{.product = {.m = 8, .n = 8, .k = 8, .batch = 1}}};
    size_t size[2] = {0};
    (void)unused;
    records[1] = records[0];
    records[1].product.m = 9;
    if (!mkdtemp(folder) || setenv("TANDEM_CACHE_DIR", folder, 1) != 0) abort();
    if (tdm_device_open("cpu", &device) != TDM_OK) return bad(0, "cpu");
    for (int i = 0; i < 2; i++) {
        const tdm_cache_entry *entry;
        const char *const backend = device->backend->name;
        allocations = 0;
        fail_at = (unsigned long)i;
        if (tdmi_tuned_keep(backend, device->facts, &records[i]) != (i == 0))
            return bad(fail_at, "a record is kept alone, or not at all");
        for (fail_at = 1; fail_at <= 3;
             fail_at++) { /* the listing, its entries, and what is read */
            allocations = 0;
            if (tdm_cache_listing_create(&entries) != TDM_ERROR_OUT_OF_MEMORY)
                return bad(fail_at, "a listing without memory");
        }
        fail_at = 0;
        if (tdm_cache_listing_create(&entries) != TDM_OK ||
            tdm_cache_listing_get_item(entries, 0, &entry) != TDM_OK || entry->fault[0])
            return bad(0, "what was kept is not there, whole");
        size[i] = entry->size;
        tdm_cache_listing_destroy(entries);
    }
    if (size[0] != size[1]) return bad(1, "another record is there");
    tdm_device_release(device);
    snprintf(command, sizeof command, "rm -rf %s", folder);
    return system(command);
}

/* --- all of them ------------------------------------------------------------------------------ */

static int in_child(int (*what)(unsigned long), unsigned long nth) {
    int how = 0;
    fflush(stdout);
    pid_t child = fork();
    if (child == 0) exit(what(nth)); /* exit: AddressSanitizer looks for leaks there */
    if (child < 0 || waitpid(child, &how, 0) != child || !WIFEXITED(how))
        return bad(nth, "the process did not end by itself");
    return WEXITSTATUS(how);
}

static int list_undisturbed(unsigned long unused) {
    (void)unused;
    return list(undisturbed) == TDM_OK && undisturbed->count >= 4 ? 0 : bad(0, "undisturbed");
}

int main(void) {
    undisturbed =
        mmap(NULL, sizeof *undisturbed, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (undisturbed == MAP_FAILED || in_child(list_undisturbed, 0) != 0) return 1;
    int defects = in_child(list_without_files, 0) + in_child(keep_without_memory, 0), result = 0;
    unsigned long nth = 0;
    while (result != UNTOUCHED && ++nth < MOST) {
        result = in_child(try_failure, nth);
        defects += result != 0 && result != UNTOUCHED;
    }
    printf("%lu allocations, %d defects\n", nth - 1, defects);
    return defects || nth < 20 || nth == MOST ? 1 : 0;
}

/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* Every call that lists an OpenCL device, made to fail: once, which goes unnoticed, because it is
 * made again at once; twice, after which the device may be missing, until the next call that lists
 * or opens. Each in a separate process, whose whole description of the devices is compared with that
 * of an undisturbed process. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <tandem/tandem.h>

#include "calls/stand_in.h"

enum { DEVICES = 8, UNTOUCHED = 3, OUT_OF_RESOURCES = -5, OUT_OF_HOST_MEMORY = -6, INVALID = -30 };

typedef struct listing {
    size_t count;
    tdm_device_info devices[DEVICES];
} listing;

static listing *undisturbed; /* shared with the children */

static bool list(listing *now) {
    memset(now, 0, sizeof *now);
    if (tdm_get_device_count(&now->count) != TDM_OK || now->count > DEVICES) return false;
    for (size_t i = 0; i < now->count; i++) {
        const tdm_device_info *info;
        if (tdm_get_listed_device(i, &info) != TDM_OK) return false;
        now->devices[i] = *info;
        now->devices[i].memory_free = 0; /* changes */
    }
    return true;
}

/* The same devices; with `in_order` at the same places. One that was missing at first comes last.
 */
static bool is_complete(const listing *now, bool in_order) {
    bool complete = now->count == undisturbed->count;
    for (size_t i = 0; complete && i < now->count; i++) {
        bool found = false;
        for (size_t j = 0; j < now->count; j++)
            found = found ||
                    ((i == j || !in_order) && memcmp(&now->devices[i], &undisturbed->devices[j],
                                                     sizeof now->devices[0]) == 0);
        complete = found;
    }
    return complete;
}

static int bad(unsigned long nth, int times, int code, const char *what) {
    printf("FAILED: call %lu, %d times, code %d: %s: %s\n", nth, times, code, what,
           tdm_last_error());
    return 1;
}

static int try_failure(unsigned long nth, int times, int code) {
    static listing now;
    tdm_device *device = NULL;
    const stand_in *const opencl = stand_in_open();
    for (int i = 0; i < times; i++)
        opencl->fail_nth(NULL, nth + (unsigned long)i, false, code);
    if (!list(&now)) return bad(nth, times, code, "no list");
    const unsigned long failures = opencl->failed(NULL);
    opencl->reset();
    if (failures == 0) return UNTOUCHED;
    if (times == 1 && !is_complete(&now, true)) return bad(nth, times, code, "another list");
    if (tdm_device_open("opencl:0", &device) != TDM_OK) return bad(nth, times, code, "no device");
    if (!list(&now) || !is_complete(&now, times == 1))
        return bad(nth, times, code, "a device or figure is missing for ever");
    tdm_device_release(device);
    return 0;
}

static int in_child(unsigned long nth, int times, int code) {
    int how = 0;
    fflush(stdout);
    pid_t child = fork();
    if (child == 0) exit(try_failure(nth, times, code));
    if (child < 0 || waitpid(child, &how, 0) != child || !WIFEXITED(how))
        return bad(nth, times, code, "no end");
    return WEXITSTATUS(how);
}

static void list_undisturbed(void) {
    undisturbed =
        mmap(NULL, sizeof *undisturbed, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (undisturbed == MAP_FAILED) abort();
    pid_t child = fork();
    if (child == 0) exit(list(undisturbed) ? 0 : 1);
    int how = 1;
    if (child < 0 || waitpid(child, &how, 0) != child || how != 0 || undisturbed->count < 2 ||
        strcmp(undisturbed->devices[0].id, "opencl:0") != 0) {
        printf("FAILED: undisturbed\n");
        exit(1);
    }
}

int main(void) {
    static const struct {
        int times, code;
    } kinds[] = {{1, OUT_OF_RESOURCES}, {1, INVALID}, {2, OUT_OF_HOST_MEMORY}};
    int defects = 0;
    unsigned long calls = 0;
    list_undisturbed();
    for (size_t kind = 0; kind < sizeof kinds / sizeof kinds[0]; kind++) {
        int result = 0;
        unsigned long nth = 1;
        for (; result != UNTOUCHED && nth < 1000; nth++) {
            result = in_child(nth, kinds[kind].times, kinds[kind].code);
            defects += result != 0 && result != UNTOUCHED;
        }
        calls = nth - 2;
    }
    printf("%lu calls, %d defects\n", calls, defects);
    return defects || calls < 10 ? 1 : 0;
}

/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* tdm cache warm: compiles the usual kernels of devices into the caches. */
#include <stdio.h>
#include <stdlib.h>

#include <report/progress.h>
#include <tandem/tandem.h>

#include "child.h"
#include "guard.h"
#include "options.h"
#include "tools.h"

enum { OPTION_DTYPE, OPTION_BUDGET };

static const option_spec options[] = {{"dtype", OPTION_DTYPE, "TYPE,...",
                                       "of tensors: f32, f64, f16, bf16 (default: f32)",
                                       dtype_words, true, false},
                                      OPTION("budget", OPTION_BUDGET, "SECONDS",
                                             "begin no kernel after this time (default: no limit)"),
                                      {0}};

static int cache_warm_command(int argc, char **argv);

const command_spec cache_warm_spec = {
    .name = "cache warm",
    .summary = "compile the usual kernels ahead of the first call",
    .operands = "[DEVICE...]",
    .description = "Compiles the kernels that programs usually need and keeps them, so that the "
                   "first call of a program does not wait for a compiler. Without a DEVICE, for "
                   "all that are listed. Each is kept when it is compiled, so Ctrl-C loses none.",
    .options = options,
    .run = cache_warm_command,
    .exit_status = "0 success, 1 failure, 2 wrong arguments.",
};

typedef struct warming {
    tdm_dtype dtypes[TDM_DTYPE_COUNT];
    size_t count;
    double budget, start; /* seconds of all devices, 0 without a limit; on child_now's clock */
    bool any;             /* a kernel is ready */
} warming;

/* One device, as its kernels are compiled. */
typedef struct watched {
    const warming *warming;
    const char *device;
    size_t all; /* 0 until the first is begun */
} watched;

static int take(void *context, int id, char *value) {
    warming *list = context;
    if (id == OPTION_BUDGET) return take_seconds("cache warm", "--budget", value, &list->budget);
    list->count = take_dtypes(value, list->dtypes);
    return EXIT_OK;
}

static void say_what_is_kept(const watched *w, size_t ready, size_t all) {
    guard_at_interrupt("cache warm: stopped: %zu of %zu kernels of %s are ready", ready, all,
                       w->device);
}

static bool watch(void *user, size_t ready, size_t all) {
    watched *w = user;
    char text[96];
    w->all = all;
    if (w->warming->budget > 0.0 && child_now() - w->warming->start > w->warming->budget)
        return false;
    say_what_is_kept(w, ready, all);
    snprintf(text, sizeof text, "kernels of %s", w->device);
    bench_progress(ready + 1, all, text);
    return true;
}

static int warm_device(const char *name, warming *r) {
    tdm_device *device;
    if (tdm_device_open(name, &device) != TDM_OK) return report_failure("cache warm");
    const double start = child_now();
    const char *id = tdm_device_get_info(device)->id;
    watched w = {r, id, 0};
    size_t kernels;
    const tdm_status status =
        tdm_device_warm_watched(device, r->dtypes, r->count, watch, &w, &kernels);
    int result = EXIT_OK;
    r->any = r->any || kernels > 0;
    bench_progress_end();
    if (status != TDM_OK)
        result = report_failure("cache warm");
    else if (w.all == 0)
        printf("%-10s its kernels are part of the library\n", id);
    else if (kernels < w.all)
        printf("%-10s %zu of %zu kernels are ready, after %.1f s; %zu left for lack of time: "
               "--budget\n",
               id, kernels, w.all, child_now() - start, w.all - kernels);
    else
        printf("%-10s %zu kernels are ready, after %.1f s\n", id, kernels, child_now() - start);
    (void)flush_output();
    tdm_device_release(device);
    return result;
}

static int warm_listed(size_t count, warming *list) {
    int result = EXIT_OK;
    for (size_t i = 0; i < count; i++) {
        const tdm_device_info *info;
        if (tdm_get_listed_device(i, &info) != TDM_OK || warm_device(info->id, list) != EXIT_OK)
            result = EXIT_FAILED;
    }
    return result;
}

/* Whether the folder has entries, of this run or of an earlier one. */
static bool any_kept(void) {
    tdm_cache_listing *listing;
    if (tdm_cache_listing_create(&listing) != TDM_OK) return false;
    const bool any = tdm_cache_listing_get_count(listing) > 0;
    tdm_cache_listing_destroy(listing);
    return any;
}

static int cache_warm_command(int argc, char **argv) {
    warming list = {.dtypes = {TDM_F32}, .count = 1};
    operand_list devices;
    size_t count;
    int status;
    if (!options_read(&cache_warm_spec, argc, argv, take, &list, &devices, &status)) return status;
    if (!guard_is_child()) return guard_run(NULL, SECONDS_FOR_A_DRIVER, false);
    if (tdm_get_device_count(&count) != TDM_OK) return report_failure("cache warm");
    guard_listed();
    list.start = child_now();
    if (devices.count == 0) status = warm_listed(count, &list);
    for (int i = 0; i < devices.count; i++)
        if (warm_device(devices.word[i], &list) != EXIT_OK) status = EXIT_FAILED;
    return !list.any || any_kept() ? status : report_unkept("cache warm");
}

/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* tdm cache warm: compiles the usual kernels of devices into the caches. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <tandem/tandem.h>

#include "guard.h"
#include "options.h"
#include "tools.h"

enum { OPTION_DTYPE };

static const option_spec options[] = {{"dtype", OPTION_DTYPE, "TYPE,...",
                                       "of tensors: f32, f64, f16, bf16 (default: f32)",
                                       dtype_words, true, false},
                                      {0}};

const command_spec cache_warm_spec = {
    .name = "cache warm",
    .summary = "compile the usual kernels ahead of the first call",
    .operands = "[DEVICE...]",
    .description =
        "Compiles the kernels that programs usually need and keeps them, so that the "
        "first call of a program does not wait for a compiler. Without a DEVICE, for all "
        "that are listed.",
    .options = options,
    .exit_status = "0 success, 1 failure, 2 wrong arguments.",
};

typedef struct dtype_list {
    tdm_dtype dtypes[TDM_DTYPE_COUNT];
    size_t count;
} dtype_list;

static void add_dtype(dtype_list *list, const char *word, size_t length) {
    for (int d = 0; d < TDM_DTYPE_COUNT; d++) {
        const char *name = tdm_dtype_name((tdm_dtype)d);
        if (strlen(name) != length || memcmp(word, name, length) != 0) continue;
        for (size_t k = 0; k < list->count; k++)
            if ((int)list->dtypes[k] == d) return;
        list->dtypes[list->count++] = (tdm_dtype)d;
    }
}

static int take(void *context, int id, char *value) {
    dtype_list *list = context;
    (void)id;
    list->count = 0;
    for (const char *word = value; *word;) {
        size_t length = strcspn(word, ",");
        add_dtype(list, word, length);
        word += length + (word[length] == ',');
    }
    return EXIT_OK;
}

static double seconds_now(void) {
    struct timespec now;
    timespec_get(&now, TIME_UTC);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static int warm_device(const char *name, const dtype_list *list) {
    tdm_device *device;
    if (tdm_device_open(name, &device) != TDM_OK) return report_failure("cache warm");
    double start = seconds_now();
    size_t kernels;
    tdm_status status = tdm_device_warm(device, list->dtypes, list->count, &kernels);
    double seconds = seconds_now() - start;
    const tdm_device_info *info = tdm_device_get_info(device);
    int result = EXIT_OK;
    if (status != TDM_OK)
        result = report_failure("cache warm");
    else if (kernels == 0)
        printf("%-10s its kernels are part of the library\n", info->id);
    else
        printf("%-10s %zu kernels are ready, after %.1f s\n", info->id, kernels, seconds);
    tdm_device_release(device);
    return result;
}

static int warm_listed(size_t count, const dtype_list *list) {
    int result = EXIT_OK;
    for (size_t i = 0; i < count; i++) {
        const tdm_device_info *info;
        if (tdm_get_listed_device(i, &info) != TDM_OK || warm_device(info->id, list) != EXIT_OK)
            result = EXIT_FAILED;
    }
    return result;
}

int cache_warm_command(int argc, char **argv) {
    dtype_list list = {{TDM_F32}, 1};
    operand_list devices;
    size_t count;
    int status;
    if (!options_read(&cache_warm_spec, argc - 1, argv + 1, take, &list, &devices, &status))
        return status;
    if (!guard_is_child()) return guard_run(argc, argv, SECONDS_FOR_A_DRIVER, false);
    if (tdm_get_device_count(&count) != TDM_OK) return report_failure("cache warm");
    guard_listed();
    if (devices.count == 0) return warm_listed(count, &list);
    for (int i = 0; i < devices.count; i++)
        if (warm_device(devices.word[i], &list) != EXIT_OK) status = EXIT_FAILED;
    return status;
}

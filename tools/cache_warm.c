/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* tdm cache warm: compiles the usual kernels of devices into the caches. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <tandem/tandem.h>

#include "tools.h"

static const char usage[] =
    "usage: tdm cache warm [--dtype NAME,...] [DEVICE...]\n"
    "\n"
    "Compiles the kernels that programs usually need and keeps them, so that the first call of a\n"
    "program does not wait for a compiler. Without a DEVICE, for all that are listed.\n"
    "\n"
    "  --dtype NAME,...   of tensors: f32, f64, f16, bf16 (default: f32)\n";

enum { MOST_DTYPES = 4 };

typedef struct dtype_list {
    tdm_dtype dtypes[MOST_DTYPES];
    size_t count;
} dtype_list;

static int refuse_dtype(const char *word) {
    static const char *const names[] = {"f32", "f64", "f16", "bf16", NULL};
    return refuse_word("cache warm", "unknown dtype", word, names);
}

static int add_dtype(dtype_list *list, const char *word) {
    static const tdm_dtype known[MOST_DTYPES] = {TDM_F32, TDM_F64, TDM_F16, TDM_BF16};
    for (int i = 0; i < MOST_DTYPES; i++) {
        if (strcmp(word, tdm_dtype_name(known[i])) != 0) continue;
        for (size_t k = 0; k < list->count; k++)
            if (list->dtypes[k] == known[i]) return EXIT_OK;
        list->dtypes[list->count++] = known[i];
        return EXIT_OK;
    }
    return refuse_dtype(word);
}

static int parse_dtypes(char *words, dtype_list *list) {
    list->count = 0;
    for (char *word = strtok(words, ","); word; word = strtok(NULL, ",")) {
        int status = add_dtype(list, word);
        if (status != EXIT_OK) return status;
    }
    return list->count > 0 ? EXIT_OK : refuse_dtype("");
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
    else if (info->backend == TDM_CPU)
        printf("%-10s its kernels are part of the library\n", info->id);
    else
        printf("%-10s %zu kernels are ready, after %.1f s\n", info->id, kernels, seconds);
    tdm_device_release(device);
    return result;
}

static int warm_listed(const dtype_list *list) {
    size_t count;
    if (tdm_get_device_count(&count) != TDM_OK) return report_failure("cache warm");
    int result = EXIT_OK;
    for (size_t i = 0; i < count; i++) {
        const tdm_device_info *info;
        if (tdm_get_device_info(i, &info) != TDM_OK || warm_device(info->id, list) != EXIT_OK)
            result = EXIT_FAILED;
    }
    return result;
}

int cache_warm_command(int argc, char **argv) {
    static const char *const options[] = {"--dtype", "--help", NULL};
    dtype_list list = {{TDM_F32}, 1};
    int names = 0;
    for (int i = 1; i < argc; i++) {
        char *words = NULL;
        if (strcmp(argv[i], "--help") == 0) {
            fputs(usage, stdout);
            return EXIT_OK;
        }
        if (strncmp(argv[i], "--dtype=", 8) == 0)
            words = argv[i] + 8;
        else if (strcmp(argv[i], "--dtype") == 0 && i + 1 < argc)
            words = argv[++i];
        else if (argv[i][0] == '-')
            return refuse_word("cache warm", "unknown option", argv[i], options);
        if (words) {
            int status = parse_dtypes(words, &list);
            if (status != EXIT_OK) return status;
        } else {
            argv[1 + names++] = argv[i];
        }
    }
    if (names == 0) return warm_listed(&list);
    int result = EXIT_OK;
    for (int i = 1; i <= names; i++)
        if (warm_device(argv[i], &list) != EXIT_OK) result = EXIT_FAILED;
    return result;
}

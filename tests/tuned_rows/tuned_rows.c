/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* Measurements of rows on a device, in the cache directory: launches go by them, results stay right, a row has the same
 * bits in every batch, and damaged or impossible ones are ignored. And tdm_rows_tune finds the fastest way, where this
 * program makes the others slow, but never one that is wrong. Each case is a separate process, as one reads what was
 * measured once.
 *
 *     tuned_rows DEVICE [CASE]   (in a folder that TANDEM_CACHE_DIR names, which is emptied) */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <tandem/tandem.h>

#include "core.h"
#include "kernel_list.h"

enum { ROWS = 7, COLS = 1000, STRIDE = COLS + 1 }; /* f32: less than 2^12 bytes */

static int failures;
static const char *device_name, *folder;
static tdm_device *device;
static tdm_queue *queue;

#define CHECK(condition, ...)                                                                      \
    do {                                                                                           \
        if (!(condition)) {                                                                        \
            failures++;                                                                            \
            printf("FAILED, line %d: ", __LINE__);                                                 \
            printf(__VA_ARGS__);                                                                   \
            printf("\n");                                                                          \
        }                                                                                          \
    } while (0)
#define OK(call)                                                                                   \
    do {                                                                                           \
        const tdm_status ok_status = (call);                                                       \
        CHECK(ok_status == TDM_OK, "%s: %s", tdm_status_name(ok_status), tdm_last_error());        \
        if (ok_status != TDM_OK) exit(1);                                                          \
    } while (0)

/* --- launches ------------------------------------------------------------------------------------ */

/* The last launch; and what tdm_rows_tune is to find: launches with other lanes, or that do not hold two vectors, are
 * slow, and those with `wrong` lanes do nothing. 0: none. */
static struct { unsigned lanes, vectors, groups; } last;
static unsigned watched_kernel = TDMI_KERNEL_LAYER_NORM, fast, wrong;

/* A key is that of tdmi_variant_key. */
static uint64_t key_of(const tdmi_bkernel *kernel) {
    for (size_t i = 0; i < queue->slot_count; i++)
        if (queue->slots[i].kernel == kernel) return queue->slots[i].key;
    return 0;
}

/* Where the last read of a queue went to, and whether that was freed since. */
static const void *destination;
static bool is_freed;

static void *allocate(size_t bytes, void *user) {
    (void)user;
    return malloc(bytes);
}

static void release(void *pointer, size_t bytes, void *user) {
    (void)user;
    const uintptr_t begin = (uintptr_t)pointer, at = (uintptr_t)destination;
    is_freed = is_freed || (at >= begin && at < begin + bytes);
    free(pointer);
}

static tdmi_backend watched;
static tdm_status (*launch)(tdmi_bqueue *to, tdmi_bkernel *kernel, const tdmi_launch *of);

static tdm_status watch(tdmi_bqueue *to, tdmi_bkernel *kernel, const tdmi_launch *of) {
    const uint64_t key = key_of(kernel);
    if ((key & 255) == watched_kernel) {
        last.lanes = 1u << (key >> 14 & 15);
        last.vectors = key >> 18 & 255;
        last.groups = of->groups;
        if (last.lanes == wrong) return TDM_OK;
        if (fast && (last.lanes != fast || last.vectors != (TDMI_HOLDS | 2))) usleep(20000);
    }
    return launch(to, kernel, of);
}

static void open_device(void) {
    const tdm_allocator allocator = {sizeof allocator, allocate, release, NULL};
    OK(tdm_set_allocator(&allocator));
    OK(tdm_device_open(device_name, &device));
    watched = *device->backend;
    launch = watched.launch;
    watched.launch = watch;
    device->backend = &watched;
}

static tdmi_row_choice record(unsigned lanes, unsigned vectors, unsigned groups) {
    return (tdmi_row_choice){.kernel = TDMI_KERNEL_LAYER_NORM,
                             .t = TDM_F32,
                             .u = TDM_F32,
                             .size = 12,
                             .lanes = (uint16_t)lanes,
                             .vectors = (uint8_t)vectors,
                             .groups = (uint8_t)groups};
}

static void keep(tdmi_row_choice choice) {
    CHECK(tdmi_tuned_keep_rows(device->backend->name, device->facts, &choice), "nothing is kept");
}

static tdmi_variant usual(void) {
    const tdmi_variant wanted = {
        .kernel = TDMI_KERNEL_LAYER_NORM, .t = TDM_F32, .u = TDM_F32, .op = 0, .vectors = 1};
    return tdmi_variant_for(device->facts, wanted, COLS, NULL);
}

/* --- results ------------------------------------------------------------------------------------- */

static float input[ROWS * STRIDE], got[ROWS * STRIDE];

/* Rows that lie so far apart, from this element on. */
static void normalize(int rows, int first, int stride, int offset) {
    tdm_tensor x, y;
    OK(tdm_from_host(queue, input + first * STRIDE, TDM_F32, TDM_SHAPE(rows * STRIDE), &x));
    OK(tdm_zeros(queue, TDM_F32, TDM_SHAPE(rows * STRIDE), &y));
    tdm_tensor xr = tdm_tensor_2d(x.buffer, TDM_F32, rows, COLS), yr = xr;
    xr.strides[0] = yr.strides[0] = stride;
    xr.offset = yr.offset = offset;
    yr.buffer = y.buffer;
    OK(tdm_layer_norm(queue, &xr, NULL, NULL, 1e-5, &yr));
    OK(tdm_to_host(queue, &y, got));
    tdm_tensor_release(&x);
    tdm_tensor_release(&y);
}

static void check_values(void) {
    for (int r = 0; r < ROWS; r++) {
        double mean = 0, variance = 0;
        for (int j = 0; j < COLS; j++)
            mean += (double)input[r * STRIDE + j] / COLS;
        for (int j = 0; j < COLS; j++)
            variance += pow((double)input[r * STRIDE + j] - mean, 2) / COLS;
        for (int j = 0; j < COLS; j++) {
            const double want = ((double)input[r * STRIDE + j] - mean) / sqrt(variance + 1e-5);
            const double is = (double)got[r * STRIDE + j];
            CHECK(fabs(is - want) < 1e-5, "row %d, column %d: %g, not %g", r, j, is, want);
            if (!(fabs(is - want) < 1e-5)) return;
        }
    }
}

/* Rows that are not aligned, then each alone, where it is: the same lanes and bits. */
static void check_results(unsigned lanes, unsigned vectors) {
    static float all[ROWS * STRIDE];
    for (int i = 0; i < ROWS * STRIDE; i++)
        input[i] = (float)(i * 7919 % 1009) / 100.0f;
    normalize(ROWS, 0, STRIDE, 0);
    check_values();
    CHECK(last.lanes == lanes, "%u lanes, not %u", last.lanes, lanes);
    CHECK(last.vectors == (vectors | TDMI_LOOSE), "vectors %#x, not %#x", last.vectors, vectors);
    memcpy(all, got, sizeof all);
    for (int r = 0; r < ROWS; r++) {
        normalize(1, r, STRIDE, 0);
        CHECK(last.lanes == lanes && last.vectors == vectors, "alone: %u lanes, vectors %#x",
              last.lanes, last.vectors);
        CHECK(memcmp(all + r * STRIDE, got, COLS * sizeof *got) == 0, "row %d has other bits", r);
    }
}

/* --- cases --------------------------------------------------------------------------------------- */

static void start(void) { OK(tdm_queue_create(device, 0, &queue)); }

static void goes_by_the_formula(void) {
    start();
    check_results(usual().lanes, usual().vectors);
}

static void nothing_was_measured(void) { goes_by_the_formula(); }

/* The last record of the same rows replaces the others. */
static void more_lanes(void) {
    keep(record(32, 4, 1));
    keep(record(256, 4, 1));
    keep(record(128, TDMI_HOLDS | 2, 1));
    start();
    check_results(128, TDMI_HOLDS | 2);
}

static void rows_not_held(void) {
    keep(record(32, 1, 1));
    start();
    check_results(32, 1);
}

/* Of rows of another size nothing is known, nor of another kernel or dtype. */
static void other_rows(void) {
    tdmi_row_choice others[] = {record(32, 1, 1), record(32, 1, 1), record(32, 1, 1)};
    others[0].size = 13;
    others[1].kernel = TDMI_KERNEL_RMS_NORM;
    others[2].t = others[2].u = TDM_F16;
    for (int i = 0; i < 3; i++)
        keep(others[i]);
    goes_by_the_formula();
}

static void too_few_lanes_to_hold(void) {
    keep(record(32, TDMI_HOLDS | 2, 1));
    goes_by_the_formula();
}

static void no_power_of_two(void) {
    keep(record(96, 4, 1));
    goes_by_the_formula();
}

static void more_than_the_device_has(void) {
    keep(record(2048, 4, 1));
    goes_by_the_formula();
}

static void unsound(void) {
    tdmi_row_choice choice = record(32, 1, 1);
    keep(choice);
    choice.kernel = 200;
    keep(choice);
    goes_by_the_formula();
}

static void a_damaged_file(void) {
    char command[4096];
    keep(record(32, 1, 1));
    snprintf(command, sizeof command,
             "cd '%s' && set -- *.bin && [ $# = 1 ] && printf '\\377' | "
             "dd of=$1 bs=1 seek=$(($(stat -c %%s $1) / 2)) conv=notrunc 2>dd",
             folder);
    CHECK(system(command) == 0, "no file to damage");
    goes_by_the_formula();
}

/* More rows than groups, a launch of which is counted. */
static unsigned groups_of_a_launch(void) {
    const int64_t rows = 16 * (int64_t)device->facts->max_groups;
    tdm_tensor x;
    OK(tdm_zeros(queue, TDM_F32, TDM_SHAPE(rows, COLS), &x));
    OK(tdm_layer_norm(queue, &x, NULL, NULL, 1e-5, &x));
    OK(tdm_queue_finish(queue));
    tdm_tensor_release(&x);
    return last.groups;
}

static void more_groups(void) {
    keep(record(256, 1, 3));
    start();
    const unsigned groups = groups_of_a_launch();
    CHECK(groups == 3 * device->facts->max_groups, "%u groups", groups);
}

/* A row that is cut, when it is alone, by two launches; and one of many, by one. The same lanes and bits. */
static void long_rows(void) {
    enum { LONG = 40000 };
    const int64_t rows = device->facts->max_groups;
    float *host = malloc((size_t)rows * LONG * sizeof *host), *alone = malloc(LONG * sizeof *alone);
    tdmi_row_choice choice = record(64, 2, 1);
    tdm_tensor x, y;
    choice.size = 18;
    keep(choice);
    start();
    for (int64_t i = 0; host && i < rows * LONG; i++)
        host[i] = (float)(i * 7919 % 1009) / 100.0f;
    OK(tdm_from_host(queue, host, TDM_F32, TDM_SHAPE(rows, LONG), &x));
    OK(tdm_zeros(queue, TDM_F32, TDM_SHAPE(rows, LONG), &y));
    OK(tdm_layer_norm(queue, &x, NULL, NULL, 1e-5, &y));
    CHECK(last.lanes == 64 && last.vectors == 2, "%u lanes, vectors %#x", last.lanes, last.vectors);
    OK(tdm_to_host(queue, &y, host));
    x.shape[0] = y.shape[0] = 1;
    OK(tdm_layer_norm(queue, &x, NULL, NULL, 1e-5, &y));
    CHECK(last.lanes == 64 && last.vectors == 2, "cut: %u lanes, vectors %#x", last.lanes,
          last.vectors);
    CHECK(last.groups > 1, "it is not cut");
    OK(tdm_to_host(queue, &y, alone));
    CHECK(memcmp(host, alone, LONG * sizeof *alone) == 0, "a row that is cut has other bits");
    tdm_tensor_release(&x);
    tdm_tensor_release(&y);
    free(host);
    free(alone);
}

/* --- measuring ----------------------------------------------------------------------------------- */

static void measure(const char *words) {
    char text[256], cut[5];
    double speedup = 0;
    start();
    OK(tdm_rows_tune(queue, "layer_norm", TDM_F32, ROWS, COLS, 0.1, &speedup, text, sizeof text));
    printf("%s\n", text);
    CHECK(strstr(text, words), "no \"%s\" in \"%s\"", words, text);
    CHECK(speedup > 1.0, "%g times as fast", speedup);
    /* this process stays with its choices */
    fast = wrong = 0;
    check_results(usual().lanes, usual().vectors);
    OK(tdm_rows_tune(queue, "softmax", TDM_F32, ROWS, COLS, 0.0, &speedup, cut, sizeof cut));
    CHECK(strlen(cut) == 4, "\"%s\"", cut);
}

static tdm_status (*read_bytes)(tdmi_bqueue *from, const tdmi_mem *mem, size_t offset, void *to,
                                size_t size);

static tdm_status watch_read(tdmi_bqueue *from, const tdmi_mem *mem, size_t offset, void *to,
                             size_t size) {
    destination = to;
    return read_bytes(from, mem, offset, to, size);
}

static tdm_status fail_to_wait(tdmi_bqueue *unused) {
    (void)unused;
    return tdmi_fail(TDM_ERROR_BACKEND, "no wait");
}

/* Memory that the device may still write when a wait has failed is no part of a stack, and stays until one succeeds. */
static void a_wait_that_fails(void) {
    char text[64];
    double speedup;
    start();
    const tdmi_backend whole = watched;
    read_bytes = watched.read;
    watched.read = watch_read;
    watched.queue_finish = watched.queue_drain = fail_to_wait;
    CHECK(tdm_rows_tune(queue, "softmax", TDM_F32, ROWS, COLS, 0.0, &speedup, text, sizeof text) ==
              TDM_ERROR_BACKEND,
          "%s", tdm_last_error());
    watched = whole;
    const uintptr_t here = (uintptr_t)text, at = (uintptr_t)destination;
    CHECK(at && (at > here ? at - here : here - at) > 8 << 20, "it is on the stack");
    CHECK(!is_freed, "it was freed");
    OK(tdm_queue_finish(queue));
    CHECK(is_freed, "it is not freed");
}

/* TANDEM_VERIFY compares what a program calls, and nothing of what is measured. */
static void verified_calls(void) {
    char text[256];
    double speedup;
    ((tdmi_env *)tdmi_env_values())->verify = 1;
    start();
    OK(tdm_rows_tune(queue, "layer_norm", TDM_F32, ROWS, COLS, 0.0, &speedup, text, sizeof text));
    CHECK(queue->verified == 0, "%llu calls were compared", (unsigned long long)queue->verified);
    check_results(usual().lanes, usual().vectors);
    CHECK(queue->verified > 0, "no call is compared any more");
}

static void refused(const char *operation, tdm_dtype dtype, int64_t rows, int64_t cols,
                    double seconds, const char *words) {
    char text[64];
    double speedup;
    const tdm_status status =
        tdm_rows_tune(queue, operation, dtype, rows, cols, seconds, &speedup, text, sizeof text);
    CHECK(status != TDM_OK && strstr(tdm_last_error(), words), "no \"%s\" in \"%s\"", words,
          status == TDM_OK ? "" : tdm_last_error());
}

static void refusals(void) {
    double speedup;
    start();
    refused("sum", TDM_F32, 1, 8, 0, "operation is sum, allowed are layer_norm");
    refused(NULL, TDM_F32, 1, 8, 0, "operation is NULL");
    refused("softmax", TDM_I32, 1, 8, 0, "dtype is i32");
    refused("softmax", TDM_F32, -1, 8, 0, "-1 rows of 8 columns");
    refused("softmax", TDM_F32, 1, 0, 0, "1 rows of 0 columns");
    refused("softmax", TDM_F32, 1, 8, -1, "seconds is -1");
    refused("softmax", TDM_F32, 1, 8, (double)NAN, "seconds is");
    CHECK(tdm_rows_tune(queue, "softmax", TDM_F32, 1, 8, 0, &speedup, NULL, 8) != TDM_OK, "text");
}

/* All operations and dtypes, with rows held and long: nothing is wrong of what is tried. */
static void right_ways(void) {
    static const char *const operations[] = {"layer_norm", "rms_norm", "softmax", "l2_normalize",
                                             "norm"};
    static const int64_t cols[] = {64, 1000, 40000};
    char text[256];
    double speedup;
    start();
    for (int i = 0; i < 15; i++) {
        const tdm_dtype dtype = i % 3 == 0 ? TDM_F32 : TDM_F16;
        OK(tdm_rows_tune(queue, operations[i % 5], dtype, i / 5 == 2 ? 2 : 5, cols[i / 5], 0.0,
                         &speedup, text, sizeof text));
        CHECK(!strstr(text, "wrong") && speedup >= 1.0, "%s of %lld: %s", operations[i % 5],
              (long long)cols[i / 5], text);
    }
}

/* --- processes ----------------------------------------------------------------------------------- */

static void in_a_process(const char *name, void (*test)(void)) {
    int status;
    fflush(stdout);
    const pid_t child = fork();
    if (child == 0) {
        failures = 0;
        open_device();
        test();
        if (queue) tdm_queue_destroy(queue);
        tdm_device_release(device);
        fflush(stdout);
        exit(failures != 0);
    }
    waitpid(child, &status, 0);
    printf("%s: %s\n", name, status == 0 ? "passed" : "FAILED");
    failures += status != 0;
}

static void find_fast_ones(void) {
    fast = 128;
    measure("128 lanes of 2 vectors, held: ");
}

/* 256 lanes would be the fastest, if they computed something. */
static void find_none_that_is_wrong(void) {
    fast = 128;
    wrong = 256;
    measure("ways failed or were wrong");
}

/* The comparison of the results is a norm, too, here of as many elements: it must not run in the way that is tried. */
static void find_no_wrong_norm(void) {
    char text[256];
    double speedup;
    watched_kernel = TDMI_KERNEL_NORM;
    wrong = 128;
    start();
    OK(tdm_rows_tune(queue, "norm", TDM_F32, COLS, COLS, 0.1, &speedup, text, sizeof text));
    CHECK(strncmp(text, "128 lanes", 9) != 0 && strstr(text, "ways failed or were wrong"), "%s",
          text);
}

static void uses_128(void) {
    start();
    check_results(128, TDMI_HOLDS | 2);
}

static void clear(void) {
    char command[4096];
    snprintf(command, sizeof command, "rm -rf '%s' && mkdir -m 700 '%s'", folder, folder);
    if (system(command) != 0) exit(1);
}

int main(int argc, char **argv) {
    static const struct {
        const char *name;
        void (*test)(void);
    } cases[] = {
        {"nothing was measured", nothing_was_measured},
        {"more lanes", more_lanes},
        {"rows that are not held", rows_not_held},
        {"other rows", other_rows},
        {"too few lanes to hold a row", too_few_lanes_to_hold},
        {"lanes that are no power of two", no_power_of_two},
        {"more lanes than the device has", more_than_the_device_has},
        {"a record of no kernel", unsound},
        {"a damaged file", a_damaged_file},
        {"a wait that fails", a_wait_that_fails},
        {"verified calls", verified_calls},
        {"more groups", more_groups},
        {"long rows", long_rows},
        {"refusals", refusals},
        {"right ways", right_ways},
    };
    folder = getenv("TANDEM_CACHE_DIR");
    device_name = argv[1];
    if (argc < 2 || argc > 3 || !folder) return 2;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        if (argc == 3 && strcmp(argv[2], cases[i].name) != 0) continue;
        clear();
        in_a_process(cases[i].name, cases[i].test);
        if (argc == 3) return failures != 0;
    }
    if (argc == 3) return 2;
    clear();
    in_a_process("the fastest", find_fast_ones);
    in_a_process("the next process", uses_128);
    clear();
    in_a_process("a wrong one", find_none_that_is_wrong);
    in_a_process("the next process", uses_128);
    in_a_process("a wrong norm", find_no_wrong_norm);
    printf("%d failures\n", failures);
    return failures != 0;
}

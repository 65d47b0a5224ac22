/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* A program that uses every struct which grows, compiled with today's headers or, with GROWN, with
 * those of a later version, and run with the library of either. Around each struct that it
 * allocates are canaries: a library that writes more than the program has is seen.
 *
 *     program FOLDER   (the folder that the library must come from) */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <tandem/tandem.h>

enum { N = 4, CANARY = 0x5a };
static int failures;

#define CHECK(condition, ...)                                                                      \
    do {                                                                                           \
        if (!(condition)) {                                                                        \
            failures++;                                                                            \
            printf("%d: ", __LINE__);                                                              \
            printf(__VA_ARGS__);                                                                   \
            printf("\n");                                                                          \
        }                                                                                          \
    } while (0)
#define OK(call)                                                                                   \
    do {                                                                                           \
        tdm_status ok_status = (call);                                                             \
        CHECK(ok_status == TDM_OK, "%s: %s", tdm_status_name(ok_status), tdm_last_error());        \
    } while (0)
#define REFUSED(call, want, words)                                                                 \
    do {                                                                                           \
        tdm_status refused_status = (call);                                                        \
        CHECK(refused_status == (want) && strstr(tdm_last_error(), words), "%s: %s",               \
              tdm_status_name(refused_status), tdm_last_error());                                  \
    } while (0)
/* A struct between canaries. */
#define GUARDED(type)                                                                              \
    struct {                                                                                       \
        unsigned char before[64];                                                                  \
        type value;                                                                                \
        unsigned char after[64];                                                                   \
    }
#define GUARD(g)                                                                                   \
    (memset((g).before, CANARY, sizeof(g).before), memset((g).after, CANARY, sizeof(g).after))
#define CHECK_GUARD(g)                                                                             \
    CHECK(is_canary((g).before) && is_canary((g).after), "%s was written outside its size", #g)

static bool is_canary(const unsigned char bytes[64]) {
    for (int i = 0; i < 64; i++)
        if (bytes[i] != CANARY) return false;
    return true;
}

static void products(tdm_queue *queue) {
    float values[N * N], got[N * N];
    tdm_tensor a, c;
    for (int i = 0; i < N * N; i++)
        values[i] = i % (N + 1) == 0 ? 2.0f : 0.0f;
    OK(tdm_from_host(queue, values, TDM_F32, TDM_SHAPE(N, N), &a));
    OK(tdm_zeros(queue, TDM_F32, TDM_SHAPE(N, N), &c));
    GUARDED(tdm_matmul_options) options = {.value = TDM_MATMUL_OPTIONS_DEFAULTS};
    GUARD(options);
    options.value.alpha = 0.5;
    OK(tdm_matmul(queue, &options.value, &a, &a, &c));
    OK(tdm_to_host(queue, &c, got));
    CHECK(got[0] == 2.0f && got[1] == 0.0f && got[N * N - 1] == 2.0f, "a product of %g", got[0]);
    memset(&options.value, 0xee, sizeof options.value);
    tdm_matmul_options_init(&options.value, sizeof options.value);
    CHECK(options.value.size == sizeof options.value && options.value.alpha == 1.0 &&
              options.value.beta == 0.0 && !options.value.bias,
          "tdm_matmul_options_init gives other defaults");
    OK(tdm_matmul(queue, &options.value, &a, &a, &c));
    tdm_matmul_options by_hand = {.activation = TDM_ACTIVATION_RELU};
    REFUSED(tdm_matmul(queue, &by_hand, &a, &a, &c), TDM_ERROR_INVALID_ARGUMENT,
            "TDM_MATMUL_OPTIONS_DEFAULTS");
    by_hand.size = 8;
    REFUSED(tdm_matmul(queue, &by_hand, &a, &a, &c), TDM_ERROR_INVALID_ARGUMENT, "size is 8");
    by_hand.size = (size_t)-1;
    REFUSED(tdm_matmul(queue, &by_hand, &a, &a, &c), TDM_ERROR_INVALID_ARGUMENT,
            "tdm_matmul_options");
    CHECK_GUARD(options);
    tdm_tensor_release(&a);
    tdm_tensor_release(&c);
}

static void tuning(tdm_queue *queue) {
    tdm_tensor a, c;
    GUARDED(tdm_matmul_tuning) tuning = {.value = TDM_MATMUL_TUNING_DEFAULTS};
    GUARD(tuning);
    OK(tdm_ones(queue, TDM_F32, TDM_SHAPE(N, N), &a));
    OK(tdm_empty(queue, TDM_F32, TDM_SHAPE(N, N), &c));
    OK(tdm_matmul_tune(queue, NULL, &a, &a, &c, 0.0, &tuning.value));
    CHECK(tuning.value.size == sizeof tuning.value && tuning.value.candidates > 0, "no candidates");
    tdm_matmul_tuning by_hand = {0};
    REFUSED(tdm_matmul_tune(queue, NULL, &a, &a, &c, 0.0, &by_hand), TDM_ERROR_INVALID_ARGUMENT,
            "TDM_MATMUL_TUNING_DEFAULTS");
    tdm_matmul_tuning_init(&tuning.value, sizeof tuning.value);
    OK(tdm_matmul_tune(queue, NULL, &a, &a, &c, 0.0, &tuning.value));
    CHECK_GUARD(tuning);
    tdm_tensor_release(&a);
    tdm_tensor_release(&c);
}

static void statistics(tdm_device *device) {
    GUARDED(tdm_memory_stats) stats = {.value = TDM_MEMORY_STATS_DEFAULTS};
    GUARD(stats);
    OK(tdm_device_get_memory_stats(device, &stats.value));
    CHECK(stats.value.size == sizeof stats.value && stats.value.allocations > 0, "no statistics");
    tdm_memory_stats by_hand = {0};
    REFUSED(tdm_device_get_memory_stats(device, &by_hand), TDM_ERROR_INVALID_ARGUMENT,
            "TDM_MEMORY_STATS_DEFAULTS");
    tdm_memory_stats_init(&stats.value, sizeof stats.value);
    OK(tdm_device_get_memory_stats(device, &stats.value));
    CHECK_GUARD(stats);

    static GUARDED(tdm_device_usage) usage = {.value = TDM_DEVICE_USAGE_DEFAULTS};
    GUARD(usage);
    OK(tdm_get_listed_device_usage(0, &usage.value));
    CHECK(usage.value.memory_total > 0 && usage.value.process_count > 0, "no usage");
    usage.value.size = 0;
    REFUSED(tdm_get_listed_device_usage(0, &usage.value), TDM_ERROR_INVALID_ARGUMENT,
            "TDM_DEVICE_USAGE_DEFAULTS");
    tdm_device_usage_init(&usage.value, sizeof usage.value);
    OK(tdm_get_listed_device_usage(0, &usage.value));
    CHECK_GUARD(usage);

    GUARDED(tdm_allocator) allocator;
    GUARD(allocator);
    memset(&allocator.value, 0xee, sizeof allocator.value);
    tdm_allocator_init(&allocator.value, sizeof allocator.value);
    CHECK(allocator.value.size == sizeof allocator.value && !allocator.value.allocate,
          "tdm_allocator_init gives other defaults");
    CHECK_GUARD(allocator);
}

static tdm_status progress(uint64_t done, uint64_t total, void *user) {
    *(uint64_t *)user = total - done;
    return TDM_OK;
}

static void files(tdm_queue *queue) {
    char path[] = "/tmp/tandem-abi-XXXXXX";
    uint64_t left = 1;
    int file = mkstemp(path);
    CHECK(file >= 0, "no file");
    close(file);
    tdm_state_dict *dict = NULL;
    tdm_tensor x;
    OK(tdm_ones(queue, TDM_F32, TDM_SHAPE(N), &x));
    OK(tdm_state_dict_create(&dict));
    OK(tdm_state_dict_set(dict, "x", &x));
    GUARDED(tdm_file_options) options = {.value = TDM_FILE_OPTIONS_DEFAULTS};
    GUARD(options);
    options.value.progress = progress;
    options.value.user = &left;
    OK(tdm_save(queue, dict, path, &options.value));
    CHECK(left == 0, "%llu bytes are left", (unsigned long long)left);
    tdm_file_options by_hand = {.budget = 1 << 20};
    REFUSED(tdm_save(queue, dict, path, &by_hand), TDM_ERROR_INVALID_ARGUMENT,
            "TDM_FILE_OPTIONS_DEFAULTS");
    tdm_file_options_init(&options.value, sizeof options.value);
    tdm_state_dict_destroy(dict);
    OK(tdm_load(queue, path, &options.value, &dict));
    CHECK_GUARD(options);
    tdm_state_dict_destroy(dict);
    tdm_tensor_release(&x);
    unlink(path);
}

/* Memory that the library allocates is read through its pointers, wherever the next one lies. */
static void lists(void) {
    size_t count = 0;
    OK(tdm_get_device_count(&count));
    for (size_t i = 0; i < count; i++) {
        const tdm_device_info *info = NULL;
        char id[32];
        OK(tdm_get_listed_device(i, &info));
        snprintf(id, sizeof id, "cpu:%zu", i);
        CHECK(info && strcmp(info->id, id) == 0, "device %zu is %s", i, info ? info->id : "NULL");
    }
    OK(tdm_get_diagnostic_count(&count));
    CHECK(count > 2, "%zu diagnostics", count);
    for (size_t i = 0; i < count; i++) {
        const tdm_diagnostic *item = NULL;
        OK(tdm_get_diagnostic(i, &item));
        CHECK(item && item->subject && item->subject[0], "diagnostic %zu has no subject", i);
    }
}

#if GROWN
/* Fields that the library may be too old for. */
static void later_fields(tdm_device *device, tdm_queue *queue, bool grown) {
    tdm_tensor a, c;
    OK(tdm_ones(queue, TDM_F32, TDM_SHAPE(N, N), &a));
    OK(tdm_zeros(queue, TDM_F32, TDM_SHAPE(N, N), &c));
    tdm_matmul_options options = TDM_MATMUL_OPTIONS_DEFAULTS;
    options.later[1] = 1;
    if (grown)
        OK(tdm_matmul(queue, &options, &a, &a, &c));
    else
        REFUSED(tdm_matmul(queue, &options, &a, &a, &c), TDM_ERROR_UNSUPPORTED,
                "built for a newer one");
    tdm_memory_stats stats = TDM_MEMORY_STATS_DEFAULTS;
    OK(tdm_device_get_memory_stats(device, &stats));
    CHECK(stats.later[2] == (grown ? 0 : TDM_UNKNOWN), "a field is %llx",
          (unsigned long long)stats.later[2]);
    tdm_tensor_release(&a);
    tdm_tensor_release(&c);
}
#endif

int main(int argc, char **argv) {
    tdm_device *device = NULL;
    tdm_queue *queue = NULL;
    if (argc != 2 || argv[1][0] != '/') return 2;
    OK(tdm_device_open("cpu", &device));
    OK(tdm_queue_create(device, 0, &queue));
    if (failures) return 1;
    products(queue);
    statistics(device);
    tuning(queue);
    files(queue);
    lists();
#if GROWN
    /* the later library lies next to this test's programs */
    later_fields(device, queue, strstr(argv[1], "/abi"));
#endif
    tdm_queue_destroy(queue);
    tdm_device_release(device);
    printf("%d failures\n", failures);
    return failures > 0;
}

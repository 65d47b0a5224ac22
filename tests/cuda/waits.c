/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* Waits that fail while work goes on: memory that the work uses stays until a later wait succeeds.
 * Streams work only while a call waits for them here, and the simulated machine reports memory
 * that is freed before work that uses it has run. Each test is a separate process. */
#include "traps.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "control.h"
#include "small.h"
#include "support/check.h"
#include "support/folder.h"

enum { UNKNOWN = 999, MIB = 1 << 20, COUNT = MIB / 4 };

static small s;

static void waits_begin(void) {
    setenv("TDM_CUDA_SIM", "lazy=1", 1);
    traps_begin();
    OK(small_open(&s, "cuda:0"));
}

static void waits_end(void) {
    small_close(&s);
    traps_end();
}

TestSuite(waits, .init = waits_begin, .fini = waits_end);

/* All waits fail from now on, until `heal`. */
static void break_waits(void) { cuda_sim_fail("cudaStreamSynchronize", 1, true, UNKNOWN); }

static void heal(void) {
    CHECK(cuda_sim_failures() > 0, "no wait failed");
    cuda_sim_heal();
}

/* Pieces of pinned memory that are in use, or may be: the others are given back. */
static size_t pinned(tdm_device *device) {
    OK(tdm_device_trim(device));
    return cuda_sim_alive(CUDA_SIM_PINNED);
}

/* One failure is waited out by the second try, and reported. */
Test(waits, one_failure) {
    void *mapped = &s, *memory = NULL;
    cuda_sim_fail("cudaStreamSynchronize", 1, false, UNKNOWN);
    REFUSED(tdm_buffer_map(s.queue, s.buffers[1], 0, SMALL_BYTES, TDM_MAP_READ, &mapped),
            TDM_ERROR_BACKEND, "cudaStreamSynchronize|error 999");
    CHECK(!mapped && pinned(s.device) == 0, "a mapping is left: %p, %zu blocks", mapped,
          pinned(s.device));
    heal();
    OK(tdm_host_alloc(s.device, MIB, &memory));
    tdm_host_free(s.device, memory);
    CHECK(pinned(s.device) == 0, "%zu blocks are kept", pinned(s.device));
}

/* The memory of a mapping, and the caller's own pinned memory. */
Test(waits, maps_and_pinned_memory) {
    void *mapped = NULL, *memory = NULL;
    OK(tdm_host_alloc(s.device, SMALL_BYTES, &memory));
    OK(tdm_buffer_read_async(s.queue, s.buffers[0], 0, memory, SMALL_BYTES));
    break_waits();
    REFUSED(tdm_buffer_map(s.queue, s.buffers[1], 0, SMALL_BYTES, TDM_MAP_READ, &mapped),
            TDM_ERROR_BACKEND, "cudaStreamSynchronize");
    CHECK(!mapped, "a pointer to a mapping that failed");
    tdm_host_free(s.device, memory);
    CHECK(pinned(s.device) == 2, "%zu blocks are kept, not 2", pinned(s.device));
    heal();
    OK(tdm_queue_finish(s.queue));
    CHECK(pinned(s.device) == 0, "%zu blocks are kept", pinned(s.device));

    check_case("unmap");
    OK(tdm_buffer_map(s.queue, s.buffers[1], 0, SMALL_BYTES, TDM_MAP_WRITE, &mapped));
    if (!mapped) return;
    memset(mapped, 0, SMALL_BYTES);
    break_waits();
    REFUSED(tdm_buffer_unmap(s.queue, s.buffers[1], mapped), TDM_ERROR_BACKEND, "999");
    REFUSED(tdm_buffer_unmap(s.queue, s.buffers[1], mapped), TDM_ERROR_INVALID_ARGUMENT, "mapping");
    CHECK(pinned(s.device) == 1, "%zu blocks are kept, not 1", pinned(s.device));
    heal();
    OK(tdm_queue_finish(s.queue));
    CHECK(pinned(s.device) == 0, "%zu blocks are kept", pinned(s.device));
}

/* Device memory is neither given back to the driver nor to another buffer. */
Test(waits, the_pool) {
    small other;
    tdm_buffer *first = NULL, *second = NULL;
    OK(small_open(&other, "cuda:0"));
    OK(tdm_buffer_create(s.device, MIB, &first));
    tdm_tensor ones = tdm_tensor_1d(first, TDM_F32, COUNT);
    OK(tdm_fill(s.queue, 1.0, &ones));
    break_waits();
    REFUSED(tdm_queue_finish(s.queue), TDM_ERROR_BACKEND, "999");
    tdm_buffer_release(first);
    size_t before = cuda_sim_memory(0);
    OK(tdm_device_trim(s.device));
    CHECK(cuda_sim_memory(0) == before, "%zu bytes were given back", before - cuda_sim_memory(0));
    unsigned long allocations = cuda_sim_calls("cudaMalloc");
    OK(tdm_buffer_create(s.device, MIB, &second));
    CHECK(cuda_sim_calls("cudaMalloc") == allocations + 1, "memory in use was handed out");
    heal();
    OK(tdm_queue_finish(s.queue));
    OK(tdm_device_trim(s.device));
    CHECK(cuda_sim_memory(0) < before + MIB, "%zu bytes are kept", cuda_sim_memory(0));
    tdm_buffer_release(second);
    small_close(&other);
}

/* A queue that is destroyed while waits fail keeps the memory that its work uses, and ends later;
 * the device is not given back before. */
Test(waits, destroyed_in_doubt) {
    void *memory = NULL;
    tdm_device *again = NULL;
    tdm_queue *next = NULL;
    OK(tdm_host_alloc(s.device, SMALL_BYTES, &memory));
    OK(tdm_buffer_write_async(s.queue, s.buffers[0], 0, memory, SMALL_BYTES));
    break_waits();
    REFUSED(tdm_queue_finish(s.queue), TDM_ERROR_BACKEND, "999");
    tdm_host_free(s.device, memory);
    small_close(&s);
    CHECK(cuda_sim_alive(CUDA_SIM_STREAM) == 1 && cuda_sim_alive(CUDA_SIM_PINNED) == 1,
          "%zu streams, %zu blocks", cuda_sim_alive(CUDA_SIM_STREAM),
          cuda_sim_alive(CUDA_SIM_PINNED));
    OK(tdm_device_open("cuda:0", &again));
    OK(tdm_queue_create(again, 0, &next));
    CHECK(cuda_sim_alive(CUDA_SIM_STREAM) == 2, "the queue in doubt was ended");
    heal();
    tdm_queue_destroy(next);
    CHECK(cuda_sim_alive(CUDA_SIM_STREAM) == 0 && pinned(again) == 0, "%zu streams, %zu blocks",
          cuda_sim_alive(CUDA_SIM_STREAM), pinned(again));
    tdm_device_release(again);
}

/* A device that is lost runs nothing any more: all can be given back. */
Test(waits, lost_in_doubt) {
    OK(tdm_buffer_fill_async(s.queue, s.buffers[0], 0, SMALL_BYTES, "x", 1));
    break_waits();
    REFUSED(tdm_queue_finish(s.queue), TDM_ERROR_BACKEND, "999");
    heal();
    cuda_sim_lose(0, 700);
    REFUSED(tdm_queue_finish(s.queue), TDM_ERROR_DEVICE_LOST, "cuda:0");
    small_close(&s);
}

/* The host's memory as source and destination: the cpu's pool knows nothing of the stream. */
static void copy_with_cpu(bool to_cpu) {
    tdm_device *cpu = NULL;
    tdm_buffer *host = NULL;
    OK(tdm_device_open("cpu", &cpu));
    OK(tdm_buffer_create(cpu, SMALL_BYTES, &host));
    break_waits();
    tdm_status status = to_cpu ? tdm_buffer_copy(s.queue, s.buffers[0], 0, host, 0, SMALL_BYTES)
                               : tdm_buffer_copy(s.queue, host, 0, s.buffers[0], 0, SMALL_BYTES);
    CHECK(status == TDM_ERROR_BACKEND, "status %d", (int)status);
    tdm_buffer_release(host);
    tdm_memory_stats kept = TDM_MEMORY_STATS_DEFAULTS, after = TDM_MEMORY_STATS_DEFAULTS;
    OK(tdm_device_get_memory_stats(cpu, &kept));
    CHECK(kept.in_use == SMALL_BYTES, "%llu bytes are in use", (unsigned long long)kept.in_use);
    heal();
    OK(tdm_queue_finish(s.queue));
    OK(tdm_device_get_memory_stats(cpu, &after));
    CHECK(after.in_use == 0, "%llu bytes are in use", (unsigned long long)after.in_use);
    tdm_device_release(cpu);
}

Test(waits, copy_to_cpu) { copy_with_cpu(true); }

Test(waits, copy_from_cpu) { copy_with_cpu(false); }

/* Moved by queues that the call made itself, and that it cannot end. */
Test(waits, moved_tensor) {
    tdm_device *cpu = NULL;
    tdm_queue *queue = NULL, *next = NULL;
    tdm_tensor x = {0}, y;
    OK(tdm_device_open("cpu", &cpu));
    OK(tdm_queue_create(cpu, 0, &queue));
    OK(tdm_ones(queue, TDM_F32, 1, (const int64_t[]){8 * COUNT}, &x));
    break_waits();
    REFUSED(tdm_to(queue, &x, s.device, &y), TDM_ERROR_BACKEND, "tdm_to|cuda:0|999");
    tdm_tensor_release(&x);
    heal();
    OK(tdm_queue_create(s.device, 0, &next));
    CHECK(cuda_sim_alive(CUDA_SIM_STREAM) == 2, "%zu streams", cuda_sim_alive(CUDA_SIM_STREAM));
    tdm_memory_stats stats = TDM_MEMORY_STATS_DEFAULTS;
    OK(tdm_device_get_memory_stats(cpu, &stats));
    CHECK(stats.in_use == 0, "%llu bytes are in use", (unsigned long long)stats.in_use);
    tdm_queue_destroy(next);
    tdm_queue_destroy(queue);
    tdm_device_release(cpu);
}

#if TEST_HAS_SAFETENSORS
/* The staging pieces of a file that is loaded, read and saved. `failing`: the wait to begin with.
 */
static void use_file(const char *path, int failing) {
    tdm_state_dict *dict = NULL;
    tdm_file *file = NULL;
    const tdm_file_entry *entry = NULL;
    tdm_tensor x = {0};
    const int64_t shape[] = {2 * COUNT};
    const tdm_file_options options = {.size = sizeof(tdm_file_options), .budget = MIB};
    const unsigned long nth = (unsigned long)failing;
    OK(tdm_empty(s.queue, TDM_F32, 1, shape, &x));

    check_case("tdm_load, wait %d", failing);
    cuda_sim_fail("cudaStreamSynchronize", nth, true, UNKNOWN);
    REFUSED(tdm_load(s.queue, path, &options, &dict), TDM_ERROR_BACKEND, "tdm_load|999");
    heal();
    OK(tdm_queue_finish(s.queue));

    check_case("tdm_file_read, wait %d", failing);
    OK(tdm_file_open(path, &file));
    OK(tdm_file_find(file, "x", &entry));
    cuda_sim_fail("cudaStreamSynchronize", nth, true, UNKNOWN);
    REFUSED(tdm_file_read(s.queue, file, entry, 0, shape[0], &options, &x), TDM_ERROR_BACKEND,
            "999");
    heal();
    OK(tdm_queue_finish(s.queue));
    OK(tdm_file_read(s.queue, file, entry, 0, shape[0], &options, &x));
    tdm_file_destroy(file);

    check_case("tdm_save, wait %d", failing);
    OK(tdm_state_dict_create(&dict));
    OK(tdm_state_dict_set(dict, "x", &x));
    cuda_sim_fail("cudaStreamSynchronize", nth, true, UNKNOWN);
    REFUSED(tdm_save(s.queue, dict, folder_path("other"), &options), TDM_ERROR_BACKEND, "999");
    heal();
    OK(tdm_queue_finish(s.queue));
    OK(tdm_save(s.queue, dict, path, &options));
    CHECK(pinned(s.device) == 0, "%zu blocks are kept", pinned(s.device));
    tdm_state_dict_destroy(dict);
    tdm_tensor_release(&x);
}

Test(waits, files) {
    size_t size;
    folder_make();
    unsigned char *bytes = safetensors_bytes(
        "{\"x\":{\"dtype\":\"F32\",\"shape\":[524288],\"data_offsets\":[0,2097152]}}", NULL,
        2 * MIB, &size);
    file_write(folder_path("file"), bytes, size);
    for (int failing = 1; failing <= 5; failing++)
        use_file(folder_path("file"), failing);
    free(bytes);
    folder_remove();
}
#endif

/* The memory that a tensor's text was read into. */
Test(waits, format) {
    char text[64];
    size_t length;
    break_waits();
    REFUSED(tdm_format(s.queue, &s.x, text, sizeof text, &length), TDM_ERROR_BACKEND, "999");
    heal();
    OK(tdm_queue_finish(s.queue));
}

/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* Waits that fail on an OpenCL device while transfers go on: memory that those use stays until a
 * later wait succeeds. Transfers wait for a wait here, and memory that is given back is unmapped at
 * once, so that a transfer from memory that was freed ends the process. Each test is a separate
 * process. */
#include <criterion/criterion.h>
#include <malloc.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <tandem/tandem.h>

#include "calls/stand_in.h"
#include "support/check.h"
#include "support/folder.h"

enum { OUT_OF_RESOURCES = -5, MIB = 1 << 20 };

static const stand_in *opencl;
static tdm_device *device;
static tdm_queue *queue;

/* The library's own memory, unmapped when it is given back, too. */
static void *map(size_t size, void *user) {
    (void)user;
    void *memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    return memory == MAP_FAILED ? NULL : memory;
}

static void unmap(void *memory, size_t size, void *user) {
    (void)user;
    (void)munmap(memory, size);
}

static void begin(void) {
    tdm_allocator allocator = TDM_ALLOCATOR_DEFAULTS;
    allocator.allocate = map;
    allocator.release = unmap;
    OK(tdm_set_allocator(&allocator));
    (void)mallopt(M_MMAP_THRESHOLD, 64 << 10);
    opencl = stand_in_open();
    OK(tdm_device_open("opencl:0", &device));
    OK(tdm_queue_create(device, 0, &queue));
    opencl->hold_transfers(true);
}

static void end(void) {
    tdm_queue_destroy(queue);
    tdm_device_release(device);
}

TestSuite(waits, .init = begin, .fini = end);

/* The wait number nth and all later ones fail, until `heal`. */
static void break_waits(unsigned long nth) {
    opencl->reset();
    opencl->fail_nth("clFinish", nth, true, OUT_OF_RESOURCES);
}

static void heal(void) {
    CHECK(opencl->failed(NULL) > 0, "no wait failed");
    opencl->reset();
}

#define FAILS(call) REFUSED(call, TDM_ERROR_BACKEND, "CL_OUT_OF_RESOURCES")

/* Bytes 0, 1, 2 and so on, which `buffer` then holds. */
static void check_bytes(tdm_buffer *buffer, size_t size) {
    unsigned char *bytes = calloc(size, 1);
    size_t i = 0;
    if (!bytes || !OK(tdm_buffer_read(queue, buffer, 0, bytes, size))) return;
    while (i < size && bytes[i] == (unsigned char)i)
        i++;
    CHECK(i == size, "byte %zu is %d", i, bytes[i]);
    free(bytes);
}

static void count_up(unsigned char *bytes, size_t size) {
    for (size_t i = 0; i < size; i++)
        bytes[i] = (unsigned char)i;
}

/* One failure is waited out by the second try, and reported. */
Test(waits, one_failure) {
    tdm_buffer *buffer = NULL;
    void *memory = NULL;
    OK(tdm_buffer_create(device, MIB, &buffer));
    OK(tdm_host_alloc(device, MIB, &memory));
    count_up(memory, MIB);
    opencl->reset();
    opencl->fail_nth("clFinish", 1, false, OUT_OF_RESOURCES);
    FAILS(tdm_buffer_write(queue, buffer, 0, memory, MIB));
    tdm_host_free(device, memory);
    heal();
    check_bytes(buffer, MIB);
    tdm_buffer_release(buffer);
}

/* The caller's pinned memory, given back; with `destroyed` its queue too. */
static void free_pinned(bool destroyed) {
    tdm_buffer *buffer = NULL;
    void *memory = NULL;
    OK(tdm_buffer_create(device, MIB, &buffer));
    OK(tdm_host_alloc(device, MIB, &memory));
    count_up(memory, MIB);
    break_waits(1);
    FAILS(tdm_buffer_write(queue, buffer, 0, memory, MIB));
    tdm_host_free(device, memory);
    if (destroyed) tdm_queue_destroy(queue);
    heal();
    if (destroyed) OK(tdm_queue_create(device, 0, &queue));
    OK(tdm_queue_finish(queue));
    check_bytes(buffer, MIB);
    tdm_buffer_release(buffer);
}

Test(waits, pinned_memory) { free_pinned(false); }

Test(waits, queue_destroyed_in_doubt) { free_pinned(true); }

/* A mapping that fails is none, and the buffer can be mapped again. */
Test(waits, maps) {
    tdm_buffer *buffer = NULL;
    void *mapped = &buffer;
    OK(tdm_buffer_create(device, MIB, &buffer));
    break_waits(1);
    FAILS(tdm_buffer_map(queue, buffer, 0, MIB, TDM_MAP_WRITE, &mapped));
    CHECK(!mapped, "a pointer to a mapping that failed");
    REFUSED(tdm_buffer_unmap(queue, buffer, mapped), TDM_ERROR_INVALID_ARGUMENT, "mapping");
    heal();
    if (!OK(tdm_buffer_map(queue, buffer, 0, MIB, TDM_MAP_WRITE, &mapped))) return;
    count_up(mapped, MIB);
    OK(tdm_buffer_unmap(queue, buffer, mapped));
    check_bytes(buffer, MIB);
    tdm_buffer_release(buffer);
}

/* A buffer of the cpu's that the device reads from, trimmed away. */
Test(waits, copy_from_cpu) {
    tdm_device *cpu = NULL;
    tdm_queue *other = NULL;
    tdm_buffer *host = NULL, *buffer = NULL;
    void *mapped = NULL;
    OK(tdm_device_open("cpu", &cpu));
    OK(tdm_queue_create(cpu, 0, &other));
    OK(tdm_buffer_create(cpu, MIB, &host));
    OK(tdm_buffer_create(device, MIB, &buffer));
    if (!OK(tdm_buffer_map(other, host, 0, MIB, TDM_MAP_WRITE, &mapped))) return;
    count_up(mapped, MIB);
    OK(tdm_buffer_unmap(other, host, mapped));
    break_waits(1);
    FAILS(tdm_buffer_copy(queue, host, 0, buffer, 0, MIB));
    tdm_buffer_release(host);
    OK(tdm_device_trim(cpu));
    heal();
    OK(tdm_queue_finish(queue));
    check_bytes(buffer, MIB);
    tdm_buffer_release(buffer);
    tdm_queue_destroy(other);
    tdm_device_release(cpu);
}

/* A sum whose scratch memory another queue's write still uses. The call that takes the memory cannot have its queue
 * wait, and fails; so the next call has it wait. */
Test(waits, scratch) {
    tdm_queue *first = NULL, *writes = NULL;
    tdm_tensor x = {0}, y = {0}, z = {0};
    tdm_event *event = NULL;
    tdm_memory_stats before = TDM_MEMORY_STATS_DEFAULTS, after = TDM_MEMORY_STATS_DEFAULTS;
    bool is_over = true;
    opencl->hold_transfers(false);
    OK(tdm_queue_create(device, 0, &first));
    OK(tdm_queue_create(device, 0, &writes));
    OK(tdm_event_create(device, &event));
    OK(tdm_ones(queue, TDM_F32, TDM_SHAPE(MIB), &x));
    OK(tdm_empty(queue, TDM_F32, TDM_SHAPE(1), &y));
    OK(tdm_queue_finish(queue));
    OK(tdm_device_get_memory_stats(device, &before));
    OK(tdm_sum(first, &x, NULL, 0, &y));
    OK(tdm_queue_finish(first));
    OK(tdm_device_get_memory_stats(device, &after));
    const int64_t size = (int64_t)(after.reserved - before.reserved);
    if (size <= 0) abort();
    tdm_queue_destroy(first);
    OK(tdm_device_trim(device));
    void *bytes = calloc(1, (size_t)size);
    OK(tdm_empty(writes, TDM_U8, 1, &size, &z));
    opencl->hold_transfers(true);
    OK(tdm_buffer_write_async(writes, z.buffer, 0, bytes, (size_t)size));
    tdm_tensor_release(&z);
    opencl->reset();
    opencl->fail_nth("clEnqueueBarrierWithWaitList", 1, false, OUT_OF_RESOURCES);
    FAILS(tdm_sum(queue, &x, NULL, 0, &y));
    heal();
    OK(tdm_sum(queue, &x, NULL, 0, &y));
    OK(tdm_queue_record_event(queue, event));
    OK(tdm_queue_flush(queue));
    for (int i = 0; i < 50 && OK(tdm_event_query(event, &is_over)) && !is_over; i++)
        usleep(10000);
    CHECK(!is_over, "the sum is over before the write to its scratch memory");
    opencl->hold_transfers(false);
    OK(tdm_queue_finish(writes));
    OK(tdm_queue_finish(queue));
    free(bytes);
    tdm_event_destroy(event);
    tdm_queue_destroy(writes);
    tdm_tensor_release(&x);
    tdm_tensor_release(&y);
}

/* --- errors that are taken for a lost device, while transfers go on --------------------------------- */

static const int lost_codes[] = {-2, -34, -36, -9999};
enum { LOST_CODES = sizeof lost_codes / sizeof lost_codes[0] };

/* The nth call of a transfer's function finds the device lost, and so do all later ones and, if `every_wait`, waits. */
static void lose(const char *function, unsigned long nth, bool every_wait, int code) {
    opencl->reset();
    opencl->fail_nth(function, nth, true, code);
    if (every_wait) opencl->fail_nth("clFinish", 1, true, code);
}

/* A new device and queue in place of the lost ones, which are given back. */
static void open_again(void) {
    tdm_queue_destroy(queue);
    tdm_device_release(device);
    heal();
    opencl->hold_transfers(false); /* the held work goes on now */
    opencl->hold_transfers(true);
    OK(tdm_device_open("opencl:0", &device));
    OK(tdm_queue_create(device, 0, &queue));
}

/* A read into pinned memory goes on while the next one, and then every wait, finds the device lost. */
Test(waits, lost_pinned) {
    for (int i = 0; i < LOST_CODES; i++) {
        tdm_buffer *buffer = NULL;
        void *memory = NULL;
        check_case("code %d", lost_codes[i]);
        OK(tdm_buffer_create(device, MIB, &buffer));
        OK(tdm_host_alloc(device, MIB, &memory));
        OK(tdm_buffer_read_async(queue, buffer, 0, memory, MIB));
        lose("clEnqueueReadBuffer", 1, true, lost_codes[i]);
        REFUSED(tdm_buffer_read(queue, buffer, 0, memory, 64), TDM_ERROR_DEVICE_LOST, "opencl:0");
        REFUSED(tdm_queue_finish(queue), TDM_ERROR_DEVICE_LOST, "opencl:0");
        tdm_host_free(device, memory);
        tdm_buffer_release(buffer);
        open_again();
    }
}

/* The caller's memory is free when a wait has returned, of a device that was lost before, too; also where the queue
 * recorded a graph then. */
Test(waits, lost_then_finished) {
    for (int i = 0; i < LOST_CODES; i++) {
        tdm_buffer *buffer = NULL;
        tdm_queue *other = NULL;
        tdm_graph *graph = NULL;
        unsigned char *bytes = calloc(MIB, 1);
        check_case("code %d", lost_codes[i]);
        OK(tdm_queue_create(device, 0, &other));
        OK(tdm_buffer_create(device, MIB, &buffer));
        OK(tdm_buffer_fill(queue, buffer, 0, MIB, "x", 1));
        OK(tdm_buffer_read_async(queue, buffer, 0, bytes, MIB));
        OK(tdm_graph_create(queue, &graph));
        OK(tdm_graph_begin(graph));
        lose("clEnqueueReadBuffer", 1, false, lost_codes[i]);
        REFUSED(tdm_buffer_read(other, buffer, 0, bytes, 64), TDM_ERROR_DEVICE_LOST, "opencl:0");
        REFUSED(tdm_graph_end(graph), TDM_ERROR_DEVICE_LOST, "opencl:0|lost earlier");
        REFUSED(tdm_queue_finish(queue), TDM_ERROR_DEVICE_LOST, "opencl:0|lost earlier");
        CHECK(bytes[MIB - 1] == 'x', "the read goes on");
        tdm_graph_destroy(graph);
        tdm_queue_destroy(other);
        free(bytes);
        tdm_buffer_release(buffer);
        open_again();
    }
}

static tdm_state_dict *dict_of_two(tdm_queue *on, int64_t bytes) {
    tdm_state_dict *dict = NULL;
    OK(tdm_state_dict_create(&dict));
    for (int i = 0; i < 2; i++) {
        tdm_tensor x = {0};
        OK(tdm_empty(on, TDM_U8, 1, &bytes, &x));
        OK(tdm_state_dict_set(dict, i ? "y" : "x", &x));
        tdm_tensor_release(&x);
    }
    return dict;
}

/* Tensors of the cpu's are written one by one; the second is refused. */
Test(waits, lost_while_moved) {
    tdm_device *cpu = NULL;
    tdm_queue *other = NULL;
    OK(tdm_device_open("cpu", &cpu));
    OK(tdm_queue_create(cpu, 0, &other));
    for (int i = 0; i < LOST_CODES; i++) {
        tdm_state_dict *moved = NULL, *dict = dict_of_two(other, MIB);
        check_case("code %d", lost_codes[i]);
        lose("clEnqueueWriteBuffer", 2, true, lost_codes[i]);
        REFUSED(tdm_state_dict_to(other, dict, device, &moved), TDM_ERROR_DEVICE_LOST, "opencl:0");
        tdm_state_dict_destroy(dict);
        OK(tdm_device_trim(cpu));
        open_again();
    }
    tdm_queue_destroy(other);
    tdm_device_release(cpu);
}

/* Rows are read one by one; the second or third is refused. */
Test(waits, lost_in_format) {
    for (int i = 0; i < LOST_CODES; i++) {
        tdm_tensor x = {0};
        char text[64];
        size_t length;
        check_case("code %d", lost_codes[i]);
        OK(tdm_ones(queue, TDM_F64, 2, (const int64_t[]){25, 50}, &x));
        OK(tdm_queue_finish(queue));
        x.shape[1] = 40; /* a view with gaps, of 8000 bytes */
        lose("clEnqueueReadBuffer", 2 + (unsigned)i % 2, false, lost_codes[i]);
        REFUSED(tdm_format(queue, &x, text, sizeof text, &length), TDM_ERROR_DEVICE_LOST,
                "opencl:0");
        tdm_tensor_release(&x);
        open_again();
    }
}

/* The memory that a tensor's text is read into. */
Test(waits, format) {
    tdm_tensor x = {0};
    char text[64];
    size_t length;
    OK(tdm_ones(queue, TDM_F32, 1, (const int64_t[]){1000}, &x));
    OK(tdm_queue_finish(queue));
    break_waits(1);
    FAILS(tdm_format(queue, &x, text, sizeof text, &length));
    heal();
    OK(tdm_queue_finish(queue));
    tdm_tensor_release(&x);
}

/* The host's copies of a weight that is packed: the one that is read into, and the one that is written. */
Test(waits, pack_weight) {
    tdm_tensor weight = {0}, packed = {0};
    OK(tdm_ones(queue, TDM_F32, 2, (const int64_t[]){512, 512}, &weight));
    for (unsigned long failing = 1; failing <= 2; failing++) {
        check_case("wait %lu", failing);
        OK(tdm_pack_weight(queue, &weight, &packed)); /* which first attaches what multiplies it */
        tdm_tensor_release(&packed);
        break_waits(failing);
        FAILS(tdm_pack_weight(queue, &weight, &packed));
        heal();
        OK(tdm_queue_finish(queue));
    }
    tdm_tensor_release(&weight);
}

#if TEST_HAS_SAFETENSORS
/* The staging of files: loaded, read and saved, while wait number `failing` and all later ones
 * fail. */
static void use_file(const char *path, unsigned long failing) {
    tdm_state_dict *dict = NULL;
    tdm_file *file = NULL;
    const tdm_file_entry *entry = NULL;
    tdm_tensor x = {0};
    const tdm_file_options options = {.size = sizeof(tdm_file_options), .budget = MIB};
    const int64_t count = 2 * MIB;
    OK(tdm_empty(queue, TDM_U8, 1, &count, &x));
    check_case("tdm_load, wait %lu", failing);
    break_waits(failing);
    FAILS(tdm_load(queue, path, &options, &dict));
    heal();
    OK(tdm_queue_finish(queue));

    check_case("tdm_file_read, wait %lu", failing);
    OK(tdm_file_open(path, &file));
    OK(tdm_file_find(file, "x", &entry));
    break_waits(failing);
    FAILS(tdm_file_read(queue, file, entry, 0, count, &options, &x));
    heal();
    OK(tdm_queue_finish(queue));
    OK(tdm_file_read(queue, file, entry, 0, count, &options, &x));
    check_bytes(x.buffer, 2 * MIB);
    tdm_file_destroy(file);

    check_case("tdm_save, wait %lu", failing);
    OK(tdm_state_dict_create(&dict));
    OK(tdm_state_dict_set(dict, "x", &x));
    break_waits(failing);
    FAILS(tdm_save(queue, dict, folder_path("other"), &options));
    heal();
    OK(tdm_queue_finish(queue));
    tdm_state_dict_destroy(dict);
    tdm_tensor_release(&x);
}

/* The second read into a piece of staging, and then every wait, finds the device lost. */
Test(waits, lost_while_saved) {
    folder_make();
    for (int i = 0; i < LOST_CODES; i++) {
        const tdm_file_options options = {.size = sizeof(tdm_file_options), .budget = MIB};
        tdm_state_dict *dict = dict_of_two(queue, MIB / 4);
        check_case("code %d", lost_codes[i]);
        lose("clEnqueueReadBuffer", 2, true, lost_codes[i]);
        REFUSED(tdm_save(queue, dict, folder_path("file"), &options), TDM_ERROR_DEVICE_LOST,
                "opencl:0");
        tdm_state_dict_destroy(dict);
        open_again();
    }
    folder_remove();
}

Test(waits, files) {
    size_t size;
    folder_make();
    unsigned char *bytes = safetensors_bytes(
        "{\"x\":{\"dtype\":\"U8\",\"shape\":[2097152],\"data_offsets\":[0,2097152]}}", NULL,
        2 * MIB, &size);
    file_write(folder_path("file"), bytes, size);
    free(bytes);
    for (unsigned long failing = 1; failing <= 5; failing++)
        use_file(folder_path("file"), failing);
    folder_remove();
}
#endif

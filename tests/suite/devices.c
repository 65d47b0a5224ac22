/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* The description of a device, and work with several devices at once. */
#include <criterion/criterion.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "platform/process.h"
#include "platform/threads.h"
#include "support/array.h"

TestSuite(devices, .init = device_open, .fini = device_close, TAGS("device driver kinds"));

/* The facts are there and make sense; unknown is never 0. */
Test(devices, facts) {
    size_t count = 0;
    if (!OK(tdm_get_device_count(&count))) return;
    CHECK(count >= 1, "no device");
    bool seen = false;
    for (size_t i = 0; i < count; i++) {
        const tdm_device_info *info = NULL, *again = NULL;
        if (!OK(tdm_get_listed_device(i, &info)) || !OK(tdm_get_listed_device(i, &again))) return;
        check_case("device %zu, %s", i, info->id);
        CHECK(info == again, "the info moved");
        seen = seen || info == tdm_device_get_info(device);
        char id[64];
        snprintf(id, sizeof id, "%s:%d", tdm_backend_name(info->backend), info->index);
        CHECK(strcmp(id, info->id) == 0, "id of backend and index would be %s", id);
        CHECK(info->name[0] && info->vendor[0] && info->api_version[0], "a text is missing");
        CHECK(info->compute_units > 0, "compute_units %d", info->compute_units);
        CHECK(info->memory_total > 0 && info->memory_free > 0, "memory 0 instead of unknown");
        CHECK(info->max_allocation > 0 && info->max_allocation <= info->memory_total,
              "max_allocation");
        /* (1 >> 31) - 1 was once a driver's largest group. */
        CHECK(info->max_group_size >= 1 && info->max_group_size <= (1u << 30), "max_group_size");
        CHECK(info->has_f64 || info->backend == TDM_OPENCL, "no f64");
        CHECK(info->type >= TDM_DEVICE_CPU && info->type <= TDM_DEVICE_ACCELERATOR, "type");
        if (info->backend == TDM_CPU)
            CHECK(info->type == TDM_DEVICE_CPU && info->unified_memory, "a cpu that is none");
        size_t index = count;
        OK(tdm_find_device(info->id, &index));
        CHECK(index == i, "%s was found at %zu", info->id, index);
        /* The same card twice in one backend is two cards. */
        if (info->same_as[0]) {
            size_t same = 0;
            OK(tdm_find_device(info->same_as, &same));
            const tdm_device_info *twin = NULL;
            OK(tdm_get_listed_device(same, &twin));
            CHECK(twin->backend != info->backend, "same_as %s in one backend", info->same_as);
        }
    }
    CHECK(seen, "the device under test is not listed");
    const tdm_device_info *none = tdm_device_get_info(device);
    REFUSED(tdm_get_listed_device(count, &none), TDM_ERROR_OUT_OF_RANGE, NULL);
    CHECK(!none, "a failed get_device_info left a pointer");
    REFUSED(tdm_get_listed_device(SIZE_MAX, &none), TDM_ERROR_OUT_OF_RANGE, NULL);
    REFUSED(tdm_get_listed_device(0, NULL), TDM_ERROR_INVALID_ARGUMENT, "info");
    REFUSED(tdm_get_device_count(NULL), TDM_ERROR_INVALID_ARGUMENT, "count");
    REFUSED(tdm_find_device("cpu", NULL), TDM_ERROR_INVALID_ARGUMENT, "index");
    REFUSED(tdm_device_open("cpu", NULL), TDM_ERROR_INVALID_ARGUMENT, "device");
}

/* Tensors on two devices: never a silent move. The message names both arguments, both devices and
 * the call that moves one. */
Test(devices, mismatch_is_refused) {
    tdm_device *other;
    if (!device_others(&other, 1)) return;
    check_case("with %s", tdm_device_get_info(other)->id);
    char words[128];
    snprintf(words, sizeof words, "%s|%s|tdm_to", tdm_device_get_info(device)->id,
             tdm_device_get_info(other)->id);
    array *x = array_2d(TDM_F32, 4, 4, 4), *y = array_2d(TDM_F32, 4, 4, 4);
    array_uniform(x, -1, 1);
    tdm_buffer *far = NULL;
    if (!OK(tdm_buffer_create(other, 64, &far))) return;
    tdm_tensor f = tdm_tensor_2d(far, TDM_F32, 4, 4), f1 = tdm_tensor_1d(far, TDM_F32, 4);
    char named[160];
    const tdm_status no = TDM_ERROR_DEVICE_MISMATCH;
    snprintf(named, sizeof named, "a|b|%s", words);
    REFUSED(tdm_matmul(queue, NULL, &x->t, &f, &y->t), no, named);
    REFUSED(tdm_matmul(queue, NULL, &f, &x->t, &y->t), no, named);
    REFUSED(tdm_add(queue, &x->t, &f, &y->t), no, named);
    snprintf(named, sizeof named, "bias|%s", words);
    REFUSED(tdm_bias_add(queue, &x->t, &f1, TDM_ACTIVATION_NONE, NULL, &y->t), no, named);
    snprintf(named, sizeof named, "weight|%s", words);
    REFUSED(tdm_layer_norm(queue, &x->t, &f1, NULL, 1e-5, &y->t), no, named);
    snprintf(named, sizeof named, "y|%s", words);
    REFUSED(tdm_softmax(queue, &x->t, &f), no, named);
    REFUSED(tdm_cast(queue, &x->t, &f), no, named);
    REFUSED(tdm_scale(queue, 2.0, &x->t, &f), no, named);
    check_case("everything on another device than the queue's");
    REFUSED(tdm_fill(queue, 1.0, &f), no, words);
    REFUSED(tdm_buffer_write(queue, far, 0, words, 8), no, NULL);
    REFUSED(tdm_buffer_read(queue, far, 0, words, 8), no, NULL);
    tdm_event *event = NULL;
    OK(tdm_event_create(other, &event));
    REFUSED(tdm_queue_record_event(queue, event), no, NULL);
    tdm_event_destroy(event);
    ARRAY_SAME(y);
    ARRAY_SAME(x);
    tdm_buffer_release(far);
    tdm_device_release(other);
}

static void copy_both_ways(tdm_device *other, size_t size, bool async) {
    tdm_queue *theirs = NULL;
    tdm_buffer *here = NULL, *there = NULL, *back = NULL;
    unsigned char *image = malloc(size + 64), *got = malloc(size + 64);
    if (!image || !got) abort();
    random_bytes(image, size + 64);
    memset(got, 0, size + 64);
    bool ok = OK(tdm_queue_create(other, 0, &theirs)) &&
              OK(tdm_buffer_create(device, size + 64, &here)) &&
              OK(tdm_buffer_create(other, size + 64, &there)) &&
              OK(tdm_buffer_create(device, size + 64, &back));
    if (ok) {
        unsigned char zero = 0;
        OK(tdm_buffer_write(queue, here, 0, image, size + 64));
        OK(tdm_buffer_fill(theirs, there, 0, size + 64, &zero, 1));
        OK(tdm_buffer_fill(queue, back, 0, size + 64, &zero, 1));
        if (async) {
            tdm_event *event = NULL;
            OK(tdm_event_create(other, &event));
            OK(tdm_buffer_copy_async(theirs, here, 3, there, 7, size));
            OK(tdm_queue_record_event(theirs, event));
            OK(tdm_queue_wait_event(queue, event));
            OK(tdm_buffer_copy_async(queue, there, 7, back, 11, size));
            tdm_event_destroy(event);
        } else {
            OK(tdm_buffer_copy(queue, here, 3, there, 7, size));
            OK(tdm_buffer_copy(theirs, there, 7, back, 11, size));
        }
        OK(tdm_buffer_read(queue, back, 0, got, size + 64));
        CHECK(memcmp(got + 11, image + 3, size) == 0, "bytes differ");
        bool clean = true;
        for (size_t i = 0; i < 64; i++) {
            size_t at = i < 11 ? i : size + i;
            clean = clean && got[at] == 0;
        }
        CHECK(clean, "bytes outside the range were written");
    }
    tdm_buffer_release(here);
    tdm_buffer_release(there);
    tdm_buffer_release(back);
    tdm_queue_destroy(theirs);
    free(image);
    free(got);
}

/* Copies between this device and every other one, both ways, with either queue; and the queue of a
 * third device is refused. */
Test(devices, copies_between_devices) {
    static const size_t sizes[] = {1, 5, 4096, 100003, 5000011};
    tdm_device *others[16];
    for (int i = device_others(others, 16) - 1; i >= 0; i--) {
        for (int s = 0; s < (small ? 3 : 5); s++) {
            for (int async = 0; async < 2; async++) {
                check_case("%zu bytes to %s and back, async %d", sizes[s],
                           tdm_device_get_info(others[i])->id, async);
                copy_both_ways(others[i], sizes[s], async);
            }
        }
        tdm_device_release(others[i]);
    }
}

/* A kernel is of one device. */
Test(devices, kernel_of_another) {
    static const tdm_parameter parameter = TDM_TENSOR("y");
    tdm_device *other;
    tdm_kernel *kernel;
    char words[128];
    if (!device_others(&other, 1)) check_skip("there is one device");
    array *y = array_1d(TDM_F32, 4);
    const tdm_argument argument = TDM_WITH_TENSOR("y", &y->t);
    OK(tdm_kernel_elementwise(other, "y = 1", &parameter, 1, &kernel));
    snprintf(words, sizeof words, "kernel is of %s, but queue is of %s",
             tdm_device_get_info(other)->id, tdm_device_get_info(device)->id);
    REFUSED(tdm_kernel_run(queue, kernel, &argument, 1), TDM_ERROR_DEVICE_MISMATCH, words);
    tdm_kernel_release(kernel);
    tdm_device_release(other);
    array_free_all();
}

/* The counts are those of the list; a card that two backends list counts once. */
Test(devices, counts) {
#define BACKEND(NAME, name, value) TDM_##NAME,
    static const tdm_backend backends[] = {TDM_BACKEND_LIST(BACKEND)};
    size_t count = 0, sum = 0, gpus = 0, index = 0;
    if (!OK(tdm_get_device_count(&count)) || !OK(tdm_get_gpu_count(&gpus))) return;
    for (int b = 0; b < TDM_BACKEND_COUNT; b++) {
        size_t listed = 0, reported = SIZE_MAX;
        check_case("%s", tdm_backend_name(backends[b]));
        for (size_t i = 0; i < count; i++) {
            const tdm_device_info *info = NULL;
            if (!OK(tdm_get_listed_device(i, &info))) return;
            listed += info->backend == backends[b];
            const char *name = tdm_backend_name(info->backend);
            CHECK(strncmp(info->id, name, strlen(name)) == 0, "%s is of %s", info->id, name);
        }
        OK(tdm_get_backend_device_count(backends[b], &reported));
        CHECK(reported == listed, "%zu devices, but %zu are listed", reported, listed);
        sum += reported;
    }
    CHECK(sum == count, "%zu devices in all, but %zu are listed", sum, count);
    check_case("gpu:0 to gpu:%zu", gpus);
    for (size_t i = 0; i <= gpus; i++) {
        char name[32];
        const tdm_device_info *info = NULL;
        snprintf(name, sizeof name, "gpu:%zu", i);
        if (i == gpus)
            REFUSED(tdm_find_device(name, &index), TDM_ERROR_NOT_FOUND, name);
        else if (OK(tdm_find_device(name, &index)) && OK(tdm_get_listed_device(index, &info)))
            CHECK(info->type == TDM_DEVICE_GPU, "%s is no GPU", info->id);
    }
    check_case("refusals");
    REFUSED(tdm_get_backend_device_count((tdm_backend)3, &sum), TDM_ERROR_INVALID_ARGUMENT, "3");
    REFUSED(tdm_get_backend_device_count((tdm_backend)0, &sum), TDM_ERROR_INVALID_ARGUMENT, "0");
    REFUSED(tdm_get_backend_device_count(TDM_CPU, NULL), TDM_ERROR_INVALID_ARGUMENT, "count");
    REFUSED(tdm_get_gpu_count(NULL), TDM_ERROR_INVALID_ARGUMENT, "count");
}

/* The GPUs where there are any, the cpu where there are not. */
Test(devices, try_gpu) {
    size_t gpus = 0, count = 99, cpu = 0;
    tdm_device *all[64], *one = NULL, *past = NULL;
    const tdm_device_info *cpu_info = NULL;
    if (!OK(tdm_get_gpu_count(&gpus)) || !OK(tdm_find_device("cpu", &cpu)) ||
        !OK(tdm_get_listed_device(cpu, &cpu_info)))
        return;
    size_t wanted = gpus > 0 ? gpus : 1;
    check_case("%zu GPUs", gpus);
    REFUSED(tdm_device_try_all_gpus(wanted - 1, all, &count), TDM_ERROR_OUT_OF_RANGE, "capacity");
    CHECK(count == 0, "a refusal left the count %zu", count);
    if (!OK(tdm_device_try_all_gpus(64, all, &count))) return;
    CHECK(count == wanted, "%zu devices, not %zu", count, wanted);
    for (size_t i = 0; i < count; i++) {
        const tdm_device_info *info = tdm_device_get_info(all[i]);
        CHECK(gpus > 0 ? info->type == TDM_DEVICE_GPU : info == cpu_info, "%zu is %s", i, info->id);
        OK(tdm_device_try_gpu(i, &one));
        CHECK(one == all[i], "the same GPU twice is two objects");
        tdm_device_release(one);
    }
    static const size_t none[] = {64, SIZE_MAX};
    for (int i = 0; i < 2; i++) {
        OK(tdm_device_try_gpu(none[i], &past));
        CHECK(past && tdm_device_get_info(past) == cpu_info, "GPU %zu is not the cpu", none[i]);
        tdm_device_release(past);
    }
    for (size_t i = 0; i < count; i++)
        tdm_device_release(all[i]);
    REFUSED(tdm_device_try_gpu(0, NULL), TDM_ERROR_INVALID_ARGUMENT, "device");
    REFUSED(tdm_device_try_all_gpus(64, NULL, &count), TDM_ERROR_INVALID_ARGUMENT, "devices");
    REFUSED(tdm_device_try_all_gpus(64, all, NULL), TDM_ERROR_INVALID_ARGUMENT, "count");
}

/* The usage of the device under test; returns this process in it, or NULL. */
static const tdm_process *look(tdm_device_usage *now) {
    size_t index = 0;
    if (!OK(tdm_find_device(tdm_device_get_info(device)->id, &index)) ||
        !OK(tdm_get_listed_device_usage(index, now)))
        return NULL;
    for (size_t i = 0; i < now->process_count; i++)
        if (now->processes[i].pid == tdmi_process_id()) return &now->processes[i];
    return NULL;
}

/* The memory that this process holds is reported while it holds it; other processes may be using the device. */
Test(devices, usage) {
    enum { SIZE = 16 << 20 };
    static tdm_device_usage now = TDM_DEVICE_USAGE_DEFAULTS;
    tdm_buffer *buffer = NULL;
    OK(tdm_device_trim(device));
    const tdm_process *self = look(&now);
    CHECK(self, "this process has the device open and is not listed");
    if (!self) return;
    uint64_t before = self->tandem_reserved;
    CHECK(self->name[0], "no name");
    CHECK(now.tandem_reserved >= before, "less in all than here");
    const tdm_device_info *info = tdm_device_get_info(device);
    CHECK(now.memory_total != 0 && now.memory_used != 0, "memory 0 instead of unknown");
    if (info->type == TDM_DEVICE_CPU)
        CHECK(now.memory_total != TDM_UNKNOWN && now.memory_used != TDM_UNKNOWN, "memory unknown");
    if (now.memory_used != TDM_UNKNOWN)
        CHECK(now.memory_used <= now.memory_total, "more is used than there is");
    for (size_t i = 1; i < now.process_count; i++)
        CHECK(now.processes[i - 1].pid < now.processes[i].pid, "not sorted by pid");

    if (!OK(tdm_buffer_create(device, SIZE, &buffer))) return;
    self = look(&now);
    CHECK(self && self->tandem_reserved >= before + SIZE, "the buffer is not counted");
    CHECK(self && self->tandem_reserved == memory_now(device).reserved,
          "not what the pool has reserved");
    CHECK(now.tandem_reserved >= before + SIZE, "the sum does not have the buffer");
    tdm_buffer_release(buffer);
    OK(tdm_device_trim(device));
    self = look(&now);
    CHECK(self && self->tandem_reserved == before, "a buffer that was given back is counted");

    check_case("refusals");
    size_t count = 0;
    OK(tdm_get_device_count(&count));
    REFUSED(tdm_get_listed_device_usage(count, &now), TDM_ERROR_OUT_OF_RANGE, "index");
    REFUSED(tdm_get_listed_device_usage(0, NULL), TDM_ERROR_INVALID_ARGUMENT, "usage");
}

static atomic_bool asking;
static atomic_int failing;

/* Opens a device and closes it, with memory, until the test ends. */
static void *open_and_close(void *id) {
    while (atomic_load(&asking)) {
        tdm_device *other = NULL;
        tdm_buffer *buffer = NULL;
        if (tdm_device_open(id, &other) != TDM_OK ||
            tdm_buffer_create(other, 1 << 16, &buffer) != TDM_OK) {
            atomic_fetch_add(&failing, 1);
            break;
        }
        tdm_buffer_release(buffer);
        tdm_device_release(other);
    }
    return NULL;
}

/* Devices come and go while they are asked about, the first and the last of the process too. */
Test(devices, usage_while_devices_come_and_go) {
    static tdm_device_usage now = TDM_DEVICE_USAGE_DEFAULTS;
    char id[32];
    size_t index = 0;
    tdmi_thread threads[2];
    snprintf(id, sizeof id, "%s", tdm_device_get_info(device)->id);
    if (!OK(tdm_find_device(id, &index))) return;
    device_close();
    atomic_store(&asking, true);
    for (int i = 0; i < 2; i++)
        if (!tdmi_thread_start(&threads[i], open_and_close, id)) abort();
    for (int round = 0; round < (small ? 20 : 200); round++) {
        if (!OK(tdm_get_listed_device_usage(index, &now))) break;
        for (size_t i = 0; i < now.process_count; i++)
            if (now.processes[i].pid == tdmi_process_id())
                CHECK(now.processes[i].tandem_reserved <= 4 << 16, "%llu bytes",
                      (unsigned long long)now.processes[i].tandem_reserved);
    }
    atomic_store(&asking, false);
    for (int i = 0; i < 2; i++)
        tdmi_thread_join(threads[i]);
    CHECK(atomic_load(&failing) == 0, "a thread could not open %s", id);
    device_open();
}

/* Stops after the second kernel that is begun. */
static bool watch_two(void *user, size_t ready, size_t all) {
    size_t *calls = user;
    CHECK(ready < all, "%zu of %zu", ready, all);
    return ++*calls <= 2;
}

/* Usual kernels that were compiled are ready at once; refusals are alike on all devices. */
Test(devices, warm, TAGS("few")) {
    static const tdm_dtype f32 = TDM_F32, not_floating = TDM_I32;
    const tdm_status bad = TDM_ERROR_INVALID_ARGUMENT;
    size_t kernels = 7;
    REFUSED(tdm_device_warm(NULL, &f32, 1, &kernels), bad, "tdm_device_warm|device");
    CHECK(kernels == 0, "%zu kernels", kernels);
    REFUSED(tdm_device_warm(device, NULL, 1, NULL), bad, "tdm_device_warm|dtypes|1");
    REFUSED(tdm_device_warm(device, &not_floating, 1, NULL), bad, "dtypes[0]|i32|bf16");
    OK(tdm_device_warm(device, NULL, 0, &kernels));
    CHECK(kernels == 0, "%zu kernels of no dtype", kernels);
    REFUSED(tdm_device_warm_watched(device, &f32, 1, NULL, NULL, &kernels), bad,
            "tdm_device_warm_watched|watch");
    size_t calls = 0;
    OK(tdm_device_warm_watched(device, &f32, 1, watch_two, &calls, &kernels));
    CHECK(tdm_device_get_info(device)->backend == TDM_CPU ? calls == 0 && kernels == 0
                                                          : calls == 3 && kernels == 2,
          "%zu calls, %zu kernels", calls, kernels);
}

Test(devices, warm_whole) {
    static const tdm_dtype f32 = TDM_F32;
    size_t kernels = 7;
    if (tdm_device_get_info(device)->backend == TDM_OPENCL && small)
        check_skip("compiling all kernels takes too long");
    OK(tdm_device_warm(device, &f32, 1, &kernels));
    CHECK((kernels > 0) == (tdm_device_get_info(device)->backend != TDM_CPU), "%zu kernels",
          kernels);
}

/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* Memory that is used again while work on it is pending, and waits between queues: counts their calls
 * of the driver. Streams work only while a call waits for them here, so nothing ends by chance. */
#include "traps.h"

#include <criterion/criterion.h>
#include <stdlib.h>

#include "control.h"
#include "small.h"
#include "support/check.h"

enum { COUNT = 4096, BYTES = COUNT * (int)sizeof(float) };

static void order_begin(void) {
    setenv("TDM_CUDA_SIM", "lazy=1 devices=2", 1);
    traps_begin();
}

TestSuite(order, .init = order_begin, .fini = traps_end);

static unsigned long host_waits(void) {
    return cuda_sim_calls("cudaStreamSynchronize") + cuda_sim_calls("cudaEventSynchronize");
}

static bool all_are(tdm_queue *queue, const tdm_buffer *buffer, float value) {
    static float got[COUNT];
    if (!OK(tdm_buffer_read(queue, buffer, 0, got, BYTES))) return false;
    int wrong = 0;
    while (wrong < COUNT && got[wrong] == value)
        wrong++;
    CHECK(wrong == COUNT, "element %d is %g, not %g", wrong, (double)got[wrong % COUNT],
          (double)value);
    return wrong == COUNT;
}

/* x doubled by way of a temporary: y = (x + x), then the same in a new buffer. */
static bool one_turn(tdm_queue *queue, const tdm_tensor *x, tdm_tensor *y) {
    tdm_buffer *made = NULL;
    if (!OK(tdm_buffer_create(tdm_queue_get_device(queue), BYTES, &made))) return false;
    tdm_tensor between = tdm_tensor_1d(made, TDM_F32, COUNT);
    bool fine = OK(tdm_add(queue, x, x, &between)) && OK(tdm_axpy(queue, 1.0, &between, y));
    tdm_buffer_release(made);
    return fine;
}

/* Ten thousand operations with temporaries: one block, and no call waits. */
Test(order, temporaries_of_one_queue) {
    enum { TURNS = 5000 };
    small s;
    tdm_buffer *in = NULL, *out = NULL;
    OK(small_open(&s, "cuda:0"));
    OK(tdm_buffer_create(s.device, BYTES, &in));
    OK(tdm_buffer_create(s.device, BYTES, &out));
    tdm_tensor x = tdm_tensor_1d(in, TDM_F32, COUNT), y = tdm_tensor_1d(out, TDM_F32, COUNT);
    OK(tdm_fill(s.queue, 1.0, &x));
    OK(tdm_fill(s.queue, 0.0, &y));
    if (!one_turn(s.queue, &x, &y)) return;
    cuda_sim_heal();
    for (int turn = 1; turn < TURNS; turn++)
        if (!one_turn(s.queue, &x, &y)) return;
    CHECK(cuda_sim_calls("cuLaunchKernel") == 2 * (TURNS - 1), "%lu launches",
          cuda_sim_calls("cuLaunchKernel"));
    CHECK(host_waits() == 0, "%lu waits", host_waits());
    CHECK(cuda_sim_calls("cudaMalloc") == 0, "%lu allocations", cuda_sim_calls("cudaMalloc"));
    CHECK(cuda_sim_calls("cudaEventRecord") == 0, "%lu events", cuda_sim_calls("cudaEventRecord"));
    all_are(s.queue, out, 2.0f * TURNS);
    tdm_buffer_release(in);
    tdm_buffer_release(out);
    small_close(&s);
}

/* Another queue takes a block after an event, on the device; a third one of the same buffer waits. */
Test(order, temporaries_of_another_queue) {
    small s;
    tdm_queue *second = NULL, *third = NULL;
    tdm_buffer *first = NULL, *again = NULL;
    OK(small_open(&s, "cuda:0"));
    OK(tdm_queue_create(s.device, 0, &second));
    OK(tdm_queue_create(s.device, 0, &third));
    OK(tdm_buffer_create(s.device, BYTES, &first));
    tdm_tensor ones = tdm_tensor_1d(first, TDM_F32, COUNT);
    OK(tdm_fill(s.queue, 1.0, &ones));
    tdm_buffer_release(first);
    cuda_sim_heal();
    OK(tdm_buffer_create(s.device, BYTES, &again));
    tdm_tensor head = tdm_tensor_1d(again, TDM_F32, COUNT / 2), tail = head;
    tail.offset = COUNT / 2;
    OK(tdm_fill(second, 2.0, &head));
    CHECK(cuda_sim_calls("cudaMalloc") == 0, "the block was not used again");
    CHECK(cuda_sim_calls("cudaStreamWaitEvent") == 1, "%lu waits on the device",
          cuda_sim_calls("cudaStreamWaitEvent"));
    CHECK(host_waits() == 0, "%lu waits on the host", host_waits());
    OK(tdm_fill(second, 2.0, &head));
    CHECK(cuda_sim_calls("cudaStreamWaitEvent") == 1, "the second use waits, too");
    OK(tdm_fill(third, 2.0, &tail));
    CHECK(host_waits() == 1, "%lu waits on the host", host_waits());
    OK(tdm_queue_finish(third));
    all_are(second, again, 2.0f);

    check_case("what two queues have used is handed out when both are done");
    OK(tdm_fill(third, 3.0, &tail));
    tdm_buffer_release(again);
    OK(tdm_buffer_create(s.device, BYTES, &again));
    CHECK(cuda_sim_calls("cudaMalloc") == 1, "a block that another queue may use was handed out");
    tdm_buffer_release(again);
    tdm_queue_destroy(second);
    tdm_queue_destroy(third);
    small_close(&s);
}

/* A queue of one card waits for another card's event on the devices. */
Test(order, between_devices) {
    small one, other;
    tdm_event *event = NULL;
    OK(small_open(&one, "cuda:0"));
    OK(small_open(&other, "cuda:1"));
    OK(tdm_event_create(one.device, &event));
    OK(tdm_fill(one.queue, 5.0, &one.x));
    OK(tdm_queue_record_event(one.queue, event));
    cuda_sim_heal();
    OK(tdm_queue_wait_event(other.queue, event));
    OK(tdm_fill(other.queue, 6.0, &other.x));
    CHECK(cuda_sim_calls("cudaStreamWaitEvent") == 1 && host_waits() == 0,
          "%lu waits on the device, %lu on the host", cuda_sim_calls("cudaStreamWaitEvent"),
          host_waits());
    OK(tdm_queue_finish(other.queue));
    bool done = false;
    OK(tdm_event_query(event, &done));
    CHECK(done, "the queue did not wait for the event");
    tdm_event_destroy(event);
    small_close(&one);
    small_close(&other);
}

/* Mappings and staged copies pin memory once. */
Test(order, pinned_memory_is_kept) {
    enum { LARGE = 100 << 20 };
    small s;
    void *mapped = NULL, *memory[3] = {NULL};
    OK(small_open(&s, "cuda:0"));
    for (int turn = 0; turn < 4; turn++) {
        OK(tdm_buffer_map(s.queue, s.buffers[0], 0, SMALL_BYTES, TDM_MAP_READ | TDM_MAP_WRITE,
                          &mapped));
        OK(tdm_buffer_unmap(s.queue, s.buffers[0], mapped));
        CHECK(cuda_sim_calls("cudaHostAlloc") == 1, "turn %d: %lu allocations", turn,
              cuda_sim_calls("cudaHostAlloc"));
    }
    check_case("limits");
    for (int turn = 0; turn < 2; turn++) {
        for (int i = 0; i < 3; i++)
            OK(tdm_host_alloc(s.device, LARGE, &memory[i]));
        for (int i = 0; i < 3; i++)
            tdm_host_free(s.device, memory[i]);
        CHECK(cuda_sim_alive(CUDA_SIM_PINNED) == 1, "%zu pieces are kept",
              cuda_sim_alive(CUDA_SIM_PINNED));
    }
    OK(tdm_host_alloc(s.device, SMALL_BYTES, &memory[0]));
    CHECK(cuda_sim_alive(CUDA_SIM_PINNED) == 2, "a large piece serves a small request");
    tdm_host_free(s.device, memory[0]);
    OK(tdm_device_trim(s.device));
    CHECK(cuda_sim_alive(CUDA_SIM_PINNED) == 0, "%zu pieces are kept",
          cuda_sim_alive(CUDA_SIM_PINNED));
    OK(tdm_host_alloc(s.device, SMALL_BYTES, &memory[0]));
    tdm_host_free(s.device, memory[0]);
    small_close(&s);
    CHECK(cuda_sim_alive(CUDA_SIM_PINNED) == 0, "the device left %zu pieces",
          cuda_sim_alive(CUDA_SIM_PINNED));
}

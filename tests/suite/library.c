/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* The checks and errors of libraries over Tandem. */
#include <criterion/criterion.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "platform/threads.h"
#include "support/array.h"

TestSuite(library, .init = device_open, .fini = device_close, TAGS("driver"));

static const tdm_status invalid = TDM_ERROR_INVALID_ARGUMENT;

Test(library, fail) {
    char same[64];
    REFUSED(tdm_fail(TDM_ERROR_IO, "the disk is full: 100 %s"), TDM_ERROR_IO, "full: 100 %s");
    snprintf(same, sizeof same, "%s", tdm_last_error());
    CHECK(tdm_fail(TDM_ERROR_BACKEND, tdm_last_error()) == TDM_ERROR_BACKEND &&
              strcmp(tdm_last_error(), same) == 0,
          "%s", tdm_last_error());
    REFUSED(tdm_fail(TDM_ERROR_IO, NULL), TDM_ERROR_IO, tdm_status_text(TDM_ERROR_IO));
}

Test(library, operands) {
    tdm_tensor x = {0}, y = {0}, i = {0}, part, two;
    tdm_graph *graph = NULL;
    OK(tdm_ones(queue, TDM_F32, TDM_SHAPE(4, 3), &x));
    OK(tdm_ones(queue, TDM_F32, TDM_SHAPE(4, 3), &y));
    OK(tdm_ones(queue, TDM_I32, TDM_SHAPE(4, 3), &i));
    OK(tdm_tensor_slice(&x, 0, 1, 3, 1, &part));
    two = x;
    two.strides[0] = 0;
    const tdm_operand right[] = {{"x", &x, 0, 0},
                                 {"bias", NULL, TDM_OPERAND_OPTIONAL, 0},
                                 {"i", &i, TDM_OPERAND_ANY_DTYPE, 0},
                                 {"y", &x, TDM_OPERAND_OUTPUT, 1u}};
    OK(tdm_check_operands("lib_f", queue, right, 4));
    OK(tdm_check_operands("lib_f", queue, NULL, 0));
    REFUSED(tdm_check_operands("lib_f", NULL, right, 4), invalid, "lib_f: queue is NULL");
    const struct {
        tdm_operand first, second;
        tdm_status status;
        const char *words;
    } wrong[] = {
        {{"x", NULL, 0, 0}, {"y", &y, 0, 0}, invalid, "lib_f: x is NULL"},
        {{"x", &x, 0, 0}, {"i", &i, 0, 0}, TDM_ERROR_INVALID_DTYPE, "lib_f: the dtype of i is i32"},
        {{"x", &x, 0, 0},
         {"y", &part, TDM_OPERAND_OUTPUT, 1u},
         TDM_ERROR_OVERLAP,
         "lib_f: y overlaps x; allowed is only exactly the same view"},
        {{"x", &x, 0, 0},
         {"y", &x, TDM_OPERAND_OUTPUT, 0},
         TDM_ERROR_OVERLAP,
         "y overlaps x; allowed is no overlap"},
        {{"x", &y, 0, 0},
         {"y", &two, TDM_OPERAND_OUTPUT | TDM_OPERAND_MOVED, 0},
         TDM_ERROR_OVERLAP,
         "strides of y"},
    };
    for (size_t k = 0; k < sizeof wrong / sizeof *wrong; k++) {
        const tdm_operand both[] = {wrong[k].first, wrong[k].second};
        REFUSED(tdm_check_operands("lib_f", queue, both, 2), wrong[k].status, wrong[k].words);
    }
    const tdm_operand nameless[] = {{"x", &x, 0, 0}, {NULL, &y, 0, 0}};
    REFUSED(tdm_check_operands("lib_f", queue, NULL, 1), invalid, "lib_f: operands is NULL");
    REFUSED(tdm_check_operands("lib_f", queue, right, -1), invalid, "lib_f: count is -1");
    REFUSED(tdm_check_operands("lib_f", queue, nameless, 2), invalid, "operands[1].name is NULL");
    REFUSED(tdm_check_operands(NULL, queue, right, 4), invalid, "function is NULL");
    OK(tdm_graph_create(queue, &graph));
    OK(tdm_graph_begin(graph));
    REFUSED(tdm_check_operands("lib_f", queue, right, 4), invalid, "lib_f: queue is recording");
    OK(tdm_graph_end(graph));
    tdm_graph_destroy(graph);
    tdm_buffer_freeze(y.buffer);
    const tdm_operand frozen = {"y", &y, TDM_OPERAND_OUTPUT, 0};
    REFUSED(tdm_check_operands("lib_f", queue, &frozen, 1), TDM_ERROR_READ_ONLY, "lib_f");
    tdm_tensor_release(&x);
    tdm_tensor_release(&y);
    tdm_tensor_release(&i);
}

/* The first of two failures, once; also where the queue is gone. */
Test(library, failures) {
    tdm_failure *failure = NULL, *same = NULL;
    tdm_queue *other = NULL;
    OK(tdm_queue_create(device, 0, &other));
    OK(tdm_failure_create(other, &failure));
    OK(tdm_failure_create(other, &same));
    OK(tdm_queue_finish(other));
    tdm_failure_report(failure, TDM_ERROR_RANK_LOST, "rank 7 is gone");
    tdm_failure_report(same, TDM_ERROR_BACKEND, "later");
    OK(tdm_queue_finish(queue));
    REFUSED(tdm_queue_finish(other), TDM_ERROR_RANK_LOST, "rank 7 is gone");
    OK(tdm_queue_finish(other));
    tdm_failure_report(same, TDM_OK, "nothing");
    OK(tdm_queue_finish(other));
    tdm_failure_report(same, TDM_ERROR_BACKEND, NULL);
    REFUSED(tdm_queue_finish(other), TDM_ERROR_BACKEND, tdm_status_text(TDM_ERROR_BACKEND));
    tdm_failure_release(same);
    tdm_queue_destroy(other);
    tdm_failure_report(failure, TDM_ERROR_RANK_LOST, "rank 7 is gone");
    tdm_failure_release(failure);
    REFUSED(tdm_failure_create(NULL, &failure), invalid, "queue is NULL");
    CHECK(!failure, "a place without a queue");
    REFUSED(tdm_failure_create(queue, NULL), invalid, "failure is NULL");
    tdm_failure_report(NULL, TDM_ERROR_IO, "");
    tdm_failure_release(NULL);
}

typedef struct creation {
    tdm_queue *of;
    tdm_failure *failure;
    atomic_int *waiting;
} creation;

static void *create_failure(void *context) {
    creation *self = context;
    atomic_fetch_sub(self->waiting, 1);
    while (atomic_load(self->waiting) > 0) {
    }
    if (tdm_failure_create(self->of, &self->failure) != TDM_OK) self->failure = NULL;
    return NULL;
}

/* Two threads at once make the record of a queue: they get the same one. */
Test(library, failures_of_two_threads) {
    bool same = true;
    for (int i = 0; same && i < 300; i++) {
        tdm_queue *other = NULL;
        tdmi_thread thread;
        atomic_int waiting = 2;
        OK(tdm_queue_create(device, 0, &other));
        creation self = {other, NULL, &waiting}, theirs = self;
        if (!tdmi_thread_start(&thread, create_failure, &theirs)) abort();
        create_failure(&self);
        tdmi_thread_join(thread);
        same = self.failure && self.failure == theirs.failure;
        CHECK(same, "round %d: two records", i);
        tdm_failure_release(self.failure);
        tdm_failure_release(theirs.failure);
        tdm_queue_destroy(other);
    }
}

Test(library, host_pointer) {
    tdm_buffer *buffer = NULL, *none = NULL;
    void *pointer = &buffer;
    char text[16] = "";
    OK(tdm_buffer_create(device, 16, &buffer));
    OK(tdm_buffer_create(device, 0, &none));
    REFUSED(tdm_buffer_get_host_pointer(NULL, &pointer), invalid, "buffer is NULL");
    REFUSED(tdm_buffer_get_host_pointer(buffer, NULL), invalid, "pointer is NULL");
    if (tdm_device_get_info(device)->backend != TDM_CPU) {
        REFUSED(tdm_buffer_get_host_pointer(buffer, &pointer), invalid, "backend cpu");
    } else {
        OK(tdm_buffer_get_host_pointer(none, &pointer));
        CHECK(!pointer, "a pointer to nothing");
        OK(tdm_buffer_get_host_pointer(buffer, &pointer));
        memcpy(pointer, "by the host", 12);
        OK(tdm_buffer_read(queue, buffer, 0, text, sizeof text));
        CHECK(strcmp(text, "by the host") == 0, "'%s' is read", text);
    }
    tdm_buffer_release(buffer);
    tdm_buffer_release(none);
}

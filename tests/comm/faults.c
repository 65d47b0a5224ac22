/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* What goes wrong after a call has returned: the queue's finish tells it, and so does the communicator from then on;
 * and nothing hangs. */
#include <stdio.h>
#include <string.h>

#include "test.h"

static tdm_tensor zeros(int64_t n) {
    tdm_tensor made = {0};
    OK(tdm_zeros(queue, TDM_F32, 1, (const int64_t[]){n}, &made));
    OK(tdm_queue_finish(queue));
    return made;
}

/* The last rank calls for one element more, behind a call that is right. */
static void other_shape(int64_t n) {
    tdm_comm *broken = NULL;
    tdm_tensor x = zeros(n), y = zeros(rank == ranks - 1 ? n + 1 : n);
    connect_threads(0, true, &broken);
    OK(tdm_comm_all_reduce(broken, queue, TDM_COMM_SUM, &x, &x));
    OK(tdm_comm_all_reduce(broken, queue, TDM_COMM_SUM, &y, &y));
    const tdm_status status = tdm_queue_finish(queue);
    char said[1024];
    snprintf(said, sizeof said, "%s", tdm_last_error());
    CHECK(status == TDM_ERROR_INVALID_SHAPE, "%s: %s", tdm_status_name(status), said);
    CHECK(strstr(said, " called tdm_comm_all_reduce (sum) of f32 [") && strstr(said, "but rank "),
          "who called what: %s", said);
    OK(tdm_queue_finish(queue)); /* once */
    CHECK(tdm_comm_all_reduce(broken, queue, TDM_COMM_SUM, &x, &x) == TDM_ERROR_RANK_LOST &&
              strstr(tdm_last_error(), " called tdm_comm_all_reduce (sum) of f32 ["),
          "it works again: %s", tdm_last_error());
    CHECK(tdm_comm_barrier(broken, queue) == TDM_ERROR_RANK_LOST, "a barrier works again");
    OK(tdm_fill(queue, 1, &x)); /* the queue goes on */
    OK(tdm_queue_finish(queue));
    tdm_comm_destroy(broken);
    tdm_tensor_release(&x);
    tdm_tensor_release(&y);
}

/* All ranks alike: each call says so itself, and nothing is broken. A rank alone: all are told. */
static void refused(void) {
    tdm_comm *some = NULL;
    tdm_tensor x = zeros(5000);
    connect_threads(0, true, &some);
    OK(tdm_comm_all_reduce(some, queue, TDM_COMM_SUM, &x, &x));
    CHECK(tdm_comm_all_reduce(some, queue, TDM_COMM_SUM, &x, NULL) == TDM_ERROR_INVALID_ARGUMENT &&
              strstr(tdm_last_error(), "tdm_comm_all_reduce: y is NULL"),
          "y is NULL: %s", tdm_last_error());
    CHECK(tdm_comm_broadcast(some, queue, ranks, &x) == TDM_ERROR_INVALID_ARGUMENT, "root");
    CHECK(tdm_comm_send(some, queue, rank, &x) == TDM_ERROR_INVALID_ARGUMENT, "to itself");
    OK(tdm_comm_all_reduce(some, queue, TDM_COMM_SUM, &x, &x));
    OK(tdm_queue_finish(queue));
    tdm_status status = tdm_comm_all_reduce(some, queue, TDM_COMM_SUM, &x, rank ? &x : NULL);
    if (status == TDM_OK) status = tdm_queue_finish(queue);
    CHECK(status == TDM_ERROR_INVALID_ARGUMENT && strstr(tdm_last_error(), "rank 0 refused"),
          "%s: %s", tdm_status_name(status), tdm_last_error());
    tdm_comm_destroy(some);
    tdm_tensor_release(&x);
}

/* The last rank does nothing any more, while the others have several calls under way. */
static void lost(bool destroy_at_once) {
    tdm_comm *left = NULL;
    tdm_tensor x = zeros(5000);
    char name[32];
    snprintf(name, sizeof name, "rank %d ", ranks - 1);
    connect_threads(0, true, &left);
    OK(tdm_comm_set_timeout(left, 0.3));
    OK(tdm_comm_all_reduce(left, queue, TDM_COMM_SUM, &x, &x));
    OK(tdm_queue_finish(queue));
    meet();
    const double began = local_now();
    if (rank < ranks - 1) {
        for (int i = 0; i < 3; i++)
            OK(tdm_comm_all_reduce(left, queue, TDM_COMM_SUM, &x, &x));
        OK(tdm_fill(queue, 1, &x));
        if (destroy_at_once) tdm_comm_destroy(left);
        CHECK(tdm_queue_finish(queue) == TDM_ERROR_RANK_LOST && strstr(tdm_last_error(), name),
              "%s", tdm_last_error());
        CHECK(local_now() - began < 10, "it took %g s", local_now() - began);
        CHECK(destroy_at_once || tdm_comm_barrier(left, queue) == TDM_ERROR_RANK_LOST, "again");
    }
    meet();
    if (rank == ranks - 1 || !destroy_at_once) tdm_comm_destroy(left);
    tdm_tensor_release(&x);
}

/* A queue that is destroyed while a call is under way, which ends rightly. */
static void queue_goes(void) {
    tdm_comm *slow = NULL;
    tdm_queue *own = NULL;
    tdm_tensor x = zeros(1024);
    connect_threads(0.1, true, &slow);
    OK(tdm_fill(queue, rank + 1, &x));
    OK(tdm_queue_finish(queue));
    OK(tdm_queue_create(device, 0, &own));
    OK(tdm_comm_all_reduce(slow, own, TDM_COMM_MAX, &x, &x));
    tdm_queue_destroy(own);
    float value = 0;
    OK(tdm_buffer_read(queue, x.buffer, 0, &value, sizeof value));
    CHECK(value == (float)ranks, "the maximum is %g, not %d", (double)value, ranks);
    tdm_comm_destroy(slow);
    tdm_tensor_release(&x);
}

static void one_thread(void) {
    local_group *group = local_group_make(1, 0, 0);
    const tdm_transport transport = local_transport_of_one_thread(group, 0);
    tdm_comm *alone = NULL;
    OK(tdm_comm_create(&transport, device, &alone));
    CHECK(tdm_comm_set_asynchronous(alone, true) == TDM_ERROR_UNSUPPORTED &&
              strstr(tdm_last_error(), "MPI_THREAD_MULTIPLE"),
          "a transport for one thread: %s", tdm_last_error());
    OK(tdm_comm_set_asynchronous(alone, false));
    OK(tdm_comm_barrier(alone, queue));
    tdm_comm_destroy(alone);
    CHECK(tdm_comm_set_asynchronous(NULL, true) == TDM_ERROR_INVALID_ARGUMENT, "NULL");
}

void run_faults(void) {
    one_thread();
    if (ranks == 1) return;
    other_shape(5);
    other_shape(100000);
    refused();
    lost(false);
    lost(true);
    queue_goes();
}

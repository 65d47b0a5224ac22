/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* Faults: the call reports each on every rank, and so does the communicator from then on; and nothing hangs. */
#include <stdio.h>
#include <string.h>

#include "test.h"

static tdm_tensor zeros(int64_t n) {
    tdm_tensor made = {0};
    OK(tdm_zeros(queue, TDM_F32, 1, (const int64_t[]){n}, &made));
    OK(tdm_queue_finish(queue));
    return made;
}

/* The last rank calls for one element more, after a call that is right. */
static void other_shape(int64_t n) {
    tdm_comm *broken = NULL;
    tdm_tensor x = zeros(n), y = zeros(rank == ranks - 1 ? n + 1 : n);
    connect_threads(0, &broken);
    OK(tdm_comm_all_reduce(broken, queue, TDM_COMM_SUM, &x, &x));
    const tdm_status status = tdm_comm_all_reduce(broken, queue, TDM_COMM_SUM, &y, &y);
    char said[1024];
    snprintf(said, sizeof said, "%s", tdm_last_error());
    CHECK(status == TDM_ERROR_INVALID_SHAPE, "%s: %s", tdm_status_name(status), said);
    CHECK(strstr(said, " called tdm_comm_all_reduce (sum) of f32 [") && strstr(said, "but rank "),
          "who called what: %s", said);
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

/* All ranks alike: each call says so itself, and nothing is broken. A rank alone: every call reports it. */
static void refused(void) {
    tdm_comm *some = NULL;
    tdm_tensor x = zeros(5000);
    connect_threads(0, &some);
    OK(tdm_comm_all_reduce(some, queue, TDM_COMM_SUM, &x, &x));
    CHECK(tdm_comm_all_reduce(some, queue, TDM_COMM_SUM, &x, NULL) == TDM_ERROR_INVALID_ARGUMENT &&
              strstr(tdm_last_error(), "tdm_comm_all_reduce: y is NULL"),
          "y is NULL: %s", tdm_last_error());
    CHECK(tdm_comm_broadcast(some, queue, ranks, &x) == TDM_ERROR_INVALID_ARGUMENT, "root");
    CHECK(tdm_comm_send(some, queue, rank, &x) == TDM_ERROR_INVALID_ARGUMENT, "to itself");
    OK(tdm_comm_all_reduce(some, queue, TDM_COMM_SUM, &x, &x));
    OK(tdm_queue_finish(queue));
    const tdm_status status = tdm_comm_all_reduce(some, queue, TDM_COMM_SUM, &x, rank ? &x : NULL);
    CHECK(status == TDM_ERROR_INVALID_ARGUMENT && strstr(tdm_last_error(), "rank 0 refused"),
          "%s: %s", tdm_status_name(status), tdm_last_error());
    tdm_comm_destroy(some);
    tdm_tensor_release(&x);
}

/* The last rank does nothing any more. */
static void lost(void) {
    tdm_comm *left = NULL;
    tdm_tensor x = zeros(5000);
    char name[32];
    snprintf(name, sizeof name, "rank %d ", ranks - 1);
    connect_threads(0, &left);
    OK(tdm_comm_set_timeout(left, 0.3));
    OK(tdm_comm_all_reduce(left, queue, TDM_COMM_SUM, &x, &x));
    meet();
    const double began = local_now();
    if (rank < ranks - 1) {
        CHECK(tdm_comm_all_reduce(left, queue, TDM_COMM_SUM, &x, &x) == TDM_ERROR_RANK_LOST &&
                  strstr(tdm_last_error(), name),
              "%s", tdm_last_error());
        CHECK(local_now() - began < 10, "it took %g s", local_now() - began);
        CHECK(tdm_comm_barrier(left, queue) == TDM_ERROR_RANK_LOST, "again");
        OK(tdm_queue_finish(queue));
    }
    meet();
    tdm_comm_destroy(left);
    tdm_tensor_release(&x);
}

/* The last rank's first send of a call fails, whose receive has begun: nothing is left under way. A part has the fault
 * of the whole. */
static void cut_off(void) {
    tdm_comm *whole = NULL, *part = NULL;
    const local_record before = local;
    connect_threads(0, &whole);
    OK(tdm_comm_split(whole, 0, rank, &part));
    local.no_sends = rank == ranks - 1 ? 1u << LOCAL_HEADERS : 0;
    CHECK(tdm_comm_barrier(whole, queue) == TDM_ERROR_BACKEND &&
              strstr(tdm_last_error(), "the connection was reset"),
          "a barrier of a rank that is cut off: %s", tdm_last_error());
    local.no_sends = 0;
    CHECK(tdm_comm_barrier(part, queue) == TDM_ERROR_RANK_LOST, "a part works: %s",
          tdm_last_error());
    meet();
    tdm_comm_destroy(part);
    tdm_comm_destroy(whole);
    CHECK(local.open == before.open, "%d messages are left", local.open - before.open);
    CHECK(local.broken == before.broken + 2 && local.whole == before.whole,
          "%d of 2 transports were destroyed as broken", local.broken - before.broken);
}

/* The same where the transport keeps the receive, into which another rank's header comes later. */
static void kept(void) {
    static tdm_comm *all[8]; /* they stay, and so are no leaks */
    connect_threads(0, &all[rank]);
    meet(); /* now all can hear of a fault */
    if (rank == ranks - 1) {
        local.no_sends = 1u << LOCAL_HEADERS;
        local.keeps = true;
        CHECK(tdm_comm_barrier(all[rank], queue) == TDM_ERROR_BACKEND, "%s", tdm_last_error());
        local.no_sends = 0;
        local.keeps = false;
        tdm_comm_destroy(all[rank]);
    }
    meet();
    if (rank < ranks - 1) {
        CHECK(tdm_comm_barrier(all[rank], queue) == TDM_ERROR_BACKEND, "%s", tdm_last_error());
        tdm_comm_destroy(all[rank]);
    }
    meet();
}

/* A rank cannot make its part: all fail. Where none can, nothing is broken. */
static void no_part(void) {
    for (int all = 0; all < 2; all++) {
        const bool cannot = all || rank == ranks - 1;
        const local_record before = local;
        tdm_comm *whole = NULL, *part = NULL;
        tdm_grid *grid = NULL;
        connect_threads(0, &whole);
        local.no_receives = cannot ? 1u << LOCAL_NOTES : 0;
        const tdm_status status = tdm_comm_split(whole, 0, rank, &part);
        CHECK(status == TDM_ERROR_OUT_OF_MEMORY && !part &&
                  strstr(tdm_last_error(), "no room for a message"),
              "%d: %s: %s", all, tdm_status_name(status), tdm_last_error());
        local.no_receives = 0;
        CHECK(tdm_grid_create(whole, 0, 0, &grid) == (all ? TDM_OK : TDM_ERROR_RANK_LOST),
              "afterwards %d: %s", all, tdm_last_error());
        meet();
        CHECK(local.broken == before.broken + 1 && local.whole == before.whole,
              "%d parts were destroyed as broken", local.broken - before.broken);
        tdm_grid_destroy(grid);
        tdm_comm_destroy(whole);
        CHECK(local.open == before.open, "%d messages are left", local.open - before.open);
    }
}

/* The last header that a rank sends is lost while it waits for data: its call fails. */
static void lost_header(void) {
    tdm_comm *some = NULL;
    tdm_tensor x = zeros(5000);
    connect_threads(0.02, &some);
    local.lost = rank == 2; /* to rank 1, in the last step */
    const tdm_status status = tdm_comm_all_reduce(some, queue, TDM_COMM_SUM, &x, &x);
    local.lost = 0;
    /* Rank 0 may be done before. */
    CHECK((rank == 0 && status == TDM_OK) || status == TDM_ERROR_BACKEND, "%s: %s",
          tdm_status_name(status), tdm_last_error());
    meet();
    tdm_comm_destroy(some);
    tdm_tensor_release(&x);
}

/* A rank that is asked which one it waits for cannot listen any more: it fails, and so do its later calls. */
static void asked(void) {
    tdm_comm *some = NULL;
    connect_threads(0, &some);
    OK(tdm_comm_set_timeout(some, rank == 1 ? 0.3 : 60));
    meet();
    if (rank > 0) { /* which waits for rank 0 */
        local.no_receives = rank == 2 ? 1u << LOCAL_NOTES : 0;
        tdm_status status = tdm_comm_barrier(some, queue);
        local.no_receives = 0;
        CHECK(rank == 2 ? status == TDM_ERROR_OUT_OF_MEMORY : status != TDM_OK, "%s: %s",
              tdm_status_name(status), tdm_last_error());
        status = tdm_comm_barrier(some, queue);
        CHECK(status == TDM_ERROR_RANK_LOST && strstr(tdm_last_error(), "broken since"), "%s: %s",
              tdm_status_name(status), tdm_last_error());
    }
    meet();
    tdm_comm_destroy(some);
}

void run_faults(void) {
    if (ranks == 1) return;
    other_shape(5);
    other_shape(100000);
    refused();
    lost();
    cut_off();
    kept();
    no_part();
    if (ranks != 3) return;
    lost_header();
    asked();
}

/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* Faults: how one rank's becomes known to all, and which rank is named when nothing comes. Each rank has one
 * receive open from every other one, for notes that are looked at only while it waits. */
#include <stdarg.h>
#include <stdio.h>

#include "comm.h"
#include "platform/clock.h"

#define NOTE_MAGIC 0x746e6474u

/* Seconds that others have to report which rank they wait for, or what explains a message that is not as expected. */
#define GRACE 0.5

double tdmi_comm_now(void) { return (double)tdmi_nanoseconds() * 1e-9; }

/* The rank that is waited for may have no other core; and where all cores are busy, a thread that only yields its core
 * may not run again for seconds (Linux 6.18). */
void tdmi_comm_nap(void) { tdmi_sleep(50000); }

const char *tdmi_comm_broken(const tdm_comm *comm) {
    for (const tdmi_fault *fault = comm->fault; fault; fault = fault->of_parent)
        if (atomic_load(&fault->failed)) return fault->text;
    return NULL;
}

tdm_status tdmi_comm_usable(const tdm_comm *comm, const char *function) {
    const char *why = tdmi_comm_broken(comm);
    if (!why) return TDM_OK;
    return tdmi_comm_error(TDM_ERROR_RANK_LOST,
                           "%s: the communicator is broken since an earlier call: %s", function,
                           why);
}

static tdm_status listen(tdm_comm *comm, int rank) {
    tdmi_message *message = &comm->notes_in.messages[rank];
    *message = (tdmi_message){.size = sizeof(tdmi_note), .peer = rank, .receives = true};
    TDMI_TRY(comm->transport.receive(comm->transport.state, rank, TDMI_CHANNEL_NOTES,
                                     &comm->received[rank], sizeof(tdmi_note), &message->message));
    message->active = true;
    return TDM_OK;
}

tdm_status tdmi_comm_begin_notes(tdm_comm *comm) {
    for (int rank = 0; rank < comm->ranks; rank++)
        if (rank != comm->rank) TDMI_TRY(listen(comm, rank));
    return TDM_OK;
}

/* *failed: the rank that is known to have ended, or as it was. */
static bool is_done(tdm_comm *comm, tdmi_message *message, int *failed) {
    size_t received;
    int which = -1;
    bool done = false;
    if (!message->active) return false;
    if (comm->transport.test(comm->transport.state, &message->message, &done, &received, &which) !=
        TDM_OK) {
        if (which >= 0) *failed = which;
        (void)tdmi_comm_drop(comm, message); /* a single piece, which has ended */
        return false;
    }
    if (done) message->active = false;
    return done && (!message->receives || received == message->size);
}

/* To a rank that has taken the last one of the kind: until then that is the transport's to read. That a note could not
 * be sent changes nothing: its rank waits in vain for something else, too. */
static void send_note(tdm_comm *comm, int rank, int kind, int waits_for, tdm_status status,
                      const char *text) {
    const int place = kind * comm->ranks + rank;
    tdmi_message *message = &comm->notes_out.messages[place];
    tdmi_note *note = &comm->sent[place];
    int failed = -1;
    (void)is_done(comm, message, &failed);
    if (message->active) return;
    *note = (tdmi_note){.magic = NOTE_MAGIC,
                        .kind = kind,
                        .from = comm->rank,
                        .waits_for = waits_for,
                        .status = (int32_t)status};
    snprintf(note->text, sizeof note->text, "%s", text);
    message->active = comm->transport.send(comm->transport.state, rank, TDMI_CHANNEL_NOTES, note,
                                           sizeof *note, &message->message) == TDM_OK;
}

static void send_notes(tdm_comm *comm, int kind, int waits_for, tdm_status status,
                       const char *text) {
    if (!tdmi_comm_has_transport(comm)) return;
    for (int rank = 0; rank < comm->ranks; rank++)
        if (rank != comm->rank) send_note(comm, rank, kind, waits_for, status, text);
}

static tdm_status fault(tdm_comm *comm, tdm_status status, const char *text) {
    if (!atomic_load(&comm->fault->failed))
        snprintf(comm->fault->text, sizeof comm->fault->text, "%s", text);
    atomic_store(&comm->fault->failed, true);
    return tdmi_comm_error(status, "%s: %s", comm->function, text);
}

tdm_status tdmi_comm_fail(tdm_comm *comm, tdm_status status, const char *format, ...) {
    char text[600];
    va_list list;
    va_start(list, format);
    vsnprintf(text, sizeof text, format, list);
    va_end(list);
    send_notes(comm, TDMI_NOTE_FAULT, -1, status, text);
    return fault(comm, status, text);
}

tdm_status tdmi_comm_own_fault(tdm_comm *comm, tdm_status status) {
    if (status == TDM_OK) return TDM_OK;
    return tdmi_comm_fail(comm, status, "rank %d: %s", comm->rank, tdm_last_error());
}

/* One rank's notes: one that reports a fault ends the call, one that asks is answered. */
static tdm_status hear(tdm_comm *comm, int rank, int waits_for, int *failed) {
    while (is_done(comm, &comm->notes_in.messages[rank], failed)) {
        tdmi_note note = comm->received[rank];
        if (note.magic != NOTE_MAGIC) return TDM_OK;
        note.text[sizeof note.text - 1] = '\0';
        if (note.kind == TDMI_NOTE_FAULT)
            return fault(comm,
                         note.status > TDM_OK && note.status < TDM_STATUS_COUNT
                             ? (tdm_status)note.status
                             : TDM_ERROR_RANK_LOST,
                         note.text);
        comm->waits[rank] = note.waits_for;
        /* Each time it asks: it forgets what it knew before, which may be of another wait. */
        if (note.kind == TDMI_NOTE_ASKS && waits_for >= 0)
            send_note(comm, rank, TDMI_NOTE_ANSWERS, waits_for, TDM_OK, "");
        TDMI_TRY(tdmi_comm_own_fault(comm, listen(comm, rank)));
    }
    return TDM_OK;
}

tdm_status tdmi_comm_look(tdm_comm *comm, int waits_for) {
    int failed = -1;
    for (int rank = 0; rank < comm->ranks; rank++)
        if (rank != comm->rank) TDMI_TRY(hear(comm, rank, waits_for, &failed));
    if (failed < 0) return TDM_OK; /* else no note says more, which the rank may have sent before */
    char why[256];
    snprintf(why, sizeof why, "%.250s", tdm_last_error());
    return tdmi_comm_fail(comm, TDM_ERROR_RANK_LOST, "rank %d ended: %s", failed, why);
}

tdm_status tdmi_comm_explain(tdm_comm *comm, int waits_for,
                             tdm_status (*look)(tdm_comm *comm, int waits_for)) {
    const double end = tdmi_comm_now() + GRACE;
    while (tdmi_comm_now() < end) {
        TDMI_TRY(look(comm, waits_for));
        tdmi_comm_nap();
    }
    return TDM_OK;
}

tdm_status tdmi_comm_late(tdm_comm *comm, int waits_for) {
    for (int i = 0; i < comm->ranks; i++)
        comm->waits[i] = -1;
    send_notes(comm, TDMI_NOTE_ASKS, waits_for, TDM_OK, "");
    TDMI_TRY(tdmi_comm_explain(comm, waits_for, tdmi_comm_look));
    int silent = waits_for;
    for (int steps = 0; steps <= comm->ranks; steps++) {
        if (silent == comm->rank || steps == comm->ranks)
            return tdmi_comm_fail(comm, TDM_ERROR_RANK_LOST,
                                  "ranks have waited for each other for %g s: rank %d for rank %d",
                                  comm->timeout, comm->rank, waits_for);
        if (comm->waits[silent] < 0 || comm->waits[silent] >= comm->ranks) break;
        silent = comm->waits[silent];
    }
    return tdmi_comm_fail(comm, TDM_ERROR_RANK_LOST,
                          "rank %d ended or did not answer within %g s, and rank %d waits for it",
                          silent, comm->timeout, comm->rank);
}

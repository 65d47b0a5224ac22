/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* Communicators inside: the object, and what its files share. A call begins with its checks (call.c), which also have
 * its header on its way to all ranks; moves data in sets of messages (wait.c); and ends. Collectives are made of
 * nonblocking messages alone, because nothing else can have a time limit and report what went wrong. */
#ifndef TDMI_COMM_H
#define TDMI_COMM_H

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include <tandem/create.h>
#include <tandem/transport.h>

#include "error.h"
#include "team.h"

enum { TDMI_CHANNEL_CHECK, TDMI_CHANNEL_DATA, TDMI_CHANNEL_NOTES, TDMI_CHANNEL_PAIRS };

/* The function that a header names. The last four are made of others, and op of three of them is a
 * tdmi_comm_epilogue. */
#define TDMI_COMM_FUNCTION_LIST(X)                                                                 \
    X(ALL_REDUCE, tdm_comm_all_reduce)                                                             \
    X(REDUCE, tdm_comm_reduce)                                                                     \
    X(BROADCAST, tdm_comm_broadcast)                                                               \
    X(ALL_GATHER, tdm_comm_all_gather)                                                             \
    X(REDUCE_SCATTER, tdm_comm_reduce_scatter)                                                     \
    X(ALL_TO_ALL, tdm_comm_all_to_all)                                                             \
    X(BARRIER, tdm_comm_barrier)                                                                   \
    X(SPLIT, tdm_comm_split)                                                                       \
    X(SEND, tdm_comm_send)                                                                         \
    X(RECEIVE, tdm_comm_receive)                                                                   \
    X(SEND_RECEIVE, tdm_comm_send_receive)                                                         \
    X(USE_NCCL, tdm_comm_use_nccl)                                                                 \
    X(COLUMN_PARALLEL, tdm_linear_column_parallel)                                                 \
    X(ROW_PARALLEL, tdm_linear_row_parallel)                                                       \
    X(GRID_CREATE, tdm_grid_create)                                                                \
    X(GRID_MATMUL, tdm_grid_matmul)
#define TDMI_COMM_FUNCTION_ID(NAME, name) TDMI_COMM_##NAME,
typedef enum tdmi_comm_function {
    TDMI_COMM_FUNCTION_LIST(TDMI_COMM_FUNCTION_ID) TDMI_COMM_FUNCTION_COUNT
} tdmi_comm_function;

/* A rank's call, as the others see it: everything that has to be the same on all ranks. The first extent is -1 where
 * ranks may differ in it. */
typedef struct tdmi_comm_header {
    uint32_t magic;
    uint8_t function, op, dtype, refused; /* refused: this rank's arguments were wrong */
    uint64_t call;                        /* how many of the communicator's came before */
    uint64_t extents;                     /* hash of the ranks' extents, 0: none */
    int32_t root, ndim;
    int64_t shape[TDM_MAX_DIMS];
} tdmi_comm_header;

/* The work on a product after its sum, as a header's op. */
static inline int tdmi_comm_epilogue(tdm_activation activation, bool bias) {
    return ((int)activation & 0x7f) | (bias ? 0x80 : 0);
}

/* A message of a rank apart from calls: a fault; which rank it waits for, as a question whether others wait too,
 * or as the answer to one. */
typedef struct tdmi_note {
    uint32_t magic;
    int32_t kind, from, waits_for;
    int32_t status;
    char text[620];
} tdmi_note;
enum { TDMI_NOTE_FAULT, TDMI_NOTE_ASKS, TDMI_NOTE_ANSWERS, TDMI_NOTE_KINDS };

/* A message under way. */
typedef struct tdmi_message {
    tdm_message message;
    size_t size; /* that is expected */
    int peer;
    bool active, receives, done; /* done: it came to its end */
} tdmi_message;

/* Messages that are waited for together. */
typedef struct tdmi_message_set {
    int count, room;
    tdmi_message *messages;
} tdmi_message_set;

/* Two rounds of data may be under way, and for each its results. */
enum { TDMI_SET_DATA, TDMI_SET_RESULTS = 2, TDMI_SET_CHECK = 4, TDMI_SET_COUNT };

/* Bytes of one call that go from one rank to another as they are (rounds.c): `from` this place of what is read, or for
 * what is forwarded of what is written, `into` that one of what is written. */
typedef enum tdmi_move_kind {
    TDMI_MOVE_SEND,
    TDMI_MOVE_RECEIVE,
    TDMI_MOVE_RELAY,   /* a receive of what is then forwarded */
    TDMI_MOVE_FORWARD, /* a send of what has then come */
    TDMI_MOVE_COPY     /* within this rank */
} tdmi_move_kind;
typedef struct tdmi_comm_move {
    tdmi_move_kind kind;
    int peer;
    bool fetches; /* the first that reads these bytes */
    size_t from, into, size;
} tdmi_comm_move;

/* Why nothing works any more, shared with the communicators that were split from this one. */
typedef struct tdmi_fault {
    atomic_uint references;
    struct tdmi_fault *of_parent; /* or NULL */
    atomic_bool failed;           /* set after the text, which then stays */
    char text[620];
} tdmi_fault;

struct tdm_comm {
    tdm_device *device;      /* a reference */
    tdm_transport transport; /* without functions where there is a team alone */
    tdmi_team *team;         /* that moves the tensors; or NULL */
    int rank, ranks;
    double timeout;
    uint64_t calls; /* collective ones, begun */
    const char *function;
    tdmi_fault *fault;
    tdmi_message_set sets[TDMI_SET_COUNT];
    tdmi_message_set notes_in, notes_out; /* one from each rank; one of each kind to each */
    tdmi_note *received, *sent;           /* of notes_in and of notes_out */
    int *waits;                           /* whom each rank said to wait for; -1: it said nothing */
    bool in_use;                          /* the transport kept memory of the call that failed */
    bool kept;                            /* or of any message: the communicator is not freed */
    tdmi_comm_header header;              /* of the call */
    int heard;                            /* headers of the call, from other ranks */
    tdm_status refusal;                   /* of this call, where its header says so */
    char refusal_text[300];
    tdmi_comm_header *headers;          /* of the other ranks' */
    tdmi_comm_header pair_in, pair_out; /* of tensors from one rank to another */
    int64_t *starts;                    /* of the ranks' parts, in elements; and the end */
    tdmi_comm_move *moves;              /* of the call; room for two with each rank */
    int move_count;
    char met;
    signed char
        overlaps; /* whether any rank's device computes while its host sends; -1: not asked */
    void *scratch;
    size_t scratch_size;
};

/* ---- comm.c ---- */

/* A communicator over a transport, which it then owns; part of `parent`'s faults, or NULL. Takes a reference to the
 * device. */
tdm_status tdmi_comm_make(const char *function, const tdm_transport *transport, tdm_device *device,
                          tdmi_fault *parent, tdm_comm **result) TDM_MUST_USE;

static inline bool tdmi_comm_has_transport(const tdm_comm *comm) { return comm->transport.send; }

/* ---- nccl.c ---- */

/* Collective, after headers were compared: the ranks agree on a team. On failure the communicator goes on without one,
 * unless it has a fault. */
tdm_status tdmi_comm_join(tdm_comm *comm) TDM_MUST_USE;

/* ---- message.c ---- */

/* Gives up a message, if it is under way; whether the transport may still use its bytes. */
bool tdmi_comm_drop(tdm_comm *comm, tdmi_message *message);

/* ---- wait.c ---- */

/* Begins a message of a set; size 0 is none at all. */
tdm_status tdmi_comm_send(tdm_comm *comm, int set, int to, int channel, const void *bytes,
                          size_t size) TDM_MUST_USE;
tdm_status tdmi_comm_receive(tdm_comm *comm, int set, int from, int channel, void *bytes,
                             size_t size) TDM_MUST_USE;
/* Begins to send this rank's header on, and to receive the next one: call.c says to whom. */
tdm_status tdmi_comm_exchange_headers(tdm_comm *comm) TDM_MUST_USE;
/* Until a set's messages are done, or a fault is known. */
tdm_status tdmi_comm_wait(tdm_comm *comm, int set) TDM_MUST_USE;
/* Gives up all messages of a call that failed. */
void tdmi_comm_abandon(tdm_comm *comm);

/* ---- fault.c ---- */

/* The text of the fault that this communicator, or one that it was split from, has; or NULL. */
const char *tdmi_comm_broken(const tdm_comm *comm);
/* The same as a call's failure. */
tdm_status tdmi_comm_usable(const tdm_comm *comm, const char *function) TDM_MUST_USE;
/* Makes a fault, sends it to all ranks, and returns the status with the text as its message. */
tdm_status tdmi_comm_fail(tdm_comm *comm, tdm_status status, const char *format, ...)
    __attribute__((format(printf, 3, 4))) TDM_MUST_USE;
/* The same of what failed on this rank alone, whose reason tdm_last_error has. TDM_OK stays. */
tdm_status tdmi_comm_own_fault(tdm_comm *comm, tdm_status status) TDM_MUST_USE;
/* Looks for notes of other ranks; fails when one is of a fault. */
tdm_status tdmi_comm_look(tdm_comm *comm, int waits_for) TDM_MUST_USE;
/* Nothing came within the time limit: asks which rank waits for which, and fails naming those that did not answer. */
tdm_status tdmi_comm_late(tdm_comm *comm, int waits_for) TDM_MUST_USE;
/* Looks for a moment, until a note, or whatever else it looks for, says more than this rank knows. */
tdm_status tdmi_comm_explain(tdm_comm *comm, int waits_for,
                             tdm_status (*look)(tdm_comm *comm, int waits_for)) TDM_MUST_USE;
tdm_status tdmi_comm_begin_notes(tdm_comm *comm) TDM_MUST_USE;
double tdmi_comm_now(void);
/* A moment in which a waiting rank leaves its core to others. */
void tdmi_comm_nap(void);

/* ---- header.c ---- */

/* Sets comm->header, for the next call. */
void tdmi_comm_describe(tdm_comm *comm, tdmi_comm_function function, int op, int root,
                        const tdm_tensor *tensor);
/* A rank's header has come: fails where it is not the same as this rank's, or not refused alike. */
tdm_status tdmi_comm_compare(tdm_comm *comm, int rank) TDM_MUST_USE;

/* ---- call.c ---- */

/* A call, and the host's pointers to its tensors. */
typedef struct tdmi_comm_side {
    const tdm_tensor *tensor; /* or NULL */
    tdm_tensor packed;        /* itself, or what stands for it */
    void *bytes;
    size_t size;
    bool mapped, copied, owned;
    bool staged;           /* bytes are pinned memory, whose parts the queue fetches and stores */
    bool direct;           /* bytes are on the device; set before, where they may be */
    bool entered;          /* of a direct one */
    tdm_queue *queue;      /* of a staged or direct one */
    tdm_event *fetched[2]; /* of a staged one */
} tdmi_comm_side;

/* Headers begin to go from rank to rank. refused: what checking the arguments gave. */
tdm_status tdmi_comm_begin(tdm_comm *comm, tdm_status refused) TDM_MUST_USE;
/* After the data: whether all ranks called the same. When it succeeds all have called. */
tdm_status tdmi_comm_check(tdm_comm *comm) TDM_MUST_USE;
/* Both at once, before the collectives that a call is made of. */
tdm_status tdmi_comm_agree(tdm_comm *comm, tdm_status refused) TDM_MUST_USE;
/* Within such a call: a failure on this rank alone is reported to the others, which would wait for it. */
tdm_status tdmi_comm_spoil(tdm_comm *comm, tdm_status status) TDM_MUST_USE;
/* Gives up what a call that failed has under way, and passes its failure on. */
tdm_status tdmi_comm_end(tdm_comm *comm, tdm_status status) TDM_MUST_USE;
/* ---- pack.c ---- */

/* A contiguous tensor with x's content, to be released: x itself with one more reference, or a copy that the queue
 * makes; all zero on failure. And one for what is to be written: y itself, or room with any content. */
tdm_status tdmi_comm_pack(tdm_queue *queue, const tdm_tensor *x, tdm_tensor *packed) TDM_MUST_USE;
tdm_status tdmi_comm_pack_room(tdm_queue *queue, const tdm_tensor *y,
                               tdm_tensor *packed) TDM_MUST_USE;

static inline size_t tdmi_comm_bytes_of(const tdm_tensor *x) {
    return (size_t)tdm_tensor_get_count(x) * tdm_dtype_size(x->dtype);
}

/* ---- memory.c ---- */

/* The argument of the next two from a call that only moves elements, which the transport may take from the device. */
static inline tdmi_comm_side tdmi_comm_moved_side(const tdm_comm *comm) {
    return (tdmi_comm_side){.direct = comm->transport.device_memory};
}
/* Memory from which the transport sends what is in x, and into which it receives what becomes y's content: the host's,
 * but for a direct side. It is used in parts, which are fetched before and stored after: where a mapping would copy the
 * tensor, some of them move while others are exchanged, and elsewhere fetching and storing do nothing. fetched_later
 * ends the parts of a slot, 0 or 1, which are there when `fetched` returns. With `keeps` parts may be fetched as well
 * as stored. */
tdm_status tdmi_comm_read(tdm_queue *queue, const tdm_tensor *x, tdmi_comm_side *side) TDM_MUST_USE;
tdm_status tdmi_comm_write(tdm_queue *queue, const tdm_tensor *y, bool keeps,
                           tdmi_comm_side *side) TDM_MUST_USE;
/* Within the device, or within the host, from one side to another. */
tdm_status tdmi_comm_copy(const tdmi_comm_side *from, size_t from_at, tdmi_comm_side *into,
                          size_t into_at, size_t size) TDM_MUST_USE;
tdm_status tdmi_comm_fetch(tdmi_comm_side *side, size_t at, size_t size) TDM_MUST_USE;
tdm_status tdmi_comm_fetched_later(tdmi_comm_side *side, int slot) TDM_MUST_USE;
tdm_status tdmi_comm_fetched(tdmi_comm_side *side, int slot) TDM_MUST_USE;
tdm_status tdmi_comm_store(tdmi_comm_side *side, size_t at, size_t size) TDM_MUST_USE;
/* Begins to read x and to write y; either may be NULL. Where both are in one buffer, x is copied instead of mapped. A
 * failure is a fault of this rank. */
tdm_status tdmi_comm_sides(tdm_comm *comm, tdm_queue *queue, const tdm_tensor *x,
                           const tdm_tensor *y, tdmi_comm_side *from,
                           tdmi_comm_side *into) TDM_MUST_USE;
/* Ends a call: gives up its messages if it failed, and gives back the memory of both sides. */
tdm_status tdmi_comm_leave(tdm_comm *comm, tdm_queue *queue, tdm_status status,
                           tdmi_comm_side *from, tdmi_comm_side *into) TDM_MUST_USE;
/* At least so many bytes, kept with the communicator; NULL when there are none. */
void *tdmi_comm_scratch(tdm_comm *comm, size_t size);

/* ---- arguments.c ---- */

/* Every call begins with it: the communicator is there and has no fault. */
tdm_status tdmi_comm_enter(tdm_comm *comm, const char *function) TDM_MUST_USE;
tdm_status tdmi_comm_check_args(const tdm_comm *comm, tdm_queue *queue, const tdm_operand *args,
                                int count) TDM_MUST_USE;
tdm_status tdmi_comm_check_rank(const tdm_comm *comm, const char *name, int rank) TDM_MUST_USE;
tdm_status tdmi_comm_check_same_dtype(const tdm_comm *comm, const tdm_tensor *x,
                                      const tdm_tensor *y) TDM_MUST_USE;
tdm_status tdmi_comm_check_same_shape(const char *function, const char *a_name, const tdm_tensor *a,
                                      const char *b_name, const tdm_tensor *b) TDM_MUST_USE;
/* "[2, 3]" into a buffer of 128 characters; returns it. */
const char *tdmi_comm_shape_text(const tdm_tensor *tensor, char text[128]);
/* Of x and y one is whole, the other is this rank's part of it. Sets comm->starts. */
tdm_status tdmi_comm_check_parts(tdm_comm *comm, tdm_queue *queue, const tdm_tensor *x,
                                 const int64_t *extents, const tdm_tensor *y,
                                 bool y_is_whole) TDM_MUST_USE;

/* ---- rounds.c ---- */

/* Carries out comm->moves, of which those that send read `from` and those that receive write `into`. */
tdm_status tdmi_comm_run_moves(tdm_comm *comm, int channel, tdmi_comm_side *from,
                               tdmi_comm_side *into) TDM_MUST_USE;

/* ---- move.c ---- */

/* Each rank's piece of so many bytes, which lies in `all` at its place, to all ranks. */
tdm_status tdmi_comm_share(tdm_comm *comm, void *all, size_t size) TDM_MUST_USE;
/* Whether any rank says so: the same on all. */
tdm_status tdmi_comm_any(tdm_comm *comm, bool own, bool *any) TDM_MUST_USE;

/* ---- combine.c ---- */

/* y = n elements of each row, combined in the rows' order. y may be one of the rows. */
void tdmi_comm_combine(tdm_dtype dtype, tdm_comm_op op, size_t n, const void *const *rows,
                       int count, void *y);

#endif

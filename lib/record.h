/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* A graph's pieces of work. Each is a function and its context, and the places there of the memory that it uses, for it
 * to be exchanged. */
#ifndef TDMI_RECORD_H
#define TDMI_RECORD_H

#include "core.h"

enum { TDMI_MOST_PLACES = 12 };

typedef struct tdmi_work {
    tdm_status (*run)(tdm_queue *queue, void *context);
    tdmi_bkernel *kernel; /* its own instance, or NULL */
    uint64_t key;         /* of the kernel's variant */
    int place_count;
    const tdmi_mem **places[TDMI_MOST_PLACES]; /* inside the context */
    struct tdmi_work *next;
    _Alignas(max_align_t) char context[];
} tdmi_work;

/* A buffer with a reference: of an operation whose arguments were found right, or `used` by work that was
 * recorded of one. Memory that is not used by the end of recording, as an operation was refused, is given back. */
typedef struct tdmi_held {
    tdm_buffer *buffer;
    uint64_t operation; /* that named it last */
    bool is_output;     /* of that */
    bool used, written;
} tdmi_held;

typedef enum tdmi_graph_state {
    TDMI_GRAPH_RECORDED,
    TDMI_GRAPH_RAN,      /* once, as a list: what is done at first use is done */
    TDMI_GRAPH_CAPTURED, /* by the driver */
    TDMI_GRAPH_LIST      /* the driver refused it several times */
} tdmi_graph_state;

struct tdm_graph {
    tdm_device *device; /* a reference */
    tdm_queue *queue;   /* NULL once that was destroyed */
    tdmi_work *first, **last;
    size_t length;
    tdmi_work *former;   /* recorded before, and not taken over yet */
    uint64_t operations; /* whose arguments were looked at */
    tdmi_held *held;
    size_t held_count, held_room;
    tdmi_block *scratch;  /* all that was taken; the first is the one in use */
    tdmi_outcome outcome; /* the first failure while it was recorded */
    tdmi_graph_state state;
    int failures;           /* captures that failed since it was recorded */
    tdmi_bcapture *capture; /* the driver's graph; NULL: none was made */
    tdm_graph *next;        /* of the queue */
};

/* Appends work whose context has so many bytes, zeroed, to the graph that the queue records; the caller fills
 * in the rest. With a variant it has its own kernel. NULL: it failed, and the graph with it. */
tdmi_work *tdmi_record(tdm_queue *queue, tdm_status (*run)(tdm_queue *queue, void *context),
                       size_t size, const tdmi_variant *variant);

/* Frees what was recorded before, as far as it was not taken over. */
void tdmi_graph_drop_former(tdm_graph *graph);

/* Empties the graph; its work becomes what was recorded before. */
void tdmi_graph_retire(tdm_graph *graph);

/* Frees all that the graph has of its queue. */
void tdmi_graph_leave_queue(tdm_graph *graph);

/* The work uses the memory that is named at this place of its context. */
void tdmi_record_place(tdm_graph *graph, tdmi_work *work, const tdmi_mem **place);

/* Gives back the buffers that no work uses. */
void tdmi_graph_drop_unused(tdm_graph *graph);

#endif

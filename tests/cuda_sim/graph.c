/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* Graphs: the work that a stream was given while it was captured, to be given to a stream as a
 * whole. */
#include <stdlib.h>
#include <string.h>

#include "sim.h"

/* A piece of work, and where the memory is that it uses: a graph holds none of it. */
typedef struct node {
    struct node *next;
    sim_work work;
    uintptr_t addresses[SIM_MAX_USES];
    max_align_t payload[];
} node;

typedef struct node_list {
    node *first, **last;
} node_list;

struct CUgraph_st {
    sim_object object;
    bool strict; /* is being captured in CUDA's default mode */
    node_list nodes;
};

struct CUgraphExec_st {
    sim_object object;
    node_list nodes;
};

static int add(node_list *list, const sim_work *work) {
    node *made = calloc(1, sizeof *made + work->size);
    if (!made) return cudaErrorMemoryAllocation;
    made->work = *work;
    if (work->size) memcpy(made->payload, work->payload, work->size);
    made->work.payload = made->payload;
    for (int i = 0; i < SIM_MAX_USES; i++)
        if (work->uses[i]) made->addresses[i] = work->uses[i]->address;
    if (!list->first) list->last = &list->first;
    *list->last = made;
    list->last = &made->next;
    return 0;
}

static void clear(node_list *list) {
    while (list->first) {
        node *next = list->first->next;
        free(list->first);
        list->first = next;
    }
}

static int copy(node_list *to, const node_list *from) {
    int error = 0;
    for (const node *n = from->first; n && !error; n = n->next)
        error = add(to, &n->work);
    return error;
}

static bool same_shape(const node_list *a, const node_list *b) {
    const node *n = a->first, *m = b->first;
    while (n && m && n->work.run == m->work.run && n->work.size == m->work.size) {
        n = n->next;
        m = m->next;
    }
    return !n && !m;
}

/* The strict captures there are, and whether a call has invalidated them; both atomically. */
static unsigned strict_captures;
static bool spoilt;
static _Thread_local CUstreamCaptureMode thread_mode = CU_STREAM_CAPTURE_MODE_GLOBAL;

CUgraph sim_graph_create(CUstreamCaptureMode mode) {
    CUgraph made = sim_create(CUDA_SIM_GRAPH, sizeof *made);
    if (!made) return NULL;
    made->strict = mode == CU_STREAM_CAPTURE_MODE_GLOBAL;
    if (made->strict) __atomic_add_fetch(&strict_captures, 1, __ATOMIC_RELAXED);
    return made;
}

bool sim_graph_end_capture(CUgraph graph) {
    if (!graph->strict) return false;
    graph->strict = false;
    return __atomic_sub_fetch(&strict_captures, 1, __ATOMIC_RELAXED) == 0
               ? __atomic_exchange_n(&spoilt, false, __ATOMIC_RELAXED)
               : __atomic_load_n(&spoilt, __ATOMIC_RELAXED);
}

void sim_exchange_capture_mode(CUstreamCaptureMode *mode) {
    const CUstreamCaptureMode before = thread_mode;
    thread_mode = *mode;
    *mode = before;
}

int sim_check_captures(const char *function) {
    if (thread_mode == CU_STREAM_CAPTURE_MODE_RELAXED ||
        !__atomic_load_n(&strict_captures, __ATOMIC_RELAXED))
        return 0;
    __atomic_store_n(&spoilt, true, __ATOMIC_RELAXED);
    sim_report("%s: a capture forbids it, and is invalidated", function);
    return cudaErrorStreamCaptureUnsupported;
}

int sim_graph_add(CUgraph graph, const sim_work *work) { return add(&graph->nodes, work); }

int sim_graph_destroy(CUgraph graph) {
    if (!sim_check(graph, CUDA_SIM_GRAPH, "cuGraphDestroy")) return CUDA_ERROR_INVALID_HANDLE;
    clear(&graph->nodes);
    sim_end(graph);
    return 0;
}

int sim_graph_instantiate(CUgraph graph, CUgraphExec *made) {
    if (!sim_check(graph, CUDA_SIM_GRAPH, "cuGraphInstantiate")) return CUDA_ERROR_INVALID_HANDLE;
    CUgraphExec exec = sim_create(CUDA_SIM_GRAPH_EXEC, sizeof *exec);
    if (!exec) return CUDA_ERROR_OUT_OF_MEMORY;
    *made = exec;
    return copy(&exec->nodes, &graph->nodes);
}

int sim_graph_update(CUgraphExec exec, CUgraph newer) {
    if (!sim_check(exec, CUDA_SIM_GRAPH_EXEC, "cuGraphExecUpdate") ||
        !sim_check(newer, CUDA_SIM_GRAPH, "cuGraphExecUpdate"))
        return CUDA_ERROR_INVALID_HANDLE;
    if (!same_shape(&exec->nodes, &newer->nodes)) return CUDA_ERROR_INVALID_VALUE;
    clear(&exec->nodes);
    return copy(&exec->nodes, &newer->nodes);
}

int sim_graph_exec_destroy(CUgraphExec exec) {
    if (!sim_check(exec, CUDA_SIM_GRAPH_EXEC, "cuGraphExecDestroy"))
        return CUDA_ERROR_INVALID_HANDLE;
    clear(&exec->nodes);
    sim_end(exec);
    return 0;
}

/* The work uses memory that is where it was when it was captured. */
static bool still_there(const sim_device *device, node *n) {
    for (int i = 0; i < SIM_MAX_USES; i++) {
        const uintptr_t address = n->addresses[i];
        if (!address) continue;
        union {
            uintptr_t number;
            const void *pointer;
        } at = {address};
        if (sim_find(device, at.pointer, 1, "cuGraphLaunch") != n->work.uses[i]) return false;
    }
    return true;
}

int sim_graph_launch(CUgraphExec exec, cudaStream_t stream) {
    if (!sim_check(exec, CUDA_SIM_GRAPH_EXEC, "cuGraphLaunch")) return CUDA_ERROR_INVALID_HANDLE;
    int error = sim_stream_check(stream, "cuGraphLaunch");
    for (node *n = exec->nodes.first; n && !error; n = n->next) {
        if (!still_there(sim_stream_device(stream), n)) {
            sim_report("cuGraphLaunch: memory that the graph uses was freed");
            return CUDA_ERROR_INVALID_VALUE;
        }
        error = sim_enqueue(stream, &n->work);
    }
    return error;
}

/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* Communicators whose calls return at once. A thread, the worker, carries them out one after the other, each in the
 * place of its queue (gate.h) and on a queue of the worker's own, by the same functions as without it. The
 * program's thread checks the arguments first; it and the worker share no communicator but when the worker has
 * nothing to do. */
#include "comm.h"
#include "gate.h"

/* A call, with what it needs until it is done. */
typedef struct work {
    tdmi_comm_call call;
    tdm_tensor x, y; /* with references; their buffers are NULL where the call has none */
    tdmi_gate gate;
    struct work *next;
    int64_t extents[];
} work;

typedef struct tdmi_comm_worker {
    tdm_comm *comm; /* `behind` */
    tdm_queue *queue;
    pthread_t thread;
    pthread_mutex_t lock; /* of all below */
    pthread_cond_t changed;
    work *first, *last; /* what is to come */
    bool busy, ending;
} worker;

static void free_work(work *of) {
    tdm_tensor_release(&of->x);
    tdm_tensor_release(&of->y);
    tdmi_free(of);
}

/* ---- the worker's thread ---- */

/* The device failed: the others must not wait for this rank. */
static tdm_status cannot(tdm_comm *comm, tdm_status status) {
    TDMI_TRY(tdmi_comm_enter(comm, "an asynchronous call")); /* which leaves the message as it is */
    return tdmi_comm_spoil(comm, status);
}

/* The references go before the queue goes on, so that nothing is held any more once its finish returns. */
static void carry_out(worker *self, work *of) {
    tdmi_gate gate = of->gate;
    tdmi_outcome outcome = {0};
    tdm_status status = tdmi_gate_reach(&gate);
    tdmi_outcome_add(&outcome, status == TDM_OK ? of->call.run(self->comm, self->queue, &of->call)
                                                : cannot(self->comm, status));
    tdmi_outcome_add(&outcome, tdm_queue_finish(self->queue));
    free_work(of);
    tdmi_gate_open(&gate, tdmi_outcome_end(&outcome));
}

static void *run(void *context) {
    worker *self = context;
    tdmi_stay_alone();
    pthread_mutex_lock(&self->lock);
    while (self->first || !self->ending) {
        work *of = self->first;
        if (!of) {
            pthread_cond_wait(&self->changed, &self->lock);
            continue;
        }
        self->first = of->next;
        self->busy = true;
        pthread_mutex_unlock(&self->lock);
        carry_out(self, of);
        pthread_mutex_lock(&self->lock);
        self->busy = false;
        pthread_cond_broadcast(&self->changed);
    }
    pthread_mutex_unlock(&self->lock);
    return NULL;
}

/* ---- the program's threads ---- */

static void push(worker *self, work *of) {
    pthread_mutex_lock(&self->lock);
    if (self->first)
        self->last->next = of;
    else
        self->first = of;
    self->last = of;
    pthread_cond_broadcast(&self->changed);
    pthread_mutex_unlock(&self->lock);
}

/* Waits until the worker has nothing to do. */
static tdm_comm *settle(tdm_comm *comm) {
    worker *self = comm->worker;
    pthread_mutex_lock(&self->lock);
    while (self->first || self->busy)
        pthread_cond_wait(&self->changed, &self->lock);
    pthread_mutex_unlock(&self->lock);
    return comm->behind;
}

tdm_status tdmi_comm_enter_alone(tdm_comm **comm, const char *function) {
    TDMI_TRY(tdmi_comm_enter(*comm, function));
    if (!(*comm)->behind) return TDM_OK;
    *comm = settle(*comm);
    return tdmi_comm_enter(*comm, function);
}

static work *make(const tdm_comm *comm, const tdmi_comm_call *call) {
    const size_t extents = call->extents ? (size_t)comm->ranks : 0;
    work *made = tdmi_calloc(1, sizeof *made + extents * sizeof *made->extents);
    if (!made) return NULL;
    made->call = *call;
    made->x = tdm_tensor_retain(call->x);
    made->y = tdm_tensor_retain(call->y);
    made->call.x = call->x ? &made->x : NULL;
    made->call.y = call->y ? &made->y : NULL;
    if (!extents) return made;
    memcpy(made->extents, call->extents, extents * sizeof *made->extents);
    made->call.extents = made->extents;
    return made;
}

/* From here on what is used is the queue's (order_block.c), in whose place the worker uses it. */
static tdm_status order(tdm_queue *queue, const tdmi_comm_call *call) {
    if (call->x) TDMI_TRY(tdmi_order(queue, call->x->buffer, false));
    return call->y ? tdmi_order(queue, call->y->buffer, true) : TDM_OK;
}

/* As without a worker: the ranks' calls meet, and where all refuse nothing is broken. */
static tdm_status refuse(tdm_comm *comm, bool paired, tdm_status refused) {
    if (paired) return refused;
    tdm_comm *behind = settle(comm);
    TDMI_TRY(tdmi_comm_enter(behind, comm->function)); /* leaves the message as it is */
    behind->header = comm->header;
    return tdmi_comm_begin(behind, refused);
}

tdm_status tdmi_comm_post(tdm_comm *comm, tdm_queue *queue, tdm_status refused,
                          const tdmi_comm_call *call) {
    if (refused != TDM_OK) return refuse(comm, call->paired, refused);
    work *made = make(comm, call);
    tdm_status status =
        made ? order(queue, call)
             : tdmi_fail(TDM_ERROR_OUT_OF_MEMORY, "%s: out of host memory", comm->function);
    if (status == TDM_OK) status = tdmi_gate_close(queue, &made->gate);
    if (status != TDM_OK) {
        if (made) free_work(made);
        return refuse(comm, call->paired, status);
    }
    push(comm->worker, made);
    return TDM_OK;
}

/* ---- beginning and end ---- */

static void free_worker(worker *self) {
    if (!self) return;
    tdm_queue_destroy(self->queue);
    pthread_cond_destroy(&self->changed);
    pthread_mutex_destroy(&self->lock);
    tdmi_free(self);
}

static worker *make_worker(tdm_device *device, tdm_comm *behind) {
    worker *made = tdmi_calloc(1, sizeof *made);
    if (!made) return NULL;
    made->comm = behind;
    (void)pthread_mutex_init(&made->lock, NULL);
    (void)pthread_cond_init(&made->changed, NULL);
    if (tdm_queue_create(device, 0, &made->queue) == TDM_OK) {
        made->queue->behind_gates = true;
        return made;
    }
    free_worker(made);
    return NULL;
}

/* Between calls nothing that is under way points into the struct. */
static tdm_status begin_worker(tdm_comm *comm) {
    tdm_comm *behind = tdmi_calloc(1, sizeof *behind);
    int64_t *starts = tdmi_calloc((size_t)comm->ranks + 1, sizeof *starts);
    worker *made = behind && starts ? make_worker(comm->device, behind) : NULL;
    if (made) {
        *behind = *comm;
        behind->is_worker = true;
    }
    if (!made || !tdmi_thread_start(&made->thread, run, made)) {
        free_worker(made);
        tdmi_free(behind);
        tdmi_free(starts);
        return tdmi_fail(TDM_ERROR_OUT_OF_MEMORY, "%s: out of host memory, or of threads or queues",
                         comm->function);
    }
    *comm = (tdm_comm){.device = behind->device,
                       .rank = behind->rank,
                       .ranks = behind->ranks,
                       .function = behind->function,
                       .fault = behind->fault,
                       .starts = starts,
                       .behind = behind,
                       .worker = made};
    return TDM_OK;
}

void tdmi_comm_end_worker(tdm_comm *comm) {
    worker *self = comm->worker;
    tdm_comm *behind = comm->behind;
    pthread_mutex_lock(&self->lock);
    self->ending = true;
    pthread_cond_broadcast(&self->changed);
    pthread_mutex_unlock(&self->lock);
    (void)pthread_join(self->thread, NULL);
    free_worker(self);
    tdmi_free(comm->starts);
    *comm = *behind;
    comm->is_worker = false;
    tdmi_free(behind);
}

tdm_status tdm_comm_set_asynchronous(tdm_comm *comm, bool asynchronous) {
    TDMI_UNCANCELLED();
    TDMI_TRY(tdmi_comm_enter(comm, "tdm_comm_set_asynchronous"));
    if (!asynchronous) {
        if (comm->behind) tdmi_comm_end_worker(comm);
        return tdmi_comm_usable(comm, "tdm_comm_set_asynchronous");
    }
    if (comm->behind || comm->team || !tdmi_has_gates(comm->device)) return TDM_OK;
    if (!comm->transport.concurrent)
        return tdmi_fail(TDM_ERROR_UNSUPPORTED,
                         "%s: the transport is for one thread alone; over MPI, initialize it by "
                         "MPI_Init_thread with MPI_THREAD_MULTIPLE",
                         comm->function);
    return begin_worker(comm);
}

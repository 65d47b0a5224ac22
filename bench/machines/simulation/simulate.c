/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* Collectives and a step of training on the hosts of a cluster that SimGrid simulates: its SMPI is the MPI below
 * mpi/transport.c, and every call of the library goes through there, message by message. Computation is not simulated:
 * its time is its operations by a host's rate. All ranks are in one process and share the memory of their tensors,
 * whose contents mean nothing.
 *
 *     smpirun … simulate COLLECTIVE BYTES…    microseconds of one, or of all
 *     smpirun … simulate step TENSOR…         seconds of a step, with tensor parallel groups of TENSOR ranks */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <tandem/mpi.h>
#include <tandem/parallel.h>
#include <tandem/tandem.h>
#include <tandem/transport.h>

/* Of a host: floating point operations in a second, and bytes that are read or written where ranks' parts are added. */
static const double flop_rate = 2e12, memory_rate = 100e9;

enum { NOTES = 2 }; /* the channel of comm/comm.h */

/* The network that the step trains, and its batch. */
enum { LAYERS = 12, WIDTH = 2048, TOKENS = 64 * 1024 };
enum { BUCKET = 4 << 20 }; /* elements that are added up at once */

int simulated_test(MPI_Request *request, int *done, MPI_Status *status) {
    *done = 1;
    return MPI_Wait(request, status);
}

int simulated_receive(void *bytes, int count, MPI_Datatype type, int from, int tag, MPI_Comm comm,
                      MPI_Request *request) {
    *request = MPI_REQUEST_NULL;
    if (tag % TDM_TRANSPORT_CHANNELS == NOTES) return MPI_SUCCESS;
    return MPI_Irecv(bytes, count, type, from, tag, comm, request);
}

/* In the place of the library's (ld --wrap): n elements of f32 of `count` rows become one. */
void __wrap_tdmi_comm_combine(tdm_dtype dtype, tdm_comm_op op, size_t n, const void *const *rows,
                              int count, void *y, void *scratch);
void __wrap_tdmi_comm_combine(tdm_dtype dtype, tdm_comm_op op, size_t n, const void *const *rows,
                              int count, void *y, void *scratch) {
    (void)op, (void)rows, (void)y, (void)scratch;
    const double bytes = (double)(n * tdm_dtype_size(dtype)) * (count + 1);
    smpi_execute_flops(bytes / memory_rate * flop_rate);
}

static void check(tdm_status status) {
    if (status == TDM_OK) return;
    fprintf(stderr, "simulate: %s\n", tdm_last_error());
    MPI_Abort(MPI_COMM_WORLD, 1);
}

typedef struct rank_state {
    tdm_device *device;
    tdm_queue *queue;
    tdm_comm *all;
    int rank, ranks;
    void *memory; /* the same for all ranks */
    size_t size;
} rank_state;

/* `count` elements of the memory, from `first` on. */
static tdm_tensor tensor_of(const rank_state *s, int64_t first, int64_t count) {
    tdm_buffer *buffer;
    tdm_tensor whole, part;
    check(tdm_buffer_adopt_host(s->device, s->memory, s->size, NULL, NULL, &buffer));
    const int64_t all = (int64_t)(s->size / sizeof(float));
    check(tdm_tensor_init(buffer, TDM_F32, 1, &all, 0, &whole));
    check(tdm_tensor_slice(&whole, 0, first, count, 1, &part));
    return part;
}

static void give_memory(rank_state *s, size_t size) {
    s->size = size;
    s->memory = SMPI_SHARED_MALLOC(size);
    if (!s->memory) MPI_Abort(MPI_COMM_WORLD, 1);
}

/* Seconds from the last rank's beginning to the last one's end. */
static double end_of(double began) {
    double own = MPI_Wtime() - began, longest = 0;
    MPI_Allreduce(&own, &longest, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    return longest;
}

static double begin(void) {
    MPI_Barrier(MPI_COMM_WORLD);
    return MPI_Wtime();
}

/* ---- each collective compared with that of the simulated MPI ---- */

enum { ALL_REDUCE, ALL_GATHER, BROADCAST, REDUCE_SCATTER, ALL_TO_ALL, BARRIER, COLLECTIVES };
static const char *const names[COLLECTIVES] = {"all-reduce",     "all-gather", "broadcast",
                                               "reduce-scatter", "all-to-all", "barrier"};

static void ours(const rank_state *s, int which, tdm_tensor *whole, tdm_tensor *part,
                 tdm_tensor *other) {
    switch (which) {
    case ALL_REDUCE:
        check(tdm_comm_all_reduce(s->all, s->queue, TDM_COMM_SUM, whole, whole));
        return;
    case ALL_GATHER:
        check(tdm_comm_all_gather(s->all, s->queue, part, NULL, whole));
        return;
    case BROADCAST:
        check(tdm_comm_broadcast(s->all, s->queue, 0, whole));
        return;
    case REDUCE_SCATTER:
        check(tdm_comm_reduce_scatter(s->all, s->queue, TDM_COMM_SUM, whole, NULL, part));
        return;
    case ALL_TO_ALL:
        check(tdm_comm_all_to_all(s->all, s->queue, whole, other));
        return;
    default:
        check(tdm_comm_barrier(s->all, s->queue));
    }
}

static void plain(const rank_state *s, int which, int count) {
    float *x = s->memory, *y = x + count;
    const int part = count / s->ranks;
    switch (which) {
    case ALL_REDUCE:
        MPI_Allreduce(x, y, count, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
        return;
    case ALL_GATHER:
        MPI_Allgather(x, part, MPI_FLOAT, y, part, MPI_FLOAT, MPI_COMM_WORLD);
        return;
    case BROADCAST:
        MPI_Bcast(x, count, MPI_FLOAT, 0, MPI_COMM_WORLD);
        return;
    case REDUCE_SCATTER:
        MPI_Reduce_scatter_block(x, y, part, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
        return;
    case ALL_TO_ALL:
        MPI_Alltoall(x, part, MPI_FLOAT, y, part, MPI_FLOAT, MPI_COMM_WORLD);
        return;
    default:
        MPI_Barrier(MPI_COMM_WORLD);
    }
}

static void run_collectives(rank_state *s, const char *wanted, int64_t bytes) {
    const int64_t least = s->ranks * (int64_t)sizeof(float);
    const int64_t count = (bytes < least ? least : bytes / least * least) / (int64_t)sizeof(float);
    give_memory(s, 2 * (size_t)count * sizeof(float));
    const int64_t part = count / s->ranks;
    tdm_tensor whole = tensor_of(s, 0, count), other = tensor_of(s, count, count),
               own = tensor_of(s, s->rank * part, part);
    for (int which = 0; which < COLLECTIVES; which++) {
        if (strcmp(wanted, "all") != 0 && strcmp(wanted, names[which]) != 0) continue;
        double began = begin();
        ours(s, which, &whole, &own, &other);
        const double tandem = end_of(began);
        began = begin();
        plain(s, which, (int)count);
        const double mpi = end_of(began);
        if (s->rank == 0)
            printf("%s,%d,%lld,%.3f,%.3f\n", names[which], s->ranks,
                   (long long)count * (long long)sizeof(float), tandem * 1e6, mpi * 1e6);
        fflush(stdout);
    }
}

/* ---- a step of training ---- */

/* Seconds of an all-reduce in buckets, one after the other: one is measured, as all take as long. */
static double add_up(rank_state *s, tdm_comm *comm, tdm_comm_op op, int64_t count) {
    const int64_t bucket = count < BUCKET ? count : BUCKET;
    tdm_tensor x = tensor_of(s, 0, bucket);
    const double began = begin();
    check(tdm_comm_all_reduce(comm, s->queue, op, &x, &x));
    return end_of(began) * (double)count / (double)bucket;
}

/* Of one layer, as all are alike: each pass multiplies by this rank's part of the parameters, and adds up two results
 * over its tensor parallel group; the gradients are averaged over the ranks that have the same part. Nothing of this is
 * done while something else is. */
static void run_step(rank_state *s, int tensor) {
    const int data = s->ranks / tensor;
    const int64_t activations = (int64_t)TOKENS / data * WIDTH;
    const int64_t parameters = (int64_t)12 * WIDTH * WIDTH / tensor;
    const double flops = 2.0 * (double)parameters * TOKENS / data;
    tdm_comm *among_tensor, *among_data;
    check(tdm_comm_split(s->all, s->rank / tensor, 0, &among_tensor));
    check(tdm_comm_split(s->all, s->rank % tensor, 0, &among_data));
    give_memory(s, (size_t)BUCKET * sizeof(float));
    double computing = 0;
    for (int pass = 0; pass < 3; pass++) { /* forward; backward: of the inputs, of the weights */
        const double began = begin();
        smpi_execute_flops(flops);
        computing += end_of(began);
    }
    const double exchange =
        4 * add_up(s, among_tensor, TDM_COMM_SUM, activations); /* two in each of two */
    const double gradients = add_up(s, among_data, TDM_COMM_MEAN, parameters);
    if (s->rank == 0)
        printf("step,%d,%d,%.4f,%.4f,%.4f\n", s->ranks, tensor, LAYERS * computing,
               LAYERS * exchange, LAYERS * gradients);
    fflush(stdout);
}

/* The process ends as it is: a communicator's end would ask whether messages are done that never come. */
int main(int argc, char **argv) {
    rank_state s = {0};
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &s.rank);
    MPI_Comm_size(MPI_COMM_WORLD, &s.ranks);
    check(tdm_device_open("cpu:0", &s.device));
    check(tdm_queue_create(s.device, 0, &s.queue));
    check(tdm_comm_from_mpi(MPI_COMM_WORLD, s.device, &s.all));
    for (int i = 2; i < argc; i++)
        if (strcmp(argv[1], "step") == 0)
            run_step(&s, atoi(argv[i]));
        else
            run_collectives(&s, argv[1], atoll(argv[i]));
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Finalize();
    return 0;
}

/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* Messages of a communicator over MPI. */
#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <tandem/library.h>
#include <tandem/mpi.h>
#include <tandem/transport.h>

#if defined OPEN_MPI && defined __has_include
#if __has_include(<mpi-ext.h>)
#include <mpi-ext.h>
#endif
#endif

/* The most bytes of one message of MPI, whose counts are ints. */
#define PIECE ((size_t)1 << 30)

/* The class of errors of an MPI that reports failed processes (ULFM): Open MPI 5, MPICH. Of a message, the other
 * rank is the one. Nothing else of ULFM is asked: MPIX_Comm_failure_ack and MPIX_Comm_get_failed of MPICH's ch4 (4.0.2,
 * 5.0.2) end the program, by an assertion that is 0. */
#if defined MPI_ERR_PROC_FAILED
#define PROCESS_FAILED MPI_ERR_PROC_FAILED
#elif defined MPIX_ERR_PROC_FAILED
#define PROCESS_FAILED MPIX_ERR_PROC_FAILED
#endif

#define PATIENCE 0.1 /* seconds for MPI to cancel messages */

/* Of a message in pieces, those are under way at once. handle[0] of a tdm_message. */
typedef struct request {
    int count, done;
    int peer;
    int refused; /* why MPI took no piece, as the peer has failed; else MPI_SUCCESS */
    bool receives;
    size_t received;
    MPI_Request pieces[];
} request;

/* A rank's end of a communicator. */
typedef struct mpi_link {
    MPI_Comm comm;
    size_t sizes;     /* that tags can tell apart */
    double abandoned; /* when the last messages were, by MPI_Wtime */
} mpi_link;

/* Of a channel and the size of a message: one of another size than is received is then never met. MPI would cut it
 * off, which MPICH 4.0 reports to the error handler of another communicator, and that ends the program. */
static int tag_of(const mpi_link *self, int channel, size_t size) {
    return channel + TDM_TRANSPORT_CHANNELS * (int)(size % self->sizes);
}

static bool is_running(void) {
    int initialized = 0, finalized = 0;
    return MPI_Initialized(&initialized) == MPI_SUCCESS && initialized &&
           MPI_Finalized(&finalized) == MPI_SUCCESS && !finalized;
}

static tdm_status not_running(void) {
    return tdm_transport_fail(TDM_ERROR_UNAVAILABLE,
                              "MPI is not initialized, or was finalized before");
}

static tdm_status fail(const char *call, int code) {
    char text[MPI_MAX_ERROR_STRING + 1] = "", sentence[MPI_MAX_ERROR_STRING + 64];
    int length = 0;
    (void)MPI_Error_string(code, text, &length);
    text[length] = '\0';
    snprintf(sentence, sizeof sentence, "%s: %s", call, text);
    return tdm_transport_fail(TDM_ERROR_BACKEND, sentence);
}

static bool is_of_failed_process(int code) {
#ifdef PROCESS_FAILED
    int class = MPI_SUCCESS;
    return MPI_Error_class(code, &class) == MPI_SUCCESS && class == PROCESS_FAILED;
#else
    (void)code;
    return false;
#endif
}

/* Frees what is under way; whether MPI may still use its bytes. MPI is asked at least once of each piece, and until
 * `end` whether it has cancelled it: that takes it some calls. */
static bool drop(request *made, double end) {
    bool in_use = false;
    for (int i = 0; i < made->count; i++) {
        MPI_Request *piece = &made->pieces[i];
        int done = 0;
        if (*piece == MPI_REQUEST_NULL) continue;
        if (made->receives) (void)MPI_Cancel(piece);
        for (int tries = 0; !done && tries < 100 && (tries == 0 || MPI_Wtime() < end); tries++)
            if (MPI_Test(piece, &done, MPI_STATUS_IGNORE) != MPI_SUCCESS) break;
        if (done || *piece == MPI_REQUEST_NULL) continue;
        (void)MPI_Request_free(piece);
        in_use = true;
    }
    free(made);
    return in_use;
}

static tdm_status begin(void *state, int rank, int channel, void *bytes, size_t size, bool receives,
                        tdm_message *message) {
    if (!is_running()) return not_running();
    const mpi_link *self = state;
    const int tag = tag_of(self, channel, size);
    const size_t count = size ? (size - 1) / PIECE + 1 : 1;
    request *made = malloc(sizeof *made + count * sizeof(MPI_Request));
    if (!made || count > INT_MAX) {
        free(made);
        return tdm_transport_fail(TDM_ERROR_OUT_OF_MEMORY, "out of host memory");
    }
    *made = (request){.receives = receives, .peer = rank, .refused = MPI_SUCCESS};
    for (size_t i = 0; i < count; i++) {
        char *piece = (char *)bytes + i * PIECE;
        const int n = (int)(i + 1 < count ? PIECE : size - i * PIECE);
        const int code =
            receives ? MPI_Irecv(piece, n, MPI_BYTE, rank, tag, self->comm, &made->pieces[i])
                     : MPI_Isend(piece, n, MPI_BYTE, rank, tag, self->comm, &made->pieces[i]);
        if (is_of_failed_process(code)) { /* test says so, which can name the rank */
            made->refused = code;
            break;
        }
        if (code != MPI_SUCCESS) {
            (void)drop(made, MPI_Wtime() + PATIENCE);
            return fail(receives ? "MPI_Irecv" : "MPI_Isend", code);
        }
        made->count++;
    }
    message->handle[0] = made;
    return TDM_OK;
}

static tdm_status send(void *state, int to, int channel, const void *bytes, size_t size,
                       tdm_message *message) {
    return begin(state, to, channel, (void *)(uintptr_t)bytes, size, false, message);
}

static tdm_status receive(void *state, int from, int channel, void *bytes, size_t size,
                          tdm_message *message) {
    return begin(state, from, channel, bytes, size, true, message);
}

static tdm_status fail_message(const request *made, int code, int *failed) {
    if (is_of_failed_process(code)) *failed = made->peer;
    return fail(made->receives ? "receiving" : "sending", code);
}

static tdm_status test(void *state, tdm_message *message, bool *done, size_t *received,
                       int *failed) {
    (void)state;
    request *made = message->handle[0];
    *done = false;
    if (!is_running()) return not_running();
    while (made->done < made->count) {
        MPI_Status status;
        int complete = 0, n = 0;
        int code = MPI_Test(&made->pieces[made->done], &complete, &status);
        if (code == MPI_SUCCESS && !complete) return TDM_OK;
        if (code == MPI_SUCCESS && made->receives) code = MPI_Get_count(&status, MPI_BYTE, &n);
        if (code != MPI_SUCCESS) {
            made->pieces[made->done] = MPI_REQUEST_NULL;
            return fail_message(made, code, failed);
        }
        made->received += (size_t)n;
        made->done++;
    }
    if (made->refused != MPI_SUCCESS) return fail_message(made, made->refused, failed);
    *received = made->received;
    *done = true;
    free(made);
    return TDM_OK;
}

/* All messages of a communicator that breaks are abandoned one after the other, and have one PATIENCE together. */
static void abandon(void *state, tdm_message *message, bool *in_use) {
    mpi_link *self = state;
    *in_use = false;
    if (!is_running()) {
        free(message->handle[0]);
        return;
    }
    const double now = MPI_Wtime();
    if (now > self->abandoned + 10 * PATIENCE) self->abandoned = now;
    *in_use = drop(message->handle[0], self->abandoned + PATIENCE);
}

/* A collective call for MPI, too, but one that does not wait: "normally implemented to be local", says the standard. A
 * communicator that broke is kept, because MPICH gives its number to the next one, which would get its messages. */
static void destroy(void *state, bool broken) {
    mpi_link *self = state;
    if (is_running() && !broken) (void)MPI_Comm_free(&self->comm);
    free(self);
}

/* Whether MPI takes addresses in the memory of CUDA devices: since MPI 4.1 a communicator's info says which kinds of
 * memory it knows, and Open MPI has its own function. */
static bool takes_device_memory(MPI_Comm comm) {
    MPI_Info info = MPI_INFO_NULL;
    char kinds[MPI_MAX_INFO_VAL + 1] = "";
    int found = 0;
#if defined MPIX_CUDA_AWARE_SUPPORT && MPIX_CUDA_AWARE_SUPPORT
    if (MPIX_Query_cuda_support()) return true;
#endif
    if (MPI_Comm_get_info(comm, &info) != MPI_SUCCESS) return false;
    (void)MPI_Info_get(info, "mpi_memory_alloc_kinds", MPI_MAX_INFO_VAL, kinds, &found);
    (void)MPI_Info_free(&info);
    for (const char *kind = kinds; found && *kind; kind += *kind == ',') {
        const size_t n = strcspn(kind, ",");
        if ((n == 4 && memcmp(kind, "cuda", n) == 0) ||
            (n == 11 && memcmp(kind, "cuda:device", n) == 0))
            return true;
        kind += n;
    }
    return false;
}

static tdm_status split(void *state, int color, int key, tdm_transport *part);

/* The transport over a duplicate, `of`. */
static tdm_status fill(MPI_Comm of, tdm_transport *transport) {
    mpi_link *self = malloc(sizeof *self);
    int rank = 0, ranks = 0;
    if (!self) return tdm_transport_fail(TDM_ERROR_OUT_OF_MEMORY, "out of host memory");
    (void)MPI_Comm_set_errhandler(of, MPI_ERRORS_RETURN);
    (void)MPI_Comm_rank(of, &rank);
    (void)MPI_Comm_size(of, &ranks);
    int *most = NULL, found = 0; /* the largest tag */
    (void)MPI_Comm_get_attr(of, MPI_TAG_UB, &most, &found);
    *self = (mpi_link){.comm = of,
                       .abandoned = -1,
                       .sizes = (size_t)(found && most ? *most : 32767) / TDM_TRANSPORT_CHANNELS};
    *transport = (tdm_transport){.size = sizeof *transport,
                                 .state = self,
                                 .rank = rank,
                                 .ranks = ranks,
                                 .send = send,
                                 .receive = receive,
                                 .test = test,
                                 .abandon = abandon,
                                 .split = split,
                                 .destroy = destroy,
                                 .device_memory = takes_device_memory(of)};
    return TDM_OK;
}

static tdm_status split(void *state, int color, int key, tdm_transport *part) {
    if (!is_running()) return not_running();
    MPI_Comm made = MPI_COMM_NULL;
    const int code =
        MPI_Comm_split(((mpi_link *)state)->comm, color < 0 ? MPI_UNDEFINED : color, key, &made);
    if (code != MPI_SUCCESS) return fail("MPI_Comm_split", code);
    part->ranks = 0;
    return made == MPI_COMM_NULL ? TDM_OK : fill(made, part);
}

/* A communicator that lacks a rank would wait for it. */
static tdm_status worst_of(MPI_Comm all, tdm_status own) {
    int worst = (int)own;
    const int code = MPI_Allreduce(MPI_IN_PLACE, &worst, 1, MPI_INT, MPI_MAX, all);
    return code == MPI_SUCCESS ? (tdm_status)worst : TDM_ERROR_BACKEND;
}

tdm_status tdm_comm_from_mpi(MPI_Comm mpi, tdm_device *device, tdm_comm **comm) {
    if (!comm)
        return tdm_transport_fail(TDM_ERROR_INVALID_ARGUMENT, "tdm_comm_from_mpi: comm is NULL");
    *comm = NULL;
    const tdm_status forked = tdm_check_fork();
    if (forked != TDM_OK) return forked;
    if (!is_running()) return not_running();
    if (mpi == MPI_COMM_NULL)
        return tdm_transport_fail(TDM_ERROR_INVALID_ARGUMENT,
                                  "tdm_comm_from_mpi: mpi is MPI_COMM_NULL");
    int between = 0;
    (void)MPI_Comm_test_inter(mpi, &between);
    if (between)
        return tdm_transport_fail(TDM_ERROR_INVALID_ARGUMENT,
                                  "tdm_comm_from_mpi: mpi is an intercommunicator");
    MPI_Comm own = MPI_COMM_NULL;
    const int code = MPI_Comm_dup(mpi, &own);
    if (code != MPI_SUCCESS) return fail("MPI_Comm_dup", code);
    tdm_transport transport = {0};
    tdm_status status = fill(own, &transport);
    if (status == TDM_OK) status = tdm_comm_create(&transport, device, comm);
    const tdm_status all = worst_of(own, status);
    if (all == TDM_OK) return TDM_OK;
    if (*comm)
        tdm_comm_destroy(*comm);
    else if (transport.state)
        destroy(transport.state, false); /* which sets no message */
    else
        (void)MPI_Comm_free(&own);
    *comm = NULL;
    if (status != TDM_OK) return status;
    return tdm_transport_fail(all,
                              "tdm_comm_from_mpi: another rank could not make its communicator");
}

/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* A product of matrices that are too large for the memory that one rank is given: each rank has its blocks of them, and
 * tdm_grid_matmul passes panels of these around. Four ranks succeed where one says how much it could not have.
 *
 *     mpicc -std=c11 large_product.c $(pkg-config --cflags --libs tandem-mpi) -lm -o large_product
 *     mpirun -n 4 ./large_product 4096 128
 *
 * The first number is the side of the matrices, the second the MiB that each process may have in addition to what
 * it has when the device is open, a limit that Linux holds it to. Of a cpu device: others have separate memory. */
#define _GNU_SOURCE
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>

#include <tandem/mpi.h>
#include <tandem/parallel.h>
#include <tandem/tandem.h>

/* An error ends the process; the other ranks' calls then fail, and name it. */
static void check(tdm_status status) {
    if (status == TDM_OK) return;
    fprintf(stderr, "large_product: %s: %s\n", tdm_status_name(status), tdm_last_error());
    exit(1);
}

/* Limits how many more bytes of private memory the process may have. */
static void limit_memory(size_t more) {
    char line[256];
    unsigned long long kib = 0;
    FILE *file = fopen("/proc/self/status", "r");
    while (file && kib == 0 && fgets(line, sizeof line, file))
        (void)sscanf(line, "VmData: %llu kB", &kib);
    if (file) (void)fclose(file);
    const struct rlimit limit = {(rlim_t)(kib * 1024 + more), (rlim_t)(kib * 1024 + more)};
    if (kib > 0 && setrlimit(RLIMIT_DATA, &limit) == 0) return;
    fputs("large_product: the memory of a process cannot be limited here\n", stderr);
    exit(1);
}

/* The BLAS library takes its buffers at its first product. They do not grow with the matrices, so they come before the
 * limit: OpenBLAS needs 128 MiB for each thread on some processors, and tries endlessly to get what it cannot have. */
static void multiply_once(tdm_queue *queue) {
    tdm_tensor a, b, c;
    check(tdm_ones(queue, TDM_F32, TDM_SHAPE(64, 64), &a));
    check(tdm_ones(queue, TDM_F32, TDM_SHAPE(64, 512), &b));
    check(tdm_empty(queue, TDM_F32, TDM_SHAPE(64, 512), &c));
    check(tdm_matmul(queue, NULL, &a, &b, &c));
    check(tdm_queue_finish(queue));
    tdm_tensor_release(&a);
    tdm_tensor_release(&b);
    tdm_tensor_release(&c);
}

/* Elements of A and B, whose products are small whole numbers: sums of them are exact. */
static float element_of_a(int64_t i, int64_t k) { return (float)((i * 3 + k * 5) % 7 - 3); }
static float element_of_b(int64_t k, int64_t j) { return (float)((k * 2 + j * 11) % 5 - 2); }

/* This rank's block of a matrix, written row by row, so that it is never there twice. */
static tdm_tensor make(tdm_grid *grid, tdm_queue *queue, int64_t n,
                       float (*element)(int64_t row, int64_t column)) {
    int64_t first[2], shape[2];
    tdm_tensor block;
    check(tdm_grid_block(grid, n, n, first, shape));
    check(tdm_empty(queue, TDM_F32, 2, shape, &block));
    float *row = malloc((size_t)(shape[1] + 1) * sizeof *row);
    if (!row) exit(1);
    const size_t size = (size_t)shape[1] * sizeof *row;
    for (int64_t i = 0; element && i < shape[0]; i++) {
        for (int64_t j = 0; j < shape[1]; j++)
            row[j] = element(first[0] + i, first[1] + j);
        check(tdm_buffer_write(queue, block.buffer, (size_t)i * size, row, size));
    }
    free(row);
    return block;
}

/* Some elements of this rank's block of C against sums computed here; whether all are right. */
static int is_right(tdm_grid *grid, tdm_queue *queue, int64_t n, const tdm_tensor *c) {
    int64_t first[2], shape[2];
    check(tdm_grid_block(grid, n, n, first, shape));
    for (int64_t t = 0; t < 500; t++) {
        const int64_t i = t * 7919 % shape[0], j = t * 104729 % shape[1];
        double sum = 0;
        float got;
        for (int64_t k = 0; k < n; k++)
            sum += (double)element_of_a(first[0] + i, k) * (double)element_of_b(k, first[1] + j);
        check(tdm_buffer_read(queue, c->buffer, (size_t)(i * shape[1] + j) * sizeof got, &got,
                              sizeof got));
        if (fabs((double)got - sum) > 0) return 0;
    }
    return 1;
}

int main(int argc, char **argv) {
    const int64_t n = argc > 1 ? atoll(argv[1]) : 4096;
    const size_t mib = argc > 2 ? (size_t)atoll(argv[2]) : 128;
    tdm_device *device;
    tdm_queue *queue;
    tdm_comm *comm;
    tdm_grid *grid;
    if (n < 1 || n > 1 << 20) return 2;
    /* Tandem's threads multiply; OpenBLAS's own would take their buffers later. */
    if (setenv("OPENBLAS_NUM_THREADS", "1", 0) != 0) return 1;
    MPI_Init(&argc, &argv);
    check(tdm_device_open("cpu:0", &device));
    check(tdm_queue_create(device, 0, &queue));
    check(tdm_comm_from_mpi(MPI_COMM_WORLD, device, &comm));
    check(tdm_comm_set_timeout(comm, 60));
    check(tdm_grid_create(comm, 0, 0, &grid));
    const int rank = tdm_comm_get_rank(comm), ranks = tdm_comm_get_size(comm);
    const double whole = 3.0 * (double)n * (double)n * sizeof(float) / (1 << 20);
    if (rank == 0)
        printf("three matrices of %.0f MiB in all, ranks of %zu MiB: %d\n", whole, mib, ranks);
    fflush(stdout);
    multiply_once(queue);
    limit_memory(mib << 20);

    tdm_tensor a = make(grid, queue, n, element_of_a), b = make(grid, queue, n, element_of_b);
    tdm_tensor c = make(grid, queue, n, NULL);
    check(tdm_grid_matmul(grid, queue, NULL, n, &a, &b, &c));

    int right = is_right(grid, queue, n, &c);
    tdm_tensor all;
    check(tdm_full(queue, right, TDM_F32, TDM_SHAPE(1), &all));
    check(tdm_comm_all_reduce(comm, queue, TDM_COMM_MIN, &all, &all));
    float least;
    check(tdm_to_host(queue, &all, &least));
    right = least > 0;
    if (rank == 0) printf("the product is %s\n", right ? "right" : "wrong");

    tdm_tensor *tensors[] = {&a, &b, &c, &all};
    for (int i = 0; i < 4; i++)
        tdm_tensor_release(tensors[i]);
    tdm_grid_destroy(grid);
    tdm_comm_destroy(comm);
    tdm_queue_destroy(queue);
    tdm_device_release(device);
    MPI_Finalize();
    return right ? 0 : 1;
}

/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* ScaLAPACK, opened at run time, of the MPI that this program was started by: p?gemm on blocks of the size with which
 * it is fastest here, of those that are usual and one as large as a rank's part. The elements of a block-cyclic matrix
 * lie in another order than Tandem's, which its time does not depend on. One thread of BLAS for each rank, as its cores
 * are. */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cases.h"
#include "machine/clock.h"

typedef void gemm(const char *trans_a, const char *trans_b, const int *m, const int *n,
                  const int *k, const void *alpha, const void *a, const int *ia, const int *ja,
                  const int *of_a, const void *b, const int *ib, const int *jb, const int *of_b,
                  const void *beta, void *c, const int *ic, const int *jc, const int *of_c);

struct scalapack {
    void *library;
    gemm *multiply;
    void (*leave)(int context), (*forget)(int system);
    int system; /* BLACS's number of the communicator, whose ranks alone may be asked to make a grid */
    int context, m, n, k;
    tdm_dtype dtype;
    int rows, columns;             /* of the grid */
    int of_a[9], of_b[9], of_c[9]; /* descriptors */
};

static const int block_sizes[] = {64, 128, 256, 0}; /* 0: a rank's part */
enum { BLOCK_SIZES = sizeof block_sizes / sizeof *block_sizes };

static void *open_library(void) {
    char version[MPI_MAX_LIBRARY_VERSION_STRING];
    int length = 0;
    MPI_Get_library_version(version, &length);
    const bool is_mpich = strstr(version, "MPICH");
    static const char *const names[2][3] = {
        {"libscalapack-openmpi.so.2.2", "libscalapack-openmpi.so", "libscalapack.so"},
        {"libscalapack-mpich.so.2.2", "libscalapack-mpich.so", "libscalapack.so"}};
    void *library = NULL;
    for (int i = 0; !library && i < 3; i++)
        library = dlopen(names[is_mpich][i], RTLD_NOW | RTLD_LOCAL);
    return library;
}

/* Whether each rank then has as many rows and columns as Tandem gives it. */
static bool describe(const scalapack *s, int size, int m, int n, int descriptor[9]) {
    const int rows = m / s->rows, columns = n / s->columns;
    const int values[9] = {
        1, s->context, m, n, size ? size : rows, size ? size : columns, 0, 0, rows < 1 ? 1 : rows};
    memcpy(descriptor, values, sizeof values);
    return m % s->rows == 0 && n % s->columns == 0 && rows % values[4] == 0 &&
           columns % values[5] == 0;
}

static bool use_size(scalapack *s, int size) {
    return describe(s, size, s->m, s->k, s->of_a) && describe(s, size, s->k, s->n, s->of_b) &&
           describe(s, size, s->m, s->n, s->of_c);
}

scalapack *scalapack_open(const group *g, int rows, int columns, tdm_dtype dtype, int64_t m,
                          int64_t n, int64_t k) {
    scalapack *s = calloc(1, sizeof *s);
    if (!s) return NULL;
    s->library = open_library();
    int (*number)(MPI_Comm) = NULL;
    void (*init)(int *, const char *, int, int) = NULL, (*set_threads)(int) = NULL;
    bool good = s->library;
    if (good) {
        *(void **)&number = dlsym(s->library, "Csys2blacs_handle");
        *(void **)&s->forget = dlsym(s->library, "Cfree_blacs_system_handle");
        *(void **)&init = dlsym(s->library, "Cblacs_gridinit");
        *(void **)&s->leave = dlsym(s->library, "Cblacs_gridexit");
        *(void **)&s->multiply = dlsym(s->library, dtype == TDM_F64 ? "pdgemm_" : "psgemm_");
        *(void **)&set_threads = dlsym(s->library, "openblas_set_num_threads");
    }
    good = good && number && s->forget && init && s->leave && s->multiply;
    if (!group_all(g, good)) {
        if (g->rank == 0)
            fputs("tdm bench: ScaLAPACK was not found (Debian: libscalapack-openmpi2.2 or "
                  "libscalapack-mpich2.2)\n",
                  stderr);
        free(s);
        return NULL;
    }
    if (set_threads) set_threads(1);
    s->dtype = dtype;
    s->m = (int)m;
    s->n = (int)n;
    s->k = (int)k;
    s->system = s->context = number(g->mpi);
    init(&s->context, "Row", rows, columns);
    s->rows = rows;
    s->columns = columns;
    if (use_size(s, 0)) return s;
    scalapack_close(s);
    return NULL;
}

void scalapack_tune(scalapack *s, const group *g, const void *a, const void *b, void *c) {
    int best = 0;
    double shortest = 1e300;
    for (int i = 0; i < 2 * BLOCK_SIZES; i++) { /* each twice, as the first call of all is slower */
        double seconds = 0;
        if (!use_size(s, block_sizes[i % BLOCK_SIZES])) continue;
        MPI_Barrier(g->mpi);
        const double start = bench_now();
        (void)scalapack_multiply(s, a, b, c);
        const double own = bench_now() - start;
        MPI_Allreduce(&own, &seconds, 1, MPI_DOUBLE, MPI_MAX, g->mpi);
        if (seconds >= shortest) continue;
        shortest = seconds;
        best = block_sizes[i % BLOCK_SIZES];
    }
    (void)use_size(s, best);
}

int scalapack_block(const scalapack *s) { return s->of_c[4]; }

bool scalapack_multiply(scalapack *s, const void *a, const void *b, void *c) {
    const int one = 1;
    const double d[2] = {1, 0};
    const float f[2] = {1, 0};
    const bool wide = s->dtype == TDM_F64;
    s->multiply("N", "N", &s->m, &s->n, &s->k, wide ? (const void *)&d[0] : &f[0], a, &one, &one,
                s->of_a, b, &one, &one, s->of_b, wide ? (const void *)&d[1] : &f[1], c, &one, &one,
                s->of_c);
    return true;
}

/* The library stays open: MPI calls functions of BLACS at its end. */
void scalapack_close(scalapack *s) {
    if (!s) return;
    s->leave(s->context);
    s->forget(s->system);
    free(s);
}

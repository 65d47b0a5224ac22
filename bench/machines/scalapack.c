/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* ScaLAPACK, opened at run time, of the MPI that this program was started by: p?gemm on blocks as large as a rank's
 * part, so that each rank has one block of each matrix. One thread of BLAS for each rank, as its cores are. */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cases.h"

typedef void gemm(const char *trans_a, const char *trans_b, const int *m, const int *n,
                  const int *k, const void *alpha, const void *a, const int *ia, const int *ja,
                  const int *of_a, const void *b, const int *ib, const int *jb, const int *of_b,
                  const void *beta, void *c, const int *ic, const int *jc, const int *of_c);

struct scalapack {
    void *library;
    gemm *multiply;
    void (*leave)(int context);
    int context, m, n, k;
    tdm_dtype dtype;
    int of_a[9], of_b[9], of_c[9]; /* descriptors */
};

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

static bool describe(const int context, int rows, int columns, int at_row, int m, int n,
                     int descriptor[9]) {
    const int block_rows = (m + rows - 1) / rows, block_columns = (n + columns - 1) / columns;
    const int begin = at_row * block_rows, left = m - begin;
    const int local = left < block_rows ? left : block_rows;
    const int values[9] = {
        1, context, m, n, block_rows, block_columns, 0, 0, local < 1 ? 1 : local};
    memcpy(descriptor, values, sizeof values);
    return m % rows == 0 && n % columns == 0; /* else Tandem's parts are others than ScaLAPACK's */
}

scalapack *scalapack_open(const group *g, int rows, int columns, tdm_dtype dtype, int64_t m,
                          int64_t n, int64_t k) {
    scalapack *s = calloc(1, sizeof *s);
    if (!s) return NULL;
    s->library = open_library();
    void (*get)(int, int, int *) = NULL, (*init)(int *, const char *, int, int) = NULL;
    void (*set_threads)(int) = NULL;
    bool good = s->library;
    if (good) {
        *(void **)&get = dlsym(s->library, "Cblacs_get");
        *(void **)&init = dlsym(s->library, "Cblacs_gridinit");
        *(void **)&s->leave = dlsym(s->library, "Cblacs_gridexit");
        *(void **)&s->multiply = dlsym(s->library, dtype == TDM_F64 ? "pdgemm_" : "psgemm_");
        *(void **)&set_threads = dlsym(s->library, "openblas_set_num_threads");
    }
    good = good && get && init && s->leave && s->multiply;
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
    get(-1, 0, &s->context);
    init(&s->context, "Row", rows, columns);
    const int row = g->rank / columns;
    good = describe(s->context, rows, columns, row, s->m, s->k, s->of_a) &&
           describe(s->context, rows, columns, row, s->k, s->n, s->of_b) &&
           describe(s->context, rows, columns, row, s->m, s->n, s->of_c);
    if (good) return s;
    scalapack_close(s);
    return NULL;
}

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

/* The library stays open: BLACS has given MPI functions of its own to call at the end. */
void scalapack_close(scalapack *s) {
    if (!s) return;
    s->leave(s->context);
    free(s);
}

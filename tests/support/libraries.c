/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* A program that uses BLAS libraries itself, along with Tandem: prints how many threads it has before and after
 * Tandem's products, and what the libraries' own numbers of threads are.
 *
 *   probe_libraries DEVICE */
#include <dirent.h>
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

#include <tandem/tandem.h>

enum { N = 512 };

static tdm_device *device;
static tdm_queue *queue;

static int fail(const char *what) {
    printf("%s: %s\n", what, tdm_last_error());
    return 1;
}

static int count_threads(void) {
    int count = 0;
    DIR *folder = opendir("/proc/self/task");
    for (struct dirent *e; folder && (e = readdir(folder));)
        count += e->d_name[0] != '.';
    if (folder) closedir(folder);
    return count;
}

/* Sums and products of matrices of a dtype. */
static tdm_status add_and_multiply(tdm_dtype dtype, int products) {
    tdm_tensor a, b, c;
    tdm_generator g = {.seed = 1};
    tdm_status status = tdm_empty(queue, dtype, TDM_SHAPE(N, N), &a);
    if (status == TDM_OK) status = tdm_empty(queue, dtype, TDM_SHAPE(N, N), &b);
    if (status == TDM_OK) status = tdm_empty(queue, dtype, TDM_SHAPE(N, N), &c);
    if (status == TDM_OK) status = tdm_fill_uniform(queue, &g, -1, 1, &a);
    if (status == TDM_OK) status = tdm_fill_uniform(queue, &g, -1, 1, &b);
    if (status == TDM_OK) status = tdm_add(queue, &a, &b, &c);
    for (int i = 0; i < products && status == TDM_OK; i++)
        status = tdm_matmul(queue, NULL, &a, &b, &c);
    return status == TDM_OK ? tdm_queue_finish(queue) : status;
}

int main(int argc, char **argv) {
    int (*get_openblas)(void) = NULL, (*get_openmp)(void) = NULL;
    void (*set_openblas)(int) = NULL;
    void *openblas = dlopen("libopenblas.so.0", RTLD_NOW | RTLD_LOCAL);
    void *openmp = dlopen("libgomp.so.1", RTLD_NOW | RTLD_LOCAL);
    if (argc != 2 || !openblas || !openmp) return fail("no OpenBLAS or OpenMP");
    void *symbols[] = {dlsym(openblas, "openblas_get_num_threads"),
                       dlsym(openblas, "openblas_set_num_threads"),
                       dlsym(openmp, "omp_get_max_threads")};
    memcpy(&get_openblas, &symbols[0], sizeof get_openblas);
    memcpy(&set_openblas, &symbols[1], sizeof set_openblas);
    memcpy(&get_openmp, &symbols[2], sizeof get_openmp);
    set_openblas(3);
    printf("openblas %d, openmp %d\n", get_openblas(), get_openmp());
    if (tdm_device_open(argv[1], &device) != TDM_OK) return fail("open");
    if (tdm_queue_create(device, 0, &queue) != TDM_OK) return fail("queue");
    /* it starts the workers */
    if (add_and_multiply(TDM_F32, 0) != TDM_OK) return fail("sum");
    const int before = count_threads();
    static const tdm_dtype dtypes[] = {TDM_F32, TDM_F64, TDM_BF16, TDM_F16};
    for (int i = 0; i < 4; i++)
        if (add_and_multiply(dtypes[i], 3) != TDM_OK) return fail(tdm_dtype_name(dtypes[i]));
    printf("threads %+d\n", count_threads() - before);
    printf("openblas %d, openmp %d\n", get_openblas(), get_openmp());
    return 0;
}

/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* 16-bit products by oneDNN's matmul primitive. Of its versions 2 and 3 only the way to describe a matrix and
 * a product differs: in version 2 a description is a struct of the caller's, here some bytes. */
#include "baselines/onednn.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "baselines/library.h"

typedef void *object; /* an engine, a stream, a description, a primitive, a memory object */
typedef struct argument {
    int which;
    object memory;
} argument;

enum { CPU = 1, F16 = 1, BF16 = 2, IN_ORDER = 1, IMPLEMENTATION = 8 };
enum { SOURCE = 1, DESTINATION = 17, WEIGHTS = 33 };
enum { DIMS = 12, MATRIX_BYTES = 1024, PRODUCT_BYTES = 8192 /* more than version 2's structs */ };

static struct {
    int (*dnnl_engine_create)(object *, int kind, size_t index);
    int (*dnnl_stream_create)(object *, object engine, unsigned flags);
    int (*dnnl_stream_wait)(object);
    int (*dnnl_memory_create)(object *, const void *description, object engine, void *address);
    int (*dnnl_memory_set_data_handle)(object, void *address);
    int (*dnnl_primitive_create)(object *, object description);
    int (*dnnl_primitive_execute)(object, object stream, int count, const argument *);
    int (*dnnl_primitive_desc_query)(object, int what, int index, void *result);
    int (*dnnl_primitive_desc_destroy)(object);
} dnnl;

/* Of version 2, or of 3: NULL in the other. */
static int (*md_init)(void *md, int ndims, const int64_t *dims, int type, const int64_t *strides);
static int (*matmul_init)(void *product, const void *a, const void *b, const void *bias,
                          const void *c);
static int (*desc_create)(object *, const void *product, object attributes, object engine,
                          object hint);
static int (*md_create)(void **md, int ndims, const int64_t *dims, int type,
                        const int64_t *strides);
static int (*matmul_create)(object *, object engine, const void *a, const void *b, const void *bias,
                            const void *c, object attributes);

bool bench_onednn_load(void *library, char *why) {
#define RESOLVE(name) bench_resolve(library, #name, &dnnl.name, why)
    const bool all = RESOLVE(dnnl_engine_create) && RESOLVE(dnnl_stream_create) &&
                     RESOLVE(dnnl_stream_wait) && RESOLVE(dnnl_memory_create) &&
                     RESOLVE(dnnl_memory_set_data_handle) && RESOLVE(dnnl_primitive_create) &&
                     RESOLVE(dnnl_primitive_execute) && RESOLVE(dnnl_primitive_desc_query) &&
                     RESOLVE(dnnl_primitive_desc_destroy);
#undef RESOLVE
    if (!all) return false;
    if (bench_resolve(library, "dnnl_matmul_primitive_desc_create", &matmul_create, why))
        return bench_resolve(library, "dnnl_memory_desc_create_with_strides", &md_create, why);
    return bench_resolve(library, "dnnl_memory_desc_init_by_strides", &md_init, why) &&
           bench_resolve(library, "dnnl_matmul_desc_init", &matmul_init, why) &&
           bench_resolve(library, "dnnl_primitive_desc_create", &desc_create, why);
}

/* A thread's state of its product. */
typedef struct state {
    object engine, stream, description, primitive, memory[3];
    bool made;
} state;

/* A matrix of rows x cols, contiguous as it is stored; NULL on failure. Never freed: a process has few. */
static void *describe(int rows, int cols, bool transposed, tdm_dtype dtype) {
    const int64_t dims[DIMS] = {rows, cols};
    const int64_t strides[DIMS] = {transposed ? 1 : cols, transposed ? rows : 1};
    const int type = dtype == TDM_F16 ? F16 : BF16;
    void *md = NULL;
    if (md_create) return md_create(&md, 2, dims, type, strides) == 0 ? md : NULL;
    md = calloc(1, MATRIX_BYTES);
    return md && md_init(md, 2, dims, type, strides) == 0 ? md : NULL;
}

static bool describe_product(state *s, void *const md[3]) {
    const char *name = NULL;
    if (matmul_create) {
        if (matmul_create(&s->description, s->engine, md[0], md[1], NULL, md[2], NULL) != 0)
            return false;
    } else {
        void *product = calloc(1, PRODUCT_BYTES);
        const bool good = product && matmul_init(product, md[0], md[1], NULL, md[2]) == 0 &&
                          desc_create(&s->description, product, NULL, s->engine, NULL) == 0;
        free(product);
        if (!good) return false;
    }
    return dnnl.dnnl_primitive_desc_query(s->description, IMPLEMENTATION, 0, (void *)&name) == 0 &&
           name && strncmp(name, "ref", 3) != 0;
}

static bool make(state *s, const bench_product *p) {
    void *const md[3] = {describe(p->m, p->k, false, p->dtype),
                         describe(p->k, p->n, p->transpose_b, p->dtype),
                         describe(p->m, p->n, false, p->dtype)};
    const void *const addresses[3] = {p->a, p->b, p->c};
    if (!md[0] || !md[1] || !md[2] || dnnl.dnnl_engine_create(&s->engine, CPU, 0) != 0 ||
        dnnl.dnnl_stream_create(&s->stream, s->engine, IN_ORDER) != 0 || !describe_product(s, md) ||
        dnnl.dnnl_primitive_create(&s->primitive, s->description) != 0)
        return false;
    for (int i = 0; i < 3; i++)
        if (dnnl.dnnl_memory_create(&s->memory[i], md[i], s->engine, (void *)addresses[i]) != 0)
            return false;
    return s->made = true;
}

bool bench_onednn_has(tdm_dtype dtype) {
    char matrix[64 * 64 * 2];
    state s = {0};
    return make(
        &s, &(bench_product){
                .dtype = dtype, .m = 64, .n = 64, .k = 64, .a = matrix, .b = matrix, .c = matrix});
}

bool bench_onednn_multiply(const bench_product *p) {
    static _Thread_local state s;
    const void *const addresses[3] = {p->a, p->b, p->c};
    if (!s.made && !make(&s, p)) return false;
    for (int i = 0; i < 3; i++)
        if (dnnl.dnnl_memory_set_data_handle(s.memory[i], (void *)addresses[i]) != 0) return false;
    const argument arguments[] = {
        {SOURCE, s.memory[0]}, {WEIGHTS, s.memory[1]}, {DESTINATION, s.memory[2]}};
    return dnnl.dnnl_primitive_execute(s.primitive, s.stream, 3, arguments) == 0 &&
           dnnl.dnnl_stream_wait(s.stream) == 0;
}

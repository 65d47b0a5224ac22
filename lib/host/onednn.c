/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* Products by oneDNN (libdnnl), opened at run time: f32 by its dnnl_sgemm, 16-bit dtypes by its matmul
 * primitives, which it compiles for each shape and which are kept. */
#include <stdatomic.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "backend.h"
#include "base/hash.h"
#include "base/memory.h"

#include "host/ending.h"
#include "host/one_thread.h"
#include "system_names.h"

/* The part of oneDNN's C interface that is used. Of its versions 2 and 3 only the way to describe a matrix and
 * a product differs: in version 2 a description is a struct of the caller's, here some bytes. */
typedef int64_t dnnl_dim;
typedef int dnnl_status;
typedef void *dnnl_object; /* an engine, a stream, an attribute, a primitive, a memory object */
typedef struct dnnl_exec_arg {
    int arg;
    dnnl_object memory;
} dnnl_exec_arg;
typedef struct dnnl_version_info {
    int major, minor, patch;
    const char *hash;
    unsigned cpu_runtime, gpu_runtime;
} dnnl_version_info;
enum {
    DNNL_SUCCESS = 0,
    DNNL_OUT_OF_MEMORY = 1,
    DNNL_UNIMPLEMENTED = 3,
    DNNL_RUNTIME_SEQUENTIAL = 1,
    DNNL_RUNTIME_OPENMP = 2,
    DNNL_CPU = 1,
    DNNL_F16 = 1,
    DNNL_BF16 = 2,
    DNNL_SCRATCHPAD_USER = 1,
    DNNL_STREAM_DEFAULT = 1,
    DNNL_QUERY_IMPLEMENTATION = 8,
    DNNL_QUERY_SCRATCHPAD = 136,
    DNNL_ARG_SRC = 1,
    DNNL_ARG_DST = 17,
    DNNL_ARG_WEIGHTS = 33,
    DNNL_ARG_BIAS = 41,
    DNNL_ARG_SCRATCHPAD = 80,
    DNNL_ISA_AVX512_CORE = 0x20, /* set for AVX-512 and what comes after it */
    DNNL_ISA_BF16 = 0x80,        /* set where instructions multiply bf16 */
    DNNL_DIMS = 12,
    DNNL2_MEMORY_BYTES = 1024, /* more than sizeof(dnnl_memory_desc_t) */
    DNNL2_PRODUCT_BYTES = 8192 /* more than sizeof(dnnl_matmul_desc_t) */
};

static struct {
    const dnnl_version_info *(*version)(void);
    unsigned (*effective_isa)(void);
    dnnl_status (*sgemm)(char, char, dnnl_dim, dnnl_dim, dnnl_dim, float, const float *, dnnl_dim,
                         const float *, dnnl_dim, float, float *, dnnl_dim);
    dnnl_status (*engine_create)(dnnl_object *, int kind, size_t index);
    dnnl_status (*stream_create)(dnnl_object *, dnnl_object engine, unsigned flags);
    dnnl_status (*stream_destroy)(dnnl_object);
    dnnl_status (*attr_create)(dnnl_object *);
    dnnl_status (*attr_set_scratchpad)(dnnl_object, int mode);
    dnnl_status (*attr_destroy)(dnnl_object);
    dnnl_status (*primitive_create)(dnnl_object *, dnnl_object desc);
    dnnl_status (*primitive_destroy)(dnnl_object);
    dnnl_status (*primitive_execute)(dnnl_object, dnnl_object stream, int count,
                                     const dnnl_exec_arg *);
    dnnl_status (*desc_query)(dnnl_object desc, int what, int index, void *result);
    const void *(*desc_query_md)(dnnl_object desc, int what, int index);
    size_t (*md_get_size)(const void *md);
    dnnl_status (*desc_destroy)(dnnl_object desc);
    dnnl_status (*memory_create)(dnnl_object *, const void *md, dnnl_object engine, void *address);
    dnnl_status (*memory_set_address)(dnnl_object, void *address);
    dnnl_status (*memory_destroy)(dnnl_object);
    /* version 2 */
    dnnl_status (*md_init)(void *md, int ndims, const dnnl_dim *dims, int type,
                           const dnnl_dim *strides);
    dnnl_status (*matmul_init)(void *product, const void *a, const void *b, const void *bias,
                               const void *c);
    dnnl_status (*desc_create)(dnnl_object *, const void *product, dnnl_object attr,
                               dnnl_object engine, dnnl_object hint);
    /* version 3 */
    dnnl_status (*md_create)(void **md, int ndims, const dnnl_dim *dims, int type,
                             const dnnl_dim *strides);
    dnnl_status (*md_destroy)(void *md);
    dnnl_status (*matmul_create)(dnnl_object *, dnnl_object engine, const void *a, const void *b,
                                 const void *bias, const void *c, dnnl_object attr);
} dnnl;
static tdmi_one_thread threads;

/* Debian 13's has another number. A library found by the name without a number reports its version. */
static const char *const names[] = {TDMI_NAMES_ONEDNN, NULL};
static tdmi_library library = {
    .title = "oneDNN", .names = names, .advice = "install oneDNN (" TDMI_GET_ONEDNN ")"};
#define SYMBOL(name, field, optional)                                                              \
    { name, (void (**)(void)) & dnnl.field, optional }
static const tdmi_symbol symbols[] = {
    SYMBOL("dnnl_version", version, false),
    SYMBOL("dnnl_sgemm", sgemm, false),
    SYMBOL("dnnl_get_effective_cpu_isa", effective_isa, true),
    SYMBOL("dnnl_engine_create", engine_create, false),
    SYMBOL("dnnl_stream_create", stream_create, false),
    SYMBOL("dnnl_stream_destroy", stream_destroy, false),
    SYMBOL("dnnl_primitive_attr_create", attr_create, false),
    SYMBOL("dnnl_primitive_attr_set_scratchpad_mode", attr_set_scratchpad, false),
    SYMBOL("dnnl_primitive_attr_destroy", attr_destroy, false),
    SYMBOL("dnnl_primitive_create", primitive_create, false),
    SYMBOL("dnnl_primitive_destroy", primitive_destroy, false),
    SYMBOL("dnnl_primitive_execute", primitive_execute, false),
    SYMBOL("dnnl_primitive_desc_query", desc_query, false),
    SYMBOL("dnnl_primitive_desc_query_md", desc_query_md, false),
    SYMBOL("dnnl_primitive_desc_destroy", desc_destroy, false),
    SYMBOL("dnnl_memory_desc_get_size", md_get_size, false),
    SYMBOL("dnnl_memory_create", memory_create, false),
    SYMBOL("dnnl_memory_set_data_handle", memory_set_address, false),
    SYMBOL("dnnl_memory_destroy", memory_destroy, false),
    SYMBOL("dnnl_memory_desc_init_by_strides", md_init, true),
    SYMBOL("dnnl_matmul_desc_init", matmul_init, true),
    SYMBOL("dnnl_primitive_desc_create", desc_create, true),
    SYMBOL("dnnl_memory_desc_create_with_strides", md_create, true),
    SYMBOL("dnnl_memory_desc_destroy", md_destroy, true),
    SYMBOL("dnnl_matmul_primitive_desc_create", matmul_create, true),
    {"omp_get_max_threads", (void (**)(void)) & threads.get, true},
    {"omp_set_num_threads", (void (**)(void)) & threads.set, true},
};
enum { SYMBOL_COUNT = sizeof symbols / sizeof *symbols };

/* The description of a part; two that are alike share one primitive. */
typedef struct part_shape {
    int64_t m, n, k, lda, ldb, ldc;
    int64_t dtype, transposes, has_bias;
} part_shape;

/* The arguments of one execution: of A, B, C, bias and scratchpad those that there are. */
enum { ARGUMENTS = 5 };
typedef struct execution {
    dnnl_object stream;
    int count;
    dnnl_exec_arg args[ARGUMENTS];
} execution;

/* As many threads at once find one that was made before. */
enum { KEPT_EXECUTIONS = 8 };

/* A primitive with all that its executions share. The descriptions are handles in version 3, and lie in
 * `bytes` in version 2. */
typedef struct plan {
    atomic_int references;
    part_shape shape;
    dnnl_object desc, primitive;
    void *a, *b, *c, *bias; /* NULL for none */
    const void *scratchpad; /* of desc */
    size_t scratchpad_size;
    _Atomic(execution *) kept[KEPT_EXECUTIONS]; /* that are not in use */
    bool handles;
    _Alignas(max_align_t) unsigned char bytes[];
} plan;

/* Plans that were made, each set of them the most recent first. */
enum { SETS = 64, WAYS = 8 };
static tdmi_mutex lock = TDMI_MUTEX_INIT;
static plan *plans[SETS][WAYS];
static dnnl_object engine;        /* lasts as long as the process */
static bool usable[TDM_BF16 + 1]; /* dtypes with primitives that are no reference implementation */

static tdm_status failed(dnnl_status status) {
    return status == DNNL_OUT_OF_MEMORY
               ? tdmi_fail(TDM_ERROR_OUT_OF_MEMORY, "out of host memory for a product of oneDNN's")
               : tdmi_fail(TDM_ERROR_UNSUPPORTED, "oneDNN does not have this product");
}

static void free_execution(execution *e) {
    if (!e) return;
    for (int i = 0; i < ARGUMENTS; i++)
        if (e->args[i].memory) (void)dnnl.memory_destroy(e->args[i].memory);
    if (e->stream) (void)dnnl.stream_destroy(e->stream);
    tdmi_free(e);
}

static void release(void *pointer) {
    plan *p = pointer;
    if (atomic_fetch_sub(&p->references, 1) != 1) return;
    for (int i = 0; i < KEPT_EXECUTIONS; i++)
        free_execution(atomic_load(&p->kept[i]));
    if (p->primitive) (void)dnnl.primitive_destroy(p->primitive);
    if (p->desc) (void)dnnl.desc_destroy(p->desc);
    void *const mds[] = {p->a, p->b, p->c, p->bias};
    for (int i = 0; p->handles && i < 4; i++)
        if (mds[i]) (void)dnnl.md_destroy(mds[i]);
    tdmi_free(p);
}

/* A matrix of rows x cols, `ld` from one stored row to the next. */
static dnnl_status describe(plan *p, void **md, int number, int64_t rows, int64_t cols,
                            bool transposed, int64_t ld) {
    const dnnl_dim dims[DNNL_DIMS] = {rows, cols};
    const dnnl_dim strides[DNNL_DIMS] = {transposed ? 1 : ld, transposed ? ld : 1};
    const int type = p->shape.dtype == TDM_F16 ? DNNL_F16 : DNNL_BF16;
    if (p->handles) return dnnl.md_create(md, 2, dims, type, strides);
    *md = p->bytes + (size_t)number * DNNL2_MEMORY_BYTES;
    return dnnl.md_init(*md, 2, dims, type, strides);
}

static dnnl_status describe_product(plan *p, dnnl_object attr) {
    if (p->handles) return dnnl.matmul_create(&p->desc, engine, p->a, p->b, p->bias, p->c, attr);
    void *product = tdmi_calloc(1, DNNL2_PRODUCT_BYTES);
    if (!product) return DNNL_OUT_OF_MEMORY;
    dnnl_status status = dnnl.matmul_init(product, p->a, p->b, p->bias, p->c);
    if (status == DNNL_SUCCESS) status = dnnl.desc_create(&p->desc, product, attr, engine, NULL);
    tdmi_free(product);
    return status;
}

/* The reference implementation is slower than anything else. */
static bool is_reference(dnnl_object desc) {
    const char *name = NULL;
    return dnnl.desc_query(desc, DNNL_QUERY_IMPLEMENTATION, 0, (void *)&name) != DNNL_SUCCESS ||
           !name || strncmp(name, "ref", 3) == 0;
}

/* How many threads it will have is settled here, too. */
static dnnl_status compile(plan *p) {
    const part_shape *s = &p->shape;
    dnnl_object attr = NULL;
    const int before = tdmi_one_thread_begin(&threads);
    dnnl_status status = describe(p, &p->a, 0, s->m, s->k, s->transposes & 1, s->lda);
    if (status == DNNL_SUCCESS)
        status = describe(p, &p->b, 1, s->k, s->n, s->transposes & 2, s->ldb);
    if (status == DNNL_SUCCESS) status = describe(p, &p->c, 2, s->m, s->n, false, s->ldc);
    if (status == DNNL_SUCCESS && s->has_bias)
        status = describe(p, &p->bias, 3, 1, s->n, false, s->n);
    if (status == DNNL_SUCCESS) status = dnnl.attr_create(&attr);
    if (status == DNNL_SUCCESS) status = dnnl.attr_set_scratchpad(attr, DNNL_SCRATCHPAD_USER);
    if (status == DNNL_SUCCESS) status = describe_product(p, attr);
    if (status == DNNL_SUCCESS && is_reference(p->desc)) status = DNNL_UNIMPLEMENTED;
    if (status == DNNL_SUCCESS) status = dnnl.primitive_create(&p->primitive, p->desc);
    if (status == DNNL_SUCCESS) {
        p->scratchpad = dnnl.desc_query_md(p->desc, DNNL_QUERY_SCRATCHPAD, 0);
        p->scratchpad_size = p->scratchpad ? dnnl.md_get_size(p->scratchpad) : 0;
    }
    if (attr) (void)dnnl.attr_destroy(attr);
    tdmi_one_thread_end(&threads, before);
    return status;
}

static tdm_status make_plan(const part_shape *shape, plan **made) {
    const bool handles = dnnl.md_create;
    plan *p = tdmi_calloc(1, sizeof *p + (handles ? 0 : 4 * (size_t)DNNL2_MEMORY_BYTES));
    if (!p) return failed(DNNL_OUT_OF_MEMORY);
    atomic_init(&p->references, 1);
    p->shape = *shape;
    p->handles = handles;
    const dnnl_status status = compile(p);
    if (status != DNNL_SUCCESS) {
        release(p);
        return failed(status);
    }
    *made = p;
    return TDM_OK;
}

/* Puts a plan first in its set, before those that were at 0 to `last`. */
static void put_first(plan **set, int last, plan *p) {
    memmove(set + 1, set, (size_t)last * sizeof *set);
    set[0] = p;
}

static plan **set_of(const part_shape *shape) {
    return plans[tdmi_hash_words(shape, sizeof *shape) % SETS];
}

static plan *find_plan(const part_shape *shape) {
    plan **set = set_of(shape), *found = NULL;
    TDMI_LOCKED(&lock);
    for (int i = 0; i < WAYS && set[i] && !found; i++) {
        if (memcmp(&set[i]->shape, shape, sizeof *shape) != 0) continue;
        found = set[i];
        atomic_fetch_add(&found->references, 1);
        put_first(set, i, found);
    }
    return found;
}

/* Two threads may make the same; both are kept until they are the oldest. */
static void keep_plan(plan *p) {
    plan **set = set_of(&p->shape);
    atomic_fetch_add(&p->references, 1);
    tdmi_mutex_lock(&lock);
    plan *oldest = set[WAYS - 1];
    put_first(set, WAYS - 1, p);
    tdmi_mutex_unlock(&lock);
    if (oldest) release(oldest);
}

/* oneDNN 3.7 (Debian 13) takes a vector as if its elements followed each other without a gap: bf16 17x1x15
 * with rows of C four elements apart wrote element 1 where the gap is, and 1x10x4 with such a column of A read
 * what lies in the gaps. */
static bool has_gaps(const tdmi_host_gemm *part) {
    const bool a = part->m == 1 && part->transpose_a && part->lda != 1;
    const bool b = part->n == 1 && !part->transpose_b && part->ldb != 1;
    return a || b || (part->n == 1 && part->ldc != 1);
}

/* The fast implementation (brgemm, as of 2.6.3) takes no matrix whose rows have gaps, as those of a part of C
 * have. Where A and B have none, C is computed without gaps and then copied, if k is large enough to pay for that
 * and C small enough to be in a cache yet. */
static bool is_copied(const tdmi_host_gemm *part) {
    enum { LEAST_K = 512, MOST_ELEMENTS = 1 << 20 };
    const bool dense_a = part->lda == (part->transpose_a ? part->m : part->k);
    const bool dense_b = part->ldb == (part->transpose_b ? part->k : part->n);
    return part->ldc != part->n && part->k >= LEAST_K && part->n <= MOST_ELEMENTS / part->m &&
           dense_a && dense_b;
}

static tdm_status prepare(const tdmi_host_gemm *part, void **result) {
    if (part->dtype == TDM_F32) return TDM_OK;
    if (has_gaps(part)) return failed(DNNL_UNIMPLEMENTED);
    const int64_t ldc = part->m == 1 || is_copied(part) ? part->n : part->ldc;
    const int transposes = (part->transpose_a ? 1 : 0) | (part->transpose_b ? 2 : 0);
    const part_shape shape = {part->m, part->n,     part->k,    part->lda,         part->ldb,
                              ldc,     part->dtype, transposes, part->bias ? 1 : 0};
    plan *p = find_plan(&shape);
    if (!p) {
        TDMI_TRY(make_plan(&shape, &p));
        keep_plan(p);
    }
    *result = p;
    return TDM_OK;
}

static bool looked; /* under the lock */

/* Which dtypes this version has on this processor is seen by asking for a product. A question that memory was short for
 * is asked again. */
static tdm_status look_at_dtypes(void) {
    static const tdm_dtype dtypes[] = {TDM_F16, TDM_BF16};
    const bool complete = (dnnl.md_init && dnnl.matmul_init && dnnl.desc_create) ||
                          (dnnl.md_create && dnnl.md_destroy && dnnl.matmul_create);
    if (!complete) return TDM_OK;
    if (!engine) {
        const dnnl_status made = dnnl.engine_create(&engine, DNNL_CPU, 0);
        if (made != DNNL_SUCCESS) engine = NULL;
        if (made == DNNL_OUT_OF_MEMORY) return failed(made);
        if (made != DNNL_SUCCESS) return TDM_OK;
    }
    /* Without instructions for bf16 its products take five times as long as those of f32 and a conversion. No bits: the
     * processor is not Intel's or AMD's. */
    const unsigned isa = dnnl.effective_isa ? dnnl.effective_isa() : 0;
    for (size_t i = 0; i < sizeof dtypes / sizeof *dtypes; i++) {
        const part_shape probe = {64, 64, 64, 64, 64, 64, dtypes[i], 0, 0};
        plan *p;
        const tdm_status status = make_plan(&probe, &p);
        if (status == TDM_ERROR_OUT_OF_MEMORY) return status;
        const bool slow = dtypes[i] == TDM_BF16 && isa && !(isa & DNNL_ISA_BF16);
        usable[dtypes[i]] = status == TDM_OK && !slow;
        if (status == TDM_OK) release(p);
    }
    return TDM_OK;
}

static tdm_status look_once(void) {
    TDMI_LOCKED(&lock);
    const tdm_status status = looked ? TDM_OK : look_at_dtypes();
    looked = status == TDM_OK;
    return status;
}

/* With threads of another kind it would start its own in addition to the workers. */
static tdm_status open_library(void) {
    TDMI_TRY(tdmi_library_open(&library, symbols, SYMBOL_COUNT));
    const int major = dnnl.version()->major;
    if (major != 2 && major != 3)
        return tdmi_fail(TDM_ERROR_UNAVAILABLE, "%s is not used: it is oneDNN %d, not 2 or 3",
                         library.found, major);
    const unsigned runtime = dnnl.version()->cpu_runtime;
    if (runtime != DNNL_RUNTIME_SEQUENTIAL && (runtime != DNNL_RUNTIME_OPENMP || !threads.set))
        return tdmi_fail(TDM_ERROR_UNAVAILABLE,
                         "%s is not used: it was built for threads other than OpenMP's",
                         library.found);
    return look_once();
}

static bool has_avx512;
static void ask_for_avx512(void) {
#if defined(__x86_64__)
    has_avx512 = __builtin_cpu_supports("avx512f");
#endif
    if (!tdmi_use_begin()) return;
    if (open_library() == TDM_OK && dnnl.effective_isa)
        has_avx512 = (dnnl.effective_isa() & DNNL_ISA_AVX512_CORE) != 0;
    tdmi_use_end(TDMI_BLAS_onednn, TDMI_KIND_OPEN);
}

bool tdmi_host_has_avx512(void) {
    static tdmi_once once = TDMI_ONCE_INIT;
    tdmi_once_run(&once, ask_for_avx512);
    return has_avx512;
}

static void diagnose(void) { tdmi_library_diagnose(&library, symbols, SYMBOL_COUNT); }

/* Products in 16 bits as they are: a factor or a sum would be rounded twice. */
static bool supports(const tdmi_gemm *gemm) {
    if (gemm->bias || gemm->activation != TDM_ACTIVATION_NONE) return false;
    if (gemm->dtype == TDM_F32) return true;
    return gemm->dtype <= TDM_BF16 && usable[gemm->dtype] && gemm->alpha == 1 && gemm->beta == 0;
}

/* NULL when there is not the memory for it. */
static execution *make_execution(const plan *p) {
    static const int numbers[ARGUMENTS] = {DNNL_ARG_SRC, DNNL_ARG_WEIGHTS, DNNL_ARG_DST,
                                           DNNL_ARG_BIAS, DNNL_ARG_SCRATCHPAD};
    const void *const mds[ARGUMENTS] = {p->a, p->b, p->c, p->bias,
                                        p->scratchpad_size ? p->scratchpad : NULL};
    execution *e = tdmi_calloc(1, sizeof *e);
    if (!e) return NULL;
    dnnl_status status = dnnl.stream_create(&e->stream, engine, DNNL_STREAM_DEFAULT);
    for (int i = 0; i < ARGUMENTS && status == DNNL_SUCCESS; i++) {
        if (!mds[i]) continue;
        dnnl_exec_arg *const arg = &e->args[e->count++];
        arg->arg = numbers[i];
        status = dnnl.memory_create(&arg->memory, mds[i], engine, NULL);
    }
    if (status == DNNL_SUCCESS) return e;
    free_execution(e);
    return NULL;
}

static execution *take_execution(plan *p) {
    for (int i = 0; i < KEPT_EXECUTIONS; i++) {
        execution *e = atomic_exchange(&p->kept[i], NULL);
        if (e) return e;
    }
    return make_execution(p);
}

static void give_execution(plan *p, execution *e) {
    for (int i = 0; i < KEPT_EXECUTIONS; i++) {
        execution *none = NULL;
        if (atomic_compare_exchange_strong(&p->kept[i], &none, e)) return;
    }
    free_execution(e);
}

static bool run_primitive(plan *p, const tdmi_host_gemm *gemm, void *c, void *scratchpad) {
    void *const addresses[ARGUMENTS] = {(void *)gemm->a, (void *)gemm->b, c, (void *)gemm->bias,
                                        p->scratchpad_size ? scratchpad : NULL};
    execution *e = take_execution(p);
    dnnl_status status = e ? DNNL_SUCCESS : DNNL_OUT_OF_MEMORY;
    for (int i = 0, at = 0; i < ARGUMENTS && status == DNNL_SUCCESS; i++)
        if (addresses[i]) status = dnnl.memory_set_address(e->args[at++].memory, addresses[i]);
    if (status == DNNL_SUCCESS)
        status = dnnl.primitive_execute(p->primitive, e->stream, e->count, e->args);
    if (e) give_execution(p, e);
    return status == DNNL_SUCCESS;
}

/* A copy of C, if one is needed, follows the scratchpad. */
static bool execute(plan *p, const tdmi_host_gemm *gemm) {
    enum { LINE = 64 };
    const bool copied = gemm->m > 1 && gemm->ldc != p->shape.ldc;
    const size_t row = (size_t)gemm->n * tdm_dtype_size(gemm->dtype);
    const size_t before = (p->scratchpad_size + LINE - 1) / LINE * LINE;
    const size_t size = before + (copied ? (size_t)gemm->m * row : 0);
    size_t room = 0;
    char *scratch = size ? tdmi_host_scratch_take(size, &room) : NULL;
    if (size && !scratch) return false;
    char *const c = copied ? scratch + before : gemm->c;
    const bool done = run_primitive(p, gemm, c, scratch);
    for (int64_t i = 0; copied && done && i < gemm->m; i++)
        memcpy((char *)gemm->c + (size_t)(i * gemm->ldc) * tdm_dtype_size(gemm->dtype),
               c + (size_t)i * row, row);
    if (scratch) tdmi_host_scratch_give(scratch, room);
    return done;
}

static bool multiply(const tdmi_host_gemm *gemm) {
    return dnnl.sgemm(gemm->transpose_a ? 'T' : 'N', gemm->transpose_b ? 'T' : 'N', gemm->m,
                      gemm->n, gemm->k, (float)gemm->alpha, gemm->a, gemm->lda, gemm->b, gemm->ldb,
                      (float)gemm->beta, gemm->c, gemm->ldc) == DNNL_SUCCESS;
}

static bool product(const tdmi_host_gemm *gemm, void *prepared) {
    const int before = tdmi_one_thread_begin(&threads);
    const bool done = prepared ? execute(prepared, gemm) : multiply(gemm);
    tdmi_one_thread_end(&threads, before);
    return done;
}

const tdmi_host_blas tdmi_host_blas_onednn = {.id = TDMI_BLAS_onednn,
                                              .library = &library,
                                              .open = open_library,
                                              .diagnose = diagnose,
                                              .supports = supports,
                                              .prepare = prepare,
                                              .release = release,
                                              .product = product};

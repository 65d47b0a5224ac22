/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* The variants that a launch may request: those of kernels/manifest.h, less the ones that lib/ops never chooses. */
#include "variants.h"

#include <string.h>

#include <tandem/tensor.h>

#include "cuda_backend.h"
#include "manifest.h"

const int architectures[ARCHITECTURES] = {75, 80, 86, 89, 90, 100, 120};

bool covers_latency(int architecture) {
    return architecture == 80 || architecture == 90 || architecture == 100;
}

bool has_turn(int place, int number) {
    int before = 0, of = 0;
    for (int a = 0; a < ARCHITECTURES; a++) {
        if (!covers_latency(architectures[a])) continue;
        before += a < place;
        of++;
    }
    return covers_latency(architectures[place]) && number % of == before;
}

typedef tdm_kernel_entry family;

enum { LANES_OF_TEAMS = 128 };

typedef enum kind { FLOAT, SIGNED, UNSIGNED, BOOL } kind;
static const struct {
    kind kind;
    int size;
} dtypes[] = {
#define ROW(NAME, name, bytes, kind) {kind, bytes},
    TDM_DTYPE_LIST(ROW)
#undef ROW
};

static bool is_float(int t) { return dtypes[t].kind == FLOAT; }

static bool is_unsigned(int t) { return dtypes[t].kind == UNSIGNED; }

/* Copies, and casts that drop bits of an integer, are casts of unsigned integers. */
static bool is_cast(int t, int u) {
    if (t == u) return is_unsigned(t);
    if (is_float(t) || is_float(u)) return true;
    if (dtypes[t].kind == BOOL) return is_unsigned(u);
    bool keeps = dtypes[u].kind == BOOL || is_unsigned(u) || dtypes[u].size < dtypes[t].size;
    return is_unsigned(t) && keeps;
}

static bool takes_dtypes(const family *f, int t, int u) {
    if (f->u == TDM_U_CASTS) return is_cast(t, u);
    if (f->t == TDM_T_U32 || f->t == TDM_T_U64)
        return t == u && t == (f->t == TDM_T_U32 ? TDM_U32 : TDM_U64);
    if (f->t == TDM_T_TENSOR) return t == u && is_float(t) && dtypes[t].size < 8;
    if (is_float(t) ? f->t == TDM_T_BITS : f->t == TDM_T_FLOATS) return false;
    if (dtypes[t].kind == SIGNED || (dtypes[t].kind == BOOL && f->t != TDM_T_STORED)) return false;
    if (f->u == TDM_U_SUMS && !is_float(t)) return u == TDM_U64;
    return t == u || (f->u != TDM_U_SAME && dtypes[t].size == 2 && u == TDM_F32);
}

static bool is(const family *f, const char *name) { return strcmp(f->name, name) == 0; }

static bool takes_op(const family *f, int t, int op, int stream) {
    if (f->integer_ops && !is_float(t) && op >= f->integer_ops) return false;
    /* the mask has room for more activations than there are */
    if (is(f, "bias_add") && (op & TDM_OP_ACTIVATION) >= TDM_ACT_COUNT) return false;
    /* deep where one of the operands lies along k, as of f32 it does */
    const bool tiles = is(f, "matmul_tiles");
    if (tiles && dtypes[t].size == 4 && (op & TDM_OP_TRANSPOSE_A) && !(op & TDM_OP_TRANSPOSE_B))
        return false;
    const int layout = TDM_OP_TRANSPOSE_A | TDM_OP_TRANSPOSE_B | TDM_OP_TILES_ALIGNED;
    if (tiles && (op & TDM_OP_TILES_DEEP) &&
        (!(op & TDM_OP_TILES_ALIGNED) ||
         (op & layout) == (TDM_OP_TRANSPOSE_A | TDM_OP_TILES_ALIGNED)))
        return false;
    const bool of_sum = is(f, "layer_norm") || is(f, "rms_norm");
    if (of_sum && (op & TDM_OP_ROW_SUM) && !(op & TDM_OP_ROW_RESIDUAL)) return false;
    /* y is an input, and such an output is never streamed */
    return !is(f, "elementwise") || op != TDM_OP_AXPY || !stream;
}

/* Casts with an integer are many and simple: where a lane of the largest group has registers enough,
 * one of a smaller group has, too. */
static bool is_simple(const family *f, int t, int u) {
    return f->u == TDM_U_CASTS && !(is_float(t) && is_float(u));
}

/* bias_add without a bias of the columns is the same as with one, less a load and an addition. */
static int size_of(const family *f, int t, int u, int op, int size) {
    bool lesser = is(f, "bias_add") && (op & TDM_OP_COLS_BIAS) == 0;
    return size == 0 && (lesser || is_simple(f, t, u)) ? LESSER : size;
}

/* How rows are taken: in vectors, held or not, or, where they are not aligned, element by element, which of kernels
 * that are loose the same lanes do. */
typedef enum form { HELD, IN_VECTORS, IN_ELEMENTS } form;

/* Rows that could be held and are read again have the largest groups. */
static bool takes_form(const family *f, form how, int lanes) {
    return how != IN_VECTORS || !f->holds || lanes == TDMI_CUDA_MOST_LANES;
}

static void of_one_size(const family *f, int lanes, form how, int size,
                        void (*found)(void *, const variant *, int, int), void *context) {
    int number = 0;
    for (int t = 0; t < TDM_DTYPE_COUNT; t++)
        for (int u = 0; u < TDM_DTYPE_COUNT; u++)
            for (int op = 0; takes_dtypes(f, t, u) && op < f->ops; op++) {
                if (lanes < TDMI_CUDA_MOST_LANES && is_simple(f, t, u)) break;
                for (int stream = 0; stream <= (int)f->streams; stream++) {
                    variant v = {.t = t, .u = u, .op = op, .lanes = lanes, .stream = stream};
                    const int vectors = tdm_kernel_vectors(f, (unsigned)op, (size_t)dtypes[t].size,
                                                           (size_t)dtypes[u].size);
                    if (how != IN_ELEMENTS && vectors == 0) continue;
                    v.loose = how == IN_ELEMENTS && f->loose && vectors > 0;
                    if (how == HELD || v.loose) v.vectors = vectors;
                    if (how == IN_VECTORS)
                        v.vectors = f->holds ? tdm_kernel_long_vectors(f, (unsigned)op,
                                                                       (size_t)dtypes[t].size)
                                             : vectors;
                    v.holds = how == HELD || (v.loose && f->holds);
                    const bool few = v.vectors > 0 && lanes <= TDMI_CUDA_LEAST_LANES;
                    v.teams = few ? LANES_OF_TEAMS / lanes : 1;
                    if (takes_op(f, t, op, stream) && takes_form(f, how, lanes))
                        found(context, &v, number++, size_of(f, t, u, op, size));
                }
            }
}

/* Rows that are held are read again by the largest groups alone. */
void for_variants(int kernel, void (*found)(void *, const variant *, int, int), void *context) {
    const family *f = &tdm_kernel_entries[kernel];
    int size = 0;
    for (int lanes = TDMI_CUDA_MOST_LANES; f->vectors[0] && lanes >= TDMI_CUDA_LEAST_TEAM;
         lanes /= 2) {
        if (f->holds) of_one_size(f, lanes, HELD, size, found, context);
        of_one_size(f, lanes, IN_VECTORS, size, found, context);
        size++;
    }
    /* a tile has as many lanes as the list says, or half of that where the driver wants fewer */
    const bool tensor = f->t == TDM_T_TENSOR;
    for (int lanes = tensor     ? 256
                     : f->lanes ? f->lanes
                                : TDMI_CUDA_MOST_LANES;
         lanes >= (tensor ? 128 : TDMI_CUDA_LEAST_LANES); lanes /= 2) {
        of_one_size(f, lanes, IN_ELEMENTS, size++, found, context);
        if (f->one_size) break;
    }
}

bool has_kernel(int kernel, const variant *v) {
    return is_float(v->t) || tdm_kernel_entries[kernel].t != TDM_T_FLOATS;
}

int dtype_bytes(int dtype) { return dtypes[dtype].size; }

/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* The choices of lib/ops and lib/launch.c, written once more: what a launch may ask for. An entry
 * that is not in the table below is a kernel that somebody added: main() then fails. */
#include "variants.h"

#include <string.h>

#include <tandem/tensor.h>

#include "args.h"
#include "cuda_backend.h"

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

/* The dtypes of T: the floats; also unsigned integers and bool, as which what makes elements stores
 * integers; floats and unsigned integers, as which reductions read the others; unsigned integers alone; all. */
typedef enum first_dtype { FLOATS, STORED, NUMBERS, BITS, ALL } first_dtype;
/* SUMS: of floats as OR_F32, of the others of 64 bits */
typedef enum second_dtype { SAME, CASTS, OR_F32, SUMS } second_dtype;

typedef struct family {
    const char *entry;
    int ops;
    int float_ops; /* from this OP on for floats only */
    first_dtype t;
    second_dtype u;
    bool streams;
    bool one_size; /* only with the largest groups */
    int vectors;   /* of a row at once, 0: its rows are not read in vectors; of f64 4 for 2 */
    bool holds;    /* rows */
} family;

enum { LANES_OF_TEAMS = 128, ROW_VECTORS = 4 };

/* reduce_variance comes with reduce: same file, same choices. */
static const family families[] = {
    {"elementwise", TDM_OP_COUNT, 0, FLOATS, SAME, true, false, 2, false},
    {"cast", 1, 1, ALL, CASTS, true, false, 2, false},
    {"fill", 1, 1, BITS, SAME, true, false, 1, false},
    {"bias_add", TDM_OP_BIAS_ADD_COUNT, 0, FLOATS, SAME, true, false, 2, false},
    {"norm", TDM_OP_NORM_COUNT, 0, FLOATS, OR_F32, false, false, 4, false},
    {"layer_norm", TDM_OP_LAYER_COUNT, 0, FLOATS, SAME, true, false, 4, true},
    {"rms_norm", TDM_OP_RMS_COUNT, 0, FLOATS, SAME, true, false, 4, true},
    {"batch_norm", TDM_OP_AFFINE_COUNT, 0, FLOATS, SAME, true, false, 2, false},
    {"batch_norm_cols", TDM_OP_AFFINE_COUNT, 0, FLOATS, SAME, true, false, 1, false},
    {"l2_normalize", 1, 0, FLOATS, SAME, true, false, 4, true},
    {"softmax", TDM_OP_SOFTMAX_COUNT, 0, FLOATS, SAME, true, false, 4, true},
    /* a tile has work for more lanes than any group has */
    {"matmul", TDM_OP_MATMUL_COUNT, 0, FLOATS, SAME, false, true, 0, false},
    {"matmul_narrow", TDM_OP_NARROW_COUNT, 0, FLOATS, SAME, false, false, 0, false},
    {"range", 1, 1, STORED, SAME, true, false, 1, false},
    {"random", TDM_OP_RANDOM_COUNT, 1, STORED, SAME, true, false, 0, false},
    {"transpose", 1, 1, BITS, SAME, true, false, 0, false},
    {"gather_rows", 1, 1, BITS, SAME, true, false, 2, false},
    {"one_hot", 1, 1, BITS, SAME, true, false, 1, false},
    {"scatter_order", 1, 1, BITS, SAME, false, false, 0, false},
    {"scatter_add_rows", 1, 0, FLOATS, SAME, false, false, 0, false},
    {"reduce", TDM_OP_REDUCE_COUNT, TDM_OP_REDUCE_INTEGERS, NUMBERS, SAME, false, false, 4, false},
    {"extreme", TDM_OP_EXTREME_COUNT, TDM_OP_EXTREME_COUNT, BITS, SAME, false, false, 4, false},
    {"cumsum", TDM_OP_CUMSUM_COUNT, TDM_OP_CUMSUM_COUNT, NUMBERS, SUMS, false, false, 0, false},
    {"sort_keys", 1, 1, BITS, SAME, false, false, 0, false},
    {"sort_select", 1, 1, BITS, SAME, false, false, 0, false},
    {"sort_merge", 1, 1, BITS, SAME, false, false, 0, false},
    {"sort_take", 1, 1, BITS, SAME, false, false, 0, false},
};

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

/* Copies and what an integer loses bits by are casts of unsigned integers. */
static bool is_cast(int t, int u) {
    if (t == u) return is_unsigned(t);
    if (is_float(t) || is_float(u)) return true;
    if (dtypes[t].kind == BOOL) return is_unsigned(u);
    bool keeps = dtypes[u].kind == BOOL || is_unsigned(u) || dtypes[u].size < dtypes[t].size;
    return is_unsigned(t) && keeps;
}

static bool takes_dtypes(const family *f, int t, int u) {
    if (f->u == CASTS) return is_cast(t, u);
    if (is_float(t) ? f->t == BITS : f->t == FLOATS) return false;
    if (dtypes[t].kind == SIGNED || (dtypes[t].kind == BOOL && f->t != STORED)) return false;
    if (f->u == SUMS && !is_float(t)) return u == TDM_U64;
    return t == u || ((f->u == OR_F32 || f->u == SUMS) && dtypes[t].size == 2 && u == TDM_F32);
}

static bool takes_op(const family *f, int t, int op, int stream) {
    if (!is_float(t) && op >= f->float_ops) return false;
    /* the mask has room for more activations than there are */
    if (strcmp(f->entry, "bias_add") == 0 && (op & TDM_OP_ACTIVATION) >= TDM_ACT_COUNT)
        return false;
    const bool of_sum = strcmp(f->entry, "layer_norm") == 0 || strcmp(f->entry, "rms_norm") == 0;
    if (of_sum && (op & TDM_OP_ROW_SUM) && !(op & TDM_OP_ROW_RESIDUAL)) return false;
    /* y is an input, and such an output is never streamed */
    return strcmp(f->entry, "elementwise") != 0 || op != TDM_OP_AXPY || !stream;
}

/* Casts with an integer are many and simple: what a lane of the largest group has registers for, one
 * of a smaller group has, too. */
static bool is_simple(const family *f, int t, int u) {
    return f->u == CASTS && !(is_float(t) && is_float(u));
}

/* bias_add without a bias of the columns is what it is with one, less a load and an addition. */
static int size_of(const family *f, int t, int u, int op, int size) {
    bool lesser = strcmp(f->entry, "bias_add") == 0 && (op & TDM_OP_COLS_BIAS) == 0;
    return size == 0 && (lesser || is_simple(f, t, u)) ? LESSER : size;
}

/* Vectors of a row that a lane has at once: a cast between sizes has more bytes in each. */
static int vectors_of(const family *f, int t, int u) {
    if (f->u == CASTS && dtypes[t].size != dtypes[u].size) return 1;
    return f->vectors == 2 && f->u != CASTS && f->t != BITS && dtypes[t].size == 8 ? ROW_VECTORS
                                                                                   : f->vectors;
}

/* Of reductions, where products, places and what lies in columns are no rows that are read so: -1 of other kernels. */
static int vectors_of_reduction(const family *f, int t, int op) {
    const bool extreme = strcmp(f->entry, "extreme") == 0;
    if (!extreme && strcmp(f->entry, "reduce") != 0) return -1;
    const int by_elements = extreme ? TDM_OP_EXTREME_PLACE : TDM_OP_REDUCE_PRODUCT;
    if (op == by_elements || (op & TDM_OP_IN_COLUMNS)) return 0;
    return dtypes[t].size < 4 || (!extreme && op == TDM_OP_REDUCE_DOT) ? 2 : ROW_VECTORS;
}

/* A mask beside the row, or all that LayerNorm can have. */
static bool reads_more(const family *f, int op) {
    if (strcmp(f->entry, "layer_norm") == 0) return op == TDM_OP_LAYER_COUNT - 1;
    return op > 0 && strcmp(f->entry, "softmax") == 0;
}

/* How rows are taken: in vectors, held or not, or, where they are not aligned, element by element, which of kernels
 * that reduce rows the same lanes do. */
typedef enum form { HELD, IN_VECTORS, IN_ELEMENTS } form;

static bool is_loose(const family *f, int t, int op) {
    return f->holds || strcmp(f->entry, "norm") == 0 ||
           (strcmp(f->entry, "reduce") == 0 && vectors_of_reduction(f, t, op) > 0);
}

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
                    v.loose = how == IN_ELEMENTS && is_loose(f, t, op);
                    v.vectors = how == IN_ELEMENTS && !v.loose ? 0 : vectors_of(f, t, u);
                    if (how == IN_VECTORS && reads_more(f, op))
                        v.vectors = dtypes[t].size == 2 ? 1 : v.vectors;
                    const int reduces = vectors_of_reduction(f, t, op);
                    if (reduces == 0 && how != IN_ELEMENTS) continue;
                    if (reduces > 0 && (how != IN_ELEMENTS || v.loose)) v.vectors = reduces;
                    v.holds = how == HELD || (v.loose && f->holds);
                    const bool few = v.vectors > 0 && lanes <= TDMI_CUDA_LEAST_LANES;
                    v.teams = few ? LANES_OF_TEAMS / lanes : 1;
                    if (takes_op(f, t, op, stream) && takes_form(f, how, lanes))
                        found(context, &v, number++, size_of(f, t, u, op, size));
                }
            }
}

/* Rows that are held are read again by the largest groups alone. */
void for_variants(const char *entry, void (*found)(void *, const variant *, int, int),
                  void *context) {
    for (size_t i = 0; i < sizeof families / sizeof *families; i++) {
        const family *f = &families[i];
        if (strcmp(f->entry, entry) != 0) continue;
        int size = 0;
        for (int lanes = TDMI_CUDA_MOST_LANES; f->vectors && lanes >= TDMI_CUDA_LEAST_TEAM;
             lanes /= 2) {
            if (f->holds) of_one_size(f, lanes, HELD, size, found, context);
            of_one_size(f, lanes, IN_VECTORS, size, found, context);
            size++;
        }
        /* a tile has as many lanes as its struct says, or half of that where the driver wants fewer */
        const bool tiles = strcmp(entry, "transpose") == 0;
        for (int lanes = tiles ? TDM_TILE_LANES : TDMI_CUDA_MOST_LANES;
             lanes >= TDMI_CUDA_LEAST_LANES; lanes /= 2) {
            of_one_size(f, lanes, IN_ELEMENTS, size++, found, context);
            if (f->one_size) break;
        }
    }
}

/* Of integers there is no variance. */
bool has_kernel(const char *entry, const variant *v) {
    return is_float(v->t) || strcmp(entry, "reduce_variance") != 0;
}

int dtype_bytes(int dtype) { return dtypes[dtype].size; }

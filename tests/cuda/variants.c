/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* The choices of lib/ops and lib/launch.c, written once more: what a launch may ask for. An entry
 * that is not in the table below is a kernel that somebody added: main() then fails. */
#include "variants.h"

#include <string.h>

#include <tandem/tensor.h>

#include "args.h"
#include "cuda_backend.h"

const int architectures[ARCHITECTURES] = {75, 80, 86, 89, 90, 100, 120};

typedef enum second_dtype { SAME, ANY, OR_F32 } second_dtype;

typedef struct family {
    const char *entry;
    int ops;
    int float_ops; /* from this OP on for floats only */
    second_dtype u;
    bool integers;
    bool streams;
    bool one_size; /* only with the largest groups */
} family;

/* norm_combine and batch_norm_cols come with norm and batch_norm: same file, same choices. */
static const family families[] = {
    {"elementwise", TDM_OP_COUNT, 0, SAME, false, true, false},
    {"cast", 1, 1, ANY, true, true, false},
    {"fill", 1, 1, SAME, true, true, false},
    {"bias_add", TDM_OP_BIAS_ADD_COUNT, 0, SAME, false, true, false},
    {"norm", TDM_OP_NORM_COUNT, 0, OR_F32, false, false, false},
    {"layer_norm", TDM_OP_AFFINE_COUNT, 0, SAME, false, true, false},
    {"rms_norm", TDM_OP_RMS_COUNT, 0, SAME, false, true, false},
    {"batch_norm", TDM_OP_AFFINE_COUNT, 0, SAME, false, true, false},
    {"l2_normalize", 1, 0, SAME, false, true, false},
    {"softmax", 1, 0, SAME, false, true, false},
    /* a tile has work for more lanes than any group has */
    {"matmul", TDM_OP_MATMUL_COUNT, 0, SAME, false, false, true},
    {"range", 1, 1, SAME, true, true, false},
    {"random", TDM_OP_RANDOM_COUNT, 1, SAME, true, true, false},
};

static bool is_float(int t) {
    static const bool floats[] = {
#define FLOATING(NAME, name, bytes, floating) floating,
        TDM_DTYPE_LIST(FLOATING)};
    return floats[t];
}

static bool takes_dtypes(const family *f, int t, int u) {
    bool narrow = t == TDM_F16 || t == TDM_BF16;
    if (!f->integers && !is_float(t)) return false;
    return f->u == ANY || t == u || (f->u == OR_F32 && narrow && u == TDM_F32);
}

static bool takes_op(const family *f, int t, int op, int stream) {
    if (!is_float(t) && op >= f->float_ops) return false;
    /* the mask has room for more activations than there are */
    if (strcmp(f->entry, "bias_add") == 0 && (op & TDM_OP_ACTIVATION) >= TDM_ACT_COUNT)
        return false;
    /* y is an input, and such an output is never streamed */
    return strcmp(f->entry, "elementwise") != 0 || op != TDM_OP_AXPY || !stream;
}

/* bias_add without a bias of the columns is what it is with one, less a load and an addition: it is
 * compiled like a smaller group, on one of the architectures. */
static int size_of(const family *f, int op, int size) {
    bool lesser = strcmp(f->entry, "bias_add") == 0 && (op & TDM_OP_COLS_BIAS) == 0;
    return size == 0 && lesser ? 1 : size;
}

static void of_one_size(const family *f, int lanes, int size,
                        void (*found)(void *, const variant *, int, int), void *context) {
    int number = 0;
    for (int t = 0; t < TDM_DTYPE_COUNT; t++)
        for (int u = 0; u < TDM_DTYPE_COUNT; u++)
            for (int op = 0; takes_dtypes(f, t, u) && op < f->ops; op++)
                for (int stream = 0; stream <= (int)f->streams; stream++)
                    if (takes_op(f, t, op, stream))
                        found(context, &(variant){t, u, op, lanes, stream}, number++,
                              size_of(f, op, size));
}

void for_variants(const char *entry, void (*found)(void *, const variant *, int, int),
                  void *context) {
    for (size_t i = 0; i < sizeof families / sizeof *families; i++) {
        const family *f = &families[i];
        if (strcmp(f->entry, entry) != 0) continue;
        int size = 0;
        for (int lanes = TDMI_CUDA_MOST_LANES; lanes >= TDMI_CUDA_LEAST_LANES; lanes /= 2) {
            of_one_size(f, lanes, size++, found, context);
            if (f->one_size) break;
        }
    }
}

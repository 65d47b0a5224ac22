/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* attention: one launch over blocks of queries, of all heads and sequences. */
#include <math.h>

#include <tandem/attention.h>

#include "base/sized.h"
#include "indexed.h"
#include "verify.h"

TDMI_SIZED(tdm_attention_options, TDM_ATTENTION_OPTIONS_DEFAULTS, offsets)

static const char function[] = "tdm_attention";

/* As [B, H, T, D]. */
typedef struct operand {
    const char *name;
    const tdm_tensor *given;
    tdm_tensor view;
} operand;

enum { BATCH, HEAD, ROW, COL, DIMS };
enum { MOST_EXTENT = 1 << 30 };

static tdm_status check_rows(operand *o) {
    char text[128];
    const tdm_tensor *t = o->given;
    if (t->ndim != DIMS && t->ndim != DIMS - 1)
        return tdmi_fail(TDM_ERROR_INVALID_SHAPE,
                         "%s: the shape of %s is %s, it must be [batch, heads, rows, columns] or "
                         "[heads, rows, columns]",
                         function, o->name, tdmi_shape_text(t, text));
    o->view = *t;
    o->view.ndim = DIMS;
    for (int i = 0; i < DIMS; i++) {
        const int from = i - (DIMS - t->ndim);
        o->view.shape[i] = from < 0 ? 1 : t->shape[from];
        o->view.strides[i] = from < 0 || o->view.shape[i] == 1 ? 0 : t->strides[from];
    }
    if (o->view.shape[COL] > 1 && o->view.strides[COL] != 1)
        return tdmi_fail(TDM_ERROR_UNSUPPORTED,
                         "%s: the elements of a row of %s have stride %lld, it must be 1; tdm_cast "
                         "copies it into a contiguous tensor",
                         function, o->name, (long long)o->view.strides[COL]);
    if (o->view.shape[ROW] <= MOST_EXTENT && o->view.shape[COL] <= MOST_EXTENT) return TDM_OK;
    return tdmi_fail(TDM_ERROR_UNSUPPORTED,
                     "%s: the shape of %s is %s, rows and columns are at most 2^30", function,
                     o->name, tdmi_shape_text(t, text));
}

/* The shape of `o` is as that of `like`, but for its heads, and with these rows and columns. */
static tdm_status check_shape(const operand *o, const operand *like, int64_t rows, int64_t cols) {
    tdm_tensor wanted = *like->given;
    const int heads = wanted.ndim - 3;
    wanted.shape[heads + 1] = rows;
    wanted.shape[heads + 2] = cols;
    return tdmi_check_wanted_shape(function, o->name, o->given, &wanted);
}

static tdm_status check_shapes(operand *q, operand *k, operand *v, operand *y) {
    char text[128], k_text[128];
    operand *const all[] = {q, k, v, y};
    for (int i = 0; i < 4; i++)
        TDMI_TRY(check_rows(all[i]));
    const int64_t *const of_q = q->view.shape, *const of_k = k->view.shape;
    if (k->given->ndim != q->given->ndim || of_k[BATCH] != of_q[BATCH] || of_k[COL] != of_q[COL] ||
        (of_k[HEAD] == 0 ? of_q[HEAD] != 0 : of_q[HEAD] % of_k[HEAD] != 0))
        return tdmi_fail(
            TDM_ERROR_INVALID_SHAPE,
            "%s: the shape of k is %s, which does not go with that of q, %s: batch and "
            "columns are equal, and the heads of q are a multiple",
            function, tdmi_shape_text(k->given, k_text), tdmi_shape_text(q->given, text));
    TDMI_TRY(check_shape(v, k, of_k[ROW], v->view.shape[COL]));
    return check_shape(y, q, of_q[ROW], v->view.shape[COL]);
}

static tdm_status describe_mask(const tdm_tensor *mask, const operand *q, const operand *k,
                                tdm_attention_args *args) {
    tdm_tensor view, to = q->view;
    to.shape[COL] = k->view.shape[ROW];
    if (mask->dtype != TDM_BOOL)
        return tdmi_fail(TDM_ERROR_INVALID_DTYPE, "%s: the dtype of mask is %s, it must be bool",
                         function, tdm_dtype_name(mask->dtype));
    TDMI_TRY(tdmi_broadcast(function, "mask", mask, "the scores", &to, &view));
    args->has_mask = 1;
    args->mask_offset = view.offset;
    args->mask_batch = view.strides[BATCH];
    args->mask_head = view.strides[HEAD];
    args->mask_row = view.strides[ROW];
    args->mask_key = view.strides[COL];
    return TDM_OK;
}

static tdm_status describe_index(const tdm_attention_options *o, const operand *q, const operand *k,
                                 tdm_attention_args *args) {
    char text[128];
    const tdm_tensor *index = o->lengths ? o->lengths : o->offsets;
    const char *const name = o->lengths ? "lengths" : "offsets";
    if (!index) return TDM_OK;
    if (o->lengths && o->offsets)
        return tdmi_fail(TDM_ERROR_INVALID_ARGUMENT,
                         "%s: lengths and offsets are given, only one of them can be", function);
    TDMI_TRY(tdmi_check_indices(function, name, index));
    if (o->lengths && (index->ndim != 1 || index->shape[0] != q->view.shape[BATCH]))
        return tdmi_fail(TDM_ERROR_INVALID_SHAPE,
                         "%s: the shape of lengths is %s, it must be [%lld], one for each of the "
                         "batch",
                         function, tdmi_shape_text(index, text), (long long)q->view.shape[BATCH]);
    if (o->offsets && (index->ndim != 1 || index->shape[0] < 1))
        return tdmi_fail(TDM_ERROR_INVALID_SHAPE,
                         "%s: the shape of offsets is %s, it must be [sequences + 1]", function,
                         tdmi_shape_text(index, text));
    if (o->offsets && (q->given->ndim != DIMS - 1 || q->view.shape[ROW] != k->view.shape[ROW]))
        return tdmi_fail(TDM_ERROR_INVALID_SHAPE,
                         "%s: with offsets q and k are [heads, tokens, columns], with as many "
                         "tokens; q is %s",
                         function, tdmi_shape_text(q->given, text));
    args->index = o->lengths ? TDM_ATTENTION_LENGTHS : TDM_ATTENTION_OFFSETS;
    args->index_offset = index->offset;
    args->index_stride = index->strides[0];
    args->wide = index->dtype == TDM_I64;
    args->sequences = o->offsets ? index->shape[0] - 1 : 0;
    return TDM_OK;
}

static tdm_status describe_scale(double given, const operand *q, tdm_attention_args *args) {
    const int64_t head_size = q->view.shape[COL];
    TDMI_TRY(tdmi_check_finite(function, "scale", given, q->given->dtype));
    const double usual = head_size > 0 ? 1 / sqrt((double)head_size) : 1;
    args->scale = tdmi_scalar(given == 0 ? usual : given);
    return TDM_OK;
}

/* On the host's cores a group is worth its while from so many multiplications on. */
static int64_t count_groups(const tdmi_device_facts *facts, const tdm_attention_args *args) {
    const double least = 1 << 15;
    if (facts->min_group_bytes == 0) return args->items < INT32_MAX ? args->items : INT32_MAX;
    const double sequences = args->sequences > 1 ? (double)args->sequences : 1;
    const double rows = (double)args->items / (double)args->blocks * (double)args->queries;
    const double worth =
        rows * (double)args->keys / sequences * (args->head_size + args->value_size) / least;
    int64_t groups = args->items < facts->max_groups ? args->items : facts->max_groups;
    if ((double)groups > worth) groups = worth < 1 ? 1 : (int64_t)worth;
    return groups;
}

#define PLACE(args, o, name)                                                                       \
    ((args).name##_offset = (o).view.offset, (args).name##_batch = (o).view.strides[BATCH],        \
     (args).name##_head = (o).view.strides[HEAD], (args).name##_row = (o).view.strides[ROW])

static tdm_status run(tdm_queue *queue, const tdm_attention_options *o, const tdm_tensor *q,
                      const tdm_tensor *k, const tdm_tensor *values, const tdm_tensor *y);

static tdm_status run_again(const tdmi_verification *v, const tdm_attention_options *o) {
    tdm_attention_options again = *o;
    again.mask = v->t[3], again.lengths = v->t[4], again.offsets = v->t[5];
    return run(v->queue, &again, v->t[0], v->t[1], v->t[2], v->t[6]);
}

static tdm_status run(tdm_queue *queue, const tdm_attention_options *o, const tdm_tensor *q,
                      const tdm_tensor *k, const tdm_tensor *values, const tdm_tensor *y) {
    const unsigned any = TDMI_ARG_OPTIONAL | TDMI_ARG_MOVED | TDMI_ARG_ANY_DTYPE;
    const tdmi_arg args[] = {{"q", q, 0, 0},
                             {"k", k, 0, 0},
                             {"v", values, 0, 0},
                             {"mask", o->mask, any, 0},
                             {"lengths", o->lengths, any, 0},
                             {"offsets", o->offsets, any, 0},
                             {"y", y, TDMI_ARG_OUTPUT, 0}};
    TDMI_VERIFY(function, queue, args, 7, run_again(v, o), .kind = TDMI_VERIFY_ATTENTION,
                .number = o->scale)
    TDMI_TRY(tdmi_check_args(function, queue, args, 7));
    operand of_q = {"q", q, {0}}, of_k = {"k", k, {0}}, of_v = {"v", values, {0}},
            of_y = {"y", y, {0}};
    TDMI_TRY(check_shapes(&of_q, &of_k, &of_v, &of_y));
    tdm_attention_args a = {0};
    TDMI_TRY(describe_scale(o->scale, &of_q, &a));
    if (o->mask) TDMI_TRY(describe_mask(o->mask, &of_q, &of_k, &a));
    TDMI_TRY(describe_index(o, &of_q, &of_k, &a));
    if (tdm_tensor_get_count(y) == 0) return TDM_OK;
    const tdmi_device_facts *const facts = queue->device->facts;
    const size_t size = q->dtype == TDM_F64 ? sizeof(double) : sizeof(float);
    const int64_t rows = TDM_ATTENTION_ROWS(size);
    const int64_t *const shape = of_q.view.shape;
    PLACE(a, of_q, q);
    PLACE(a, of_k, k);
    PLACE(a, of_v, v);
    PLACE(a, of_y, y);
    a.heads = shape[HEAD];
    a.shared = shape[HEAD] / of_k.view.shape[HEAD];
    a.queries = shape[ROW];
    a.keys = of_k.view.shape[ROW];
    a.head_size = (tdm_i32)shape[COL];
    a.value_size = (tdm_i32)of_v.view.shape[COL];
    a.causal = o->causal;
    a.blocks = (a.queries + rows - 1) / rows;
    a.slices = (a.value_size + TDM_ATTENTION_VALUES(size) - 1) / TDM_ATTENTION_VALUES(size);
    a.items = shape[BATCH] * a.heads * a.blocks * a.slices;
    const tdmi_mem *const index = tdmi_mem_of(o->lengths ? o->lengths : o->offsets);
    const tdmi_mem *const mems[] = {tdmi_mem_of(q),       tdmi_mem_of(k), tdmi_mem_of(values),
                                    tdmi_mem_of(o->mask), index,          tdmi_mem_of(y)};
    const tdmi_variant variant = {
        .kernel = TDMI_KERNEL_ATTENTION, .t = (uint8_t)q->dtype, .u = (uint8_t)q->dtype};
    return tdmi_launch_groups(queue, variant, count_groups(facts, &a), a.keys, mems, &a);
}

tdm_status tdm_attention(tdm_queue *queue, const tdm_attention_options *options,
                         const tdm_tensor *q, const tdm_tensor *k, const tdm_tensor *v,
                         tdm_tensor *y) {
    TDMI_UNCANCELLED();
    tdm_attention_options o = tdm_attention_options_defaults;
    if (options)
        TDMI_TRY(tdmi_sized_read(function, "options", &tdm_attention_options_sized, options, &o));
    return run(queue, &o, q, k, v, y);
}

/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* Attention: shapes, views of heads, grouped heads, causal, masks, lengths, ragged batches. */
#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "operations/formulas.h"
#include "support/array.h"

TestSuite(attention, .init = device_open, .fini = device_close);

/* Which dimensions of [batch, heads, queries, keys] the mask has; none: there is no mask. */
enum { OF_BATCH = 1, OF_HEADS = 2, OF_QUERIES = 4, OF_KEYS = 8, MASKS = 16 };

enum { MOST_INDICES = 64 };

typedef struct setting {
    tdm_dtype dtype;
    int64_t batch, heads, shared, queries, keys, size,
        cols;   /* shared: heads of q for one of k and v */
    bool flat;  /* without the dimension of the batch */
    bool views; /* [batch, rows, heads, columns], with gaps */
    double scale;
    bool causal, wide; /* wide: indices are i64 */
    int mask;
    int64_t lengths[MOST_INDICES], offsets[MOST_INDICES];
    bool has_lengths;
    int64_t sequences; /* -1: no offsets */
} setting;

typedef struct operands {
    array *q, *k, *v, *y, *mask, *index;
} operands;

static setting plain(tdm_dtype dtype, int64_t batch, int64_t heads, int64_t queries, int64_t keys,
                     int64_t size, int64_t cols) {
    return (setting){.dtype = dtype,
                     .batch = batch,
                     .heads = heads,
                     .shared = 1,
                     .queries = queries,
                     .keys = keys,
                     .size = size,
                     .cols = cols,
                     .sequences = -1};
}

static void describe(const setting *s) {
    check_case("%s %lldx%lld heads, %lld a group, %lld queries, %lld keys of %lld, values of %lld, "
               "flat %d "
               "views %d scale %g causal %d mask %d lengths %d sequences %lld",
               tdm_dtype_name(s->dtype), (long long)s->batch, (long long)s->heads,
               (long long)s->shared, (long long)s->queries, (long long)s->keys, (long long)s->size,
               (long long)s->cols, s->flat, s->views, s->scale, s->causal, s->mask, s->has_lengths,
               (long long)s->sequences);
}

static array *operand_of(const setting *s, int64_t heads, int64_t rows, int64_t cols) {
    const int64_t shape[] = {s->batch, heads, rows, cols}, pitch = cols + 3;
    const int64_t strides[] = {(rows * heads + 1) * pitch, pitch, heads * pitch, 1};
    return array_new(s->dtype, s->flat ? 3 : 4, shape + s->flat,
                     s->views ? strides + s->flat : NULL);
}

static array *mask_of(const setting *s) {
    const int64_t all[] = {s->batch, s->heads, s->queries, s->keys};
    int64_t shape[4];
    for (int d = 0; d < 4; d++)
        shape[d] = s->mask & 1 << d ? all[d] : 1;
    array *mask = array_new(TDM_BOOL, 4 - s->flat, shape + s->flat, NULL);
    const int64_t cols = shape[3];
    for (int64_t i = 0; i < mask->count; i++)
        mask->v[i] = i / cols % 5 != 1 && random_integer(0, 2) != 0; /* some rows have nothing */
    array_set(mask, mask->v);
    return mask;
}

static void set_index(const setting *s, array *index) {
    for (int64_t i = 0; i < index->count; i++)
        index->v[i] = (double)(s->has_lengths ? s->lengths[i] : s->offsets[i]);
    array_set(index, index->v);
}

static operands make(const setting *s) {
    operands o = {operand_of(s, s->heads, s->queries, s->size),
                  operand_of(s, s->heads / s->shared, s->keys, s->size),
                  operand_of(s, s->heads / s->shared, s->keys, s->cols),
                  operand_of(s, s->heads, s->queries, s->cols),
                  s->mask ? mask_of(s) : NULL,
                  NULL};
    array_uniform(o.q, -2, 2);
    array_uniform(o.k, -2, 2);
    array_uniform(o.v, -2, 2);
    if (!s->has_lengths && s->sequences < 0) return o;
    o.index = array_1d(s->wide ? TDM_I64 : TDM_I32, s->has_lengths ? s->batch : s->sequences + 1);
    set_index(s, o.index);
    return o;
}

static void refer(const setting *s, const operands *o, double *want, double *bound) {
    const int64_t scores[] = {s->batch, s->heads, s->queries, s->keys};
    const double scale = s->scale != 0 ? s->scale : s->size > 0 ? 1 / sqrt((double)s->size) : 1;
    const ref_attention a = {.dtype = s->dtype,
                             .batch = s->batch,
                             .heads = s->heads,
                             .shared = s->shared,
                             .queries = s->queries,
                             .keys = s->keys,
                             .head_size = s->size,
                             .value_size = s->cols,
                             .scale = s->dtype == TDM_F64 ? scale : (double)(float)scale,
                             .causal = s->causal,
                             .q = o->q->v,
                             .k = o->k->v,
                             .v = o->v->v,
                             .mask = o->mask ? array_repeated(o->mask, 4, scores) : NULL,
                             .lengths = s->has_lengths ? s->lengths : NULL,
                             .offsets = s->sequences >= 0 ? s->offsets : NULL,
                             .sequences = s->sequences};
    ref_attend(&a, numbers(3 * s->keys + 1), want, bound);
}

static tdm_attention_options options_of(const setting *s, const operands *o) {
    tdm_attention_options options = TDM_ATTENTION_OPTIONS_DEFAULTS;
    options.scale = s->scale;
    options.causal = s->causal;
    options.mask = o->mask ? &o->mask->t : NULL;
    if (s->has_lengths) options.lengths = &o->index->t;
    if (s->sequences >= 0) options.offsets = &o->index->t;
    return options;
}

static tdm_status attend(const setting *s, const operands *o) {
    const tdm_attention_options options = options_of(s, o);
    return tdm_attention(queue, &options, &o->q->t, &o->k->t, &o->v->t, &o->y->t);
}

static bool compare(const setting *s, const operands *o) {
    double *const want = numbers(o->y->count), *const bound = numbers(o->y->count);
    refer(s, o, want, bound);
    bool right = OK(attend(s, o)) && ARRAY_CHECK(o->y, want, bound);
    array *const inputs[] = {o->q, o->k, o->v, o->mask, o->index};
    for (int i = 0; i < 5; i++)
        if (inputs[i]) right = ARRAY_SAME(inputs[i]) && right;
    return right;
}

static bool run(const setting *s) {
    describe(s);
    const operands o = make(s);
    const bool right = compare(s, &o);
    array_free_all();
    return right;
}

/* The shapes of all blocks and tails: queries, keys, columns of q and k, of v. */
Test(attention, shapes, TAGS("lanes few kinds kernels")) {
    static const int64_t shapes[][4] = {{1, 1, 1, 1},      {16, 16, 32, 32}, {5, 7, 3, 2},
                                        {17, 63, 33, 5},   {64, 64, 64, 64}, {65, 65, 8, 31},
                                        {1, 200, 40, 129}, {130, 66, 16, 1}, {15, 129, 131, 70},
                                        {3, 130, 300, 40}, {70, 2, 65, 260}, {66, 70, 515, 530}};
    enum { SHAPES = sizeof shapes / sizeof *shapes };
    const int dtype = (int)random_integer(0, float_dtype_count - 1); /* of a simulator */
    for (int d = 0; d < float_dtype_count; d++)
        for (int i = 0; i < SHAPES; i++) {
            const int64_t *const e = shapes[i];
            if (simulator ? i != 3 || d != dtype : !in_turn(i + d)) continue;
            setting s = plain(float_dtypes[d], 1 + i % 2, 1 + i % 3, e[0], e[1], e[2], e[3]);
            s.flat = s.batch == 1 && i % 4 != 0;
            s.views = i % 2;
            if (!run(&s)) return;
        }
}

static setting random_setting(tdm_dtype dtype, int number) {
    setting s = plain(dtype, random_integer(1, 3), 0, random_integer(1, 90), random_integer(1, 150),
                      random_integer(1, 40), random_integer(1, 40));
    s.shared = random_integer(1, 3);
    s.heads = s.shared * random_integer(1, 2);
    if (number % 3 == 0) s.batch = 1;
    s.flat = s.batch == 1 && number % 2;
    s.views = random_bits() & 1;
    s.causal = random_bits() & 1;
    s.wide = random_bits() & 1;
    if (number % 4 == 1) s.scale = random_uniform(-1, 1);
    return s;
}

/* Masks that repeat any dimensions, lengths, causal queries that are fewer than keys, as many, and more. */
Test(attention, masks, TAGS("lanes")) {
    for (int d = 0; d < float_dtype_count; d++)
        for (int i = 0; i < (small ? 6 : 40); i++) {
            if (!in_turn(i + d)) continue;
            setting s = random_setting(float_dtypes[d], i);
            s.mask = (int)random_integer(0, MASKS - 1);
            s.has_lengths = i % 3 != 2;
            for (int64_t b = 0; b < s.batch; b++)
                s.lengths[b] = random_integer(-2, s.keys + 3);
            if (!run(&s)) return;
        }
}

/* Sequences one after the other, some of which are empty, and rows before and after them that are in none. */
Test(attention, ragged, TAGS("lanes")) {
    for (int d = 0; d < float_dtype_count; d++)
        for (int i = 0; i < (small ? 5 : 20); i++) {
            if (!in_turn(i + d)) continue;
            setting s = random_setting(float_dtypes[d], i);
            s.batch = 1;
            s.flat = true;
            s.keys = s.queries = i == 1 ? 1 : random_integer(20, 260);
            s.sequences = i == 2 ? 0 : random_integer(1, 12);
            if (i % 5 == 4) s.mask = OF_QUERIES | OF_KEYS;
            s.offsets[0] = i % 3 == 0 ? random_integer(0, 10) : 0;
            for (int64_t n = 1; n <= s.sequences; n++)
                s.offsets[n] = s.offsets[n - 1] + (n % 3 ? random_integer(0, 50) : 0);
            for (int64_t n = 0; n <= s.sequences; n++)
                if (s.offsets[n] > s.queries || (n == s.sequences && i % 2))
                    s.offsets[n] = s.queries;
            if (!run(&s)) return;
        }
}

/* Whatever lengths and offsets hold, only the tensors' elements are read, so that results lie among those of v, and
 * nothing is written around y. */
Test(attention, wild_indices) {
    for (int d = 0; d < float_dtype_count; d++)
        for (int i = 0; i < (small ? 2 : 12); i++) {
            setting s = random_setting(float_dtypes[d], i);
            s.keys = s.queries;
            s.has_lengths = i % 3 == 0;
            s.sequences = s.has_lengths ? -1 : 8;
            if (!s.has_lengths) s.batch = 1, s.flat = true;
            const int64_t most = s.wide ? INT64_C(1) << 60 : INT32_MAX;
            for (int64_t n = 0; n < 9; n++) {
                const int64_t any = random_integer(-3, s.queries + 3), k = random_integer(0, 5);
                s.lengths[n] = s.offsets[n] = k == 0 ? most : k == 1 ? -most - 1 : any;
            }
            describe(&s);
            const operands o = make(&s);
            OK(attend(&s, &o));
            if (!ARRAY_CHECK(o.y, numbers(o.y->count), numbers_of(o.y->count, 2.01))) return;
            array_free_all();
        }
}

/* Keys that are not attended have no effect, whatever k and v have there; those that are have. */
Test(attention, what_does_not_count) {
    for (int d = 0; d < float_dtype_count; d++)
        for (int i = 0; i < 6; i++) {
            if (!in_turn(i + d)) continue;
            const int64_t cols = i % 3 == 2 ? 264 : 6; /* the last six have the values */
            setting s = plain(float_dtypes[d], 2, 2, 70, 70, 9, cols);
            s.causal = i < 2;
            s.mask = i == 2 || i == 3 ? OF_QUERIES | OF_KEYS : 0;
            s.has_lengths = i > 3;
            s.lengths[0] = 10, s.lengths[1] = 66;
            describe(&s);
            operands o = make(&s);
            for (int64_t j = 0; j < 70; j++)
                for (int64_t r = 0; r < 70 && s.mask; r++)
                    o.mask->v[r * 70 + j] = j != 40 && (j != 66 || r == 7 || r == 69);
            if (s.mask) array_set(o.mask, o.mask->v);
            for (int64_t m = 0; m < 4; m++) {
                for (int64_t c = 0; c < 9; c++)
                    o.k->v[(m * 70 + 40) * 9 + c] = i % 2 ? NAN : INFINITY;
                o.v->v[(m * 70 + 67) * cols - 4] = NAN;
                o.v->v[(m * 70 + 67) * cols - 3] = INFINITY;
                o.v->v[(m * 70 + 41) * cols - 2] = -INFINITY;
            }
            array_set(o.k, o.k->v);
            array_set(o.v, o.v->v);
            if (!compare(&s, &o)) return;
            array_free_all();
        }
}

/* Scores hundreds apart, and values that lose their digits to others. */
Test(attention, outliers) {
    for (int d = 0; d < float_dtype_count; d++)
        for (int i = 0; i < 4; i++) {
            if (!in_turn(i + d)) continue;
            setting s = plain(float_dtypes[d], 1, 2, 40, 200, 16, 8);
            s.scale = i == 3 ? 1e-3 : 0.5;
            describe(&s);
            operands o = make(&s);
            for (int64_t j = 0; j < o.k->count; j++)
                o.k->v[j] *= i == 0 ? 30 : j / 16 % 67 == 66 ? 50 : 1;
            for (int64_t j = 0; j < o.v->count; j++)
                o.v->v[j] = i == 1        ? 1000 + o.v->v[j]
                            : j % 13 == 5 ? 3e4 * o.v->v[j] / 2
                                          : o.v->v[j];
            array_set(o.k, o.k->v);
            array_set(o.v, o.v->v);
            if (!compare(&s, &o)) return;
            array_free_all();
        }
}

/* No keys: zeros. Heads of no columns: the mean. Nothing at all: nothing. */
Test(attention, empty) {
    static const int64_t shapes[][6] = {{1, 2, 5, 0, 3, 4}, {2, 2, 5, 7, 0, 4}, {1, 1, 0, 7, 3, 4},
                                        {2, 1, 5, 7, 3, 0}, {0, 2, 5, 7, 3, 4}, {2, 0, 5, 7, 3, 4}};
    for (int d = 0; d < float_dtype_count; d++)
        for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++) {
            const int64_t *const e = shapes[i];
            const setting s = plain(float_dtypes[d], e[0], e[1], e[2], e[3], e[4], e[5]);
            if (!run(&s)) return;
        }
}

/* Heads of q, k and v side by side in the rows of one tensor [tokens, columns], as one product leaves them. */
Test(attention, fused) {
    enum { BATCH = 2, HEADS = 4, SHARED = 2, TOKENS = 37, SIZE = 24, WIDTH = (HEADS + 4) * SIZE };
    for (int d = 0; d < float_dtype_count; d++) {
        setting s = plain(float_dtypes[d], BATCH, HEADS, TOKENS, TOKENS, SIZE, SIZE);
        s.shared = SHARED;
        describe(&s);
        operands o = make(&s);
        array *const all = array_2d(s.dtype, BATCH * TOKENS, WIDTH, WIDTH);
        array *const part[] = {o.q, o.k, o.v}, *const y = array_2d(s.dtype, BATCH * TOKENS,
                                                                   HEADS * SIZE, HEADS * SIZE);
        tdm_tensor views[3], result = y->t;
        int64_t at = 0;
        for (int i = 0; i < 3; i++) {
            const int64_t heads = part[i]->t.shape[1];
            for (int64_t j = 0; j < part[i]->count; j++) {
                const int64_t c = j % SIZE, row = j / SIZE % TOKENS, m = j / SIZE / TOKENS;
                all->v[(m / heads * TOKENS + row) * WIDTH + at + m % heads * SIZE + c] =
                    part[i]->v[j];
            }
            views[i] = part[i]->t;
            views[i].buffer = all->t.buffer;
            views[i].offset = all->t.offset + at;
            const int64_t strides[] = {TOKENS * WIDTH, SIZE, WIDTH, 1};
            memcpy(views[i].strides, strides, sizeof strides);
            at += heads * SIZE;
        }
        array_set(all, all->v);
        const int64_t shape[] = {BATCH, HEADS, TOKENS, SIZE},
                      strides[] = {TOKENS * HEADS * SIZE, SIZE, HEADS * SIZE, 1};
        result.ndim = 4;
        memcpy(result.shape, shape, sizeof shape);
        memcpy(result.strides, strides, sizeof strides);
        double *const dense = numbers(y->count), *const errors = numbers(y->count);
        double *const want = numbers(y->count), *const bound = numbers(y->count);
        refer(&s, &o, dense, errors);
        for (int64_t j = 0; j < y->count; j++) {
            const int64_t c = j % SIZE, row = j / SIZE % TOKENS, m = j / SIZE / TOKENS;
            const int64_t to = ((m / HEADS * TOKENS + row) * HEADS + m % HEADS) * SIZE + c;
            want[to] = dense[j];
            bound[to] = errors[j];
        }
        OK(tdm_attention(queue, NULL, &views[0], &views[1], &views[2], &result));
        ARRAY_CHECK(y, want, bound);
        ARRAY_SAME(all);
        array_free_all();
    }
}

/* A recorded call takes the lengths, or the offsets, that are there when it is replayed. */
Test(attention, graph, TAGS("device")) {
    for (int ragged = 0; ragged < 2; ragged++) {
        setting s = plain(TDM_F32, ragged ? 1 : 3, 2, 50, 50, 8, 8);
        s.flat = ragged;
        s.has_lengths = !ragged;
        s.sequences = ragged ? 3 : -1;
        describe(&s);
        const operands o = make(&s);
        tdm_graph *graph;
        if (!OK(tdm_graph_create(queue, &graph))) return;
        OK(tdm_graph_begin(graph));
        OK(attend(&s, &o));
        OK(tdm_graph_end(graph));
        for (int i = 0; i < 4; i++) {
            for (int64_t n = 0; n < 4; n++) {
                s.lengths[n] = random_integer(0, 50);
                s.offsets[n] = n * 10 + random_integer(0, 10) + i;
            }
            set_index(&s, o.index);
            double *const want = numbers(o.y->count), *const bound = numbers(o.y->count);
            refer(&s, &o, want, bound);
            OK(tdm_graph_replay(graph));
            ARRAY_CHECK(o.y, want, bound);
        }
        tdm_graph_destroy(graph);
        array_free_all();
    }
}

/* Row `row` of head `head` of what a queue holds, as it is stored. */
static void bytes_of(const array *y, int64_t head, int64_t row, unsigned char *bytes) {
    const unsigned char *const now = array_bytes(y);
    const int64_t cols = y->t.shape[y->t.ndim - 1], rows = y->t.shape[y->t.ndim - 2];
    const size_t size = tdm_dtype_size(y->t.dtype);
    for (int64_t c = 0; c < cols; c++)
        memcpy(bytes + (size_t)c * size,
               now + element_offset(&y->t, (head * rows + row) * cols + c), size);
}

/* A query's result has the same bits alone, among others, causal or not where it is the last one, cut off by a
 * length, and in a ragged batch. */
Test(attention, same_bits) {
    enum { T = 100, SIZE = 40, COLS = 24, HEADS = 3, BYTES = COLS * 8 };
    for (int d = 0; d < float_dtype_count; d++) {
        const setting all = plain(float_dtypes[d], 2, HEADS, T, T, SIZE, COLS);
        const operands from = make(&all);
        for (int i = 0; i < (small ? 3 : 18); i++) {
            setting s = all;
            const int64_t head = random_integer(0, HEADS - 1),
                          before = i % 3 == 2 ? random_integer(1, 80) : 0;
            s.batch = i % 2 + 1;
            s.queries = i % 3 == 0 ? 1 : T;
            s.causal = i % 3 == 1;
            s.views = i % 4 == 3;
            if (i % 3 == 2) { /* a sequence among others, or keys of another length */
                s.batch = 1;
                s.flat = true;
                s.queries = s.keys = before + T + 13;
                s.sequences = 3;
                s.offsets[1] = before, s.offsets[2] = before + T, s.offsets[3] = s.keys;
            } else if (s.causal) {
                s.queries = s.keys = T + 13; /* the values of the keys after it are not finite */
            } else if (i % 2) {
                s.has_lengths = true;
                s.lengths[0] = s.lengths[1] = T;
                s.keys = T + 30;
            }
            describe(&s);
            const operands o = make(&s);
            array *const inputs[][2] = {{o.q, from.q}, {o.k, from.k}, {o.v, from.v}};
            const int64_t row = s.queries == 1 ? 0 : before + T - 1, of_all = T - 1;
            for (int n = 0; n < 3; n++) {
                const int64_t cols = n < 2 ? SIZE : COLS, rows = n ? s.keys : s.queries,
                              count = n ? T : 1;
                for (int64_t r = 0; r < count; r++)
                    memcpy(inputs[n][0]->v + (head * rows + (n ? before + r : row)) * cols,
                           inputs[n][1]->v + (head * T + (n ? r : of_all)) * cols,
                           (size_t)cols * sizeof(double));
                for (int64_t r = T; s.causal && n == 2 && r < rows; r++)
                    inputs[n][0]->v[(head * rows + r) * cols + r % cols] = r % 2 ? INFINITY : NAN;
                array_set(inputs[n][0], inputs[n][0]->v);
            }
            unsigned char want[BYTES] = {0}, now[BYTES] = {0};
            OK(attend(&all, &from));
            OK(attend(&s, &o));
            bytes_of(from.y, head, of_all, want);
            bytes_of(o.y, head, row, now);
            CHECK(memcmp(want, now, BYTES) == 0, "another row has other bits");
        }
        array_free_all();
    }
}

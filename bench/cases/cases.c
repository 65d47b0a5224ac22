/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* The one table of cases, and the choice among them. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cases/case.h"
#include "cases/selection.h"

/* Each line is every op with every shape in every dtype. The quick profile takes the lines marked QUICK, the full
 * profile these and those marked FULL, the lesson, the rows, the GPU and the sentences their own; a case that comes
 * twice runs once. An operation with a page, on rows, that no line has is QUICK, at 8192x4096 in f32. */
#define QUICK BENCH_QUICK
#define FULL BENCH_FULL
#define LESSON BENCH_LESSON
#define ROWS BENCH_ROWS
#define GPU BENCH_GPU
#define SENTENCES BENCH_SENTENCES

/* From sizes that fit a core's own cache to those that fit none; then short rows and long ones. */
#define ROW_SHAPES "64x768 512x768 2048x768 8192x4096 524288x64 512x65536"

/* As many elements, 64 MiB in 16 bits, in rows of 64 to 262144 columns; and in rows that no vector divides. */
#define GPU_SHAPES                                                                                 \
    "524288x64 131072x256 43690x768 32768x1024 4096x8192 2048x16384 1024x32768 512x65536 "         \
    "128x262144"
#define GPU_ODD_SHAPES "33554x1000 100764x333 8190x4097 668x50257"

#define ENCODER_SHAPES "1x16 1x32 1x128 8x16 8x32 8x128 32x32 32x128"

typedef struct case_line {
    bench_profile profile;
    const char *ops, *shapes, *dtypes;
} case_line;
static const case_line table[] = {
    /* the cost of a call */
    {QUICK, "empty empty+finish", "1", "f32"},
    {QUICK, "layer_norm", "8x8", "f32"},
    {QUICK, "graph", "8x8", "f32"},
    {FULL, "graph", "8x64", "f32"},
    {FULL, "graph+nodes", "1000", "f32"},

    /* matmul: squares, many small ones, then the layers of real networks */
    {QUICK, "matmul", "64x64x64 256x256x256 512x512x512 1024x1024x1024", "f32"},
    {QUICK, "matmul", "512x512x512", "f64 f16 bf16"},
    {QUICK, "matmul", "1x4096x4096", "f32 f64 f16 bf16"},
    {QUICK, "matmul matmul+norm_l2", "1000*100x100x100", "f32"},
    {FULL, "matmul",
     "64x64x64 128x128x128 256x256x256 512x512x512 1024x1024x1024 2048x2048x2048 4096x4096x4096",
     "f32 f64"},
    {FULL, "matmul", "64x64x64 256x256x256 512x512x512 1024x1024x1024 2048x2048x2048", "f16 bf16"},
    /* few rows or columns, which take as long as reading the large matrix; and tall ones */
    {FULL, "matmul", "1x4096x4096 4096x1x4096 8x4096x4096 4096x8x4096 32x4096x4096 4096x64x64",
     "f32 f64 f16 bf16"},
    {FULL, "matmul+transpose_b", "1x4096x4096 8x4096x4096 32x4096x4096", "f32 f64 f16 bf16"},
    {FULL, "matmul matmul+norm_l2", "1000*100x100x100", "f32 f64"},
    {FULL, "matmul", "1000*100x100x100", "f16"},
    /* BERT-base, 512 tokens: projections, feed-forward, attention of 12 heads */
    {QUICK, "matmul", "512x3072x768", "f32"},
    {FULL, "matmul", "512x768x768 512x3072x768 512x768x3072 12*512x512x64 12*512x64x512",
     "f32 f64"},
    {FULL, "matmul+transpose_b", "512x3072x768 12*512x512x64", "f32"},
    {FULL, "matmul+transpose_b", "1x3072x768 32x3072x768 1x768x3072 32x768x3072", "f32 bf16"},
    {FULL, "matmul+bias_gelu", "512x3072x768 1024x1024x1024", "f32 f64 f16 bf16"},
    /* MiniLM: the feed-forward of 1, 32, 128 and 512 tokens */
    {FULL, "matmul+transpose_b",
     "1x1536x384 32x1536x384 128x1536x384 512x1536x384 128x384x1536 512x384x1536", "f32"},
    {FULL, "feed_forward", "128x384x1536", "f32 bf16"},
    {FULL, "attention",
     "1*16x12x32 1*32x12x32 1*128x12x32 8*16x12x32 8*32x12x32 8*128x12x32 32*32x12x32 32*128x12x32",
     "f32 bf16"},
    {FULL, "attention", "8*128x6x128 8*128x3x256 8*128x2x512", "f32"},
    {FULL, "matmul", "96*128x128x32 96*128x32x128 1000*64x64x64 100*128x128x128", "f32"},
    /* GPT-2, 1024 tokens: QKV, projection, feed-forward, and the head for one token */
    {FULL, "matmul", "1024x2304x768 1024x768x768 1024x3072x768 1024x768x3072 1x50257x768", "f32"},
    {FULL, "matmul+transpose_b", "1x50257x768", "f32"},
    /* Llama-2-7B: 512 tokens of a prompt, then one token at a time */
    {FULL, "matmul", "512x4096x4096 512x11008x4096 512x4096x11008", "f32"},
    {FULL, "matmul", "1x11008x4096 1x4096x11008 1x32000x4096", "f32"},
    {FULL, "matmul+transpose_b", "1x11008x4096", "f32"},

    /* bias-add, normalisations, norms: as many elements in rows of 64 to 64k columns, then one row
     */
    {QUICK, "bias_add bias_add+gelu layer_norm rms_norm softmax norm_l2", "8192x4096", "f32"},
    {QUICK, "layer_norm", "524288x64 512x65536 1x4096", "f32"},
    {FULL,
     "bias_add bias_add+relu bias_add+gelu bias_add+gelu_tanh bias_add+silu bias_add+sigmoid "
     "bias_add+tanh bias_add+gelu_residual layer_norm layer_norm+residual rms_norm "
     "rms_norm+residual batch_norm l2_normalize softmax norm_l1 norm_l2 norm_inf",
     "524288x64 65536x512 8192x4096 512x65536 1x64 1x4096 1x65536", "f32"},
    {FULL, "bias_add+gelu layer_norm rms_norm softmax l2_normalize norm_l2",
     "131072x256 32768x1024 2048x16384 4096x1024", "f32"},
    {FULL, "norm_l1+whole norm_l2+whole norm_inf+whole", "8192x4096 1x65536", "f32"},
    {FULL, "norm_l2+own_kernel", "8192x4096 524288x64", "f32 f16"},
    {FULL, "batch_norm", "64x128x4096 1024x512x64", "f32"},
    {FULL,
     "bias_add bias_add+relu bias_add+gelu bias_add+gelu_tanh bias_add+silu bias_add+sigmoid "
     "bias_add+tanh layer_norm rms_norm batch_norm l2_normalize softmax norm_l1 norm_l2 norm_inf",
     "8192x4096", "f64 f16 bf16"},

    /* operations that keep data on the device between products */
    {QUICK, "scaled_softmax scaled_softmax+causal gather_rows", "4096x4096", "f32"},
    {FULL, "scatter_add_rows", "32768x64 4096x1024", "f32 f16"},
    {FULL, "argsort", "4096x4096 256x16384", "f32"},
    {FULL, "top_k", "64x50257", "f32 f16"},
    {FULL, "gather_rows one_hot concat flip", "524288x64 32768x1024", "f32 f64 f16 bf16"},
    {FULL, "scaled_softmax scaled_softmax+causal", "4096x4096 512x65536", "f64 f16 bf16"},

    /* reductions of the last dimension, of the first, and of all */
    {QUICK, "sum sum+columns max argmax variance", "8192x4096", "f32"},
    {FULL, "sum mean prod variance norm_over max any argmax", "524288x64 8192x4096 512x65536",
     "f32"},
    {FULL, "sum mean prod variance norm_over max any argmax", "8192x4096", "f64 f16 bf16"},
    {FULL,
     "sum+columns mean+columns prod+columns variance+columns norm_over+columns max+columns "
     "any+columns argmax+columns",
     "524288x64 8192x4096 512x65536", "f32"},
    {FULL,
     "sum+columns mean+columns prod+columns variance+columns norm_over+columns max+columns "
     "any+columns argmax+columns",
     "8192x4096", "f64 f16 bf16"},
    {FULL, "sum+whole variance+whole dot", "33554432", "f32 f64 f16 bf16"},
    {FULL, "cumsum cumsum+columns", "524288x64 8192x4096 512x65536", "f32"},
    {FULL, "cumsum", "8x4194304", "f32"},
    {FULL, "cumsum cumsum+columns", "8192x4096", "f64 f16 bf16"},

    /* elementwise, cast, fill */
    {QUICK, "add cast+bf16 fill", "8192x4096", "f32"},
    {FULL, "add sub mul scale axpy exp div fill", "8192x4096 1048576 4096", "f32"},
    {FULL, "add sub mul scale axpy exp div fill", "8192x4096", "f64 f16 bf16"},
    /* by the machine's C compiler, where there is one, or in blocks: TANDEM_CPU_COMPILER=none */
    {FULL, "expression expression+ten", "8192x4096", "f32 f16"},
    {FULL, "cast+f64 cast+f16 cast+bf16 fill_normal", "8192x4096", "f32"},
    {FULL, "cast+f32", "8192x4096", "f64 f16 bf16"},

    /* copies: 4 KiB, 1 MiB, 16 MiB, 128 MiB */
    {QUICK, "copy_h2d copy_d2h copy_d2d", "33554432", "f32"},
    {FULL, "copy_h2d copy_d2h copy_d2d", "1024 262144 4194304 33554432", "f32"},

    /* The exercises of the lesson on GPUs in Dive into Deep Learning (Zhang et al.). A large
     * product and a small one, and sizes between */
    {LESSON, "matmul",
     "50x50x100 64x64x64 128x128x128 256x256x256 512x512x512 1024x1024x1024 2048x2048x2048 "
     "5000x5000x10000",
     "f32"},
    /* many products and their norms: logged one by one, or kept on the device and read once */
    {LESSON, "matmul+norm_l2_logged matmul+norm_l2_kept", "1000*100x100x100 100*500x500x500",
     "f32"},
    /* two products on two devices at once */
    {LESSON, "two_devices", "512x512x512 1024x1024x1024 2048x2048x2048", "f32"},
    /* a layer's parameters in and out: 64 KiB to 256 MiB */
    {LESSON, "copy_h2d copy_d2h file_save file_load",
     "16384 65536 262144 1048576 4194304 16777216 67108864", "f32"},
    /* a tensor to another device and back, and to where it is; 2^26 random numbers */
    {LESSON, "to_device to_device+back to_device+same fill_uniform", "67108864", "f32"},

    /* operations that read and write rows once, in every dtype */
    {ROWS,
     "bias_add bias_add+relu bias_add+gelu bias_add+gelu_tanh bias_add+silu bias_add+sigmoid "
     "bias_add+tanh add scale layer_norm layer_norm+residual rms_norm rms_norm+residual softmax "
     "norm_l1 norm_l2 norm_inf",
     ROW_SHAPES, "f32 f16 bf16 f64"},
    {ROWS, "cast+f32", ROW_SHAPES, "f16 bf16 f64"},
    {ROWS, "cast+f16 cast+bf16 cast+f64", ROW_SHAPES, "f32"},

    /* Of a GPU, as far as time allows: the most important figures of each kind first */
    {GPU, "layer_norm softmax rms_norm add bias_add+gelu norm_l2 sum", "8192x4096", "f32 bf16 f16"},
    {GPU, "cast+bf16 cast+f16", "8192x4096", "f32"},
    {GPU, "matmul", "4096x4096x4096 8192x8192x8192", "bf16 f32 f16"},
    {GPU, "empty empty+finish", "1", "f32"},
    {GPU, "graph+nodes", "1000", "f32"},
    {GPU, "layer_norm graph", "8x8", "f32"},
    {GPU, "layer_norm softmax rms_norm add bias_add+gelu", "1x4096 64x768", "f32 bf16"},
    {GPU, "copy_d2d copy_h2d copy_d2h", "33554432", "f32"},
    {GPU, "matmul+norm_l2_kept matmul+norm_l2_logged", "1000*100x100x100", "f32"},
    {GPU, "layer_norm softmax rms_norm", GPU_SHAPES, "f32 bf16 f16"},
    {GPU, "matmul", "2048x2048x2048 1024x1024x1024 512x512x512 256x256x256", "f32 bf16 f16"},
    {GPU, "matmul", "1000*100x100x100 12*512x512x64 12*512x64x512", "f32 bf16"},
    {GPU, "matmul+bias_gelu", "512x3072x768 4096x4096x4096", "f32 bf16 f16"},
    {GPU, "layer_norm softmax rms_norm add", GPU_ODD_SHAPES, "f32 bf16"},
    {GPU, "add norm_l2 sum bias_add bias_add+gelu", GPU_SHAPES, "f32 bf16"},
    {GPU, "cast+bf16 cast+f16", GPU_SHAPES, "f32"},
    {GPU, "cast+f32", "8192x4096 524288x64 512x65536", "bf16 f16"},
    {GPU, "matmul", "1024x1024x1024 2048x2048x2048 4096x4096x4096", "f64"},
    {GPU, "copy_h2d copy_d2h copy_d2d", "1024 262144 4194304", "f32"},
    {GPU,
     "layer_norm+residual rms_norm+residual l2_normalize norm_l1 norm_inf bias_add+relu "
     "bias_add+silu bias_add+tanh scale",
     "8192x4096 524288x64 512x65536", "f32 bf16 f16"},
    {GPU, "add norm_l2 sum bias_add bias_add+gelu", GPU_SHAPES, "f16"},
    {GPU, "norm_l2 sum bias_add+gelu cast+f32", GPU_ODD_SHAPES, "bf16 f16"},
    {GPU, "layer_norm softmax rms_norm add norm_l2", "8192x4096", "f64"},

    /* MiniLM whole: sentences x tokens */
    {SENTENCES, "encoder", ENCODER_SHAPES, "f32"},
    {SENTENCES, "encoder+ragged", "32x32", "f32"},
    {SENTENCES, "encoder", ENCODER_SHAPES, "bf16"},
    {SENTENCES, "encoder+ragged", "32x32", "bf16"},
};

const char *bench_profile_name(bench_profile profile) {
    static const char *const names[] = {"quick", "full", "lesson", "rows", "gpu", "sentences"};
    return names[profile];
}

static bool has_line(bench_profile profile, const case_line *line) {
    return profile == line->profile || (profile == BENCH_FULL && line->profile == BENCH_QUICK);
}

/* Operation number i of all; NULL past the last. */
static const bench_op *op_number(size_t i) {
    const bench_op *const families[] = {
        bench_ops_pages(),     bench_ops_matmul, bench_ops_feed_forward, bench_ops_arrays,
        bench_ops_expressions, bench_ops_copies, bench_ops_tasks};
    for (size_t f = 0; f < sizeof families / sizeof *families; f++)
        for (const bench_op *op = families[f]; op->name; op++)
            if (i-- == 0) return op;
    return NULL;
}

const char *const *bench_op_names(void) {
    /* cast has variants only; its bare name selects them all */
    static const char *names[BENCH_MAX_OPS + 2] = {"cast"};
    const bench_op *op;
    for (size_t i = 0; i < BENCH_MAX_OPS && (op = op_number(i)); i++)
        names[i + 1] = op->name;
    return names;
}

static const bench_op *find_op(const char *name) {
    const bench_op *op;
    for (size_t i = 0; (op = op_number(i)); i++)
        if (strcmp(op->name, name) == 0) return op;
    return NULL;
}

static bool find_dtype(const char *name, tdm_dtype *dtype) {
    for (int d = 0; d < TDM_DTYPE_COUNT; d++) {
        if (strcmp(tdm_dtype_name((tdm_dtype)d), name) != 0) continue;
        *dtype = (tdm_dtype)d;
        return true;
    }
    return false;
}

bool bench_make_case(const char *op, tdm_dtype dtype, const char *shape, bench_case *c) {
    *c = (bench_case){.op = find_op(op), .dtype = dtype, .shape = bench_parse_shape(shape)};
    return c->op;
}

static bool selects(const bench_words *words, const char *name, bool with_variants) {
    if (words->count == 0) return true;
    for (size_t i = 0; i < words->count; i++) {
        size_t length = strlen(words->word[i]);
        if (strncmp(words->word[i], name, length) != 0) continue;
        if (!name[length] || (with_variants && name[length] == '+')) return true;
    }
    return false;
}

/* The next word of a list of words between blanks; false at its end. */
static bool next_word(const char **list, char *word, size_t size) {
    *list += strspn(*list, " ");
    size_t length = strcspn(*list, " ");
    if (length == 0 || length >= size) return false;
    memcpy(word, *list, length);
    word[length] = '\0';
    *list += length;
    return true;
}

typedef struct case_list {
    bench_case *cases;
    size_t count, capacity;
} case_list;

static bool append(case_list *list, const bench_case *c) {
    for (size_t i = 0; i < list->count; i++) {
        const bench_case *other = &list->cases[i];
        if (other->op == c->op && other->dtype == c->dtype &&
            strcmp(other->shape.text, c->shape.text) == 0)
            return true;
    }
    if (list->count == list->capacity) {
        size_t capacity = list->capacity ? 2 * list->capacity : 64;
        bench_case *cases = realloc(list->cases, capacity * sizeof *cases);
        if (!cases) return false;
        list->cases = cases;
        list->capacity = capacity;
    }
    list->cases[list->count++] = *c;
    return true;
}

static bool expand(const bench_selection *selection, const case_line *line, case_list *list) {
    char op[48], shape[48], dtype[8];
    bench_case c = {0};
    for (const char *ops = line->ops; next_word(&ops, op, sizeof op);) {
        c.op = find_op(op);
        if (!c.op || !selects(&selection->ops, op, true)) continue;
        for (const char *shapes = line->shapes; next_word(&shapes, shape, sizeof shape);) {
            if (!selects(&selection->shapes, shape, false)) continue;
            c.shape = bench_parse_shape(shape);
            for (const char *dtypes = line->dtypes; next_word(&dtypes, dtype, sizeof dtype);) {
                if (!selects(&selection->dtypes, dtype, false) || !find_dtype(dtype, &c.dtype))
                    continue;
                if (!append(list, &c)) return false;
            }
        }
    }
    return true;
}

enum { LINES = sizeof table / sizeof *table };

static bool is_in_table(const char *name) {
    char op[48];
    for (size_t line = 0; line < LINES; line++)
        for (const char *ops = table[line].ops; next_word(&ops, op, sizeof op);)
            if (strcmp(op, name) == 0) return true;
    return false;
}

bench_case *bench_select_cases(const bench_selection *selection, size_t *count) {
    case_list list = {0};
    bool good = true;
    for (size_t line = 0; line < LINES; line++)
        if (has_line(selection->profile, &table[line]))
            good = good && expand(selection, &table[line], &list);
    const bench_op *op;
    for (size_t i = 0; (op = op_number(i)) && op->operation; i++) {
        const case_line line = {QUICK, op->name, "8192x4096", "f32"};
        if (op->operation->layout == OP_ADJACENT && has_line(selection->profile, &line) &&
            !is_in_table(line.ops))
            good = good && expand(selection, &line, &list);
    }
    if (!good) {
        free(list.cases);
        return NULL;
    }
    *count = list.count;
    return list.cases ? list.cases : calloc(1, sizeof *list.cases);
}

void bench_list(const bench_selection *selection) {
    size_t count;
    bench_case *cases = bench_select_cases(selection, &count);
    for (size_t i = 0; cases && i < count; i++)
        printf("%-24s %-5s %s\n", cases[i].op->name, tdm_dtype_name(cases[i].dtype),
               cases[i].shape.text);
    free(cases);
}

bool bench_selects(const bench_selection *selection) {
    size_t count = 0;
    bench_case *cases = bench_select_cases(selection, &count);
    free(cases);
    return !cases || count > 0;
}

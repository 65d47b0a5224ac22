/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* The products that `tdm tune` measures: the usual ones, or those of a file. */
#include "tune_products.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "platform/program.h"
#include "tools.h"

static const char out_of_memory[] = "out of memory";

/* Squares, what a large language model does for a token, the layers of BERT-base and of MiniLM (stored as
 * weights are: outputs x inputs), heads of attention, and tall matrices. */
static const struct {
    int64_t batch, m, n, k;
    bool transpose_b;
} usual[] = {
    {1, 1024, 1024, 1024, false}, {1, 256, 256, 256, false},    {1, 1, 4096, 4096, true},
    {1, 512, 3072, 768, true},    {1, 2048, 2048, 2048, false}, {1, 512, 512, 512, false},
    {1, 128, 128, 128, false},    {1, 64, 64, 64, false},       {1, 512, 768, 3072, true},
    {1, 512, 768, 768, true},     {1, 32, 3072, 768, true},     {1, 32, 768, 3072, true},
    {1, 32, 768, 768, true},      {1, 1, 3072, 768, true},      {1, 1, 768, 3072, true},
    {12, 128, 128, 64, true},     {12, 128, 64, 128, false},    {1, 128, 1536, 384, true},
    {1, 128, 384, 1536, true},    {1, 8, 4096, 4096, true},     {1, 32, 4096, 4096, true},
    {1, 1, 4096, 4096, false},    {1, 4096, 1, 4096, false},    {1, 8, 4096, 4096, false},
    {1, 4096, 64, 64, false},     {64, 64, 64, 64, false},      {1, 32, 1536, 384, true},
    {1, 32, 384, 1536, true},     {1, 1, 1536, 384, true},      {1, 1, 384, 1536, true},
};
enum { USUAL = sizeof usual / sizeof *usual };

bool tune_list_usual(tune_list *list, const tdm_dtype *dtypes, size_t count) {
    *list = (tune_list){calloc(USUAL * count, sizeof *list->products), 0};
    if (!list->products) return false;
    for (size_t i = 0; i < USUAL; i++)
        for (size_t d = 0; d < count; d++)
            list->products[list->count++] = (tune_product){.dtype = dtypes[d],
                                                           .batch = usual[i].batch,
                                                           .m = usual[i].m,
                                                           .n = usual[i].n,
                                                           .k = usual[i].k,
                                                           .transpose_b = usual[i].transpose_b};
    return true;
}

void tune_list_free(tune_list *list) {
    free(list->products);
    *list = (tune_list){NULL, 0};
}

/* --- a file ------------------------------------------------------------------------------------- */

/* Digits up to `end`, which is passed over. */
static bool parse_extent(const char **at, char end, int64_t *extent) {
    const size_t digits = strspn(*at, "0123456789");
    if (digits == 0 || digits > 18 || (*at)[digits] != end) return false;
    *extent = strtoll(*at, NULL, 10);
    *at += digits + (end ? 1 : 0);
    return *extent > 0;
}

/* "512x3072x768", "12*128x128x64". */
static bool parse_extents(const char *word, tune_product *product) {
    product->batch = 1;
    if (strchr(word, '*') && !parse_extent(&word, '*', &product->batch)) return false;
    return parse_extent(&word, 'x', &product->m) && parse_extent(&word, 'x', &product->n) &&
           parse_extent(&word, '\0', &product->k);
}

static bool parse_activation(const char *word, tdm_activation *activation) {
    for (int a = TDM_ACTIVATION_NONE + 1; a < TDM_ACTIVATION_COUNT; a++)
        if (strcmp(tdm_activation_name((tdm_activation)a), word) == 0) {
            *activation = (tdm_activation)a;
            return true;
        }
    return false;
}

static bool parse_option(const char *word, tune_product *product) {
    bool *const flags[] = {&product->transpose_a, &product->transpose_b, &product->tf32,
                           &product->bias};
    static const char *const names[] = {"transpose_a", "transpose_b", "tf32", "bias"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        if (strcmp(word, names[i]) != 0) continue;
        *flags[i] = true;
        return true;
    }
    return parse_activation(word, &product->activation);
}

/* NULL, or what is wrong with the line, which is cut into words. */
static const char *parse_line(char *line, tune_product *product) {
    static const char blanks[] = " \t\r\n";
    char *word = strtok(line, blanks);
    *product = (tune_product){.batch = 1};
    if (!find_dtype(word, strlen(word), &product->dtype) || !tdm_dtype_is_float(product->dtype))
        return "it begins with a dtype: f32, f64, f16 or bf16";
    word = strtok(NULL, blanks);
    if (!word || !parse_extents(word, product))
        return "the sizes come second, as MxNxK, or BATCH*MxNxK for a batch";
    while ((word = strtok(NULL, blanks)))
        if (!parse_option(word, product))
            return "after the sizes there may be transpose_a, transpose_b, tf32, bias and the name "
                   "of an activation";
    return NULL;
}

static bool same(const tune_product *a, const tune_product *b) {
    char left[TDMI_PRODUCT_TEXT], right[TDMI_PRODUCT_TEXT];
    return strcmp(tdmi_product_text(a, left), tdmi_product_text(b, right)) == 0;
}

static bool add(tune_list *list, const tune_product *product) {
    for (size_t i = 0; i < list->count; i++)
        if (same(&list->products[i], product)) return true;
    tune_product *grown = realloc(list->products, (list->count + 1) * sizeof *grown);
    if (!grown) return false;
    list->products = grown;
    list->products[list->count++] = *product;
    return true;
}

static const char *take_line(void *context, char *line) {
    tune_product product;
    const char *why = parse_line(line, &product);
    if (why) return why;
    return add(context, &product) ? NULL : out_of_memory;
}

int tune_list_read(tune_list *list, const char *path) {
    *list = (tune_list){NULL, 0};
    return tune_read_lines(path, "product", take_line, list);
}

/* Empty lines and those that begin with '#' are passed over. */
static int read_lines(FILE *file, const char *path, tune_line_taker take, void *context,
                      size_t *taken) {
    char line[512];
    for (int number = 1; fgets(line, sizeof line, file); number++) {
        const bool cut = !strchr(line, '\n') && !feof(file);
        const char first = line[strspn(line, " \t\r\n")];
        if (!cut && (first == '\0' || first == '#')) continue;
        const char *why = cut ? "it has more than 510 characters" : take(context, line);
        ++*taken;
        if (!why) continue;
        fprintf(stderr, "tdm tune: %s, line %d: %s\n", path, number, why);
        return why == out_of_memory ? EXIT_FAILED : EXIT_USAGE;
    }
    return EXIT_OK;
}

int tune_read_lines(const char *path, const char *things, tune_line_taker take, void *context) {
    size_t taken = 0;
    FILE *file = tdmi_stream_open(path, "r");
    if (!file) {
        fprintf(stderr, "tdm tune: %s cannot be read: %s\n", path, strerror(errno));
        return EXIT_FAILED;
    }
    int status = read_lines(file, path, take, context, &taken);
    if (status == EXIT_OK && ferror(file)) {
        fprintf(stderr, "tdm tune: %s cannot be read\n", path);
        status = EXIT_FAILED;
    }
    if (status == EXIT_OK && taken == 0) {
        fprintf(stderr, "tdm tune: %s has no %s\n", path, things);
        status = EXIT_FAILED;
    }
    fclose(file);
    return status;
}

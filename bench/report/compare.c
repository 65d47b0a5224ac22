/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* Two runs side by side: which rows have become slower or faster, by a test over their samples and
 * not by a percentage alone, which a busy machine changes from run to run. */
#include "report/compare.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "report/report.h"
#include "report/wrap.h"
#include "rows/stats.h"

enum { KEYS = 5 };
static const char *const keys[KEYS] = {"device", "second_device", "op", "dtype", "shape"};

/* A row of a file; the texts are borrowed from its JSON. */
typedef struct measured {
    const char *key[KEYS]; /* "" for a text that it lacks */
    int ranks;             /* 0: none shared the work */
    double *samples;
    int count; /* 0: it was not measured */
} measured;

typedef struct run_file {
    const char *path;
    json_t *root;
    measured *rows;
    size_t count;
} run_file;

typedef struct pair {
    const measured *before, *after;
    double ratio, probability; /* medians, after / before; adjusted for the number of pairs */
    bool too_few;              /* samples: no difference could be significant */
} pair;

/* --- reading ---------------------------------------------------------------------------------- */

static bool refuse(const run_file *file, const char *why) {
    fprintf(stderr, "tdm bench compare: %s %s\n", file->path, why);
    return false;
}

static bool read_samples(const json_t *row, measured *out) {
    const json_t *list = json_object_get(row, "seconds");
    const size_t count = json_array_size(list);
    if (!json_is_array(list) || count > BENCH_MAX_VALUES) return false;
    out->samples = malloc((count + 1) * sizeof *out->samples);
    if (!out->samples) return false;
    for (size_t i = 0; i < count; i++) {
        const double seconds = json_number_value(json_array_get(list, i));
        if (!(seconds > 0.0)) return false;
        out->samples[out->count++] = seconds;
    }
    return true;
}

static bool read_row(const json_t *row, measured *out) {
    for (int k = 0; k < KEYS; k++) {
        const json_t *value = json_object_get(row, keys[k]);
        out->key[k] = value ? json_string_value(value) : "";
        /* only the second device may be missing */
        if (!out->key[k] || (!*out->key[k] && strcmp(keys[k], "second_device") != 0)) return false;
    }
    out->ranks = (int)json_integer_value(json_object_get(row, "ranks"));
    return read_samples(row, out);
}

static bool read_file(run_file *file) {
    json_error_t error;
    file->root = json_load_file(file->path, 0, &error);
    if (!file->root) {
        char why[JSON_ERROR_TEXT_LENGTH + 32];
        snprintf(why, sizeof why, "cannot be read: %s", error.text);
        return refuse(file, why);
    }
    const json_t *schema = json_object_get(file->root, "schema");
    const json_t *rows = json_object_get(file->root, "rows");
    if (!json_is_integer(schema) || !json_is_array(rows))
        return refuse(file, "was not written by 'tdm bench --json'");
    if (json_integer_value(schema) != BENCH_SCHEMA)
        return refuse(file, "was written by a Tandem whose results this one does not know");
    file->rows = calloc(json_array_size(rows) + 1, sizeof *file->rows);
    if (!file->rows) return refuse(file, "is too long: out of memory");
    for (size_t i = 0; i < json_array_size(rows); i++) {
        char why[80];
        snprintf(why, sizeof why, "has a row that is damaged: number %zu", i + 1);
        file->count++;
        if (!read_row(json_array_get(rows, i), &file->rows[i])) return refuse(file, why);
    }
    return true;
}

static void free_file(run_file *file) {
    for (size_t i = 0; file->rows && i < file->count; i++)
        free(file->rows[i].samples);
    free(file->rows);
    json_decref(file->root);
}

/* --- comparing -------------------------------------------------------------------------------- */

static const measured *find(const run_file *file, const measured *row) {
    for (size_t i = 0; i < file->count; i++) {
        int same = 0;
        while (same < KEYS && strcmp(file->rows[i].key[same], row->key[same]) == 0)
            same++;
        if (same == KEYS && file->rows[i].ranks == row->ranks) return &file->rows[i];
    }
    return NULL;
}

static bool compare(const bench_comparison *wanted, pair *pairs, size_t count) {
    double *probabilities = malloc((count + 1) * sizeof *probabilities);
    bool good = probabilities;
    for (size_t i = 0; good && i < count; i++) {
        const measured *a = pairs[i].before, *b = pairs[i].after;
        pairs[i].ratio = bench_summarise(b->samples, b->count).median /
                         bench_summarise(a->samples, a->count).median;
        pairs[i].too_few =
            bench_mann_whitney_least(a->count, b->count) * (double)count >= wanted->significance;
        probabilities[i] = bench_mann_whitney(a->samples, a->count, b->samples, b->count);
    }
    good = good && bench_holm(probabilities, count);
    for (size_t i = 0; good && i < count; i++)
        pairs[i].probability = probabilities[i];
    free(probabilities);
    return good;
}

typedef enum verdict { SAME, SLOWER, FASTER } verdict;

static verdict judge(const bench_comparison *wanted, const pair *p) {
    if (!(p->probability < wanted->significance)) return SAME;
    if (p->ratio > 1.0 + wanted->threshold) return SLOWER;
    return p->ratio < 1.0 - wanted->threshold ? FASTER : SAME;
}

/* --- reporting -------------------------------------------------------------------------------- */

static void print_source(const bench_comparison *wanted, const char *name, const run_file *file) {
    const json_t *machine = json_object_get(file->root, "machine");
    const char *text[] = {json_string_value(json_object_get(file->root, "version")),
                          json_string_value(json_object_get(file->root, "commit")),
                          json_string_value(json_object_get(machine, "time")),
                          json_string_value(json_object_get(machine, "cpu"))};
    char line[1024];
    snprintf(line, sizeof line, "%s: %s: Tandem %s%s%s%s, %s, %s", name, file->path,
             text[0] ? text[0] : "?", text[1] && *text[1] ? " (" : "", text[1] ? text[1] : "",
             text[1] && *text[1] ? ")" : "", text[2] ? text[2] : "?", text[3] ? text[3] : "?");
    bench_print_wrapped(stdout, line, wanted->width, 0);
}

/* Whether the devices have the same names and drivers. */
static bool same_devices(const json_t *a, const json_t *b) {
    static const char *const facts[] = {"id", "name", "driver_version"};
    bool same = json_array_size(a) == json_array_size(b);
    for (size_t i = 0; same && i < json_array_size(a); i++)
        for (size_t j = 0; same && j < sizeof facts / sizeof *facts; j++) {
            const json_t *of_a = json_object_get(json_array_get(a, i), facts[j]);
            const json_t *of_b = json_object_get(json_array_get(b, i), facts[j]);
            same = of_a == of_b || json_equal(of_a, of_b); /* both may be missing */
        }
    return same;
}

/* Samples of two machines, drivers or libraries differ for reasons that have nothing to do with Tandem. */
static void warn_of_machines(const run_file *before, const run_file *after) {
    static const char *const facts[] = {"cpu", "cores", "architecture", "libraries", "devices"};
    const json_t *machines[] = {json_object_get(before->root, "machine"),
                                json_object_get(after->root, "machine")};
    for (size_t i = 0; i < sizeof facts / sizeof *facts; i++) {
        json_t *a = json_object_get(machines[0], facts[i]);
        json_t *b = json_object_get(machines[1], facts[i]);
        const bool same = json_is_array(a) ? same_devices(a, b) : json_equal(a, b);
        if (!a || !b || same) continue;
        fprintf(stderr,
                "tdm bench compare: warning: the files are of different machines, drivers or "
                "libraries (%s)\n",
                facts[i]);
        return;
    }
}

static void print_pair(const pair *p, verdict v, bool is_first) {
    char before[16], after[16], ranks[16] = "", where[80];
    const double medians[] = {bench_summarise(p->before->samples, p->before->count).median,
                              bench_summarise(p->after->samples, p->after->count).median};
    if (is_first) printf("\n%7s %7s %6s %7s  %-6s  %s\n", "old", "new", "ratio", "p", "", "row");
    if (p->before->ranks) snprintf(ranks, sizeof ranks, "%d x ", p->before->ranks);
    snprintf(where, sizeof where, "%s%s%s%s", ranks, p->before->key[0],
             *p->before->key[1] ? "+" : "", p->before->key[1]);
    printf("%7s %7s %6.2f %7.1g  %-6s  %s %s %s %s%s\n", bench_format_seconds(medians[0], before),
           bench_format_seconds(medians[1], after), p->ratio, p->probability,
           v == SLOWER   ? "SLOWER"
           : v == FASTER ? "faster"
                         : "",
           where, p->before->key[2], p->before->key[3], p->before->key[4],
           p->too_few ? " (too few samples)" : "");
}

/* Returns the number of slower rows. */
static size_t print_pairs(const bench_comparison *wanted, const pair *pairs, size_t count) {
    size_t slower = 0, faster = 0, too_few = 0, shown = 0;
    for (size_t i = 0; i < count; i++) {
        const verdict v = judge(wanted, &pairs[i]);
        slower += v == SLOWER;
        faster += v == FASTER;
        too_few += pairs[i].too_few;
        if (v != SAME || wanted->all) print_pair(&pairs[i], v, shown++ == 0);
    }
    printf("\n%zu rows: %zu slower, %zu faster by more than %g %%, at a significance of %g\n",
           count, slower, faster, 100.0 * wanted->threshold, wanted->significance);
    if (too_few > 0)
        printf("%zu rows have too few samples for any difference to be significant\n", too_few);
    return slower;
}

static size_t count_without_match(const run_file *file, const run_file *other) {
    size_t count = 0;
    for (size_t i = 0; i < file->count; i++)
        count += !find(other, &file->rows[i]);
    return count;
}

static bench_compared compare_files(const bench_comparison *wanted, const run_file *before,
                                    const run_file *after) {
    pair *pairs = calloc(before->count + 1, sizeof *pairs);
    size_t count = 0, unmeasured = 0;
    for (size_t i = 0; pairs && i < before->count; i++) {
        const measured *match = find(after, &before->rows[i]);
        if (!match) continue;
        if (match->count == 0 || before->rows[i].count == 0)
            unmeasured++;
        else
            pairs[count++] = (pair){.before = &before->rows[i], .after = match};
    }
    bench_compared result = BENCH_UNCOMPARABLE;
    if (!pairs || !compare(wanted, pairs, count)) {
        fputs("tdm bench compare: out of memory\n", stderr);
    } else if (count == 0) {
        fprintf(stderr, "tdm bench compare: no row was measured in both %s and %s\n", before->path,
                after->path);
    } else {
        print_source(wanted, "old", before);
        print_source(wanted, "new", after);
        warn_of_machines(before, after);
        result = print_pairs(wanted, pairs, count) > 0 ? BENCH_SLOWER : BENCH_NOT_SLOWER;
        const size_t missing[] = {count_without_match(before, after),
                                  count_without_match(after, before)};
        if (missing[0] + missing[1] + unmeasured > 0)
            printf("not compared: %zu rows only in the old file, %zu only in the new one, %zu "
                   "without samples\n",
                   missing[0], missing[1], unmeasured);
    }
    free(pairs);
    return result;
}

bench_compared bench_compare(const bench_comparison *wanted) {
    run_file before = {.path = wanted->before}, after = {.path = wanted->after};
    bench_compared result = BENCH_UNCOMPARABLE;
    if (read_file(&before) && read_file(&after)) result = compare_files(wanted, &before, &after);
    free_file(&before);
    free_file(&after);
    return result;
}

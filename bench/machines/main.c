/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* tdm-machines: the profile machines of `tdm bench`, on each rank. Rank 0 prints the rows and writes the reports. */
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "baselines/baseline.h"
#include "cases.h"
#include "machine/clock.h"
#include "machine/machine.h"
#include "report/output.h"

static const machines_case cases[] = {
#define SIZES(op)                                                                                  \
    {op, "2", TDM_F32, &machines_collectives}, {op, "16384", TDM_F32, &machines_collectives},      \
        {op, "262144", TDM_F32, &machines_collectives},                                            \
        {op, "4194304", TDM_F32, &machines_collectives}, {                                         \
        op, "16777216", TDM_F32, &machines_collectives                                             \
    }
    SIZES("all_reduce"),
    SIZES("all_gather"),
    SIZES("broadcast"),
    SIZES("reduce"),
    SIZES("reduce_scatter"),
    SIZES("all_to_all"),
    SIZES("send_receive"),
    {"barrier", "1", TDM_F32, &machines_collectives},
    {"layers+data", "64x768x3072", TDM_F32, &machines_layers},
    {"layers+data", "1024x768x3072", TDM_F32, &machines_layers},
    {"layers+data+weak", "512x768x3072", TDM_F32, &machines_layers},
    {"layers+tensor", "64x768x3072", TDM_F32, &machines_layers},
    {"layers+tensor", "1024x768x3072", TDM_F32, &machines_layers},
    {"layers+tensor+weak", "512x768x3072", TDM_F32, &machines_layers},
    {"training", "512x512x2048", TDM_F32, &machines_training},
    {"training", "1024x768x3072", TDM_F32, &machines_training},
    {"training+weak", "512x768x3072", TDM_F32, &machines_training},
    {"grid_matmul", "1024x1024x1024", TDM_F32, &machines_products},
    {"grid_matmul", "4096x4096x4096", TDM_F32, &machines_products},
    {"grid_matmul", "4096x4096x4096", TDM_F64, &machines_products},
    {"grid_matmul+weak", "2048x2048x2048", TDM_F32, &machines_products},
    {"grid_matmul+weak", "2048x2048x2048", TDM_F64, &machines_products},
    {"grid_matmul+scalapack", "1024x1024x1024", TDM_F32, &machines_products},
    {"grid_matmul+scalapack", "4096x4096x4096", TDM_F32, &machines_products},
    {"grid_matmul+scalapack", "4096x4096x4096", TDM_F64, &machines_products},
#undef SIZES
};
enum { CASES = sizeof cases / sizeof *cases, MOST_RANKS = 16 };

typedef struct arguments {
    const char *device, *ops, *dtypes, *shapes, *ranks, *json, *html;
    bench_format format;
    bool list, wide;
} arguments;

/* Whether a word is among those between commas; no list has all. */
static bool is_among(const char *list, const char *word) {
    const size_t length = strlen(word);
    for (const char *at = list; at && *at; at += strcspn(at, ","), at += *at == ',')
        if (strncmp(at, word, length) == 0 && (at[length] == ',' || !at[length])) return true;
    return !list;
}

static bool is_wanted(const arguments *a, const machines_case *c) {
    char base[32];
    snprintf(base, sizeof base, "%.*s", (int)strcspn(c->op, "+"), c->op);
    return (is_among(a->ops, c->op) || is_among(a->ops, base)) &&
           is_among(a->dtypes, tdm_dtype_name(c->dtype)) && is_among(a->shapes, c->shape);
}

/* The options of `tdm bench` that the profile has; 0 to go on. */
static int read_arguments(int argc, char **argv, arguments *a) {
    static const char *const formats[] = {"table", "md", "csv", "json", "jsonl"};
    static const struct option options[] = {
        {"device", required_argument, NULL, 'd'},  {"op", required_argument, NULL, 'o'},
        {"dtype", required_argument, NULL, 't'},   {"shape", required_argument, NULL, 's'},
        {"ranks", required_argument, NULL, 'n'},   {"format", required_argument, NULL, 'f'},
        {"json", optional_argument, NULL, 'j'},    {"report", required_argument, NULL, 'r'},
        {"profile", required_argument, NULL, 'p'}, {"list", no_argument, NULL, 'l'},
        {"wide", no_argument, NULL, 'w'},          {0}};
    opterr = 0; /* the message is this program's */
    for (int c; (c = getopt_long(argc, argv, "", options, NULL)) >= 0;) {
        if (c == '?') {
            fprintf(stderr, "tdm bench: '%s' is unknown, or lacks its value\n", argv[optind - 1]);
            fputs("tdm bench: the profile machines has --device, --op, --dtype, --shape, --ranks, "
                  "--format, --json, --report, --wide and --list\n",
                  stderr);
            return 2;
        }
        const char **const words[] = {
            ['d'] = &a->device, ['o'] = &a->ops,  ['t'] = &a->dtypes, ['s'] = &a->shapes,
            ['j'] = &a->json,   ['r'] = &a->html, ['n'] = &a->ranks};
        if (c == 'l') a->list = true;
        if (c == 'w') a->wide = true;
        if (c == 'j' && !optarg && optind < argc && argv[optind][0] != '-') optarg = argv[optind++];
        if (c == 'j' && !optarg) a->format = BENCH_JSON;
        if (strchr("dotsjrn", c)) *words[c] = optarg;
        if (c != 'f') continue;
        int format = 0;
        while (format < 5 && strcmp(formats[format], optarg) != 0)
            format++;
        if (format == 5) {
            fprintf(stderr, "tdm bench: --format '%s' is none of table, md, csv, json and jsonl\n",
                    optarg);
            return 2;
        }
        a->format = (bench_format)format;
    }
    return 0;
}

/* Returns how many cases there are, and prints them with --list. */
static int count_cases(const arguments *a) {
    int count = 0;
    for (int i = 0; i < CASES; i++) {
        if (!is_wanted(a, &cases[i])) continue;
        count++;
        if (a->list)
            printf("%-22s %-5s %s\n", cases[i].op, tdm_dtype_name(cases[i].dtype), cases[i].shape);
    }
    return count;
}

/* One case on all ranks; false where it is not verified. */
static bool run_case(group *g, const machines_case *c, bench_row *row) {
    const machines_kind *kind = c->kind;
    work w = {.op = c->op,
              .shape = c->shape,
              .dtype = c->dtype,
              .weak = strstr(c->op, "+weak"),
              .state = calloc(1, kind->state_size),
              .call = kind->call,
              .check = kind->check};
    if (kind->alone) w.plain_name = one_process_name(w.weak);
    const bool prepared = w.state && kind->prepare(g, &w);
    if (!prepared) fprintf(stderr, "tdm bench: rank %d: %s\n", g->rank, tdm_last_error());
    const bool ready = group_all(g, prepared), good = ready && group_measure(g, &w, row);
    if (w.state) kind->destroy(w.state);
    free(w.state);
    if (tdm_device_trim(g->device) != TDM_OK) fprintf(stderr, "tdm bench: %s\n", tdm_last_error());
    if (!ready && g->rank == 0)
        fprintf(stderr, "tdm bench: %s %s: not prepared\n", c->op, c->shape);
    if (ready && !good && g->rank == 0)
        fprintf(stderr, "tdm bench: %s %s: %s\n", c->op, c->shape, row->problem);
    return good;
}

/* The numbers of ranks with which each case runs, from words between commas; NULL is that of all. How many; 0 with a
 * message on rank 0. */
static int read_ranks(const group *g, const char *words, int ranks[MOST_RANKS]) {
    int count = 0;
    for (const char *at = words; at && *at && count < MOST_RANKS; at += strspn(at, ",")) {
        char *end;
        const long n = strtol(at, &end, 10);
        if (n < 1 || n > g->size || (*end && *end != ',')) {
            if (g->rank == 0)
                fprintf(stderr, "tdm bench: --ranks '%s': these are 1 to %d, between commas\n",
                        words, g->size);
            return 0;
        }
        ranks[count++] = (int)n;
        at = end;
    }
    if (count == 0) ranks[count++] = g->size;
    return count;
}

/* The rows of a run, on rank 0. */
typedef struct results {
    bench_output output;
    bench_row *rows;
    size_t count, wrong;
} results;

/* The cases on the ranks of a group. */
static void run_group(group *g, const arguments *a, results *r) {
    for (int i = 0; i < CASES; i++) {
        if (!is_wanted(a, &cases[i])) continue;
        if (g->size == 1 && cases[i].kind == &machines_collectives) continue;
        bench_row *row = &r->rows[r->count];
        const bool good = run_case(g, &cases[i], row);
        r->wrong += !good;
        if (!row->device) continue; /* it was not prepared */
        if (g->rank == 0) bench_output_row(&r->output, row);
        fflush(stdout);
        r->count++;
    }
}

static void describe_mpi(json_t *described) {
    char text[MPI_MAX_LIBRARY_VERSION_STRING];
    int length = 0;
    MPI_Get_library_version(text, &length);
    text[strcspn(text, ",\n")] = '\0';
    for (char *tab = strchr(text, '\t'); tab; tab = strchr(tab, '\t'))
        *tab = ' ';
    json_object_set_new(described, "mpi", json_string(text));
}

static bool write_reports(const group *g, const arguments *a, const results *r, double start) {
    char counts[96];
    json_t *described = bench_describe_machine();
    json_object_set_new(described, "profile", json_string("machines"));
    json_object_set_new(described, "ranks", json_integer(g->size));
    json_object_set_new(described, "libraries", bench_describe_libraries());
    describe_mpi(described);
    const bench_results all = {described, NULL, 0, r->rows, r->count};
    snprintf(counts, sizeof counts, "%zu rows, %zu not verified, %.0f s", r->count, r->wrong,
             bench_now() - start);
    bench_output_end(&r->output, counts, &all);
    bool written = !a->json || bench_write_json(a->json, &all);
    if (a->html) written = bench_write_html(a->html, &all) && written;
    json_decref(described);
    return written;
}

static int run(group *g, const arguments *a) {
    char machine[512], about[768];
    int ranks[MOST_RANKS];
    const double start = bench_now();
    const int parts = read_ranks(g, a->ranks, ranks);
    if (parts == 0) return 2;
    results r = {.rows = calloc((size_t)(CASES * parts), sizeof *r.rows)};
    if (!group_all(g, r.rows)) return 1;
    snprintf(about, sizeof about, "%s; Tandem %s, profile machines, %d ranks",
             bench_machine_line(machine, sizeof machine), tdm_version(), g->size);
    if (g->rank == 0) {
        bench_output_begin(&r.output, a->format, a->wide ? 0 : 120, about);
        bench_output_head(&r.output, &(bench_longest){12, 21, 14});
    }
    bool good = true;
    for (int i = 0; good && i < parts; i++) {
        group part;
        good = group_open_part(g, ranks[i], &part);
        if (good && part.comm) run_group(&part, a, &r);
        group_meet(g);
        group_close_part(&part);
    }
    if (g->rank == 0) good = write_reports(g, a, &r, start) && good && r.wrong == 0 && r.count > 0;
    free(r.rows);
    return group_all(g, good) ? 0 : 1;
}

int main(int argc, char **argv) {
    arguments a = {0};
    group g;
    if (argc > 1 && strcmp(argv[1], "--one-process") == 0)
        return one_process_run(argc - 2, argv + 2);
    int status = read_arguments(argc, argv, &a);
    if (status == 0 && count_cases(&a) == 0) {
        fputs(
            "tdm bench: no case of the profile machines matches the selection; --list shows them\n",
            stderr);
        status = 2;
    }
    if (status != 0 || a.list) return status;
    MPI_Init(&argc, &argv);
    status = group_open(&g, a.device, argv[0]) ? run(&g, &a) : 1;
    group_close(&g);
    MPI_Finalize();
    return status;
}

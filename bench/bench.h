/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* The benchmark, as the program `tdm` calls it. Each row is verified against a float64
 * reference, and timed beside a baseline in the same run. README.md says how. */
#ifndef BENCH_H
#define BENCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <tandem/tandem.h>

#define BENCH_MAX_WORDS 64

/* A list of words; 0 words select everything. */
typedef struct bench_words {
    const char *word[BENCH_MAX_WORDS];
    size_t count;
} bench_words;

typedef enum bench_profile { BENCH_QUICK, BENCH_FULL, BENCH_LESSON } bench_profile;

/* How the rows are printed to stdout. */
typedef enum bench_format {
    BENCH_TABLE,
    BENCH_MD, /* a table of Markdown */
    BENCH_CSV,
    BENCH_JSON,
    BENCH_JSONL /* a row a line, as it is measured */
} bench_format;

typedef struct bench_options {
    bench_words devices; /* names; none: every listed device that is not a card listed before */
    bench_words ops;     /* "bias_add" selects its variants too, "bias_add+gelu" one of them */
    bench_words dtypes;
    bench_words shapes;
    bench_profile profile;
    uint64_t seed; /* of the inputs and of the rows that are verified */
    bench_format format;
    int width;             /* of BENCH_TABLE, in columns; 0: no limit */
    bool peaks;            /* first what each device can do at best */
    bool no_rows;          /* and nothing else */
    const char *json_path; /* or NULL */
    const char *html_path; /* or NULL */
    const char *pytorch;   /* a Python that has PyTorch, to time beside; or NULL */
} bench_options;

/* "quick", "full", "lesson". */
const char *bench_profile_name(bench_profile profile);

/* Can a page be written to this path later? Leaves no file behind. When not, why (of at least 256
 * bytes) says what is wrong. */
bool bench_can_write_html(const char *path, char *why);

/* Is gnuplot there, which draws the page's plots? When not, why says what to install. */
bool bench_has_gnuplot(char *why);

/* Does this Python have PyTorch? When not, why says what it answered. */
bool bench_has_pytorch(const char *python, char *why);

/* Valid words of --op, NULL-terminated: every op, with and without its variant. */
const char *const *bench_op_names(void);

/* Does the selection have a case? True as well when memory is short, which bench_run reports. */
bool bench_selects(const bench_options *options);

/* Prints the selected cases, one a line, without running them. */
void bench_list(const bench_options *options);

/* Runs the selected cases on the selected devices: the table to stdout, progress and failures to
 * stderr. True when every row is verified, and there was at least one, or no case applied to the
 * devices (f64 on one without it). */
bool bench_run(const bench_options *options);

typedef struct bench_comparison {
    const char *before, *after; /* files that bench_run wrote */
    double threshold;           /* the smallest change of a median that is told: 0.03 is 3 % */
    double significance;        /* the probability with which chance alone may name a row */
    bool all;                   /* rows that did not change too */
    int width;                  /* of the page, in columns; 0: no limit */
} bench_comparison;

typedef enum bench_compared { BENCH_NOT_SLOWER, BENCH_SLOWER, BENCH_UNCOMPARABLE } bench_compared;

/* Prints what changed from one run to another; BENCH_SLOWER when a row became slower. When the
 * files cannot be compared it has said why on stderr. */
bench_compared bench_compare(const bench_comparison *wanted);

#endif

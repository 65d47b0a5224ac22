/* The benchmark, as the program `tandem` calls it. Each row is verified against a float64
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

typedef struct bench_options {
    bench_words devices; /* names; none: every listed device that is not a card listed before */
    bench_words ops;     /* "bias_add" selects its variants too, "bias_add+gelu" one of them */
    bench_words dtypes;
    bench_words shapes;
    bool full;             /* profile full, else quick */
    uint64_t seed;         /* of the inputs and of the rows that are verified */
    const char *json_path; /* or NULL */
} bench_options;

/* Valid words of --op, NULL-terminated: every op, with and without its variant. */
const char *const *bench_op_names(void);

/* Does the selection have a case? True as well when memory is short, which bench_run reports. */
bool bench_selects(const bench_options *options);

/* Prints the selected cases, one a line, without running them. */
void bench_list(const bench_options *options);

/* Runs the selected cases on the selected devices: the table to stdout, progress and failures to
 * stderr. True when there was at least one row and every row is verified. */
bool bench_run(const bench_options *options);

#endif

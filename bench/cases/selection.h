/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* Which cases are wanted, in the words of the command line. */
#ifndef BENCH_SELECTION_H
#define BENCH_SELECTION_H

#include <stdbool.h>
#include <stddef.h>

#define BENCH_MAX_WORDS 64

/* A list of words; 0 words select everything. */
typedef struct bench_words {
    const char *word[BENCH_MAX_WORDS];
    size_t count;
} bench_words;

typedef enum bench_profile {
    BENCH_QUICK,
    BENCH_FULL,
    BENCH_LESSON,
    BENCH_ROWS,
    BENCH_GPU,
    BENCH_SENTENCES
} bench_profile;

typedef struct bench_selection {
    bench_profile profile;
    bench_words ops; /* "bias_add" selects its variants too, "bias_add+gelu" one of them */
    bench_words dtypes;
    bench_words shapes;
} bench_selection;

/* "quick", "full", "lesson", "rows", "gpu", "sentences". */
const char *bench_profile_name(bench_profile profile);

/* Valid words of --op, NULL-terminated: every op, with and without its variant. */
const char *const *bench_op_names(void);

/* Does the selection have a case? True as well when memory is short, which bench_run reports. */
bool bench_selects(const bench_selection *selection);

/* Prints the selected cases, one a line, without running them. */
void bench_list(const bench_selection *selection);

#endif

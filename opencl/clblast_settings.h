/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* Parameters of CLBlast's kernels for products: what there is to choose from, and a search. */
#ifndef TDMI_CLBLAST_SETTINGS_H
#define TDMI_CLBLAST_SETTINGS_H

#include "backend.h"

/* CLBlast has two kernels: one for large products, which wants its matrices padded and in its own order,
 * and is given copies that are; and a direct one for small products. */
typedef enum tdmi_clblast_kernel { TDMI_CLBLAST_INDIRECT, TDMI_CLBLAST_DIRECT } tdmi_clblast_kernel;

enum {
    TDMI_CLBLAST_KERNELS = 2,
    TDMI_CLBLAST_CHOICES = 8,
    TDMI_CLBLAST_PARAMETERS = 16,
    TDMI_CLBLAST_TEXT = 512
};

/* Of a device, for elements of one size. */
typedef struct tdmi_clblast_limits {
    size_t group;        /* work-items */
    size_t local_memory; /* bytes */
    size_t element;      /* bytes */
    bool cpu;
} tdmi_clblast_limits;

/* For a dtype on a device. Sizes are cube roots of m * n * k. */
typedef struct tdmi_clblast_settings {
    bool searched[TDMI_CLBLAST_KERNELS]; /* to the end */
    bool found
        [TDMI_CLBLAST_KERNELS]; /* something faster than CLBlast's own, which are used otherwise */
    int choice[TDMI_CLBLAST_KERNELS][TDMI_CLBLAST_CHOICES];
    int direct_wins; /* the largest product for which the direct kernel was the faster one; 0: none */
    int indirect_wins; /* the smallest for which the other was; 0: none */
} tdmi_clblast_settings;

/* A kernel's parameters as CLBlast takes them. */
typedef struct tdmi_clblast_parameters {
    const char *kernel;
    size_t count;
    const char *names[TDMI_CLBLAST_PARAMETERS];
    size_t values[TDMI_CLBLAST_PARAMETERS];
} tdmi_clblast_parameters;

tdmi_clblast_parameters tdmi_clblast_parameters_of(tdmi_clblast_kernel kernel, const int *choice);

/* The usual choice of the kernel for large products. */
const int *tdmi_clblast_usual(bool cpu);

/* From which size on products go to the kernel for large ones. */
tdmi_clblast_parameters tdmi_clblast_threshold(size_t size);

/* The threshold that settings amount to. */
size_t tdmi_clblast_size_of(const tdmi_clblast_settings *settings);

/* Can a device with these limits have it, and does CLBlast take it? */
bool tdmi_clblast_fits(const tdmi_clblast_limits *limits, tdmi_clblast_kernel kernel,
                       const int *choice);

/* The search's questions to its caller: how long a product takes with the kernel's parameters so chosen, below 0
 * when it does not run or is wrong; and whether to end. It reports each choice that is faster than any
 * before. */
typedef struct tdmi_clblast_search {
    double (*seconds)(void *context, tdmi_clblast_kernel kernel, const int *choice);
    bool (*time_is_up)(void *context);
    void (*better)(void *context, tdmi_clblast_kernel kernel, const int *choice, double seconds);
    void *context;
    tdmi_clblast_limits limits;
} tdmi_clblast_search;

/* Looks for the fastest choice, from `first` on, which may be NULL. True when it came to its end. */
bool tdmi_clblast_find(const tdmi_clblast_search *search, tdmi_clblast_kernel kernel,
                       const int *first);

/* As text, and back: false for what is no such text, or no choice that a device with these limits has. */
void tdmi_clblast_write(const tdmi_clblast_settings *settings, char text[TDMI_CLBLAST_TEXT]);
bool tdmi_clblast_read(const char *text, const tdmi_clblast_limits *limits,
                       tdmi_clblast_settings *settings);

#endif

/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
#include "tags.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const list[] = {
    "device",   /* may depend on which device of a driver it is */
    "driver",   /* of these, what depends on the driver most: memory, queues, events, copies */
    "kernels",  /* numbers in every dtype: for one thread, and for other instruction sets */
    "rows",     /* operations on rows, which an OpenCL CPU does by one lane */
    "lanes",    /* every kernel that lanes share, for a simulator that runs each of them */
    "few",      /* one or two tests of each kernel, for an interpreter */
    "kinds",    /* one test of each kind of kernel, for another compiler and for small devices */
    "compiler", /* needs a C compiler at run time on cpu */
    "compiled", /* these, and what a compiled kernel does in other ways than one in blocks */
    "texts",    /* of the code that is made of texts, and hardly of the library */
};
enum { TAG_COUNT = sizeof list / sizeof *list };

/* The tags of a text, by their numbers in the list; `wanted` says whether those with or without a ! are meant. */
static unsigned tags_of(const char *text, bool wanted) {
    unsigned found = 0;
    while (text && *(text += strspn(text, " "))) {
        const size_t length = strcspn(text, " ");
        const bool negated = *text == '!';
        int i = 0;
        while (i < TAG_COUNT && (strlen(list[i]) != length - negated ||
                                 strncmp(list[i], text + negated, length - negated) != 0))
            i++;
        if (i == TAG_COUNT) {
            fprintf(stderr, "tests: there is no tag '%.*s'\n", (int)length, text);
            exit(2);
        }
        if (negated != wanted) found |= 1u << i;
        text += length;
    }
    return found;
}

bool tags_choose(const char *of_suite, const char *of_test) {
    const char *const asked = getenv("TDM_TEST_TAGS");
    const unsigned has = tags_of(of_suite, true) | tags_of(of_test, true);
    const unsigned wanted = tags_of(asked, true), unwanted = tags_of(asked, false);
    return (wanted == 0 || (has & wanted)) && !(has & unwanted);
}

#ifndef PLAIN_CRITERION_H
#include <criterion/hooks.h>
#include <criterion/internal/ordered-set.h>

ReportHook(PRE_ALL)(struct criterion_test_set *all) {
    FOREACH_SET(struct criterion_suite_set * set, all->suites) {
        const struct criterion_test_extra_data *const suite = set->suite.data;
        if (!set->tests) continue;
        FOREACH_SET(struct criterion_test * test, set->tests) {
            if (!tags_choose(suite ? suite->description : NULL, test->data->description))
                test->data->disabled = true;
        }
    }
}
#endif

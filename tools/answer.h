/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* A child's answer to the program that started it: lines of words separated by tabs, in which '\\'
 * and newlines are escaped and no other control byte occurs.
 *
 *   tandem-answer 1                                  first
 *   step      WHAT                                   what the child does from here on
 *   item      KIND STATE SUBJECT DETAIL ADVICE       a diagnostic; KIND is its number
 *   device    ID NAME PLATFORM API DRIVER PCI        a listed device
 *   default   ID NAME                                the default device, when there is one
 *   result    STATE DETAIL                           of a device that was tried
 *   end                                              last */
#ifndef ANSWER_H
#define ANSWER_H

#include "child.h"
#include "findings.h"

typedef struct answer_device {
    const char *id, *name, *platform, *api, *driver, *pci;
} answer_device;

/* The texts are borrowed from the child's result, which is kept in it. */
typedef struct answer {
    child_result child;
    bool whole;    /* understood from its first line to "end", and the child exited with 0 */
    char why[512]; /* else: how the child failed, at what step, and its last words */
    finding *items;
    size_t item_count;
    answer_device *devices;
    size_t device_count;
    answer_device chosen; /* id and name of the default device; id "" when there is none */
    finding_state result;
    const char *detail; /* NULL when nothing was tried */
} answer;

/* The child's side: each writes one line at once. */
void answer_begin(void);
void answer_step(const char *what);
void answer_line(const char *word, const char *const *texts);

/* The other side: runs `tdm .child COMMAND [DEVICE]` as child_run does and reads what it answers. Free with
 * answer_free. */
void answer_ask(const char *command, const char *device, const char *const *changes, double seconds,
                answer *out);
void answer_free(answer *out);

#endif

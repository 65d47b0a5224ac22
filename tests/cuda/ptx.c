/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* PTX of an entry, as NVRTC writes it: a line for each instruction, a predicate before some, labels on
 * separate lines.
 *
 *   .visible .entry tdm_softmax(
 *   ...
 *   {
 *       @%p5 bra    $L__BB0_6;
 *       ld.global.v4.u32    {%r41, %r42, %r43, %r44}, [%rd14];
 *   $L__BB0_6:
 *       st.global.cs.v2.f64 [%rd21], {%fd1, %fd2};
 *   } */
#include "ptx.h"

#include <stdio.h>
#include <string.h>

enum { MOST_LABELS = 4096 };

typedef struct label {
    const char *name;
    size_t length;
} label;

typedef struct reader {
    ptx_report *report;
    int waiting;          /* wide loads since the lane last had to wait */
    int elements_waiting; /* others; storing to shared memory waits for them, too */
    label labels[MOST_LABELS];
    int label_count;
} reader;

/* Of an instruction up to its operands: does it move 128 bits? */
static bool is_wide(const char *instruction) {
    const size_t length = strcspn(instruction, " \t\n");
    for (size_t i = 0; i + 7 <= length; i++) {
        const char *at = instruction + i;
        if (begins(at, ".v4.") && begins(at + 5, "32")) return true;
        if (begins(at, ".v2.") && begins(at + 5, "64")) return true;
    }
    return false;
}

static bool is_seen(const reader *r, const char *name, size_t length) {
    for (int i = 0; i < r->label_count; i++)
        if (r->labels[i].length == length && memcmp(r->labels[i].name, name, length) == 0)
            return true;
    return false;
}

/* False: more labels than there is room for. */
static bool read_line(reader *r, const char *line) {
    const char *at = line + strspn(line, " \t");
    const size_t word = strcspn(at, " \t\n:;");
    if (*at == '$' && at[word] == ':') {
        if (r->label_count == MOST_LABELS) return false;
        r->labels[r->label_count++] = (label){at, word};
        return true;
    }
    if (*at == '@') at += word + strspn(at + word, " \t");
    if (begins(at, "ld.global")) {
        const bool wide = is_wide(at);
        *(wide ? &r->report->wide_loads : &r->report->loads) += 1;
        if (wide && ++r->waiting > r->report->in_flight) r->report->in_flight = r->waiting;
        if (!wide && ++r->elements_waiting > r->report->elements_in_flight)
            r->report->elements_in_flight = r->elements_waiting;
    } else if (begins(at, "st.global")) {
        *(is_wide(at) ? &r->report->wide_stores : &r->report->stores) += 1;
        r->waiting = r->elements_waiting = 0;
    } else if (begins(at, "mma.sync")) {
        r->report->products++;
    } else if (begins(at, "ldmatrix")) {
        r->report->matrices++;
    } else if (begins(at, "cp.async.cg")) {
        r->report->copies++;
    } else if (begins(at, "st.shared")) {
        r->elements_waiting = 0;
    } else if (begins(at, "bar.") || begins(at, "barrier.") || begins(at, "shfl.")) {
        r->waiting = r->elements_waiting = 0;
    } else if (begins(at, "bra")) {
        at += strcspn(at, " \t\n");
        at += strspn(at, " \t");
        if (is_seen(r, at, strcspn(at, " \t\n;"))) r->waiting = r->elements_waiting = 0;
    }
    return true;
}

bool ptx_report_of(const char *ptx, const char *entry, ptx_report *report) {
    char head[160];
    static const char closing[] = "}\n";
    *report = (ptx_report){0};
    if (snprintf(head, sizeof head, ".entry %s(", entry) >= (int)sizeof head) return false;
    const char *at = strstr(ptx, head);
    if (!at || strstr(at + 1, head)) return false;
    const char *line = strstr(at, "\n{");
    if (!line) return false;
    reader r = {.report = report};
    for (line = line_after(line + 1); *line; line = line_after(line)) {
        if (begins(line, closing)) return true;
        if (!read_line(&r, line)) return false;
    }
    return false;
}

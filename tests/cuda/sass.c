/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* Machine code as nvdisasm writes it: a section for each entry, a line for each instruction, with its place in a
 * comment, for which "0150" stands here.
 *
 *           .section    .text.tdm_softmax,"ax",@progbits
 *   .text.tdm_softmax:
 *           0150               @!P0 LDG.E.128 R8, desc[UR4][R2.64] ;
 *   .L_x_3:
 *           0340                   STG.E.EF.128 desc[UR4][R4.64], R8 ; */
#include "sass.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char *disassembler(void) {
    const char *named = getenv("TDM_TEST_NVDISASM");
    return named ? named : "nvdisasm";
}

bool sass_is_there(void) {
    char command[1100];
    snprintf(command, sizeof command, "'%s' --version >/dev/null 2>&1", disassembler());
    return system(command) == 0;
}

static char *read_all(FILE *from) {
    size_t room = 1 << 16, length = 0, got;
    char *text = malloc(room);
    while (text && (got = fread(text + length, 1, room - length - 1, from)) > 0) {
        length += got;
        if (room - length > 1) continue;
        char *grown = realloc(text, room *= 2);
        if (!grown) free(text);
        text = grown;
    }
    if (text) text[length] = '\0';
    return text;
}

static char *disassemble(const char *path) {
    char command[1300];
    snprintf(command, sizeof command, "'%s' -c '%s' 2>/dev/null", disassembler(), path);
    FILE *from = popen(command, "r");
    char *text = from ? read_all(from) : NULL;
    if (from && pclose(from) != 0) {
        free(text);
        text = NULL;
    }
    return text;
}

char *sass_of(const void *cubin, size_t size) {
    char path[1100];
    const char *folder = getenv("TMPDIR");
    snprintf(path, sizeof path, "%s/tandem-sass-XXXXXX", folder ? folder : "/tmp");
    const int file = mkstemp(path);
    if (file < 0) return NULL;
    const bool written = write(file, cubin, size) == (ssize_t)size;
    char *text = close(file) == 0 && written ? disassemble(path) : NULL;
    unlink(path);
    return text;
}

/* Does an instruction, up to its operands, move 128 bits? */
static bool is_wide(const char *instruction) {
    const char *width = strstr(instruction, ".128");
    return width && width < instruction + strcspn(instruction, " ;\n");
}

/* The instruction of a line, after its place and its predicate; NULL when there is none. */
static const char *instruction_of(const char *line, bool *has_predicate) {
    static const char comment_end[] = "*/";
    const char *end = line + strcspn(line, "\n"), *at = strstr(line, comment_end);
    if (!at || at > end) return NULL;
    at += strlen(comment_end);
    at += strspn(at, " \t");
    *has_predicate = *at == '@';
    if (*has_predicate) {
        at += strcspn(at, " \t\n");
        at += strspn(at, " \t");
    }
    return at;
}

static void read_line(const char *line, ptx_report *report) {
    bool has_predicate;
    const char *at = instruction_of(line, &has_predicate);
    if (!at) return;
    if (begins(at, "LDG")) *(is_wide(at) ? &report->wide_loads : &report->loads) += 1;
    if (begins(at, "HMMA")) report->products++;
    if (begins(at, "LDSM")) report->matrices++;
    if (begins(at, "LDGSTS")) report->copies++;
    if (begins(at, "STG")) *(is_wide(at) ? &report->wide_stores : &report->stores) += 1;
}

/* The first line of an entry's text, and the next one; NULL after the last. */
static const char *first_line(const char *sass, const char *entry) {
    char head[160];
    if (snprintf(head, sizeof head, "\n.text.%s:", entry) >= (int)sizeof head) return NULL;
    const char *at = strstr(sass, head);
    return at ? at + 1 : NULL;
}

static const char *next_line(const char *line) {
    const char *at = strchr(line, '\n');
    if (!at) return NULL;
    at++;
    return begins(at, ".text.") || begins(at + strspn(at, " \t"), ".section") ? NULL : at;
}

bool sass_report_of(const char *sass, const char *entry, ptx_report *report) {
    *report = (ptx_report){0};
    const char *line = first_line(sass, entry);
    for (const char *at = line; at; at = next_line(at))
        read_line(at, report);
    return line;
}

/* ---- the shortest way ---- */

enum { MOST_INSTRUCTIONS = 16384, MOST_LABELS = 4096, MOST_STORES = 16 };

/* An instruction, and where it may go on: at the next, and at a label. */
typedef struct step {
    bool is_store, goes_on, ends;
    int label; /* -1: none */
} step;

typedef struct way {
    int count;
    step steps[MOST_INSTRUCTIONS];
    int labels[MOST_LABELS]; /* the instruction after each */
    int queue[MOST_INSTRUCTIONS * (MOST_STORES + 1)];
    bool reached[MOST_INSTRUCTIONS][MOST_STORES + 1];
} way;

/* The number in ".L_x_12" before the end of the line; -1 when there is none. */
static int label_in(const char *line) {
    static const char beginning[] = ".L_x_";
    const char *at = strstr(line, beginning);
    if (!at || at > line + strcspn(line, "\n")) return -1;
    const long number = strtol(at + strlen(beginning), NULL, 10);
    return number < MOST_LABELS ? (int)number : -1;
}

/* Slow ways of divisions and roots are calls, which return to the next instruction. */
static bool read_steps(way *w, const char *line) {
    for (; line; line = next_line(line)) {
        bool conditional;
        if (begins(line, ".L_x_") && label_in(line) >= 0) w->labels[label_in(line)] = w->count;
        const char *at = instruction_of(line, &conditional);
        if (!at) continue;
        if (w->count == MOST_INSTRUCTIONS) return false;
        step *s = &w->steps[w->count++];
        const bool branches = begins(at, "BRA"), exits = begins(at, "EXIT");
        /* a predicate may be an operand, too: BRA P1, `(.L_x_3) */
        conditional = conditional || (branches && strcspn(at, ",") < strcspn(at, ";\n"));
        s->is_store = begins(at, "STG") && is_wide(at);
        s->ends = exits;
        s->goes_on = conditional || !(branches || exits || begins(at, "RET"));
        s->label = branches ? label_in(at) : -1;
    }
    return w->count > 0;
}

/* Breadth first over instructions and how many stores were met. */
static int search(way *w, int stores) {
    int next = 0, end = 0, length = 1, of_length = 1;
    w->queue[end++] = 0;
    w->reached[0][0] = true;
    while (next < end) {
        const int from = w->queue[next++], at = from / (MOST_STORES + 1);
        const step *s = &w->steps[at];
        int met = from % (MOST_STORES + 1);
        if (s->ends && met == stores) return length;
        if (s->is_store && met < stores) met++;
        const int to[2] = {s->goes_on ? at + 1 : -1, s->label >= 0 ? w->labels[s->label] : -1};
        for (int i = 0; i < 2; i++) {
            if (to[i] < 0 || to[i] >= w->count || w->reached[to[i]][met]) continue;
            w->reached[to[i]][met] = true;
            w->queue[end++] = to[i] * (MOST_STORES + 1) + met;
        }
        if (--of_length == 0) {
            length++;
            of_length = end - next;
        }
    }
    return 0;
}

int sass_shortest(const char *sass, const char *entry, int stores) {
    if (stores > MOST_STORES) return 0;
    way *w = calloc(1, sizeof *w);
    if (!w) abort();
    const int length = read_steps(w, first_line(sass, entry)) ? search(w, stores) : 0;
    free(w);
    return length;
}

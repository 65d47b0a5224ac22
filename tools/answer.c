/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* The lines that a child answers with: writing them, and reading them without trusting the child. */
#include "answer.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_WORDS = 8, LONGEST_LINE = 16384 };

static const char first_line[] = "tandem-answer 1";
static const char states[] = "omb"; /* in the order of finding_state */

/* --- the child's side ------------------------------------------------------------------------- */

static void write_all(const char *bytes, size_t size) {
    if (tdmi_file_write(tdmi_child_answer(), bytes, size) != size)
        _Exit(1); /* the parent has ended */
}

void answer_begin(void) {
    write_all(first_line, strlen(first_line));
    write_all("\n", 1);
}

void answer_line(const char *word, const char *const *texts) {
    char line[LONGEST_LINE];
    size_t n = (size_t)snprintf(line, sizeof line, "%s", word);
    for (; texts && *texts; texts++) {
        line[n++] = '\t';
        for (const char *c = *texts; *c && n < sizeof line - MOST_WORDS * 2; c++) {
            if (*c == '\n' || *c == '\\') line[n++] = '\\';
            line[n++] = *c == '\n' ? 'n' : (unsigned char)*c < ' ' || *c == 0x7f ? '?' : *c;
        }
    }
    line[n++] = '\n';
    write_all(line, n);
}

void answer_step(const char *what) {
    const char *texts[] = {what, NULL};
    answer_line("step", texts);
}

/* --- the other side --------------------------------------------------------------------------- */

/* Takes the escapes back, in place; false for what no child writes. */
static bool unescape(char *word) {
    char *to = word;
    for (const char *from = word; *from; from++) {
        if ((unsigned char)*from < ' ' || *from == 0x7f) return false;
        char c = *from;
        if (c == '\\') {
            c = *++from;
            if (c != 'n' && c != '\\') return false;
            if (c == 'n') c = '\n';
        }
        *to++ = c;
    }
    *to = '\0';
    return true;
}

/* Cuts a line at its tabs, in place; the number of words, or -1. */
static int cut(char *line, char **words) {
    for (int count = 0; count < MOST_WORDS;) {
        char *tab = strchr(line, '\t');
        if (tab) *tab = '\0';
        words[count++] = line;
        if (!unescape(line)) return -1;
        if (!tab) return count;
        line = tab + 1;
    }
    return -1;
}

static bool read_state(const char *word, finding_state *state) {
    const char *at = word[0] ? strchr(states, word[0]) : NULL;
    if (!at || word[1]) return false;
    *state = (finding_state)(at - states);
    return true;
}

static bool add_item(answer *out, char **words) {
    finding item = {TDM_DIAGNOSTIC_VARIABLE, FINDING_OK, words[3], words[4], words[5]};
    if (words[1][0] < '0' || words[1][0] > '0' + TDM_DIAGNOSTIC_SELECTION || words[1][1])
        return false;
    item.kind = (tdm_diagnostic_kind)(words[1][0] - '0');
    if (!read_state(words[2], &item.state)) return false;
    finding *grown = realloc(out->items, (out->item_count + 1) * sizeof *grown);
    if (!grown) return false;
    out->items = grown;
    out->items[out->item_count++] = item;
    return true;
}

static bool add_device(answer *out, char **words) {
    answer_device *grown = realloc(out->devices, (out->device_count + 1) * sizeof *grown);
    if (!grown) return false;
    out->devices = grown;
    out->devices[out->device_count++] =
        (answer_device){words[1], words[2], words[3], words[4], words[5], words[6]};
    return true;
}

/* One line between the first and "end"; *step follows the steps. */
static bool take_line(answer *out, char *line, const char **step) {
    char *words[MOST_WORDS];
    int count = cut(line, words);
    if (count == 2 && strcmp(words[0], "step") == 0) {
        *step = words[1];
        return true;
    }
    if (count == 6 && strcmp(words[0], "item") == 0) return add_item(out, words);
    if (count == 7 && strcmp(words[0], "device") == 0) return add_device(out, words);
    if (count == 3 && strcmp(words[0], "default") == 0) {
        out->chosen.id = words[1];
        out->chosen.name = words[2];
        return true;
    }
    if (count != 3 || strcmp(words[0], "result") != 0) return false;
    out->detail = words[2];
    return read_state(words[1], &out->result);
}

static void explain(answer *out, const char *how, const char *step) {
    const char *words = out->child.last_words;
    snprintf(out->why, sizeof out->why, "%s%s%s%s%s%s", how, *step ? " while " : "", step,
             *words ? "; its last words: \"" : "", words, *words ? "\"" : "");
}

static void read_answer(answer *out) {
    const char *step = "";
    bool started = false, ended = false;
    char how[128], *line = out->child.answer;
    for (char *end; line && (end = strchr(line, '\n')); line = end + 1) {
        *end = '\0';
        bool good = !ended;
        if (!started)
            started = good = strcmp(line, first_line) == 0;
        else if (good && strcmp(line, "end") == 0)
            ended = true;
        else
            good = good && take_line(out, line, &step);
        if (good) continue;
        explain(out, "answered what is not understood", step);
        return;
    }
    if (ended && !*line && out->child.end == CHILD_EXITED && out->child.code == 0) {
        out->whole = true;
        return;
    }
    child_describe(&out->child, how, sizeof how);
    explain(out, how, ended ? "its process ended" : step);
}

void answer_ask(const char *command, const char *device, const char *const *changes, double seconds,
                answer *out) {
    const char *const arguments[] = {".child", command, device, NULL};
    *out = (answer){.chosen = {.id = "", .name = ""}};
    child_run(arguments, changes, seconds, &out->child);
    read_answer(out);
}

void answer_free(answer *out) {
    free(out->child.answer);
    free(out->items);
    free(out->devices);
    *out = (answer){0};
}

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

static bool begins(const char *text, const char *beginning) {
    return strncmp(text, beginning, strlen(beginning)) == 0;
}

/* Does an instruction, up to its operands, move 128 bits? */
static bool is_wide(const char *instruction) {
    const char *width = strstr(instruction, ".128");
    return width && width < instruction + strcspn(instruction, " ;\n");
}

static void read_line(const char *line, ptx_report *report) {
    static const char comment_end[] = "*/";
    const char *end = line + strcspn(line, "\n"), *at = strstr(line, comment_end);
    if (!at || at > end) return;
    at += strlen(comment_end);
    at += strspn(at, " \t");
    if (*at == '@') {
        at += strcspn(at, " \t\n");
        at += strspn(at, " \t");
    }
    if (begins(at, "LDG")) *(is_wide(at) ? &report->wide_loads : &report->loads) += 1;
    if (begins(at, "HMMA")) report->products++;
    if (begins(at, "LDSM")) report->matrices++;
    if (begins(at, "LDGSTS")) report->copies++;
    if (begins(at, "STG")) *(is_wide(at) ? &report->wide_stores : &report->stores) += 1;
}

bool sass_report_of(const char *sass, const char *entry, ptx_report *report) {
    char head[160];
    *report = (ptx_report){0};
    if (snprintf(head, sizeof head, "\n.text.%s:", entry) >= (int)sizeof head) return false;
    const char *at = strstr(sass, head);
    if (!at) return false;
    for (at = strchr(at + 1, '\n'); at && !begins(at, "\n.text."); at = strchr(at, '\n')) {
        at++;
        if (begins(at + strspn(at, " \t"), ".section")) break;
        read_line(at, report);
    }
    return true;
}

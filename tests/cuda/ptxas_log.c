/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* The lines of an entry, as ptxas of CUDA 12 and 13 writes them:
 *
 *   ptxas info    : Compiling entry function 'tdm_softmax' for 'sm_90'
 *   ptxas info    : Function properties for tdm_softmax
 *   ptxas         .     16 bytes stack frame, 24 bytes spill stores, 24 bytes spill loads
 *   ptxas info    : Used 48 registers, used 1 barriers, 16 bytes cumulative stack size, 4096 bytes
 * smem
 *
 * A function that was not inlined has separate properties among them. */
#include "ptxas_log.h"
#include "ptx.h"

#include <stdio.h>
#include <string.h>

static bool has(const char *line, const char *words) {
    const char *at = strstr(line, words);
    return at && at < line_after(line);
}

/* The number before `unit` on this line; 0 without the unit. */
static int amount(const char *line, const char *unit) {
    const char *at = strstr(line, unit);
    if (!at || at >= line_after(line)) return 0;
    while (at > line && at[-1] >= '0' && at[-1] <= '9')
        at--;
    int value = 0;
    return sscanf(at, "%d", &value) == 1 ? value : -1;
}

static void raise_to(int *most, int value) {
    if (value > *most) *most = value;
}

bool ptxas_report_of(const char *log, const char *entry, ptxas_report *report) {
    *report = (ptxas_report){0};
    char begin[160];
    if (snprintf(begin, sizeof begin, "Compiling entry function '%s' for ", entry) >=
        (int)sizeof begin)
        return false;
    int entries = 0, frames = 0, uses = 0;
    bool inside = false;
    for (const char *line = log; *line; line = line_after(line)) {
        char rest[64] = "";
        int stack, stores, loads, registers;
        if (has(line, "Compiling entry function")) {
            inside = has(line, begin);
            entries += inside;
        }
        const char *body = strpbrk(line, ".:\n");
        if (!inside || !body || *body == '\n') continue;
        if (sscanf(body + 1, " %d bytes stack frame, %d bytes spill stores, %d bytes spill %5s",
                   &stack, &stores, &loads, rest) == 4) {
            frames++;
            raise_to(&report->local, stack);
            raise_to(&report->local, stores);
            raise_to(&report->local, loads);
        } else if (sscanf(body + 1, " Used %d %10s", &registers, rest) == 2 &&
                   strncmp(rest, "registers", 9) == 0) {
            uses++;
            inside = false;
            report->registers = registers;
            report->shared = amount(line, " bytes smem");
            raise_to(&report->local, amount(line, " bytes cumulative stack size"));
            raise_to(&report->local, amount(line, " bytes lmem"));
        }
    }
    return entries == 1 && frames >= 1 && uses == 1 && report->registers > 0;
}

/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* PyTorch is timed by a script that Python reads from its standard input. */
#include "baselines/pytorch.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "machine/child.h"

/* pytorch_norms.py, embedded by the build. */
extern const char bench_pytorch_script[];

bool bench_has_pytorch(const char *python, char *why) {
    static const char script[] = "import torch\n";
    const char *const arguments[] = {python, "-", NULL};
    char *output = bench_run_child(arguments, script, sizeof script - 1, why, NULL);
    free(output);
    return output;
}

/* Timed anew for each row: a figure taken minutes ago would meet other disturbances. */
double bench_time_pytorch(const char *python, const char *form, const bench_shape *shape,
                          char *why) {
    char number[4][24];
    const int64_t size[4] = {shape->batch, shape->extent[0], shape->extent[1], shape->extent[2]};
    for (int i = 0; i < 4; i++)
        snprintf(number[i], sizeof number[i], "%lld", (long long)size[i]);
    const char *const arguments[] = {python,    "-",       form,      number[0],
                                     number[1], number[2], number[3], NULL};
    char *output =
        bench_run_child(arguments, bench_pytorch_script, strlen(bench_pytorch_script), why, NULL);
    double seconds = (double)NAN;
    if (output && sscanf(output, "%lf", &seconds) != 1)
        snprintf(why, BENCH_CHILD_WHY_SIZE, "%s did not answer with a time", python);
    free(output);
    return seconds;
}

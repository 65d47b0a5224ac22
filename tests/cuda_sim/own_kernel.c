/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
#include "own_kernel.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int count_buffers(const char *text) {
    const char *list = strstr(text, "#define TENSORS(X)"), *end = list ? strchr(list, '\n') : NULL;
    int count = 0;
    for (const char *at = list ? list + strlen("#define TENSORS(X)") : NULL;
         at && (at = strstr(at, " X(")) && at < end; at++)
        count++;
    return count;
}

static bool write_source(const sim_image *image, const char *path) {
    FILE *file = fopen(path, "w");
    if (!file) return false;
    fprintf(file,
            "#define TDMI_ISA own\n#define T_ID %d\n#define U_ID %d\n"
            "#include \"dialect_c.h\"\n#include \"dtypes.h\"\n#include \"lines.h\"\n"
            "#include \"numeric.h\"\n#include \"activation.h\"\n#include \"convert.h\"\n"
            "#include \"functions.h\"\n#include \"reduce.h\"\n#include \"fold.h\"\n%s",
            image->t, image->u, image->own);
    return fclose(file) == 0;
}

static bool compile(const char *source, const char *library) {
    char command[2048];
    snprintf(command, sizeof command,
             "'%s' -std=c11 -D_GNU_SOURCE -w -O1 -shared -fPIC -ffp-contract=fast -fopenmp-simd "
             "-I'%s/kernels' -I'%s/cpu' -I'%s/lib/include' -o '%s' '%s' -lm",
             SIM_CC, SIM_SOURCE, SIM_SOURCE, SIM_SOURCE, library, source);
    return system(command) == 0;
}

bool own_kernel_open(const sim_image *image, own_kernel *kernel) {
    char folder[512], source[576], library[576], entry[64];
    const char *where = getenv("TMPDIR");
    snprintf(folder, sizeof folder, "%s/cuda-sim-XXXXXX", where ? where : "/tmp");
    if (!mkdtemp(folder)) return false;
    snprintf(source, sizeof source, "%s/own.c", folder);
    snprintf(library, sizeof library, "%s/own.so", folder);
    snprintf(entry, sizeof entry, "tdmi_expression_%d_%d_own", image->t, image->u);
    if (write_source(image, source) && compile(source, library))
        kernel->library = dlopen(library, RTLD_NOW | RTLD_LOCAL);
    unlink(source);
    unlink(library);
    rmdir(folder);
    void *found = kernel->library ? dlsym(kernel->library, entry) : NULL;
    memcpy(&kernel->entry, &found, sizeof found);
    kernel->buffers = count_buffers(image->own);
    if (!found) sim_report("a kernel of the program's own does not compile as C:\n%s", image->own);
    return found;
}

void own_kernel_close(own_kernel *kernel) {
    if (kernel->library) dlclose(kernel->library);
    *kernel = (own_kernel){0};
}

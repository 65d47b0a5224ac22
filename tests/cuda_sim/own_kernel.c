/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
#include "own_kernel.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static bool is_source(const sim_image *image) {
    return strncmp(image->own, OWN_SOURCE, sizeof OWN_SOURCE - 1) == 0;
}

static int count_buffers(const sim_image *image) {
    const char *definition = is_source(image) ? "#define TDM_TENSORS(TDM_X)" : "#define TENSORS(X)";
    const char *one = is_source(image) ? " TDM_X(" : " X(";
    const char *list = strstr(image->own, definition), *end = list ? strchr(list, '\n') : NULL;
    int count = 0;
    for (const char *at = list ? list + strlen(definition) : NULL;
         at && (at = strstr(at, one)) && at < end; at++)
        count++;
    return count;
}

static bool write_source(const sim_image *image, const char *path) {
    FILE *file = fopen(path, "w");
    if (!file) return false;
    fprintf(file,
            "#define TDM_USER_KERNEL 1\n#define TDMI_ISA own\n#define T_ID %d\n#define U_ID %d\n"
            "#include \"dialect_c.h\"\n#include \"dtypes.h\"\n#include \"lines.h\"\n"
            "#include \"numeric.h\"\n#include \"activation.h\"\n#include \"convert.h\"\n"
            "#include \"elementary.h\"\n#include \"functions.h\"\n#include \"reduce.h\"\n#include "
            "\"%s\"\n%s%s",
            image->t, image->u, is_source(image) ? "source.h" : "fold.h", image->own,
            is_source(image) ? "unsigned long own_args_size = sizeof(tdm_source_args);\n" : "");
    return fclose(file) == 0;
}

static bool compile(const char *source, const char *options, const char *result) {
    char command[2048];
    snprintf(command, sizeof command,
             "'%s' -std=c11 -D_GNU_SOURCE -w -ffp-contract=fast -fopenmp-simd "
             "-I'%s/kernels' -I'%s/cpu' -I'%s/lib/include' '%s' %s '%s'",
             SIM_CC, SIM_SOURCE, SIM_SOURCE, SIM_SOURCE, source, options, result);
    return system(command) == 0;
}

bool sim_make_folder(char folder[512]) {
    const char *where = getenv("TMPDIR");
    snprintf(folder, 512, "%s/cuda-sim-XXXXXX", where ? where : "/tmp");
    return mkdtemp(folder);
}

bool own_kernel_check(const sim_image *image, char *log, size_t size) {
    char folder[512], source[576], words[576];
    if (!is_source(image)) return true;
    if (!sim_make_folder(folder)) abort();
    snprintf(source, sizeof source, "%s/own.c", folder);
    snprintf(words, sizeof words, "%s/log", folder);
    const bool good = write_source(image, source) && compile(source, "-fsyntax-only 2>", words);
    FILE *file = fopen(words, "r");
    const size_t length = file ? fread(log, 1, size - 1, file) : 0;
    log[length] = '\0';
    if (file) fclose(file);
    unlink(source);
    unlink(words);
    rmdir(folder);
    return good;
}

bool own_kernel_open(const sim_image *image, own_kernel *kernel) {
    char folder[512], source[576], library[576];
    if (!sim_make_folder(folder)) return false;
    snprintf(source, sizeof source, "%s/own.c", folder);
    snprintf(library, sizeof library, "%s/own.so", folder);
    if (write_source(image, source) && compile(source, "-O1 -shared -fPIC -lm -o", library))
        kernel->library = dlopen(library, RTLD_NOW | RTLD_LOCAL);
    unlink(source);
    unlink(library);
    rmdir(folder);
    const unsigned long *args_size =
        kernel->library ? dlsym(kernel->library, "own_args_size") : NULL;
    kernel->args_size = args_size ? *args_size : sizeof(tdm_expression_args);
    kernel->buffers = count_buffers(image);
    if (!kernel->library)
        sim_report("a kernel of the program's own does not compile as C:\n%s", image->own);
    return kernel->library;
}

bool own_kernel_find(const sim_image *image, const char *entry, own_kernel *kernel) {
    char name[96];
    snprintf(name, sizeof name, "tdmi_%s_%d_%d_own", entry, image->t, image->u);
    void *found = dlsym(kernel->library, name);
    memcpy(&kernel->entry, &found, sizeof found);
    return found;
}

void own_kernel_close(own_kernel *kernel) {
    if (kernel->library) dlclose(kernel->library);
    *kernel = (own_kernel){0};
}

/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* The text that was meant for NVRTC, compiled as C++ by the compiler of the tests. -fsanitize=thread has it call a
 * function of thread_accesses.c at each access of memory; nothing of ThreadSanitizer itself is linked. */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "own_kernel.h"
#include "threads.h"

#define BUILTINS SIM_SOURCE "/tests/cuda_sim/builtins.h"
#define COMPILE                                                                                    \
    "'" SIM_CC "' -x c++ -std=gnu++17 -w -O1 -fno-strict-aliasing -fno-exceptions "                \
    "-ffp-contract=fast -fsanitize=thread -fPIC -shared -nostdlib -s -Wl,-Bsymbolic -include "     \
    "'" BUILTINS "'"

/* Reads the file, at most size - 1 bytes and a NUL; returns how many. */
static size_t read_file(const char *path, char *bytes, size_t size) {
    FILE *file = fopen(path, "r");
    const size_t length = file ? fread(bytes, 1, size - 1, file) : 0;
    bytes[length] = '\0';
    if (file) fclose(file);
    return length;
}

uint32_t sim_text_stamp(void) {
    char text[32 << 10];
    const size_t length = read_file(BUILTINS, text, sizeof text);
    uint32_t sum = 2166136261u;
    for (const char *c = COMPILE; *c; c++)
        sum = (sum ^ (unsigned char)*c) * 16777619u;
    for (size_t i = 0; i < length; i++)
        sum = (sum ^ (unsigned char)text[i]) * 16777619u;
    return sum;
}

/* --- inline assembler ---------------------------------------------------------------------------
 */

/* One instruction, asm("cvt.f32.f16 %0, %1;" : "=f"(v) : "h"(stored)), as a call, sim_cvt_f32_f16(v, stored); a number
 * in place of operands is part of the name. From its string on; returns the text after it, or NULL. */
static const char *write_instruction(FILE *to, const char *at) {
    fputs("sim_", to);
    at++;
    const char *end = at + strcspn(at, "%{[;\"");
    while (end > at && end[-1] == ' ')
        end--;
    for (; at < end; at++)
        fputc(strchr(".: ", *at) ? '_' : *at, to);
    at = strchr(at, '"');
    if (!at) return NULL;
    const char *comma = "(";
    for (at++; *at && *at != ')'; at++) {
        if (*at != '(') continue;
        fputs(comma, to);
        for (int depth = 0; *at && (*at != ')' || depth > 1); at++) {
            depth += *at == '(' ? 1 : *at == ')' ? -1 : 0;
            if (*at != '(' || depth > 1) fputc(*at, to);
        }
        comma = ", ";
    }
    fputs(*comma == '(' ? "()" : ")", to);
    return *at ? at + 1 : NULL;
}

/* Before a kernel, of which there are some in each text that its options leave out: that there is one. */
static void write_mark(FILE *to, const char *line, long number) {
    const char *name = strchr(line, '(');
    if (strncmp(line, "KERNEL", 6) != 0 || !name) return;
    fprintf(to, "#define SIM_HAS_%.*s\n#line %ld\n", (int)strcspn(name + 1, ",) \n"), name + 1,
            number);
}

/* The text without assembler, then its kernels as builtins.h lists them. */
static bool write_text(const char *path, const char *text, const sim_image *image) {
    static const char *const words[] = {"asm(\"", "asm volatile(\""};
    FILE *file = fopen(path, "w");
    if (!file) return false;
    fputs("#line 1 \"dialect_cuda.h\"\n", file);
    bool begins = true;
    long number = 1; /* of the line, as its directives count */
    while (text && *text) {
        size_t length = 0;
        if (begins && strncmp(text, "#line ", 6) == 0) number = strtol(text + 6, NULL, 10) - 1;
        if (begins) write_mark(file, text, number);
        begins = *text == '\n';
        number += begins;
        for (size_t i = 0; i < sizeof words / sizeof *words && !length; i++)
            if (strncmp(text, words[i], strlen(words[i])) == 0) length = strlen(words[i]) - 1;
        if (length)
            text = write_instruction(file, text + length);
        else
            fputc(*text++, file);
    }
    fputs("\n#line 1 \"kernels\"\n", file);
    for (int32_t i = 0; i < image->entry_count; i++)
        fprintf(file, "#ifdef SIM_HAS_%s\nSIM_KERNEL(%s)\n#endif\n", image->entries[i].name,
                image->entries[i].name);
    return fclose(file) == 0 && text;
}

/* --- compiling and opening ----------------------------------------------------------------------
 */

static void write_options(char *command, size_t size, int count, const char *const *options) {
    for (int i = 0; i < count; i++) {
        const size_t length = strlen(command);
        if (strncmp(options[i], "-D", 2) == 0)
            snprintf(command + length, size - length, " %s", options[i]);
    }
}

bool sim_text_compile(const char *text, int option_count, const char *const *options,
                      sim_image *image, char *log, size_t size) {
    char folder[512], source[576], words[576], result[576], command[4096] = COMPILE;
    snprintf(command + strlen(command), sizeof command - strlen(command), " -D__CUDA_ARCH__=%d0",
             image->architecture);
    if (!sim_make_folder(folder)) abort();
    snprintf(source, sizeof source, "%s/text.cu", folder);
    snprintf(words, sizeof words, "%s/log", folder);
    snprintf(result, sizeof result, "%s/text.so", folder);
    write_options(command, sizeof command, option_count, options);
    /* as NVRTC contracts products and sums */
    if (__builtin_cpu_supports("fma")) strcat(command, " -mfma");
    const size_t length = strlen(command);
    snprintf(command + length, sizeof command - length, " '%s' -o '%s' 2>'%s'", source, result,
             words);
    bool good = write_text(source, text, image) && system(command) == 0;
    read_file(words, log, size);
    image->stamp = sim_text_stamp();
    image->own_size = good ? (int32_t)read_file(result, image->own, sizeof image->own) : 0;
    if (good && image->own_size == sizeof image->own - 1) {
        snprintf(log, size, "the shared object is too large to simulate\n");
        good = false;
    }
    unlink(source);
    unlink(words);
    unlink(result);
    rmdir(folder);
    return good;
}

bool sim_text_open(const sim_image *image, sim_text *text) {
    char folder[512], library[576];
    if (!sim_make_folder(folder)) return false;
    snprintf(library, sizeof library, "%s/text.so", folder);
    FILE *file = fopen(library, "w");
    bool good =
        file && fwrite(image->own, 1, (size_t)image->own_size, file) == (size_t)image->own_size;
    good = file && fclose(file) == 0 && good;
    /* which calls functions of threads.c, in the library that this is in, opened for no other one to see */
    Dl_info here;
    good = good && dladdr(BUILTINS, &here) &&
           dlopen(here.dli_fname, RTLD_NOW | RTLD_NOLOAD | RTLD_GLOBAL);
    if (good) text->library = dlopen(library, RTLD_NOW | RTLD_LOCAL);
    if (!text->library) sim_report("a kernel's shared object cannot be opened: %s", dlerror());
    unlink(library);
    rmdir(folder);
    if (!text->library) return false;
    char *const *places = dlsym(text->library, "sim_extents");
    text->shared = places[0];
    text->shared_size = (size_t)(places[1] - places[0]);
    text->start = places[2];
    text->size = (size_t)(places[3] - places[2]);
    return true;
}

bool sim_text_find(const char *entry, sim_text *text) {
    char name[96];
    snprintf(name, sizeof name, "sim_kernel_%s", entry);
    text->kernel = dlsym(text->library, name);
    return text->kernel;
}

void sim_text_close(sim_text *text) {
    if (text->library) dlclose(text->library);
    *text = (sim_text){0};
}

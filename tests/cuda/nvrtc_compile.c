/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* Compiles the kernels to cubins with the real NVRTC, which needs no GPU, and reads ptxas's report
 * on each: no spills, no arrays in local memory, no stack.
 *
 *     nvrtc_compile FOLDER [full]
 *
 * FOLDER is the one of the kernels. Text and options are those of the cuda backend, but many
 * variants share a program, each in a namespace and under its own name, as a program costs
 * more than a kernel. For one variant of each file and architecture it is checked that this makes
 * no difference: compiled alone, as the backend does it, it has to be the same machine code, but for
 * which registers it takes.
 *
 * Covered: every kernel, dtype and OP that a launch may ask for (variants.c), but that from the second OP on f16 and
 * bf16 take turns. With the largest groups, whose lanes have the fewest registers, each is compiled for one of sm_80,
 * sm_90 and sm_100, which the second table is about, in turn. Of those with streaming stores, which change nothing
 * else, every fifth, and of those with smaller groups and of rows that are not aligned some are compiled, each for one
 * of all architectures.
 * "full" is all sizes on all of them: scripts/test.sh full.
 *
 * Rows that are aligned must move by accesses of 128 bits, as the PTX shows (ptx.h), and what ptxas and PTX
 * say of registers and loads must have 32 KiB on their way to a multiprocessor of sm_80, sm_90 and sm_100,
 * which covers the time that their memory takes: on an H100, bandwidth times latency is 16 KiB for each.
 * Where nvdisasm is found (sass.h), the widths are read in the machine code, too, and the instructions an element of
 * rows that are held are counted.
 *
 * TDM_TEST_NVRTC names the NVRTC to take, such as one of CUDA 11.8. Exit status: 0 all is well, 1
 * something is not, 77 there is no NVRTC. */
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <tandem/tensor.h>

#include "accesses.h"
#include "manifest.h"
#include "nvrtc.h"
#include "sass.h"

enum { SKIPPED = 77, MAX_THREADS = 8, BATCH = 24, MAX_FILES = 32, MAX_JOBS = 4096 };

static kernel_file files[MAX_FILES];
static int file_count;

/* Figures of an entry on an architecture: how many variants, and the most of each number. */
typedef struct maxima {
    int variants;
    ptxas_report most;
    int flight; /* the fewest bytes on their way to a multiprocessor, of rows in vectors; 0: none */
    double instructions[2]; /* the most an element of 4 bytes and of 2, where they are counted */
} maxima;

typedef struct compile_job {
    const kernel_file *file;
    int architecture; /* a place in `architectures` */
    int count;
    bool compare; /* one of them with itself compiled alone */
    variant variants[BATCH];
} compile_job;

static compile_job jobs[MAX_JOBS];
static int job_count, program_count;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int next_job, failed, compared, disassembled;
static bool has_disassembler;
static maxima table[TDMI_KERNEL_COUNT][ARCHITECTURES];

__attribute__((format(printf, 1, 2))) static void fail(const char *format, ...) {
    va_list list;
    va_start(list, format);
    pthread_mutex_lock(&lock);
    failed++;
    printf("FAILED: ");
    vprintf(format, list);
    printf("\n");
    fflush(stdout);
    pthread_mutex_unlock(&lock);
    va_end(list);
}

/* ---- texts ---- */

static bool read_kernels(const char *folder) {
    static const char *const common[] = {"dialect_cuda.h", "args.h", "dtypes.h", "numeric.h",
                                         "vectors.h"};
    for (int e = 0; e < TDMI_KERNEL_COUNT; e++) {
        const tdm_kernel_entry *kernel = &tdm_kernel_entries[e];
        char name[sizeof files->name];
        snprintf(name, sizeof name, "%s.cl", kernel->file ? kernel->file : kernel->name);
        bool found = true;
        int f = 0;
        while (f < file_count && strcmp(files[f].name, name) != 0)
            f++;
        if (f == file_count && f < MAX_FILES) {
            snprintf(files[f].name, sizeof files[f].name, "%s", name);
            for (size_t i = 0; i < sizeof common / sizeof *common; i++)
                found = found && append_file(&files[f].text, folder, common[i]);
            for (size_t i = 0; i < sizeof kernel->needs / sizeof *kernel->needs; i++)
                if (kernel->needs[i])
                    found = found && append_file(&files[f].text, folder, kernel->needs[i]);
            found = found && append_file(&files[f].text, folder, name);
            file_count++;
        }
        if (!found || f == MAX_FILES || files[f].entry_count == MOST_ENTRIES) {
            fail("%s: a file it needs is not in %s, or it has too many entries", kernel->name,
                 folder);
            return false;
        }
        files[f].entries[files[f].entry_count++] = e;
    }
    return true;
}

static void append(char **at, const char *end, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
static void append(char **at, const char *end, const char *format, ...) {
    va_list list;
    va_start(list, format);
    int length = vsnprintf(*at, (size_t)(end - *at), format, list);
    va_end(list);
    if (length < 0 || length >= end - *at) abort();
    *at += length;
}

/* The name of an entry of variant i. */
static void name_of(char name[96], int entry, int i) {
    snprintf(name, 96, "%s_variant%d", tdm_kernel_entries[entry].entry, i);
}

/* Each variant includes the whole text again, with its own macros, in a namespace for its
 * declarations. A macro renames the entries, which have no namespace for the linker. */
static char *program_text(const compile_job *job) {
    enum { PER_VARIANT = 1024 };
    const size_t size = PER_VARIANT * BATCH;
    char *text = malloc(size), *at = text, name[96];
    if (!text) abort();
    for (int i = 0; i < job->count; i++) {
        const variant *v = &job->variants[i];
        append(&at, text + size,
               "#define T_ID %d\n#define U_ID %d\n#define OP %d\n#define LANES %d\n"
               "#define STREAM %d\n#define VECTORS %d\n#define VECTOR_BYTES 16\n"
               "#define LOOSE %d\n#define HOLDS %d\n#define TEAMS %d\n",
               v->t, v->u, v->op, v->lanes, v->stream, v->vectors, v->loose, v->holds, v->teams);
        for (int e = 0; e < job->file->entry_count; e++) {
            name_of(name, job->file->entries[e], i);
            append(&at, text + size, "#define %s %s\n",
                   tdm_kernel_entries[job->file->entries[e]].entry, name);
        }
        append(&at, text + size, "namespace variant%d {\n#include \"kernel\"\n}\n", i);
        for (int e = 0; e < job->file->entry_count; e++)
            append(&at, text + size, "#undef %s\n",
                   tdm_kernel_entries[job->file->entries[e]].entry);
        append(
            &at, text + size,
            "#undef T_ID\n#undef U_ID\n#undef OP\n#undef LANES\n#undef STREAM\n"
            "#undef VECTORS\n#undef VECTOR_BYTES\n#undef LOOSE\n#undef HOLDS\n#undef TEAMS\n#undef "
            "TDMI_KERNEL_VECTORS_H\n"
            "#undef TDMI_KERNEL_ARGS_H\n#undef TDMI_KERNEL_DTYPES_H\n#undef TDMI_KERNEL_GROUPS_H\n"
            "#undef TDMI_KERNEL_NUMERIC_H\n#undef TDMI_KERNEL_ACTIVATION_H\n"
            "#undef TDMI_KERNEL_CONVERT_H\n"
            "#undef TDMI_KERNEL_REDUCE_H\n#undef TDMI_KERNEL_CHUNKS_H\n"
            "#undef TDMI_KERNEL_SELECT_H\n#undef TDMI_KERNEL_RANDOM_H\n"
            "#undef TDMI_KERNEL_TENSOR_H\n");
    }
    return text;
}

/* ---- jobs ---- */

typedef struct collector {
    const kernel_file *file;
    int architecture;
    bool full;
    compile_job *open; /* of this file and architecture, with room for more; or NULL */
} collector;

/* Whether a variant is compiled for this architecture. */
static bool is_covered(const collector *c, const variant *v, int number, int size) {
    /* in step neither with the architectures nor with variants in twos, plain and streaming */
    enum { OF_STREAMING = 5, OF_SMALLER = 13 };
    if (strcmp(c->file->name, "matmul_tiles.cl") == 0 && architectures[c->architecture] < 80)
        return false; /* it is launched where it has tensor cores */
    if (c->full) return true;
    /* f16 and bf16 differ in how they are converted, which the first OP of each kernel shows */
    const bool narrow = v->t == TDM_F16 || v->t == TDM_BF16;
    if (narrow && v->op > 0 && (v->op + (v->t == TDM_BF16)) % 2 == 1) return false;
    if (size == 0 && !v->stream) return has_turn(c->architecture, number);
    const int turn = number + (size == LESSER ? 1 : size);
    return turn % (size <= 0 ? OF_STREAMING : OF_SMALLER) == 0 &&
           turn % ARCHITECTURES == c->architecture;
}

static void collect(void *context, const variant *v, int number, int size) {
    collector *c = context;
    if (!is_covered(c, v, number, size)) return;
    if (!c->open || c->open->count == BATCH) {
        if (job_count == MAX_JOBS) abort();
        bool first = !c->open;
        c->open = &jobs[job_count++];
        *c->open =
            (compile_job){.file = c->file, .architecture = c->architecture, .compare = first};
    }
    c->open->variants[c->open->count++] = *v;
    program_count++;
}

static void add_jobs(bool full) {
    for (int a = 0; a < ARCHITECTURES; a++) {
        if (!nvrtc_knows(architectures[a]))
            printf("sm_%d is left out, as this NVRTC does not know it\n", architectures[a]);
        for (int f = 0; f < file_count && nvrtc_knows(architectures[a]); f++) {
            collector c = {.file = &files[f], .architecture = a, .full = full};
            for_variants(files[f].entries[0], collect, &c);
        }
    }
}

static void describe(char text[160], const compile_job *job, int entry, const variant *v) {
    static const char *const dtypes[] = {
#define NAME(NAME, name, bytes, kind) #name,
        TDM_DTYPE_LIST(NAME)
#undef NAME
    };
    snprintf(text, 160, "%s sm_%d T=%s U=%s OP=%d LANES=%d STREAM=%d VECTORS=%d LOOSE=%d HOLDS=%d",
             tdm_kernel_entries[entry].name, architectures[job->architecture], dtypes[v->t],
             dtypes[v->u], v->op, v->lanes, v->stream, v->vectors, v->loose, v->holds);
}

static void check_accesses(const char *text, const variant *v, int entry, int architecture,
                           const ptxas_report *used, const ptx_report *accesses) {
    if (!accesses_are_right(entry, v, accesses))
        fail(
            "%s: %d wide loads and %d narrow ones, %d wide stores and %d narrow ones, %d products, "
            "%d matrices, %d copies",
            text, accesses->wide_loads, accesses->loads, accesses->wide_stores, accesses->stores,
            accesses->products, accesses->matrices, accesses->copies);
    const int enough = enough_in_flight(entry, v);
    if (!enough || !covers_latency(architectures[architecture])) return;
    const int flight = bytes_in_flight(v, used, accesses);
    if (flight < enough)
        fail("%s: %d bytes on their way to a multiprocessor, with %d registers", text, flight,
             used->registers);
    pthread_mutex_lock(&lock);
    maxima *m = &table[entry][architecture];
    if (m->flight == 0 || flight < m->flight) m->flight = flight;
    pthread_mutex_unlock(&lock);
}

/* ptxas may split what PTX has, or join it: the machine code decides, where it can be read. */
static void check_machine_code(const char *text, const variant *v, int entry, const char *name,
                               const char *sass) {
    ptx_report accesses;
    if (!sass_report_of(sass, name, &accesses))
        fail("%s: its machine code was not found", text);
    else if (!accesses_are_right(entry, v, &accesses))
        fail("%s: machine code of %d wide loads and %d narrow ones, %d wide stores and %d narrow, "
             "%d HMMA, %d LDSM, %d LDGSTS",
             text, accesses.wide_loads, accesses.loads, accesses.wide_stores, accesses.stores,
             accesses.products, accesses.matrices, accesses.copies);
    pthread_mutex_lock(&lock);
    disassembled++;
    pthread_mutex_unlock(&lock);
}

/* Rows that are held are read once, so that instructions may be what takes long. */
static void count_instructions(const char *text, const variant *v, int entry, int architecture,
                               const char *name, const char *sass) {
    const double most = most_instructions(entry, v);
    if (most == 0 || architectures[architecture] != 90) return;
    const int size = dtype_bytes(v->t), stores = v->vectors * rows_written(entry, v);
    const double found = sass_shortest(sass, name, stores) / (v->vectors * 16.0 / size);
    if (found == 0 || found > most)
        fail("%s: %.1f instructions an element, %.1f were enough", text, found, most);
    pthread_mutex_lock(&lock);
    double *of_size = &table[entry][architecture].instructions[size == 2];
    if (found > *of_size) *of_size = found;
    pthread_mutex_unlock(&lock);
}

static void take_report(const compile_job *job, const compiled *together, const char *sass,
                        int entry, int i) {
    const char *log = together->log;
    char name[96], text[160];
    ptxas_report report;
    name_of(name, entry, i);
    describe(text, job, entry, &job->variants[i]);
    if (!ptxas_report_of(log, name, &report)) {
        fail("%s: ptxas's report was not found", text);
        return;
    }
    ptx_report accesses;
    if (!ptx_report_of(together->ptx, name, &accesses))
        fail("%s: its PTX was not found", text);
    else
        check_accesses(text, &job->variants[i], entry, job->architecture, &report, &accesses);
    if (sass) {
        check_machine_code(text, &job->variants[i], entry, name, sass);
        count_instructions(text, &job->variants[i], entry, job->architecture, name, sass);
    }
    if (report.local)
        fail("%s: %d bytes of local memory, %d registers", text, report.local, report.registers);
    pthread_mutex_lock(&lock);
    maxima *m = &table[entry][job->architecture];
    m->variants++;
    if (report.registers > m->most.registers) m->most.registers = report.registers;
    if (report.shared > m->most.shared) m->most.shared = report.shared;
    if (report.local > m->most.local) m->most.local = report.local;
    pthread_mutex_unlock(&lock);
}

/* One of the variants alone, as the backend compiles it: the same code? */
static void compare_alone(const compile_job *job, const compiled *together) {
    const int i = job->count / 2;
    const variant *v = &job->variants[i];
    const int values[] = {v->t,       v->u, v->op,    v->lanes, v->stream,
                          v->vectors, 16,   v->loose, v->holds, v->teams};
    static const char *const names[] = {"T_ID",    "U_ID",         "OP",    "LANES", "STREAM",
                                        "VECTORS", "VECTOR_BYTES", "LOOSE", "HOLDS", "TEAMS"};
    enum { DEFINES = sizeof values / sizeof *values };
    char text[DEFINES][32], name[96], name_alone[96], what[160];
    const char *defines[DEFINES + 1] = {NULL};
    for (int d = 0; d < DEFINES; d++) {
        snprintf(text[d], sizeof text[d], "-D%s=%d", names[d], values[d]);
        defines[d] = text[d];
    }
    compiled alone =
        nvrtc_compile(job->file->text, NULL, architectures[job->architecture], defines);
    for (int e = 0; e < job->file->entry_count; e++) {
        const int entry = job->file->entries[e];
        if (!has_kernel(entry, v)) continue;
        snprintf(name_alone, sizeof name_alone, "%s", tdm_kernel_entries[entry].entry);
        name_of(name, entry, i);
        describe(what, job, entry, v);
        if (!is_same_kernel(&alone, name_alone, together, name))
            fail("%s: compiled alone it is other code", what);
    }
    compiled_free(&alone);
    pthread_mutex_lock(&lock);
    compared++;
    pthread_mutex_unlock(&lock);
}

static void run_job(const compile_job *job) {
    char *text = program_text(job);
    compiled together =
        nvrtc_compile(text, job->file->text, architectures[job->architecture], NULL);
    free(text);
    if (together.good) {
        char *sass = has_disassembler ? sass_of(together.cubin, together.cubin_size) : NULL;
        if (has_disassembler && !sass) fail("%s: nvdisasm failed", job->file->name);
        for (int i = 0; i < job->count; i++)
            for (int e = 0; e < job->file->entry_count; e++)
                if (has_kernel(job->file->entries[e], &job->variants[i]))
                    take_report(job, &together, sass, job->file->entries[e], i);
        free(sass);
        if (job->compare) compare_alone(job, &together);
    } else {
        fail("%s for sm_%d:\n%.2000s", job->file->name, architectures[job->architecture],
             together.log);
    }
    compiled_free(&together);
}

static void *work(void *unused) {
    for (;;) {
        pthread_mutex_lock(&lock);
        int mine = next_job++;
        pthread_mutex_unlock(&lock);
        if (mine >= job_count) return unused;
        run_job(&jobs[mine]);
    }
}

static void run_jobs(void) {
    long cores = sysconf(_SC_NPROCESSORS_ONLN);
    int threads = cores < 1 ? 1 : cores > MAX_THREADS ? MAX_THREADS : (int)cores, started = 0;
    pthread_t others[MAX_THREADS];
    while (started < threads - 1 && !pthread_create(&others[started], NULL, work, NULL))
        started++;
    work(NULL);
    for (int i = 0; i < started; i++)
        pthread_join(others[i], NULL);
}

/* ---- the check itself, and what it found ---- */

/* A kernel with an array that has to be in memory must be found out, one without must not, and one
 * that is not there must not pass; and accesses must be recognised by their width. */
static bool check_the_check(void) {
    static const char text[] =
        "extern \"C\" __global__ void tdm_plain(int *p) { p[threadIdx.x] += 1; }\n"
        "extern \"C\" __global__ void tdm_array(int *p, int n) {\n"
        "    int a[64];\n"
        "    for (int i = 0; i < 64; i++) a[i] = p[i];\n"
        "    for (int i = 0; i < n; i++) a[p[i] & 63] += i;\n"
        "    p[threadIdx.x] = a[n & 63];\n"
        "}\n"
        "extern \"C\" __global__ void tdm_wide(uint4 *p, short *r) {\n"
        "    const uint4 v = p[threadIdx.x], w = p[threadIdx.x + 32];\n"
        "    p[threadIdx.x] = make_uint4(v.x + w.x, v.y + w.y, v.z + w.z, v.w + w.w);\n"
        "    r[threadIdx.x] = r[threadIdx.x + 1];\n"
        "}\n";
    ptxas_report plain, array, missing;
    ptx_report wide, scalar, none;
    compiled c = nvrtc_compile(text, NULL, architectures[0], NULL);
    bool good = c.good && ptxas_report_of(c.log, "tdm_plain", &plain) && plain.local == 0 &&
                ptxas_report_of(c.log, "tdm_array", &array) && array.local >= 256 &&
                !ptxas_report_of(c.log, "tdm_arr", &missing);
    if (!good) fail("this program does not find an array in local memory:\n%.2000s", c.log);
    bool reported = c.good && ptx_report_of(c.ptx, "tdm_wide", &wide) && wide.wide_loads == 2 &&
                    wide.loads == 1 && wide.wide_stores == 1 && wide.stores == 1 &&
                    wide.in_flight == 2 && ptx_report_of(c.ptx, "tdm_plain", &scalar) &&
                    scalar.loads == 1 && scalar.stores == 1 && scalar.wide_loads == 0 &&
                    scalar.in_flight == 0 && !ptx_report_of(c.ptx, "tdm_wid", &none);
    if (!reported) fail("this program does not see wide accesses:\n%.4000s", c.ptx);
    compiled_free(&c);
    return good && reported;
}

/* The most of each number on any architecture. */
static maxima on_all(int entry) {
    maxima all = {0};
    for (const maxima *m = table[entry]; m < table[entry] + ARCHITECTURES; m++) {
        all.variants += m->variants;
        if (m->most.shared > all.most.shared) all.most.shared = m->most.shared;
        if (m->most.local > all.most.local) all.most.local = m->most.local;
        if (m->flight > all.flight) all.flight = m->flight;
        for (int i = 0; i < 2; i++)
            if (m->instructions[i] > all.instructions[i]) all.instructions[i] = m->instructions[i];
    }
    return all;
}

static void print_table(void) {
    printf("\n%-16s variants shared, local,  registers, at most, on\n%-25s %7s %6s ", "", "",
           "bytes", "bytes");
    for (int a = 0; a < ARCHITECTURES; a++)
        printf(" sm_%-3d", architectures[a]);
    printf("\n");
    for (int e = 0; e < TDMI_KERNEL_COUNT; e++) {
        const maxima all = on_all(e);
        printf("%-16s %8d %7d %6d ", tdm_kernel_entries[e].name, all.variants, all.most.shared,
               all.most.local);
        for (int a = 0; a < ARCHITECTURES; a++)
            printf(" %6d", table[e][a].most.registers);
        printf("\n");
    }
    printf("\n%-16s  of rows in vectors: KiB on their way to a multiprocessor, at least, and\n"
           "%-16s  instructions an element of 4 and of 2 bytes, held, at most\n%-16s ",
           "", "", "");
    for (int a = 0; a < ARCHITECTURES; a++)
        if (covers_latency(architectures[a])) printf(" sm_%-3d", architectures[a]);
    printf("   of 4   of 2\n");
    for (int e = 0; e < TDMI_KERNEL_COUNT; e++) {
        const maxima all = on_all(e);
        if (all.flight == 0) continue;
        printf("%-16s ", tdm_kernel_entries[e].name);
        for (int a = 0; a < ARCHITECTURES; a++)
            if (covers_latency(architectures[a])) printf(" %6d", table[e][a].flight / 1024);
        for (int i = 0; i < 2 && all.instructions[0] + all.instructions[1] > 0; i++)
            printf(" %6.1f", all.instructions[i]);
        printf("\n");
    }
    printf("\n");
}

int main(int argc, char **argv) {
    if (argc < 2 || argc > 3 || (argc == 3 && strcmp(argv[2], "full") != 0)) {
        fprintf(stderr, "usage: nvrtc_compile FOLDER [full]\n");
        return 2;
    }
    int major = 0, minor = 0;
    if (!nvrtc_open(&major, &minor)) return SKIPPED;
    has_disassembler = sass_is_there();
    if (check_the_check() && read_kernels(argv[1])) {
        add_jobs(argc == 3);
        printf("NVRTC %d.%d, %d variants in %d programs\n", major, minor, program_count, job_count);
        fflush(stdout);
        run_jobs();
        print_table();
    }
    for (int f = 0; f < file_count; f++)
        free(files[f].text);
    printf("%d compared with themselves compiled alone\n", compared);
    if (has_disassembler)
        printf("%d had their machine code read\n", disassembled);
    else
        printf("no machine code was read, as there is no nvdisasm\n");
    printf("%d failed\n", failed);
    return failed ? 1 : 0;
}

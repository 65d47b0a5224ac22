/* Compiles every kernel to cubins with the real NVRTC, which needs no GPU.
 *
 *     nvrtc_compile FOLDER [full]
 *
 * FOLDER is the one of the kernels. The text and options are those of the cuda backend. Every dtype
 * and OP is compiled for sm_90, one OP of each kernel and dtype for sm_75, other group sizes and
 * streaming stores for a choice; with "full", the whole product, for every architecture that the
 * kernels are meant for. Exit status: 0 all compiled, 1 something did not, 77 there is no NVRTC. */
#include <dlfcn.h>
#include <nvrtc.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cuda_runtime_api.h>
#include <tandem/tensor.h>

#include "args.h"

enum { SKIPPED = 77, MAX_JOBS = 65536, MAX_THREADS = 8 };

static const char *const dtype_names[] = {
#define NAME(NAME_, name, bytes) name,
    TDM_DTYPE_LIST(NAME)
#undef NAME
};

typedef struct kernel_case {
    const char *entry;
    int ops;        /* OP counts from 0 */
    int op_skipped; /* bits of OP with this value in the lowest three are no activation; or -1 */
    bool integers;  /* T may be an integer */
    char u;         /* second dtype: '=' as T, '*' any, 'n' T or f32 for the 16-bit types */
    char *text;     /* dialect, args.h, the common header and the kernel's own file */
} kernel_case;

static kernel_case kernels[] = {
#define ROW(ID, entry, buffers, args) {#entry, 1, -1, false, '=', NULL},
    TDM_KERNEL_LIST(ROW)
#undef ROW
};
enum { KERNELS = sizeof kernels / sizeof *kernels };

static const struct {
    const char *entry;
    int ops;
} op_counts[] = {
    {"elementwise", TDM_OP_COUNT},       {"bias_add", TDM_OP_BIAS_ADD_COUNT},
    {"norm", TDM_OP_NORM_COUNT},         {"norm_combine", TDM_OP_NORM_COUNT},
    {"layer_norm", TDM_OP_AFFINE_COUNT}, {"rms_norm", TDM_OP_RMS_COUNT},
    {"batch_norm", TDM_OP_AFFINE_COUNT}, {"batch_norm_cols", TDM_OP_AFFINE_COUNT},
    {"matmul", TDM_OP_MATMUL_COUNT},     {"random", TDM_OP_RANDOM_COUNT},
};

static void describe_kernels(void) {
    for (int i = 0; i < KERNELS; i++) {
        kernel_case *k = &kernels[i];
        for (size_t j = 0; j < sizeof op_counts / sizeof *op_counts; j++)
            if (strcmp(k->entry, op_counts[j].entry) == 0) k->ops = op_counts[j].ops;
        if (strcmp(k->entry, "bias_add") == 0) k->op_skipped = 7;
        if (strcmp(k->entry, "cast") == 0 || strcmp(k->entry, "fill") == 0 ||
            strcmp(k->entry, "range") == 0 || strcmp(k->entry, "random") == 0)
            k->integers = true;
        if (strcmp(k->entry, "cast") == 0) k->u = '*';
        if (strncmp(k->entry, "norm", 4) == 0) k->u = 'n';
    }
}

typedef struct compile_job {
    const kernel_case *kernel;
    int architecture, t, u, op, lanes, stream;
} compile_job;

static compile_job jobs[MAX_JOBS];
static int job_count;

static void add_job(compile_job job) {
    if (job_count < MAX_JOBS) jobs[job_count++] = job;
}

static bool takes(const kernel_case *kernel, int t, int u) {
    bool narrow = t == TDM_F16 || t == TDM_BF16;
    if (!kernel->integers && t >= TDM_I32) return false;
    if (kernel->u == '*' || t == u) return true;
    return kernel->u == 'n' && narrow && u == TDM_F32;
}

/* Without "full": on the newer architecture every OP, on the older one OP of each kernel; that one
 * also with other group sizes and with streaming stores, for f32 and f64. */
static void add_ops(const kernel_case *kernel, int architecture, int t, int u, bool full) {
    static const int lanes[] = {256, 32, 1024};
    for (int op = 0; op < kernel->ops; op++) {
        if ((op & 7) == kernel->op_skipped) continue;
        bool chosen = op == kernel->ops - 1 || (op == kernel->ops - 2 && kernel->op_skipped >= 0);
        if (!full && architecture != 90 && (!chosen || kernel->u == '*')) continue;
        bool more = full || (chosen && architecture == 90 && t <= TDM_F64 && kernel->u != '*');
        for (int l = 0; l < (more ? 3 : 1); l++)
            for (int stream = 0; stream < (more && (full || l == 0) ? 2 : 1); stream++)
                add_job((compile_job){kernel, architecture, t, u, op, lanes[l], stream});
    }
}

static void add_jobs(bool full) {
    static const int few[] = {75, 90}, all[] = {75, 80, 86, 89, 90, 100, 120};
    const int *architectures = full ? all : few;
    size_t count = full ? sizeof all / sizeof *all : sizeof few / sizeof *few;
    for (size_t a = 0; a < count; a++)
        for (int k = 0; k < KERNELS; k++)
            for (int t = 0; t < TDM_DTYPE_COUNT; t++)
                for (int u = 0; u < TDM_DTYPE_COUNT; u++)
                    if (takes(&kernels[k], t, u))
                        add_ops(&kernels[k], architectures[a], t, u, full);
}

/* The functions of NVRTC, by their own names. */
#define FUNCTIONS(X)                                                                               \
    X(nvrtcCreateProgram)                                                                          \
    X(nvrtcDestroyProgram)                                                                         \
    X(nvrtcCompileProgram)                                                                         \
    X(nvrtcGetProgramLogSize)                                                                      \
    X(nvrtcGetProgramLog)                                                                          \
    X(nvrtcGetCUBINSize)                                                                           \
    X(nvrtcGetCUBIN)                                                                               \
    X(nvrtcGetErrorString)                                                                         \
    X(nvrtcVersion)
static struct {
#define FIELD(name) __typeof__(&name) name;
    FUNCTIONS(FIELD)
} nvrtc;

static void *open_nvrtc(void) {
    const int major = CUDART_VERSION / 1000, minor = CUDART_VERSION % 1000 / 10;
    char paths[4][96];
    snprintf(paths[0], sizeof paths[0], "libnvrtc.so.%d", major);
    snprintf(paths[1], sizeof paths[1], "/usr/local/cuda-%d.%d/lib64/libnvrtc.so.%d", major, minor,
             major);
    snprintf(paths[2], sizeof paths[2], "/usr/local/cuda/lib64/libnvrtc.so.%d", major);
    snprintf(paths[3], sizeof paths[3], "/opt/cuda/lib64/libnvrtc.so.%d", major);
    for (int i = 0; i < 4; i++) {
        void *handle = dlopen(paths[i], RTLD_NOW | RTLD_LOCAL);
        if (handle) return handle;
    }
    printf("skipped: %s cannot be opened (%s)\n", paths[0], dlerror());
    return NULL;
}

static bool load_nvrtc(void) {
    void *handle = open_nvrtc();
    if (!handle) return false;
#define LOAD(name)                                                                                 \
    do {                                                                                           \
        void *symbol = dlsym(handle, #name);                                                       \
        if (!symbol) {                                                                             \
            printf("skipped: NVRTC has no function %s\n", #name);                                  \
            return false;                                                                          \
        }                                                                                          \
        memcpy(&nvrtc.name, &symbol, sizeof symbol);                                               \
    } while (0);
    FUNCTIONS(LOAD)
    return true;
}

/* Appends "#line" and a file to the text; false when the file cannot be read. */
static bool append_file(char **text, const char *folder, const char *name) {
    char path[1024], buffer[4096];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *file = fopen(path, "r");
    if (!file) return false;
    size_t length = *text ? strlen(*text) : 0, got;
    char *grown = realloc(*text, length + 1200);
    if (!grown) abort();
    length += (size_t)snprintf(grown + length, 1200, "\n#line 1 \"%s\"\n", name);
    while ((got = fread(buffer, 1, sizeof buffer, file)) > 0) {
        grown = realloc(grown, length + got + 1);
        if (!grown) abort();
        memcpy(grown + length, buffer, got);
        length += got;
    }
    grown[length] = '\0';
    fclose(file);
    *text = grown;
    return true;
}

/* The file of an entry is the longest prefix of it, by words, that exists. */
static bool append_kernel(char **text, const char *folder, const char *entry) {
    char name[128];
    size_t length = strlen(entry);
    while (length > 0) {
        snprintf(name, sizeof name, "%.*s.cl", (int)length, entry);
        if (append_file(text, folder, name)) return true;
        do
            length--;
        while (length > 0 && entry[length] != '_');
    }
    return false;
}

static bool read_kernels(const char *folder) {
    bool complete = true;
    for (int k = 0; k < KERNELS; k++) {
        char **text = &kernels[k].text;
        bool found =
            append_file(text, folder, "dialect_cuda.h") && append_file(text, folder, "args.h") &&
            append_file(text, folder, "numeric.h") && append_file(text, folder, "reduce.h") &&
            append_file(text, folder, "random.h") && append_kernel(text, folder, kernels[k].entry);
        if (!found) printf("%s: a file it needs is not in %s\n", kernels[k].entry, folder);
        complete = complete && found;
    }
    return complete;
}

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int next_job, passed, failed, spilling;

static bool contains(const char *data, size_t size, const char *word) {
    size_t length = strlen(word);
    for (size_t i = 0; i + length < size; i++)
        if (memcmp(data + i, word, length) == 0) return true;
    return false;
}

/* A cubin that is an ELF file and has the kernel's code, under one of the names it may have. */
static bool check_cubin(nvrtcProgram program, const char *entry) {
    size_t size = 0;
    if (nvrtc.nvrtcGetCUBINSize(program, &size) != NVRTC_SUCCESS || size < 64) return false;
    char *cubin = malloc(size), section[96];
    if (!cubin) abort();
    snprintf(section, sizeof section, ".text.tdm_%s", entry);
    bool good =
        nvrtc.nvrtcGetCUBIN(program, cubin) == NVRTC_SUCCESS && memcmp(cubin, "\177ELF", 4) == 0;
    if (good && !contains(cubin, size, section)) {
        snprintf(section, sizeof section, ".text.%s", entry);
        good = contains(cubin, size, section);
    }
    free(cubin);
    return good;
}

static char *take_log(nvrtcProgram program) {
    size_t size = 0;
    if (nvrtc.nvrtcGetProgramLogSize(program, &size) != NVRTC_SUCCESS) size = 0;
    char *log = calloc(size + 1, 1);
    if (!log) abort();
    if (size && nvrtc.nvrtcGetProgramLog(program, log) != NVRTC_SUCCESS) log[0] = '\0';
    return log;
}

/* What ptxas reports of registers that went to memory, or arrays in local memory. */
static bool spills(const char *log) {
    const char *stack = strstr(log, " bytes stack frame");
    if (!stack) return false;
    while (stack > log && stack[-1] != ' ')
        stack--;
    return atoi(stack) != 0 || !strstr(log, " 0 bytes spill stores");
}

static void finish_job(const compile_job *job, bool good, const char *log) {
    bool slow = good && spills(log);
    pthread_mutex_lock(&lock);
    passed += good;
    failed += !good;
    spilling += slow;
    if (!good || slow)
        printf("%s: %s sm_%d T=%s U=%s OP=%d LANES=%d STREAM=%d%s%s\n",
               good ? "local memory" : "FAILED", job->kernel->entry, job->architecture,
               dtype_names[job->t], dtype_names[job->u], job->op, job->lanes, job->stream,
               good ? "" : "\n", good || failed > 10 ? "" : log);
    pthread_mutex_unlock(&lock);
}

static void run_job(const compile_job *job) {
    char text[6][40];
    snprintf(text[0], sizeof text[0], "--gpu-architecture=sm_%d", job->architecture);
    snprintf(text[1], sizeof text[1], "-DT_ID=%d", job->t);
    snprintf(text[2], sizeof text[2], "-DU_ID=%d", job->u);
    snprintf(text[3], sizeof text[3], "-DOP=%d", job->op);
    snprintf(text[4], sizeof text[4], "-DLANES=%d", job->lanes);
    snprintf(text[5], sizeof text[5], "-DSTREAM=%d", job->stream);
    const char *options[] = {text[0],
                             text[1],
                             text[2],
                             text[3],
                             text[4],
                             text[5],
                             "--std=c++17",
                             "--device-as-default-execution-space",
                             "--disable-warnings",
                             "--ptxas-options=-v"};
    nvrtcProgram program = NULL;
    nvrtcResult result =
        nvrtc.nvrtcCreateProgram(&program, job->kernel->text, job->kernel->entry, 0, NULL, NULL);
    if (result != NVRTC_SUCCESS) {
        finish_job(job, false, nvrtc.nvrtcGetErrorString(result));
        return;
    }
    result = nvrtc.nvrtcCompileProgram(program, sizeof options / sizeof *options, options);
    char *log = take_log(program);
    finish_job(job, result == NVRTC_SUCCESS && check_cubin(program, job->kernel->entry), log);
    free(log);
    (void)nvrtc.nvrtcDestroyProgram(&program);
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

int main(int argc, char **argv) {
    if (argc < 2 || argc > 3 || (argc == 3 && strcmp(argv[2], "full") != 0)) {
        fprintf(stderr, "usage: nvrtc_compile FOLDER [full]\n");
        return 2;
    }
    if (!load_nvrtc()) return SKIPPED;
    int major = 0, minor = 0;
    (void)nvrtc.nvrtcVersion(&major, &minor);
    describe_kernels();
    bool complete = read_kernels(argv[1]);
    add_jobs(argc == 3);
    printf("NVRTC %d.%d, %d variants\n", major, minor, complete ? job_count : 0);
    if (complete) {
        long cores = sysconf(_SC_NPROCESSORS_ONLN);
        int threads = cores < 1 ? 1 : cores > MAX_THREADS ? MAX_THREADS : (int)cores, started = 0;
        pthread_t others[MAX_THREADS];
        while (started < threads - 1 && !pthread_create(&others[started], NULL, work, NULL))
            started++;
        work(NULL);
        for (int i = 0; i < started; i++)
            pthread_join(others[i], NULL);
    }
    for (int k = 0; k < KERNELS; k++)
        free(kernels[k].text);
    printf("%d use local memory (spills or arrays)\n", spilling);
    printf("%d passed, %d failed\n", passed, complete ? failed : 1);
    return complete && !failed ? 0 : 1;
}

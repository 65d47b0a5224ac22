/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* Prints the library's answers in a separate process, which the tests run with another environment.
 *
 *   probe list             ids of all devices, one a line, then "default: ID"
 *   probe cards            what shows which devices are one card, and what "gpu:N" mean
 *   probe find NAME        "ID" of the device a name means ("-": NULL)
 *   probe work NAME        opens the device ("-": the default), runs kernels and a product, checks
 *   probe attend NAME      the same with attention; probe replay NAME: work as a graph, three times
 *   probe diagnose         every diagnostic item, one a line
 *   probe fork NAME        uses the library, forks, and prints what calls give in the child
 *   probe fork-first       forks before any use: the child must work
 *   probe exit NAME        works, and ends without giving anything back
 *   probe thread NAME      works in a second thread while the first one returns from main
 *   probe join NAME        the same, and a function of atexit() joins the second thread
 *   probe leave NAME       works, and ends its first thread by pthread_exit(); a second one waits until two threads are
 *                          left, says how many there are, works, and ends
 *   probe secure           whether it has more rights than its caller
 *   probe text NAME        in the environment's locale: its own number, then texts of the library
 *   probe explain NAME DTYPE M N K   runs such a product, and says who ran it and why
 *   probe usage NAME       what a device is doing, one figure or process a line
 *   probe hold NAME N      takes N bytes on a device and waits to be killed, at most a minute
 *   probe hold-fork NAME N the same after a child has been forked, given everything back, and ended
 *   probe hold-again NAME N   the same, taking as much again and again, and saying so
 *   probe hold-exec NAME N    takes N bytes, then becomes `probe hold NAME N`
 *   probe hold-closed NAME N  takes N bytes, closes all descriptors, opens $TANDEM_CACHE_DIR/foreign, takes N more
 *   probe hold-and-ask NAME N   takes N bytes and says what the device is doing
 *
 * First the status of what failed, or TDM_OK, then its message. Exit status 0 unless a number is
 * wrong (3) or the arguments are (2). */
#include <dirent.h>
#include <fcntl.h>
#include <locale.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <tandem/tandem.h>

static int tell(tdm_status status) {
    printf("%s\n", tdm_status_name(status));
    if (status != TDM_OK) printf("%s\n", tdm_last_error());
    fflush(stdout);
    return status == TDM_OK;
}

static int list(void) {
    size_t count = 0, index = 0;
    const tdm_device_info *info = NULL;
    if (!tell(tdm_get_device_count(&count))) return 0;
    for (size_t i = 0; i < count; i++) {
        if (tdm_get_listed_device(i, &info) != TDM_OK) return tell(TDM_ERROR_BACKEND) + 3;
        printf("%s|%s|%d|%s\n", info->id, info->name, (int)info->type, info->platform);
    }
    tdm_status status = tdm_find_device(NULL, &index);
    if (status != TDM_OK || tdm_get_listed_device(index, &info) != TDM_OK) return tell(status) * 0;
    printf("default: %s\n", info->id);
    return 0;
}

/* A line a device; then which device is said to be which, and the GPUs from "gpu:0" on, the one
 * past the last of which must not be known. */
static int cards(void) {
    size_t count = 0, gpus = 0, index = 0;
    const tdm_device_info *info = NULL;
    char same[1024] = "same:", name[32];
    if (!tell(tdm_get_device_count(&count)) || tdm_get_gpu_count(&gpus) != TDM_OK) return 3;
    for (size_t i = 0; i < count; i++) {
        if (tdm_get_listed_device(i, &info) != TDM_OK) return 3;
        printf("%s name=%s uuid=%s pci=%s;\n", info->id, info->name, info->uuid, info->pci);
        size_t length = strlen(same);
        if (info->same_as[0])
            snprintf(same + length, sizeof same - length, " %s=%s", info->id, info->same_as);
    }
    printf("%s;\ngpus:", same);
    for (size_t i = 0; i < gpus; i++) {
        snprintf(name, sizeof name, "gpu:%zu", i);
        if (tdm_find_device(name, &index) != TDM_OK ||
            tdm_get_listed_device(index, &info) != TDM_OK || info->type != TDM_DEVICE_GPU)
            return 3;
        printf(" %s", info->id);
    }
    printf(";\n");
    snprintf(name, sizeof name, "gpu:%zu", gpus);
    return tdm_find_device(name, &index) == TDM_ERROR_NOT_FOUND ? 0 : 3;
}

static int find(const char *name) {
    size_t index = 0;
    const tdm_device_info *info = NULL;
    if (!tell(tdm_find_device(name, &index))) return 0;
    if (tdm_get_listed_device(index, &info) != TDM_OK) return 3;
    printf("%s\n", info->id);
    return 0;
}

enum { N = 16 };

static int replays, attends; /* runs as a graph, or 0; whether b's rows, all equal, are weighed */

static tdm_status operate(tdm_queue *queue, tdm_tensor *a, tdm_tensor *b, tdm_tensor *c) {
    tdm_matmul_options options = TDM_MATMUL_OPTIONS_DEFAULTS;
    options.transpose_b = true;
    tdm_status status = tdm_layer_norm(queue, a, NULL, NULL, 0.0, a);
    const tdm_tensor q = tdm_tensor_3d(a->buffer, TDM_F32, 1, N, N);
    tdm_tensor v = tdm_tensor_3d(b->buffer, TDM_F32, 1, N, N), y = v;
    y.buffer = c->buffer;
    if (status == TDM_OK && attends) status = tdm_attention(queue, NULL, &q, &q, &v, &y);
    if (status == TDM_OK && attends) status = tdm_attention(queue, NULL, &q, &q, &y, &v);
    return status == TDM_OK ? tdm_matmul(queue, &options, a, b, c) : status;
}

static tdm_status replay(tdm_queue *queue, tdm_tensor *a, tdm_tensor *b, tdm_tensor *c) {
    tdm_graph *graph = NULL;
    tdm_status status = tdm_graph_create(queue, &graph);
    if (status == TDM_OK) status = tdm_graph_begin(graph);
    if (status == TDM_OK) status = operate(queue, a, b, c);
    if (status == TDM_OK) status = tdm_graph_end(graph);
    for (int i = 0; i < replays && status == TDM_OK; i++)
        status = tdm_graph_replay(graph);
    tdm_graph_destroy(graph);
    return status;
}

/* LayerNorm of ±1, whose result is itself, then its product with ones: exact zeros and signs. */
static tdm_status compute(tdm_device *device, tdm_queue *queue, float *out) {
    tdm_buffer *buffers[3] = {NULL};
    tdm_status status = TDM_OK;
    float x[N * N], ones[N * N];
    for (int i = 0; i < N * N; i++) {
        x[i] = i % 2 ? -1.0f : 1.0f;
        ones[i] = (float)(i % N + 1);
    }
    tdm_tensor t[3] = {{0}};
    for (int i = 0; i < 3 && status == TDM_OK; i++) {
        status = tdm_buffer_create(device, sizeof x, &buffers[i]);
        t[i] = tdm_tensor_2d(buffers[i], TDM_F32, N, N);
    }
    if (status == TDM_OK) status = tdm_buffer_write(queue, buffers[0], 0, x, sizeof x);
    if (status == TDM_OK) status = tdm_buffer_write(queue, buffers[1], 0, ones, sizeof ones);
    if (status == TDM_OK) status = (replays ? replay : operate)(queue, &t[0], &t[1], &t[2]);
    if (status == TDM_OK) status = tdm_buffer_read(queue, buffers[2], 0, out, N * N * sizeof *out);
    for (int i = 0; i < 3; i++)
        tdm_buffer_release(buffers[i]);
    return status;
}

static int work(const char *name, int give_back) {
    tdm_device *device = NULL;
    tdm_queue *queue = NULL;
    float out[N * N];
    tdm_status status = tdm_device_open(name, &device);
    if (status == TDM_OK) status = tdm_queue_create(device, 0, &queue);
    if (status == TDM_OK) status = compute(device, queue, out);
    if (!tell(status)) return 0;
    printf("%s\n", tdm_device_get_info(device)->id);
    for (int i = 0; i < N * N; i++) {
        /* 1 - 2 + 3 … - 16 = -8 */
        if (out[i] > -8.001f && out[i] < -7.999f) continue;
        printf("wrong: element %d is %g\n", i, (double)out[i]);
        return 3;
    }
    if (give_back) {
        tdm_queue_destroy(queue);
        tdm_device_release(device);
    }
    return 0;
}

static int diagnose(void) {
    const tdm_diagnostic *item = NULL;
    size_t count = 0;
    if (!tell(tdm_get_diagnostic_count(&count))) return 0;
    for (size_t i = 0; i < count && tdm_get_diagnostic(i, &item) == TDM_OK; i++) {
        printf("%d|%s|%s|%s|%s\n", (int)item->kind, item->ok ? "ok" : "no", item->subject,
               item->detail, item->advice);
    }
    return 0;
}

static int join(pid_t child) {
    int status = 0;
    waitpid(child, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 3;
}

static int use_after_fork(const char *name) {
    tdm_device *device = NULL;
    tdm_queue *queue = NULL;
    tdm_buffer *buffer = NULL;
    float out[N * N];
    if (tdm_device_open(name, &device) != TDM_OK || tdm_queue_create(device, 0, &queue) != TDM_OK ||
        tdm_buffer_create(device, 64, &buffer) != TDM_OK || compute(device, queue, out) != TDM_OK)
        return tell(TDM_ERROR_BACKEND) + 3;
    fflush(stdout);
    pid_t child = fork();
    if (child == 0) {
        size_t count = 0;
        tdm_device *again = NULL;
        tdm_buffer *more = NULL;
        tdm_queue *other = NULL;
        tdm_event *event = NULL;
        tdm_tensor t = tdm_tensor_1d(buffer, TDM_F32, 8);
        tell(tdm_get_device_count(&count));
        tell(tdm_device_open(name, &again));
        tell(tdm_queue_create(device, 0, &other));
        tell(tdm_event_create(device, &event));
        tell(tdm_buffer_create(device, 64, &more));
        tell(tdm_buffer_write(queue, buffer, 0, out, 64));
        tell(tdm_buffer_read(queue, buffer, 0, out, 64));
        tell(tdm_fill(queue, 1.0, &t));
        tell(tdm_add(queue, &t, &t, &t));
        tell(tdm_queue_finish(queue));
        tell(tdm_check_fork());
        /* Giving back must not hang either. */
        tdm_buffer_release(buffer);
        tdm_queue_destroy(queue);
        tdm_device_release(device);
        printf("child ends\n");
        fflush(stdout);
        exit(0);
    }
    int result = join(child);
    printf("parent:\n");
    tell(compute(device, queue, out));
    tdm_buffer_release(buffer);
    tdm_queue_destroy(queue);
    tdm_device_release(device);
    return result;
}

static int fork_first(void) {
    pid_t child = fork();
    if (child == 0) exit(work("cpu", 1));
    int result = join(child);
    return result ? result : work("cpu", 1);
}

/* 255 * 255 - 65024 in f16, which has no 65025. */
static tdm_status add_bias(tdm_device *device, tdm_queue *queue, uint16_t *out) {
    tdm_buffer *buffer = NULL;
    tdm_status status = tdm_buffer_create(device, (3 + N) * N * sizeof *out, &buffer);
    if (status != TDM_OK) return status;
    tdm_tensor a = tdm_tensor_2d(buffer, TDM_F16, N, 1), b = tdm_tensor_2d(buffer, TDM_F16, 1, N);
    tdm_tensor bias = tdm_tensor_1d(buffer, TDM_F16, N), c = tdm_tensor_2d(buffer, TDM_F16, N, N);
    tdm_matmul_options options = TDM_MATMUL_OPTIONS_DEFAULTS;
    b.offset = N, bias.offset = 2 * N, c.offset = 3 * N;
    options.bias = &bias;
    status = tdm_fill(queue, 255, &a);
    if (status == TDM_OK) status = tdm_fill(queue, 255, &b);
    if (status == TDM_OK) status = tdm_fill(queue, -65024, &bias);
    if (status == TDM_OK) status = tdm_matmul(queue, &options, &a, &b, &c);
    if (status == TDM_OK)
        status = tdm_buffer_read(queue, buffer, 3 * N * sizeof *out, out, N * N * sizeof *out);
    tdm_buffer_release(buffer);
    return status;
}

static void check_bias(const char *name) {
    enum { F16_ONE = 0x3c00 };
    tdm_device *device = NULL;
    tdm_queue *queue = NULL;
    uint16_t out[N * N] = {0};
    tdm_status status = tdm_device_open(name, &device);
    if (status == TDM_OK) status = tdm_queue_create(device, 0, &queue);
    if (status == TDM_OK) status = add_bias(device, queue, out);
    if (status == TDM_OK && (out[0] != F16_ONE || out[N * N - 1] != F16_ONE))
        printf("wrong: with its bias the product is %x\n", out[0]);
    tdm_queue_destroy(queue);
    tdm_device_release(device);
}

static void *work_in_thread(void *name) {
    for (int i = 0; i < 50; i++) {
        work(name, 1);
        check_bias(name);
    }
    return NULL;
}

static pthread_t worker;

static void join_worker(void) { pthread_join(worker, NULL); }

/* Returns from main while another thread works; with `join` the end of the process waits for it. */
static int end_with_thread(char *name, int join_it) {
    if (join_it && atexit(join_worker) != 0) return 3;
    check_bias(name); /* by now the libraries have been used once */
    if (work(name, 1) != 0 || pthread_create(&worker, NULL, work_in_thread, name) != 0) _exit(3);
    usleep(5000);
    return 0;
}

static int text(const char *name) {
    static const float values[] = {1.5f, -1234.25f, 1e10f, 0.0f};
    tdm_device *device = NULL;
    tdm_queue *queue = NULL;
    tdm_buffer *buffer = NULL;
    char small[256], large[256];
    if (!setlocale(LC_ALL, "")) return 3;
    printf("%.1f\n", 0.5);
    tdm_status status = tdm_device_open(name, &device);
    if (status == TDM_OK) status = tdm_queue_create(device, 0, &queue);
    if (status == TDM_OK) status = tdm_buffer_create(device, sizeof values, &buffer);
    if (status == TDM_OK) status = tdm_buffer_write(queue, buffer, 0, values, sizeof values);
    tdm_tensor two = tdm_tensor_1d(buffer, TDM_F32, 2), all = tdm_tensor_1d(buffer, TDM_F32, 4);
    if (status == TDM_OK) status = tdm_format(queue, &two, small, sizeof small, NULL);
    if (status == TDM_OK) status = tdm_format(queue, &all, large, sizeof large, NULL);
    if (status == TDM_OK) printf("%s\n%s\n", small, large);
    tell(status);
    tell(tdm_rms_norm(queue, &all, NULL, -1.5, NULL, NULL, &all));
    printf("%.1f\n", 0.5); /* the locale is still the program's */
    tdm_buffer_release(buffer);
    tdm_queue_destroy(queue);
    tdm_device_release(device);
    return 0;
}

static void print_figure(const char *name, uint64_t value) {
    if (value == TDM_UNKNOWN)
        printf("%s=?", name);
    else
        printf("%s=%llu", name, (unsigned long long)value);
}

static int usage(const char *name) {
    static tdm_device_usage now = TDM_DEVICE_USAGE_DEFAULTS;
    size_t index = 0;
    tdm_status status = tdm_find_device(name, &index);
    if (status == TDM_OK) status = tdm_get_listed_device_usage(index, &now);
    if (!tell(status)) return 0;
    print_figure("memory_used", now.memory_used);
    print_figure(";\nmemory_total", now.memory_total);
    print_figure(";\ntandem_reserved", now.tandem_reserved);
    print_figure(";\nprocess_count", now.process_count);
    printf(";\n");
    for (size_t i = 0; i < now.process_count; i++) {
        printf("process %llu ", (unsigned long long)now.processes[i].pid);
        print_figure("memory", now.processes[i].memory);
        print_figure(" tandem", now.processes[i].tandem_reserved);
        printf(" name=%s;\n", now.processes[i].name);
    }
    return 0;
}

/* Memory that is taken from the driver and given back. */
static tdm_status take_again(tdm_device *device, size_t bytes) {
    tdm_buffer *buffer = NULL;
    tdm_status status = tdm_buffer_create(device, bytes, &buffer);
    tdm_buffer_release(buffer);
    return status == TDM_OK ? tdm_device_trim(device) : status;
}

/* Closes all descriptors and opens a file: it has to stay empty while memory is taken. */
static tdm_status hold_closed(tdm_device *device, size_t bytes) {
    static tdm_buffer *more;
    char path[1024];
    struct stat foreign[64];
    const char *cache = getenv("TANDEM_CACHE_DIR");
    long size = 0;
    snprintf(path, sizeof path, "%s/foreign", cache ? cache : "");
    for (int i = 3; i < 64; i++)
        close(i);
    for (int i = 3; i < 64; i++) /* one at every number that ours may have had */
        if (open(path, O_RDWR | O_CREAT, 0600) < 0) return TDM_ERROR_IO;
    tdm_status status = tdm_buffer_create(device, bytes, &more);
    for (int i = 3; i < 64; i++)
        size += fstat(i, &foreign[i]) == 0 ? (long)foreign[i].st_size : 1;
    printf("foreign: %ld bytes\n", size);
    return status;
}

static int hold(const char *how, char *name, char *bytes, char *self) {
    tdm_device *device = NULL;
    tdm_buffer *buffer = NULL;
    size_t size = (size_t)strtoull(bytes, NULL, 10);
    tdm_status status = tdm_device_open(name, &device);
    if (status == TDM_OK) status = tdm_buffer_create(device, size, &buffer);
    if (strcmp(how, "hold-and-ask") == 0) return status == TDM_OK ? usage(name) : tell(status);
    if (strcmp(how, "hold-exec") == 0 && status == TDM_OK)
        execv(self, (char *[]){self, (char[]){"hold"}, name, bytes, NULL});
    if (strcmp(how, "hold-closed") == 0 && status == TDM_OK) status = hold_closed(device, size);
    if (strcmp(how, "hold-fork") == 0) {
        pid_t child = fork();
        if (child == 0) {
            tdm_buffer_release(buffer);
            tdm_device_release(device);
            exit(0);
        }
        if (join(child) != 0) return 3;
    }
    if (!tell(status)) return 0;
    alarm(60);
    while (strcmp(how, "hold-again") == 0) {
        if (!tell(take_again(device, size))) return 3;
        printf("again\n");
        fflush(stdout);
        usleep(10000);
    }
    for (;;)
        pause();
}

/* Of ones, so that each element is K. */
static int explain(const char *name, const char *type, const char *const *extents) {
    enum { BYTES = 1 << 20 };
    static unsigned char got[BYTES];
    tdm_device *device;
    tdm_queue *queue;
    tdm_dtype dtype = TDM_F32;
    tdm_tensor a, b, c;
    int64_t size[3]; /* M, N, K */
    char why[512];
    for (int i = 0; i < 3; i++)
        size[i] = strtoll(extents[i], NULL, 10);
    for (int d = 0; d < TDM_DTYPE_COUNT; d++)
        if (strcmp(tdm_dtype_name((tdm_dtype)d), type) == 0) dtype = (tdm_dtype)d;
    tdm_status status = tdm_device_open(name, &device);
    if (status == TDM_OK) status = tdm_queue_create(device, 0, &queue);
    if (status == TDM_OK) status = tdm_ones(queue, dtype, TDM_SHAPE(size[0], size[2]), &a);
    if (status == TDM_OK) status = tdm_ones(queue, dtype, TDM_SHAPE(size[2], size[1]), &b);
    if (status == TDM_OK) status = tdm_empty(queue, dtype, TDM_SHAPE(size[0], size[1]), &c);
    if (status == TDM_OK) status = tdm_matmul(queue, NULL, &a, &b, &c);
    if (status == TDM_OK) status = tdm_matmul(queue, NULL, &a, &b, &c);
    if (status == TDM_OK && (size_t)tdm_tensor_get_count(&c) * tdm_dtype_size(dtype) <= BYTES)
        status = tdm_to_host(queue, &c, got);
    if (status == TDM_OK) status = tdm_matmul_explain(queue, NULL, &a, &b, &c, why, sizeof why);
    if (!tell(status)) return 0;
    printf("%s\n", why);
    float first;
    memcpy(&first, got, sizeof first);
    tdm_tensor_release(&a);
    tdm_tensor_release(&b);
    tdm_tensor_release(&c);
    tdm_queue_destroy(queue);
    tdm_device_release(device);
    return dtype == TDM_F32 && first != (float)size[2] ? 3 : 0;
}

static int large_product(const char *name) {
    return explain(name, "f32", (const char *const[]){"300", "300", "300"});
}

static int count_threads(void) {
    int threads = 0;
    DIR *folder = opendir("/proc/self/task");
    for (const struct dirent *e; folder && (e = readdir(folder));)
        threads += e->d_name[0] != '.';
    if (folder) closedir(folder);
    return threads;
}

static void *work_later(void *name) {
    int threads = 0;
    for (int tries = 0; tries < 200 && threads != 2; tries++) {
        usleep(100000);
        threads = count_threads();
    }
    printf("threads: %d\n", threads);
    if (large_product(name) != 0) _exit(3);
    printf("ended\n");
    fflush(stdout);
    return NULL;
}

static int leave(char *name) {
    pthread_t later;
    if (large_product(name) != 0 || pthread_create(&later, NULL, work_later, name) != 0) return 3;
    pthread_exit(NULL);
}

int main(int argc, char **argv) {
    const char *what = argc > 1 ? argv[1] : "";
    char *name = argc > 2 && strcmp(argv[2], "-") != 0 ? argv[2] : NULL;
    if (strcmp(what, "list") == 0) return list();
    if (strcmp(what, "cards") == 0) return cards();
    if (strcmp(what, "find") == 0) return find(name);
    attends = strcmp(what, "attend") == 0;
    if (attends || strcmp(what, "work") == 0) return work(name, 1);
    if (strcmp(what, "replay") == 0) return replays = 3, work(name, 1);
    if (strcmp(what, "exit") == 0) return work(name, 0);
    if (strcmp(what, "diagnose") == 0) return diagnose();
    if (strcmp(what, "secure") == 0) return printf("secure: %lu\n", getauxval(AT_SECURE)) < 0;
    if (strcmp(what, "text") == 0) return text(name);
    if (strcmp(what, "usage") == 0) return usage(name);
    if (strcmp(what, "explain") == 0 && argc > 6)
        return explain(name, argv[3], (const char *const *)argv + 4);
    if (strncmp(what, "hold", 4) == 0 && argc > 3) return hold(what, name, argv[3], argv[0]);
    if (strcmp(what, "leave") == 0) return leave(name);
    if (strcmp(what, "fork") == 0) return use_after_fork(name);
    if (strcmp(what, "fork-first") == 0) return fork_first();
    if (strcmp(what, "thread") == 0) return end_with_thread(name, 0);
    if (strcmp(what, "join") == 0) return end_with_thread(name, 1);
    fprintf(stderr, "probe: unknown command '%s'\n", what);
    return 2;
}

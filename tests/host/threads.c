/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* Threads that are cancelled in the library, threads that the library makes, and the end of both. */
#include <criterion/criterion.h>
#include <dirent.h>
#include <dlfcn.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <tandem/tandem.h>

#include "paths.h"
#include "support/check.h"
#include "support/random.h"
#include "support/run.h"

static void begin(void) {
    setenv("TANDEM_CPU_DEVICES", "2", 1);
    setenv("TANDEM_CPU_THREADS", "4", 1);
    setenv("TANDEM_CACHE_DIR", TEST_SCRATCH "/threads", 1);
    random_start();
}

TestSuite(threads, .init = begin);

/* --- a fork while threads log ------------------------------------------------------------------- */

static atomic_bool over;

static void ignore(tdm_log_level level, const char *line, void *user) {
    (void)level;
    (void)line;
    (void)user;
}

static void *keep_failing(void *context) {
    while (!atomic_load(&over))
        (void)!tdm_device_open(NULL, context);
    return NULL;
}

/* The child's call fails at once, whatever locks the parent's threads had. */
Test(threads, fork_while_others_log) {
    enum { THREADS = 3, FORKS = 200 };
    pthread_t threads[THREADS];
    tdm_device *device = NULL;
    int right = 0;
    OK(tdm_device_open("cpu", &device));
    tdm_set_log(TDM_LOG_DEBUG, ignore, NULL);
    for (int i = 0; i < THREADS; i++)
        if (pthread_create(&threads[i], NULL, keep_failing, NULL) != 0) abort();
    for (int i = 0; i < FORKS && right == i; i++) {
        int status = -1;
        const pid_t child = fork();
        if (child == 0) {
            tdm_queue *queue;
            alarm(20);
            _exit(tdm_queue_create(device, 0, &queue) == TDM_ERROR_FORKED ? 0 : 3);
        }
        right += waitpid(child, &status, 0) == child && status == 0;
        CHECK(right == i + 1, "child %d ended with %#x", i, (unsigned)status);
    }
    atomic_store(&over, true);
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    tdm_device_release(device);
}

/* --- cancelled -------------------------------------------------------------------------------- */

enum { COUNT = 1 << 20 };

typedef struct visit {
    tdm_status status; /* the first failure */
    char message[512];
    bool ended;
} visit;

static bool done(visit *v, tdm_status status) {
    if (status != TDM_OK && v->status == TDM_OK) {
        v->status = status;
        snprintf(v->message, sizeof v->message, "%s", tdm_last_error());
    }
    return status == TDM_OK;
}

static void move_and_format(visit *v, tdm_queue *queue, const tdm_tensor *x, tdm_device *other) {
    tdm_transfer *transfer = NULL;
    tdm_tensor y = {0};
    char text[256];
    size_t length;
    if (done(v, tdm_to(queue, x, other, &y))) tdm_tensor_release(&y);
    if (done(v, tdm_to_async(queue, x, other, &y, &transfer))) {
        done(v, tdm_transfer_wait(transfer));
        tdm_transfer_destroy(transfer);
        tdm_tensor_release(&y);
    }
    done(v, tdm_format(queue, x, text, sizeof text, &length));
}

#if TEST_HAS_SAFETENSORS
static void use_file(visit *v, tdm_queue *queue, const tdm_tensor *x) {
    static const char path[] = TEST_SCRATCH "/cancelled.safetensors";
    tdm_state_dict *dict = NULL;
    tdm_file *file = NULL;
    if (!done(v, tdm_state_dict_create(&dict))) return;
    done(v, tdm_state_dict_set(dict, "x", x));
    done(v, tdm_save(queue, dict, path, NULL));
    tdm_state_dict_destroy(dict);
    if (done(v, tdm_load(queue, path, NULL, &dict))) tdm_state_dict_destroy(dict);
    if (done(v, tdm_file_open(path, &file))) tdm_file_destroy(file);
}
#else
static void use_file(visit *v, tdm_queue *queue, const tdm_tensor *x) {
    (void)v;
    (void)queue;
    (void)x;
}
#endif

static void use_devices(visit *v, tdm_device *device, tdm_device *other) {
    tdm_queue *queue = NULL;
    tdm_event *event = NULL;
    tdm_tensor x = {0};
    void *pinned = NULL;
    const int64_t shape[] = {COUNT};
    if (!done(v, tdm_queue_create(device, 0, &queue))) return;
    if (done(v, tdm_event_create(device, &event))) {
        done(v, tdm_queue_record_event(queue, event));
        done(v, tdm_event_wait(event));
        tdm_event_destroy(event);
    }
    if (done(v, tdm_host_alloc(device, 4096, &pinned))) tdm_host_free(device, pinned);
    if (done(v, tdm_ones(queue, TDM_F32, 1, shape, &x))) {
        done(v, tdm_add(queue, &x, &x, &x));
        move_and_format(v, queue, &x, other);
        use_file(v, queue, &x);
        tdm_tensor_release(&x);
    }
    done(v, tdm_device_trim(device));
    done(v, tdm_queue_finish(queue));
    tdm_queue_destroy(queue);
}

/* The first calls of a program. */
__attribute__((noinline)) static void visit_all(visit *v) {
    size_t count = 0;
    static tdm_device_usage usage = TDM_DEVICE_USAGE_DEFAULTS;
    tdm_device *devices[2] = {NULL, NULL};
    done(v, tdm_get_device_count(&count));
    done(v, tdm_get_listed_device_usage(0, &usage));
    done(v, tdm_get_diagnostic_count(&count));
    if (done(v, tdm_device_open("cpu:0", &devices[0])) &&
        done(v, tdm_device_open("cpu:1", &devices[1])))
        use_devices(v, devices[0], devices[1]);
    for (int i = 0; i < 2; i++)
        tdm_device_release(devices[i]);
}

__attribute__((noinline)) static void cancel_myself(void) {
    int before;
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &before);
    pthread_cancel(pthread_self());
    pthread_setcancelstate(before, &before);
}

/* By a thread that has been cancelled already: it ends at the first cancellation point, of which
 * there must be none before the last line. (No variables here: AddressSanitizer does not see that a
 * frame goes by cancellation.) */
static void *visit_cancelled(void *context) {
    cancel_myself();
    visit_all(context);
    ((visit *)context)->ended = true;
    pthread_testcancel();
    ((visit *)context)->ended = false;
    return NULL;
}

static int open_files(void) {
    int count = 0;
    DIR *folder = opendir("/proc/self/fd");
    while (folder && readdir(folder))
        count++;
    if (folder) closedir(folder);
    return count;
}

/* A call that a thread is cancelled in is finished first, so that nothing is left locked or open.
 */
Test(threads, cancelled) {
    visit v = {0};
    pthread_t thread;
    void *result = NULL;
    for (int turn = 0; turn < 3; turn++) {
        int before = open_files();
        v = (visit){0};
        if (pthread_create(&thread, NULL, visit_cancelled, &v) != 0) abort();
        pthread_join(thread, &result);
        CHECK(v.ended, "the thread ended inside a call");
        CHECK(result == PTHREAD_CANCELED, "the thread was not cancelled at its end");
        CHECK(v.status == TDM_OK, "%s: %s", tdm_status_name(v.status), v.message);
        /* drivers that were opened in the first turn may keep files open */
        CHECK(turn == 0 || open_files() == before, "%d files are open, not %d", open_files(),
              before);
    }
    tdm_device *device = NULL;
    OK(tdm_device_open("cpu", &device));
    tdm_device_release(device);
}

/* --- signals ---------------------------------------------------------------------------------- */

/* The signals that a thread of ours blocks, as bits, bit 0 for signal 1. */
static unsigned long long bit(int number) { return 1ULL << (number - 1); }

static void check_mask(unsigned long long blocked, const char *which) {
    static const int ours[] = {SIGHUP,  SIGINT,  SIGQUIT, SIGPIPE, SIGALRM, SIGTERM,
                               SIGCHLD, SIGUSR1, SIGUSR2, SIGPROF, SIGURG,  SIGWINCH};
    static const int faults[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL};
    for (size_t i = 0; i < sizeof ours / sizeof *ours; i++)
        CHECK(blocked & bit(ours[i]), "%s takes signal %d", which, ours[i]);
    CHECK(blocked & bit(SIGRTMIN), "%s takes SIGRTMIN", which);
    for (size_t i = 0; i < sizeof faults / sizeof *faults; i++)
        CHECK(!(blocked & bit(faults[i])), "%s blocks its own fault %d", which, faults[i]);
}

/* The mask of a thread of this process. */
static bool read_mask(const char *thread, unsigned long long *blocked) {
    char path[300], line[256];
    bool found = false;
    snprintf(path, sizeof path, "/proc/self/task/%s/status", thread);
    FILE *file = fopen(path, "re");
    while (file && !found && fgets(line, sizeof line, file))
        found = sscanf(line, "SigBlk: %llx", blocked) == 1;
    if (file) fclose(file);
    return found;
}

/* The threads that a process has, by number; those of the test's own framework are none of ours. */
typedef struct thread_list {
    int count;
    char names[256][16];
} thread_list;

static bool is_known(const thread_list *list, const char *name) {
    for (int i = 0; i < list->count; i++)
        if (strcmp(list->names[i], name) == 0) return true;
    return false;
}

/* Adds the threads that are not in the list, and calls f for each; how many. */
static int each_new_thread(thread_list *list, void (*f)(const char *thread)) {
    int count = 0;
    DIR *folder = opendir("/proc/self/task");
    for (struct dirent *e; folder && (e = readdir(folder));) {
        if (e->d_name[0] == '.' || is_known(list, e->d_name) || list->count == 256) continue;
        snprintf(list->names[list->count++], sizeof list->names[0], "%.15s", e->d_name);
        count++;
        if (f) f(e->d_name);
    }
    if (folder) closedir(folder);
    return count;
}

/* The C library blocks everything in a new thread until that runs for the first time. */
static void check_worker(const char *thread) {
    unsigned long long blocked;
    bool there = read_mask(thread, &blocked);
    for (int tries = 0; there && blocked & bit(SIGSEGV) && tries < 1000; tries++) {
        usleep(10000);
        there = read_mask(thread, &blocked);
    }
    if (there) check_mask(blocked, "a worker");
}

static unsigned long long own_mask(void) {
    sigset_t set;
    unsigned long long blocked = 0;
    pthread_sigmask(SIG_BLOCK, NULL, &set);
    for (int i = 1; i <= 64; i++)
        if (sigismember(&set, i) == 1) blocked |= bit(i);
    return blocked;
}

static tdm_status note_mask(const tdm_replica *replica, void *user) {
    unsigned long long *masks = user;
    masks[replica->index] = own_mask();
    return TDM_OK;
}

static void *end_at_once(void *nothing) { return nothing; }

/* Workers, and the threads that replicas run in, leave the process's signals to others. */
Test(threads, signals) {
    tdm_device *devices[2] = {NULL, NULL};
    tdm_queue *queue = NULL;
    tdm_state_dict *dict = NULL;
    tdm_mirror *mirror = NULL;
    tdm_tensor x = {0};
    unsigned long long before = own_mask(), masks[2] = {0, 0};
    thread_list known = {0};
    pthread_t first; /* ThreadSanitizer starts a thread with a process's first */
    const bool started = pthread_create(&first, NULL, end_at_once, NULL) == 0;
    CHECK(started, "no thread");
    if (started) pthread_join(first, NULL);
    (void)each_new_thread(&known, NULL);
    if (!OK(tdm_device_open("cpu:0", &devices[0])) || !OK(tdm_device_open("cpu:1", &devices[1])) ||
        !OK(tdm_queue_create(devices[0], 0, &queue)) ||
        !OK(tdm_ones(queue, TDM_F32, 2, (const int64_t[]){1024, 1024}, &x)))
        return;
    CHECK(own_mask() == before, "the caller's mask is another");
    int workers = each_new_thread(&known, check_worker);
    CHECK(workers >= 3, "%d workers", workers);

    OK(tdm_state_dict_create(&dict));
    OK(tdm_mirror_create(queue, dict, 2, devices, &mirror));
    OK(tdm_mirror_run(queue, mirror, note_mask, masks, 1, &x, &x));
    check_mask(masks[0], "a replica's thread");
    check_mask(masks[1], "a replica's thread");
    CHECK(own_mask() == before, "the caller's mask is another");
    tdm_mirror_destroy(mirror);
    tdm_state_dict_destroy(dict);
    tdm_tensor_release(&x);
    tdm_queue_destroy(queue);
    for (int i = 0; i < 2; i++)
        tdm_device_release(devices[i]);
}

/* --- the end ---------------------------------------------------------------------------------- */

/* Workers do not keep a process alive: they end after the last thread that has used them, and are there again for
 * another one. (The thread that ended by pthread_exit stays listed.) */
Test(threads, pthread_exit_in_main) {
    static run_result r;
    static const char *const changes[] = {ICD_NONE, "TANDEM_CPU_THREADS=4", "TANDEM_BLAS=builtin",
                                          "TANDEM_BACKEND=cpu", NULL};
    run_program(changes, (const char *const[]){TEST_PROBE, "leave", "cpu", NULL}, 60, &r);
    CHECK(r.exit_status == 0, "exit status %d: %s", r.exit_status, r.output);
    CHECK(contains_words(r.output, "TDM_OK|threads: 2\n|ended"), "'%s'", r.output);
}

static void *use_plugin(void *nothing) {
    int (*multiply)(void) = NULL;
    void *plugin = dlopen(TEST_PLUGIN, RTLD_NOW | RTLD_LOCAL);
    void *symbol = plugin ? dlsym(plugin, "multiply") : NULL;
    memcpy(&multiply, &symbol, sizeof multiply);
    CHECK(multiply && multiply(), "%s", plugin ? "no product" : dlerror());
    if (plugin) (void)dlclose(plugin);
    return nothing;
}

/* A static library stays mapped, as the shared one does, when what it is linked into is unloaded: the workers run in
 * it, and so does the end of each thread that has used it. */
Test(threads, plugin_that_is_unloaded) {
    for (int i = 0; i < 3; i++) {
        pthread_t thread;
        if (pthread_create(&thread, NULL, use_plugin, NULL) != 0) abort();
        (void)pthread_join(thread, NULL);
    }
}

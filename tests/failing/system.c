/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* Every call that the library makes of the system for files, processes and threads, made to fail: alone, and with all
 * later ones, each in a separate process. It saves and loads a model, compiles a kernel for users, multiplies and
 * keeps what it measured, on several threads; once with an empty cache directory, once with one that an undisturbed
 * process has filled.
 *
 *     system_calls [empty|filled NTH alone|onwards]
 *
 * A failure gives an error with a message, or right results; a model file is then the old one or the new one, whole;
 * no file is open. Once nothing fails any more the same process can do it all, and no temporary file is left, unless
 * removing it was what failed. TDM_TEST_SHARE=48: every 48th call.
 *
 * The linker replaces the calls of the library, linked into this program, with those of __wrap_open and its like. */
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <tandem/tandem.h>

#include "calls/passed_on.h"

enum { SECONDS = 120, N = 64, MANY = 1 << 18 };

/* --- calls ------------------------------------------------------------------------------------ */

/* The result of a call that fails. */
typedef enum failing_way {
    MINUS_ONE,  /* and errno */
    NOTHING,    /* NULL or no elements, and errno */
    CODE,       /* the error itself */
    CLOSES,     /* -1 and errno, but closed it is */
    CLOSES_FILE /* the same of a FILE */
} failing_way;

#define FUNCTIONS(X)                                                                               \
    X(open, MINUS_ONE, EMFILE)                                                                     \
    X(openat, MINUS_ONE, EMFILE)                                                                   \
    X(fopen, NOTHING, EMFILE)                                                                      \
    X(fdopen, NOTHING, ENOMEM)                                                                     \
    X(opendir, NOTHING, EMFILE)                                                                    \
    X(fdopendir, NOTHING, ENOMEM)                                                                  \
    X(readdir, NOTHING, EIO)                                                                       \
    X(scandir, MINUS_ONE, ENOMEM)                                                                  \
    X(read, MINUS_ONE, EIO)                                                                        \
    X(pread, MINUS_ONE, EIO)                                                                       \
    X(fread, NOTHING, EIO)                                                                         \
    X(fgets, NOTHING, EIO)                                                                         \
    X(write, MINUS_ONE, ENOSPC)                                                                    \
    X(pwrite, MINUS_ONE, ENOSPC)                                                                   \
    X(fwrite, NOTHING, ENOSPC)                                                                     \
    X(fputs, MINUS_ONE, ENOSPC)                                                                    \
    X(fflush, MINUS_ONE, ENOSPC)                                                                   \
    X(fsync, MINUS_ONE, EIO)                                                                       \
    X(ftruncate, MINUS_ONE, ENOSPC)                                                                \
    X(fchmod, MINUS_ONE, EPERM)                                                                    \
    X(rename, MINUS_ONE, EACCES)                                                                   \
    X(renameat, MINUS_ONE, EACCES)                                                                 \
    X(unlink, MINUS_ONE, EACCES)                                                                   \
    X(unlinkat, MINUS_ONE, EACCES)                                                                 \
    X(rmdir, MINUS_ONE, EBUSY)                                                                     \
    X(mkdir, MINUS_ONE, EACCES)                                                                    \
    X(mkdirat, MINUS_ONE, EACCES)                                                                  \
    X(mkdtemp, NOTHING, EACCES)                                                                    \
    X(stat, MINUS_ONE, EACCES)                                                                     \
    X(lstat, MINUS_ONE, EACCES)                                                                    \
    X(fstat, MINUS_ONE, EIO)                                                                       \
    X(fstatat, MINUS_ONE, EACCES)                                                                  \
    X(access, MINUS_ONE, EACCES)                                                                   \
    X(realpath, NOTHING, EACCES)                                                                   \
    X(readlink, MINUS_ONE, EACCES)                                                                 \
    X(flock, MINUS_ONE, ENOLCK)                                                                    \
    X(fcntl, MINUS_ONE, EMFILE)                                                                    \
    X(close, CLOSES, EIO)                                                                          \
    X(fclose, CLOSES_FILE, ENOSPC)                                                                 \
    X(posix_spawn, CODE, EAGAIN)                                                                   \
    X(posix_spawn_file_actions_init, CODE, ENOMEM)                                                 \
    X(posix_spawn_file_actions_addopen, CODE, ENOMEM)                                              \
    X(posix_spawn_file_actions_adddup2, CODE, ENOMEM)                                              \
    X(posix_spawnattr_init, CODE, ENOMEM)                                                          \
    X(waitpid, MINUS_ONE, ECHILD)                                                                  \
    X(pthread_create, CODE, EAGAIN)                                                                \
    X(pthread_attr_init, CODE, ENOMEM)                                                             \
    X(pthread_mutex_init, CODE, EAGAIN)                                                            \
    X(pthread_cond_init, CODE, EAGAIN)                                                             \
    X(pthread_rwlock_init, CODE, EAGAIN)                                                           \
    X(pthread_key_create, CODE, EAGAIN)                                                            \
    X(pthread_setspecific, CODE, ENOMEM)                                                           \
    X(pthread_sigmask, CODE, EINVAL)

typedef struct entry {
    any_function *real; /* the first: passed_on.h */
    const char *name;
    failing_way way;
    int error;
} entry;

static volatile bool watched;
static unsigned long calls, nth; /* 0: none fails */
static bool onwards;
static const entry *first; /* that failed */

outcome system_outcome(const entry *of, const long *frame);

__attribute__((used)) outcome system_outcome(const entry *of, const long *frame) {
    if (!watched) return (outcome){0, 0};
    const unsigned long call = __atomic_add_fetch(&calls, 1, __ATOMIC_RELAXED);
    if (nth == 0 || call < nth || (call > nth && !onwards)) return (outcome){0, 0};
    if (!first) first = of;
    FILE *file;
    memcpy(&file, &frame[-1], sizeof file);
    if (of->way == CLOSES) (void)((int (*)(int))of->real)((int)frame[-1]);
    if (of->way == CLOSES_FILE) (void)((int (*)(FILE *))of->real)(file);
    if (of->way == CODE) return (outcome){1, of->error};
    errno = of->error;
    return (outcome){1, of->way == NOTHING ? 0 : -1};
}

#define WRAPPED(function, way, error)                                                              \
    void __real_##function(void);                                                                  \
    extern entry system_entry_##function;                                                          \
    entry system_entry_##function = {__real_##function, #function, way, error};                    \
    PASSED_ON(__wrap_##function, system_entry_##function, system_outcome)
FUNCTIONS(WRAPPED)

/* --- what is done ----------------------------------------------------------------------------- */

static char root[40], model[64];
static char wrong[128];

static void expect(bool right, const char *what) {
    if (!right && !wrong[0]) snprintf(wrong, sizeof wrong, "%s", what);
}

#define TRY(call)                                                                                  \
    do {                                                                                           \
        const tdm_status try_status = (call);                                                      \
        if (try_status != TDM_OK) return try_status;                                               \
    } while (0)

typedef struct workplace {
    tdm_device *device;
    tdm_queue *queue;
    tdm_kernel *kernel;
    tdm_state_dict *dict, *loaded;
    tdm_cache_listing *listing;
    tdm_file *file;
    tdm_tensor x, y, c;
    float host[MANY];
} workplace;

static tdm_status expect_all(workplace *w, const tdm_tensor *tensor, float value,
                             const char *what) {
    memset(w->host, 0xff, sizeof w->host);
    TRY(tdm_to_host(w->queue, tensor, w->host));
    for (int64_t i = 0; i < tdm_tensor_get_count(tensor); i++)
        expect(w->host[i] == value, what);
    return TDM_OK;
}

/* On all threads; the kernel is compiled as C, or by the library where there is no compiler. */
static tdm_status compute(workplace *w) {
    static const int64_t shape[] = {MANY}, square[] = {N, N};
    static const tdm_parameter parameters[] = {{"x", TDM_PARAMETER_TENSOR, TDM_F32},
                                               {"y", TDM_PARAMETER_TENSOR, TDM_F32}};
    const tdm_argument arguments[] = {{"x", &w->x, 0, 0}, {"y", &w->y, 0, 0}};
    TRY(tdm_device_open("cpu", &w->device));
    TRY(tdm_queue_create(w->device, 0, &w->queue));
    TRY(tdm_empty(w->queue, TDM_F32, 1, shape, &w->x));
    TRY(tdm_empty(w->queue, TDM_F32, 1, shape, &w->y));
    TRY(tdm_empty(w->queue, TDM_F32, 2, square, &w->c));
    TRY(tdm_fill(w->queue, 3.0, &w->x));
    TRY(tdm_fill(w->queue, 0.0, &w->y));
    TRY(tdm_kernel_elementwise(w->device, "y = 2 * x + 1", parameters, 2, &w->kernel));
    TRY(tdm_kernel_run(w->queue, w->kernel, arguments, 2));
    return expect_all(w, &w->y, 7.0f, "a kernel");
}

static tdm_status multiply(workplace *w, bool *kept) {
    const tdm_tensor a = tdm_tensor_2d(w->x.buffer, TDM_F32, N, N),
                     b = tdm_tensor_2d(w->y.buffer, TDM_F32, N, N);
    tdm_matmul_tuning tuning = TDM_MATMUL_TUNING_DEFAULTS;
    TRY(tdm_matmul_tune(w->queue, NULL, &a, &b, &w->c, 0.0, &tuning));
    *kept = tuning.kept;
    TRY(tdm_fill(w->queue, -1.0, &w->c));
    TRY(tdm_matmul(w->queue, NULL, &a, &b, &w->c));
    return expect_all(w, &w->c, 21.0f * N, "a product");
}

static tdm_status use_files(workplace *w) {
    const tdm_file_entry *of_y;
    tdm_tensor read;
    TRY(tdm_state_dict_create(&w->dict));
    TRY(tdm_state_dict_set(w->dict, "y", &w->y));
    TRY(tdm_state_dict_set(w->dict, "c", &w->c));
    TRY(tdm_save(w->queue, w->dict, model, NULL));
    TRY(tdm_load(w->queue, model, NULL, &w->loaded));
    TRY(tdm_state_dict_get(w->loaded, "y", &read));
    TRY(expect_all(w, &read, 7.0f, "a tensor that was loaded"));
    TRY(tdm_fill(w->queue, 0.0, &w->x));
    TRY(tdm_file_open(model, &w->file));
    TRY(tdm_file_find(w->file, "y", &of_y));
    TRY(tdm_file_read(w->queue, w->file, of_y, 0, MANY, NULL, &w->x));
    TRY(expect_all(w, &w->x, 7.0f, "a tensor of a file"));
    TRY(tdm_cache_listing_create(&w->listing));
    return tdm_queue_finish(w->queue);
}

static tdm_status work(bool *kept) {
    static workplace w;
    memset(&w, 0, sizeof w);
    watched = true;
    tdm_status status = compute(&w);
    if (status == TDM_OK) status = multiply(&w, kept);
    if (status == TDM_OK) status = use_files(&w);
    tdm_file_destroy(w.file);
    tdm_cache_listing_destroy(w.listing);
    tdm_state_dict_destroy(w.loaded);
    tdm_state_dict_destroy(w.dict);
    tdm_kernel_release(w.kernel);
    tdm_tensor_release(&w.c);
    tdm_tensor_release(&w.y);
    tdm_tensor_release(&w.x);
    tdm_queue_destroy(w.queue);
    tdm_device_release(w.device);
    watched = false;
    return status;
}

/* --- one failure, in a child ------------------------------------------------------------------ */

/* Is the name one that the library gives a file that is being written, or the folder of a compiler's? */
static bool is_temporary(const char *name) {
    const char *const end = strrchr(name, '.');
    return strncmp(name, "tandem-", 7) == 0 ||
           (end && end[1] >= '0' && end[1] <= '9' && strchr(end, '-')) ||
           (strstr(name, "model") && strcmp(name, "model.safetensors") != 0);
}

/* Entries of a folder and, of temporary ones, of those in it. */
static int count_files(const char *folder, bool temporary) {
    int count = 0;
    DIR *open_folder = opendir(folder);
    for (struct dirent *e; open_folder && (e = readdir(open_folder));) {
        char path[400];
        if (strcmp(e->d_name, ".") == 0 || strcmp(e->d_name, "..") == 0) continue;
        snprintf(path, sizeof path, "%s/%s", folder, e->d_name);
        count += !temporary || is_temporary(e->d_name);
        if (temporary && e->d_type == DT_DIR) count += count_files(path, true);
    }
    if (open_folder) closedir(open_folder);
    return count;
}

typedef struct tally {
    unsigned long calls;
    int descriptors;
} tally;

static tally *undisturbed; /* shared with the children */

static int bad(const char *what, const char *more) {
    printf("FAILED: call %lu (%s)%s: %s: %s\n", nth, first ? first->name : "none",
           onwards ? " and all later ones" : "", what, more);
    return 1;
}

static bool removes(const entry *function) {
    return strncmp(function->name, "unlink", 6) == 0 || strcmp(function->name, "rmdir") == 0;
}

static int try_failure(void) {
    bool kept = false;
    alarm(SECONDS);
    const tdm_status status = work(&kept);
    if (status != TDM_OK && !tdm_last_error()[0]) return bad("no message", "");
    if (wrong[0]) return bad("wrong results", wrong);
    const int open_files = count_files("/proc/self/fd", false);
    if (open_files > undisturbed->descriptors) return bad("a file is open still", tdm_last_error());
    const unsigned long made = calls;
    nth = 0;
    if (access(model, F_OK) == 0) {
        tdm_file *file;
        if (tdm_file_open(model, &file) != TDM_OK)
            return bad("half a model file", tdm_last_error());
        tdm_file_destroy(file);
    }
    if (work(&kept) != TDM_OK) return bad("no recovery", tdm_last_error());
    if (wrong[0]) return bad("wrong results afterwards", wrong);
    if (!kept) return bad("what was measured is not kept afterwards", "");
    if (!first) return made > 0 ? 0 : bad("no calls", "");
    if (!removes(first) && !onwards && count_files(root, true) != 0)
        return bad("files are left", root);
    return 0;
}

static int count_calls(void) {
    bool kept = false;
    if (work(&kept) != TDM_OK || wrong[0] || !kept)
        return bad("undisturbed", wrong[0] ? wrong : tdm_last_error());
    undisturbed->calls = calls;
    undisturbed->descriptors = count_files("/proc/self/fd", false);
    if (work(&kept) != TDM_OK || wrong[0])
        return bad("undisturbed, twice", wrong[0] ? wrong : tdm_last_error());
    if (count_files(root, true) != 0) return bad("undisturbed", "temporary files are left");
    return 0;
}

/* --- all of them ------------------------------------------------------------------------------ */

/* More than once: a compiler for which waiting failed may write there still. */
static void remove_all(const char *folder) {
    char command[128];
    snprintf(command, sizeof command, "rm -rf '%s' 2>/dev/null", folder);
    for (int tries = 0; system(command) != 0; tries++)
        if (tries == 100 || usleep(100000) != 0) abort();
}

static bool keeps_folder; /* of the process that in_child starts next */

/* In a folder that is new, or a copy of one that an undisturbed process has left. */
static int in_child(int (*what)(void), const char *filled) {
    char command[256];
    int how = 0;
    snprintf(root, sizeof root, "/tmp/tandem-system-XXXXXX");
    if (!mkdtemp(root)) abort();
    snprintf(command, sizeof command, "cp -rp '%s/.' '%s'", filled, root);
    if (filled && system(command) != 0) abort();
    snprintf(model, sizeof model, "%s/model.safetensors", root);
    snprintf(command, sizeof command, "%s/cache", root);
    setenv("TANDEM_CACHE_DIR", command, 1);
    setenv("TMPDIR", root, 1);
    fflush(stdout);
    const pid_t child = fork();
    if (child == 0) exit(what());
    if (child < 0 || waitpid(child, &how, 0) != child || !WIFEXITED(how))
        how = 256 * bad("the process did not end by itself", "");
    if (!keeps_folder) remove_all(root);
    return WEXITSTATUS(how);
}

static int try_all(const char *filled, unsigned share, unsigned *tried) {
    int defects = 0;
    nth = 0;
    if (in_child(count_calls, filled) != 0) return 1;
    for (unsigned long call = 1 + (unsigned long)getpid() % share; call <= undisturbed->calls;
         call += share)
        for (int k = 0; k < 2; k++, (*tried)++) {
            nth = call;
            onwards = k == 1;
            defects += in_child(try_failure, filled);
        }
    return defects;
}

int main(int argc, char **argv) {
    char kept[64];
    unsigned tried = 0;
    const char *const share = getenv("TDM_TEST_SHARE");
    const unsigned every = share && atoi(share) > 1 ? (unsigned)atoi(share) : 1;
    setvbuf(stdout, NULL, _IOLBF, 0);
    undisturbed =
        mmap(NULL, sizeof *undisturbed, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (undisturbed == MAP_FAILED) abort();
    keeps_folder = true;
    if (in_child(count_calls, NULL) != 0) return 1;
    keeps_folder = false;
    snprintf(kept, sizeof kept, "%s", root);
    if (argc == 4) {
        const bool is_filled = strcmp(argv[1], "filled") == 0;
        if (in_child(count_calls, is_filled ? kept : NULL) != 0) return 1;
        nth = strtoul(argv[2], NULL, 10);
        onwards = strcmp(argv[3], "onwards") == 0;
        return in_child(try_failure, is_filled ? kept : NULL);
    }
    int defects = try_all(kept, every, &tried);
    printf("filled cache: %lu calls, %d defects\n", undisturbed->calls, defects);
    defects += try_all(NULL, every, &tried);
    printf("empty cache: %lu calls; %u failures in all, %d defects\n", undisturbed->calls, tried,
           defects);
    remove_all(kept);
    return defects > 0;
}

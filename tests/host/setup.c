/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* Settings of a program before it uses the library: settings by call, the log, the allocator; and
 * the messages for a release of memory that it does not have. Each test is a separate process. */
#include <criterion/criterion.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "paths.h"
#include "support/check.h"
#include "support/random.h"

#include <tandem/tandem.h>

TestSuite(setup, .init = random_start);

static const tdm_status invalid = TDM_ERROR_INVALID_ARGUMENT;

/* --- tdm_configure ------------------------------------------------------------------------------
 */

/* A call takes precedence over the variable, of which a bad value no longer matters. */
Test(setup, a_call_goes_before_the_variable) {
    size_t count = 0;
    setenv("TANDEM_BACKEND", "nonsense", 1);
    setenv("TANDEM_CPU_DEVICES", "2", 1);
    OK(tdm_configure("TANDEM_BACKEND", "cpu"));
    OK(tdm_configure("TANDEM_CPU_DEVICES", "5"));
    OK(tdm_configure("TANDEM_CPU_DEVICES", "3"));
    OK(tdm_get_device_count(&count));
    CHECK(count == 3, "%zu devices", count);
    CHECK(strcmp(tdm_get_setting("TANDEM_CPU_DEVICES"), "3") == 0, "the setting is '%s'",
          tdm_get_setting("TANDEM_CPU_DEVICES"));
    CHECK(!tdm_get_setting("TANDEM_NCCL_LIBRARY") && !tdm_get_setting("HOME") &&
              !tdm_get_setting(NULL),
          "a setting that is none");
}

/* Variables of the environment; a value that is refused is no setting. */
Test(setup, settings) {
    setenv("TANDEM_CPU_DEVICES", "2", 1);
    setenv("TANDEM_NCCL_LIBRARY", "libnccl.so.2", 1);
    CHECK(strcmp(tdm_get_setting("TANDEM_CPU_DEVICES"), "2") == 0, "the environment's is '%s'",
          tdm_get_setting("TANDEM_CPU_DEVICES"));
    CHECK(!tdm_get_setting("TANDEM_NCCL_LIBRARY"), "a relative path is taken");
    REFUSED(tdm_configure("TANDEM_CPU_DEVICES", "3"), invalid, "in use already");
}

Test(setup, null_is_a_variable_that_is_not_set) {
    size_t count = 0;
    setenv("TANDEM_BACKEND", "cpu", 1);
    setenv("TANDEM_CPU_DEVICES", "4", 1);
    OK(tdm_configure("TANDEM_CPU_DEVICES", NULL));
    OK(tdm_get_device_count(&count));
    CHECK(count == 1, "%zu devices", count);
}

/* A refused call changes nothing, and is reported at once. */
Test(setup, refused_settings) {
    static char path[64 << 10];
    size_t count = 0;
    memset(path, 'x', sizeof path - 1);
    path[0] = '/';
    setenv("TANDEM_BACKEND", "cpu", 1);
    OK(tdm_configure("TANDEM_CPU_DEVICES", "2"));
    REFUSED(tdm_configure("TANDEM_CPU_DEVICES", "0"), TDM_ERROR_ENVIRONMENT,
            "tdm_configure|TANDEM_CPU_DEVICES|\"0\"|1 to 64");
    REFUSED(tdm_configure("TANDEM_BLAS", "atlas"), TDM_ERROR_ENVIRONMENT, "atlas|did you mean");
    REFUSED(tdm_configure("TANDEM_MATH", ""), TDM_ERROR_ENVIRONMENT, "empty");
    REFUSED(tdm_configure("TANDEM_CACHE_DIR", "here"), TDM_ERROR_ENVIRONMENT, "absolute path");
    REFUSED(tdm_configure("TANDEM_CACHE_DIR", path), TDM_ERROR_ENVIRONMENT, "too long");
    REFUSED(tdm_configure("TANDEM_CPUS", "2"), TDM_ERROR_NOT_FOUND,
            "TANDEM_CPUS\" is not a variable of Tandem");
    REFUSED(tdm_configure("TANDEM_LOGS", "2"), TDM_ERROR_NOT_FOUND, "did you mean TANDEM_LOG?");
    CHECK(tdm_configure("TANDEM_CPUS", "2") != TDM_OK && !strstr(tdm_last_error(), "did you mean"),
          "%s", tdm_last_error());
    REFUSED(tdm_configure("backend", "cpu"), TDM_ERROR_NOT_FOUND, "backend");
    REFUSED(tdm_configure(NULL, "cpu"), invalid, "name|NULL");
    OK(tdm_get_device_count(&count));
    CHECK(count == 2, "%zu devices", count);
    REFUSED(tdm_configure("TANDEM_CPU_DEVICES", "3"), invalid, "in use already");
    OK(tdm_get_device_count(&count));
    CHECK(count == 2, "%zu devices", count);
}

/* --- the log ------------------------------------------------------------------------------------
 */

typedef struct lines {
    int count[5];
    char last[5][1024];
} lines;

static void note(tdm_log_level level, const char *line, void *user) {
    lines *l = user;
    if (level < TDM_LOG_ERROR || level > TDM_LOG_DEBUG || strchr(line, '\n')) abort();
    l->count[level]++;
    snprintf(l->last[level], sizeof l->last[level], "%s", line);
}

Test(setup, log) {
    static lines l;
    size_t count = 0;
    tdm_device *device = NULL;
    setenv("TANDEM_BACKEND", "cpu", 1);
    tdm_set_log(TDM_LOG_INFO, note, &l);
    OK(tdm_device_open("cpu", &device));
    CHECK(l.count[TDM_LOG_INFO] > 0 && contains_words(l.last[TDM_LOG_INFO], "opened|cpu:0"), "%s",
          l.last[TDM_LOG_INFO]);
    REFUSED(tdm_get_device_count(NULL), invalid, "count");
    CHECK(l.count[TDM_LOG_DEBUG] == 0, "a line of a level that is not wanted");
    tdm_set_log(TDM_LOG_DEBUG, note, &l);
    CHECK(tdm_get_device_count(NULL) == invalid, "%s", tdm_last_error());
    CHECK(l.count[TDM_LOG_DEBUG] == 1 && contains_words(l.last[TDM_LOG_DEBUG], "INVALID|count"),
          "%d: %s", l.count[TDM_LOG_DEBUG], l.last[TDM_LOG_DEBUG]);
    tdm_set_log(TDM_LOG_OFF, note, &l);
    REFUSED(tdm_get_device_count(NULL), invalid, "count");
    tdm_set_log(TDM_LOG_DEBUG, NULL, &l);
    REFUSED(tdm_get_device_count(NULL), invalid, "count");
    CHECK(l.count[TDM_LOG_DEBUG] == 1, "%d lines", l.count[TDM_LOG_DEBUG]);
    OK(tdm_get_device_count(&count));
    tdm_device_release(device);
}

static long size_of(const char *path) {
    struct stat status;
    return stat(path, &status) == 0 ? (long)status.st_size : -1;
}

/* The program's setting takes the place of TANDEM_LOG, before and after the first use. */
Test(setup, log_of_a_call_and_of_the_variable) {
    static const char path[] = TEST_SCRATCH "/setup-log";
    static lines l;
    size_t count = 0;
    (void)unlink(path);
    setenv("TANDEM_BACKEND", "cpu", 1);
    OK(tdm_configure("TANDEM_LOG", "debug:" TEST_SCRATCH "/setup-log"));
    REFUSED(tdm_get_device_count(NULL), invalid, "count");
    const long written = size_of(path);
    CHECK(written > 0, "the log has %ld bytes", written);
    tdm_set_log(TDM_LOG_DEBUG, note, &l);
    CHECK(tdm_get_device_count(NULL) == invalid, "%s", tdm_last_error());
    CHECK(l.count[TDM_LOG_DEBUG] == 1, "%d lines", l.count[TDM_LOG_DEBUG]);
    tdm_set_log(TDM_LOG_OFF, NULL, NULL);
    REFUSED(tdm_get_device_count(NULL), invalid, "count");
    CHECK(size_of(path) == written, "%ld bytes, then %ld", written, size_of(path));
    OK(tdm_get_device_count(&count));
    (void)unlink(path);
}

/* A program may close the log's file, and open its own under that number. */
Test(setup, log_whose_file_was_closed) {
    static const char path[] = TEST_SCRATCH "/setup-log-closed", own[] = TEST_SCRATCH "/setup-own";
    struct stat log, open_one;
    size_t count = 0;
    int replaced = 0;
    const int file = open(own, O_RDWR | O_CREAT | O_TRUNC, 0600);
    (void)unlink(path);
    OK(tdm_configure("TANDEM_LOG", "debug:" TEST_SCRATCH "/setup-log-closed"));
    OK(tdm_configure("TANDEM_BACKEND", "cpu"));
    OK(tdm_get_device_count(&count));
    CHECK(file >= 0 && stat(path, &log) == 0 && log.st_size > 0, "no log");
    for (int i = 3; i < 256; i++)
        if (fstat(i, &open_one) == 0 && open_one.st_ino == log.st_ino &&
            open_one.st_dev == log.st_dev)
            replaced += dup2(file, i) == i;
    REFUSED(tdm_get_device_count(NULL), invalid, "count");
    CHECK(replaced == 1 && size_of(own) == 0, "%d files, %ld bytes", replaced, size_of(own));
    (void)unlink(own), (void)unlink(path);
}

Test(setup, log_set_before_the_first_use) {
    static const char path[] = TEST_SCRATCH "/setup-log-before";
    size_t count = 0;
    (void)unlink(path);
    setenv("TANDEM_BACKEND", "cpu", 1);
    setenv("TANDEM_LOG", "debug:" TEST_SCRATCH "/setup-log-before", 1);
    tdm_set_log(TDM_LOG_OFF, NULL, NULL);
    OK(tdm_get_device_count(&count));
    REFUSED(tdm_get_device_count(NULL), invalid, "count");
    CHECK(size_of(path) <= 0, "the log has %ld bytes", size_of(path));
    (void)unlink(path);
}

/* --- the allocator ------------------------------------------------------------------------------
 */

static atomic_size_t pieces, bytes_out, calls;
static atomic_bool short_of_memory;

static void *give(size_t bytes, void *user) {
    if (user != &pieces || bytes == 0) abort();
    atomic_fetch_add(&calls, 1);
    if (atomic_load(&short_of_memory)) return NULL;
    atomic_fetch_add(&pieces, 1);
    atomic_fetch_add(&bytes_out, bytes);
    size_t *made = malloc(bytes + 16);
    if (!made) abort();
    *made = bytes;
    return made + 2;
}

static void take(void *pointer, size_t bytes, void *user) {
    size_t *made = (size_t *)pointer - 2;
    if (user != &pieces || *made != bytes) abort();
    atomic_fetch_sub(&pieces, 1);
    atomic_fetch_sub(&bytes_out, bytes);
    free(made);
}

/* All host memory comes from there and goes back there, and a failure is reported as such. */
Test(setup, allocator) {
    tdm_allocator allocator = TDM_ALLOCATOR_DEFAULTS;
    tdm_device *device = NULL;
    tdm_queue *queue = NULL;
    tdm_state_dict *dict = NULL;
    tdm_tensor x = {0}, y = {0};
    setenv("TANDEM_BACKEND", "cpu", 1);
    allocator.allocate = give;
    allocator.user = &pieces;
    REFUSED(tdm_set_allocator(&allocator), invalid, "release|NULL");
    allocator.release = take;
    OK(tdm_set_allocator(&allocator));
    OK(tdm_device_open("cpu", &device));
    const size_t before = atomic_load(&pieces);
    CHECK(before > 0, "nothing was taken");
    OK(tdm_queue_create(device, 0, &queue));
    OK(tdm_ones(queue, TDM_F32, TDM_SHAPE(3, 5), &x));
    OK(tdm_to(queue, &x, device, &y));
    OK(tdm_state_dict_create(&dict));
    OK(tdm_state_dict_set(dict, "x", &x));
    CHECK(atomic_load(&pieces) > before + 3, "%zu pieces", atomic_load(&pieces));
    atomic_store(&short_of_memory, true);
    tdm_tensor z;
    REFUSED(tdm_ones(queue, TDM_F32, TDM_SHAPE(3, 5), &z), TDM_ERROR_OUT_OF_MEMORY, "memory");
    atomic_store(&short_of_memory, false);
    OK(tdm_ones(queue, TDM_F32, TDM_SHAPE(3, 5), &z));
    tdm_tensor_release(&z);
    tdm_state_dict_destroy(dict);
    tdm_tensor_release(&x);
    tdm_tensor_release(&y);
    tdm_queue_destroy(queue);
    REFUSED(tdm_set_allocator(&allocator), invalid, "in use already");
    REFUSED(tdm_set_allocator(NULL), invalid, "allocator|NULL");
    allocator.size = 0;
    REFUSED(tdm_set_allocator(&allocator), invalid, "TDM_ALLOCATOR_DEFAULTS");
    tdm_device_release(device);
}

/* An object that was made without a device has memory of the former allocator. */
Test(setup, allocator_after_an_object) {
    tdm_allocator allocator = TDM_ALLOCATOR_DEFAULTS;
    tdm_state_dict *dict = NULL;
    allocator.allocate = give;
    allocator.release = take;
    allocator.user = &pieces;
    OK(tdm_state_dict_create(&dict));
    OK(tdm_state_dict_set_metadata(dict, "name", "value"));
    REFUSED(tdm_set_allocator(&allocator), invalid, "tdm_set_allocator|in use already");
    tdm_state_dict_destroy(dict);
    CHECK(atomic_load(&calls) == 0, "the other allocator was called");
}

/* --- releasing ----------------------------------------------------------------------------------
 */

static tdm_device *device;
static tdm_queue *queue;

static void open_cpu(void) {
    setenv("TANDEM_BACKEND", "cpu", 1);
    OK(tdm_device_open("cpu", &device));
    OK(tdm_queue_create(device, 0, &queue));
}

static void close_cpu(void) {
    tdm_queue_destroy(queue);
    tdm_device_release(device);
}

/* A copy of the value has no reference, a retained one has. */
Test(setup, retained_copies) {
    open_cpu();
    tdm_tensor x, y, none;
    float got[4];
    OK(tdm_ones(queue, TDM_F32, TDM_SHAPE(4), &x));
    y = tdm_tensor_retain(&x);
    tdm_tensor_release(&x);
    tdm_tensor_release(&x);
    CHECK(!x.buffer, "a released tensor keeps its buffer");
    OK(tdm_to_host(queue, &y, got));
    CHECK(got[3] == 1.0f, "%g", got[3]);
    tdm_tensor_release(&y);
    none = tdm_tensor_retain(NULL);
    CHECK(!none.buffer && none.ndim == 0, "not all zero");
    none = tdm_tensor_retain(&none);
    tdm_tensor_release(&none);
    close_cpu();
}

#if !defined(__SANITIZE_ADDRESS__) && defined(NDEBUG)
/* Both x and its copy are released: the second release is reported, and hits no other memory. */
Test(setup, released_twice) {
    static lines l;
    open_cpu();
    tdm_set_log(TDM_LOG_ERROR, note, &l);
    tdm_tensor x, y, others[8];
    OK(tdm_ones(queue, TDM_F32, TDM_SHAPE(1000), &x));
    y = x;
    tdm_tensor_release(&x);
    for (int i = 0; i < 8; i++)
        OK(tdm_full(queue, i, TDM_F32, TDM_SHAPE(1000), &others[i]));
    REFUSED(tdm_scale(queue, 2, &y, &others[0]), invalid, "x was released");
    REFUSED(tdm_scale(queue, 2, &others[0], &y), invalid, "y was released");
    tdm_graph *graph = NULL;
    OK(tdm_graph_create(queue, &graph));
    OK(tdm_graph_begin(graph));
    OK(tdm_scale(queue, 2, &others[0], &others[0]));
    OK(tdm_graph_end(graph));
    REFUSED(tdm_graph_set_buffer(graph, others[0].buffer, y.buffer), invalid, "was released");
    tdm_graph_destroy(graph);
    CHECK(l.count[TDM_LOG_ERROR] == 0, "%s", l.last[TDM_LOG_ERROR]);
    CHECK(tdm_buffer_retain(y.buffer) == y.buffer && l.count[TDM_LOG_ERROR] == 1, "%d lines",
          l.count[TDM_LOG_ERROR]);
    tdm_tensor_release(&y);
    CHECK(l.count[TDM_LOG_ERROR] == 2 &&
              contains_words(l.last[TDM_LOG_ERROR], "tdm_buffer_release|released before"),
          "%d: %s", l.count[TDM_LOG_ERROR], l.last[TDM_LOG_ERROR]);
    CHECK(contains_words(tdm_last_error(), "released before"), "%s", tdm_last_error());
    for (int i = 0; i < 8; i++) {
        float got[1000];
        OK(tdm_to_host(queue, &others[i], got));
        CHECK(got[999] == (float)i, "tensor %d is %g", i, got[999]);
        tdm_tensor_release(&others[i]);
    }
    close_cpu();
}
#endif

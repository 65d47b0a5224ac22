/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* Reports of defects, and calls that are made to fail. */
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "sim.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

/* --- reports ------------------------------------------------------------------------------------
 */

static atomic_bool counting;
static atomic_ulong reports;
static char last_report[512];

void sim_report(const char *format, ...) {
    char text[sizeof last_report];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    fprintf(stderr, "cuda_sim: %s\n", text);
    pthread_mutex_lock(&lock);
    memcpy(last_report, text, sizeof text);
    pthread_mutex_unlock(&lock);
    atomic_fetch_add(&reports, 1);
    if (!atomic_load(&counting)) abort();
}

void cuda_sim_count_reports(void) { atomic_store(&counting, true); }

unsigned long cuda_sim_reports(void) { return atomic_load(&reports); }

const char *cuda_sim_last_report(void) { return last_report; }

/* --- counts of calls ----------------------------------------------------------------------------
 */

/* Names are added under the lock and then only read, and the counts are relaxed: a call must not
 * order the work of one thread before that of another, or ThreadSanitizer would see less. */
enum { MAX_FUNCTIONS = 160, MAX_FAULTS = 8 };
static struct {
    _Atomic(const char *) name;
    atomic_ulong calls;
} functions[MAX_FUNCTIONS];

static atomic_ulong *count_of(const char *function) {
    for (int i = 0; i < MAX_FUNCTIONS; i++) {
        const char *name = atomic_load_explicit(&functions[i].name, memory_order_acquire);
        if (!name) {
            pthread_mutex_lock(&lock);
            name = atomic_load(&functions[i].name);
            if (!name) atomic_store(&functions[i].name, function);
            pthread_mutex_unlock(&lock);
            if (!name) return &functions[i].calls;
        }
        if (strcmp(name, function) == 0) return &functions[i].calls;
    }
    sim_report("more than %d functions", MAX_FUNCTIONS);
    return &functions[0].calls;
}

unsigned long cuda_sim_calls(const char *function) {
    for (int i = 0; i < MAX_FUNCTIONS; i++) {
        const char *name = atomic_load(&functions[i].name);
        if (!name) break;
        if (strcmp(name, function) == 0) return atomic_load(&functions[i].calls);
    }
    return 0;
}

const char *cuda_sim_called(size_t index) {
    return index < MAX_FUNCTIONS ? atomic_load(&functions[index].name) : NULL;
}

/* --- faults -------------------------------------------------------------------------------------
 */

static struct {
    char function[64];
    unsigned long nth; /* of all calls counted */
    bool onwards;
    int error;
} faults[MAX_FAULTS];
static atomic_int fault_count;
static atomic_ulong failures;

void cuda_sim_fail(const char *function, unsigned long nth, bool onwards, int error) {
    unsigned long before = cuda_sim_calls(function);
    pthread_mutex_lock(&lock);
    int at = atomic_load(&fault_count);
    if (at < MAX_FAULTS) {
        snprintf(faults[at].function, sizeof faults[at].function, "%s", function);
        faults[at].nth = before + nth;
        faults[at].onwards = onwards;
        faults[at].error = error;
        atomic_store(&fault_count, at + 1);
    }
    pthread_mutex_unlock(&lock);
    if (at >= MAX_FAULTS) sim_report("more than %d faults", MAX_FAULTS);
}

void cuda_sim_heal(void) {
    pthread_mutex_lock(&lock);
    atomic_store(&fault_count, 0);
    atomic_store(&failures, 0);
    for (int i = 0; i < MAX_FUNCTIONS; i++) {
        atomic_store(&functions[i].name, NULL);
        atomic_store(&functions[i].calls, 0);
    }
    pthread_mutex_unlock(&lock);
}

unsigned long cuda_sim_failures(void) { return atomic_load(&failures); }

static int find_fault(const char *function, unsigned long call) {
    int error = 0;
    pthread_mutex_lock(&lock);
    for (int i = 0; i < atomic_load(&fault_count) && !error; i++) {
        if (strcmp(faults[i].function, function) != 0) continue;
        if (call == faults[i].nth || (faults[i].onwards && call > faults[i].nth))
            error = faults[i].error;
    }
    pthread_mutex_unlock(&lock);
    if (error) atomic_fetch_add(&failures, 1);
    return error;
}

/* Errors that end a context, whichever call reports them. */
static bool loses_device(int error) {
    return error == cudaErrorIllegalAddress || error == cudaErrorLaunchFailure ||
           error == cudaErrorHardwareStackError || error == cudaErrorAssert;
}

int sim_fault(const char *function) {
    static atomic_int owner;
    int expected = 0, self = (int)getpid();
    (void)sim_get(); /* faults that the environment asks for */
    if (!atomic_compare_exchange_strong(&owner, &expected, self) && expected != self)
        sim_report("%s in a process that was forked after CUDA was used", function);
    unsigned long call = atomic_fetch_add_explicit(count_of(function), 1, memory_order_relaxed) + 1;
    if (!atomic_load_explicit(&fault_count, memory_order_relaxed)) return 0;
    int error = find_fault(function, call);
    if (strncmp(function, "cu", 2) == 0 && strncmp(function, "cublas", 6) != 0 &&
        loses_device(error) && sim_current())
        sim_lose_context(sim_current(), error);
    return error;
}

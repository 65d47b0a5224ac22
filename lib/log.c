/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* The log that a program may ask for. */
#include "log.h"

#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>

#include "backend.h"
#include "machine/text.h"
#include "threads.h"

static atomic_int most; /* the level up to which somebody wants lines */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct {
    tdm_log_function function;
    void *user;
} sink;

void tdm_set_log(tdm_log_level level, tdm_log_function function, void *user) {
    TDMI_UNCANCELLED();
    TDMI_LOCKED(&lock);
    sink.function = function;
    sink.user = user;
    atomic_store(&most, function ? (int)level : TDM_LOG_OFF);
}

bool tdmi_logs(tdm_log_level level) {
    return atomic_load_explicit(&most, memory_order_relaxed) >= (int)level;
}

void tdmi_log(tdm_log_level level, const char *format, ...) {
    if (!tdmi_logs(level)) return;
    char line[1024];
    va_list list;
    va_start(list, format);
    tdmi_print_list(line, sizeof line, format, list);
    va_end(list);
    tdmi_clean_text(line, false);
    pthread_mutex_lock(&lock);
    tdm_log_function function = sink.function;
    void *user = sink.user;
    pthread_mutex_unlock(&lock);
    /* not under the lock: the function may take its time */
    if (function) function(level, line, user);
}

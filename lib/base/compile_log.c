/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* What a compiler said, for each thread: of any length, and so not where the last error is. */
#include <pthread.h>

#include <tandem/kernel.h>

#include "base/fail.h"
#include "base/memory.h"
#include "base/threads.h"

static pthread_once_t once = PTHREAD_ONCE_INIT;
static pthread_key_t key;
static bool has_key;

static void make_key(void) { has_key = pthread_key_create(&key, tdmi_free) == 0; }

void tdmi_keep_compile_log(const char *log) {
    pthread_once(&once, make_key);
    if (!has_key) return;
    char *kept = tdmi_strdup(log), *before = pthread_getspecific(key);
    if (pthread_setspecific(key, kept) == 0)
        tdmi_free(before);
    else
        tdmi_free(kept);
}

const char *tdm_last_compile_log(void) {
    TDMI_UNCANCELLED();
    pthread_once(&once, make_key);
    const char *log = has_key ? pthread_getspecific(key) : NULL;
    return log ? log : "";
}

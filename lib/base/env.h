/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* The TANDEM_… environment, read and checked once. */
#ifndef TDMI_ENV_H
#define TDMI_ENV_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <tandem/device.h>
#include <tandem/setup.h>

#include "base/blas_list.h"
#include "base/fail.h"

typedef struct tdmi_env {
    /* backends in the order of the selection */
    const char *backends[TDM_BACKEND_COUNT]; /* names */
    size_t backend_count;
    bool backend_given; /* TANDEM_BACKEND is set and is not "auto" */
    const char *device; /* TANDEM_DEVICE, or NULL */
    int cpu_devices;
    int cpu_threads;                   /* 0: not set */
    const char *blas_text;             /* TANDEM_BLAS, or NULL */
    uint8_t blas[TDMI_BLAS_COUNT + 1]; /* the providers that it names, in its order */
    size_t blas_count;
    bool tf32;
    /* where the cache directory is, and the variable that says so; NULL and "" without one */
    const char *cache_dir, *cache_variable;
    const char *library_path; /* TANDEM_LIBRARY_PATH, absolute paths only; or NULL */
    const char *cpu_compiler; /* TANDEM_CPU_COMPILER: an absolute path, "none", or NULL */
    const char *trace;        /* TANDEM_TRACE, or NULL */
    tdm_log_level log;        /* TANDEM_LOG */
    const char *log_file;     /* NULL: stderr */
    const char *profile;      /* TANDEM_PROFILE, or NULL */
    double verify;            /* TANDEM_VERIFY: the share of calls, 0 for none … */
    const char *
        verify_folder; /* … and where operands of a wrong one are saved; NULL: the working directory */
    /* This program has more rights than its caller (setuid, setgid, file capabilities), so that the
     * caller's environment may name no file to it: cache_dir, library_path, trace and profile are NULL, log is
     * off, and no library is opened, because drivers read further variables. */
    bool privileged;
} tdmi_env;

/* The environment as it was at the first call. *env is usable (without what was refused) even
 * when the result is TDM_ERROR_ENVIRONMENT, whose message each call sets again. */
tdm_status tdmi_env_get(const tdmi_env **env) TDM_MUST_USE;

/* The same without an opinion on errors: for code that was let through by tdmi_enter already. */
const tdmi_env *tdmi_env_values(void);

/* Whether TANDEM_BLAS names this provider. */
static inline bool tdmi_env_names_blas(int id) {
    const tdmi_env *env = tdmi_env_values();
    return memchr(env->blas, id, env->blas_count);
}

/* How a variable of the environment whose name begins with TANDEM_ is taken. */
typedef enum tdmi_env_use {
    TDMI_ENV_USED,
    TDMI_ENV_CONFIGURED, /* not read: the program has called tdm_configure */
    TDMI_ENV_PRIVILEGED, /* not read: it names files, and this is a privileged program */
    TDMI_ENV_FOREIGN     /* none of ours, as TANDEM_SERVICE_HOST in a Kubernetes cluster */
} tdmi_env_use;
tdmi_env_use tdmi_env_use_of(const char *name);

/* Calls `set` if the library is not in use yet, and keeps it from coming into use during that; else
 * fails with TDM_ERROR_INVALID_ARGUMENT. */
tdm_status tdmi_env_before_use(const char *function, void (*set)(void *),
                               void *context) TDM_MUST_USE;

/* First line of every public function that does something: TDM_ERROR_FORKED in a child of a process
 * that had used the library, TDM_ERROR_ENVIRONMENT when the environment is refused. */
tdm_status tdmi_enter(void) TDM_MUST_USE;

/* The fork check alone, for functions that run after an object was made: one load. */
tdm_status tdmi_fail_forked(void) TDM_MUST_USE;
#define TDMI_NOT_FORKED()                                                                          \
    do {                                                                                           \
        if (tdmi_forked) return tdmi_fail_forked();                                                \
    } while (0)

#endif

/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/** @file
 * Optional settings before a program uses the library: those of the environment variables, the
 * function that gets the log, the allocator of host memory. */
#ifndef TANDEM_SETUP_H
#define TANDEM_SETUP_H

#include <stddef.h>

#include <tandem/status.h>

#if defined(__cplusplus)
extern "C" {
#endif

/** Sets what a variable of device.h sets, by its name: tdm_configure("TANDEM_BACKEND", "opencl").
 * The variable itself is then ignored; NULL stands for a variable that is not set. Both texts are
 * copied. Before the library is first used, which is any call that lists, finds or opens devices,
 * or asks about them; later it is TDM_ERROR_INVALID_ARGUMENT. TDM_ERROR_NOT_FOUND for a name that
 * no variable has, TDM_ERROR_ENVIRONMENT for a value that the variable may not have; then nothing has
 * changed. Any thread. */
TDM_API TDM_MUST_USE tdm_status tdm_configure(const char *name, const char *value);

/** The value of a variable of device.h, set by tdm_configure or the environment; NULL where it is not set, is not a
 * variable, or names files and is ignored because the program is privileged. This is a first use of the
 * library, after which tdm_configure is refused. Static storage; any thread. */
TDM_API const char *tdm_get_setting(const char *name);

/** How much a line of the log matters. */
typedef enum tdm_log_level {
    TDM_LOG_OFF = 0,
    TDM_LOG_ERROR =
        1, /**< a mistake of the program that no status can report, such as a second release */
    TDM_LOG_WARNING = 2, /**< the library goes on with less: a kept kernel that is corrupt, a cache
                            folder that cannot be used, a wait that failed */
    TDM_LOG_INFO = 3, /**< backends, libraries and devices as they are found and opened, kernels as
                         they are compiled or loaded from the cache */
    TDM_LOG_DEBUG = 4 /**< the library that computes a product, copies between devices, and every
                         call that fails, with its message */
} tdm_log_level;

/** Gets one line, UTF-8, without a newline; it lasts for the call. Called by any thread, also
 * several at once and threads of the library's, which may hold locks: it must not call the library.
 */
typedef void (*tdm_log_function)(tdm_log_level level, const char *line, void *user);

/** Lines up to the level `most` go to `function` from now on. TDM_LOG_OFF or a NULL function: no
 * function gets them, which is how a program begins. After the first call TANDEM_LOG (device.h)
 * has no effect. A line that is in flight may still come to the former function after the call has returned. Any
 * thread, at any time. */
TDM_API void tdm_set_log(tdm_log_level most, tdm_log_function function, void *user);

/** Where the library takes host memory for its own objects and texts from. Not taken from here: the
 * memory of cpu devices' buffers and of tdm_host_alloc, which is mapped in whole pages, and what
 * drivers and vendors' libraries allocate themselves. */
typedef struct tdm_allocator {
    size_t size; /**< sizeof(tdm_allocator): see status.h */
    /** `bytes` (at least 1), aligned for any type; NULL when there are none. */
    void *(*allocate)(size_t bytes, void *user);
    /** Frees a result of allocate, with the same number of bytes. */
    void (*release)(void *pointer, size_t bytes, void *user);
    void *user; /**< given to both */
} tdm_allocator;

/** Sets the size: tdm_allocator a = TDM_ALLOCATOR_DEFAULTS; */
#define TDM_ALLOCATOR_DEFAULTS                                                                     \
    { sizeof(tdm_allocator), NULL, NULL, NULL }

/** The same for languages without C's macros: writes the first `size` bytes, which are the struct's
 * size in the caller's language. */
TDM_API void tdm_allocator_init(tdm_allocator *allocator, size_t size);

/** Takes memory from there; the functions are called by any thread, several at once, and must not
 * call the library. Before the library is first used, as tdm_configure, and before anything is made, such as a state
 * dict; later it is TDM_ERROR_INVALID_ARGUMENT. The struct is copied. With both functions NULL it is malloc and free,
 * as at the start. */
TDM_API TDM_MUST_USE tdm_status tdm_set_allocator(const tdm_allocator *allocator);

#if defined(__cplusplus)
}
#endif
#endif

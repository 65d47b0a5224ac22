/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* The program's allocator. */
#include "base/env.h"
#include "base/memory.h"
#include "base/sized.h"
#include "base/threads.h"

TDMI_SIZED(tdm_allocator, TDM_ALLOCATOR_DEFAULTS, user)

static void set(void *given) { tdmi_memory_from(given); }

tdm_status tdm_set_allocator(const tdm_allocator *given) {
    TDMI_UNCANCELLED();
    tdm_allocator own = tdm_allocator_defaults;
    TDMI_TRY(tdmi_sized_read(__func__, "allocator", &tdm_allocator_sized, given, &own));
    if (!own.allocate != !own.release)
        return tdmi_fail(TDM_ERROR_INVALID_ARGUMENT,
                         "%s: allocator->%s is NULL; give both functions or neither", __func__,
                         own.allocate ? "release" : "allocate");
    if (tdmi_memory_is_taken())
        return tdmi_fail(TDM_ERROR_INVALID_ARGUMENT,
                         "%s: the library is in use already; call this before anything that makes "
                         "an object",
                         __func__);
    return tdmi_env_before_use(__func__, set, &own);
}

/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* A failure that a queue's next finish reports though the driver knows of none. The library that watches the work holds
 * a reference to this record, and so does the queue. */
#include <stdio.h>

#include <tandem/library.h>

#include "core.h"

enum { NOTHING, BEING_WRITTEN, WRITTEN };

struct tdm_failure {
    atomic_uint references;
    atomic_int state;
    tdm_status status;
    char text[800];
};

void tdm_failure_release(tdm_failure *failure) {
    TDMI_UNCANCELLED();
    if (failure && atomic_fetch_sub(&failure->references, 1) == 1) tdmi_free(failure);
}

tdm_status tdm_failure_create(tdm_queue *queue, tdm_failure **failure) {
    TDMI_UNCANCELLED();
    TDMI_RESULT(__func__, failure);
    TDMI_NOT_NULL(__func__, queue);
    tdm_failure *of = atomic_load(&queue->failure);
    if (!of) {
        of = tdmi_calloc(1, sizeof *of);
        if (!of) return tdmi_fail(TDM_ERROR_OUT_OF_MEMORY, "%s: out of host memory", __func__);
        atomic_init(&of->references, 1);
        tdm_failure *theirs = NULL; /* of another thread that was here meanwhile */
        if (!atomic_compare_exchange_strong(&queue->failure, &theirs, of)) {
            tdmi_free(of);
            of = theirs;
        }
    }
    atomic_fetch_add(&of->references, 1);
    *failure = of;
    return TDM_OK;
}

void tdm_failure_report(tdm_failure *failure, tdm_status status, const char *sentence) {
    TDMI_UNCANCELLED();
    int nothing = NOTHING;
    if (!failure || status == TDM_OK ||
        !atomic_compare_exchange_strong(&failure->state, &nothing, BEING_WRITTEN))
        return;
    failure->status = status;
    snprintf(failure->text, sizeof failure->text, "%s",
             sentence ? sentence : tdm_status_text(status));
    atomic_store(&failure->state, WRITTEN);
}

tdm_status tdmi_queue_report_failure(tdm_queue *queue) {
    tdm_failure *failure = atomic_load(&queue->failure);
    if (!failure || atomic_load(&failure->state) != WRITTEN) return TDM_OK;
    tdm_status status =
        tdmi_fail(failure->status, "what the queue was given did not end: %s", failure->text);
    atomic_store(&failure->state, NOTHING);
    return status;
}

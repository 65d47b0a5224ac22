/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* Choosing the BLAS provider of a product; attaching providers to queues. */
#include "blas.h"

#include <stdio.h>
#include <string.h>

static const char *const names[TDMI_BLAS_COUNT] = {
#define NAME(name) #name,
    TDMI_BLAS_LIST(NAME)};

const char *tdmi_blas_name(const tdmi_blas_choice *choice) {
    return choice->provider ? names[choice->provider->blas->id] : "builtin";
}

static tdm_status attach(tdm_queue *queue, tdmi_attached_blas *slot, const tdmi_blas *blas) {
    if (!slot->tried) {
        slot->tried = true;
        slot->blas = blas;
        slot->state = tdmi_calloc(1, blas->state_size ? blas->state_size : 1);
        slot->status = slot->state ? blas->attach(queue->device->impl, queue->impl, slot->state)
                                   : tdmi_fail(TDM_ERROR_OUT_OF_MEMORY, "out of host memory");
        if (slot->status != TDM_OK) {
            snprintf(slot->why, sizeof slot->why, "%s", tdm_last_error());
            tdmi_free(slot->state);
            slot->state = NULL;
        }
    }
    return slot->status == TDM_OK ? TDM_OK : tdmi_fail(slot->status, "%s", slot->why);
}

/* With the epilogue if that is wanted and the provider takes it, else without. */
static bool ask(const tdmi_attached_blas *slot, const tdmi_gemm *gemm, bool may_fuse, bool *fused) {
    *fused = false;
    if (!gemm->bias && gemm->activation == TDM_ACTIVATION_NONE)
        return slot->blas->supports(slot->state, gemm);
    *fused = may_fuse && slot->blas->supports(slot->state, gemm);
    if (*fused) return true;
    tdmi_gemm plain = *gemm;
    plain.bias = NULL;
    plain.activation = TDM_ACTIVATION_NONE;
    return slot->blas->supports(slot->state, &plain);
}

/* Give the product to provider i of the list, if it is installed and supports it. */
static tdm_status offer(tdm_queue *queue, const tdmi_blas *blas, int i, const tdmi_gemm *gemm,
                        bool may_fuse, tdmi_blas_choice *choice) {
    tdmi_attached_blas *slot = &queue->blas[blas->id];
    TDMI_TRY(attach(queue, slot, blas));
    if (!ask(slot, gemm, may_fuse, &choice->fused)) return TDM_OK;
    choice->provider = slot;
    choice->index = i;
    return TDM_OK;
}

static tdm_status find_forced(tdm_queue *queue, const char *forced, const tdmi_blas *const *list,
                              int *index) {
    char has[16 * (TDMI_BLAS_COUNT + 1)] = "";
    size_t length = 0;
    for (int i = 0; list[i]; i++) {
        const char *name = names[list[i]->id];
        *index = i;
        if (strcmp(forced, name) == 0) return TDM_OK;
        if (length < sizeof has)
            length += (size_t)snprintf(has + length, sizeof has - length, "%s, ", name);
    }
    return tdmi_fail(TDM_ERROR_UNSUPPORTED,
                     "TANDEM_BLAS is \"%s\", which %s does not have; it has %sbuiltin: use one of "
                     "them or another device, or unset it",
                     forced, queue->device->facts->info.id, has);
}

/* From the first-th provider on; those from the fuse-th on may do the epilogue. */
static tdm_status choose_from(tdm_queue *queue, const tdmi_gemm *gemm, int first, int fuse,
                              tdmi_blas_choice *choice) {
    const char *forced = tdmi_env_values()->blas;
    *choice = (tdmi_blas_choice){NULL, 0, false};
    if (forced && strcmp(forced, "builtin") == 0) return TDM_OK;
    const tdmi_blas *const *list = queue->device->backend->blas(queue->device->impl);
    int wanted = 0;
    if (forced) {
        TDMI_TRY(find_forced(queue, forced, list, &wanted));
        tdm_status status = TDM_OK;
        if (wanted >= first)
            status = offer(queue, list[wanted], wanted, gemm, wanted >= fuse, choice);
        if (status != TDM_OK) return tdmi_fail_in(status, "TANDEM_BLAS is \"%s\"", forced);
    }
    /* One that is not installed is passed over, unless it is the one asked for. */
    for (int i = 0; list[i] && !choice->provider; i++)
        if (i >= first) (void)offer(queue, list[i], i, gemm, i >= fuse, choice);
    return TDM_OK;
}

tdm_status tdmi_blas_choose(tdm_queue *queue, const tdmi_gemm *gemm, tdmi_blas_choice *choice) {
    return choose_from(queue, gemm, 0, 0, choice);
}

tdm_status tdmi_blas_choose_next(tdm_queue *queue, const tdmi_gemm *gemm,
                                 tdmi_blas_choice *choice) {
    int after = choice->index + 1;
    return choose_from(queue, gemm, choice->fused ? choice->index : after, after, choice);
}

void tdmi_queue_detach_blas(tdm_queue *queue) {
    for (int i = 0; i < TDMI_BLAS_COUNT; i++) {
        if (!queue->blas[i].state) continue;
        queue->blas[i].blas->detach(queue->blas[i].state);
        tdmi_free(queue->blas[i].state);
    }
}

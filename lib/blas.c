/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* Choosing the BLAS provider of a product; attaching providers to queues. */
#include "blas.h"

#include "blas_table.h"

#include <stdio.h>
#include <string.h>

static const char *const names[TDMI_BLAS_COUNT] = {
#define NAME(name) #name,
    TDMI_BLAS_LIST(NAME)};

const char *tdmi_blas_name(const tdmi_blas_choice *choice) {
    return choice->provider ? names[choice->provider->blas->id] : "builtin";
}

/* The provider, attached to the queue if it can be: see its status. */
static tdmi_attached_blas *attach(tdm_queue *queue, const tdmi_blas *blas) {
    tdmi_attached_blas *slot = &queue->blas[blas->id];
    if (slot->tried) return slot;
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
    return slot;
}

/* With the epilogue if that is wanted and the provider takes it, else without. */
static tdmi_blas_support ask(const tdmi_attached_blas *slot, const tdmi_gemm *gemm, bool may_fuse,
                             bool *fused) {
    *fused = false;
    if (!gemm->bias && gemm->activation == TDM_ACTIVATION_NONE)
        return slot->blas->supports(slot->state, gemm);
    const tdmi_blas_support whole =
        may_fuse ? slot->blas->supports(slot->state, gemm) : TDMI_BLAS_NO;
    *fused = whole != TDMI_BLAS_NO;
    if (*fused) return whole;
    tdmi_gemm plain = *gemm;
    plain.bias = NULL;
    plain.activation = TDM_ACTIVATION_NONE;
    return slot->blas->supports(slot->state, &plain);
}

/* The providers of a queue's device in the order in which a product is offered to them, and behind them
 * the builtin kernels, which take any. */
typedef struct order {
    const tdmi_blas *blas[TDMI_BLAS_COUNT];
    int count, named; /* those that TANDEM_BLAS names come first */
} order;

static void add(order *o, const tdmi_blas *blas) {
    for (int i = 0; i < o->count; i++)
        if (o->blas[i] == blas) return;
    o->blas[o->count++] = blas;
}

/* TANDEM_BLAS names none that the device has. */
static tdm_status refuse_names(const tdm_queue *queue, const order *o) {
    char has[16 * TDMI_BLAS_COUNT] = "";
    size_t length = 0;
    for (int i = 0; i < o->count && length < sizeof has; i++)
        length +=
            (size_t)snprintf(has + length, sizeof has - length, "%s, ", names[o->blas[i]->id]);
    return tdmi_fail(TDM_ERROR_UNSUPPORTED,
                     "TANDEM_BLAS is \"%s\", which %s does not have; it has %sbuiltin: use one of "
                     "them or another device, or unset it",
                     tdmi_env_values()->blas_text, queue->device->facts->info.id, has);
}

static tdm_status make_order(const tdm_queue *queue, order *o) {
    const tdmi_env *env = tdmi_env_values();
    const tdmi_blas *const *list = queue->device->backend->blas(queue->device->impl);
    o->count = 0;
    for (size_t i = 0; i < env->blas_count; i++) {
        if (env->blas[i] == TDMI_BLAS_builtin) {
            o->named = o->count;
            return TDM_OK;
        }
        for (int j = 0; list[j]; j++)
            if (list[j]->id == env->blas[i]) add(o, list[j]);
    }
    o->named = o->count;
    for (int j = 0; list[j]; j++)
        add(o, list[j]);
    return env->blas_count > 0 && o->named == 0 ? refuse_names(queue, o) : TDM_OK;
}

/* From the first-th provider on; those from the fuse-th on may do the epilogue. One that is not
 * installed is passed over, unless TANDEM_BLAS names it and none that is. */
static tdm_status choose_from(tdm_queue *queue, const tdmi_gemm *gemm, int first, int fuse,
                              tdmi_blas_choice *choice) {
    order o;
    *choice = (tdmi_blas_choice){NULL, 0, false};
    TDMI_TRY(make_order(queue, &o));
    const tdmi_attached_blas *missing = NULL; /* named, and not to be had */
    /* one of those named, if any is; one that was chosen before is */
    bool installed = o.named == 0 || first > 0;
    const bool narrow = tdmi_is_narrow(gemm);
    if (o.named == 0 && o.count > 0 && (int)o.blas[0]->id < (int)TDMI_HOST_BLAS_COUNT &&
        tdmi_builtin_first(gemm))
        return TDM_OK;
    for (int i = first; i < o.count && (i < o.named || installed || !missing); i++) {
        tdmi_attached_blas *slot = attach(queue, o.blas[i]);
        if (slot->status != TDM_OK) {
            if (i < o.named && !missing) missing = slot;
            continue;
        }
        installed = installed || i < o.named;
        bool fused;
        const tdmi_blas_support support = ask(slot, gemm, i >= fuse, &fused);
        if (support == TDMI_BLAS_NO || (support == TDMI_BLAS_CONVERTS && narrow && i >= o.named))
            continue;
        choice->fused = fused;
        choice->provider = slot;
        choice->index = i;
        return TDM_OK;
    }
    if (installed || !missing) return TDM_OK;
    return tdmi_fail(missing->status, "TANDEM_BLAS is \"%s\": %s", tdmi_env_values()->blas_text,
                     missing->why);
}

tdm_status tdmi_blas_choose(tdm_queue *queue, const tdmi_gemm *gemm, tdmi_blas_choice *choice) {
    return choose_from(queue, gemm, 0, 0, choice);
}

tdm_status tdmi_blas_choose_next(tdm_queue *queue, const tdmi_gemm *gemm,
                                 tdmi_blas_choice *choice) {
    const int after = choice->index + 1;
    return choose_from(queue, gemm, choice->fused ? choice->index : after, after, choice);
}

void tdmi_queue_detach_blas(tdm_queue *queue) {
    for (int i = 0; i < TDMI_BLAS_COUNT; i++) {
        if (!queue->blas[i].state) continue;
        queue->blas[i].blas->detach(queue->blas[i].state);
        tdmi_free(queue->blas[i].state);
    }
}

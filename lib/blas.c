/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* Choosing the BLAS provider of a product; attaching providers to queues. */
#include "blas.h"

#include "base/hash.h"
#include "blas_table.h"
#include "tensor_cores.h"

#include <stdio.h>
#include <string.h>

static const char *const names[TDMI_BLAS_COUNT] = {
#define NAME(name) #name,
    TDMI_BLAS_LIST(NAME)};

const char *tdmi_blas_name_of(int id) { return id < TDMI_BLAS_COUNT ? names[id] : "builtin"; }

int tdmi_blas_id_of(const tdmi_blas_choice *choice) {
    return choice->provider ? (int)choice->provider->blas->id : (int)TDMI_BLAS_builtin;
}

const char *tdmi_blas_name(const tdmi_blas_choice *choice) {
    return tdmi_blas_name_of(tdmi_blas_id_of(choice));
}

/* The device's provider of that number; NULL where it has none. */
static const tdmi_blas *provider_of(const tdm_queue *queue, int id) {
    const tdmi_blas *const *list = queue->device->backend->blas(queue->device->impl);
    while (*list && (int)(*list)->id != id)
        list++;
    return *list;
}

/* The library's settings for the device that were kept, or that none were. */
static void configure(const tdm_queue *queue, const tdmi_attached_blas *slot) {
    for (const char *const *name = slot->blas->settings; name && *name; name++) {
        char *text = tdmi_tuned_read_settings(queue->device->backend->name, queue->device->facts,
                                              *name, slot->library);
        slot->blas->configure(slot->state, *name, text);
        tdmi_free(text);
    }
}

/* Once more where memory is short, without what the pool keeps. */
static tdm_status attach_in_room(tdm_queue *queue, const tdmi_blas *blas, void *state) {
    tdm_device *device = queue->device;
    const tdm_status status = blas->attach(device->impl, queue->impl, state);
    if (status != TDM_ERROR_OUT_OF_MEMORY) return status;
    (void)tdmi_device_make_room(device);
    memset(state, 0, blas->state_size);
    return blas->attach(device->impl, queue->impl, state);
}

/* The provider, attached to the queue if it can be: see its status. Memory that is short now may be there for the next
 * product. */
static tdmi_attached_blas *attach(tdm_queue *queue, const tdmi_blas *blas) {
    tdmi_attached_blas *slot = &queue->blas[blas->id];
    if (slot->tried) return slot;
    slot->blas = blas;
    slot->state = tdmi_calloc(1, blas->state_size ? blas->state_size : 1);
    slot->status = slot->state ? attach_in_room(queue, blas, slot->state)
                               : tdmi_fail(TDM_ERROR_OUT_OF_MEMORY, "out of host memory");
    slot->tried = slot->status != TDM_ERROR_OUT_OF_MEMORY;
    if (slot->status != TDM_OK) {
        snprintf(slot->why, sizeof slot->why, "%s", tdm_last_error());
        tdmi_free(slot->state);
        slot->state = NULL;
        return slot;
    }
    slot->library = tdmi_library_identity(slot->blas->library(slot->state));
    configure(queue, slot);
    return slot;
}

bool tdmi_bias_goes_first(const tdmi_gemm *gemm) {
    return gemm->bias && gemm->beta == 0 && (gemm->dtype == TDM_F16 || gemm->dtype == TDM_BF16);
}

tdmi_gemm tdmi_gemm_fused(const tdmi_gemm *gemm, tdmi_fused fused) {
    tdmi_gemm run = *gemm;
    if (fused == TDMI_FUSED_ALL) return run;
    run.activation = TDM_ACTIVATION_NONE;
    if (fused == TDMI_FUSED_BIAS) return run;
    if (tdmi_bias_goes_first(gemm)) run.beta = 1;
    run.bias = NULL;
    return run;
}

/* With as much of the epilogue as the provider takes, if that is wanted. */
static tdmi_blas_support ask(const tdmi_attached_blas *slot, const tdmi_gemm *gemm, bool may_fuse,
                             tdmi_fused *fused) {
    const bool active = gemm->activation != TDM_ACTIVATION_NONE;
    const bool wanted[] = {true, gemm->bias && active, gemm->bias || active};
    for (*fused = TDMI_FUSED_ALL; *fused > TDMI_FUSED_NONE; (*fused)--) {
        if (!may_fuse || !wanted[*fused]) continue;
        const tdmi_gemm run = tdmi_gemm_fused(gemm, *fused);
        const tdmi_blas_support support = slot->blas->supports(slot->state, &run);
        if (support != TDMI_BLAS_NO) return support;
    }
    const tdmi_gemm run = tdmi_gemm_fused(gemm, TDMI_FUSED_NONE);
    return slot->blas->supports(slot->state, &run);
}

/* The providers of a queue's device in the order in which a product is offered to them, and after them
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

/* Whether the kernel for narrow products is as fast as it was measured: as C. On PoCL it takes 5 to 50 times as long as
 * a library does. */
static bool has_fast_narrow(const tdm_queue *queue, const tdmi_gemm *gemm) {
    return queue->device->facts->row_loops && tdmi_is_narrow(gemm);
}

/* The table is for the host's cores, where TANDEM_BLAS names no provider. */
static int table_first(const tdm_queue *queue, const order *o, const tdmi_gemm *gemm) {
    const bool host = o->count > 0 && (int)o->blas[0]->id < (int)TDMI_HOST_BLAS_COUNT;
    if (!host || o->named > 0) return TDMI_NO_PROVIDER;
    const int first = tdmi_table_first(gemm);
    return first != TDMI_BLAS_builtin || has_fast_narrow(queue, gemm) ? first : TDMI_NO_PROVIDER;
}

static void put_first(order *o, int id) {
    int at = 0;
    while (at < o->count && (int)o->blas[at]->id != id)
        at++;
    if (at == o->count) return;
    const tdmi_blas *blas = o->blas[at];
    memmove(o->blas + 1, o->blas, (size_t)at * sizeof *o->blas);
    o->blas[0] = blas;
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

static tdmi_blas_choice choice_of(tdmi_attached_blas *provider, tdmi_blas_why why) {
    return (tdmi_blas_choice){.provider = provider, .index = -1, .why = why};
}

static bool names_some(void) { return tdmi_env_values()->blas_count > 0; }

/* From the first-th provider on; those from the fuse-th on may do the epilogue. One that is not
 * installed is passed over, unless TANDEM_BLAS names it and none that is. */
static tdm_status choose_from(tdm_queue *queue, const tdmi_gemm *gemm, int first, int fuse,
                              tdmi_blas_choice *choice) {
    order o;
    *choice =
        choice_of(NULL, tdmi_env_names_blas(TDMI_BLAS_builtin) ? TDMI_WHY_NAMED : TDMI_WHY_LAST);
    TDMI_TRY(make_order(queue, &o));
    const tdmi_attached_blas *missing = NULL; /* named, and not to be had */
    /* one of those named, if any is; one that was chosen before is */
    bool installed = o.named == 0 || first > 0;
    const bool narrow = has_fast_narrow(queue, gemm);
    const int best = table_first(queue, &o, gemm);
    if (best == TDMI_BLAS_builtin) {
        choice->why = TDMI_WHY_TABLE;
        return TDM_OK;
    }
    put_first(&o, best);
    for (int i = first; i < o.count && (i < o.named || installed || !missing); i++) {
        if (i >= o.named && !o.blas[i]->has_tensor_cores &&
            tdmi_tensor_takes(queue->device, gemm)) {
            choice->why = TDMI_WHY_TENSOR;
            return TDM_OK;
        }
        tdmi_attached_blas *slot = attach(queue, o.blas[i]);
        /* for the next one, which has other last digits, this is no reason: a product repeats bit for bit */
        if (slot->status == TDM_ERROR_OUT_OF_MEMORY)
            return tdmi_fail(slot->status, "%s: %s", names[slot->blas->id], slot->why);
        if (slot->status != TDM_OK) {
            if (i < o.named && !missing) missing = slot;
            continue;
        }
        installed = installed || i < o.named;
        tdmi_fused fused;
        const tdmi_blas_support support = ask(slot, gemm, i >= fuse, &fused);
        if (support == TDMI_BLAS_NO || (support == TDMI_BLAS_CONVERTS && narrow && i >= o.named))
            continue;
        *choice = choice_of(slot, i < o.named ? TDMI_WHY_NAMED : TDMI_WHY_FIRST);
        if ((int)slot->blas->id == best) choice->why = TDMI_WHY_TABLE;
        choice->fused = fused;
        choice->index = i;
        return TDM_OK;
    }
    if (installed || !missing) return TDM_OK;
    return tdmi_fail(missing->status, "TANDEM_BLAS is \"%s\": %s", tdmi_env_values()->blas_text,
                     missing->why);
}

/* The measurement on the device for this product, or for one near it. */
static const tdmi_tuned *find_tuned(tdm_queue *queue, const tdmi_gemm *gemm, bool *exact) {
    if (!queue->tuned_known) {
        queue->tuned_known = true;
        queue->tuned = tdmi_tuned_of(queue->device->backend->name, queue->device->facts);
        if (queue->tuned)
            queue->tuned_slots = tdmi_calloc(TDMI_TUNED_SLOTS, sizeof *queue->tuned_slots);
    }
    if (!queue->tuned) return NULL;
    if (!queue->tuned_slots) return tdmi_tuned_find(queue->tuned, gemm, exact);
    const tdmi_tuned_product product = tdmi_tuned_product_of(gemm);
    const uint64_t hash = tdmi_hash_words(&product, sizeof product);
    tdmi_tuned_slot *slot = &queue->tuned_slots[hash % TDMI_TUNED_SLOTS];
    if (memcmp(&slot->product, &product, sizeof product) != 0) {
        slot->product = product;
        slot->found = tdmi_tuned_find(queue->tuned, gemm, &slot->exact);
    }
    *exact = slot->exact;
    return slot->found;
}

/* May a narrow product go to a provider that converts it first? Only as it was measured, with beta 0. */
static bool converts_as_measured(const tdmi_attached_blas *slot, const tdmi_gemm *gemm) {
    tdmi_gemm measured = *gemm;
    tdmi_fused fused;
    measured.beta = 0;
    return ask(slot, &measured, true, &fused) == TDMI_BLAS_CONVERTS;
}

/* False when nothing was measured, or its provider is not what it was. */
static bool choose_tuned(tdm_queue *queue, const tdmi_gemm *gemm, tdmi_blas_choice *choice) {
    bool exact = false;
    tdmi_fused fused = TDMI_FUSED_NONE;
    const tdmi_tuned *tuned = find_tuned(queue, gemm, &exact);
    if (!tuned) return false;
    tdmi_attached_blas *slot = NULL;
    tdmi_gemm asked = *gemm;
    asked.algorithm = exact ? tuned->algorithm : 0;
    if (tuned->provider != TDMI_BLAS_builtin) {
        const tdmi_blas *const blas = provider_of(queue, tuned->provider);
        if (!blas) return false;
        slot = attach(queue, blas);
        if (slot->status != TDM_OK || slot->library != tuned->library) return false;
        const tdmi_blas_support support = ask(slot, &asked, true, &fused);
        if (support == TDMI_BLAS_NO || (support == TDMI_BLAS_CONVERTS && tdmi_is_narrow(gemm) &&
                                        !converts_as_measured(slot, gemm)))
            return false;
    }
    *choice = choice_of(slot, TDMI_WHY_TUNED);
    choice->algorithm = asked.algorithm;
    choice->fused = fused;
    choice->tuned = tuned;
    return true;
}

tdm_status tdmi_blas_choose_usual(tdm_queue *queue, const tdmi_gemm *gemm,
                                  tdmi_blas_choice *choice) {
    return choose_from(queue, gemm, 0, 0, choice);
}

/* NULL where the device has none. */
static tdmi_attached_blas *attach_panels(tdm_queue *queue) {
    const tdmi_blas *const blas = provider_of(queue, TDMI_BLAS_panels);
    tdmi_attached_blas *slot = blas ? attach(queue, blas) : NULL;
    return slot && slot->status == TDM_OK ? slot : NULL;
}

bool tdmi_blas_wants_panels(tdm_queue *queue, tdm_dtype dtype) {
    const tdmi_gemm gemm = {.dtype = dtype, .panels = true, .transpose_b = true};
    if (names_some() && !tdmi_env_names_blas(TDMI_BLAS_panels)) return false;
    const tdmi_attached_blas *slot = attach_panels(queue);
    return slot && slot->blas->supports(slot->state, &gemm) == TDMI_BLAS_YES;
}

static tdm_status choose_panels(tdm_queue *queue, tdmi_blas_choice *choice) {
    tdmi_attached_blas *slot = attach_panels(queue);
    if (!slot)
        return tdmi_fail(TDM_ERROR_UNSUPPORTED, "%s has no product with a b that is packed",
                         queue->device->facts->info.id);
    *choice = choice_of(slot, TDMI_WHY_PANELS);
    choice->fused = TDMI_FUSED_ALL;
    return TDM_OK;
}

tdm_status tdmi_blas_choose(tdm_queue *queue, const tdmi_gemm *gemm, tdmi_blas_choice *choice) {
    if (gemm->panels) return choose_panels(queue, choice);
    if (queue->is_reference) { /* no library is to be judged by itself */
        *choice = choice_of(NULL, TDMI_WHY_LAST);
        return TDM_OK;
    }
    if (choose_tuned(queue, gemm, choice)) return TDM_OK;
    return tdmi_blas_choose_usual(queue, gemm, choice);
}

tdm_status tdmi_blas_choose_next(tdm_queue *queue, const tdmi_gemm *gemm,
                                 tdmi_blas_choice *choice) {
    if (gemm->panels)
        return tdmi_fail(TDM_ERROR_UNSUPPORTED, "%s cannot multiply by a b that is packed: %s",
                         queue->device->facts->info.id, tdm_last_error());
    if (choice->index < 0) return tdmi_blas_choose_usual(queue, gemm, choice);
    const int after = choice->index + 1;
    return choose_from(queue, gemm, choice->fused ? choice->index : after, after, choice);
}

tdm_status tdmi_blas_candidates(tdm_queue *queue, const tdmi_gemm *gemm, tdmi_blas_choice *list,
                                int room, int *count) {
    order o;
    *count = 0;
    TDMI_TRY(make_order(queue, &o));
    for (int i = 0; i < (names_some() ? o.named : o.count); i++) {
        tdmi_attached_blas *slot = attach(queue, o.blas[i]);
        tdmi_fused fused;
        if (slot->status != TDM_OK || ask(slot, gemm, true, &fused) == TDMI_BLAS_NO) continue;
        const tdmi_gemm run = tdmi_gemm_fused(gemm, fused);
        const int algorithms =
            slot->blas->algorithms ? slot->blas->algorithms(slot->state, &run) : 1;
        for (int j = 0; j < algorithms && *count < room; j++) {
            list[*count] = choice_of(slot, TDMI_WHY_TUNED);
            list[*count].fused = fused;
            list[(*count)++].algorithm = j;
        }
    }
    const int forms = tdmi_tensor_takes(queue->device, gemm) ? TDMI_TENSOR_FORMS : 1;
    for (int j = 0; j < forms && *count < room; j++) {
        if (names_some() && !tdmi_env_names_blas(TDMI_BLAS_builtin)) break;
        list[*count] = choice_of(NULL, TDMI_WHY_TUNED);
        list[(*count)++].algorithm = j;
    }
    /* those that are named lack it: there are no others to go on to */
    return *count > 0 ? TDM_OK : tdmi_blas_choose_usual(queue, gemm, &list[(*count)++]);
}

void tdmi_queue_detach_blas(tdm_queue *queue) {
    for (int i = 0; i < TDMI_BLAS_COUNT; i++) {
        if (!queue->blas[i].state) continue;
        if (queue->blas[i].blas->detach) queue->blas[i].blas->detach(queue->blas[i].state);
        tdmi_free(queue->blas[i].state);
    }
    tdmi_free(queue->tuned_slots);
}

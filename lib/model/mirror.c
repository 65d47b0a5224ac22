/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* One function on several devices at once: parameters on each, a batch split over them, results
 * gathered in order. */
#include <stdio.h>
#include <string.h>

#include "check.h"
#include "core.h"
#include "tensors/create.h"
#include "tensors/move.h"

#include <tandem/layers.h>

/* One device: what it keeps, and what it does in a run. */
typedef struct member {
    tdm_device *device;
    tdm_queue *queue;
    tdm_state_dict *parameters;
    tdm_replica replica;
    tdm_tensor *inputs; /* of replica.input_count */
    tdm_tensor output;
    int64_t rows; /* its part of the batch */
    tdmi_thread thread;
    bool started;
    tdm_replica_function function;
    void *user;
    tdmi_outcome outcome;
} member;

struct tdm_mirror {
    size_t count;
    member members[];
};

static tdm_status check_devices(const char *function, size_t count, tdm_device *const *devices) {
    if (count == 0)
        return tdmi_fail(TDM_ERROR_INVALID_ARGUMENT, "%s: count is 0, at least one device",
                         function);
    TDMI_NOT_NULL(function, devices);
    for (size_t i = 0; i < count; i++) {
        if (!devices[i])
            return tdmi_fail(TDM_ERROR_INVALID_ARGUMENT, "%s: devices[%zu] is NULL", function, i);
        TDMI_TRY(tdmi_device_usable(devices[i]));
        for (size_t j = 0; j < i; j++)
            if (devices[i] == devices[j])
                return tdmi_fail(TDM_ERROR_INVALID_ARGUMENT,
                                 "%s: devices[%zu] and devices[%zu] are both %s; each device once",
                                 function, j, i, devices[i]->facts->info.id);
    }
    return TDM_OK;
}

tdm_status tdm_mirror_create(tdm_queue *queue, const tdm_state_dict *parameters, size_t count,
                             tdm_device *const *devices, tdm_mirror **mirror) {
    TDMI_UNCANCELLED();
    TDMI_RESULT(__func__, mirror);
    TDMI_NOT_NULL(__func__, queue);
    TDMI_NOT_NULL(__func__, parameters);
    TDMI_TRY(check_devices(__func__, count, devices));
    tdm_mirror *made = count > SIZE_MAX / sizeof(member) - 1
                           ? NULL
                           : tdmi_calloc(1, sizeof *made + count * sizeof(member));
    if (!made) return tdmi_fail(TDM_ERROR_OUT_OF_MEMORY, "%s: out of host memory", __func__);
    made->count = count;
    tdm_status status = TDM_OK;
    for (size_t i = 0; status == TDM_OK && i < count; i++) {
        member *m = &made->members[i];
        m->device = tdm_device_retain(devices[i]);
        status = tdm_queue_create(m->device, 0, &m->queue);
        if (status == TDM_OK)
            status = tdm_state_dict_to(queue, parameters, m->device, &m->parameters);
    }
    /* Parameters that are shared are used by another queue from now on. */
    if (status == TDM_OK) status = tdm_queue_finish(queue);
    if (status != TDM_OK) {
        tdm_mirror_destroy(made);
        return tdmi_fail_in(status, "%s", __func__);
    }
    *mirror = made;
    return TDM_OK;
}

void tdm_mirror_destroy(tdm_mirror *mirror) {
    TDMI_UNCANCELLED();
    if (!mirror || tdmi_forked) return;
    for (size_t i = 0; i < mirror->count; i++) {
        tdm_state_dict_destroy(mirror->members[i].parameters);
        tdm_queue_destroy(mirror->members[i].queue);
        tdm_device_release(mirror->members[i].device);
    }
    tdmi_free(mirror);
}

const tdm_state_dict *tdm_mirror_get_parameters(const tdm_mirror *mirror, size_t index) {
    return mirror && index < mirror->count ? mirror->members[index].parameters : NULL;
}

/* ---- a run ---- */

/* Rows [first, first + count) of a tensor's first dimension; has been checked. */
static tdm_tensor rows_of(const tdm_tensor *x, int64_t first, int64_t count) {
    tdm_tensor part = *x;
    part.shape[0] = count;
    if (count > 0) part.offset += first * x->strides[0];
    return part;
}

static tdm_status check_batch(const char *function, tdm_queue *queue, size_t input_count,
                              const tdm_tensor *inputs, const tdm_tensor *output) {
    tdmi_arg result = {"output", output, TDMI_ARG_OUTPUT | TDMI_ARG_MOVED, 0};
    TDMI_TRY(tdmi_check_args(function, queue, &result, 1));
    if (input_count > 0) TDMI_NOT_NULL(function, inputs);
    if (!tdm_tensor_is_contiguous(output))
        return tdmi_fail(TDM_ERROR_UNSUPPORTED, "%s: output is not contiguous", function);
    for (size_t i = 0; i < input_count; i++) {
        char name[32], a[128], b[128];
        snprintf(name, sizeof name, "inputs[%zu]", i);
        tdmi_arg arg = {name, &inputs[i], TDMI_ARG_MOVED, 0};
        TDMI_TRY(tdmi_check_args(function, queue, &arg, 1));
        if (inputs[i].shape[0] != output->shape[0])
            return tdmi_fail(TDM_ERROR_INVALID_SHAPE,
                             "%s: the batches are unequal: %s is %s, but output is %s (the first "
                             "dimension is the batch)",
                             function, name, tdmi_shape_text(&inputs[i], a),
                             tdmi_shape_text(output, b));
    }
    return TDM_OK;
}

/* A member's part of the batch and room for its results, on its device. On failure, and after the
 * run, release_part gives back what there is. */
static tdm_status prepare(const char *function, member *m, tdm_queue *queue, int64_t first,
                          size_t input_count, const tdm_tensor *inputs, const tdm_tensor *output) {
    tdm_tensor *views = tdmi_calloc(2 * input_count + 1, sizeof *views);
    if (!views) return tdmi_fail(TDM_ERROR_OUT_OF_MEMORY, "out of host memory");
    m->inputs = views;
    for (size_t i = 0; i < input_count; i++)
        views[input_count + i] = rows_of(&inputs[i], first, m->rows);
    TDMI_TRY(tdmi_move(function, queue, input_count, views + input_count, m->device, views));
    tdm_tensor part = rows_of(output, first, m->rows);
    return tdmi_empty(function, m->device, output->dtype, output->ndim, part.shape, &m->output);
}

static void release_part(member *m, size_t input_count) {
    for (size_t i = 0; m->inputs && i < input_count; i++)
        tdm_tensor_release(&m->inputs[i]);
    tdmi_free(m->inputs);
    m->inputs = NULL;
    tdm_tensor_release(&m->output);
}

static void *run_member(void *context) {
    member *m = context;
    /* Also after a failure: what was queued works on the caller's inputs where they are shared. */
    tdmi_outcome_add(&m->outcome, m->function(&m->replica, m->user));
    tdmi_outcome_add(&m->outcome, tdm_queue_finish(m->queue));
    return NULL;
}

/* Copies a member's results into their rows of the output. */
static tdm_status gather(member *m, tdm_queue *queue, int64_t first, const tdm_tensor *output) {
    tdm_tensor part = rows_of(output, first, m->rows);
    return tdm_buffer_copy(queue, m->output.buffer, 0, part.buffer,
                           (size_t)part.offset * tdm_dtype_size(part.dtype), tdmi_bytes_of(&part));
}

static tdm_status start_members(tdm_mirror *mirror, const tdm_replica *common,
                                tdm_replica_function function, void *user) {
    for (size_t i = 0; i < mirror->count; i++) {
        member *m = &mirror->members[i];
        m->replica = *common;
        m->replica.index = i;
        m->replica.queue = m->queue;
        m->replica.parameters = m->parameters;
        m->replica.inputs = m->inputs;
        m->replica.output = &m->output;
        m->function = function;
        m->user = user;
        m->outcome = (tdmi_outcome){0};
        if (m->rows == 0) continue;
        if (!tdmi_thread_start(&m->thread, run_member, m))
            return tdmi_fail(TDM_ERROR_OUT_OF_MEMORY, "no thread could be made for %s",
                             m->device->facts->info.id);
        m->started = true;
    }
    return TDM_OK;
}

/* Waits for all threads; the first failure by the order of devices. */
static tdm_status join_members(tdm_mirror *mirror) {
    member *failed = NULL;
    for (size_t i = 0; i < mirror->count; i++) {
        member *m = &mirror->members[i];
        if (!m->started) continue;
        tdmi_thread_join(m->thread);
        m->started = false;
        if (m->outcome.status != TDM_OK && !failed) failed = m;
    }
    if (!failed) return TDM_OK;
    return tdmi_fail_in(tdmi_outcome_end(&failed->outcome), "on %s",
                        failed->device->facts->info.id);
}

tdm_status tdm_mirror_run(tdm_queue *queue, tdm_mirror *mirror, tdm_replica_function function,
                          void *user, size_t input_count, const tdm_tensor *inputs,
                          tdm_tensor *output) {
    TDMI_UNCANCELLED();
    TDMI_NOT_NULL(__func__, mirror);
    TDMI_NOT_NULL(__func__, function);
    TDMI_TRY(check_batch(__func__, queue, input_count, inputs, output));
    TDMI_TRY(tdmi_check_not_recording(__func__, queue));
    /* The members' queues know nothing of this one, also where they share its device. */
    TDMI_TRY(tdm_queue_finish(queue));
    const int64_t batch = output->shape[0], count = (int64_t)mirror->count;
    const tdm_replica common = {.count = mirror->count, .input_count = input_count};
    tdmi_outcome outcome = {0};
    int64_t first = 0;
    for (int64_t i = 0; i < count; i++) {
        member *m = &mirror->members[i];
        m->rows = batch / count + (i < batch % count);
        if (outcome.status == TDM_OK && m->rows > 0)
            tdmi_outcome_add(&outcome,
                             prepare(__func__, m, queue, first, input_count, inputs, output));
        first += m->rows;
    }
    if (outcome.status == TDM_OK) {
        tdmi_outcome_add(&outcome, start_members(mirror, &common, function, user));
        tdmi_outcome_add(&outcome, join_members(mirror));
    }
    first = 0;
    for (int64_t i = 0; i < count; i++) {
        member *m = &mirror->members[i];
        if (outcome.status == TDM_OK && m->rows > 0)
            tdmi_outcome_add(&outcome, gather(m, queue, first, output));
        first += m->rows;
        release_part(m, input_count);
    }
    tdm_status status = tdmi_outcome_end(&outcome);
    return status == TDM_OK ? TDM_OK : tdmi_fail_in(status, "%s", __func__);
}

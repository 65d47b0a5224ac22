/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/** @file
 * A linear layer, and the same work on several devices at once.
 *
 * Threads: as the queue; a tdm_mirror from one thread at a time. */
#ifndef TANDEM_LAYERS_H
#define TANDEM_LAYERS_H

#include <tandem/create.h>
#include <tandem/state_dict.h>

#if defined(__cplusplus)
extern "C" {
#endif

/** Adds a linear layer's parameters to a dict, on the queue's device: "<prefix>weight"
 * [out_features, in_features] and, with `bias`, "<prefix>bias" [out_features], both uniform in
 * [-1/√in_features, 1/√in_features), as PyTorch's nn.Linear (Kaiming-uniform with a = √5: He et al.
 * 2015). Features are at least 1. dtype is f32, f64 (where the device has it), f16 or bf16; prefix may be "". */
TDM_API TDM_MUST_USE tdm_status tdm_linear_create(tdm_queue *queue, tdm_generator *generator,
                                                  const char *prefix, int64_t in_features,
                                                  int64_t out_features, bool bias, tdm_dtype dtype,
                                                  tdm_state_dict *dict);

/** packed = the weight [out, in] of a linear layer, of any strides, in the order in which the device multiplies by it
 * the fastest, for weights that do not change: it is made once, and then no product has to put it in order. For
 * tdm_linear and, with transpose_b, as B of tdm_matmul, where x and A, y and C have rows whose elements are adjacent. A
 * new tensor, the caller's to release, of the same shape and dtype; `packed` may be `weight`, if something else owns
 * the buffer that was in it, such as a state dict. Everything else refuses it with
 * TDM_ERROR_UNSUPPORTED on every device: no view of it can be made, and it is neither copied, moved nor saved. Its
 * buffer is read-only.
 * On the host's cores f32, and bf16 where the processor multiplies it (AVX512_BF16), lies in panels of some columns,
 * the provider "panels" (Goto & van de Geijn 2008); a row of C then has the same bits in every batch. Other dtypes and
 * devices keep the usual order, and so does every one when TANDEM_BLAS names other providers. Panels have
 * up to 31 rows more than the weight, and in bf16 an even number of columns; with them a product on OpenCL
 * gives TDM_ERROR_UNSUPPORTED for memory that only the driver finds (tdm_opencl_adopt_memory).
 * Returns when `packed` is complete; meanwhile it needs host memory for two copies of the weight. Not while a graph is
 * recorded. */
TDM_API TDM_MUST_USE tdm_status tdm_pack_weight(tdm_queue *queue, const tdm_tensor *weight,
                                                tdm_tensor *packed);

/** Puts tdm_pack_weight of "<prefix>weight" in its place in the dict, for tdm_linear_apply. The weight's memory is
 * freed when nothing else refers to it. One that is packed stays as it is. */
TDM_API TDM_MUST_USE tdm_status tdm_linear_prepare(tdm_queue *queue, const char *prefix,
                                                   tdm_state_dict *dict);

/** y = activation(x · weightᵀ + bias): x [..., in], weight [out, in], packed or not, bias [out] or NULL, y
 * [..., out]. One matmul with the bias and the activation fused; rows of x and of y have a common
 * stride. With alpha, beta and math it is tdm_matmul of x, weight and y with transpose_b, whose batch of rows by one
 * matrix is that one product, too. */
TDM_API TDM_MUST_USE tdm_status tdm_linear(tdm_queue *queue, const tdm_tensor *x,
                                           const tdm_tensor *weight, const tdm_tensor *bias,
                                           tdm_activation activation, tdm_tensor *y);

/** The same with "<prefix>weight" and, if there is one, "<prefix>bias" of a dict. */
TDM_API TDM_MUST_USE tdm_status tdm_linear_apply(tdm_queue *queue, const tdm_state_dict *dict,
                                                 const char *prefix, const tdm_tensor *x,
                                                 tdm_activation activation, tdm_tensor *y);

/* ---- one function on several devices ---- */

/** Parameters on several devices, for a function that runs on all of them. */
typedef struct tdm_mirror tdm_mirror;

/** The function's arguments on one device. All borrowed for the length of the call. */
typedef struct tdm_replica {
    size_t index;                     /**< which replica it is */
    size_t count;                     /**< of how many */
    tdm_queue *queue;                 /**< of this device; it need not be finished */
    const tdm_state_dict *parameters; /**< on this device */
    const tdm_tensor *inputs;         /**< this device's part of each input */
    size_t input_count;               /**< how many inputs */
    tdm_tensor *output;               /**< to be filled: this device's part of the output */
} tdm_replica;

/** Another status than TDM_OK fails tdm_mirror_run with it and with the message of that thread. `user` is the same for
 * all replicas: what a device keeps from one run to the next is element `index` of an array there. */
typedef tdm_status (*tdm_replica_function)(const tdm_replica *replica, void *user);

/** Takes the parameters (on the queue's device, whose earlier work it waits for) to each of `count`
 * devices, at least one and no device twice, of any backends: copies, but where they are already
 * the same buffers, which then must not be written. Takes a reference to each device. *mirror is
 * NULL on failure. */
TDM_API TDM_MUST_USE tdm_status tdm_mirror_create(tdm_queue *queue,
                                                  const tdm_state_dict *parameters, size_t count,
                                                  tdm_device *const *devices, tdm_mirror **mirror);

/** Runs `function` once per device, all at once, each in a separate thread, which takes none of
 * the process's signals. The inputs (on the queue's device, equal in their first dimension, the
 * batch) are split along the batch into as many parts as there are devices, in order, the first
 * ones larger by one when it does not divide; parts without rows are not run. The parts of the
 * output, whose first dimension is the batch too, are gathered in order into `output`, on the
 * queue's device, contiguous, and have arrived when the call returns. When a device fails the others end
 * their part, the first failure is reported with its device's name, and what `output` holds is
 * undefined. */
TDM_API TDM_MUST_USE tdm_status tdm_mirror_run(tdm_queue *queue, tdm_mirror *mirror,
                                               tdm_replica_function function, void *user,
                                               size_t input_count, const tdm_tensor *inputs,
                                               tdm_tensor *output);

/** The index-th device's parameters, borrowed; NULL past the end. */
TDM_API const tdm_state_dict *tdm_mirror_get_parameters(const tdm_mirror *mirror, size_t index);

/** NULL is allowed. */
TDM_API void tdm_mirror_destroy(tdm_mirror *mirror);

#if defined(__cplusplus)
}
#endif
#endif

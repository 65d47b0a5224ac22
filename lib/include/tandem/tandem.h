/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/** @file
 * Tandem: one C API for compute on CPUs, OpenCL and CUDA devices.
 *
 * device.h  list, choose and open devices      queue.h  in-order queues and events
 * buffer.h  device memory and transfers        tensor.h typed, strided views of buffers
 * graph.h   operations recorded once, and replayed with one call
 * kernel.h  user kernels, from expressions, over rows, or whole ones
 * ops.h     matmul, norms, bias-add, elementwise, casts, random numbers
 * arrays.h  softmax with masks, rows by indices, concat, stack, flip, sorting
 * attention.h  attention, also of grouped heads and ragged batches
 * functions.h  the functions of expressions under their own names: div, pow, exp, where, comparisons …
 * reduce.h  sums, means, extremes, norms and variances over any dimensions
 * create.h  making tensors, to and from host arrays, as text
 * move.h    tensors from device to device
 * state_dict.h  named tensors and safetensors files
 * layers.h  a linear layer; one function on several devices
 * setup.h   settings by call, the log, the allocator: before anything else
 * tune.h    which library multiplies, and how a GPU takes rows: measured, and explained
 * dlpack.h  tensors shared with NumPy, PyTorch and others
 * opencl.h, cuda.h  the driver's own objects, for programs that call it themselves
 * library.h  for libraries over this one: checks and failures as its own
 * cache.h   the folder of compiled kernels: what is in it, and tidying up
 * tandem.hpp    all of this for C++17: objects that free themselves, exceptions
 *
 * Every function that can fail returns a tdm_status; tdm_last_error() then says what was wrong.
 *
 * Threads: each header says which calls may be made at once. A thread that is cancelled
 * (pthread_cancel) in a call of the library's finishes that call first, callbacks included. Threads
 * that the library makes take none of the process's signals, except for their own faults. */
#ifndef TANDEM_TANDEM_H
#define TANDEM_TANDEM_H

#include <tandem/arrays.h>
#include <tandem/attention.h>
#include <tandem/buffer.h>
#include <tandem/cache.h>
#include <tandem/create.h>
#include <tandem/cuda.h>
#include <tandem/device.h>
#include <tandem/dlpack.h>
#include <tandem/functions.h>
#include <tandem/graph.h>
#include <tandem/kernel.h>
#include <tandem/layers.h>
#include <tandem/library.h>
#include <tandem/move.h>
#include <tandem/opencl.h>
#include <tandem/ops.h>
#include <tandem/queue.h>
#include <tandem/reduce.h>
#include <tandem/setup.h>
#include <tandem/state_dict.h>
#include <tandem/status.h>
#include <tandem/tensor.h>
#include <tandem/tune.h>

#define TDM_VERSION_MAJOR 0 /**< the version of this header; tdm_version returns the library's */
#define TDM_VERSION_MINOR 3 /**< see docs/stability.md */
#define TDM_VERSION_PATCH 0 /**< see docs/stability.md */

#if defined(__cplusplus)
extern "C" {
#endif

/** The version of the library that is loaded, "0.3.0". Static storage. */
TDM_API const char *tdm_version(void);

#if defined(__cplusplus)
}
#endif
#endif

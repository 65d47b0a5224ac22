/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* The report of a result that TANDEM_VERIFY found to be wrong, and the file with its operands. */
#ifndef TDMI_VERIFY_REPORT_H
#define TDMI_VERIFY_REPORT_H

#include <stddef.h>

#include <tandem/device.h>
#include <tandem/tensor.h>

typedef struct tdmi_wrong_result {
    const char *function;
    const tdm_device_info *device;
    const char *name; /* of the output */
    const tdm_tensor *tensor;
    size_t element; /* counted row-major */
    double got, expected, allowed;
} tdmi_wrong_result;

/* A tensor of the file, "name.suffix", whose elements are contiguous. */
typedef struct tdmi_saved_tensor {
    const char *name, *suffix; /* NULL: the name alone */
    tdm_dtype dtype;
    const tdm_tensor *shape;
    const void *elements;
} tdmi_saved_tensor;

/* TDM_ERROR_BACKEND with a message that names the element and the file, which a process writes for the first one alone.
 * A line of the log says the same. */
tdm_status tdmi_report_wrong(const tdmi_wrong_result *wrong, const tdmi_saved_tensor *tensors,
                             int count) TDM_MUST_USE;

#endif

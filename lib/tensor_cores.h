/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* Products by the kernel matmul_tiles, on tensor cores that the dialect has assembler for: of f16, of bf16, and of f32
 * where TF32 is allowed. */
#ifndef TDMI_TENSOR_CORES_H
#define TDMI_TENSOR_CORES_H

#include "core.h"
#include "kernel_list.h"

/* How the kernel may cut a product; tdmi_gemm.algorithm counts them from the usual one on. */
enum { TDMI_TENSOR_FORMS = 4 };

/* Whether the device runs this product so. The first one of its dtype has the kernel tried: a small product has to come
 * out exactly right. Any thread. */
bool tdmi_tensor_takes(tdm_device *device, const tdmi_gemm *gemm);

/* The arguments of all kernels of products. */
tdm_matmul_args tdmi_matmul_args(const tdmi_gemm *gemm);
tdmi_variant tdmi_matmul_variant(const tdmi_gemm *gemm, tdmi_kernel_id kernel);

/* The launch of a product that it takes, without the epilogue; buffers are A, B, C. */
typedef struct tdmi_tensor_launch {
    tdmi_variant variant;
    uint32_t groups;
    tdm_matmul_args args;
} tdmi_tensor_launch;
tdmi_tensor_launch tdmi_tensor_plan(const tdmi_device_facts *facts, const tdmi_gemm *gemm);

/* How the product is computed there, as the end of a sentence: "" where the device has no such cores, or the product
 * cannot use them. */
const char *tdmi_tensor_text(tdm_device *device, const tdmi_gemm *gemm);

#endif

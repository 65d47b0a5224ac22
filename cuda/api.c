/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* The tables of functions, which load.c fills in. */
#include "api.h"

tdmi_cudart_api tdmi_cudart;
tdmi_cudrv_api tdmi_cudrv;
tdmi_nvrtc_api tdmi_nvrtc;
tdmi_cublaslt_api tdmi_cublaslt;
tdmi_cublas_api tdmi_cublas;

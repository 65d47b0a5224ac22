/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* Stands for NVIDIA's header, for an example that is built without a toolkit. */
#include "cuda/declarations.h"

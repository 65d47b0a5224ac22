/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* How libraries and files are called on FreeBSD: as on Linux, but for what its packages name otherwise. */

#include "../linux/system_names.h"

#undef TDMI_OPENCL_VENDORS
#define TDMI_OPENCL_VENDORS "/usr/local/etc/OpenCL/vendors"

#undef TDMI_NVIDIA_VERSION_FILE
#define TDMI_NVIDIA_VERSION_FILE ""

#undef TDMI_NAMES_OPENBLAS
#define TDMI_NAMES_OPENBLAS "libopenblas.so.0", "libopenblas.so"

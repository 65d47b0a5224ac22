# Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0
# For Debian and Ubuntu: takes what Tandem needs from the system (libjansson-dev, opencl-headers,
# libclblast-dev, cmake, pkg-config) instead of building it.
include(default)

[platform_requires]
jansson/2.14
opencl-headers/2023.02.06
clblast/1.5.3

[platform_tool_requires]
cmake/3.25.1

[conf]
tools.gnu:pkg_config=pkg-config

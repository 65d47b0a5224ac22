#!/usr/bin/env bash
# Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0
# The share of scripts/test.sh --systems windows that is in the ordinary tests: the library, its exports, the platform
# layer, one test of each kind of kernel, a kernel by a C compiler and an example, compiled for Windows with warnings as
# errors, not optimized and for SSE2 alone, and run under Wine on the cpu backend. Usage: windows.sh SOURCES FOLDER
set -euo pipefail
sources=$1 tools=$2
unset TANDEM_CACHE_DIR # which is no path of Windows
# shellcheck source=/dev/null
. "$sources/scripts/systems/windows.sh"
# The headers are any system's, but lie among those of this one.
mkdir -p "$tools"
ln -sfn /usr/include/CL "$tools/CL" && ln -sf /usr/include/clblast*.h "$tools/"
cmake -S "$sources" -B "$tools/build" -G Ninja --toolchain "$sources/cmake/mingw-w64.cmake" -DCMAKE_BUILD_TYPE=Debug \
    -DCMAKE_C_FLAGS_DEBUG=-O0 -DTANDEM_CPU_ISAS=baseline -DTANDEM_SAFETENSORS=OFF -DTANDEM_TOOLS=OFF \
    -DTANDEM_CL_INCLUDE="$tools" -DTANDEM_CLBLAST_INCLUDE="$tools" -DTANDEM_WERROR=ON -DTANDEM_TESTS=ON \
    -DTANDEM_TEST_DEVICES=cpu -DTANDEM_TEST_PLAIN=ON
cmake --build "$tools/build" --target tandem_shared suite_plain platform children
differing_exports "$tools/build/lib/libtandem.dll" "$sources"/lib/include/tandem/*.h

trap 'under_wine wineserver -k' EXIT
start_wine
windows_platform
windows_suite cpu cpu 'kinds !compiler'
windows_compilers
# As README compiles a program.
mkdir -p "$tools/build/examples"
clang --target=x86_64-w64-mingw32 -fuse-ld=lld -L"$(echo /usr/lib/gcc/x86_64-w64-mingw32/*-win32)" -D_UCRT \
    "$sources/examples/quickstart.c" -I "$sources/lib/include" -L "$tools/build/lib" -ltandem -lucrt \
    -o "$tools/build/examples/quickstart.exe"
windows_examples cpu:0 cpu quickstart

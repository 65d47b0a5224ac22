#!/usr/bin/env bash
# Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0
# The C sources as clang-format has them. The kernels are not C: it does not know the dialect's blocks.
set -euo pipefail
cd "$(dirname "$0")/../.."

mapfile -t backends < <(sed -nE 's/^ *X\([A-Z0-9]+, "([a-z0-9]+)", [0-9]+\).*/\1/p' lib/include/tandem/device.h)
mapfile -t files < <(find lib comm mpi "${backends[@]}" operations reference bench tools examples tests \
    \( -name '*.[ch]' -o -name '*.cpp' -o -name '*.hpp' \) ! -path '*/build/*')
[ ${#files[@]} -gt 300 ] || { echo "only ${#files[@]} sources were found"; exit 1; }
clang-format --dry-run -Werror "${files[@]}"
# It leaves comments as they are. Bytes, so not in a locale in which a letter may have several.
if LC_ALL=C grep -nE '^.{121,}$' "${files[@]}" kernels/*.cl kernels/*.h; then
    echo "these lines have more than 120 bytes"
    exit 1
fi
# OpenCL C 1.2 has no macros with a variable number of arguments (its section 6.9), which drivers made of clang let pass.
if grep -n '__VA_ARGS__' $(ls kernels/*.cl kernels/*.h | grep -v 'dialect_c\|manifest'); then
    echo "a macro in OpenCL C has a variable number of arguments"
    exit 1
fi

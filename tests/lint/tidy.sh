#!/usr/bin/env bash
# Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0
# Mistakes that clang-tidy finds, by the list in .clang-tidy. Usage: tidy.sh BUILD
set -uo pipefail
cd "$(dirname "$0")/../.." || exit

mapfile -t backends < <(sed -nE 's/^ *X\([A-Z0-9]+, "([a-z0-9]+)", [0-9]+\).*/\1/p' lib/include/tandem/device.h)
# The simulation is compiled by SimGrid's smpicc, with its mpi.h; what is for other systems has headers of theirs.
mapfile -t files < <(find lib comm "${backends[@]}" operations reference bench tools examples -name '*.c' ! -name 'kernels*.c' \
                          ! -path '*/simulation/*' ! -path 'lib/platform/*/*'
    find lib/platform/{posix,linux} -name '*.c')
[ ${#files[@]} -gt 120 ] || { echo "only ${#files[@]} sources were found"; exit 1; }
if ! printf '%s\n' "${files[@]}" | xargs -P "$(nproc)" -n 8 clang-tidy -p "$1" --quiet 2>/dev/null; then
    echo "clang-tidy found something in these ${#files[@]} files"
    exit 1
fi

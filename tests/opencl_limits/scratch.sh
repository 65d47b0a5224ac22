#!/usr/bin/env bash
# Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0
# Fails where a kernel copies its arguments into the memory of every lane, as AMD's compilers do with a struct that a
# variable indexes. It compiles for one of AMD's GPUs what OpenCL's compiler is given for some operations and a user's
# expressions. Usage: scratch.sh CLANG SUITE   (with the variables that make opencl:0 the large device)
set -euo pipefail
if ! "$1" -print-targets | grep -q amdgcn; then
    echo "skipped: $1 does not compile for AMD's GPUs"
    exit 77
fi
texts=$(mktemp -d)
trap 'rm -rf "$texts"' EXIT
TANDEM_CACHE_DIR=$texts/cache TDM_TEXTS=$texts TDM_TEST_SEED=1 "$2" \
    --filter '@(operations/@(arithmetic|cast|reduce)_shapes|expressions/*)'
declare -A seen
for text in "$texts"/*.cl; do
    read -r _ options <"$text"
    # a file's first kernel, and how it reads rows
    kernel=$(grep -m1 '^KERNEL' "$text" | sed 's/.*(\([a-z]*\),.*/\1/')
    [ -z "${seen[$kernel ${options##*STREAM=? }]:-}" ] || continue
    seen[$kernel ${options##*STREAM=? }]=$kernel
    # shellcheck disable=SC2086
    "$1" -x cl $options -D__OPENCL_VERSION__=120 -target amdgcn-amd-amdhsa -mcpu=gfx90a -nogpulib -O3 -S -emit-llvm \
        -o "$texts/code" "$text"
    if grep -E 'alloca .*%struct\.tdm_[a-z_]*args' "$texts/code"; then
        echo "$kernel has its arguments in the memory of each lane: $options"
        exit 1
    fi
done
echo "${#seen[@]} texts: ${seen[*]}"
for kernel in elementwise cast reduce expression; do
    [[ " ${seen[*]} " == *" $kernel "* ]] || { echo "no $kernel among them"; exit 1; }
done

#!/usr/bin/env bash
# Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0
# Compiles the texts that OpenCL GPUs are given by clang, of which AMD's and NVIDIA's compilers are made. Fails where a
# kernel copies its arguments into the memory of every lane, as a struct that a variable indexes is for AMD's GPUs;
# where rows lie there, as an array does whose elements are written alone and in vectors, or for AMD's one whose address
# is compared; where 64 bits are reduced by sub-groups, which Intel's drivers do wrongly; and where the kernel for tensor cores is no OpenCL C.
# Usage: scratch.sh CLANG SUITE   (with the variables that make opencl:0 the large device)
set -euo pipefail
clang=$1 suite=$2
for target in amdgcn nvptx64; do
    "$clang" -print-targets | grep -q "$target" || { echo "skipped: $clang does not compile for $target"; exit 77; }
done
texts=$(mktemp -d)
trap 'rm -rf "$texts"' EXIT
amd=(-x cl -D__OPENCL_VERSION__=120 -target amdgcn-amd-amdhsa -mcpu=gfx90a -nogpulib -O3 -S -emit-llvm)
nvidia=(-x cl -D__OPENCL_VERSION__=300 -target nvptx64-nvidia-nvcl -Xclang -target-cpu -Xclang sm_80
    -Xclang -cl-ext=+cl_khr_fp16)

given() { # FOLDER FILTER VARIABLE=VALUE...: the texts of the kernels of these tests
    mkdir "$texts/$1"
    env TANDEM_CACHE_DIR="$texts/cache" TDM_TEXTS="$texts/$1" TDM_TEST_SEED=1 "${@:3}" "$suite" --filter "$2"
}
kernel_of() { # TEXT: a file's first kernel
    grep -m1 '^KERNEL' "$1" | sed 's/.*(\([a-z_]*\),.*/\1/'
}
with_halves() { # before the text, conversions that a driver has as instructions
    echo '#pragma OPENCL EXTENSION cl_khr_fp16 : enable'
    echo '#define vload_half(i, p) ((float)*(p))'
    echo '#define vstore_half_rte(v, i, p) (*(p) = (half)(v))'
    cat
}
compare() { # WHAT KERNEL...: each must be among those that were looked at
    echo "$1: ${#seen[@]} texts: ${seen[*]}"
    for kernel in "${@:2}"; do
        [[ " ${seen[*]} " == *" $kernel "* ]] || { echo "no $kernel among them"; exit 1; }
    done
}

declare -A seen
given arguments '@(operations/@(arithmetic|cast|reduce)_shapes|expressions/*)'
for text in "$texts"/arguments/*.cl; do
    read -r _ options <"$text"
    kernel=$(kernel_of "$text")
    ways=${options##*STREAM=? } # how it reads rows
    [ -z "${seen[$kernel $ways]:-}" ] || continue
    seen[$kernel $ways]=$kernel
    # shellcheck disable=SC2086
    "$clang" "${amd[@]}" $options -o "$texts/code" "$text"
    if grep -E 'alloca .*%struct\.tdm_[a-z_]*args' "$texts/code"; then
        echo "$kernel has its arguments in the memory of each lane: $options"
        exit 1
    fi
done
compare arguments elementwise cast reduce expression

# Sums of f32 by sub-groups, of f64 and i32, which have 64 bits, without.
text=$(grep -lm1 '^KERNEL.*(reduce,' "$texts"/arguments/*.cl | head -n 1)
read -r _ options <"$text"
for dtype in 0 1 6; do
    sed "s/-cl-std=CL1.2/-cl-std=CL2.0/; s/-D\([TU]\)_ID=[0-9]*/-D\1_ID=$dtype/g; s/OP=[0-9]*/OP=0/" <<<"$options" |
        xargs "$clang" "${amd[@]/VERSION__=120/VERSION__=200}" -DTDM_WANTS_SUB_GROUPS=1 -o "$texts/code" "$text"
    if grep -q '_Z20sub_group_reduce_[a-z]*[lmd](' "$texts/code"; then
        echo "64 bits are reduced by sub-groups"
        exit 1
    fi
    [ "$dtype" != 0 ] || grep -q '_Z20sub_group_reduce_addf(' "$texts/code" || { echo "no sub-groups"; exit 1; }
done

seen=()
given rows 'operations/@(bias_add|rms_norm|softmax)_shapes' TDM_TEST_DTYPES=f32,f16,bf16
for text in "$texts"/rows/*.cl; do
    read -r _ options <"$text"
    kernel=$(kernel_of "$text")
    [[ "$options" == *-DVECTORS=[1-9]*VECTOR_BYTES=16*LOOSE=0* ]] || continue
    [ -z "${seen[$kernel ${options#*-cl-}]:-}" ] || continue
    seen[$kernel ${options#*-cl-}]=$kernel
    # shellcheck disable=SC2086
    with_halves <"$text" | "$clang" "${nvidia[@]}" $options -O3 -S -o "$texts/code" -
    # shellcheck disable=SC2086
    with_halves <"$text" | "$clang" "${amd[@]}" $options -o "$texts/code-of-amd" -
    if grep -m1 -E 'local_depot|= alloca' "$texts/code" "$texts/code-of-amd"; then
        echo "$kernel has rows in the memory of each lane: $options"
        exit 1
    fi
done
compare rows bias_add rms_norm softmax

seen=()
given tiles matmul_tiles/trial TDM_LIMITS_NVIDIA=plain "TDM_TEST_TENSOR=it uses the tensor cores" \
    TDM_TEST_DTYPES=f32,f16,bf16
for text in "$texts"/tiles/*.cl; do
    read -r _ options <"$text"
    [[ "$(kernel_of "$text")" == matmul_tiles && "$options" == *TDM_WANTS_TENSOR_CORES* ]] || continue
    dtype=${options#*-DT_ID=}
    seen[$options]=of_${dtype%% *}
    # shellcheck disable=SC2086
    sed '/^#undef TDM_WANTS_TENSOR_CORES/d' "$text" | with_halves |
        "$clang" "${nvidia[@]}" $options -fgnu-keywords -fsyntax-only -
done
compare tiles of_0 of_2 of_3

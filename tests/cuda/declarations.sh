#!/usr/bin/env bash
# Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0
# Compares cuda/declarations.h with NVIDIA's headers and libraries: every constant, every type, every
# function. Usage: declarations.sh COMPILER NM INCLUDE LIBRARIES FOLDER
# INCLUDE is the folder of the toolkit's headers, LIBRARIES that of its libraries, FOLDER one to work in.
set -euo pipefail
export LC_ALL=C
here=$(cd "$(dirname "$0")" && pwd)
compiler=$1 nm=$2 include=$3 libraries=$4 folder=$5
mkdir -p "$folder"

# Makes the headers that declarations.c includes, from a header like ours, and compiles it.
agrees() { # HEADER
    cp "$1" "$folder/functions.h"
    sed -n '/^#ifndef TDMI_CUDA_FUNCTIONS_ONLY/,/^#endif/p' "$1" | grep -v '^#' >"$folder/types.h"
    sed -E 's/\b(cuda|cu[A-Z]|CU|_?nvrtc|NVRTC|cublas|libraryProp|M[AI][A-Z]*_VERSION)/our_\1/g' \
        "$folder/types.h" >"$folder/ours.h"
    local text
    text=$(tr '\n' ' ' <"$folder/types.h")
    {
        grep -oE '[A-Za-z_0-9]+ = -?[0-9]+' "$folder/types.h" | sed -E 's/ = .*/)/; s/^/SAME_NUMBER(/'
        grep -oE '(^|\*/|;) *enum [A-Za-z_0-9]+ \{' <<<"$text" | sed -E 's/.*enum (.*) \{/SAME_ENUM(\1)/'
        grep -oE 'typedef enum [A-Za-z_0-9]+ \{[^}]*\} [A-Za-z_0-9]+;' <<<"$text" |
            sed -E 's/.*\} (.*);/SAME_INTEGER(\1)/'
        grep -oE 'typedef (int|unsigned long long) [A-Za-z_0-9]+;' <<<"$text" |
            sed -E 's/.* (.*);/SAME_INTEGER(\1)/'
        grep -oE 'typedef struct [A-Za-z_0-9]+ \*[^;]*;' <<<"$text" | grep -oE '\*[A-Za-z_0-9]+' |
            sed -E 's/\*(.*)/SAME_POINTER(\1)/'
        grep -oE 'typedef struct [A-Za-z_0-9]+ \{[^}]*\} [A-Za-z_0-9]+;' <<<"$text" |
            sed -E 's/.*\} (.*);/SAME_STRUCT(\1)/'
    } >"$folder/names.h"
    "$compiler" -std=c11 -Wall -Werror -fsyntax-only -isystem "$include" -I "$folder" \
        "$here/declarations.c" >"$folder/log" 2>&1
}
counted() { grep -cE "$1" "$folder/names.h" || true; }

ours=$here/../../cuda/declarations.h
version=$(sed -nE 's/^#define CUDART_VERSION +([0-9]+)/\1/p' "$include/cuda_runtime_api.h")
if ! agrees "$ours"; then
    cat "$folder/log"
    echo "FAILED: cuda/declarations.h does not agree with the headers of CUDA $version in $include"
    exit 1
fi
numbers=$(counted SAME_NUMBER) types=$(counted 'SAME_(INTEGER|ENUM|POINTER|STRUCT)')
if [ "$numbers" -ne "$(grep -oE ' = -?[0-9]+' "$folder/types.h" | wc -l)" ] ||
    [ "$types" -ne "$(grep -cE '^(typedef|enum [A-Za-z]+)|, \*' "$folder/types.h")" ]; then
    echo "FAILED: $numbers numbers and $types types were compared, and there are others"
    exit 1
fi

# Each change must be noticed, or the comparison would be worth nothing.
while read -r change; do
    sed -E "$change" "$ours" >"$folder/changed.h"
    if cmp -s "$ours" "$folder/changed.h"; then
        echo "FAILED: $change changes nothing"
        exit 1
    fi
    if agrees "$folder/changed.h"; then
        echo "FAILED: $change goes unnoticed"
        exit 1
    fi
done <<'CHANGES'
s/cudaErrorNotReady = 600/cudaErrorNotReady = 601/
s/CUBLAS_OP_T = 1/CUBLAS_OP_T = 2/
s/cudaEventDisableTiming = 2/cudaEventDisableTiming = 4/
s/MINOR_VERSION = 1/MINOR_VERSION = 0/
s/data\[8\]/data[9]/
s/unsigned long long CUdeviceptr/int CUdeviceptr/
s/typedef struct CUmod_st \*CUmodule/typedef int CUmodule/
s/CUBLAS_GEMM_DEFAULT = -1/CUBLAS_GEMM_DEFAULT = 1/
s/int reserved\[4\]/int reserved[6]/
s/cudaMalloc\(void \*\*pointer, size_t size\)/cudaMalloc(void **pointer, int size)/
s/cuCtxPopCurrent_v2\(CUcontext \*/cuCtxPopCurrent_v2(CUmodule */
s/^const char \*nvrtcGetErrorString/char *nvrtcGetErrorString/
CHANGES

# The names that the libraries export. Prints which libraries are not there.
looked=0 functions=$(grep -oE '\b(cu|cuda|nvrtc|cublas|cublasLt)[A-Z][A-Za-z0-9_]*\(' "$ours" | tr -d '(')
look() { # LIBRARY NAMES
    local file names name
    file=$(compgen -G "$libraries/$1" || compgen -G "$libraries/stubs/$1" || true)
    if [ -z "$file" ]; then
        echo "not looked at: $1 is not in $libraries"
        return
    fi
    names=$("$nm" -D --defined-only "$file" | sed -E 's/.* //; s/@.*//')
    for name in $(grep -E "$2" <<<"$functions"); do
        looked=$((looked + 1))
        if ! grep -qx "$name" <<<"$names"; then
            echo "FAILED: $file has no function $name"
            exit 1
        fi
    done
}
look libcudart.so '^cuda'
look libcuda.so '^cu[A-Z]'
look libnvrtc.so '^nvrtc'
look libcublasLt.so '^cublasLt'
look libcublas.so '^cublas[^L]'
echo "as in CUDA $version: $numbers numbers, $types types, $(wc -w <<<"$functions") functions," \
    "of which $looked were found in libraries"

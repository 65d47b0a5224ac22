#!/usr/bin/env bash
# Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0
# Fuzzes tdm_kernel_elementwise, or tdm_kernel_rows and tdm_kernel_source with their parameters and arguments, with
# libFuzzer, under ASan + UBSan, and runs valid expressions on cpu. Needs clang with its runtime (Debian:
# clang libclang-rt-14-dev).
# Usage: scripts/fuzz.sh [EXECUTIONS [expressions|kernels]]    (default: 10000000 expressions)
# Its corpus stays in build/fuzz/found, or found-kernels; a text that fails is written to build/fuzz.
set -euo pipefail
[[ " $* " != *" --help "* && " $* " != *" -h "* ]] || { sed -n '3,/^[^#]/s/^# \{0,1\}//p' "$0"; exit 0; }
cd "$(dirname "$0")/.."
executions=${1:-10000000} target=${2:-expressions}
if ! [[ $executions =~ ^[0-9]+$ && $target =~ ^(expressions|kernels)$ ]]; then
    echo "usage: scripts/fuzz.sh [EXECUTIONS [expressions|kernels]]" >&2
    exit 2
fi

# The library, of which libFuzzer follows only the code that reads expressions and runs them.
cmake --preset release >/dev/null
cmake --build --preset release --target tandem_static
build=build/fuzz found=build/fuzz/found
[ "$target" = expressions ] || found=$found-$target
mkdir -p "$found"
clang -std=c11 -g -O1 -DTDM_LIBFUZZER -D_DEFAULT_SOURCE -fsanitize=fuzzer,address,undefined -Ilib -Ilib/include -Ikernels \
    "tests/fuzz/$target.c" lib/kernels/*.c cpu/interpreter.c build/release/lib/libtandem.a -ljansson -lm -ldl -lpthread \
    -o "$build/$target"
export TANDEM_CPU_COMPILER=none # which would be started for each text
exec "$build/$target" -runs="$executions" -max_len=600 -print_final_stats=1 -artifact_prefix="$build/" \
    -dict=tests/fuzz/expressions.dict "$found"

#!/usr/bin/env bash
# Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0
# Fuzzes what reads texts and files, with libFuzzer, under ASan + UBSan: tdm_kernel_elementwise, whose valid
# expressions run on cpu, tdm_kernel_rows and tdm_kernel_source with their parameters and arguments, safetensors files,
# names of devices, values of variables, entries of the cache, and what processes say that they hold. Begins with the
# kept corpus of tests/fuzz/corpus. Needs clang with its runtime (Debian: clang libclang-rt-14-dev).
# Usage: scripts/fuzz.sh [EXECUTIONS [expressions|kernels|safetensors|names|environment|records|holders]]
#        (default: 10000000 expressions)
# Its finds stay in build/fuzz/found-TARGET; an input that fails is written to build/fuzz.
set -euo pipefail
[[ " $* " != *" --help "* && " $* " != *" -h "* ]] || { sed -n '3,/^[^#]/s/^# \{0,1\}//p' "$0"; exit 0; }
cd "$(dirname "$0")/.."
executions=${1:-10000000} target=${2:-expressions}
if ! [[ $executions =~ ^[0-9]+$ && $target =~ ^(expressions|kernels|safetensors|names|environment|records|holders)$ ]]; then
    echo "usage: scripts/fuzz.sh [EXECUTIONS [TARGET]], see --help" >&2
    exit 2
fi

# The library, of which libFuzzer follows only the code that reads the input.
source=tests/fuzz/$target.c FUZZ_TARGET=$target
case $target in
expressions | kernels) followed=(lib/user_kernels/*.c cpu/interpreter.c) ;;
safetensors) followed=(lib/model/safetensors_{header,read,write}.c) ;;
names) followed=(lib/devices/registry.c lib/base/spelling.c lib/base/text.c) ;;
environment) followed=(lib/base/env.c lib/base/spelling.c lib/base/text.c) ;;
records) followed=(lib/machine/disk_cache.c lib/machine/cache_entry.c lib/devices/cache.c lib/tuned.c) ;;
holders) followed=(lib/machine/holders.c) ;;
esac
[ -e "$source" ] || source=tests/fuzz/inputs.c
cmake --preset release >/dev/null
cmake --build --preset release --target tandem_static
build=build/fuzz found=build/fuzz/found-$target
mkdir -p "$found"
number=0
while IFS= read -r line; do # an input a line
    number=$((number + 1))
    printf '%b' "$line" >"$found/kept-$number"
done <"tests/fuzz/corpus/$target.txt"
clang -std=c11 -g -O1 -DTDM_LIBFUZZER -D_DEFAULT_SOURCE -fsanitize=fuzzer,address,undefined \
    '-DTDMI_BACKEND_LIST=X(cuda) X(opencl) X(cpu)' -Ilib/platform/posix -Ilib/platform/linux -Ilib -Ilib/include -Ikernels \
    "$source" "${followed[@]}" build/release/lib/libtandem.a -ljansson -lm -ldl -lpthread \
    -o "$build/$target"
# No other program or driver is started for an input.
export FUZZ_TARGET TANDEM_CPU_COMPILER=none OCL_ICD_VENDORS=/nonexistent
exec "$build/$target" -runs="$executions" -max_len=600 -print_final_stats=1 -artifact_prefix="$build/" \
    -dict=tests/fuzz/expressions.dict "$found"

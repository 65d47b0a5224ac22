#!/usr/bin/env bash
# Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0
# Measures a program's first run and a later one: the examples quickstart and digits, next to a program that
# compiles one empty kernel through OpenCL, which is the driver's own share.
# Cold: every run has empty caches, Tandem's and PoCL's. Warm: it has those of a run before.
# Rounds are interleaved, so that other load on the machine meets all; an idle machine is best all the same.
# Usage: scripts/first-call.sh [ROUNDS]   (default 9; BUILD=build/release names another build)
set -euo pipefail
[[ " $* " != *" --help "* && " $* " != *" -h "* ]] || { sed -n '3,/^[^#]/s/^# \{0,1\}//p' "$0"; exit 0; }
cd "$(dirname "$0")/.."

rounds=${1:-9}
[[ $rounds =~ ^[1-9][0-9]*$ ]] || { echo "usage: scripts/first-call.sh [ROUNDS]" >&2; exit 2; }
build=${BUILD:-build/release}
for program in quickstart digits; do
    [ -x "$build/examples/$program" ] || {
        echo "first-call: $build/examples/$program is missing: build first (scripts/run.sh)" >&2
        exit 2
    }
done
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
"${CC:-cc}" -O2 -w scripts/empty_kernel.c -o "$work/empty_kernel" -lOpenCL

names=(empty_kernel quickstart digits)
declare -A commands=(
    [empty_kernel]="$work/empty_kernel"
    [quickstart]="$build/examples/quickstart"
    [digits]="$build/examples/digits examples/digits/model.safetensors examples/digits/test.safetensors"
)

run() { # NAME KIND: one run in the caches of NAME; adds its milliseconds to the list NAME.KIND
    local start end
    export POCL_CACHE_DIR=$work/caches/$1/pocl TANDEM_CACHE_DIR=$work/caches/$1/tandem
    [ "$2" != cold ] || rm -rf "$work/caches/$1"
    mkdir -p "$POCL_CACHE_DIR"
    mkdir -p "$TANDEM_CACHE_DIR"
    chmod 700 "$TANDEM_CACHE_DIR"
    start=${EPOCHREALTIME/[.,]/}
    ${commands[$1]} >"$work/output" 2>&1 || { cat "$work/output" >&2; exit 1; }
    end=${EPOCHREALTIME/[.,]/}
    echo "$(((end - start) / 100))" >>"$work/$1.$2" # tenths of a millisecond
}

for ((round = 0; round < rounds; round++)); do
    for name in "${names[@]}"; do
        run "$name" cold
        run "$name" warm
    done
done

figures() { # median and least of a list, in milliseconds
    sort -n "$work/$1" | awk '{t[NR] = $1 / 10}
        END {m = NR % 2 ? t[(NR + 1) / 2] : (t[NR / 2] + t[NR / 2 + 1]) / 2; print m, t[1]}'
}

echo "$(uname -m), $(nproc) cores, load $(cut -d ' ' -f 1 /proc/loadavg), $rounds rounds, milliseconds"
printf '%-14s %8s %8s %8s   %8s %8s %8s\n' '' cold least 'x empty' warm least 'x empty'
read -r empty_cold _ <<<"$(figures empty_kernel.cold)"
read -r empty_warm _ <<<"$(figures empty_kernel.warm)"
for name in "${names[@]}"; do
    read -r cold cold_least <<<"$(figures "$name.cold")"
    read -r warm warm_least <<<"$(figures "$name.warm")"
    awk -v n="$name" -v c="$cold" -v cl="$cold_least" -v w="$warm" -v wl="$warm_least" \
        -v ec="$empty_cold" -v ew="$empty_warm" \
        'BEGIN {printf "%-14s %8.1f %8.1f %8.2f   %8.1f %8.1f %8.2f\n", n, c, cl, c / ec, w, wl, w / ew}'
done

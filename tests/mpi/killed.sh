#!/usr/bin/env bash
# Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0
# Ends a random rank of 2 to 4 at a random moment, RUNS times, two runs at once: each other one says in time that it is
# lost, and none hangs. TDM_TEST_SEED repeats a run.
# Usage: killed.sh RUNS MPIRUN OPTION... PROGRAM
set -euo pipefail
runs=$1
shift
program=${*: -1}
command=("${@:1:$#-1}")
seed=${TDM_TEST_SEED:-$(date +%s)}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
echo "seed $seed, $runs runs"

one() { # NUMBER: nothing is written where all is right
    local n=$(($1 % 3 + 2)) status=0 right
    timeout -k 1 30 "${command[@]}" "$n" "$program" "$((seed + $1))" >"$work/said$1" 2>&1 || status=$?
    right=$(grep -c '^survived: ' "$work/said$1" || true)
    [ "$status" != 124 ] && [ "$right" = $((n - 1)) ] && ! grep -q '^wrong' "$work/said$1" && return
    echo "seed $((seed + $1)), $n ranks: $right survived, mpirun ended with $status"
    cat "$work/said$1"
}
half() { # FIRST
    for ((i = $1; i < runs; i += 2)); do one "$i"; done >"$work/half$1"
}
half 0 &
half 1
wait $!
cat "$work/half0" "$work/half1"
said=("$work"/said*)
[ ${#said[@]} = "$runs" ] && [ ! -s "$work/half0" ] && [ ! -s "$work/half1" ]

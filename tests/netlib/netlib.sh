#!/usr/bin/env bash
# Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0
# The products of netlib's testers of the third level of the BLAS, by tdm_matmul, through the shim: each transposition,
# extents of 0 to 65, alpha and beta of 0, 1 and others, gaps between columns. Usage: netlib.sh SHIM FOLDER
set -euo pipefail
shim=$1 folder=$2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
for type in S D; do
    # The summary's name and unit, no snapshots, stops or wrong calls; the threshold is netlib's.
    out=$(LD_PRELOAD=$shim "$folder/xblat3${type,}" 2>&1 <<END
'summary'
6
'snapshot'
-1
F
F
F
16.0
6
0 1 2 7 32 65
3
0.0 1.0 0.7
3
0.0 1.0 1.3
${type}GEMM  T
${type}SYMM  F
${type}TRMM  F
${type}TRSM  F
${type}SYRK  F
${type}SYR2K F
END
    ) || { echo "$out"; exit 1; }
    out+=$'\n'$(cat summary)
    calls=$(sed -n "s/.*${type}GEMM  PASSED THE COMPUTATIONAL TESTS *( *\([0-9]*\) CALLS).*/\1/p" <<<"$out")
    products=$(sed -n 's/^shim: \([0-9]*\) products$/\1/p' <<<"$out")
    # of the calls those with an extent of 0 are none of ours
    if [ -z "$calls" ] || [ -z "$products" ] || [ "$products" -lt $((calls / 2)) ]; then
        echo "$out"
        exit 1
    fi
    echo "${type}GEMM: $calls calls, $products products by tdm_matmul"
done

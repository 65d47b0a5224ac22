#!/usr/bin/env bash
# Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0
# The benchmark on a device without f64, and with cases that do not fit into one allocation.
# Usage: bench.sh TANDEM   (with the variables that make opencl:0 the small device)
set -euo pipefail
tdm=$1

bench() { # STATUS TEXT ARGUMENT...: runs some fills, which end so and print that
    local wanted=$1 text=$2 status=0 printed
    shift 2
    printed=$("$tdm" bench --device opencl:0 --profile full --op fill "$@" 2>&1) || status=$?
    if [ "$status" -ne "$wanted" ] || [[ "$printed" != *"$text"* ]]; then
        echo "bench: status $status, not $wanted, or nothing like '$text', of: $*"
        echo "$printed"
        exit 1
    fi
}
bench 0 "1 rows, 0 not verified, 1 skipped, 1 not applicable, " --dtype f32,f64 --shape 4096,8192x4096
bench 0 "fill f64 8192x4096: not applicable: the device has no f64 arithmetic" --dtype f64
bench 0 "0 rows, 0 not verified, 0 skipped, 1 not applicable, " --dtype f64
bench 1 "0 rows, 0 not verified, 1 skipped, 0 not applicable, " --dtype f32 --shape 8192x4096

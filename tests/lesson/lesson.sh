#!/usr/bin/env bash
# Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0
# Runs examples/use_a_gpu and compares its output. The first two parts depend on the machine and
# are matched by pattern; from the third on it is the same on every device, but for the devices'
# names and the times. Usage: lesson.sh PROGRAM FIRST SECOND  (SECOND "none": one device alone)
set -euo pipefail
program=$1 first=$2 second=$3
here=$(dirname "$0")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

"$program" "$work/layer.safetensors" >"$work/all"
cat "$work/all"
[ -s "$work/layer.safetensors" ] || { echo "lesson: no file was saved"; exit 1; }

wanted() {
    grep -qE "$1" "$work/all" || { echo "lesson: no line matches: $1"; exit 1; }
}
wanted "^$first: .+ GiB"
wanted '^cpu devices: [1-9]'
wanted '^physical GPUs: [0-9]+$'
wanted '^gpu:10: device "gpu:10" does not exist'
wanted '^try_gpu\(10\): cpu:0$'
wanted '^try_all_gpus\(\): '
wanted "^first: $first\$"
wanted "^second: $second"
wanted '^time: read one at a time [0-9.]+ ms, read once [0-9.]+ ms$'

expected=$here/two_devices.txt
[ "$second" != none ] || expected=$here/one_device.txt
sed -n '/^3\. /,$p' "$work/all" | grep -v '^time: ' >"$work/got"
sed -e "s/FIRST/$first/g" -e "s/SECOND/$second/g" "$expected" | diff "$work/got" -

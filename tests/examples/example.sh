#!/usr/bin/env bash
# Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0
# Runs an example in a separate folder and looks for its output: the lines of a file, each an
# extended regular expression for a whole line, in that order, with DEVICE for the device's name. Other
# lines may be between them. Usage: example.sh PROGRAM EXPECTED DEVICE [ARGUMENT...]
set -euo pipefail
program=$1 expected=$2 device=$3
shift 3
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"

status=0
"$program" "$@" >out 2>err || status=$?
cat out err
[ "$status" -eq 0 ] || { echo "example: exit status $status"; exit 1; }
exec 3<out
while IFS= read -r pattern; do
    pattern=${pattern//DEVICE/$device}
    found=
    while [ -z "$found" ] && IFS= read -r line <&3; do
        line=${line%$'\r'} # of a program for Windows
        [[ ! $line =~ ^($pattern)$ ]] || found=yes
    done
    [ -n "$found" ] || { echo "example: no line, or not in this order: $pattern"; exit 1; }
done <"$expected"

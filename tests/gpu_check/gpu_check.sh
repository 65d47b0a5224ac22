#!/usr/bin/env bash
# Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0
# Tests scripts/gpu-check.sh without a GPU: its arguments, that no GPU is a failure, and with stand-ins
# for what it runs (stand_in.sh under their names) what it makes of their success and failure.
# Usage: gpu_check.sh SCRIPT BUILD   (BUILD: a build of Tandem)
set -euo pipefail
script=$1 build=$2
here=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
out=$work/out

fail() {
    echo "gpu_check: $*"
    cat "$work/printed"
    exit 1
}
check() { # STATUS ARGUMENT...: runs the script
    local wanted=$1 status=0
    shift
    "$script" "$@" >"$work/printed" 2>&1 || status=$?
    [ "$status" -eq "$wanted" ] || fail "status $status, not $wanted, of: $*"
}
says() { grep -qE -- "$1" "$out/summary.txt" || fail "no line of the summary matches: $1"; }
silent() { ! grep -qE -- "$1" "$out/summary.txt" || fail "a line of the summary matches: $1"; }

# Arguments are refused before anything is made.
for arguments in "" "--only" "--only tests" "$out --only" "$out --only doctor" "$out more" "$out --helpme"; do
    # shellcheck disable=SC2086 # they are several words
    check 2 $arguments
    grep -q '^usage: scripts/gpu-check.sh OUT ' "$work/printed" || fail "no usage for: $arguments"
    [ ! -e "$out" ] || fail "$out was made for: $arguments"
done

check 0 "$out" --help
grep -q '^Usage: scripts/gpu-check.sh OUT ' "$work/printed" || fail "--help does not say how it is used"
[ ! -e "$out" ] || fail "$out was made for --help"

# No GPU: the real program, which is shown no driver.
export OCL_ICD_VENDORS=$work/no-drivers
mkdir "$OCL_ICD_VENDORS"
CUDA_VISIBLE_DEVICES='' GPU_CHECK_BUILD=$build check 1 "$out"
says '^GPU devices .* FAILED: this machine has no GPU device: nothing was checked$'
says '^all \(tests sanitizer bench\) .* FAILED: '
for file in log.txt versions.txt; do
    [ -s "$out/$file" ] || fail "$file was not written"
done

# Two GPUs, in the words of the real program.
mkdir -p "$work/build/tools" "$work/build/tests" "$work/bin"
TANDEM_CPU_DEVICES=2 TANDEM_BACKEND=cpu "$build/tools/tdm" devices --json |
    sed -e 's/"id": "cpu:0"/"id": "cuda:0"/' -e 's/"id": "cpu:1"/"id": "opencl:0"/' \
        -e 's/"type": "cpu"/"type": "gpu"/' >"$work/devices.json"
for name in build/tools/tdm build/tests/suite build/tests/suite_plain bin/compute-sanitizer bin/python3; do
    ln -s "$here/stand_in.sh" "$work/$name"
done
export GPU_CHECK_BUILD=$work/build PATH=$work/bin:$PATH STAND_IN_DEVICES=$work/devices.json

GPU_CHECK_COMMIT=1234abcd check 0 "$out"
says '^tests cuda:0 .* passed: Tested: 7 '
says '^tests opencl:0 .* passed'
for tool in memcheck racecheck initcheck synccheck; do
    says "^sanitizer $tool .* passed: .*SUMMARY: 0 "
done
says '^bench .* passed: 2 rows, 0 not verified'
says '^bench beside PyTorch .* passed'
says '^all .* passed$'
silent rehearsal
silent 'f64'
grep -qx 'tandem: 1234abcd' "$out/versions.txt" || fail "versions.txt does not name the sources"
for file in tests-cuda-0.xml tests-opencl-0.xml bench.json bench-norms.json bench.txt; do
    [ -s "$out/$file" ] || fail "$file was not written"
done

check 0 "$out" --only bench
says '^bench '
silent '^(tests|sanitizer) '
[ ! -e "$out/tests-cuda-0.xml" ] || fail "a file of the run before is still there"
GPU_CHECK_DEVICES=cpu:0 check 0 "$out" --only tests --only sanitizer
says '^A rehearsal on cpu:0: no GPU was looked for, none was checked\.$'
says '^tests cpu:0 .* passed'
silent '^bench '

# A device without f64: told, and no failure.
sed '/"id": "opencl:0"/,/"f64"/ s/"f64": true/"f64": false/' "$work/devices.json" >"$work/no-f64.json"
STAND_IN_DEVICES=$work/no-f64.json check 0 "$out"
says '^opencl:0 has no f64 arithmetic: '
silent '^cuda:0 has no f64'
says '^all .* passed$'
STAND_IN_DEVICES=$work/no-f64.json GPU_CHECK_DEVICES=cuda:0 check 0 "$out" --only bench
silent 'f64'

# What fails is told, and the rest goes on.
STAND_IN_FAILS=suite check 1 "$out"
says '^tests cuda:0 .* FAILED: status 1; Tested: 7 '
says '^sanitizer memcheck .* passed'
says '^bench .* passed'
says '^all .* FAILED: 2 of 9$'
STAND_IN_FAILS=hazard check 1 "$out" --only sanitizer
says '^sanitizer racecheck .* FAILED: status 1; RACECHECK SUMMARY: 3 hazards'
says '^sanitizer synccheck .* passed'
STAND_IN_FAILS=bench check 1 "$out" --only bench
says '^bench .* FAILED: status 1; 2 rows, 1 not verified'
# Success of what did nothing is none.
STAND_IN_FAILS=nothing check 1 "$out"
says '^tests cuda:0 .* FAILED: nothing in its output matches'
says '^sanitizer initcheck .* FAILED: nothing in its output matches'
says '^bench .* FAILED: nothing in its output matches'
STAND_IN_FAILS=late check 1 "$out" --only sanitizer
says '^sanitizer memcheck .* FAILED: ended at its limit'

#!/usr/bin/env bash
# Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0
# Tests scripts/gpu-check.sh without a GPU: its arguments, that no GPU is a failure, that it configures without
# a package, and with stand-ins for its programs (stand_in.sh under their names) its results for success, for failure
# and for too little time. `scripts/test.sh --systems gpu-check` runs all of it.
# Usage: gpu_check.sh SCRIPT BUILD SIMULATED CMAKE   (BUILD: of Tandem; SIMULATED: the folder of CUDA's stand-ins)
set -euo pipefail
script=$1 build=$2 cmake=$4
here=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
out=$work/out
export GPU_CHECK_BUNDLE=$work/bundle TMPDIR=$work STAND_IN_RAN=$work/ran

fail() {
    echo "gpu_check: $*"
    cat "$work/printed"
    exit 1
}
check() { # STATUS ARGUMENT...: runs the script, which goes on with the run before where `again` is set
    local wanted=$1 status=0
    shift
    [ -n "${again:-}" ] || rm -rf "$work/gpu-run"
    : >"$STAND_IN_RAN"
    "$script" "$@" >"$work/printed" 2>&1 || status=$?
    [ "$status" -eq "$wanted" ] || fail "status $status, not $wanted, of: $*"
}
says() { grep -qE -- "$1" "$out/${2:-summary}.txt" || fail "no line of ${2:-summary}.txt matches: $1"; }
silent() { ! grep -qE -- "$1" "$out/${2:-summary}.txt" || fail "a line of ${2:-summary}.txt matches: $1"; }

# Arguments are refused before anything is made.
for arguments in "" "--only" "--only smoke" "$out --only" "$out --only doctor" "$out more" "$out --helpme" \
    "$out --done $work/none" "$out --plan third" "$out --seconds soon"; do
    # shellcheck disable=SC2086 # they are several words
    check 2 $arguments
    grep -q '^usage: scripts/gpu-check.sh OUT ' "$work/printed" || fail "no usage for: $arguments"
    [ ! -e "$out" ] || fail "$out was made for: $arguments"
done
check 0 "$out" --help
grep -q 'scripts/gpu-check.sh OUT ' "$work/printed" || fail "--help does not say how it is used"
[ ! -e "$out" ] || fail "$out was made for --help"

# No GPU: the real program, which is shown no driver.
export OCL_ICD_VENDORS=$work/no-drivers
mkdir "$OCL_ICD_VENDORS"
CUDA_VISIBLE_DEVICES='' GPU_CHECK_BUILD=$build check 1 "$out"
says '^all .* FAILED: this machine has no GPU device: nothing was checked$'
says '^tandem: '

# Without a package it configures a build.
mkdir "$work/bin"
ln -s "$here/stand_in.sh" "$work/bin/cmake"
PATH=$work/bin:$PATH STAND_IN_CMAKE=$cmake STAND_IN_CONFIGURED=$work/configured check 1 "$out"
says '^PASS build:configure ' results
says '^FAIL build:compile .* status 1$' results
says '^build .* FAILED: 1 passed .*: build:compile$'
says '^all .* FAILED: there is no build that runs here$'
grep -qx 'TANDEM_TEST_PLAIN:BOOL=ON' "$work/configured/CMakeCache.txt" || fail "it was configured for Criterion"

# Nor does it where it cannot be built: that the package was not brought is all that it says.
ln -s "$here/stand_in.sh" "$work/bin/cc"
PATH=$work/bin:$PATH check 1 "$out"
says '^all .* FAILED: .*: there is no package in .*bundle .* lacks jansson.h CL/cl.h$'
silent ' build:configure' results
rm "$work/bin/cc"

# A package on a machine with two GPUs, in the words of the real program; programs that are compiled use its library,
# on simulated CUDA.
mkdir -p "$work/bundle/tools" "$work/bundle/tests"
TANDEM_CPU_DEVICES=2 TANDEM_BACKEND=cpu "$build/tools/tdm" devices --json |
    sed -e 's/"id": "cpu:0"/"id": "cuda:0"/' -e 's/"id": "cpu:1"/"id": "opencl:0"/' \
        -e 's/"type": "cpu"/"type": "gpu"/' >"$work/devices.json"
for name in bundle/tools/tdm bundle/tests/suite_plain bin/compute-sanitizer bin/nvidia-smi; do
    ln -s "$here/stand_in.sh" "$work/$name"
done
rm "$work/bin/cmake"
ln -s "$build/lib" "$work/bundle/lib"
export PATH=$work/bin:$PATH STAND_IN_DEVICES=$work/devices.json TANDEM_LIBRARY_PATH=$3
echo 0123abcd >"$work/bundle/commit.txt"
parts=(--only smoke --only tests-cuda --only bench --only sanitizer --only tests-opencl --only peers --only bench-opencl
    --only rows --only rows-opencl)

# Compiled kernels that were brought are in the cache.
mkdir "$work/kernels"
echo kept >"$work/kernels/entry"
tar -C "$work/kernels" -czf "$work/bundle/kernels.tar.gz" .

check 0 "$out" "${parts[@]}"
[ "$(cat "$work/gpu-run/cache/entry")" = kept ] || fail "the kernels that were brought are not in the cache"
says '^smoke .* passed: 4 passed '
says '^tests-cuda .* passed: 3 passed .* 1 skipped'
says '^tests-opencl .* passed: 3 passed .* 1 skipped'
says '^sanitizer .* passed: 10 passed ' # two groups without a tool and with each of four
says '^bench .* passed: 2 passed'
says '^peers .* passed: 4 passed'
says '^rows .* passed: 1 passed'
says '^rows-opencl .* passed: 1 passed'
says '^  rms_norm of bf16 on cuda:0, within 1[0-9]* s: 151.2 us$' log
says '^all .* passed$'
says '^PASS tests-cuda:reduce/long [0-9.]+$' results
says '^SKIP tests-cuda:queues/events ' results
says '^PASS sanitizer:racecheck:reduce ' results
silent '^(FAIL|LATE)' results
says 'pstate,clocks.max.sm,clocks.max.mem,power.limit,compute_mode,mig.mode.current,persistence_mode .*, by timeout$'
silent rehearsal
[ "$(find "$out" -type f | wc -l)" -le 8 ] || fail "there are more than eight files: $(ls "$out")"
[ -s "$out/bench.json" ] && [ -s "$out/bench-opencl.json" ] || fail "rows without their machine"
# Products in TF32 on both devices are in one file; peers begin with short calls.
[ "$(grep -c '"math": "tf32"' "$out/bench-tf32.jsonl")" -eq 2 ] || fail "TF32: $(cat "$out/bench-tf32.jsonl")"
[ "$(grep -c '"math": ""' "$out/bench.jsonl")" -eq 2 ] || fail "rows: $(cat "$out/bench.jsonl")"
[ "$(head -n 1 "$out/peers.jsonl")" = '{"math": "", "shape": "1x4096,64x768"}' ] || fail "$(cat "$out/peers.jsonl")"

STAND_IN_FAILS=kernels check 1 "$out" --only smoke
says '^FAIL smoke:kernels .* matches .for cuda:0: loaded from the cache.$' results

# Kernels of other sources are not packed.
mkdir -p "$work/sources/build/gpu-cache"
cp -r "${script%/*}" "$work/sources/scripts"
echo 89abcdef >"$work/sources/build/gpu-cache/made.txt"
! "$work/sources/scripts/gpu-pack.sh" >"$work/printed" 2>&1 || fail "kernels of another commit are packed"
grep -q '^gpu-pack: the kernels .* are of 89abcdef: run scripts/gpu-kernels.sh again$' "$work/printed" ||
    fail "gpu-pack does not say that the kernels are of another commit"

# A test that passed is not repeated, and stays in the next list, which may replace the first.
STAND_IN_FAILS=cast/fill check 1 "$out" --only tests-cuda
says '^tests-cuda .* FAILED: 2 passed \(0 before\), 1 failed, 1 skipped, 0 late: tests-cuda:cast/fill$'
check 0 "$out" --only tests-cuda --done "$out/results.txt"
says '^tests-cuda .* passed: 3 passed \(2 before\), 0 failed, 1 skipped, 0 late$'
[ "$(sort "$STAND_IN_RAN" | paste -sd,)" = "cuda:0 cast/fill,cuda:0 queues/events" ] ||
    fail "ran: $(cat "$STAND_IN_RAN")"
says '^PASS tests-cuda:reduce/shapes [0-9.]+ before$' results
[ ! -e "$out/bench.jsonl" ] || fail "a file of the run before is still there"
# One of several that had one process.
STAND_IN_FAILS=reduce/long check 1 "$out" --only tests-cuda
says '^tests-cuda .* FAILED: 2 passed \(0 before\), 1 failed, 1 skipped, 0 late: tests-cuda:reduce/long$'

# Both plans, as scripts/gpu-pack.sh prints them, have time for their parts (but the rows, which are last), and bring
# no more than eight files. The second goes on after the first, though its folder for results is empty; another commit
# starts over. Here nothing compiles, so that examples and NCCL fail.
mkdir "$work/lacking"
ln -s "$here/stand_in.sh" "$work/lacking/cc"
ln -s "$here/stand_in.sh" "$work/lacking/python3"
whole=0
while read -r arguments; do
    rm -r "$out"
    # shellcheck disable=SC2086 # they are several words
    PATH=$work/lacking:$PATH again=yes check 1 "$out" $arguments
    sum=$(awk -F'[ ,]+' '/^== .* at most/ && $2 !~ /^rows/ { sum += $5 } END { print sum }' "$out/log.txt")
    [ "$sum" -gt 0 ] && [ "$sum" -le "${arguments##* }" ] || fail "its parts may take $sum s: $arguments"
    whole=$((whole + ${arguments##* }))
    [ "$(find "$out" -type f | wc -l)" -le 8 ] || fail "there are more than eight files: $(ls "$out")"
done < <(sed -n 's|^ *scripts/gpu-check.sh .* --plan|--plan|p' "${script%/*}/gpu-pack.sh")
[ "$whole" -eq 730 ] || fail "the plans take $whole s"
for part in tests-cuda:reduce/long peers:short sanitizer:racecheck:reduce; do
    says "^PASS $part [0-9.]+ before$" results
done
says '^PASS bench-opencl [0-9.]+$' results
again=yes check 0 "$out" --only tests-cuda
[ "$(cat "$STAND_IN_RAN")" = "cuda:0 queues/events" ] || fail "ran: $(cat "$STAND_IN_RAN")"
echo 4567cdef >"$work/bundle/commit.txt"
again=yes check 0 "$out" --only tests-cuda
says '^tests-cuda .* passed: 3 passed \(0 before\)'

# A driver whose OpenCL is not registered; one that crashes, while the devices of others are listed.
mkdir "$work/driver"
touch "$work/driver/libcuda.so.1" "$work/driver/libnvidia-opencl.so.1"
(
    unset OCL_ICD_VENDORS
    LD_LIBRARY_PATH=$work/driver check 0 "$out" --only tests-cuda
    grep -qxF "OpenCL drivers: $work/driver/libnvidia-opencl.so.1" "$work/printed" || fail "it is not registered"
)
says '^all .* passed$'
STAND_IN_FAILS=devices check 1 "$out" --only smoke --only tests-cuda
says '^FAIL devices:cuda 0 tdm devices ended with status 1, try 1$' results
says '^tests-cuda .* passed'
# A first listing that lists nothing, as a driver's first start can be slow.
LD_LIBRARY_PATH=$work/driver STAND_IN_FAILS=first-listing check 0 "$out" --only tests-cuda
grep -q '^cuda:0 reduce/long$' "$STAND_IN_RAN" || fail "ran: $(cat "$STAND_IN_RAN")"
says '^tests-cuda .* passed'

# Too little time, and a signal: earlier results stay, and missing ones are reported.
STAND_IN_FAILS=slow check 1 "$out" --only tests-cuda --only bench --seconds 4
says '^LATE tests-cuda:reduce/long ' results
says '^LATE bench 0$' results
says '^tests-cuda .* NOT WHOLE: '
rm -r "$out"
STAND_IN_FAILS=slow "$script" "$out" --only tests-cuda --only bench >"$work/printed" 2>&1 &
for ((i = 0; i < 300; i++)); do
    [ "$(grep -cs ' tests-cuda:' "$out/results.txt")" != 2 ] || break
    sleep 0.1
done
kill -TERM $!
! wait $! || fail "a run that was ended is a success"
says '^PASS tests-cuda:cast/fill ' results
says '^tests-cuda .* NOT WHOLE: 1 passed '
says '^all .* FAILED: ended by a signal$'

# The lines of a long part are in the log as they come, also the last ones at a signal.
STAND_IN_FAILS=ended "$script" "$out" --only bench >"$work/printed" 2>&1 &
for ((i = 0; i < 300; i++)); do
    ! grep -qs 'the first line' "$out/log.txt" || break
    sleep 0.1
done
says 'the first line' log
kill -TERM $!
! wait $! || fail "a run that was ended is a success"
says 'the last line' log
says '^LATE bench [0-9.]+ ended after ' results
silent 'No such file' log

GPU_CHECK_DEVICES=cpu:0 check 0 "$out" --only tests-cuda
says '^A rehearsal on cpu:0: no GPU was looked for, none was checked\.$'
says '^tests-cuda .* passed'
grep -q '^cpu:0 reduce/long$' "$STAND_IN_RAN" || fail "ran: $(cat "$STAND_IN_RAN")"

# The script reports a failure, and goes on.
STAND_IN_FAILS=hazard check 1 "$out" --only sanitizer --only bench
says '^sanitizer .* FAILED: 8 passed .* 2 failed'
says '^FAIL sanitizer:racecheck:reduce .* status 1$' results
says '^bench .* passed'
says '^all .* FAILED$'
STAND_IN_FAILS=bench check 1 "$out" --only bench
says '^bench .* FAILED: 0 passed'
# A program that succeeds without doing anything has failed.
STAND_IN_FAILS=nothing check 1 "$out" "${parts[@]}"
says '^FAIL tests-cuda:reduce/long .* nothing in its output matches' results
says '^FAIL sanitizer:initcheck:reduce .* nothing in its output matches' results
says '^FAIL bench .* nothing in its output matches' results
says '^FAIL rows .* nothing in its output matches' results

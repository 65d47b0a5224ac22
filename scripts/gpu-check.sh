#!/usr/bin/env bash
# Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0
# Tests and measures Tandem on a GPU machine that is there for a limited time, without a network. It uses the package
# that scripts/gpu-pack.sh made in build/offline; without that it builds.
#
#   scripts/gpu-pack.sh                                     with a network; then bring the sources and build/offline
#   scripts/gpu-check.sh OUT --plan first                   on the GPU machine: the parts of most worth, in 545 seconds
#   scripts/gpu-check.sh OUT --plan second --seconds 185    then the others
#   scripts/gpu-check.sh OUT --only bench --only peers      these parts alone, in this order; otherwise both plans
# Usage: scripts/gpu-check.sh OUT [--plan first|second] [--only PART]... [--done FILE] [--seconds N]
#
# It ends within N seconds, 545 by default; from 1090 on each limit is longer, too. The folder build/gpu-run keeps the
# compiled kernels and a copy of results.txt: at the same commit, what passed in that run is not repeated. --done names
# another such file, or /dev/null.
#
# Parts: smoke (devices, doctor, a program), tests-cuda (the suite), bench (the benchmark's profile gpu, as far as its
# time goes, and its products in TF32), peers (its rows and the lesson's norms, with PyTorch and others), sanitizer
# (compute-sanitizer's four tools over the kernels); tests-opencl and bench-opencl (where the driver has OpenCL),
# examples (all, the lesson, tensors shared with PyTorch and CuPy), nccl (one rank), rows (`tdm tune --rows`: each way
# to take rows and its time, in log.txt) and rows-opencl.
#
# OUT gets, each as it comes: results.txt (a line for each test, tool, example and measurement: PASS, FAIL, SKIP or
# LATE, which did not end in time; its name, its seconds, and why), summary.txt (versions, a line for each part),
# log.txt (what was printed; of tests only where they fail), the benchmark's rows, *.jsonl. At SIGTERM the
# summary is completed. Exit status: 0 all passed, 1 not (or there is no GPU), 2 wrong arguments. TANDEM_ and TDM_
# variables are ignored, but for TANDEM_LIBRARY_PATH.
#
#   GPU_CHECK_BUILD=FOLDER    a build that is there: nothing is built
#   GPU_CHECK_BUNDLE=FOLDER   in the place of build/offline
#   GPU_CHECK_DEVICES="A B"   a rehearsal, which the summary says: A in the place of cuda:0, B in that of opencl:0
set -euo pipefail
[[ " $* " != *" --help "* && " $* " != *" -h "* ]] || { sed -n '3,/^[^#]/s/^# \{0,1\}//p' "$0"; exit 0; }

declare -A plans=([first]='smoke tests-cuda bench peers sanitizer'
    [second]='tests-opencl bench-opencl examples nccl rows rows-opencl')
declare -A limits=([smoke]=30 [tests-cuda]=170 [bench]=110 [peers]=120 [sanitizer]=110
    [tests-opencl]=90 [bench-opencl]=50 [examples]=30 [nccl]=15 [rows]=180 [rows-opencl]=180 [build]=300)
all="${plans[first]} ${plans[second]}"
usage() {
    echo "usage: scripts/gpu-check.sh OUT [--plan first|second] [--only PART]... [--done FILE] [--seconds N]" \
        "  (parts: $all)" >&2
    exit 2
}
out='' before='' wanted='' seconds=545
while [ $# -gt 0 ]; do
    case "$1" in
    --plan)
        [[ "${2:-}" == @(first|second) ]] || usage
        wanted+=" ${plans[$2]}"
        shift
        ;;
    --only)
        [[ -n "${2:-}" && " $all " == *" $2 "* ]] || usage
        wanted+=" $2"
        shift
        ;;
    --done)
        [ -r "${2:-}" ] || usage
        before=$2
        shift
        ;;
    --seconds)
        [[ "${2:-}" =~ ^[1-9][0-9]*$ ]] || usage
        seconds=$2
        shift
        ;;
    -* | "") usage ;;
    *)
        [ -z "$out" ] || usage
        out=$1
        ;;
    esac
    shift
done
[ -n "$out" ] || usage
read -ra parts <<<"${wanted:-$all}"

root=$(cd "$(dirname "$0")/.." && pwd)
bundle=$(realpath -m "${GPU_CHECK_BUNDLE:-$root/build/offline}")
kept=$(dirname "$bundle")/gpu-run
. "$root/scripts/systems/gpu-machine.sh"
commit=$(cat "$bundle/commit.txt" 2>/dev/null || describe_sources)
if [[ -z "$before" && "$commit" != *-dirty && "$commit" == "$(cat "$kept/commit.txt" 2>/dev/null)" ]]; then
    before=$kept/results.txt
fi
mkdir -p "$out" "$kept"
out=$(cd "$out" && pwd)
work=$(mktemp -d)
mkdir "$work/no-drivers"
awk '$1 == "PASS" { print "PASS", $2, $3, "before" }' "${before:-/dev/null}" >"$work/results"
rm -f "$out"/{summary,log}.txt "$out"/{bench,bench-tf32,peers}.jsonl "$out"/bench{,-opencl}.json
cp "$work/results" "$out/results.txt" # which may have been that file
cp "$work/results" "$kept/results.txt"
echo "$commit" >"$kept/commit.txt"
cut -d' ' -f2 "$work/results" >"$work/done"
library_path=${TANDEM_LIBRARY_PATH:-}
for variable in "${!TANDEM_@}" "${!TDM_@}"; do
    unset "$variable"
done
cd "$root"
exec > >(trap '' TERM INT && exec tee "$out/log.txt") 2>&1
tee=$!

# --- one thing, many at a time, a part ---------------------------------------------------------------

workers=$(($(nproc) < 16 ? $(nproc) : 16)) # each has a context on the GPU
end=$((EPOCHSECONDS + seconds)) part_end=$((EPOCHSECONDS + seconds))
patience=$((seconds < 1090 ? 1 : seconds / 545)) # for slow machines: limits are so many times as long

record() { # RESULT NAME SECONDS [WHY]
    echo "$1 $2 $3${4:+ $4}" | tee -a "$out/results.txt" >>"$kept/results.txt"
}
# Runs a command. It passes if it ends well within LIMIT seconds and something that it prints matches PATTERN. A
# failure's last lines are shown; with LIMIT=+N every line as it comes, also of a success. Several names, with spaces
# between, have one result; where that is a failure it is not recorded, and the status is 2.
one() ( # NAMES LIMIT PATTERN COMMAND...
    local name=$1 limit=${2#+} start=$EPOCHREALTIME status=0 result=FAIL why='' printed child ended=''
    local left=$((part_end - EPOCHSECONDS)) took shown='' again='' test
    if grep -qxF -- "$name" "$work/done"; then
        return
    elif [ "$left" -le 0 ]; then
        for name in $1; do record LATE "$name" 0; done
        return
    fi
    limit=$((limit * patience))
    [ "$limit" -lt "$left" ] || limit=$left
    printed=$(mktemp -p "$work")
    timeout -k 5 "$limit" "${@:4}" >"$printed" 2>&1 &
    child=$!
    trap 'ended=yes; kill $child' TERM
    if [[ "$2" == +* ]]; then
        echo "-- $name"
        (trap '' TERM && exec tail -n +1 -f -s 0.1 --pid="$child" "$printed") &
        shown=$!
    fi
    wait "$child" || status=$?
    [ -z "$ended" ] || wait "$child" || true # its last lines
    [ -z "$shown" ] || wait "$shown" || true
    took=$(awk -v a="$start" -v b="$EPOCHREALTIME" 'BEGIN { printf "%.1f", b - a }')
    if [ -n "$ended" ] || [[ "$limit $status" == "$left "@(124|137) ]]; then
        result=LATE why="ended after $took s, with the part"
    elif [[ "$status" == @(124|137) ]]; then
        why="ended at its limit of $limit s"
    elif [ "$status" -ne 0 ]; then
        why="status $status"
    elif grep -qa '^\[SKIP\]' "$printed"; then
        result=SKIP
    elif ! grep -qaE -- "$3" "$printed"; then
        why="nothing in its output matches '$3'"
    else
        result=PASS
    fi
    for name in $1; do
        test=${name#*:}
        if [[ "$1 $result" == *' '*' FAIL' ]]; then
            again=yes
        elif [[ "$1 $result" == *' '*' SKIP' ]] && ! grep -qaF "[SKIP] ${test/\//::}" "$printed"; then
            record PASS "$name" "$took"
        else
            record "$result" "$name" "$took" "$why"
        fi
    done
    if [ -n "$why$shown" ]; then
        # In one piece, as others write at the same time.
        { echo "-- $1: $result${why:+, $why}" && { [ -n "$shown" ] || tail -n 60 "$printed"; }; } >"$printed.shown"
        cat "$printed.shown"
    fi
    rm -f "$printed" "$printed.shown"
    [ -z "$again" ] || exit 2
)
each() { # FUNCTION ARGUMENT...: the function for each line of the input, as its last argument, many at a time
    xargs -r -d '\n' -P "$workers" -I{} bash -c '"$@"' "$1" "$@" {} || true
}

bad=0 part='' group=''
# Prints the summary's line of the results named PART or PART:...; a part of which nothing passed has failed.
tell() { # PART SECONDS
    local passed before failed skipped late names verdict=passed
    read -r passed before failed skipped late names < <(awk -v part="$1" '
        $2 == part || index($2, part ":") == 1 { n[$1]++
                                                 if ($1 == "PASS" && $4 == "before") n["before"]++
                                                 if ($1 == "FAIL" && n[$1] <= 8) names = names " " $2 }
        END { print n["PASS"] + 0, n["before"] + 0, n["FAIL"] + 0, n["SKIP"] + 0, n["LATE"] + 0, names }
        ' "$out/results.txt")
    { [ "$late" -eq 0 ] && [ "$passed" -gt 0 ]; } || verdict="NOT WHOLE"
    [ "$failed" -eq 0 ] || verdict=FAILED
    [ "$verdict" = passed ] || bad=$((bad + 1))
    printf '%-12s %4s s   %s: %s passed (%s before), %s failed, %s skipped, %s late%s\n' "$1" "$2" "$verdict" \
        "$passed" "$before" "$failed" "$skipped" "$late" "${names:+: $names}" | tee -a "$out/summary.txt"
}
run_part() { # PART: within its limit and the time of all, in a process group that can be ended
    local start=$SECONDS limit=$((limits[$1] * patience))
    part=$1
    part_end=$((EPOCHSECONDS + limit < end ? EPOCHSECONDS + limit : end))
    printf '\n== %s, at most %s s\n' "$1" $((part_end - EPOCHSECONDS))
    set -m
    {
        # NVIDIA's OpenCL can take down a process that has CUDA, too, and is of no use to these.
        [[ "$1" == @(smoke|examples|build|*-opencl) ]] || export OCL_ICD_VENDORS=$work/no-drivers
        "part_${1//-/_}"
    } </dev/null &
    group=$!
    set +m
    wait "$group" || record FAIL "$1" 0 "the part ended with status $?"
    part='' group=''
    tell "$1" $((SECONDS - start))
}
finish() { # [WHY]
    trap '' TERM INT
    trap - EXIT
    if [ -n "$group" ]; then
        kill -TERM -- "-$group" 2>/dev/null || true
        for ((i = 0; i < 80; i++)); do # its last lines and results
            kill -0 -- "-$group" 2>/dev/null || break
            sleep 0.1
        done
        record LATE "$part" 0 "ended by a signal"
        tell "$part" "$SECONDS"
    fi
    [ -z "${1:-}" ] || bad=$((bad + 1))
    printf '%-12s %4s s   %s\n' all "$SECONDS" "$([ "$bad" -eq 0 ] && echo passed || echo "FAILED${1:+: $1}")" \
        >>"$out/summary.txt"
    printf '\n== summary\n'
    cat "$out/summary.txt"
    exec >&- 2>&-
    for ((i = 0; i < 40; i++)); do
        kill -0 "$tee" || break
        sleep 0.05
    done
    rm -rf "$work"
    exit $((bad > 0))
}

# --- the parts ---------------------------------------------------------------------------------------

# A device of the driver that Tandem does not list is a failure, not a shorter run.
part_smoke() {
    one smoke:devices +60 "\\b${cuda:-no cuda device, though the driver is in $driver}" "$tdm" devices
    one smoke:doctor +60 . "$tdm" doctor
    # scripts/gpu-kernels.sh made this one. Kernels of another NVRTC or other sources are of no use, and say nothing.
    if [ -n "$cuda" ] && [ -e "$bundle/kernels.tar.gz" ]; then
        one smoke:kernels +60 "for $cuda: loaded from the cache" env TANDEM_LOG=info \
            "$tdm" bench --device "$cuda" --profile gpu --op layer_norm --dtype f32 --shape 8x8
    fi
    if [ -n "$driver_opencl" ]; then
        one smoke:one-card 60 "\"same_as\": \"$cuda\"" "$tdm" devices --json
    fi
    example smoke "${cuda:-$opencl}" quickstart
}

# Filters of a few tests each. One process runs these, as CUDA takes half a second to start, for one process after another.
in_few() { # the list of tests
    sort | awk -F/ '
        function put() { if (names != "") print group "/@(" names ")"; names = ""; n = 0 }
        $1 != group || n == 8 { put() }
        { group = $1; names = names (n++ ? "|" : "") $2 }
        END { put() }'
}
run_tests() { # PART DEVICE GROUP TEST...
    local names="${*:4}"
    names=$1:$3/${names// / $1:$3/}
    # Two cpu devices: some tests move data to a second device.
    one "$names" 150 "Tested: $(($# - 3)) " env TDM_TEST_DEVICE="$2" TANDEM_CPU_DEVICES=2 \
        "$build/tests/suite_plain" --together --filter "$3/@($(IFS='|' && echo "${*:4}"))"
}
few_tests() { # PART DEVICE FILTER: those that have not passed before; each by itself where one of them fails
    local group=${3%%/*} test left=() status=0
    for test in $(sed 's/.*@(//; s/)$//; s/|/ /g' <<<"$3"); do
        grep -qxF -- "$1:$group/$test" "$work/done" || left+=("$test")
    done
    [ ${#left[@]} -gt 0 ] || return 0
    run_tests "$1" "$2" "$group" "${left[@]}" || status=$?
    [ "$status" -eq 2 ] || return 0
    for test in "${left[@]}"; do
        run_tests "$1" "$2" "$group" "$test"
    done
    for test in "${left[@]}"; do
        ! grep -qE "^(FAIL|LATE) $1:$group/$test " "$out/results.txt" || return 0
    done
    record FAIL "$1:$group/together" 0 "these fail in one process alone: ${left[*]}"
}
part_tests_cuda() { "$build/tests/suite_plain" --list | in_few | each few_tests tests-cuda "$cuda"; }
part_tests_opencl() { "$build/tests/suite_plain" --list | in_few | each few_tests tests-opencl "$opencl"; }

# The kernels of this project alone, in small cases, those of a group in one process: the vendors' are not ours to
# check, and the tools take long to start. First the tests without a tool, so that all kernels are in the cache.
part_sanitizer() {
    local tool tests groups
    tests=$("$build/tests/suite_plain" --list |
        grep -E '^(operations|extremes|cast|generate|matmul|reduce|sort|cumsum|scatter)/')
    groups=$(cut -d/ -f1 <<<"$tests" | sort -u | sed 's|$|/*|')
    in_few <<<"$tests" | each small none
    if [ -z "$sanitizer" ]; then
        record FAIL sanitizer:tools 0 "compute-sanitizer is neither on PATH nor in the toolkit"
        return
    fi
    for tool in memcheck racecheck initcheck synccheck; do
        each small "$tool" "$sanitizer" --tool "$tool" --error-exitcode 1 --print-limit 50 <<<"$groups"
    done
}
small() { # TOOL COMMAND... TESTS
    local tests=${!#} pattern='SUMMARY: 0 (errors|hazards)'
    [ "$1" != none ] || pattern='Tested: [1-9]'
    one "sanitizer:$1:${tests%/\*}" 120 "$pattern" env TDM_TEST_DEVICE="$cuda" TDM_TEST_SMALL=1 TANDEM_BLAS=builtin \
        "${@:2:$#-2}" "$build/tests/suite_plain" --together --filter "$tests"
}

part_examples() {
    local device names
    names=$(basename -s .txt tests/examples/*.txt | grep -vxE 'cpp|choose_device|functions|with_.*')
    for device in $cuda $opencl; do
        { echo "$names" && echo "with_${device%:*}"; } | each example examples "$device"
    done
    one examples:dlpack-python 120 '^0 failures, with .*(PyTorch|CuPy)' \
        python3 tests/python/dlpack.py "$build/lib/libtandem.so" "$cuda"
}
example() { # PART DEVICE NAME
    one "$1:$2:$3" 90 . env TANDEM_BACKEND="${2%:*},cpu" bash -euo pipefail -c 'run_example "$@"' example "$2" "$3"
}
run_example() { # DEVICE NAME
    local source=examples/$2.c program=$work/${1/:/-}-$2 options=() arguments=() second=${1%:*}:1
    [ -e "$source" ] || source=examples/$2/$2.c
    case "$2" in
    with_cuda) options=(${toolkit:+-I"$toolkit/include"} -Itests/examples/cuda -I. "$(library libcudart.so.1)") ;;
    with_opencl) options=(-I"$bundle/include" "$(library libOpenCL.so.1)") arguments=("${1#*:}") ;;
    esac
    compile "$program" -D_POSIX_C_SOURCE=200809L -DCL_TARGET_OPENCL_VERSION=120 \
        -DDIGITS_DATA_DIR="\"$root/examples/digits\"" \
        -DLAYER_NORM_DIR="\"$root/examples/layer_norm\"" "$source" "${options[@]}"
    if [ "$2" = use_a_gpu ]; then
        "$tdm" devices --json | grep -q "\"id\": \"$second\"" || second=cpu:0
        tests/lesson/lesson.sh "$program" "$1" "$second"
    else
        tests/examples/example.sh "$program" "$root/tests/examples/$2.txt" "$1" "${arguments[@]}"
    fi
}
compile() { # PROGRAM OPTION...: finds at run time the libraries that Tandem finds
    cc -std=c11 -Ilib/include -Icomm/include "${@:2}" -L"$build/lib" -ltandem-comm -ltandem -lm \
        -Wl,-rpath,"$build/lib:$TANDEM_LIBRARY_PATH" -o "$1"
}
library() { # NAME: the first file of that name in the folders of TANDEM_LIBRARY_PATH
    local folder folders
    IFS=: read -ra folders <<<"$TANDEM_LIBRARY_PATH"
    for folder in "${folders[@]}"; do
        ! compgen -G "$folder/$1*" || return 0
    done | head -n 1
}

part_nccl() { one nccl +60 '^1 ranks, values: [1-9][0-9]* checks, 0 failed' bash -euc run_nccl; }
run_nccl() {
    compile "$work/nccl_test" -D_GNU_SOURCE -Itests -Wl,--defsym=run_lost=0,--defsym=run_refusals=0 \
        tests/nccl/{main,values}.c tests/mpi/{comm,parallel,ranks}.c
    "$work/nccl_test" 1 values
}

# While nothing else runs. Rows are added to the file as they come.
bench() { # NAME FILE SECONDS OPTION...: also as one document, which has the names of the card, driver and libraries
    local whole=()
    [[ "$1" == *:* ]] || whole=(--json "$out/$1.json")
    one "$1" +600 '[1-9][0-9]* rows, 0 not verified' \
        "$tdm" bench --wide --json-lines >(exec cat >>"$out/$2.jsonl") --seconds "$3" "${whole[@]}" \
        --profile gpu "${@:4}"
}
in_tf32() { # NAME SECONDS DEVICE
    TANDEM_MATH=tf32 bench "$1" bench-tf32 "$2" --device "$3" --op matmul --dtype f32
}
part_bench() {
    bench bench bench 80 --device "$cuda"
    in_tf32 bench:tf32 15 "$cuda"
}
part_bench_opencl() {
    bench bench-opencl bench 30 --device "$opencl"
    in_tf32 bench-opencl:tf32 8 "$opencl"
}
# Short calls, rows of all lengths, then the usual size: torch.compile takes seconds for each row.
part_peers() {
    export TORCHINDUCTOR_COMPILE_THREADS=1
    peers short 30 layer_norm,softmax,rms_norm,add,bias_add+gelu 1x4096,64x768
    peers rows 45 layer_norm,softmax,rms_norm 524288x64,32768x1024,4096x8192,512x65536 --dtype bf16,f32
    peers usual 15 layer_norm,softmax,rms_norm,add,bias_add+gelu 8192x4096 --dtype bf16,f32
    peers lesson 10 matmul+norm_l2_logged,matmul+norm_l2_kept '1000*100x100x100'
}
peers() { bench "peers:$1" peers "$2" --device "$cuda" --peers python3 --op "$3" --shape "${@:4}"; } # NAME SECONDS...

# Its results are kept apart, so that all that is measured here is measured as it comes.
rows() { # PART DEVICE
    one "$1" +600 '[1-9][0-9]* operations? on rows measured' env TANDEM_CACHE_DIR="$work/$1" \
        "$tdm" tune --rows --each --device "$2" --budget $(((part_end - EPOCHSECONDS) * 4 / 5 + 1))
}
part_rows() { rows rows "$cuda"; }
part_rows_opencl() { rows rows-opencl "$opencl"; }

# --- all of it -----------------------------------------------------------------------------------------

find_build() { # sets `build`
    local missing header
    build=${GPU_CHECK_BUILD:-}
    [ -z "$build" ] || return 0
    missing=$(missing_libraries | tr '\n' ' ')
    if [ -n "$missing" ]; then
        record FAIL build 0 "what is in $bundle does not run here: $missing"
        return 1
    elif [ -x "$bundle/tools/tdm" ]; then
        build=$bundle
    else
        missing=''
        for header in jansson.h CL/cl.h; do
            cc -E -x c -include "$header" /dev/null >/dev/null 2>&1 || missing+=" $header"
        done
        if [ -n "$missing" ]; then
            record FAIL build 0 "there is no package in $bundle (scripts/gpu-pack.sh), and to build one lacks$missing"
            return 1
        fi
        build=$root/build/gpu
        run_part build
        [ "$bad" -eq 0 ]
    fi
}
part_build() {
    one build:configure +60 . bash -euc configure_gpu
    one build:compile +240 . cmake --build build/gpu -j "$workers" \
        --target tandem_program suite_plain tandem_comm_shared
}
find_devices() { # sets `cuda` and `opencl`
    if [ -n "${GPU_CHECK_DEVICES:-}" ]; then
        read -r cuda opencl <<<"$GPU_CHECK_DEVICES"
        return
    fi
    cuda=$(list_gpus cuda "$driver" | head -n 1)
    opencl=$(list_gpus opencl "$driver_opencl" | head -n 1)
}
# Each backend alone, and twice where there is a driver: its first start can be slow. If it crashes or hangs at last,
# that is a failure, and what it listed is tested.
list_gpus() { # BACKEND DRIVER
    local ids='' status=0 try
    for try in 1 ${2:+2}; do
        status=0
        ids=$(TANDEM_BACKEND=$1,cpu timeout 65 "$tdm" devices --timeout 60 --json |
            awk -F'"' -v backend="$1:" '/^      "id":/ { id = $4 }
                                        /^      "type":/ && $4 == "gpu" && index(id, backend) == 1 { print id }') ||
            status=$?
        [ -z "$ids" ] || break
    done
    [ "$status" -eq 0 ] || record FAIL "devices:$1" 0 "tdm devices ended with status $status, try $try"
    echo "$ids"
}

trap 'finish "ended by a signal"' TERM INT
trap 'finish "the script ended early, with status $?"' EXIT
toolkit=$(find_toolkit)
driver=$(find_driver)
sanitizer=$(PATH=$PATH${toolkit:+:$toolkit/bin:$toolkit/compute-sanitizer} && command -v compute-sanitizer) || true
{
    [ -z "${GPU_CHECK_DEVICES:-}" ] ||
        echo "A rehearsal on $GPU_CHECK_DEVICES: no GPU was looked for, none was checked."
    print_versions "$toolkit" "$sanitizer" "$driver"
} 2>&1 | tee "$out/summary.txt"
driver_opencl=''
[ ! -e "${driver:-none}/libnvidia-opencl.so.1" ] || driver_opencl=yes
register_opencl "$driver" "$work/icd"
build='' tdm='' cuda='' opencl=''
export root out kept work bundle part_end patience build tdm cuda opencl toolkit sanitizer
export -f record one run_tests few_tests small example run_example compile library run_nccl configure_gpu
find_build || finish "there is no build that runs here$(sed -n 's/^FAIL build 0/:/p' "$out/results.txt")"
tdm=$build/tools/tdm
TANDEM_LIBRARY_PATH=${library_path:+$library_path:}$(find_libraries "$toolkit" "$driver")
[ -z "$TANDEM_LIBRARY_PATH" ] || export TANDEM_LIBRARY_PATH
# The seed is that of scripts/gpu-kernels.sh: shapes are random, and kernels made for some of them.
export TANDEM_CACHE_DIR=$kept/cache TDM_TEST_SEED=1
mkdir -p "$TANDEM_CACHE_DIR"
[ ! -e "$bundle/kernels.tar.gz" ] ||
    tar -C "$TANDEM_CACHE_DIR" --skip-old-files --no-same-owner -xzf "$bundle/kernels.tar.gz"
chmod 700 "$TANDEM_CACHE_DIR"
echo "kernels: $(find "$TANDEM_CACHE_DIR" -type f | wc -l) files are in the cache"
find_devices
echo "devices: ${cuda:-no cuda device}, ${opencl:-no OpenCL device of type GPU}; $SECONDS s"
if [ -z "$cuda$opencl" ]; then
    "$tdm" doctor || true
    finish "this machine has no GPU device: nothing was checked"
fi
for part in "${parts[@]}"; do
    if [[ "$part" == *-opencl ]] && [ -z "$opencl$driver_opencl" ]; then
        printf '%-19s   the driver has no OpenCL\n' "$part" | tee -a "$out/summary.txt"
    else
        run_part "$part"
    fi
done
finish

#!/usr/bin/env bash
# Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0
# What only a machine with a GPU can tell: builds, and runs with the CUDA libraries that are there the whole
# suite on every GPU device (cuda, and opencl where the driver brings it), compute-sanitizer's memcheck,
# racecheck, initcheck and synccheck over the kernels, and the benchmark. A machine that lacks Criterion
# and the like needs the folder that scripts/offline-bundle.sh makes, and no network. Under 8 minutes.
#
# Usage: scripts/gpu-check.sh OUT [--only tests|sanitizer|bench]...
#
# Into OUT go summary.txt (each part, its seconds and its result), log.txt (all that was printed),
# versions.txt, tests-DEVICE.xml, bench.txt (the table), bench.json and, where python3 has PyTorch for
# CUDA, bench-norms.json. Exit status: 0 all parts passed, 1 not (or there is no GPU), 2 wrong arguments.
# A part that fails does not keep the others from running. TANDEM_ and TDM_ variables are not heeded,
# but for TANDEM_LIBRARY_PATH.
#
# For rehearsals without a GPU, which the summary then says:
#   GPU_CHECK_DEVICES="cpu:0 …"  these devices instead of the GPUs
#   GPU_CHECK_BUILD=FOLDER       a build that is there; nothing is built
# and for any run:
#   GPU_CHECK_BUNDLE=FOLDER      what offline-bundle.sh made (default: build/offline); used even where
#                                everything is installed
#   GPU_CHECK_COMMIT=TEXT        what versions.txt calls the sources, where git cannot tell
set -euo pipefail
[[ " $* " != *" --help "* && " $* " != *" -h "* ]] || { sed -n '3,/^[^#]/s/^# \{0,1\}//p' "$0"; exit 0; }

usage() {
    echo "usage: scripts/gpu-check.sh OUT [--only tests|sanitizer|bench]..." >&2
    exit 2
}
out=
only=()
while [ $# -gt 0 ]; do
    case "$1" in
    --only)
        case "${2:-}" in
        tests | sanitizer | bench) only+=("$2") ;;
        *) usage ;;
        esac
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
[ ${#only[@]} -gt 0 ] || only=(tests sanitizer bench)

root=$(cd "$(dirname "$0")/.." && pwd)
build=$(realpath -m "${GPU_CHECK_BUILD:-$root/build/gpu}")
bundle=$(realpath -m "${GPU_CHECK_BUNDLE:-$root/build/offline}")
mkdir -p "$out"
out=$(cd "$out" && pwd)
cd "$root"
library_path=${TANDEM_LIBRARY_PATH:-}
for variable in "${!TANDEM_@}" "${!TDM_@}"; do
    unset "$variable"
done
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
rm -f "$out"/{summary,log,versions,bench}.txt "$out"/tests-*.xml "$out"/bench*.json

# Seconds: all of it, and each part at most, so that one that hangs leaves time for the others.
deadline=470
build_limit=180 tests_limit=170 sanitizer_limit=150 bench_limit=120 norms_limit=60
kernel_tests='@(norms|normalize|extremes|bias_add|elementwise|cast|generate|matmul)/*'
jobs=$(nproc)
suite_jobs=$((jobs < 8 ? jobs : 8)) # each has a context on the GPU

# --- parts -------------------------------------------------------------------------------------

failed=0
: >"$work/summary"
: >"$work/facts"
wanted() { [[ " ${only[*]} " == *" $1 "* ]]; }
within() { # SECONDS, or fewer where the whole has fewer left
    local left=$((deadline - SECONDS))
    [ "$left" -ge 1 ] || left=1
    echo $(($1 < left ? $1 : left))
}
note() { # NAME SECONDS passed|FAILED WHY: a line of the summary
    printf '%-28s %5s s   %s%s\n' "$1" "$2" "$3" "${4:+: $4}" >>"$work/summary"
    echo "-- $1: $3${4:+: $4} ($2 s)"
    [ "$3" = passed ] || failed=$((failed + 1))
}
judge() { # NAME SECONDS STATUS LIMIT FILE PATTERN...: passed if all is well and FILE has each pattern
    local name=$1 seconds=$2 status=$3 limit=$4 file=$5 pattern last
    last=$(grep -aoE 'Tested: .*|[A-Z]+ SUMMARY: .*|[0-9]+ rows, .*' "$file" | tail -n 1 |
        sed 's/ *$//') || last=
    shift 5
    case "$status" in
    0) ;;
    124 | 137) note "$name" "$seconds" FAILED "ended at its limit of $limit s${last:+; $last}"; return ;;
    *) note "$name" "$seconds" FAILED "status $status${last:+; $last}"; return ;;
    esac
    for pattern in "$@"; do
        if ! grep -aqE "$pattern" "$file"; then
            note "$name" "$seconds" FAILED "nothing in its output matches '$pattern'"
            return
        fi
    done
    note "$name" "$seconds" passed "$last"
}
part() { # NAME LIMIT FILE PATTERN COMMAND...: runs it; what it prints goes to FILE too
    local name=$1 limit file=$3 pattern=$4 start=$SECONDS status=0
    limit=$(within "$2")
    shift 4
    printf '\n== %s, at most %s s\n' "$name" "$limit"
    timeout -k 5 "$limit" "$@" 2>&1 | tee "$file" || status=${PIPESTATUS[0]}
    judge "$name" $((SECONDS - start)) "$status" "$limit" "$file" "$pattern"
}

# --- what is on this machine -------------------------------------------------------------------

find_toolkit() { # the folder of the CUDA toolkit, or nothing
    local nvcc folder
    nvcc=$(command -v nvcc) && nvcc=$(dirname "$(dirname "$(readlink -f "$nvcc")")")
    for folder in "${CUDA_HOME:-}" "${CUDA_PATH:-}" "$nvcc" /usr/local/cuda /usr/local/cuda-* /opt/cuda; do
        if [ -n "$folder" ] && [ -x "$folder/bin/nvcc" ]; then
            echo "$folder"
            return
        fi
    done
}
find_driver() { # the folder of NVIDIA's driver libraries, or nothing
    local folder folders
    folders=$(ldconfig -p 2>/dev/null | sed -n 's|.*libcuda\.so\.1 .*64.* => \(.*\)/.*|\1|p')
    IFS=: read -ra path <<<"${LD_LIBRARY_PATH:-}"
    for folder in "${path[@]}" $folders /usr/local/nvidia/lib64 /usr/lib/x86_64-linux-gnu /usr/lib64 \
        /usr/lib/wsl/lib; do
        if [ -n "$folder" ] && [ -e "$folder/libcuda.so.1" ]; then
            echo "$folder"
            return
        fi
    done
}
# The toolkit's libraries, else those that Python packages bring (PyTorch's).
find_toolkit_libraries() {
    local folder
    for folder in "$toolkit"/lib64 "$toolkit"/lib "$toolkit"/targets/*-linux/lib; do
        if [ -n "$toolkit" ] && compgen -G "$folder/libcublasLt.so.*" >/dev/null; then
            echo "$folder"
            return
        fi
    done
    python3 -c 'import glob, nvidia
for folder in nvidia.__path__:
    for lib in glob.glob(folder + "/*/lib"): print(lib)' 2>/dev/null || true
}
installed() { # is all that the build and the suite look for?
    pkg-config --exists criterion 'jansson >= 2.8' 2>/dev/null &&
        printf '#include <CL/cl.h>\n#include <clblast_c.h>\n' | cc -E -DCL_TARGET_OPENCL_VERSION=120 - \
            >/dev/null 2>&1 &&
        [ "$(ldconfig -p | grep -cE '\slib(OpenCL\.so\.1|clblast\.so\.1|openblas\.so\.0) .*64')" -ge 3 ]
}
use_bundle() { # sets what finds the bundle; says why where it is of no use
    local missing
    if [ ! -f "$bundle/contents.txt" ]; then
        echo "gpu-check: Criterion, jansson, the OpenCL headers and loader, CLBlast or OpenBLAS are not"
        echo "installed here, and $bundle is no bundle: make one with scripts/offline-bundle.sh"
        echo "on a machine with a network, and bring it along"
        return 1
    fi
    echo "libraries: those in $bundle: $(head -n 1 "$bundle/contents.txt")"
    # ldd answers for each file what it cannot find, or which version of glibc it wants.
    missing=$(LD_LIBRARY_PATH=$bundle/lib ldd "$bundle"/lib/*.so* "$bundle/bin/pkgconf" 2>&1 |
        grep -E 'not found|not a dynamic' | sed -e 's/.*: version/version/' -e 's/ (required by.*//' |
        sort -Vu) || true
    if [ -n "$missing" ]; then
        echo "gpu-check: the bundle's libraries do not load on this machine ($(uname -m), glibc" \
            "$(getconf GNU_LIBC_VERSION | cut -d' ' -f2)); make one on a distribution that is no newer:"
        echo "$missing"
        return 1
    fi
    export PKG_CONFIG_PATH=$bundle/lib/pkgconfig
    # RPATH, not RUNPATH or LD_LIBRARY_PATH: it is for these programs alone, and for what they open too.
    local rpath="-Wl,--disable-new-dtags"
    configure+=(-DCMAKE_PREFIX_PATH="$bundle" -DPKG_CONFIG_EXECUTABLE="$bundle/bin/pkg-config"
        -DCMAKE_BUILD_RPATH="$bundle/lib" -DCMAKE_EXE_LINKER_FLAGS="$rpath"
        -DCMAKE_SHARED_LINKER_FLAGS="$rpath")
    library_path=$bundle/lib${library_path:+:$library_path}
}
# The OpenCL loader is told of the driver's OpenCL, which containers often leave unregistered.
register_opencl() {
    if [ -n "${OCL_ICD_VENDORS:-}" ]; then
        echo "OpenCL drivers: those of OCL_ICD_VENDORS=$OCL_ICD_VENDORS"
    elif [ -z "$driver" ]; then
        echo "OpenCL drivers: those of /etc/OpenCL/vendors"
    elif [ ! -e "$driver/libnvidia-opencl.so.1" ]; then
        echo "OpenCL drivers: NVIDIA's has no libnvidia-opencl.so.1 in $driver, so cuda alone is tested"
    else
        mkdir "$work/icd"
        cp /etc/OpenCL/vendors/*.icd "$work/icd/" 2>/dev/null || true
        grep -lsi libnvidia-opencl "$work"/icd/*.icd | xargs -r rm
        echo "$driver/libnvidia-opencl.so.1" >"$work/icd/nvidia.icd"
        export OCL_ICD_VENDORS=$work/icd
        echo "OpenCL drivers: $driver/libnvidia-opencl.so.1"
        driver_opencl=yes
    fi
}
tell_versions() {
    echo "tandem: ${GPU_CHECK_COMMIT:-$(git describe --always --dirty --abbrev=40 2>/dev/null ||
        echo 'unknown commit')}"
    echo "kernel: $(uname -sr); glibc $(getconf GNU_LIBC_VERSION | cut -d' ' -f2); $jobs processors"
    echo "compiler: $(cc --version 2>/dev/null | head -n 1)"
    echo "CUDA toolkit: ${toolkit:-none}" \
        "$([ -z "$toolkit" ] || "$toolkit/bin/nvcc" --version 2>/dev/null | grep -o 'release.*')"
    echo "compute-sanitizer: ${sanitizer:-none}" \
        "$([ -z "$sanitizer" ] || "$sanitizer" --version 2>/dev/null | grep -i version | head -n 1)"
    echo "driver's libraries: ${driver:-none}"
    if command -v nvidia-smi >/dev/null; then
        nvidia-smi --query-gpu=name,driver_version,memory.total,pci.bus_id --format=csv 2>&1
    else
        echo "nvidia-smi: none"
    fi
}

list_gpus() { # the ids of the devices of type gpu, one a line
    "$build/tools/tdm" devices --json | awk -F'"' '/^      "id":/ { id = $4 }
                                                       /^      "type":/ && $4 == "gpu" { print id }'
}
# What is in f64 does not apply to a device without it: suite and benchmark leave that out, and the
# summary says so.
tell_of_f64() {
    local id
    for id in $("$build/tools/tdm" devices --json |
        awk -F'"' '/^      "id":/ { id = $4 } /^      "f64": false/ { print id }'); do
        [[ " ${devices[*]} " != *" $id "* ]] ||
            echo "$id has no f64 arithmetic: tests and benchmark rows in f64 do not apply to it." >>"$work/facts"
    done
}

# --- the three parts ---------------------------------------------------------------------------

run_tests() {
    local id left=${#devices[@]} end=$((SECONDS + $(within "$tests_limit"))) limit
    for id in "${devices[@]}"; do
        limit=$(((end - SECONDS) / left))
        left=$((left - 1))
        # Two cpu devices: some tests move data to a second device.
        part "tests $id" $((limit > 20 ? limit : 20)) "$work/part" 'Tested: [1-9]' \
            env TDM_TEST_DEVICE="$id" TANDEM_CPU_DEVICES=2 \
            "$build/tests/suite" --jobs "$suite_jobs" --timeout 60 --color=never --xml="$out/tests-${id//:/-}.xml"
    done
}

# The kernels of this project alone, in small cases and in one process: the vendors' are not ours to
# check, and to start a process for each test would take longer than the tests. The tools run side by
# side, as none takes times, after a run without any that fills the cache of compiled kernels.
run_sanitizer() {
    local id=${devices[0]} tool limit start command
    command=(env TDM_TEST_DEVICE="$id" TDM_TEST_SMALL=1 TANDEM_BLAS=builtin
        "$build/tests/suite_plain" --together --filter "$kernel_tests")
    for tool in "${devices[@]}"; do
        if [[ "$tool" == cuda:* ]]; then
            command[1]=TDM_TEST_DEVICE=$tool
            id=$tool
            break
        fi
    done
    if [ -z "$sanitizer" ]; then
        note sanitizer 0 FAILED "compute-sanitizer is neither on PATH nor in the toolkit"
        return
    fi
    if [[ "$id" != cuda:* ]] && [ -z "$rehearsal" ]; then
        note sanitizer 0 FAILED "no cuda device, and compute-sanitizer looks at no other"
        return
    fi
    part "kernels without a tool" 90 "$work/part" 'Tested: [1-9]' "${command[@]}"

    limit=$(within "$sanitizer_limit")
    start=$SECONDS
    printf '\n== compute-sanitizer on %s, four tools at a time, at most %s s\n' "$id" "$limit"
    local tools=(memcheck racecheck initcheck synccheck)
    for tool in "${tools[@]}"; do
        local options=()
        [ "$tool" != memcheck ] || options=(--leak-check full)
        (
            status=0
            timeout -k 5 "$limit" "$sanitizer" --tool "$tool" "${options[@]}" --error-exitcode 1 \
                --print-limit 50 "${command[@]}" >"$work/$tool" 2>&1 || status=$?
            echo "$status $((SECONDS - start))" >"$work/$tool.status"
        ) &
    done
    wait
    for tool in "${tools[@]}"; do
        local status seconds
        read -r status seconds <"$work/$tool.status"
        printf '\n-- %s\n' "$tool"
        cat "$work/$tool"
        judge "sanitizer $tool" "$seconds" "$status" "$limit" "$work/$tool" 'Tested: [1-9]' \
            'SUMMARY: 0 (errors|hazards)'
    done
}

run_bench() {
    local ids norms=matmul+norm_l2_logged,matmul+norm_l2_kept
    ids=$(IFS=, && echo "${devices[*]}")
    part bench "$bench_limit" "$out/bench.txt" '[1-9][0-9]* rows, 0 not verified' \
        "$build/tools/tdm" bench --device "$ids" --profile quick --wide --json "$out/bench.json"
    if timeout 60 python3 -c 'import sys, torch; sys.exit(not torch.cuda.is_available())' 2>/dev/null; then
        part "bench beside PyTorch" "$norms_limit" "$work/norms" '[1-9][0-9]* rows, 0 not verified' \
            "$build/tools/tdm" bench --device "${devices[0]}" --profile lesson --wide --op "$norms" \
            --shape '1000*100x100x100' --pytorch "$(command -v python3)" --json "$out/bench-norms.json"
        cat "$work/norms" >>"$out/bench.txt"
    else
        echo "python3 has no PyTorch for CUDA: nothing is compared with it"
    fi
}

# --- all of it ---------------------------------------------------------------------------------

main() {
    local rehearsal=${GPU_CHECK_DEVICES:-} driver_opencl='' toolkit driver sanitizer
    local devices=() folder
    toolkit=$(find_toolkit)
    driver=$(find_driver)
    sanitizer=$(PATH=$PATH${toolkit:+:$toolkit/bin:$toolkit/compute-sanitizer} &&
        command -v compute-sanitizer) || true
    tell_versions 2>&1 | tee "$out/versions.txt"
    register_opencl
    while read -r folder; do
        library_path=${library_path:+$library_path:}$folder
    done < <(find_toolkit_libraries)
    [ -z "$driver" ] || library_path=${library_path:+$library_path:}$driver

    if [ -z "${GPU_CHECK_BUILD:-}" ]; then
        if [ -z "${GPU_CHECK_BUNDLE:-}" ] && installed; then
            echo "libraries: those that are installed"
        elif ! use_bundle; then
            note build 0 FAILED "the libraries that it needs are missing"
            return
        fi
        part configure 60 "$work/part" . cmake --preset gpu
        [ "$failed" -gt 0 ] ||
            part build "$build_limit" "$work/part" . cmake --build --preset gpu -j "$jobs" \
                --target tandem_program suite suite_plain
        [ "$failed" -eq 0 ] || return 0
    fi
    export TANDEM_LIBRARY_PATH=$library_path TANDEM_CACHE_DIR=$build/cache
    [ -n "$TANDEM_LIBRARY_PATH" ] || unset TANDEM_LIBRARY_PATH

    echo
    "$build/tools/tdm" devices || true
    if [ -n "$rehearsal" ]; then
        read -ra devices <<<"$rehearsal"
    else
        mapfile -t devices < <(list_gpus)
        # What the driver has and Tandem does not list is a failure, not a shorter run.
        if [ -n "$driver" ] && [[ " ${devices[*]}" != *" cuda:"* ]]; then
            note "cuda device" 0 FAILED "NVIDIA's driver is in $driver, and no cuda device is listed"
        fi
        if [ -n "$driver_opencl" ] && [[ " ${devices[*]}" != *" opencl:"* ]]; then
            note "opencl device" 0 FAILED "the driver has OpenCL, and no GPU of it is listed"
        fi
        if [ ${#devices[@]} -eq 0 ]; then
            note "GPU devices" 0 FAILED "this machine has no GPU device: nothing was checked"
        fi
        [ "$failed" -eq 0 ] || "$build/tools/tdm" doctor || true
        [ ${#devices[@]} -gt 0 ] || return 0
    fi
    tell_of_f64
    ! wanted tests || run_tests
    ! wanted sanitizer || run_sanitizer
    ! wanted bench || run_bench
}

run() {
    main
    {
        [ -z "${GPU_CHECK_DEVICES:-}" ] ||
            echo "A rehearsal on $GPU_CHECK_DEVICES: no GPU was looked for, none was checked."
        cat "$work/facts" "$work/summary"
        printf '%-28s %5s s   %s\n' "all (${only[*]})" "$SECONDS" \
            "$([ "$failed" -eq 0 ] && echo passed || echo "FAILED: $failed of $(grep -c . "$work/summary")")"
    } >"$out/summary.txt"
    printf '\n== summary\n'
    cat "$out/summary.txt"
    [ "$failed" -eq 0 ]
}
status=0
run 2>&1 | tee "$out/log.txt" || status=${PIPESTATUS[0]}
exit "$status"

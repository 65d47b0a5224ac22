#!/usr/bin/env bash
# Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0
# Compiles on a machine without a GPU the kernels that the tests, the benchmark and the examples use on an H100: runs
# them on the simulated CUDA machine, whose compiler is NVIDIA's own NVRTC, and keeps the binaries in FOLDER, the
# TANDEM_CACHE_DIR of a process on the GPU. Kernels in FOLDER are not compiled again. Some 20 minutes of a processor.
# Usage: scripts/gpu-kernels.sh [FOLDER [PROFILE...]]   (default: build/gpu-cache gpu, a profile of tdm bench)
#
#   GPU_KERNELS_NVRTC=FILE     NVRTC of the CUDA that the GPU machine has (default: that of /usr/local/cuda)
#   GPU_KERNELS_MACHINE=TEXT   the GPU, as tests/cuda_sim/control.h describes one (default: an H100)
#   GPU_KERNELS_FILTER=TEXT    of the suite these tests alone, and nothing else
#   TDM_TEST_SEED=NUMBER       shapes and values of the suite (default: 1)
set -euo pipefail
[[ " $* " != *" --help "* && " $* " != *" -h "* ]] || { sed -n '3,/^[^#]/s/^# \{0,1\}//p' "$0"; exit 0; }
[[ "${1:-}" != -* ]] || { echo "usage: scripts/gpu-kernels.sh [FOLDER [PROFILE...]]" >&2; exit 2; }
cd "$(dirname "$0")/.."
folder=$(realpath -m "${1:-build/gpu-cache}")
profiles=("${@:2}")
[ ${#profiles[@]} -gt 0 ] || profiles=(gpu)
build=$PWD/build/test
nvrtc=$(realpath -e "${GPU_KERNELS_NVRTC:-/usr/local/cuda/lib64/libnvrtc.so.13}")
h100="capability=90 multiprocessors=132 cache=52428800"
seed=${TDM_TEST_SEED:-1}

cmake --preset test >/dev/null
cmake --build --preset test -j "$(nproc)" --target suite tandem_program cuda_sim_all examples/all
for variable in "${!TANDEM_@}" "${!TDM_@}"; do
    unset "$variable"
done
mkdir -p "$folder"
chmod 700 "$folder"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir "$work/no-drivers"
machine="devices=1 nvrtc=$nvrtc ${GPU_KERNELS_MACHINE:-$h100}"
export OCL_ICD_VENDORS=$work/no-drivers TANDEM_LIBRARY_PATH=$build/tests/cuda_sim TANDEM_CACHE_DIR=$folder \
    TDM_TEST_DEVICE=cuda:0 TDM_TEST_SEED=$seed TDM_CUDA_SIM=$machine

failed=0
rm -f "$folder/made.txt" # the last to be written: the sources, the compiler and the dialect
kernels() { find "$folder" -name '*.bin' | wc -l; }
step() { # NAME COMMAND...: says how many kernels it adds
    local name=$1 before start=$SECONDS status=0
    before=$(kernels)
    shift
    "$@" >"$work/printed" 2>&1 || status=$?
    printf '%-24s %5s s  %5s kernels, %s of them new\n' "$name" $((SECONDS - start)) "$(kernels)" \
        $(($(kernels) - before))
    [ "$status" -eq 0 ] || { tail -n 40 "$work/printed"; echo "gpu-kernels: $name: status $status"; failed=1; }
}
# Nothing is computed: the benchmark's sizes are a GPU's. So it verifies no row.
bench() { # PROFILE
    env TDM_CUDA_SIM="$machine work=0" "$build/tools/tdm" bench --device cuda:0 --profile "$1" || [ $? -eq 1 ]
}
examples() {
    local program status=0
    for program in "$build"/examples/*; do
        if [ ! -f "$program" ] || [ ! -x "$program" ]; then continue; fi
        (cd "$work" && TANDEM_BACKEND=cuda,cpu timeout 120 "$program") || { echo "$program: status $?"; status=1; }
    done
    return "$status"
}

"$build/tools/tdm" cache prune # kernels of another version of NVRTC or of the dialect
if [ -n "${GPU_KERNELS_FILTER:-}" ]; then
    step "$GPU_KERNELS_FILTER" "$build/tests/suite" --jobs "$(nproc)" --filter "$GPU_KERNELS_FILTER"
else
    step examples examples
    step suite "$build/tests/suite" --jobs "$(nproc)"
    # the tests that gpu-check.sh runs under compute-sanitizer
    step "suite, small" env TDM_TEST_SMALL=1 TANDEM_BLAS=builtin "$build/tests/suite" --jobs "$(nproc)" --filter \
        '@(operations|extremes|cast|generate|matmul|reduce|sort|cumsum|scatter)/*'
    for profile in "${profiles[@]}"; do
        step "bench, $profile" bench "$profile"
    done
fi
bytes=$(find "$folder" -name '*.bin' -printf '%s\n' | awk '{ sum += $1 } END { print sum + 0 }')
packed=$(find "$folder" -name '*.bin' -printf '%P\n' | tar -C "$folder" -cz -T - | wc -c)
echo "$(kernels) kernels in $folder: $((bytes / 1000000)) MB, $((packed / 1000000)) MB as .tar.gz"
{
    git describe --always --dirty --abbrev=40
    "$build/tools/tdm" cache list | grep -o 'cuda sm_.*' | sort -u
} >"$folder/made.txt"
exit "$failed"

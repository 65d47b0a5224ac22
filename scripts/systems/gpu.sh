# Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0
# scripts/gpu-check.sh from the package to the summary, on a system that has a compiler, Python and no network, and
# simulated CUDA in the place of driver and toolkit.
#   shellcheck shell=bash

system_gpu_check() {
    local here=$work/gpu-pack there=/srv/elsewhere/tandem log=$logs/$subject
    make_system "$subject" trixie kept && make_package "$here" >"$log" 2>&1 || return 1
    [ -e "$work/$subject/complete" ] ||
        install_in "$subject" gcc libc6-dev cmake ninja-build python3-numpy >>"$log" 2>&1 || return 1
    touch "$work/$subject/complete"
    rm -rf "${work:?}/$subject/srv/"*
    mkdir -p "$work/$subject$there"
    # The files that scripts/gpu-pack.sh lists.
    (cd "$here" && { git ls-files -co --exclude-standard && echo build/offline; } | tar -cT -) |
        tar -xC "$work/$subject$there" || return 1
    simulate_cuda "$here/build/test/tests" "$work/$subject" "$here"

    # A first run that ends too early, and a second one for the rest; without the benchmark, whose products take the
    # simulator hours.
    local parts=(--only smoke --only nccl --only tests-cuda --only sanitizer --only examples)
    gpu_check_within timeout 30 "$there/scripts/gpu-check.sh" /srv/first "${parts[@]}" >>"$log" 2>&1
    grep -q '^all .* ended by a signal' "$work/$subject/srv/first/summary.txt" || return 1
    gpu_check_within "$there/scripts/gpu-check.sh" /srv/second "${parts[@]}" --done /srv/first/results.txt \
        --seconds 5600 >"$log" 2>&1
    local status=$? results=$work/$subject/srv/second/results.txt failed
    failed=$(grep -cE '^(FAIL|LATE)' "$results")
    [ "$failed" -gt 0 ] || failed=$status
    row "$(release_of "$subject")" "scripts/gpu-check.sh, CUDA simulated" "$(grep -c ^PASS "$results")" \
        "$failed" "$(grep -c ^SKIP "$results")" \
        "$(awk '$1 == "FAIL" || $1 == "LATE" { print $2 }' "$results" | head -n 6 | paste -sd' ')"
}

# Of a clone of the last commit, on this machine.
make_package() { # FOLDER
    remove_folder "$1" && git clone -q --no-hardlinks "$source" "$1" && mkdir "$1/build" || return 1
    ln -s "$source"/build/{python,intel,lacking} "$1/build/"
    (
        cd "$1" && scripts/gpu-pack.sh && cmake --preset test >/dev/null &&
            cmake --build --preset test --target cuda_sim_all nccl_sim
    )
}

# The driver in a separate folder, a toolkit with tools that do nothing, NCCL as PyTorch's packages have it.
simulate_cuda() { # LIBRARIES ROOT SOURCES
    local driver=$2/usr/local/nvidia/lib64 toolkit=$2/usr/local/cuda
    local nccl=$2/usr/local/lib/python3.13/dist-packages/nvidia/nccl/lib
    mkdir -p "$driver" "$toolkit/bin" "$toolkit/lib64" "$nccl" "$2$3/lib"
    cp "$1"/cuda_sim/libcuda.so.1 "$1"/cuda_sim/libcuda_sim.so "$driver/"
    cp "$1"/cuda_sim/lib{cudart,nvrtc,cublas,cublasLt}.so.13 "$toolkit/lib64/"
    cp "$1"/nccl_sim/libnccl.so.2 "$nccl/"
    echo "/usr/local/nvidia/lib64" >"$2/etc/ld.so.conf.d/nvidia.conf"
    chroot "$2" ldconfig
    cp "$source/tests/gpu_check/stand_in.sh" "$toolkit/bin/compute-sanitizer"
    printf '#!/bin/sh\necho "release 13.0"\n' >"$toolkit/bin/nvcc"
    chmod 755 "$toolkit/bin/nvcc"
    # The simulator compiles kernels of a user with these.
    cp -r "$3/kernels" "$3/cpu" "$2$3/"
    cp -r "$3/lib/include" "$2$3/lib/"
}

gpu_check_within() { isolated=--net within "$subject" "$@"; }

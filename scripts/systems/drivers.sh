# Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0
# One OpenCL driver at a time, on Debian 13: the suite, the digits and the benchmark.
#   shellcheck shell=bash

# A build of the programs for any driver, once for all of them.
build_for_drivers() {
    local log=$logs/drivers
    [ "$(cat "$work/drivers/opt/built" 2>/dev/null)" != "$commit" ] || return 0
    make_system drivers trixie kept && clone_into drivers || return 1
    install_in drivers build-essential cmake ninja-build pkg-config opencl-headers libclblast-dev \
        libopenblas-dev libjansson-dev libcriterion-dev ocl-icd-libopencl1 pocl-opencl-icd \
        mesa-opencl-icd python3-venv >"$log" 2>&1 &&
        touch "$work/drivers/complete" &&
        within drivers sh -c '
            cmake -S tandem -B build -G Ninja -DCMAKE_BUILD_TYPE=Release -DTANDEM_WERROR=ON -DTANDEM_TESTS=ON \
                -DTANDEM_TEST_DEVICES=opencl:0 -DTANDEM_CPU_ISAS=baseline && cmake --build build' >>"$log" 2>&1 ||
        { row "Debian 13" build 0 1 0 "$(why 1 "$log")"; return 1; }
    echo "$commit" >"$work/drivers/opt/built"
}

# Libraries that PyPI has, into /opt/pypi-NAME.
install_from_pypi() { # NAME PACKAGE==VERSION...
    # shellcheck disable=SC2016
    within drivers sh -c '
        name=$1
        shift
        [ -x "pypi-$name/bin/python3" ] || python3 -m venv "pypi-$name"
        "pypi-$name/bin/python3" -m pip install --quiet --disable-pip-version-check "$@"' sh "$@"
}

# The driver of one .icd file; FACTOR says how many times its limits, in seconds, are those of pocl.
with_driver() { # SYSTEM LIBRARY FACTOR SMALL VARIABLE=VALUE...
    local system=$1 library=$2 factor=$3 small=$4 log=$logs/$subject
    shift 4
    local variables=(OCL_ICD_VENDORS="/opt/icd-$subject" TANDEM_CACHE_DIR="/opt/cache-$subject"
        POCL_CACHE_DIR="/opt/cache-$subject/pocl" TDM_TEST_DEVICE=opencl:0 "$@")
    [ -z "$small" ] || variables+=(TDM_TEST_SMALL=1)
    remove_folder "$work/drivers/opt/cache-$subject"
    mkdir -p "$work/drivers/opt/icd-$subject" "$work/drivers/opt/cache-$subject/pocl"
    echo "$library" >"$work/drivers/opt/icd-$subject/$subject.icd"
    within drivers env "${variables[@]}" timeout $((600 * factor)) build/tests/suite --jobs 2 >"$log-suite" 2>&1
    suite_row "$system" "suite${small:+, small cases}" $? "$log-suite"
    within drivers env "${variables[@]}" TANDEM_BACKEND=opencl timeout $((60 * factor)) build/examples/digits \
        >"$log-digits" 2>&1
    program_row "$system" digits $? "$log-digits"
    within drivers env "${variables[@]}" timeout $((120 * factor)) build/tools/tdm bench --device opencl:0 \
        --profile quick ${small:+--shape 1024x1024,512x512x512,8192x4096} >"$log-bench" 2>&1
    program_row "$system" "bench${small:+, small cases}" $? "$log-bench"
}

system_pocl_6() {
    build_for_drivers || return 1
    with_driver "Debian 13, pocl $(version_of drivers libpocl2t64)" libpocl.so.2 1 ''
}

system_rusticl() {
    build_for_drivers || return 1
    with_driver "Debian 13, rusticl on llvmpipe of Mesa $(version_of drivers mesa-opencl-icd)" \
        libRusticlOpenCL.so.1 3 small RUSTICL_ENABLE=llvmpipe
}

system_intel() {
    local version=2026.2.0
    build_for_drivers && install_from_pypi intel "intel-opencl-rt==$version" "intel-cmplr-lib-rt==$version" ||
        return 1
    with_driver "Debian 13, Intel's CPU runtime $version (PyPI)" /opt/pypi-intel/lib/libintelocl.so 2 ''
}

system_pocl_3() {
    local library
    build_for_drivers && install_from_pypi pocl pocl-binary-distribution==3.0 || return 1
    library=$(within drivers sh -c 'find pypi-pocl -name "libpocl*.so*" | grep -v devices | head -n 1')
    # Of 2022: its compiler may not know a newer processor.
    with_driver "Debian 13, pocl 3.0 (PyPI)" "/opt/$library" 1 '' || true
    if grep -qa 'unknown target CPU' "$logs/$subject-digits"; then
        sed -i "/^| $subject | /d" "$rows"
        row "Debian 13, pocl 3.0 (PyPI)" "nothing: it does not know this processor" - - all
    fi
}

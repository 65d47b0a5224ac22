# Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0
# Windows, compiled here by Clang and mingw-w64 and run under Wine. For scripts/systems/run.sh, and the first part also for
# the entry systems:windows of CTest (tests/systems/windows.sh).
#   shellcheck shell=bash
#   shellcheck disable=SC2154  # they set what is common: of the first part `sources`, Tandem's, and `tools`, a folder

# tdm_ functions that the headers declare and the library lacks, and whatever else it has.
differing_exports() { # LIBRARY HEADER...
    local library=$1
    shift
    diff <(cat "$@" | tr '\n' ' ' | grep -oE 'TDM_API [^;]*;' | grep -oE 'tdm_[a-z0-9_]+\(' | tr -d '(' | sort -u) \
        <(case $library in
        *.dll) llvm-readobj --coff-exports "$library" | sed -n 's/^  Name: \(.\)/\1/p' ;; # one is ""
        *.dylib) # a name of C begins with _; two names are the linker's
            llvm-nm --extern-only --defined-only "$library" | sed -e 's/.* _//' |
                grep -vx -e __dso_handle -e _mh_dylib_header ;;
        *) llvm-nm --dynamic --defined-only "$library" | sed -e 's/@.*//' -e 's/.* //' | grep -v '^TANDEM_' ;;
        esac | sort -u)
}

# A program in a Windows that has nothing else; DLLs are found next to it and where WINEPATH says. Without Wine's
# debugger, which takes seconds to start and holds files of a program that crashes.
under_wine() { # COMMAND...
    WINEPREFIX=$tools/wine WINEDEBUG=-all WINEDLLOVERRIDES=winedbg.exe=d \
        WINEPATH="Z:${tools//\//\\}\\build\\lib" "$@"
}

start_wine() {
    mkdir -p "$tools/wine" && under_wine wineserver -p
}

windows_platform() {
    under_wine timeout 300 wine "$tools/build/tests/platform.exe" "$tools/build/lib/libtandem.dll" &&
        under_wine timeout 300 wine "$tools/build/tests/children.exe"
}

# The smaller cases, on a device. OpenCL's drivers are those of this system, by Wine's OpenCL.dll.
windows_suite() { # DEVICE BACKENDS TAGS OPTION...
    under_wine env TANDEM_BACKEND="$2" TANDEM_CPU_DEVICES=2 TANDEM_CPU_COMPILER=none TDM_TEST_DEVICE="$1" \
        TDM_TEST_SMALL=1 TDM_TEST_TAGS="$3" timeout 3600 wine "$tools/build/tests/suite_plain.exe" "${@:4}"
}

# A user's kernel by GCC, which gets no options for AVX, in place of Clang without a linker, which is found first. Clang of
# LLVM's installer takes the same options and text, and exports the kernel.
windows_compilers() {
    local folder=$tools/compilers log options left
    mkdir -p "$folder" && rm -rf "${folder:?}"/* && mkdir -p "$folder/cache/tandem-old" &&
        touch "$folder/cache/tandem-old/kernel.dll" && touch -d '2 hours ago' "$folder/cache/tandem-old" &&
        clang --target=x86_64-w64-mingw32 -fuse-ld=lld -L"$(echo /usr/lib/gcc/x86_64-w64-mingw32/*-win32)" -D_UCRT -Wall \
            -Werror "$sources/tests/systems/compiler.c" -lucrt -o "$folder/clang.exe" &&
        cp "$folder/clang.exe" "$folder/gcc.exe" || return 1
    log="Z:${folder//\//\\}"
    under_wine env TANDEM_BACKEND=cpu TANDEM_CACHE_DIR="$log\\cache" COMPILER_LOG="$log\\log" TDM_TEST_DEVICE=cpu \
        WINEPATH="Z:${tools//\//\\}\\build\\lib;$log" timeout 300 wine "$tools/build/tests/suite_plain.exe" \
        --filter 'source_page/scale' && cut -c 1-500 "$folder/log" && grep -q 'clang\.exe' "$folder/log" &&
        grep -q 'gcc\.exe' "$folder/log" && ! grep -E -- ' -(mavx|fPIC|lm)' "$folder/log" || return 1
    # a folder goes with the kernel, as that of the trial did, or when it is old
    left=$(find "$folder/cache" -name 'tandem-*' | tee "$folder/left" | wc -l)
    [ "$left" -lt "$(grep -c 'gcc\.exe' "$folder/log")" ] && ! grep tandem-old "$folder/left" || return 1
    mapfile -t options < <(tail -n 1 "$folder/log" | tr ' ' '\n' | grep -E '^-[^os]|^-s[^h]')
    # without mingw-w64's headers, which define away the attributes of a compiler that is not GCC
    printf '#include <stddef.h>\nvoid *%s;\n' 'memcpy(void *, const void *, size_t)' 'memset(void *, int, size_t)' \
        >"$folder/string.h"
    clang --target=x86_64-pc-windows-msvc -ffreestanding -nostdinc -isystem "$(clang -print-resource-dir)/include" \
        -isystem "$folder" "${options[@]}" -c "$folder/log.c" -o "$folder/kernel.obj" &&
        llvm-readobj --coff-directives "$folder/kernel.obj" | tee "$folder/exports" && grep -q '/EXPORT:tdmi_' "$folder/exports"
}

# Each example prints what it prints elsewhere.
windows_examples() { # DEVICE BACKENDS NAME...
    local device=$1 backends=$2 name failed=0
    shift 2
    for name; do
        under_wine env TANDEM_BACKEND="$backends" TANDEM_CPU_DEVICES=2 timeout 300 \
            "$sources/tests/examples/example.sh" wine "$sources/tests/examples/$name.txt" "$device" \
            "$tools/build/examples/$name.exe" || { failed=$((failed + 1)); echo "failed: $name"; }
    done
    echo "$# rows, $failed not verified"
    [ "$failed" -eq 0 ]
}

# ---- what only scripts/systems/run.sh runs

# There are mingw-w64's headers for arm64 here and none of its libraries: static libraries, which are not linked.
compile_for_arm64() {
    local tools=$work/compiled/windows-arm64
    remove_folder "$tools" && mkdir -p "$tools" || return 1
    ln -sfn /usr/include/CL "$tools/CL" && ln -sf /usr/include/clblast*.h "$tools/" || return 1
    cmake -S "$sources" -B "$tools/build" -G Ninja -DCMAKE_BUILD_TYPE=Release -DCMAKE_SYSTEM_NAME=Windows \
        -DCMAKE_SYSTEM_PROCESSOR=ARM64 -DCMAKE_C_COMPILER=clang -DCMAKE_C_COMPILER_TARGET=aarch64-w64-mingw32 \
        -DCMAKE_C_FLAGS="-D_UCRT -isystem /usr/share/mingw-w64/include" -DCMAKE_AR="$(command -v llvm-ar)" \
        -DCMAKE_RANLIB="$(command -v llvm-ranlib)" -DCMAKE_TRY_COMPILE_TARGET_TYPE=STATIC_LIBRARY \
        -DTANDEM_SAFETENSORS=OFF -DTANDEM_TOOLS=OFF -DTANDEM_WERROR=ON -DTANDEM_CL_INCLUDE="$tools" \
        -DTANDEM_CLBLAST_INCLUDE="$tools" && cmake --build "$tools/build" --target tandem_static tandem_comm_static
}

# As MSVC reads them, which has no GNU C, by Clang, with mingw-w64's headers for the C library.
read_headers_as_msvc() {
    local header
    for header in "$sources"/{lib,comm}/include/tandem/*.h; do
        clang --target=x86_64-pc-windows-msvc -fms-compatibility -fms-extensions -nostdinc \
            -isystem "$(clang -print-resource-dir)/include" -isystem /usr/share/mingw-w64/include -x c -std=c11 -Wall \
            -Wextra -Wpedantic -Werror -I"$sources/lib/include" -I"$sources/comm/include" \
            -fsyntax-only "$header" || return 1
    done
}

# The zip, unpacked at another path: a program finds it by CMake, and runs with its DLL.
use_zip() {
    local unpacked=$tools/unpacked
    "$sources/packaging/archive.sh" windows "$tools/zip" "$tools/build" || return 1
    remove_folder "$unpacked" && mkdir "$unpacked" && (cd "$unpacked" && cmake -E tar xf "$tools"/zip/*.zip) || return 1
    cmake -S "$sources/tests/consumer" -B "$tools/consumer" -G Ninja --toolchain "$sources/cmake/mingw-w64.cmake" \
        -DCMAKE_PREFIX_PATH="$(echo "$unpacked"/*)" -DMAIN=main.c -DLIBRARY=tandem &&
        cmake --build "$tools/consumer" --target consumer || return 1
    cp "$unpacked"/*/bin/*.dll "$tools/consumer" && under_wine env TANDEM_BACKEND=cpu wine "$tools/consumer/consumer.exe" |
        tee "$tools/consumer/out" && grep -q '^cpu:0, Tandem ' "$tools/consumer/out"
}

# tdm prints such a line, and returns 0, or what `expected` says.
tdm_prints() { # PATTERN ARGUMENT...
    local pattern=$1 output
    shift
    count=$((count + 1))
    output=$(under_wine timeout 300 wine "$tools/build/tools/tdm.exe" "$@" 2>&1)
    set -- $? "$*"
    printf '$ tdm %s\n%s\n' "$2" "$output"
    if [ "$1" -ne "${expected:-0}" ] || ! grep -qE "$pattern" <<<"$output"; then
        failed=$((failed + 1))
        echo "failed: status $1, or no line has $pattern"
    fi
}

# Each command, on the cpu backend. A kernel of a user's is compiled by the OpenCL driver, and by a C compiler, if any.
windows_program() {
    local failed=0 count=0 cudart folder=$work/compiled/program kernel=(--tensor x --output y --number s)
    remove_folder "$folder" && mkdir "$folder" || return 1
    printf '%s\n' 'KERNEL(scale)' '{' '    FOR_ROWS(row, ROWS)' \
        '        STORE(ROW(y, row), 0, SCALAR(args.s) * LOAD(ROW(x, row), 0));' '}' >"$folder/scale.cl"
    echo 'f32 64x64x64' >"$folder/products"
    folder="Z:${folder//\//\\}"
    tdm_prints '^tdm [0-9.]+ \(libtandem' --version
    tdm_prints '^\| cpu:0 ' devices
    tdm_prints '^cpu:0,"?[A-Za-z]' devices --query id,name --format csv
    tdm_prints '"id": "cpu:0"' devices --json
    tdm_prints '^Default device: cpu:0' doctor
    tdm_prints '^ +judged in .*right: ' doctor
    tdm_prints '^  \[(ok|--)\] OpenCL\.dll' doctor --quick
    # The folders of CUDA's toolkit: a DLL is found in either, which is said to be another library.
    for cudart in bin/cudart64_12.dll bin/x64/cudart64_13.dll; do
        remove_folder "$tools/cuda" && mkdir -p "$tools/cuda/bin/x64" &&
            cp "$tools/build/lib/libtandem.dll" "$tools/cuda/$cudart" || return 1
        expected=1 CUDA_PATH="Z:${tools//\//\\}\\cuda" \
            tdm_prints "cuda.${cudart//[\/.]/.} has no function cudaRuntimeGetVersion" doctor --quick
    done
    tdm_prints '^[1-9][0-9]* rows, 0 not verified' bench --device cpu:0 --op bias_add,layer_norm --dtype f32 --seconds 30
    tdm_prints ' 64x64x64 +builtin ' tune --device cpu:0 --shapes "$folder\\products" --budget 10
    tdm_prints '^1 entry' cache list
    tdm_prints '^1 entry' cache verify
    tdm_prints '^1 of 1 entry removed' cache clear
    tdm_prints 'opencl +f32 +compiles' kernel check "$folder\\scale.cl" "${kernel[@]}"
    echo "$count rows, $failed not verified"
}

# README's lines for Windows, as they stand, in a clone with jansson's sources. The packages are there.
windows_readme() {
    local clone=$tools/readme
    remove_folder "$clone" && git clone -q --no-hardlinks "$source" "$clone" &&
        cp -r "$work/compiled/jansson/source" "$clone/jansson" && cp "$sources/tests/consumer/main.c" "$clone/program.c" ||
        return 1
    awk '/^### For Windows/ { inside = 1 } /^## First/ { exit } inside && /^    / && !/^    apt / { print substr($0, 5) }
         inside && /^Under Wine/ { split($0, part, "`"); print part[2] }' "$sources/README.md" >"$clone/lines.sh"
    (cd "$clone" && under_wine env HOME="$clone/home" TANDEM_BACKEND=cpu WINEPATH= bash -eux lines.sh) |
        tee "$clone/out" && grep -q '^cpu:0, Tandem ' "$clone/out"
}

system_windows() {
    local log=$logs/$subject tools=$work/compiled/windows sources=$work/compiled/tandem system status pocl
    local examples=(quickstart errors_and_log matmul norms random own_memory async replay two_devices mirror
        black_scholes row_kernel functions dlpack save_and_load use_a_gpu digits kmeans pca)
    get_sources || return 1
    system="$(wine --version 2>/dev/null | tail -n 1), x86_64, Clang $(clang -dumpversion), mingw-w64, UCRT"
    compile "$tools" dll "suite_plain platform children tools/all" \
        --toolchain "$sources/cmake/mingw-w64.cmake" -DCMAKE_PREFIX_PATH="$tools" >"$log-build" 2>&1
    status=$?
    program_row "$system" "build with -Werror" "$status" "$log-build"
    compile_for_arm64 >"$log-arm64" 2>&1
    program_row "arm64, Clang $(clang -dumpversion), mingw-w64" "compiled with -Werror; **neither linked nor run**" $? \
        "$log-arm64"
    read_headers_as_msvc >"$log-headers" 2>&1
    program_row "x86_64, Clang $(clang -dumpversion) in MSVC's mode" "the public headers of C" $? "$log-headers"
    [ "$status" -eq 0 ] || return 1
    remove_folder "$tools/wine" && start_wine || return 1
    windows_platform >"$log-platform" 2>&1
    program_row "$system" "the platform layer, and its part for programs" $? "$log-platform"
    windows_compilers >"$log-compilers" 2>&1
    program_row "$system, GCC of mingw-w64" "a user's kernel by a C compiler in place of a broken one" $? "$log-compilers"
    windows_suite cpu cpu '!compiler' >"$log-suite" 2>&1
    suite_row "$system" "suite on cpu, small cases, without a C compiler" $? "$log-suite"
    use_zip >"$log-zip" 2>&1
    program_row "$system" "a zip, and a program that finds it by CMake" $? "$log-zip"
    windows_examples cpu:0 cpu "${examples[@]}" >"$log-examples" 2>&1
    program_row "$system" "examples on cpu" $? "$log-examples"
    windows_program >"$log-program" 2>&1
    program_row "$system" "tdm on cpu" $? "$log-program"
    windows_readme >"$log-readme" 2>&1
    program_row "$system" "README's lines for Windows" $? "$log-readme"
    export OCL_ICD_VENDORS=/etc/OpenCL/vendors/pocl.icd POCL_CACHE_DIR=$tools/pocl POCL_DEVICES="pthread pthread" \
        POCL_WORK_GROUP_SPECIALIZATION=0 POCL_EXTRA_BUILD_FLAGS=-cl-opt-disable # as in tests/CMakeLists.txt
    pocl="pocl $(dpkg-query -W -f '${Version}' pocl-opencl-icd | cut -d- -f1) by Wine's OpenCL.dll"
    windows_suite opencl:0 opencl,cpu device >"$log-pocl" 2>&1
    suite_row "$system, $pocl" "suite on OpenCL, small cases that depend on the device" $? "$log-pocl"
    windows_examples opencl:0 opencl,cpu "${examples[@]}" >"$log-pocl-examples" 2>&1
    program_row "$system, $pocl" "examples on OpenCL" $? "$log-pocl-examples"
    unset OCL_ICD_VENDORS POCL_CACHE_DIR POCL_DEVICES POCL_WORK_GROUP_SPECIALIZATION POCL_EXTRA_BUILD_FLAGS
    under_wine wineserver -k
}

# Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0
# Systems other than Linux, compiled here. macOS and FreeBSD, for which there is no machine and no emulator, by Zig's
# Clang, which has the headers and the interfaces of their C libraries: nothing is run. Windows by Clang and mingw-w64,
# and run under Wine.
#   shellcheck shell=bash
#   shellcheck disable=SC2154  # run.sh sets what is common

# The sources of jansson, from Debian's archive, by a list of packages that is for this alone.
get_jansson() {
    [ ! -e "$work/compiled/jansson/complete" ] || return 0
    local folder=$work/compiled/jansson keys=/usr/share/keyrings/debian-archive-keyring.gpg
    remove_folder "$folder" && mkdir -p "$folder/lists/partial" || return 1
    echo "deb-src [signed-by=$keys] $mirror trixie main" >"$folder/sources.list"
    local lists=(-o Dir::Etc::sourcelist="$folder/sources.list" -o Dir::Etc::sourceparts=-
        -o Dir::State::lists="$folder/lists" -o APT::Sandbox::User=root)
    (
        cd "$folder" && apt-get "${lists[@]}" update -qq && apt-get "${lists[@]}" source -qq jansson &&
            mv jansson-*/ source && touch complete
    )
}

# Jansson, and a fresh clone of the last commit.
get_sources() {
    get_jansson >"$logs/$subject" 2>&1 && remove_folder "$work/compiled/tandem" &&
        git clone -q --no-hardlinks "$source" "$work/compiled/tandem"
}

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

# The libraries, the examples and some targets, with warnings as errors, and jansson before them; "$tools/build".
compile() { # TOOLS SUFFIX TARGETS OPTION...
    local tools=$1 suffix=$2 targets=$3 sources=$work/compiled
    shift 3
    local options=(-G Ninja -DCMAKE_BUILD_TYPE=Release "$@")
    remove_folder "$tools/build" && remove_folder "$tools/jansson" && mkdir -p "$tools" || return 1
    # These headers are any system's, but lie among those of this one.
    ln -sfn /usr/include/CL "$tools/CL" && ln -sf /usr/include/clblast*.h "$tools/" || return 1
    # Hidden, as Zig's linker takes a list of what a dylib exports, and exports the rest as well.
    cmake -S "$sources/jansson/source" -B "$tools/jansson" "${options[@]}" -DCMAKE_INSTALL_PREFIX="$tools" \
        -DCMAKE_POLICY_DEFAULT_CMP0063=NEW -DCMAKE_C_VISIBILITY_PRESET=hidden \
        -DCMAKE_INSTALL_LIBDIR=lib -DJANSSON_BUILD_DOCS=OFF -DJANSSON_EXAMPLES=OFF -DJANSSON_WITHOUT_TESTS=ON &&
        cmake --build "$tools/jansson" --target install || return 1
    # shellcheck disable=SC2086  # a list of words
    PKG_CONFIG_LIBDIR=$tools/lib/pkgconfig cmake -S "$sources/tandem" -B "$tools/build" "${options[@]}" \
        -DTANDEM_CL_INCLUDE="$tools" -DTANDEM_CLBLAST_INCLUDE="$tools" -DTANDEM_WERROR=ON -DTANDEM_TESTS=ON \
        -DTANDEM_TEST_DEVICES=cpu -DTANDEM_TEST_PLAIN=ON &&
        cmake --build "$tools/build" --target lib/all comm/all examples/all $targets || return 1
    differing_exports "$tools/build/lib/libtandem.$suffix" "$sources"/tandem/lib/include/tandem/*.h &&
        differing_exports "$tools/build/lib/libtandem-comm.$suffix" "$sources"/tandem/comm/include/tandem/*.h
}

# ---- macOS and FreeBSD

# Zig's tools as programs, as CMake wants one word. Zig has other names for x86's levels.
make_compiler() { # FOLDER TARGET
    local zig="\"$source/build/zig/bin/python3\" -m ziglang" tool
    mkdir -p "$1" || return 1
    # shellcheck disable=SC2016  # for the script
    printf '%s\n' '#!/bin/bash' 'words=("${@/#-march=x86-64-v/-march=x86_64_v}")' \
        "exec $zig cc -target $2 "'"${words[@]/#-march=x86-64/-march=x86_64}"' >"$1/cc"
    for tool in ar ranlib; do
        printf '%s\n' '#!/bin/bash' "exec $zig $tool "'"$@"' >"$1/$tool"
    done
    chmod 755 "$1"/{cc,ar,ranlib}
}

zig_row() { # WORDS TARGET SYSTEM PROCESSOR SUFFIX TARGETS
    local log=$logs/$subject-$4 tools=$work/compiled/$2 status
    make_compiler "$tools" "$2" && compile "$tools" "$5" "$6" -DCMAKE_SYSTEM_NAME="$3" -DCMAKE_SYSTEM_PROCESSOR="$4" \
        -DCMAKE_C_COMPILER="$tools/cc" -DCMAKE_AR="$tools/ar" -DCMAKE_RANLIB="$tools/ranlib" >"$log" 2>&1
    status=$?
    program_row "$1, $4, Zig $("$source/build/zig/bin/python3" -m ziglang version)" \
        'compiled and linked with -Werror; **nothing was run**' "$status" "$log"
}

system_macos() {
    get_sources || return 1
    zig_row "macOS 11" aarch64-macos.11.0 Darwin arm64 dylib "suite_plain platform"
    zig_row "macOS 11" x86_64-macos.11.0 Darwin x86_64 dylib "suite_plain platform"
}

system_freebsd() {
    get_sources || return 1
    zig_row "FreeBSD 14" x86_64-freebsd.14.0 FreeBSD x86_64 so "suite_plain platform"
}

# ---- Windows

# A program in a Windows that has nothing else; DLLs are found next to it and where WINEPATH says.
under_wine() { # COMMAND...
    WINEPREFIX=$work/compiled/wine WINEDEBUG=-all WINEPATH="Z:${tools//\//\\}\\build\\lib" "$@"
}

# Each example prints what it prints elsewhere, but for those that have kernels in the dialect.
windows_examples() {
    local name failed=0 count=0
    for name in quickstart errors_and_log matmul norms random own_memory async replay two_devices mirror \
        black_scholes row_kernel functions dlpack save_and_load use_a_gpu digits kmeans pca; do
        under_wine env TANDEM_BACKEND=cpu TANDEM_CPU_DEVICES=2 timeout 120 \
            "$work/compiled/tandem/tests/examples/example.sh" wine \
            "$work/compiled/tandem/tests/examples/$name.txt" cpu:0 "$tools/build/examples/$name.exe" ||
            { failed=$((failed + 1)); echo "failed: $name"; }
        count=$((count + 1))
    done
    echo "$count rows, $failed not verified"
}

# There are mingw-w64's headers for arm64 here and none of its libraries: static libraries, which are not linked.
compile_for_arm64() {
    local tools=$work/compiled/windows-arm64
    remove_folder "$tools" && mkdir -p "$tools" || return 1
    ln -sfn /usr/include/CL "$tools/CL" && ln -sf /usr/include/clblast*.h "$tools/" || return 1
    cmake -S "$work/compiled/tandem" -B "$tools/build" -G Ninja -DCMAKE_BUILD_TYPE=Release -DCMAKE_SYSTEM_NAME=Windows \
        -DCMAKE_SYSTEM_PROCESSOR=ARM64 -DCMAKE_C_COMPILER=clang -DCMAKE_C_COMPILER_TARGET=aarch64-w64-mingw32 \
        -DCMAKE_C_FLAGS="-D_UCRT -isystem /usr/share/mingw-w64/include" -DCMAKE_AR="$(command -v llvm-ar)" \
        -DCMAKE_RANLIB="$(command -v llvm-ranlib)" -DCMAKE_TRY_COMPILE_TARGET_TYPE=STATIC_LIBRARY \
        -DTANDEM_SAFETENSORS=OFF -DTANDEM_TOOLS=OFF -DTANDEM_WERROR=ON -DTANDEM_CL_INCLUDE="$tools" \
        -DTANDEM_CLBLAST_INCLUDE="$tools" && cmake --build "$tools/build" --target tandem_static tandem_comm_static
}

# As MSVC reads them, which has no GNU C, by Clang, with mingw-w64's headers for the C library.
read_headers_as_msvc() {
    local header
    for header in "$work"/compiled/tandem/{lib,comm}/include/tandem/*.h; do
        clang --target=x86_64-pc-windows-msvc -fms-compatibility -fms-extensions -nostdinc \
            -isystem "$(clang -print-resource-dir)/include" -isystem /usr/share/mingw-w64/include -x c -std=c11 -Wall \
            -Wextra -Wpedantic -Werror -I"$work/compiled/tandem/lib/include" -I"$work/compiled/tandem/comm/include" \
            -fsyntax-only "$header" || return 1
    done
}

# The zip, unpacked at another path: a program finds it by CMake, and runs with its DLL.
use_zip() {
    local sources=$work/compiled/tandem unpacked=$tools/unpacked
    "$sources/packaging/archive.sh" windows "$tools/zip" "$tools/build" || return 1
    remove_folder "$unpacked" && mkdir "$unpacked" && (cd "$unpacked" && cmake -E tar xf "$tools"/zip/*.zip) || return 1
    cmake -S "$sources/tests/consumer" -B "$tools/consumer" -G Ninja --toolchain "$sources/cmake/mingw-w64.cmake" \
        -DCMAKE_PREFIX_PATH="$(echo "$unpacked"/*)" -DMAIN=main.c -DLIBRARY=tandem &&
        cmake --build "$tools/consumer" --target consumer || return 1
    cp "$unpacked"/*/bin/*.dll "$tools/consumer" && under_wine env TANDEM_BACKEND=cpu wine "$tools/consumer/consumer.exe" |
        tee "$tools/consumer/out" && grep -q '^cpu:0, Tandem ' "$tools/consumer/out"
}

# tdm prints such a line, and returns 0.
tdm_prints() { # PATTERN ARGUMENT...
    local pattern=$1 output
    shift
    count=$((count + 1))
    output=$(under_wine timeout 300 wine "$tools/build/tools/tdm.exe" "$@" 2>&1)
    set -- $? "$*"
    printf '$ tdm %s\n%s\n' "$2" "$output"
    if [ "$1" -ne 0 ] || ! grep -qE "$pattern" <<<"$output"; then
        failed=$((failed + 1))
        echo "failed: status $1, or no line has $pattern"
    fi
}

# Each command, on the cpu backend. A kernel of a user's is compiled by the OpenCL driver, and by a C compiler, if any.
windows_program() {
    local failed=0 count=0 folder=$work/compiled/program kernel=(--tensor x --output y --number s)
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
    tdm_prints '^[1-9][0-9]* rows, 0 not verified' bench --device cpu:0 --op bias_add,layer_norm --dtype f32 --seconds 30
    tdm_prints ' 64x64x64 +builtin ' tune --device cpu:0 --shapes "$folder\\products" --budget 10
    tdm_prints '^1 entry' cache list
    tdm_prints '^1 entry' cache verify
    tdm_prints '^1 of 1 entry removed' cache clear
    tdm_prints 'opencl +f32 +compiles' kernel check "$folder\\scale.cl" "${kernel[@]}"
    echo "$count rows, $failed not verified"
}

system_windows() {
    local log=$logs/$subject tools=$work/compiled/windows system status
    get_sources || return 1
    system="$(wine --version 2>/dev/null | tail -n 1), x86_64, Clang $(clang -dumpversion), mingw-w64, UCRT"
    compile "$tools" dll "suite_plain platform children tools/all" \
        --toolchain "$work/compiled/tandem/cmake/mingw-w64.cmake" -DCMAKE_PREFIX_PATH="$tools" >"$log-build" 2>&1
    status=$?
    program_row "$system" "build with -Werror" "$status" "$log-build"
    compile_for_arm64 >"$log-arm64" 2>&1
    program_row "arm64, Clang $(clang -dumpversion), mingw-w64" "compiled with -Werror; **neither linked nor run**" $? \
        "$log-arm64"
    read_headers_as_msvc >"$log-headers" 2>&1
    program_row "x86_64, Clang $(clang -dumpversion) in MSVC's mode" "the public headers of C" $? "$log-headers"
    [ "$status" -eq 0 ] || return 1
    remove_folder "$work/compiled/wine" && mkdir "$work/compiled/wine" || return 1
    under_wine wineserver -p
    under_wine timeout 300 wine "$tools/build/tests/platform.exe" "$tools/build/lib/libtandem.dll" >"$log-platform" 2>&1
    program_row "$system" "the platform layer" $? "$log-platform"
    under_wine timeout 300 wine "$tools/build/tests/children.exe" >"$log-children" 2>&1
    program_row "$system" "the platform layer's part for programs" $? "$log-children"
    under_wine env TANDEM_BACKEND=cpu TANDEM_CPU_DEVICES=2 TANDEM_CPU_COMPILER=none TDM_TEST_DEVICE=cpu \
        TDM_TEST_SMALL=1 TDM_TEST_TAGS='!compiler' timeout 3600 wine "$tools/build/tests/suite_plain.exe" \
        >"$log-suite" 2>&1
    suite_row "$system" "suite on cpu, small cases, without a C compiler" $? "$log-suite"
    use_zip >"$log-zip" 2>&1
    program_row "$system" "a zip, and a program that finds it by CMake" $? "$log-zip"
    windows_examples >"$log-examples" 2>&1
    program_row "$system" "examples on cpu" $? "$log-examples"
    windows_program >"$log-program" 2>&1
    program_row "$system" "tdm on cpu" $? "$log-program"
    under_wine wineserver -k
}

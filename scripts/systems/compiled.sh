# Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0
# Systems other than Linux, compiled here. macOS and FreeBSD, for which there is no machine and no emulator, by Zig's
# Clang, which has the headers and the interfaces of their C libraries: nothing is run. Windows: windows.sh.
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
    for tool in cc c++; do
        # shellcheck disable=SC2016  # for the script
        printf '%s\n' '#!/bin/bash' 'words=("${@/#-march=x86-64-v/-march=x86_64_v}")' \
            "exec $zig $tool -target $2 "'"${words[@]/#-march=x86-64/-march=x86_64}"' >"$1/$tool"
    done
    for tool in ar ranlib; do
        printf '%s\n' '#!/bin/bash' "exec $zig $tool "'"$@"' >"$1/$tool"
    done
    chmod 755 "$1"/{cc,c++,ar,ranlib}
}

zig_row() { # WORDS TARGET SYSTEM PROCESSOR SUFFIX TARGETS
    local log=$logs/$subject-$4 tools=$work/compiled/$2 status
    make_compiler "$tools" "$2" && compile "$tools" "$5" "$6" -DCMAKE_SYSTEM_NAME="$3" -DCMAKE_SYSTEM_PROCESSOR="$4" \
        -DCMAKE_C_COMPILER="$tools/cc" -DCMAKE_CXX_COMPILER="$tools/c++" -DCMAKE_AR="$tools/ar" \
        -DCMAKE_RANLIB="$tools/ranlib" \
        -DCMAKE_INSTALL_NAME_TOOL="$(clang -print-prog-name=llvm-install-name-tool)" >"$log" 2>&1
    status=$?
    program_row "$1, $4, Zig $("$source/build/zig/bin/python3" -m ziglang version)" \
        'compiled and linked with -Werror; **nothing was run**' "$status" "$log"
}

system_macos() {
    get_sources || return 1
    zig_row "macOS 11" aarch64-macos.11.0 Darwin arm64 dylib "suite_plain platform test_programs"
    zig_row "macOS 11" x86_64-macos.11.0 Darwin x86_64 dylib "suite_plain platform test_programs"
}

system_freebsd() {
    get_sources || return 1
    zig_row "FreeBSD 14" x86_64-freebsd.14.0 FreeBSD x86_64 so "suite_plain platform test_programs"
}

#!/usr/bin/env bash
# Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0
# Values of CMake's options, which are configured and not built: the words for yes and no, what is refused, and absolute
# folders, from which the installed files for pkg-config have relative paths.
# Usage: options.sh CMAKE SOURCE CC
set -euo pipefail
cmake=$1 source=$2 cc=$3
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
configure() { # OPTION...: what CMake prints is in $work/log
    "$cmake" -G Ninja -S "$source" -B "$work/build" -DCMAKE_C_COMPILER="$cc" -DTANDEM_OPENCL=OFF \
        -DTANDEM_SAFETENSORS=OFF -DTANDEM_TOOLS=OFF -DTANDEM_MPI=OFF -DTANDEM_CUDA=OFF -DTANDEM_CPU_ISAS=baseline \
        -DCMAKE_INSTALL_PREFIX="$work/prefix" "$@" >"$work/log" 2>&1
}
fail() { echo "$*"; cat "$work/log"; exit 1; }
says() { tr -s ' \n' ' ' <"$work/log" | grep -qF "$1" || fail "not said: $1"; }
refuses() { # WORDS OPTION...
    ! configure "${@:2}" || fail "not refused: ${*:2}"
    says "$1"
}

for word in "true cuda;" "0 " "no "; do
    configure -DTANDEM_CUDA="${word% *}" || fail "TANDEM_CUDA=${word% *}"
    says "Tandem backends: ${word#* }cpu"
done
refuses "TANDEM_CUDA is 'automatic': ON, OFF and AUTO are allowed" -DTANDEM_CUDA=automatic
refuses "TANDEM_MPI is 'openmpi': ON, OFF and AUTO are allowed" -DTANDEM_MPI=openmpi
refuses "TANDEM_CPU_ISAS is 'avx1;baseline'" "-DTANDEM_CPU_ISAS=avx1;baseline"
refuses "TANDEM_CPU_ISAS is 'baseline;baseline'" "-DTANDEM_CPU_ISAS=baseline;baseline"
refuses "TANDEM_CPU_ISAS is ''" -DTANDEM_CPU_ISAS=
refuses "CMAKE_INSTALL_LIBDIR is /elsewhere/lib, which is not below CMAKE_INSTALL_PREFIX" \
    -DCMAKE_INSTALL_LIBDIR=/elsewhere/lib

configure -DCMAKE_INSTALL_LIBDIR="$work/prefix/lib/some" -DCMAKE_INSTALL_INCLUDEDIR="$work/prefix/include/some" ||
    fail "absolute folders"
mkdir -p "$work/moved/lib/some/pkgconfig"
find "$work/build" -name 'tandem*.pc' -exec cp {} "$work/moved/lib/some/pkgconfig" \;
for package in tandem tandem-comm; do
    for folder in lib include; do
        path=$(PKG_CONFIG_PATH=$work/moved/lib/some/pkgconfig pkg-config --variable=${folder}dir $package)
        [ "$(realpath -m "$path")" = "$work/moved/$folder/some" ] || fail "$package has $path"
    done
done

# The program looks for the library two folders up.
configure -DTANDEM_TOOLS=ON -DCMAKE_INSTALL_BINDIR=bin/some || fail "a folder of programs that is two deep"
grep -qF 'ORIGIN/../../lib' "$work/build/build.ninja" || fail "the run path of tdm"

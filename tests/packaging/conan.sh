#!/usr/bin/env bash
# Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0
# Conan's recipe with the system's libraries: the package is built, and its test program is run.
# Usage: conan.sh FOLDER_OF_CONAN SOURCE
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export CONAN_HOME=$work/home PATH=$1:$PATH
cp -r "$2/packaging/conan/test_package" "$work/test_package"
conan profile detect >/dev/null
conan create "$2/packaging/conan" \
    --test-folder "$work/test_package" --no-remote \
    -pr:a "$2/packaging/conan/system-libraries.profile" \
    -o 'tandem/*:cpu_isas=baseline' 2>&1 | tee "$work/log" | tail -40
grep -qx 'Tandem [0-9.]*: 11 22 33' "$work/log"

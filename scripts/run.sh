#!/usr/bin/env bash
# Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0
# Sets up, builds Release and runs the main job: lists the devices, classifies 360 handwritten digits
# on every device, and runs the quick benchmark. Exits 0 only if everything it printed was verified.
#
# Usage: scripts/run.sh [OPTION...]    (the options of `tdm bench`)
set -euo pipefail
[[ " $* " != *" --help "* && " $* " != *" -h "* ]] || { sed -n '3,/^[^#]/s/^# \{0,1\}//p' "$0"; exit 0; }
[[ $# = 0 || "$1" = -* ]] || { echo "run.sh: '$1' is no option; \`tdm bench --help\` lists them" >&2; exit 2; }
here=$PWD # to which paths in the options are relative
cd "$(dirname "$0")/.."

scripts/setup.sh run
cmake --preset release >/dev/null
cmake --build --preset release

build=$PWD/build/release
(cd "$here" && "$build/tools/tdm" bench --profile quick --list "$@" >/dev/null) # a wrong option ends it here
echo
"$build/tools/tdm" devices
echo
"$build/examples/digits" examples/digits/model.safetensors examples/digits/test.safetensors
echo
cd "$here"
"$build/tools/tdm" bench --profile quick "$@"

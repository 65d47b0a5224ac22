#!/usr/bin/env bash
# Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0
# Runs the program that docs/bindings.md has in a language, as it stands there, and compares its output with the page's.
# Usage: bindings.sh LANGUAGE COMPILER LIBRARY PAGE
set -euo pipefail
language=$1 compiler=$2 library=$3 page=$4
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
folder=$(dirname "$library")
export LD_LIBRARY_PATH="$folder${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}"

awk -v fence='```' -v language="$language" '
    $0 == fence language { inside = 1; next }
    $0 == fence { inside = 0 }
    inside' "$page" >"$work/text"
[ -s "$work/text" ] || { echo "$page has no program in $language"; exit 1; }
wanted=$(sed -n 's/^    \([0-9. /]*\)$/\1/p' "$page")
[ -n "$wanted" ] || { echo "$page does not say what the programs print"; exit 1; }

cd "$work"
case $language in
python) printed=$("$compiler" -X dev -W error text) ;;
fortran)
    cp text quickstart.f90
    "$compiler" -Wall -Werror -std=f2018 quickstart.f90 -L"$folder" -ltandem -o quickstart
    printed=$(./quickstart)
    ;;
rust)
    cp text quickstart.rs
    "$compiler" --edition 2021 -D warnings -L "$folder" -l tandem quickstart.rs
    printed=$(./quickstart)
    ;;
*) echo "there is no test for $language"; exit 1 ;;
esac
echo "$language: $printed"
[ "$printed" = "$wanted" ] || { echo "wanted: $wanted"; exit 1; }

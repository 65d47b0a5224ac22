#!/usr/bin/env bash
# Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0
# Installs Tandem into a temporary folder and compiles each example that lies there by the command in its first
# comment, with warnings as errors; those that read a file find it there, and elsewhere say where it is.
# Usage: commands.sh CMAKE BUILD CC CXX SOURCE...
set -euo pipefail
cmake=$1 build=$2 cc=$3 cxx=$4
shift 4
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
"$cmake" --install "$build" --prefix "$work/prefix" >"$work/log" 2>&1 || { cat "$work/log"; exit 1; }
PKG_CONFIG_PATH=$(dirname "$(find "$work/prefix" -name tandem.pc)")
export PKG_CONFIG_PATH

# The compilers under the names that the commands have for them.
mkdir "$work/bin"
installed=$(find "$work/prefix" -name examples -type d)
for pair in "cc:$cc" "c++:$cxx"; do
    printf '#!/bin/sh\nexec "%s" -Wall -Wextra -Wpedantic -Werror "$@"\n' "${pair#*:}" >"$work/bin/${pair%%:*}"
done
chmod +x "$work"/bin/*

failed=0
for source in "$@"; do
    name=$(basename "${source%.*}")
    # The lines from the compiler's name on, for as long as they end in a backslash.
    command=$(awk '
        !found && /^ \*     c(c|\+\+) / { found = more = 1 }
        more { more = /\\$/; sub(/^ \*/, ""); sub(/ \*\/$/, ""); print }' "$source")
    if [ -z "$command" ]; then
        echo "$source: its first comment has no command that compiles it"
        failed=1
        continue
    fi
    folder=$(dirname "$(find "$installed" -name "$(basename "$source")")")
    if (cd "$folder" && PATH=$work/bin:$PATH && eval "$command") && [ -x "$folder/$name" ]; then
        echo "$name: compiled"
    else
        echo "$name: does not compile by $command"
        failed=1
    fi
done
export LD_LIBRARY_PATH=${PKG_CONFIG_PATH%/*} TANDEM_BACKEND=cpu
for name in kmeans pca digits/digits; do
    [ -x "$installed/$name" ] || continue # without model files
    if ! (cd "$(dirname "$installed/$name")" && "./${name##*/}" >"$work/log" 2>&1); then
        echo "$name does not run where it is installed: $(cat "$work/log")"
        failed=1
    fi
    [ "$name" != digits/digits ] || continue
    if (cd / && "$installed/$name" 2>"$work/log") || ! grep -q "has digits/test.safetensors" "$work/log"; then
        echo "$name does not say what it needs: $(cat "$work/log")"
        failed=1
    fi
done
exit $failed

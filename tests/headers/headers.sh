#!/usr/bin/env bash
# Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0
# Every public header is complete by itself, may be included twice and gives no warning, in C11 and in
# C++11 and C++17. Usage: headers.sh CC CXX INCLUDE_FOLDER
set -euo pipefail
cc=$1 cxx=$2 include=$3
warnings=(-Wall -Wextra -Wpedantic -Wshadow -Wundef -Werror -fsyntax-only)

headers=("$include"/tandem/*.h)
[ ${#headers[@]} -ge 13 ] || { echo "only ${#headers[@]} headers were found in $include"; exit 1; }
failed=0
for header in "${headers[@]}"; do
    name=tandem/$(basename "$header")
    for language in c:c11 c++:c++11 c++:c++17; do
        compiler=$cc
        [ "${language%%:*}" = c ] || compiler=$cxx
        printf '#include <%s>\n#include <%s>\nextern int something;\n' "$name" "$name" |
            "$compiler" -x "${language%%:*}" -std="${language#*:}" "${warnings[@]}" -I"$include" - ||
            { echo "$name: not as ${language#*:}"; failed=1; }
    done
done
[ $failed -eq 0 ] && echo "${#headers[@]} headers: each compiles alone as C11, C++11 and C++17"
exit $failed

#!/usr/bin/env bash
# Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0
# Every public header is complete by itself, may be included twice and gives no warning, in C11 and in
# C++11 and C++17, those for C++ in C++17 and C++20; and every operation that makes a tensor has a function in C++.
# Usage: headers.sh CC CXX INCLUDE_FOLDER...
set -euo pipefail
cc=$1 cxx=$2
shift 2
warnings=(-Wall -Wextra -Wpedantic -Wshadow -Wundef -Werror -fsyntax-only)

shopt -s nullglob
headers=() folders=()
for include; do
    headers+=("$include"/tandem/*.h "$include"/tandem/*.hpp)
    folders+=("-I$include")
done
[ ${#headers[@]} -ge 25 ] || { echo "only ${#headers[@]} headers were found in $*"; exit 1; }
failed=0
for header in "${headers[@]}"; do
    name=tandem/$(basename "$header")
    languages=(c:c11 c++:c++11 c++:c++17)
    [ "${name##*.}" = h ] || languages=(c++:c++17 c++:c++20)
    for language in "${languages[@]}"; do
        compiler=($cc)
        [ "${language%%:*}" = c ] || compiler=($cxx -Wold-style-cast)
        printf '#include <%s>\n#include <%s>\nextern int something;\n' "$name" "$name" |
            "${compiler[@]}" -x "${language%%:*}" -std="${language#*:}" "${warnings[@]}" "${folders[@]}" - ||
            { echo "$name: not as ${language#*:}"; failed=1; }
    done
done
# Those that change a tensor which is there, or say something of a call; and norms, which are tdm_norm_over.
for name in $(sed -n 's/^.*tdm_status tdm_\([a-z0-9_]*\)(tdm_queue \*queue.*/\1/p' \
    "$1"/tandem/{ops,functions,reduce,arrays,attention}.h); do
    case $name in
    matmul_provider | axpy | fill | fill_range | fill_uniform | fill_normal | scatter_add_rows | row_norm | norm_over | softmax_scaled) ;;
    *) grep -Eq "(Tensor|Normalized|TopK) $name\(|TANDEM_[A-Z_]+\($name," "$1"/tandem/*.hpp ||
        { echo "tdm_$name has no function in C++"; failed=1; } ;;
    esac
done
[ $failed -eq 0 ] && echo "${#headers[@]} headers: each compiles alone in its languages"
exit $failed

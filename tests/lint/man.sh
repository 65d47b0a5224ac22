#!/usr/bin/env bash
# Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0
# The library's man page: no fault that groff or, where it is installed, mandoc warns of; every variable of README's
# table; and its program compiles and runs. Usage: man.sh CC LIBRARY_FOLDER
set -euo pipefail
cc=$1 libraries=$2
cd "$(dirname "$0")/../.."
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
groff -mdoc -ww -Tutf8 docs/tandem.7 >"$work/page" 2>"$work/warnings"
if command -v mandoc >/dev/null; then mandoc -T lint -W warning docs/tandem.7 >>"$work/warnings" 2>&1 || true; fi
[ ! -s "$work/warnings" ] || { cat "$work/warnings"; exit 1; }
failed=0
sed -n 's/^| `\(TANDEM_[A-Z_]*\)` |.*/\1/p' README.md >"$work/variables"
[ -s "$work/variables" ]
while read -r name; do
    grep -q "^\.It Ev $name$" docs/tandem.7 || { echo "tandem.7 lacks $name, which README has"; failed=1; }
done <"$work/variables"
for header in lib/include/tandem/*.h comm/include/tandem/*.h; do
    header=tandem/${header##*/}
    # headers that others include, and headers for libraries alone
    [[ $header != tandem/@(status|tandem|setup|library|nccl|transport).h ]] || continue
    grep -q "In $header\b" docs/tandem.7 || { echo "tandem.7 lacks $header"; failed=1; }
done
sed -n '/^\.Bd -literal/,/^\.Ed/{/^\./d;s/\\e/\\/g;p}' docs/tandem.7 >"$work/program.c"
"$cc" -std=c11 -Wall -Wextra -Werror -Ilib/include "$work/program.c" -L"$libraries" -ltandem -Wl,-rpath,"$libraries" \
    -o "$work/program"
output=$(TANDEM_BACKEND=cpu "$work/program")
[ "$output" = "0.268941 0.731059" ] || { echo "its program prints '$output'"; failed=1; }
exit $failed

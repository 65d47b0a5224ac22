#!/usr/bin/env bash
# Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0
# The public binary interface against the declarations that are kept for its SONAME: anything but new
# functions is a break, or growth that docs/stability.md allows and that needs a look. Read from
# the headers alone, through libraries whose functions are empty, so that no build option changes it;
# that the real one exports the same functions is tested in tests/host/layers.c.
# Usage: abi.sh SONAME [keep]   (keep: replaces the declarations)
set -euo pipefail
cd "$(dirname "$0")"
soname=$1
core=libtandem.so.${soname#*.so.}
[ "$soname" = "$core" ] && least=100 || least=30
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir "$work/standard"
for header in stdbool stddef stdint stdio; do
    printf '#pragma once\n@include <%s.h>\n' $header >"$work/standard/$header.h"
done

# declarations SONAME: what the headers of lib/, or those of comm/ after them, declare; each function is one line
declarations() {
    echo "/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */"
    echo "/* The interface of $1, by: tests/lint/abi.sh $1 keep */"
    (cd ../../lib/include && printf '#include <%s>\n' tandem/*.h && echo @comm
        cd ../../comm/include && printf '#include <%s>\n' tandem/*.h) |
        gcc -std=c11 -E -P -nostdinc -I"$work/standard" -I../../lib/include -I../../comm/include - |
        if [ "$1" = "$core" ]; then sed '/^@comm/,$d'; else sed '1,/^@comm/d'; fi |
        sed -E 's/^@/#/; s/__attribute__\(\(visibility\("default"\)\)\)/TDM_API/; s/__attribute__\(\([a-z_]+\)\) //' |
        sed -E ':next; /^TDM_API[^;]*$|[a-z_=]$/ { N; s/\n */ /; b next }; s/, (TDM_)/,\n    \1/g'
}

# library FOLDER TO: an empty library, TO, of the declarations that lie in FOLDER
library() {
    {
        echo '#define TDM_API'
        [ "$soname" = "$core" ] || cat "$1/$core.abi"
        sed '/^TDM_API/ s/;$/ { __builtin_trap(); }/' "$1/$soname.abi"
    } >"$work/surface.c"
    functions=$(grep -c __builtin_trap "$work/surface.c" || true)
    [ "$functions" -gt "$least" ] || { echo "only $functions functions are declared in $1"; exit 1; }
    gcc -std=c11 -g -O0 -fPIC -shared -w -Wl,-soname,"$soname" -Wl,--version-script=../../lib/tandem.map \
        -o "$2" "$work/surface.c"
}

declarations "$soname" >"$work/$soname.abi"
[ "$soname" = "$core" ] || declarations "$core" >"$work/$core.abi"
library "$work" "$work/now.so"
if [ "${2:-}" = keep ]; then
    cp "$work/$soname.abi" .
    exit
fi
if [ ! -f "$soname.abi" ]; then
    echo "there is no $PWD/$soname.abi: for a new version, make it with: tests/lint/abi.sh $soname keep"
    exit 1
fi
library . "$work/kept.so"
if ! abidiff --no-added-syms "$work/kept.so" "$work/now.so"; then
    echo "The binary interface of $soname has changed. A break needs another version (lib/include/tandem/tandem.h)."
    echo "A struct that grew at its end does not (docs/stability.md): then run tests/lint/abi.sh $soname keep"
    exit 1
fi

#!/usr/bin/env bash
# Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0
# The public binary interface against the description that is kept for its SONAME: anything but new
# functions is a break, or growth that docs/stability.md allows and that needs a look. Read from
# the headers alone, through a library whose functions are empty, so that no build option changes it;
# that the real one exports the same functions is tested in tests/host/layers.c.
# Usage: abi.sh SONAME [keep]   (keep: replaces the description)
set -euo pipefail
cd "$(dirname "$0")"
case $1 in
libtandem-comm.*) headers=../../comm/include least=30 ;;
*) headers=../../lib/include least=100 ;;
esac
kept=$PWD/$1.abi
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

{
    echo '#define _STDIO_H 1' # FILE is the C library's: not described with what it has inside
    echo 'typedef struct _IO_FILE FILE;'
    (cd "$headers" && printf '#include <%s>\n' tandem/*.h)
    cat "$headers"/tandem/*.h | tr '\n' ' ' | grep -oE 'TDM_API [^;#]*\);' | sed 's/;$/ { __builtin_trap(); }/'
} >"$work/surface.c"
functions=$(grep -c __builtin_trap "$work/surface.c")
[ "$functions" -gt "$least" ] || { echo "only $functions functions were found in the headers"; exit 1; }
gcc -std=c11 -g -O0 -fPIC -shared -w -I"$headers" -I../../lib/include -Wl,-soname,"$1" -Wl,--version-script=../../lib/tandem.map \
    -o "$work/$1" "$work/surface.c"
abidw --no-corpus-path --no-comp-dir-path --no-show-locs --no-elf-needed --type-id-style hash \
    --out-file "$work/now" "$work/$1"
sed "s# path='[^']*surface.c'# path='surface.c'#" "$work/now" >"$work/now.abi"
if [ "${2:-}" = keep ]; then
    cp "$work/now.abi" "$kept"
    chmod 644 "$kept"
    exit
fi
if [ ! -f "$kept" ]; then
    echo "there is no $kept: for a new version, make it with: tests/lint/abi.sh $1 keep"
    exit 1
fi
if ! abidiff --no-added-syms "$kept" "$work/now.abi"; then
    echo "The binary interface of $1 has changed. A break needs another version (lib/include/tandem/tandem.h)."
    echo "A struct that grew at its end does not (docs/stability.md): then run tests/lint/abi.sh $1 keep"
    exit 1
fi

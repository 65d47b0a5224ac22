#!/usr/bin/env bash
# Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0
# Prints which part of a folder's lines the tests of a build have executed, and which they have not.
# Usage: scripts/coverage.sh BUILD FOLDER PERCENT
# BUILD was configured with -DTANDEM_COVERAGE=FOLDER (the preset asan: cuda) and its tests were run.
# Exits 1 where less than PERCENT of all lines were.
set -euo pipefail
[[ " $* " != *" --help "* && " $* " != *" -h "* ]] || { sed -n '3,/^[^#]/s/^# \{0,1\}//p' "$0"; exit 0; }
cd "$(dirname "$0")/.."

if [ $# -ne 3 ] || ! [[ $3 =~ ^[0-9]+$ ]]; then
    echo "usage: scripts/coverage.sh BUILD FOLDER PERCENT" >&2
    exit 2
fi
build=$1 folder=$2 percent=$3
objects=$build/lib/CMakeFiles/tandem_objects.dir/__/$folder
lines=$(mktemp)
trap 'rm -f "$lines"' EXIT

for source in "$folder"/*.c; do
    # A source of tables alone has no lines to execute (_sub_ is AddressSanitizer's).
    functions=$(nm "$objects/$(basename "$source").o" | grep -v ' _sub_' | grep -c ' [tT] ' || true)
    [ "$functions" -gt 0 ] || continue
    counts=$objects/$(basename "$source").gcda
    if [ ! -f "$counts" ]; then
        echo "coverage: no test of $build executed anything of $source ($counts is missing)" >&2
        exit 1
    fi
    # gcov reports headers too: keep the lines of the source itself.
    gcov --stdout --object-file "$counts" "$source" 2>/dev/null |
        awk -v source="$source" -F: '
            { gsub(/ /, "", $1); gsub(/ /, "", $2) }
            $3 == "Source" { mine = substr($4, length($4) - length(source) + 1) == source; next }
            mine && $2 > 0 && $1 != "-" { print source, $2, ($1 ~ /^[#=]/ ? 0 : 1) }' >>"$lines"
done

awk -v percent="$percent" '
    function row(name, count, done) {
        printf "%-28s %6d %9d %7.1f %%\n", name, count, done, count ? 100 * done / count : 100
    }
    BEGIN { printf "%-28s %6s %9s %9s\n", "source", "lines", "executed", "" }
    !($1 in count) { names[++files] = $1 }
    { count[$1]++; done[$1] += $3; all++; executed += $3 }
    !$3 { missed[$1] = missed[$1] " " $2 }
    END {
        for (i = 1; i <= files; i++) row(names[i], count[names[i]], done[names[i]])
        row("all", all, executed)
        for (i = 1; i <= files; i++)
            if (missed[names[i]] != "") print names[i] ", not executed:" missed[names[i]]
        if (!all || 100 * executed < percent * all) {
            print "FAILED: less than " percent " % of the lines were executed"
            exit 1
        }
    }' "$lines"

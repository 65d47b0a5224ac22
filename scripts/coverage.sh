#!/usr/bin/env bash
# Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0
# Prints which part of the lines and branches of folders the tests of a build have executed, and which lines they have not.
# Usage: scripts/coverage.sh BUILD "FOLDER..." LINES [BRANCHES]
# BUILD was configured with -DTANDEM_COVERAGE=FOLDERS (the preset asan: cuda; coverage: lib, cpu, opencl and cuda) and
# its tests were run. A branch is a way that a condition can go. Exits 1 where less than LINES percent of all lines, or
# BRANCHES percent of all branches, were.
set -euo pipefail
[[ " $* " != *" --help "* && " $* " != *" -h "* ]] || { sed -n '3,/^[^#]/s/^# \{0,1\}//p' "$0"; exit 0; }
cd "$(dirname "$0")/.."

if [ $# -lt 3 ] || [ $# -gt 4 ] || ! [[ "$3 ${4:-0}" =~ ^[0-9]+\ [0-9]+$ ]]; then
    echo "usage: scripts/coverage.sh BUILD \"FOLDER...\" LINES [BRANCHES]" >&2
    exit 2
fi
build=$1 folders=$2 least_lines=$3 least_branches=${4:-0}
objects=$build/lib/CMakeFiles/tandem_objects.dir
lines=$(mktemp)
trap 'rm -f "$lines"' EXIT

while read -r notes; do
    source=${notes#"$objects"/} source=${source#__/} source=${source%.gcno}
    [ -f "$source" ] || source=lib/$source
    [[ " $folders " == *" ${source%%/*} "* ]] || continue
    # A source of tables alone has no lines to execute (_sub_ is AddressSanitizer's).
    functions=$(nm "${notes%.gcno}.o" | grep -v ' _sub_' | grep -c ' [tT] ' || true)
    [ "$functions" -gt 0 ] || continue
    counts=${notes%.gcno}.gcda
    if [ ! -f "$counts" ]; then
        echo "coverage: no test of $build executed anything of $source ($counts is missing)" >&2
        exit 1
    fi
    # gcov reports headers too: keep the lines of the source itself. The branches of a line come after it.
    gcov --branch-probabilities --stdout --object-file "$counts" "$source" 2>/dev/null |
        awk -v source="$source" -F: '
            mine && /^branch / { print source, "branch", (/never executed| taken 0%/ ? 0 : 1); next }
            NF < 3 { next }
            { gsub(/ /, "", $1); gsub(/ /, "", $2) }
            $3 == "Source" { mine = substr($4, length($4) - length(source) + 1) == source; next }
            mine && $2 > 0 && $1 != "-" { print source, $2, ($1 ~ /^[#=]/ ? 0 : 1) }' >>"$lines"
done < <(find "$objects" -name '*.gcno' | LC_ALL=C sort)

awk -v least_lines="$least_lines" -v least_branches="$least_branches" '
    function percent(part, all) { return all ? 100 * part / all : 100 }
    function row(name, lines, done, branches, taken) {
        printf "%-34s %6d %9d %7.1f %% %9d %9d %7.1f %%\n", name, lines, done, percent(done, lines),
            branches, taken, percent(taken, branches)
    }
    BEGIN { printf "%-34s %6s %9s %9s %9s %9s\n", "source", "lines", "executed", "", "branches", "taken" }
    !($1 in lines) { names[++files] = $1; lines[$1] = 0 }
    $2 == "branch" { branches[$1]++; taken[$1] += $3; all_branches++; all_taken += $3; next }
    { lines[$1]++; done[$1] += $3; all++; executed += $3 }
    !$3 { missed[$1] = missed[$1] " " $2 }
    END {
        for (i = 1; i <= files; i++) {
            name = names[i]
            row(name, lines[name], done[name], branches[name], taken[name])
            folder = name
            sub("/.*", "", folder)
            if (!(folder in lines)) order[++folders] = folder
            lines[folder] += lines[name]; done[folder] += done[name]
            branches[folder] += branches[name]; taken[folder] += taken[name]
        }
        for (i = 1; i <= folders; i++)
            row("all of " order[i], lines[order[i]], done[order[i]], branches[order[i]], taken[order[i]])
        row("all", all, executed, all_branches, all_taken)
        for (i = 1; i <= files; i++)
            if (missed[names[i]] != "") print names[i] ", not executed:" missed[names[i]]
        if (!all || percent(executed, all) < least_lines || percent(all_taken, all_branches) < least_branches) {
            printf "FAILED: less than %d %% of the lines or %d %% of the branches\n", least_lines, least_branches
            exit 1
        }
    }' "$lines"

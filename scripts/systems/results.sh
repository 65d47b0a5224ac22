# Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0
# Rows for the table in docs/systems.md, for scripts/systems/run.sh.
#   shellcheck shell=bash

page=$source/docs/systems.md
begin_mark='<!-- The table: scripts/test.sh --systems writes it. -->'
end_mark='<!-- The end of the table. -->'

# A row of the subject at hand; "-" and "-" for tests that could not run here. Nothing passed is a failure.
row() { # SYSTEM WHAT PASSED FAILED SKIPPED [NOTE]
    local result=passed
    [ "$3" != 0 ] && { [ "$4" = 0 ] || [ "$4" = - ]; } || result='**failed**'
    [ "$3" != - ] || result=skipped
    printf '| %s | %s | %s | %s | %s | %s | %s | %s |\n' "$subject" "$1" "$2" "$3" "$4" "$5" \
        "$result${6:+: $6}" "$commit" >>"$rows"
    echo "-- $subject, $2: $3 passed, $4 failed, $5 skipped${6:+: $6}"
    [ "$result" != '**failed**' ]
}

why() { # STATUS LOG: of a command that left no result; a compiler's first error, else the last line
    case "$1" in
    124 | 137) echo "ended at its time limit" ;;
    *) echo "status $1: $({ grep -am 1 ' error: ' "$2" || grep -av '^ *$' "$2" | tail -n 1; } |
        tr -d '|\000-\037' | cut -c 1-120)" ;;
    esac
}

# Of a run of the suite (Criterion's words, or the plain runner's), whose tests may have crashed.
suite_row() { # SYSTEM WHAT STATUS LOG
    local tested passing skipped last
    last=$(grep -ao 'Tested: .*' "$4" | tail -n 1)
    if [ -z "$last" ]; then
        row "$1" "$2" 0 1 0 "$(why "$3" "$4")"
        return
    fi
    tested=$(sed -E 's/.*Tested: ([0-9]+).*/\1/' <<<"$last")
    passing=$(sed -E 's/.*Passing: ([0-9]+).*/\1/' <<<"$last")
    skipped=$(grep -ac '^\[SKIP\]' "$4")
    local failed=$((tested - passing))
    [[ "$last" == *Skipped:* ]] && failed=$((failed - skipped))
    if [ "$failed" -eq 0 ] && [ "$3" -ne 0 ]; then
        row "$1" "$2" "$passing" 1 "$skipped" "$(why "$3" "$4")"
    else
        row "$1" "$2" "$passing" "$failed" "$skipped" \
            "$(grep -aoE '^\[(FAIL|CRASH)\] [a-z0-9_]+::[a-z0-9_]+' "$4" | cut -d' ' -f2 | sort -u |
                head -n 6 | paste -sd' ')"
    fi
}

# Of runs of CTest, added up.
ctest_row() { # SYSTEM WHAT STATUS LOG
    local failed all skipped
    failed=$(grep -aoE '[0-9]+ tests? failed out of [0-9]+' "$4" | awk '{ n += $1 } END { print n + 0 }')
    all=$(grep -aoE '[0-9]+ tests? failed out of [0-9]+' "$4" | awk '{ n += $NF } END { print n + 0 }')
    skipped=$(grep -acE '^ *[0-9]+/[0-9]+ Test .*\*\*\*Skipped' "$4")
    if [ "$all" -eq 0 ] || { [ "$failed" -eq 0 ] && [ "$3" -ne 0 ]; }; then
        row "$1" "$2" $((all - skipped)) 1 "$skipped" "$(why "$3" "$4")"
    else
        row "$1" "$2" $((all - failed - skipped)) "$failed" "$skipped" \
            "$(grep -aE '^[[:space:]]+[0-9]+ - .* \((Failed|Timeout|.*abort.*|SEGFAULT)\)' "$4" |
                awk '{ print $3 }' | sort -u | head -n 6 | paste -sd' ')"
    fi
}

# Of scripts/conditions.sh.
conditions_row() { # SYSTEM STATUS LOG
    local result counts=()
    for result in passed FAILED 'left out'; do
        counts+=("$(sed '1,/^== conditions$/d' "$3" | grep -acE "^[a-z0-7-]+ +$result[,:]")")
    done
    [ "$2" -eq 0 ] || [ "${counts[1]}" -gt 0 ] || counts[1]=1
    row "$1" scripts/conditions.sh "${counts[@]}"
}

# Of a program that says how many results it verified, as "N rows, M not verified" or not at all.
program_row() { # SYSTEM WHAT STATUS LOG
    local rows_said wrong
    rows_said=$(grep -aoE '[0-9]+ rows, [0-9]+ not verified' "$4" | tail -n 1)
    if [ "$3" -ne 0 ] && [ -z "$rows_said" ]; then
        row "$1" "$2" 0 1 0 "$(why "$3" "$4")"
    elif [ -z "$rows_said" ]; then
        row "$1" "$2" 1 0 0
    else
        wrong=${rows_said#*, }
        wrong=${wrong%% *}
        row "$1" "$2" $((${rows_said%% *} - wrong)) $((wrong > 0 ? wrong : $3)) 0
    fi
}

# Rows of this run take the place of those of the same subjects; the others stay as they are.
write_table() { # SUBJECT... : in the order of the table
    local all name
    all=$(mktemp)
    {
        echo '| name | system | what ran | passed | failed | skipped | result | commit |'
        echo '| --- | --- | --- | --- | --- | --- | --- | --- |'
        for name in "$@"; do
            grep -F "| $name | " "$rows" || grep -F "| $name | " "$page" || true
        done
    } >"$all"
    awk -v begin="$begin_mark" -v end="$end_mark" -v table="$all" '
        $0 == end { inside = 0 }
        !inside { print }
        $0 == begin { inside = 1; while ((getline line < table) > 0) print line }' "$page" >"$all.page"
    cp "$all.page" "$page"
    rm -f "$all" "$all.page"
}

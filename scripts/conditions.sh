#!/usr/bin/env bash
# Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0
# Runs the host tests and the suite on the cpu backend, as they were built, under conditions that
# machines differ in: the user, the processes there are, cores, load, locale, time zone, home,
# umask. Fails when one fails. Usage: scripts/conditions.sh [BUILD [CONDITION ...]]
# (default: build/test, all of them; "list" names them)
set -euo pipefail
[[ " $* " != *" --help "* && " $* " != *" -h "* ]] || { sed -n '3,/^[^#]/s/^# \{0,1\}//p' "$0"; exit 0; }
cd "$(dirname "$0")/.."

build=$PWD/build/test
if [ $# -gt 0 ] && [ "$1" != list ]; then
    build=$(realpath "$1")
    shift
fi
all=(plain nobody pid-namespace nobody-in-a-pid-namespace one-core busy german german-nobody-in-a-pid-namespace
     time-zone no-home unwritable-home empty-environment umask-077 umask-000)
if [ "${1:-}" = list ]; then
    printf '%s\n' "${all[@]}"
    exit
fi
wanted=("$@")
[ ${#wanted[@]} -gt 0 ] || wanted=("${all[@]}")
for condition in "${wanted[@]}"; do
    [[ " ${all[*]} " == *" $condition "* ]] || {
        echo "conditions: there is no condition '$condition'; there are: ${all[*]}" >&2
        exit 2
    }
done
[ -f "$build/CTestTestfile.cmake" ] || { echo "conditions: no build with tests in $build" >&2; exit 2; }

export TDM_TEST_SMALL=1
work=$(mktemp -d)
busy=()
nobody=65534
# The tests write into the build tree.
written=("$build/tests/run" "$build/Testing")
owner=$(stat -c %u:%g "$build")
clean_up() {
    [ ${#busy[@]} -eq 0 ] || kill "${busy[@]}" 2>/dev/null || true
    [ "$(id -u)" -ne 0 ] || chown -R "$owner" "${written[@]}"
    rm -rf "$work"
}
trap clean_up EXIT
mkdir -p "${written[@]}"

tests=(ctest --test-dir "$build" -R '^(host|suite:cpu)$' --output-on-failure --parallel 2)
as_nobody=(setpriv --reuid "$nobody" --regid "$nobody" --clear-groups env "HOME=$work/home")
alone=(unshare -p -f --mount-proc)

keep_busy() { # twice as many loops as there are cores
    local i
    for ((i = 0; i < 2 * $(nproc); i++)); do
        (while :; do :; done) &
        busy+=($!)
    done
}
let_rest() {
    kill "${busy[@]}"
    wait "${busy[@]}" 2>/dev/null || true
    busy=()
}

can() { # CONDITION: whether this machine and user can have it, or why not
    case $1 in
    *nobody*)
        [ "$(id -u)" -eq 0 ] || { echo "only root can become nobody"; return 1; }
        "${as_nobody[@]}" test -x "$build/tests" -a -r "$build/tests/suite" ||
            { echo "nobody may not enter $build"; return 1; }
        ;;&
    *pid-namespace)
        "${alone[@]}" true 2>/dev/null || { echo "this user may not make a namespace"; return 1; }
        ;;&
    german*)
        [ -d "$build/tests/locales/de_DE.UTF-8" ] || { echo "the build has no German locale"; return 1; }
        ;;
    esac
}

run() { # CONDITION
    local before=() result=0
    # shellcheck disable=SC2016
    case $1 in
    german*) before+=(env LOCPATH="$build/tests/locales" LC_ALL=de_DE.UTF-8) ;;&
    *pid-namespace) before+=("${alone[@]}") ;;&
    *nobody*)
        mkdir -p "$work/home"
        chmod 711 "$work"
        chown -R "$nobody:$nobody" "${written[@]}" "$work/home"
        before+=("${as_nobody[@]}")
        ;;
    one-core) before=(taskset -c "$(taskset -cp $$ | sed 's/.*: *//; s/[-,].*//')") ;;
    busy) keep_busy ;;
    time-zone) before=(env TZ=Asia/Kathmandu) ;;
    no-home) before=(env -u HOME -u XDG_CACHE_HOME) ;;
    unwritable-home) before=(env HOME=/proc/nothing XDG_CACHE_HOME=/proc/nothing) ;;
    empty-environment) before=(env -i "PATH=$PATH" TDM_TEST_SMALL=1) ;;
    umask-*) before=(sh -c 'umask "$0" && exec "$@"' "${1#umask-}") ;;
    esac
    "${before[@]}" "${tests[@]}" || result=$?
    case $1 in
    *nobody*) chown -R "$owner" "${written[@]}" ;;
    busy) let_rest ;;
    esac
    return $result
}

failed=0 left_out=0
summary=()
for condition in "${wanted[@]}"; do
    start=$SECONDS
    if ! why=$(can "$condition"); then
        summary+=("$(printf '%-28s left out: %s' "$condition" "$why")")
        left_out=$((left_out + 1))
        continue
    fi
    echo "== $condition"
    if run "$condition" >"$work/log" 2>&1; then
        result=passed
        tail -n 12 "$work/log" | grep -E 'tests passed|Total' || true
    else
        result=FAILED
        failed=$((failed + 1))
        cat "$work/log"
    fi
    summary+=("$(printf '%-28s %s, %d s' "$condition" "$result" $((SECONDS - start)))")
done
printf '== conditions\n'
printf '%s\n' "${summary[@]}"
[ "$failed" -eq 0 ] || exit 1
[ "$left_out" -eq 0 ] || echo "$left_out left out here: run this as root to have them"

#!/usr/bin/env bash
# Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0
# Expressions on cpu by a C compiler: it runs once for each kernel, a second process takes the kept ones, and without
# a compiler, or with a broken one, blocks run. Usage: compiled.sh PROGRAM CC   (PROGRAM: expression.c)
set -euo pipefail
program=$1 cc=$(command -v "$2")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export TANDEM_BACKEND=cpu TANDEM_CACHE_DIR=$work/cache

fail() {
    echo "compiled.sh: $*"
    cat "$work/printed"
    exit 1
}
compiler() { # NAME LINE: a script that counts its runs, and does this
    printf '#!/bin/sh\necho run >>"%s"\n%s\n' "$work/$1.runs" "$2" >"$work/$1"
    chmod +x "$work/$1"
    : >"$work/$1.runs"
}
hurried=() # or an argument
runs() { # NAME COUNT WORDS...: the program with this compiler, which is then started so often in all
    local name=$1 count=$2 words
    shift 2
    TANDEM_CPU_COMPILER=$work/$name "$program" "${hurried[@]}" >"$work/printed" 2>&1 || fail "$name: the program failed"
    [ "$(wc -l <"$work/$name.runs")" -eq "$count" ] || fail "$name: not started $count times"
    for words; do
        grep -q "$words" "$work/printed" || fail "$name: nothing of '$words'"
    done
}

compiler good "exec '$cc' \"\$@\""
runs good 2 'at first: not cached' 'warmed: cached' 'wrong: 0'
runs good 2 'at first: cached' 'warmed: cached' 'wrong: 0' # of another process: nothing is compiled
! grep -q '^log' "$work/printed" || fail "the log has a warning"

compiler fails 'exit 1'
runs fails 2 'at first: not cached' 'warmed: cached' 'wrong: 0' 'log 2: .*runs in blocks' "$work/fails, which said nothing and ended with status 1"
# shellcheck disable=SC2016 # the script's
compiler killed 'kill -9 $$'
runs killed 2 'wrong: 0' "$work/killed, which signal 9 ended"
# shellcheck disable=SC2016 # the script's
compiler garbage 'while [ $# -gt 0 ]; do [ "$1" = -o ] && echo garbage >"$2"; shift; done'
runs garbage 2 'at first: not cached' 'wrong: 0' 'log 2: .*runs in blocks'
# One that hangs is ended, with its children, once two minutes have passed on a clock that runs faster.
compiler hangs "sleep 300 & echo \$! >>'$work/sleepers'; wait"
hurried=(hurried)
runs hangs 2 'at first: not cached' 'wrong: 0' "log 2: .*runs in blocks.*$work/hangs.*120 seconds"
hurried=()
while read -r sleeper; do # a signal takes its time to arrive where all cores are busy
    for ((i = 0; i < 100; i++)); do
        grep -q sleep "/proc/$sleeper/cmdline" 2>/dev/null || continue 2
        sleep 0.1
    done
    fail "the compiler's child still runs"
done <"$work/sleepers"
[ "$(wc -l <"$work/sleepers")" -eq 2 ] || fail "the compiler that hangs did not start its child"

TANDEM_CPU_COMPILER=$work/absent "$program" >"$work/printed" || fail "no compiler: the program failed"
grep -q 'at first: cached' "$work/printed" || fail "without a compiler nothing is to be compiled"
grep -q 'names no program' "$work/printed" || fail "no warning of a compiler that is absent"

mkdir "$work/path"
compiler path/cc "exec '$cc' \"\$@\""
TANDEM_CPU_COMPILER=none PATH=$work/path:$PATH "$program" >"$work/printed" || fail "none: the program failed"
[ ! -s "$work/path/cc.runs" ] || fail "none: a compiler was started"
grep -q 'at first: cached' "$work/printed" || fail "none: something would be compiled"
echo "expressions on cpu are compiled, kept, and run in blocks where they cannot be"

#!/usr/bin/env bash
# Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0
# Stands in for the programs that scripts/gpu-check.sh runs, by the name it is called under; what goes
# wrong is named by STAND_IN_FAILS.
set -euo pipefail
fails=${STAND_IN_FAILS:-}

value_of() { # OPTION ARGUMENT...: what follows the option
    local option=$1
    shift
    while [ $# -gt 1 ] && [ "$1" != "$option" ]; do
        shift
    done
    echo "${2:-}"
}

case "${0##*/}" in
tdm)
    if [ "$1" = devices ]; then
        cat "$STAND_IN_DEVICES"
    elif [ "$1" = bench ]; then
        [ "$fails" != nothing ] || exit 0
        echo '{}' >"$(value_of --json "$@")"
        echo "2 rows, $([ "$fails" = bench ] && echo 1 || echo 0) not verified, 0 skipped, 0 not applicable, 1 s"
        [ "$fails" != bench ]
    fi
    ;;
suite | suite_plain)
    [ -n "${TDM_TEST_DEVICE:-}" ]
    for argument in "$@"; do
        [ "${argument#--xml=}" = "$argument" ] || echo '<testsuites/>' >"${argument#--xml=}"
    done
    tested=7
    [ "$fails" != nothing ] || tested=0
    echo "[====] Synthesis: Tested: $tested | Passing: $tested | Failing: 0 | Crashing: 0 "
    [ "$fails" != "${0##*/}" ]
    ;;
compute-sanitizer)
    [ "$1" != --version ] || exec echo "Version 0"
    tool=$(value_of --tool "$@")
    [ "$fails" != late ] || [ "$tool" != memcheck ] || exit 124 # as timeout(1) tells
    while [ "$1" != env ]; do
        shift
    done
    "$@"
    [ "$fails" != nothing ] || exit 0
    if [ "$tool" = racecheck ]; then
        found=$([ "$fails" = hazard ] && echo 3 || echo 0)
        echo "========= RACECHECK SUMMARY: $found hazards displayed ($found errors, 0 warnings)"
        [ "$found" -eq 0 ]
    else
        echo "========= ERROR SUMMARY: 0 errors"
    fi
    ;;
python3) ;; # has PyTorch for CUDA
*)
    echo "stand_in.sh: called as $0" >&2
    exit 2
    ;;
esac

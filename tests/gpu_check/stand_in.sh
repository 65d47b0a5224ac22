#!/usr/bin/env bash
# Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0
# Stands in for the programs that scripts/gpu-check.sh runs, by the name it is called under;
# STAND_IN_FAILS names the failure.
set -euo pipefail
fails=${STAND_IN_FAILS:-}

value_of() { # OPTION ARGUMENT...: the value after the option
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
        if [ "$fails" = first-listing ] && [ ! -e "$STAND_IN_RAN.listed" ]; then
            touch "$STAND_IN_RAN.listed"
            exit 1
        fi
        cat "$STAND_IN_DEVICES"
        [ "$fails" != devices ]
    elif [ "$1" = bench ]; then
        [ "$fails" != nothing ] || exit 0
        if [ "$fails" = ended ]; then
            trap 'sleep 1; echo "the last line"; exit 1' TERM
            echo "the first line"
            for ((i = 0; i < 300; i++)); do sleep 0.1; done
        fi
        if [ -n "${TANDEM_LOG:-}" ]; then
            loaded=$([ "$fails" = kernels ] && echo compiled || echo "loaded from the cache")
            echo "tandem: info: tdm_layer_norm of f32 for $(value_of --device "$@"): $loaded in 0.3 ms"
        fi
        echo "{\"math\": \"${TANDEM_MATH:-}\", \"shape\": \"$(value_of --shape "$@" --shape '')\"}" |
            tee "$(value_of --json-lines "$@" --json-lines /dev/null)" "$(value_of --json "$@" --json /dev/null)"
        echo "2 rows, $([ "$fails" = bench ] && echo 1 || echo 0) not verified, 0 skipped, 0 not applicable, 1 s"
        [ "$fails" != bench ]
    elif [ "$1" = tune ] && [ "$2" = --rows ]; then
        [ "$fails" != nothing ] || exit 0
        echo "  rms_norm of bf16 on $(value_of --device "$@"), within $(value_of --budget "$@") s: 151.2 us"
        [ "$TANDEM_CACHE_DIR" = "${TANDEM_CACHE_DIR%/cache}" ] || exit 1
        echo "2 operations on rows measured"
    else
        echo "all is well"
    fi
    ;;
suite_plain)
    if [ "$1" = --list ]; then
        printf "%s\n" reduce/shapes queues/events cast/fill reduce/long
        exit
    fi
    filter=$(value_of --filter "$@")
    tests=$(sed 's/^@(\(.*\))$/\1/; s/|/ /g' <<<"${filter#*/}")
    # an OpenCL driver that takes CUDA's tests down
    [[ "$TDM_TEST_DEVICE" != cuda:* ]] || ! compgen -G "$OCL_ICD_VENDORS/*.icd" || exit 1
    for test in $tests; do
        test=${filter%%/*}/$test
        echo "$TDM_TEST_DEVICE $test" >>"$STAND_IN_RAN"
        [ "$fails" != slow ] || [ "$test" != reduce/long ] || sleep 30
        [ "$fails" != "$test" ] || exit 1
        [ "$test" != queues/events ] || echo "[SKIP] queues::events"
    done
    echo "[====] Synthesis: Tested: $([ "$fails" = nothing ] && echo 0 || wc -w <<<"$tests") | Passing: 1 | Failing: 0 "
    ;;
compute-sanitizer)
    [ "$1" != --version ] || exec echo "Version 0"
    tool=$(value_of --tool "$@")
    while [ "${1##*/}" != suite_plain ]; do
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
nvidia-smi)
    echo "$*, by $(cat /proc/$PPID/comm)"
    ;;
cmake) # configures elsewhere, and builds nothing
    [ "$1" != --build ] || exit 1
    exec "$STAND_IN_CMAKE" "$@" -B "$STAND_IN_CONFIGURED"
    ;;
*)
    echo "stand_in.sh: called as $0" >&2
    exit 2
    ;;
esac

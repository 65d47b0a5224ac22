#!/usr/bin/env bash
# Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0
# Sets up, builds and runs every test: the suite on every device, then the main part of it under
# ASan + UBSan and under TSan. Shows what ptxas says of the kernels, and which lines of cuda/ were
# executed. Usage: scripts/test.sh [PRESET ...]   (default: test asan tsan;
# "full" is test with every device's suite whole and each kernel for each architecture)
#                  scripts/test.sh --systems [NAME ...]   (other systems: see scripts/systems/run.sh)
set -euo pipefail
if [ "${1:-}" != --systems ]; then
    [[ " $* " != *" --help "* && " $* " != *" -h "* ]] || { sed -n '3,/^[^#]/s/^# \{0,1\}//p' "$0"; exit 0; }
fi
cd "$(dirname "$0")/.."

if [ "${1:-}" = --systems ]; then
    shift
    exec scripts/systems/run.sh "$@"
fi

presets=("$@")
[ ${#presets[@]} -gt 0 ] || presets=(test asan tsan)
need="test"
[[ " ${presets[*]} " != *" full "* ]] || need=full
scripts/setup.sh $need
for preset in "${presets[@]}"; do
    echo "== $preset"
    cmake --preset "$preset" >/dev/null
    cmake --build --preset "$preset"
    find "build/$preset" -name '*.gcda' -delete # counts of executed lines would add up
    ctest --preset "$preset"
    if [ ! -d "build/$preset/lib/CMakeFiles/tandem_objects.dir/__/cuda" ]; then
        echo "== no cuda backend, as NVIDIA has no drivers for this processor"
    elif [[ "$preset" = @(test|full) ]]; then
        echo "== cubins"
        sed -n '/^NVRTC .* variants/,/ failed$/p; /^skipped: there is no NVRTC/p' \
            "build/$preset/Testing/Temporary/LastTest.log"
    elif [ "$preset" = asan ]; then
        echo "== coverage"
        scripts/coverage.sh build/asan cuda 95
    fi
    if [[ "$preset" = @(test|full) ]]; then
        scripts/conditions.sh "build/$preset" german-nobody-in-a-pid-namespace # the others: --systems
    fi
done

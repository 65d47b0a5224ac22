#!/usr/bin/env bash
# Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0
# Sets up, builds and runs the tests. Usage: scripts/test.sh [PRESET ...]   (default: test, 20 to 40 minutes on 2 cores)
# Shows what ptxas says of the kernels and, of the preset asan, which lines of cuda/ were executed.
#   scripts/test.sh test asan tsan         all three: also a share under ASan + UBSan and under TSan; 30 to 60 minutes
#   scripts/test.sh full                   before a release: every device's suite whole, each kernel for each
#                                          architecture, all that is built under the sanitizers; some 3 hours
#   scripts/test.sh coverage               most of test; then which part of lib, cpu, opencl and cuda was executed
#   scripts/test.sh --systems [NAME ...]   other systems: see scripts/systems/run.sh
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
[ ${#presets[@]} -gt 0 ] || presets=(test)
known="test asan tsan full full-asan full-tsan coverage"
for preset in "${presets[@]}"; do
    [[ " $known " = *" $preset "* ]] || { echo "test.sh: no preset is named '$preset'; there are $known" >&2; exit 2; }
done
need="test"
[[ " ${presets[*]} " != *" full "* ]] || need=full
if [ "${presets[*]}" = full ]; then
    presets=(full full-asan full-tsan)
    echo "== every test there is: this takes some 3 hours on two cores"
fi
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
    elif [[ "$preset" = @(asan|full-asan) ]]; then
        echo "== coverage"
        scripts/coverage.sh "build/$preset" cuda 95
    fi
    if [ "$preset" = coverage ]; then
        echo "== coverage"
        scripts/coverage.sh build/coverage "lib cpu opencl cuda" 95 85
    fi
    if [ "$preset" = full ]; then
        scripts/conditions.sh "build/$preset" german-nobody-in-a-pid-namespace # the others: --systems
    fi
done

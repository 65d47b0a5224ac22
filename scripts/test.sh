#!/usr/bin/env bash
# Sets up, builds and runs every test: the suite on every device, then the main part of it under
# ASan + UBSan and under TSan. Usage: scripts/test.sh [PRESET ...]   (default: test asan tsan)
set -euo pipefail
cd "$(dirname "$0")/.."

scripts/setup.sh test
presets=("$@")
[ ${#presets[@]} -gt 0 ] || presets=(test asan tsan)
for preset in "${presets[@]}"; do
    echo "== $preset"
    cmake --preset "$preset" >/dev/null
    cmake --build --preset "$preset"
    ctest --preset "$preset"
done

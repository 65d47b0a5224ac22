#!/usr/bin/env bash
# Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0
# Runs a test unless the files that it reads are unchanged since it last passed. The stamp is a hash of these in the
# source tree, which is written when the test passes and committed with the change.
# Usage: stamped.sh STAMP FILE|FOLDER... -- COMMAND...   (exit status 77, skipped: nothing has changed)
set -euo pipefail
stamp=$1
shift
read_files=()
while [ "$1" != -- ]; do
    read_files+=("$1")
    shift
done
shift
root=$(cd "$(dirname "$0")/../.." && pwd)
cd "$root"
now=$(find "${read_files[@]}" -type f ! -name '*.stamp' -print0 | LC_ALL=C sort -z | xargs -0 sha256sum | sha256sum | cut -d' ' -f1)
if [ -z "${TDM_TEST_FULL:-}" ] && [ "$(cat "$stamp" 2>/dev/null)" = "$now" ]; then
    echo "skipped: ${read_files[*]} are as they were when this passed ($stamp)"
    exit 77
fi
"$@"
[ "$(cat "$stamp" 2>/dev/null)" = "$now" ] || { echo "$now" >"$stamp"; } 2>/dev/null ||
    echo "the stamp $stamp could not be written"

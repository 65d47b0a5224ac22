#!/usr/bin/env bash
# Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0
# Words that no engineer writes, in what users read: the documents and the public headers.
# Usage: english.sh
set -euo pipefail
cd "$(dirname "$0")/../.."
words='nobody|anew|for good|asked for|of its own|of their own|of which each|beside|behind|tells'
files=(README.md CONTRIBUTING.md docs/*.md lib/include/tandem/* comm/include/tandem/* mpi/include/tandem/*)
# a line's end may be inside a phrase
found=$(for file in "${files[@]}"; do
    tr '\n' ' ' <"$file" | sed 's/ \* / /g; s/ \+/ /g' | grep -oiwE ".{0,40}\b($words)\b.{0,40}" | sed "s|^|$file: |" || true
done)
[ -z "$found" ] && exit
echo "$found"
echo "Say next to, compared with, after, past, again, separate, requested, reports; or name who does it."
exit 1

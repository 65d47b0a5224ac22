#!/usr/bin/env bash
# Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0
# Words that no engineer writes, and sentences whose subject is a clause with what or who, in the documents, the comments
# and the messages of these folders. Usage: english.sh
set -euo pipefail
cd "$(dirname "$0")/../.."
words='nobody|somebody|anew|for good|asked for|of its own|of their own|of which each|beside|behind|tells|is told|are told(?! apart)|whoever|himself|one'\''s own|for want of'
clause='(\n[ \t]*[*#] |/[*]+<? |// |[.:;]["\s*]+)W(hat|ho) |/[*]+<? w(hat|ho) '
# a line's end, and the mark of a comment after it, may be inside a phrase; the first three files name these words, or
# the user nobody
found=$(find README.md CHANGELOG.md CONTRIBUTING.md SECURITY.md docs packaging lib cpu opencl cuda kernels comm mpi tools examples \
    operations reference bench cmake scripts tests -type f \
    ! -path tests/lint/english.sh ! -path scripts/conditions.sh ! -path scripts/test.sh \
    -regex '.*\.\(md\|c\|h\|cl\|cpp\|hpp\|txt\|map\|py\|sh\|cmake\|in\|json\)' -print0 | LC_ALL=C.UTF-8 xargs -0 \
    grep -HzoiP ".{0,40}\b(${words// /[\\s*#/]+})\b.{0,40}|(?-i:$clause).{0,40}" | tr '\0' '\n' | sort || true)
[ -z "$found" ] && exit
echo "$found"
echo "Say next to, compared with, after, past, again, separate, requested, reports; or name who does it, or the thing."
exit 1

#!/usr/bin/env bash
# Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0
# Fails where a library without its debugging symbols is larger than so many bytes: three copies of every kernel of
# the cpu backend grow unnoticed.
# Usage: tests/lint/size.sh LIBRARY BYTES
set -euo pipefail
stripped=$(mktemp)
trap 'rm -f "$stripped"' EXIT
strip -o "$stripped" "$1"
size=$(stat -c %s "$stripped")
echo "$(basename "$1"): $size bytes, of at most $2"
[ "$size" -le "$2" ]

#!/usr/bin/env bash
# Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0
# The program in C that a page has is that of a file, to the byte. Usage: page.sh PAGE FILE
set -euo pipefail
awk -v fence='```' '$0 == fence "c" { inside = 1; next } $0 == fence { inside = 0 } inside' "$1" | cmp - "$2"

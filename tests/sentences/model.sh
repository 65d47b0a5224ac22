#!/usr/bin/env bash
# Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0
# The real model, where scripts/sentences.sh or SENTENCES_MODEL has put it: tokens and embeddings as expected.
# Usage: model.sh PROGRAM SOURCES DTYPE...
set -euo pipefail
program=$1 sources=$2
shift 2
model=${SENTENCES_MODEL:-$sources/build/sentences/model}
if [ ! -e "$model/model.safetensors" ]; then
    echo "skipped: all-MiniLM-L6-v2 is not in $model: run scripts/sentences.sh, or set SENTENCES_MODEL"
    exit 77
fi
for dtype; do
    "$program" check "$sources/examples/sentences/expected.txt" --model "$model" --dtype "$dtype"
done

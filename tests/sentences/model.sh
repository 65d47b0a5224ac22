#!/usr/bin/env bash
# Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0
# The real model, where scripts/sentences.sh or SENTENCES_MODEL has put it: tokens and embeddings as expected.
# Usage: model.sh PROGRAM SOURCES
set -euo pipefail
model=${SENTENCES_MODEL:-$2/build/sentences/model}
if [ ! -e "$model/model.safetensors" ]; then
    echo "skipped: all-MiniLM-L6-v2 is not in $model: run scripts/sentences.sh, or set SENTENCES_MODEL"
    exit 77
fi
for dtype in f32 f16 bf16; do
    "$1" check "$2/examples/sentences/expected.txt" --model "$model" --dtype "$dtype"
done

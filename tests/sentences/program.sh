#!/usr/bin/env bash
# Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0
# The program with the small random model that `encoder` makes: what it prints, and what it says of what is wrong.
# Usage: program.sh PROGRAM ENCODER TOKENS [bench]
set -euo pipefail
program=$1 encoder=$2 tokens=$3 bench=${4:-}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
unset SENTENCES_MODEL
mkdir model
"$encoder" model
"$tokens" model/vocab.txt

fail() { echo "sentences: $*"; exit 1; }
# expect STATUS PATTERN ARGUMENT...: a failure has one line on stderr, which matches
expect() {
    local status=0 wanted=$1 pattern=$2
    shift 2
    "$program" "$@" >out 2>err || status=$?
    [ "$status" = "$wanted" ] || { cat err; fail "$*: exit status $status, not $wanted"; }
    if [ "$wanted" = 0 ]; then
        grep -qE -- "$pattern" out || { cat out; fail "$*: printed nothing like $pattern"; }
    else
        [ "$(wc -l <err)" = 1 ] || { cat err; fail "$*: more than one line"; }
        grep -qE -- "^sentences: $pattern" err || { cat err; fail "$*: said nothing like $pattern"; }
        [ ! -s out ] || fail "$*: printed something"
    fi
}

printf 'the cat sat on the roof.\ndogs sleep!\n\n猫 café\n' >lines
expect 0 'usage: sentences COMMAND' --help
expect 0 '^2 8 6 11 9 8 10 15 3$' tokens lines --model model
expect 0 '^( ?-?[0-9.e-]+){48}$' embed lines --model=model
[ "$(wc -l <out)" = 4 ] || fail "embed: $(wc -l <out) lines"
cp out embeddings
"$program" embed - --model model <lines >out
cmp out embeddings || fail "standard input is read otherwise"
SENTENCES_MODEL=model "$program" embed lines --out x.safetensors
head -c 300 x.safetensors | grep -qa '"embeddings":{"dtype":"F32","shape":\[4,48\]' || fail "x.safetensors"
expect 0 '^ 1\.0000  line 2: dogs sleep!$' search lines 'Dogs  SLEEP!' --model model --dtype f32
[ "$(wc -l <out)" = 4 ] || fail "search: $(wc -l <out) lines"
[ "$(head -n 1 out | cut -c1-16)" = ' 1.0000  line 2:' ] || fail "search: the nearest is not the first"
if [ "$bench" = bench ]; then
    expect 0 '^32x32 ragged +648 +[0-9.]+ +[0-9.]+ +[0-9]+$' bench --model model
    ! grep -q x128 out || fail "bench: a row longer than the model's texts"
fi

expect 2 "no command; see sentences --help"
expect 2 "unknown command 'fly'" fly
expect 2 "unknown option, or one without its value: '--fast'" embed lines --fast
expect 2 "unknown option, or one without its value: '--model'" embed lines --model
expect 2 "too few arguments for 'search'" search lines
expect 2 "unexpected argument 'more'" embed lines more
expect 2 "no dtype of f32, bf16 and f16 is 'f64'" embed lines --dtype f64
expect 2 "--out goes with 'embed'" search lines query --out x
expect 1 "no model: give --model DIR or set SENTENCES_MODEL" embed lines
expect 1 "nowhere/config.json: No such file" embed lines --model nowhere
expect 1 "absent: No such file" embed absent --model model
expect 1 ".*device \"gpu:77\"" embed lines --model model --device gpu:77
: >empty
expect 1 "empty: there are no sentences" embed empty --model model
printf 'good\nb\xffd\n' >latin
expect 1 "latin: line 2 is not UTF-8, from its byte 2 on" embed latin --model model
expect 1 "the query: line 1 is not UTF-8, from its byte 1 on" search lines $'\xff' --model model

# broken FILE PATTERN COMMAND: the model with one file that COMMAND writes from the good one
broken() {
    rm -rf broken && cp -r model broken
    bash -c "$3" <"model/$1" >"broken/$1"
    expect 1 "$2" embed lines --model broken
}
broken config.json 'broken/config.json: there is no "hidden_size"' 'sed s/hidden_size/width/'
broken config.json 'broken/config.json: "num_hidden_layers" is no whole number from 1 to' 'sed s/layers\":.2/layers\":-2/'
broken config.json 'broken/config.json: "hidden_act" is not "gelu"' 'sed s/gelu/relu/'
broken config.json 'broken/config.json: 5 heads do not divide 48' 'sed s/heads\":.3/heads\":5/'
broken config.json "broken/model.safetensors: .*encoder\.layer\.2" 'sed s/layers\":.2/layers\":3/'
broken config.json "broken/model.safetensors: 'encoder.layer.0.intermediate.dense.weight' is not of the shape" \
    'sed s/size\":.96/size\":95/'
broken sentence_bert_config.json '.*"max_seq_length" is not from 2 to 64' 'sed s/40/65/'
broken vocab.txt 'broken/vocab.txt: a vocabulary has the tokens' 'grep -v SEP'
broken vocab.txt 'broken/vocab.txt: has 23 tokens, config.json 22' 'cat; echo more'
broken model.safetensors '.*broken/model.safetensors' 'head -c 5000'
broken model.safetensors '.*broken/model.safetensors' 'cat /dev/null'
echo "sentences: all as expected"

#!/usr/bin/env bash
# Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0
# tdm bench --profile machines: rows of two ranks that are verified, its JSON, and what it refuses.
# Usage: bench.sh MPIRUN -n 2 TDM
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
tdm=$4
"$@" bench --profile machines --op all_reduce,all_gather,broadcast,reduce_scatter,all_to_all,send_receive,reduce,barrier \
    --shape 1,2 --json "$work/rows.json" >"$work/table"
cat "$work/table"
grep -q '8 rows, 0 not verified' "$work/table"
[ "$(grep -c '"verified": true' "$work/rows.json")" = 8 ]
"$@" bench --profile=machines --op grid_matmul --shape 1024x1024x1024 --dtype f32 --format csv >"$work/rows.csv"
grep -q ',one process,.*,true,' "$work/rows.csv"
"$@" bench --profile machines --op training,grid_matmul+weak --shape 512x512x2048,2048x2048x2048 --dtype f32 --format csv \
    >"$work/rows.csv"
grep -q '^cpu:0,,cpu,training,.*,one process,.*,true,' "$work/rows.csv"
grep -q '^cpu:0,,cpu,grid_matmul+weak,.*,"one process, one core",.*,true,' "$work/rows.csv"
"$@" bench --profile machines --op layers --shape 64x768x3072,512x768x3072 --format csv >"$work/rows.csv"
[ "$(grep -c ',one process,.*,true,' "$work/rows.csv")" = 2 ]
[ "$(grep -c ',"one process, one core",.*,true,' "$work/rows.csv")" = 2 ]
! "$tdm" bench --profile machines --op nothing >"$work/none" 2>&1
grep -q 'no case of the profile' "$work/none"
! "$tdm" bench --profile machines --opp x >"$work/none" 2>&1
grep -q "'--opp' is unknown" "$work/none"
! "$tdm" bench --profile machines --format nothing >"$work/none" 2>&1
grep -q "'nothing' is none of" "$work/none"
! "$tdm" bench --profile machines --op barrier >"$work/one" 2>&1
grep -q 'wants several ranks' "$work/one"

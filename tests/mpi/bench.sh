#!/usr/bin/env bash
# Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0
# tdm bench --profile machines: rows of two ranks that are verified, its JSON and page, and what it refuses.
# Usage: bench.sh MPIRUN -n 2 TDM
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
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
# The ratios, the layers over both numbers of ranks, and a collective's rate against three sizes.
"$@" bench --profile machines --ranks 1,2 --op layers+tensor,all_reduce --shape 64x768x3072,2,16384,262144 \
    --report "$work/page.html" --json "$work/rows.json" >"$work/table"
cat "$work/table"
grep -q '5 rows, 0 not verified' "$work/table"
python3 "$here/../python/check_schema.py" "$here/../../bench/report/schema.json" "$work/rows.json"
python3 "$here/../python/check_page.py" "$work/page.html" 3 '1 x cpu:0' '2 x cpu:0' 'layers over ranks' \
    'layers+tensor f32 64x768x3072' 'all_reduce f32: rate against size' 'bytes of the tensor' 'Dashed: MPI_Allreduce.'
[ "$(grep -c '"ranks": 2, "seconds"' "$work/rows.json")" = 4 ]
# ScaLAPACK's grid is made of a case's ranks alone, as the others are in another call of MPI.
if [ ! -e "$here/../../build/lacking/libscalapack-openmpi2.2" ]; then
    "$@" bench --profile machines --ranks 1,2 --op grid_matmul+scalapack --shape 1024x1024x1024 --format csv \
        >"$work/rows.csv"
    [ "$(grep -c ',psgemm (block [0-9]*),.*,true,' "$work/rows.csv")" = 2 ]
else
    echo "without ScaLAPACK, as $(cat "$here/../../build/lacking/libscalapack-openmpi2.2")"
fi
! "$@" bench --profile machines --ranks 1,3 --op all_reduce >"$work/none" 2>&1
grep -q "'1,3': these are 1 to 2" "$work/none"
! "$tdm" bench --profile machines --op nothing >"$work/none" 2>&1
grep -q 'no case of the profile' "$work/none"
! "$tdm" bench --profile machines --opp x >"$work/none" 2>&1
grep -q "'--opp' is unknown" "$work/none"
! "$tdm" bench --profile machines --format nothing >"$work/none" 2>&1
grep -q "'nothing' is none of" "$work/none"
! "$tdm" bench --profile machines --op barrier >"$work/one" 2>&1
grep -q 'wants several ranks' "$work/one"

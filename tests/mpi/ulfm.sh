#!/usr/bin/env bash
# Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0
# Over an MPI that tells of failed processes (ULFM), Open MPI 5 of PyPI: the tests of communicators with 1 to 4 ranks, and
# killed.c's, whose ranks have a time limit of a minute and are told at once.
# Usage: ulfm.sh MPI SOURCE LIBRARIES REFERENCE WORK FILE...    (as abi.sh)
set -euo pipefail
folder=$1
source=$2
libraries=$3
reference=$4
work=$5
shift 5
cd "$source/tests/mpi"
build() { # NAME FILE...
    local name=$1
    shift
    "$folder/bin/mpicc" -O2 -std=c11 -D_GNU_SOURCE "-I$source" "-I$source/lib/include" "-I$source/mpi/include" \
        "$@" -o "$work/$name" "-L$libraries" "-Wl,-rpath,$libraries" -ltandem "$reference" -lm
}
build comm_ulfm "$@"
build killed_ulfm killed.c "$source/mpi/transport.c"
run=("$folder/bin/mpirun" --oversubscribe --bind-to none --with-ft ulfm -n)
for ranks in 1 2 3 4; do "${run[@]}" "$ranks" "$work/comm_ulfm"; done
TDM_TEST_ULFM=1 ./killed.sh 30 "${run[@]}" "$work/killed_ulfm"

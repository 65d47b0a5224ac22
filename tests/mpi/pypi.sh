#!/usr/bin/env bash
# Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0
# The tests of communicators over an MPI of PyPI, with 1 to 4 ranks:
#
#   abi    MPICH 5 by the standard ABI of MPI 5: compiled with its mpicc_abi, which links libmpi_abi alone.
# ulfm Open MPI 5, which reports failed processes: killed.c's, too, whose ranks have a time limit of a minute and are
#          informed at once.
#
# Usage: pypi.sh abi|ulfm MPI SOURCE LIBRARIES REFERENCE WORK FILE...    (where scripts/setup.sh full put it; the
# library's folder, tandem_reference's file, a folder for the programs, and the tests' files as seen from here)
set -euo pipefail
how=$1
folder=$2
source=$3
libraries=$4
reference=$5
work=$6
shift 6
cd "$source/tests/mpi"
build() { # COMPILER NAME FILE...
    local compiler=$1 name=$2
    shift 2
    "$folder/bin/$compiler" -O2 -std=c11 -D_GNU_SOURCE "-I$source" "-I$source/lib/include" "-I$source/comm/include" \
        "-I$source/mpi/include" "$@" -o "$work/$name" "-L$libraries" "-Wl,-rpath,$libraries" \
        -ltandem-comm -ltandem "$reference" -lm
}
if [ "$how" = abi ]; then
    run=("$folder/bin/mpiexec" -disable-auto-cleanup -n)
    build mpicc_abi comm_abi "$@"
    needed=$(readelf -d "$work/comm_abi" | grep 'NEEDED.*libmpi')
    echo "$needed"
    [ "$(grep -c . <<<"$needed")" = 1 ] && grep -q 'libmpi_abi\.so' <<<"$needed"
else
    run=("$folder/bin/mpirun" --oversubscribe --bind-to none --with-ft ulfm -n)
    build mpicc comm_ulfm "$@"
    build mpicc killed_ulfm killed.c "$source/mpi/transport.c"
fi
for ranks in 1 2 3 4; do # what an mpirun that outlives its ranks ends with is not enough
    status=0
    said=$("${run[@]}" "$ranks" "$work/comm_$how") || status=$?
    echo "$said"
    [ $status = 0 ]
    grep -q ' checks, 0 failed$' <<<"$said"
done
[ "$how" = abi ] || TDM_TEST_ULFM=1 ./killed.sh 30 "${run[@]}" "$work/killed_ulfm"

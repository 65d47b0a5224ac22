#!/usr/bin/env bash
# Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0
# The tests of communicators over an MPI with the standard ABI of MPI 5, MPICH 5 of PyPI: compiled with its mpicc_abi,
# which links libmpi_abi alone, and run with 1 to 4 ranks.
# Usage: abi.sh MPI SOURCE LIBRARIES REFERENCE WORK FILE...    (where scripts/setup.sh full put it; the library's folder,
# tandem_reference's file, a folder for the program, and the tests' files as seen from here)
set -euo pipefail
folder=$1
source=$2
libraries=$3
reference=$4
work=$5
shift 5
cd "$source/tests/mpi"
"$folder/bin/mpicc_abi" -O2 -std=c11 -D_GNU_SOURCE "-I$source" "-I$source/lib/include" "-I$source/mpi/include" \
    "$@" -o "$work/comm_abi" \
    "-L$libraries" "-Wl,-rpath,$libraries" -ltandem "$reference" -lm
needed=$(readelf -d "$work/comm_abi" | grep 'NEEDED.*libmpi')
echo "$needed"
[ "$(grep -c . <<<"$needed")" = 1 ] && grep -q 'libmpi_abi\.so' <<<"$needed"
for ranks in 1 2 3 4; do
    "$folder/bin/mpiexec" -disable-auto-cleanup -n "$ranks" "$work/comm_abi"
done

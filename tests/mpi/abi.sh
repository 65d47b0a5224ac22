#!/usr/bin/env bash
# Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0
# The tests of communicators over an MPI with the standard ABI of MPI 5, MPICH 5 of PyPI, which is installed into FOLDER
# where it is not there: compiled with its mpicc_abi, which links libmpi_abi alone, and run with 1 to 4 ranks.
# Usage: abi.sh FOLDER SOURCE LIBRARIES REFERENCE FILE...    (the library's folder, tandem_reference's file, those of the
# tests as seen from here)
set -euo pipefail
folder=$1
source=$2
libraries=$3
reference=$4
shift 4
version=5.0.2

if [ "$("$folder/bin/python3" -m pip list 2>/dev/null | grep -c "^mpich *$version")" != 1 ]; then
    rm -rf "$folder"
    python3 -m venv "$folder"
    "$folder/bin/python3" -m pip install --quiet --disable-pip-version-check "mpich==$version"
fi
cd "$source/tests/mpi"
"$folder/bin/mpicc_abi" -O2 -std=c11 -D_GNU_SOURCE "-I$source" "-I$source/lib/include" "-I$source/mpi/include" \
    "$@" -o "$folder/comm_abi" \
    "-L$libraries" "-Wl,-rpath,$libraries" -ltandem "$reference" -lm
needed=$(readelf -d "$folder/comm_abi" | grep 'NEEDED.*libmpi')
echo "$needed"
[ "$(grep -c . <<<"$needed")" = 1 ] && grep -q 'libmpi_abi\.so' <<<"$needed"
for ranks in 1 2 3 4; do
    "$folder/bin/mpiexec" -disable-auto-cleanup -n "$ranks" "$folder/comm_abi"
done

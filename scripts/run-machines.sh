#!/usr/bin/env bash
# Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0
# Sets up, builds Release and runs the work of several processes, on this machine with Open MPI, or with MPICH where
# TANDEM_MACHINES_MPI is mpich: 360 handwritten digits over 1, 2 and 4 ranks, a product that is too large for one of 4
# ranks, and the benchmark's profile of several ranks with 2. Exits 0 only if everything it printed was verified.
#
# Usage: scripts/run-machines.sh [OPTION...]    (the options of `tdm bench --profile machines`)
set -euo pipefail
[[ " $* " != *" --help "* && " $* " != *" -h "* ]] || { sed -n '3,/^[^#]/s/^# \{0,1\}//p' "$0"; exit 0; }
here=$PWD # to which paths in the options are relative
cd "$(dirname "$0")/.."

mpi=${TANDEM_MACHINES_MPI:-openmpi}
case $mpi in
openmpi) options=(--oversubscribe --bind-to none) ;;
mpich) options=(-bind-to none) ;;
*)
    echo "run-machines: TANDEM_MACHINES_MPI is '$mpi', and not openmpi or mpich" >&2
    exit 2
    ;;
esac
scripts/setup.sh "$mpi"

build=$PWD/build/machines-$mpi
cmake -S . -B "$build" -G Ninja -DCMAKE_BUILD_TYPE=Release -DTANDEM_MPI=ON -DMPI_C_COMPILER="mpicc.$mpi" \
    -DMPIEXEC_EXECUTABLE="$(command -v "mpirun.$mpi")" >/dev/null
cmake --build "$build"

# Built as a user would, against the library in the build tree.
flags=(-O2 -std=c11 -Ilib/include -Icomm/include -Impi/include "-L$build/lib" "-Wl,-rpath,$build/lib")
link=(-ltandem-mpi -ltandem-comm -ltandem -lm)
"mpicc.$mpi" "${flags[@]}" -DDIGITS_DATA_DIR='"examples/digits"' examples/machines.c "${link[@]}" -o "$build"/machines
"mpicc.$mpi" "${flags[@]}" examples/large_product.c "${link[@]}" -o "$build"/large_product

export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
export TANDEM_BACKEND=${TANDEM_BACKEND:-cpu}
ranks() { # N COMMAND...: one core's threads for each
    TANDEM_CPU_THREADS=1 "mpirun.$mpi" "${options[@]}" -n "$@"
}
for n in 1 2 4; do
    echo
    ranks $n "$build"/machines
done
echo
echo "One rank, which has not the memory:"
! ranks 1 "$build"/large_product || exit 1
echo
ranks 4 "$build"/large_product
echo
cd "$here"
"mpirun.$mpi" "${options[@]}" -n 2 "$build"/tools/tdm bench --profile machines "$@"

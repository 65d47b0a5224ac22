#!/usr/bin/env bash
# Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0
# Runs simulate.c on 2 to 1024 hosts that SimGrid simulates (Debian: libsimgrid-dev): the library of a build, and
# mpi/transport.c compiled for SMPI. Prints lines of CSV, microseconds of each collective or seconds of a step:
#
#     NAME,RANKS,BYTES,TANDEM,MPI
#     step,RANKS,TENSOR,COMPUTING,ACTIVATIONS,GRADIENTS
#
# Usage: bench/machines/simulation/run.sh BUILD RANKS COLLECTIVE BYTES...    COLLECTIVE: all, all-reduce, barrier, ...
#        bench/machines/simulation/run.sh BUILD RANKS step TENSOR...
# BUILD is a build with the static libraries. The time goes with the square of the messages that are under way: all
# collectives of 1 MiB take seconds for 64 ranks, and many minutes for 256. The other MPI is SMPI's, with the algorithms
# that ALGORITHMS=ompi or mpich, the default, chooses.
set -euo pipefail
[ $# -ge 4 ] || { sed -n '3,/^[^#]/s/^# \{0,1\}//p' "$0" >&2; exit 2; }
here=$(cd "$(dirname "$0")" && pwd)
root=$here/../../..
libraries=("$1"/comm/libtandem-comm.a "$1"/lib/libtandem.a)
ranks=$2
shift 2
command -v smpirun >/dev/null || { echo "run.sh: SimGrid's smpirun was not found (Debian: libsimgrid-dev)" >&2; exit 1; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

flags=(-O2 -std=c11 -D_GNU_SOURCE "-I$root/lib/include" "-I$root/comm/include" "-I$root/mpi/include")
smpicc "${flags[@]}" -include "$here/blocking.h" -c "$root/mpi/transport.c" -o "$work/transport.o"
smpicc "${flags[@]}" -c "$here/simulate.c" -o "$work/simulate.o"
smpicc -Wl,--wrap=tdmi_comm_combine -o "$work/simulate" "$work/simulate.o" "$work/transport.o" "${libraries[@]}" \
    -ljansson -lpthread -ldl -lm
for ((i = 0; i < ranks; i++)); do echo "host-$i"; done >"$work/hosts"

# A message costs 0.3 us of its sender's time and 0.3 us of its receiver's. Ranks share the library and its state, as
# threads of one process would.
export TANDEM_CPU_THREADS=1 TANDEM_BACKEND=cpu
smpirun -np "$ranks" -hostfile "$work/hosts" -platform "$here/cluster.xml" \
    --cfg=smpi/privatization:no --cfg=smpi/simulate-computation:no --cfg=smpi/shared-malloc:global \
    --cfg=network/model:CM02 --cfg=network/crosstraffic:0 --cfg=smpi/coll-selector:"${ALGORITHMS:-mpich}" \
    --cfg=smpi/os:0:3e-7:0 --cfg=smpi/ois:0:3e-7:0 --cfg=smpi/or:0:3e-7:0 \
    --cfg=contexts/stack-size:512 --log=root.thres:warning "$work/simulate" "$@"

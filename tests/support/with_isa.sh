#!/bin/sh
# Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0
# Runs a command if this machine has an instruction set of the cpu kernels; else says so, status 77.
#     with_isa.sh baseline|avx2|avx512 COMMAND...
isa=$1
shift
case $isa in
avx2) wanted="avx2 fma bmi1 bmi2" ;;
avx512) wanted="avx512f avx512bw avx512cd avx512dq avx512vl" ;;
*) wanted="" ;;
esac
for flag in $wanted; do
    if ! grep -qw "$flag" /proc/cpuinfo; then
        echo "skipped: this machine has no $flag"
        exit 77
    fi
done
exec "$@"

#!/usr/bin/env bash
# Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0
# Runs operations on Oclgrind, which counts the bytes that their kernels load and store in global memory,
# and compares these with the least that is possible; and it counts the launches, which are two where rows are
# cut. Usage: traffic.sh PROGRAM
#
# PROGRAM prints "== NAME LOADS STORES LAUNCHES" before each operation, "==" before uncounted work, and Oclgrind
# after each kernel
#     Instructions executed for kernel 'tdm_softmax':
#         1,024 - load global (16,384 bytes)
set -euo pipefail

OCLGRIND_INST_COUNTS=1 "$1" | awk '
    function bytes(line) {
        sub(/.*\(/, "", line); sub(/ bytes\).*/, "", line); gsub(/,/, "", line)
        return line + 0
    }
    function judge(what, got, least) {
        # rows that are cut have partial results, too
        if (got >= least && got <= least * 1.03 + 128) return
        printf "FAILED: %s: %s %d bytes, the least is %d\n", name, what, got, least
        failed++
    }
    function finish() {
        if (name == "") return
        printf "%-40s loads %8d of %8d, stores %8d of %8d\n", name, loaded, loads, stored, stores
        judge("loads", loaded, loads)
        judge("stores", stored, stores)
        if (launched != launches) {
            printf "FAILED: %s: %d launches, not %d\n", name, launched, launches
            failed++
        }
        cases++
    }
    /^==/ { finish(); name = $2; loads = $3; stores = $4; launches = $5; loaded = stored = launched = 0 }
    /^Instructions executed for kernel/ { launched++ }
    /load global \(/ { loaded += bytes($0) }
    /store global \(/ { stored += bytes($0) }
    END {
        finish()
        printf "%d operations, %d failed\n", cases, failed
        exit failed > 0 || cases != 246
    }'

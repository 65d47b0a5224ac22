#!/usr/bin/env bash
# Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0
# `tdm doctor` judges devices: good ones, and drivers that lie; TANDEM_VERIFY finds out the latter, too.
# Usage: judge.sh TANDEM PROBE LIMITS INTEL CUDA   (with pocl alone; folders of the driver that lies, of Intel's .icd
# file, which may be missing, and of simulated CUDA, or none)
set -euo pipefail
tdm=$1 probe=$2 limits=$3 intel=$4 cuda=${5:-}

judged() { # STATUS REGEX... -- VARIABLE=VALUE...: doctor ends so and prints a line that matches each
    local wanted=$1 regex regexes=() status=0 printed
    while shift && [ "$1" != -- ]; do
        regexes+=("$1")
    done
    shift
    printed=$(env "$@" "$tdm" doctor 2>&1) || status=$?
    for regex in "${regexes[@]}"; do
        [ "$status" -eq "$wanted" ] && grep -qE -- "$regex" <<<"$printed" && continue
        echo "judge: status $status, not $wanted, or nothing like '$regex', of: $*"
        echo "$printed"
        exit 1
    done
}

arithmetic='kernel arguments, sums over [0-9]+ lanes?, f32 multiplication, f32 division'
arithmetic+=', f64 division, f64 square root, f32 subnormals kept'
all="judged in [0-9.]+ s, right: $arithmetic, mapped memory, a product"
judged 0 "$all" "a launch takes [0-9]+ us.*; copies: [0-9.]+ GB/s to the device, [0-9.]+ GB/s from it" -- \
    TANDEM_BACKEND=cpu
judged 0 "right: mapped memory, a product" "arithmetic is not judged without a C compiler" -- TANDEM_BACKEND=cpu \
    TANDEM_CPU_COMPILER=none
judged 1 "wrong: a kernel in the dialect: TDM_ERROR_COMPILE" -- TANDEM_BACKEND=cpu TANDEM_CPU_COMPILER=/bin/true
[ -z "$cuda" ] || judged 0 "$all" -- TANDEM_BACKEND=cuda TANDEM_LIBRARY_PATH="$cuda" TDM_CUDA_SIM=leaks=1
quick=$(TANDEM_BACKEND=cpu "$tdm" doctor --quick)
[[ "$quick" == *"results are right"* && "$quick" != *judged* ]]
judged 0 "$all" -- TANDEM_BACKEND=opencl

# The driver that lies: as it is, first. Its compiler lies of each line of the judge's kernel at once.
driver=(TANDEM_BACKEND=opencl TANDEM_LIBRARY_PATH="$limits" TANDEM_BLAS=builtin TDM_LIMITS=large
    POCL_WORK_GROUP_METHOD=loops)
lies=('LOAD(a, j) / LOAD(b, j)=>(double)((float)LOAD(a, j) / (float)LOAD(b, j))'
    'SQRT(LOAD(a, j))=>(double)sqrt((float)LOAD(a, j))'
    'x[j] * y[j]=>x[j] * y[j] * 1.0000001f'
    'x[j] / y[j]=>x[j] / y[j] * 1.00001f'
    'GROUP_SUM(sums, (ACC)(LANE + 1))=>(ACC)(LANE + 1)'
    'sums[i][j] += p=>sums[i][j] += 1.0001f * p')
judged 0 "$all" -- "${driver[@]}"
# A group of one lane, as a product's is not, waits at no barrier.
judged 1 'a kernel was ready .* results are right' "right: $arithmetic" -- "${driver[@]}" TDM_LIMITS_TYPE=cpu \
    TDM_LIMITS_LIE='barrier(CLK_LOCAL_MEM_FENCE);=>not_for_one_lane();'
judged 1 'wrong: f64 division: .* off; .*: compute in f32' 'wrong: f64 square root: ' 'wrong: f32 multiplication: ' \
    'wrong: f32 division: ' 'wrong: sums over a group of [0-9]+ lanes' \
    'wrong: a product of f32: .*TANDEM_BLAS' 'right: kernel arguments, f32 subnormals kept, mapped memory$' -- \
    "${driver[@]}" TDM_LIMITS_LIE="$(IFS='|' && echo "${lies[*]}")"
[ ! -e "$intel/intel.icd" ] || judged 1 'wrong: sums over a group of 256 lanes' -- "${driver[@]}" \
    OCL_ICD_VENDORS="$intel" TDM_LIMITS= TDM_LIMITS_SUB_GROUPS=intel \
    TDM_LIMITS_LIE='get_num_sub_groups()=>get_num_sub_groups() - 1'
judged 1 'wrong: kernel arguments: n arrives as [0-9]+, not 81985529216486895' -- \
    "${driver[@]}" TDM_LIMITS_LIE=$'tdm_i64 n;\n    tdm_scalar s;=>tdm_scalar s;\n    tdm_i64 n;'
flushing='x[j] * y[j]=>(fabs(x[j]) < 1.2e-38f ? 0 : x[j]) * y[j]'
judged 1 'results are wrong: LayerNorm gives' 'f32 subnormals flushed to 0' -- "${driver[@]}" \
    TDM_LIMITS_LIE="all.rest) * scale=>all.rest) * scale * (ACC)1.001f|$flushing"
judged 1 'wrong: mapped memory: ' -- "${driver[@]}" TDM_LIMITS_LIE=copies TDM_LIMITS_TYPE=cpu
judged 1 'wrong: copies: of 8 MiB ' -- "${driver[@]}" TDM_LIMITS_LIE=bytes
judged 0 'a launch takes [0-9]+ us, which is slow.* from it, which is slow' -- "${driver[@]}" TDM_LIMITS_LIE=slow

# A program that knows nothing of it: LayerNorm and a product, and attention.
works() { # REGEX VARIABLE=VALUE...: the probe's lines match it
    local regex=$1 printed
    shift
    printed=$(env "${driver[@]}" TANDEM_BACKEND=opencl,cpu TANDEM_CACHE_DIR="$folder/cache" "$@" \
        "$probe" "${what:-work}" opencl 2>&1) || true
    grep -qE -- "$regex" <<<"$printed" && return
    echo "judge: nothing like '$regex' of: $*"
    echo "$printed"
    exit 1
}
folder=$(mktemp -d)
trap 'rm -r "$folder"' EXIT
lie=(TANDEM_CACHE_DIR="$folder/lie" 'TDM_LIMITS_LIE=all.rest) * scale=>all.rest) * scale * (ACC)1.001f')
works '^opencl:0$' TANDEM_VERIFY="1:$folder"
works '2 calls on a queue of opencl:0 were compared' TANDEM_VERIFY="1:$folder" TANDEM_LOG=info
works '^wrong: element 0 ' "${lie[@]}"
works '^tandem: error: tdm_layer_norm: opencl:0 computes wrongly .*: y\[0, 0\] is 1\.00[01][0-9]*, and 1 on' \
    TANDEM_VERIFY="1:$folder" "${lie[@]}"
works '^TDM_ERROR_BACKEND$' TANDEM_VERIFY="1:$folder" "${lie[@]}"
what=attend works '4 calls on a queue of opencl:0 were compared' TANDEM_VERIFY="1:$folder/none" TANDEM_LOG=info
what=attend works '^tandem: error: tdm_attention: opencl:0 computes wrongly .*: y\[0, 0, 0\] is 1\.00[01][0-9]*, and 1 on' \
    TANDEM_VERIFY="1:$folder/none" TANDEM_CACHE_DIR="$folder/other" \
    'TDM_LIMITS_LIE=sums[i][j] * share=>sums[i][j] * share * (ACC)1.001f'
works 'computes on cpu, which TANDEM_BACKEND must list' TANDEM_VERIFY=1 TANDEM_BACKEND=opencl
python3 - "$folder"/tandem-verify-*.safetensors <<'END'
import json, struct, sys
for path in sys.argv[1:]:
    data = open(path, "rb").read()
    size = struct.unpack("<Q", data[:8])[0]
    header = json.loads(data[8:8 + size])
    assert header.pop("__metadata__") == {"function": "tdm_layer_norm", "device": "opencl:0"}
    assert sorted(header) == ["x", "y.before", "y.computed", "y.expected"], sorted(header)
    first, past = header["x"]["data_offsets"]
    x = struct.unpack("<256f", data[8 + size + first:8 + size + past])
    assert x == (1.0, -1.0) * 128 and header["y.expected"]["dtype"] == "F64"
END

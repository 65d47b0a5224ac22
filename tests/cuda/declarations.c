/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* cuda/declarations.h against NVIDIA's headers: this compiles where they agree. declarations.sh
 * compiles it, and puts together ours.h, the types of our header with "our_" before each name, and
 * names.h, one of the macros below for each constant and type.
 *
 * Our functions are declared once more after theirs, with their types: a compiler allows that for
 * the same function alone. */
#include <cublasLt.h>
#include <cublas_v2.h>
#include <cuda.h>
#include <cuda_runtime_api.h>
#include <nvrtc.h>

#include <stddef.h>
#include <stdint.h>

#define TDMI_CUDA_FUNCTIONS_ONLY
#include "functions.h"
#include "ours.h"

#define SAME_NUMBER(name) _Static_assert((long long)name == (long long)our_##name, #name);

/* The width and the sign of an integer or an enumeration in an expression. */
#define SAME_INTEGER(name)                                                                         \
    _Static_assert(                                                                                \
        sizeof(name) == sizeof(our_##name) &&                                                      \
            __builtin_types_compatible_p(__typeof__(+(name)1), __typeof__(+(our_##name)1)),        \
        #name);
#define SAME_ENUM(name)                                                                            \
    typedef enum name their_##name;                                                                \
    _Static_assert(sizeof(their_##name) == sizeof(enum our_##name) &&                              \
                       __builtin_types_compatible_p(__typeof__(+(their_##name)1),                  \
                                                    __typeof__(+(enum our_##name)1)),              \
                   #name);

/* Of a handle nothing is known but that it is a pointer. */
#define SAME_POINTER(name)                                                                         \
    _Static_assert(__builtin_classify_type((name)0) == __builtin_classify_type((void *)0), #name);

#define SAME_STRUCT(name)                                                                          \
    _Static_assert(sizeof(name) == sizeof(our_##name) && _Alignof(name) == _Alignof(our_##name),   \
                   #name);
#define SAME_MEMBER(name, member)                                                                  \
    _Static_assert(offsetof(name, member) == offsetof(our_##name, member) &&                       \
                       sizeof(((name *)0)->member) == sizeof(((our_##name *)0)->member),           \
                   #name "." #member);

#include "names.h"

SAME_MEMBER(CUuuid, bytes)
SAME_MEMBER(cublasLtMatmulAlgo_t, data)
SAME_MEMBER(cublasLtMatmulHeuristicResult_t, algo)
SAME_MEMBER(cublasLtMatmulHeuristicResult_t, workspaceSize)
SAME_MEMBER(cublasLtMatmulHeuristicResult_t, state)
SAME_MEMBER(cublasLtMatmulHeuristicResult_t, wavesCount)
SAME_MEMBER(cublasLtMatmulHeuristicResult_t, reserved)

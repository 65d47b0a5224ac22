/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* The other libraries that a row may be compared with, all of which Python reaches. */
#ifndef BENCH_PEER_LIST_H
#define BENCH_PEER_LIST_H

/* X(NAME, key, module, title): key is what JSON and CSV call its figure, module is what peers.py calls it. */
#define BENCH_PEER_LIST(X)                                                                         \
    X(PYTORCH, "pytorch_seconds_median", "torch", "PyTorch") BENCH_LATER_PEER_LIST(X)
/* Those whose columns of CSV come after all others. */
#define BENCH_LATER_PEER_LIST(X)                                                                   \
    X(NUMPY, "numpy_seconds_median", "numpy", "NumPy")                                             \
    X(ONNXRUNTIME, "onnxruntime_seconds_median", "onnxruntime", "ONNX Runtime")                    \
    X(INDUCTOR, "inductor_seconds_median", "inductor", "torch.compile")                            \
    X(TRITON, "triton_seconds_median", "triton", "Triton")

typedef enum bench_peer {
#define BENCH_PEER_ENUM(NAME, key, module, title) BENCH_##NAME,
    BENCH_PEER_LIST(BENCH_PEER_ENUM)
#undef BENCH_PEER_ENUM
        BENCH_PEERS
} bench_peer;

#endif

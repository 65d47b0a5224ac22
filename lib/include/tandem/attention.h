/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/** @file
 * Attention as one operation: its scores are never stored.
 *
 * The rules of ops.h for all operations and for threads hold here as well. */
#ifndef TANDEM_ATTENTION_H
#define TANDEM_ATTENTION_H

#include <tandem/ops.h>

#if defined(__cplusplus)
extern "C" {
#endif

/** Which keys a query attends to, and how the scores are scaled. The tensors are borrowed for the call. */
typedef struct tdm_attention_options {
    size_t size; /**< sizeof(tdm_attention_options): see status.h */
    double
        scale; /**< factor of the scores, finite in the arithmetic, f32 or f64; 0: 1/√(head size) */
    bool causal; /**< query i of Tq attends to the keys up to i + Tk - Tq */
    const tdm_tensor
        *mask; /**< bool, broadcast to [..., Tq, Tk]: true where a key counts; NULL: all do */
    const tdm_tensor *lengths; /**< i32 or i64 [B]: keys from there on do not count; NULL: all do */
    const tdm_tensor
        *offsets; /**< i32 or i64 [sequences + 1]: ragged batches, see below; NULL: none */
} tdm_attention_options;

/** scale 1/√(head size), nothing else: tdm_attention_options o = TDM_ATTENTION_OPTIONS_DEFAULTS; */
/* clang-format off */
#define TDM_ATTENTION_OPTIONS_DEFAULTS                                                             \
    { sizeof(tdm_attention_options), 0.0, false, NULL, NULL, NULL }
/* clang-format on */

/** The same for languages without C's macros: writes the first `size` bytes, which are the struct's
 * size in the caller's language. */
TDM_API void tdm_attention_options_init(tdm_attention_options *options, size_t size);

/** y = softmax(scale · q·kᵀ) · v for each head, over the keys that a query attends to (Vaswani et al. 2017). q:
 * [B, H, Tq, D]; k: [B, Hkv, Tk, D]; v: [B, Hkv, Tk, Dv]; y: [B, H, Tq, Dv]; or all without B. H is a multiple of
 * Hkv, and H / Hkv heads of q in a row share one of k and v (Ainslie et al. 2023). The last dimension is adjacent,
 * the others have any strides: heads that are views of one tensor [tokens, 3 · H · D] are read where they are. Tq,
 * Tk, D and Dv are at most 2³⁰. y overlaps none of the others. options NULL means TDM_ATTENTION_OPTIONS_DEFAULTS.
 *
 * One pass over the keys in blocks, with the largest score, the sum of the powers and that of the weighted v so far
 * (Milakov and Gimelshein 2018; Dao et al. 2022): no scores are stored, and no device memory is taken. A query's
 * result has the same bits on one device in every batch, whatever other queries, heads and sequences there are, ragged
 * or not.
 *
 * Ragged: with offsets there is no B, Tq is Tk, and sequence s is the rows offsets[s] to offsets[s + 1] - 1 of q, k, v
 * and y, which attend to each other only; causal applies within each, and a mask has a row and a column for each token.
 * Rows before the first sequence and after the last one are 0 in y. offsets and lengths exclude each other.
 *
 * offsets and lengths are read on the device while it computes: a graph that is replayed takes what they hold then.
 * lengths below 0 count as 0, above Tk as Tk. offsets must not decrease, else a row may attend to no rows, or to
 * rows of another sequence. Whatever they hold, nothing is read or written outside the tensors.
 *
 * A key that is left out, or whose score is -Inf, does not count, not even NaN or Inf in its k or v; a query for which
 * no key counts, or with none at all (Tk 0), gives 0. Keys that count give what the formula does: with a score of NaN
 * or +Inf the query's result is NaN, and Inf in v gives Inf or NaN in its column. D 0: all scores are 0.
 *
 * f16 and bf16 are multiplied and summed in f32, and y is rounded once. OpenCL devices that are CPUs and run native
 * kernels give TDM_ERROR_UNSUPPORTED for memory that only the driver finds (tdm_opencl_adopt_memory).
 * Error, with the exact scores s and weights w of n keys, and S_j = |scale| Σ|q k_j|:
 * e · Σ w_j (|v_j| + |y|)((D/2 + 4) S_j + min(max(s) - s_j, 800) + n/2 + 8), and 2⁻¹²⁶ Σ |v_j|, in f64
 * 2⁻¹⁰²², for weights below the normal numbers; where (D/2 + 4) S_j is below 1/e. The loss of subnormal products
 * is multiplied by |scale|. The terms that are added up, and may overflow, are exp(s_j - max(s)) v_j. */
TDM_API TDM_MUST_USE tdm_status tdm_attention(tdm_queue *queue,
                                              const tdm_attention_options *options,
                                              const tdm_tensor *q, const tdm_tensor *k,
                                              const tdm_tensor *v, tdm_tensor *y);

#if defined(__cplusplus)
}
#endif
#endif

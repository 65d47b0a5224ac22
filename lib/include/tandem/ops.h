/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/** @file
 * Operations on tensors.
 *
 * Common to all: work is queued on `queue` and all tensors are on its device (else
 * TDM_ERROR_DEVICE_MISMATCH, never a silent move). Outputs are given by the caller and come last.
 * Dtypes are f32, f64, f16 or bf16 and equal among the arguments, unless said otherwise; 16-bit
 * types compute in f32 and round once, to nearest even. On a device without f64 arithmetic
 * (tdm_device_info.has_f64) every operation refuses f64 with TDM_ERROR_UNSUPPORTED, where storing,
 * filling, copying, moving and files take it all the same. All arguments are checked before anything
 * is launched, and a refused call changes nothing. A dimension of 0 is a no-op that succeeds. An
 * output may overlap an input only where "in place" is allowed, and then only as exactly the same
 * view. NaN propagates. On one device a call on tensors of the same shapes, strides and offsets
 * repeats its result bit for bit, whatever floating-point state the calling thread is in (rounding,
 * subnormals flushed to zero); that is the caller's again afterwards. Tensors may be released as soon
 * as the call has returned (tensor.h).
 *
 * "Rows": the last dimension is a row of `cols` elements, the other dimensions are a batch of rows
 * of any shape. Elements of a row are adjacent (stride 1); the rows must have one common stride
 * (collapse to 2-D), else TDM_ERROR_UNSUPPORTED says which argument to make contiguous (tdm_cast
 * copies any strided view). A row has fewer than 2^31 elements. The result of an operation on rows for a row, and that
 * of a reduction along it (tdm_row_norm; in reduce.h of the last dimension, where its elements are adjacent;
 * tdm_kernel_rows), has the same bits on one device in every batch, however many rows there are, wherever in memory
 * they lie and however many threads work.
 *
 * "Error:" says how far a finite result may be from the exact one of the inputs as they are stored. e is 2⁻²³,
 * in f64 2⁻⁵²; n is how many terms are added, and k = min(8 + n/2, 64), as sums are made of blocks. The one
 * rounding to f16 or bf16, half a unit in the last place, is not counted, nor are two of the smallest subnormal numbers
 * and, where products or squares are added, half of one for each of these. On devices that take subnormal numbers for 0
 * their size is added. Where the terms of a sum, all taken as positive, add up to more than the largest number of the
 * dtype that is computed in, the result may be infinite or NaN, unless the function's description promises more. The
 * tests hold every device to these bounds with hard inputs as well: outliers anywhere, means far from 0, squares that
 * overflow or vanish, exponents far apart, rows of a million elements. The functions of functions.h have bounds in
 * units in the last place.
 *
 * Threads: as the queue. */
#ifndef TANDEM_OPS_H
#define TANDEM_OPS_H

#include <tandem/tensor.h>

#if defined(__cplusplus)
extern "C" {
#endif

/** The one list of activations: X(NAME, name). gelu is x·Φ(x) with the error function (Hendrycks & Gimpel
 * 2016), gelu_tanh its tanh form 0.5x(1 + tanh(√(2/π)(x + 0.044715x³))), silu x·sigmoid(x).
 *
 * At -Inf relu, gelu, gelu_tanh, silu and sigmoid are 0 (of either sign) and tanh is -1; at Inf
 * sigmoid and tanh are 1 and the others Inf; NaN gives NaN; on every device and in every dtype. (At -Inf
 * gelu_tanh may be NaN where cuBLASLt fuses it into a product of 16-bit floats.) On the way to 0 results keep
 * their digits, and below the smallest normal number those that a subnormal has, on devices with
 * subnormals. Only gelu in f32 arithmetic (f32, f16, bf16) has an absolute error there: at most
 * 1.3e-7 below x = -1, 1.2e-8 below -3, and from -8.7 on it is 0. */
#define TDM_ACTIVATION_LIST(X)                                                                     \
    X(NONE, "none")                                                                                \
    X(RELU, "relu")                                                                                \
    X(GELU, "gelu")                                                                                \
    X(GELU_TANH, "gelu_tanh")                                                                      \
    X(SILU, "silu")                                                                                \
    X(SIGMOID, "sigmoid")                                                                          \
    X(TANH, "tanh")

/** An activation: TDM_ACTIVATION_ and a name of the list, in capitals. */
typedef enum tdm_activation {
#define TDM_ACTIVATION_ENUM(NAME, name) TDM_ACTIVATION_##NAME,
    TDM_ACTIVATION_LIST(TDM_ACTIVATION_ENUM)
#undef TDM_ACTIVATION_ENUM
        TDM_ACTIVATION_COUNT
} tdm_activation;

/** "none", "relu" …; "unknown" for any other number. Static storage. */
TDM_API const char *tdm_activation_name(tdm_activation activation);

/** How exact the products of a matmul are. */
typedef enum tdm_math {
    TDM_MATH_DEFAULT, /**< TANDEM_MATH, else IEEE */
    TDM_MATH_IEEE,    /**< f32 matmul in f32 arithmetic */
    TDM_MATH_TF32     /**< f32 matmul may round its inputs to TF32 where the device has it */
} tdm_math;

/** Options of a matmul. */
typedef struct tdm_matmul_options {
    size_t size;               /**< sizeof(tdm_matmul_options): see status.h */
    double alpha;              /**< factor of the product */
    double beta;               /**< factor of what C held before; with 0 it is not read */
    bool transpose_a;          /**< op(A) = Aᵀ, over the last two dimensions */
    bool transpose_b;          /**< the same of B */
    const tdm_tensor *bias;    /**< [N], added to each row of the result; NULL for none */
    tdm_activation activation; /**< after the bias */
    tdm_math math;             /**< how exact */
} tdm_matmul_options;

/** alpha 1, beta 0, nothing else: tdm_matmul_options o = TDM_MATMUL_OPTIONS_DEFAULTS; */
/* clang-format off */
#define TDM_MATMUL_OPTIONS_DEFAULTS                                                                \
    { sizeof(tdm_matmul_options), 1.0, 0.0, false, false, NULL, TDM_ACTIVATION_NONE,               \
      TDM_MATH_DEFAULT }
/* clang-format on */

/** The same for languages without C's macros: writes the first `size` bytes, which are the struct's
 * size in the caller's language. */
TDM_API void tdm_matmul_options_init(tdm_matmul_options *options, size_t size);

/** C = activation(alpha · op(A) · op(B) + beta · C + bias). op(A) is [..., M, K], op(B) [..., K, N],
 * C [..., M, N]; batch dimensions are C's; one of extent 1, or a missing one, repeats the matrix. Batch dimensions with
 * one common stride are one batched product; otherwise, as for heads of attention that are views of rows of all
 * heads, there is one for each index of the first dimensions. In each matrix one of the two strides is 1
 * (transposed views are fine).
 * options NULL means TDM_MATMUL_OPTIONS_DEFAULTS. beta 0: C is not read. alpha 0 or K 0: A and B
 * are not read. bias and activation go with every C. C overlaps neither A, B nor bias. Runs on the
 * vendor's BLAS, see TANDEM_BLAS.
 * f16 and bf16 are multiplied and summed in f32, whichever the provider. With beta 0 the bias is in the sum before
 * that is rounded: in f16 a product of 70000 with a bias of -20000 is not infinite. With another beta, and in bf16
 * where C is stored by columns, the sum may be rounded to C's dtype before the bias is added. The activation's argument
 * may have been rounded. In f16 subnormal numbers count. In bf16 they may count as 0, in A, in B and as results, as
 * they do in the bf16 instructions of some processors. alpha and beta are rounded to f32 where the arithmetic is.
 * Error: for any order of the sum below (K + 2) · e/2 · (|alpha| Σ|ab| + |beta C|) (Higham 2002, 3.1), and in the
 * tests, with K up to some thousands, below 16e of it; 2e of the sums before and after the bias; then as tdm_bias_add.
 * With TF32 2⁻¹⁰ of Σ|ab| more. The loss of subnormal products is multiplied by |alpha| where that is above 1. */
TDM_API TDM_MUST_USE tdm_status tdm_matmul(tdm_queue *queue, const tdm_matmul_options *options,
                                           const tdm_tensor *a, const tdm_tensor *b, tdm_tensor *c);

/** The name of the BLAS provider that would run this matmul on the queue's device: "onednn",
 * "openblas", "mkl", "blis", "cblas", "clblast", "cublas", "panels" where B is packed for it (tdm_pack_weight) or
 * "builtin", which is also what a product that reads neither A nor B is said to run on. Same checks as tdm_matmul.
 * Static storage. */
TDM_API TDM_MUST_USE tdm_status tdm_matmul_provider(tdm_queue *queue,
                                                    const tdm_matmul_options *options,
                                                    const tdm_tensor *a, const tdm_tensor *b,
                                                    const tdm_tensor *c, const char **provider);

/** y = activation(x + bias) + residual. x, y: rows of cols; bias [cols]. residual is of x's shape, or lacks some of x's
 * first dimensions and is the same for all of these, such as positions [tokens, cols] of x [batch, tokens, cols]: one
 * launch for each, of a single row one for all. bias and residual may be NULL. In place: y may be x, or residual when
 * that has all dimensions.
 * Error, with u = x + bias: e|u|, times the activation's largest slope, which is 1.13 for gelu and gelu_tanh, 1.1 for
 * silu, 1/4 for sigmoid and 1 for relu and tanh; of the activation a 4e(|u| + |a|) for gelu, gelu_tanh
 * and silu, 8e·a(1 + |u|(1 - a)) for sigmoid, 8e|a| for tanh; then e(|a| + |y|). */
TDM_API TDM_MUST_USE tdm_status tdm_bias_add(tdm_queue *queue, const tdm_tensor *x,
                                             const tdm_tensor *bias, tdm_activation activation,
                                             const tdm_tensor *residual, tdm_tensor *y);

/** Which norm. */
typedef enum tdm_norm_kind {
    TDM_NORM_L1, /**< Σ|x| */
    TDM_NORM_L2, /**< √Σx², scaled where the squares would overflow or underflow (Blue 1978); of a
                    matrix this is the Frobenius norm */
    TDM_NORM_INF, /**< max|x| */
    TDM_NORM_COUNT
} tdm_norm_kind;

/** The norm of all elements of x, of any strides, into out, a tensor of one element. out is of x's
 * dtype, or f32 when x is f16 or bf16. An empty x gives 0. Error: k·e·out; with TDM_NORM_INF none. */
TDM_API TDM_MUST_USE tdm_status tdm_norm(tdm_queue *queue, tdm_norm_kind kind, const tdm_tensor *x,
                                         tdm_tensor *out);

/** The norm of each row: out has x's shape without the last dimension (one element for 1-D x), or
 * with extent 1 there, and both have any strides. Dtypes and error as
 * tdm_norm. A row of 0 columns gives 0. */
TDM_API TDM_MUST_USE tdm_status tdm_row_norm(tdm_queue *queue, tdm_norm_kind kind,
                                             const tdm_tensor *x, tdm_tensor *out);

/* The epsilon of the functions below is at least 0, and is rounded to f32 where the arithmetic is, in which it is
 * finite.
 * Squares that would overflow or underflow are taken of a row that is scaled by a power of two, so
 * that y is right wherever it fits the dtype; with a weight also y without the weight has to. Results below the
 * smallest normal number are subnormal on devices that have these. With an epsilon of 0, 0 / 0 is NaN: a row of
 * zeros, and in LayerNorm a row of equal elements. */

/** y = (x - mean) / √(variance + epsilon) · weight + bias for each row, variance biased, computed
 * around the mean (Ba et al. 2016), whatever the mean is and wherever outliers are. weight, bias
 * [cols], each may be NULL. In place: y may be x.
 * Error: 16e · max|x| / √(variance + epsilon) · |weight| + k·e|y - bias| + 2e|bias|; of equal elements, which give
 * the bias, none. */
TDM_API TDM_MUST_USE tdm_status tdm_layer_norm(tdm_queue *queue, const tdm_tensor *x,
                                               const tdm_tensor *weight, const tdm_tensor *bias,
                                               double epsilon, tdm_tensor *y);

/** The same of s = x + residual, in one launch: y = (s - mean) / √(variance + epsilon) · weight + bias
 * for each row, as after a residual connection (Vaswani et al. 2017). weight, bias [cols] and residual
 * may be NULL; without a residual it is tdm_layer_norm. residual may lack first dimensions as in tdm_bias_add. sum,
 * when not NULL, receives s and needs a residual. s is rounded to the dtype, and y is computed from the rounded s, with
 * or without sum; error as tdm_layer_norm of that s. In place: y may be x or residual, sum may be x or residual; sum is
 * not y. */
TDM_API TDM_MUST_USE tdm_status tdm_layer_norm_residual(tdm_queue *queue, const tdm_tensor *x,
                                                        const tdm_tensor *weight,
                                                        const tdm_tensor *bias, double epsilon,
                                                        const tdm_tensor *residual, tdm_tensor *sum,
                                                        tdm_tensor *y);

/** y = s / √(mean(s²) + epsilon) · weight, s = x + residual (Zhang & Sennrich 2019). weight [cols]
 * and residual may be NULL; residual may lack first dimensions as in tdm_bias_add. sum, when not NULL, receives s
 * (rounded to the dtype; y is computed from the rounded s) and needs a residual. In place: y may be x or residual, sum
 * may be x or residual; sum is not y. Error: k·e|y|. */
TDM_API TDM_MUST_USE tdm_status tdm_rms_norm(tdm_queue *queue, const tdm_tensor *x,
                                             const tdm_tensor *weight, double epsilon,
                                             const tdm_tensor *residual, tdm_tensor *sum,
                                             tdm_tensor *y);

/** Batch normalisation at inference: y = (x - mean[c]) / √(variance[c] + epsilon) · weight[c] +
 * bias[c], x [N, C, ...] contiguous, the others [C]; weight and bias may be NULL. In place: y may
 * be x (Ioffe & Szegedy 2015). Error: 8e((|x| + |mean|) · |weight| / √(variance + epsilon) + |bias|), where
 * 1 / √(variance + epsilon), and that times weight, are normal numbers. */
TDM_API TDM_MUST_USE tdm_status tdm_batch_norm(tdm_queue *queue, const tdm_tensor *x,
                                               const tdm_tensor *mean, const tdm_tensor *variance,
                                               const tdm_tensor *weight, const tdm_tensor *bias,
                                               double epsilon, tdm_tensor *y);

/** y = x / max(‖x‖₂, epsilon) for each row. In place: y may be x. Error: k·e|y|. */
TDM_API TDM_MUST_USE tdm_status tdm_l2_normalize(tdm_queue *queue, const tdm_tensor *x,
                                                 double epsilon, tdm_tensor *y);

/** y = exp(x - max) / Σexp(x - max) for each row. In place: y may be x. Error: e(k + max - x)y. */
TDM_API TDM_MUST_USE tdm_status tdm_softmax(tdm_queue *queue, const tdm_tensor *x, tdm_tensor *y);

/** y = x - max - ln Σexp(x - max) for each row, the logarithm of its softmax. In place: y may be x.
 * Error: e(k + max - x + |y|). */
TDM_API TDM_MUST_USE tdm_status tdm_log_softmax(tdm_queue *queue, const tdm_tensor *x,
                                                tdm_tensor *y);

/** y = max + ln Σexp(x - max) for each row, without overflow: -Inf of a row of -Inf or of nothing, Inf of one with
 * Inf. y has x's shape without the last dimension, or with extent 1 in its place, and x's dtype; its elements
 * have one common stride. Error: e(k + |max| + |y|). */
TDM_API TDM_MUST_USE tdm_status tdm_logsumexp(tdm_queue *queue, const tdm_tensor *x, tdm_tensor *y);

/** Elementwise, with any strides. Inputs are broadcast to y's shape as in NumPy: dimensions are
 * aligned at the last one, and a missing one or one of extent 1 is repeated (tdm_broadcast_shape
 * reports the shape that y must have). In place: y may be any input that is not broadcast. y's own
 * elements must be distinct. Sums, differences and products are of any dtypes, by the rules of functions.h where
 * these are not floats of one dtype: integers wrap, and y takes what it is given as tdm_cast does. Floats of one dtype
 * are rounded once, and so exact to half a unit in the last place. scale and axpy: alpha is rounded to f32 where the
 * arithmetic is; error: 1.5e(|alpha · x| + |y|), y as it was before. */
TDM_API TDM_MUST_USE tdm_status tdm_add(tdm_queue *queue, const tdm_tensor *a, const tdm_tensor *b,
                                        tdm_tensor *y); /**< y = a + b */
TDM_API TDM_MUST_USE tdm_status tdm_sub(tdm_queue *queue, const tdm_tensor *a, const tdm_tensor *b,
                                        tdm_tensor *y); /**< y = a - b */
TDM_API TDM_MUST_USE tdm_status tdm_mul(tdm_queue *queue, const tdm_tensor *a, const tdm_tensor *b,
                                        tdm_tensor *y); /**< y = a · b */
TDM_API TDM_MUST_USE tdm_status tdm_scale(tdm_queue *queue, double alpha, const tdm_tensor *x,
                                          tdm_tensor *y); /**< y = alpha · x */
TDM_API TDM_MUST_USE tdm_status tdm_axpy(tdm_queue *queue, double alpha, const tdm_tensor *x,
                                         tdm_tensor *y); /**< y = alpha · x + y */

/** y = x converted from any dtype to any dtype. The same one: a copy of any strided view, bit by bit.
 * To a float: rounded to nearest even, overflow gives Inf. Float to integer: truncated, held within
 * the integer's limits, NaN gives 0. Integer to integer: the low bits, so that it wraps. To bool:
 * true unless x is 0, for NaN too; from bool: 1 or 0. No overlap. */
TDM_API TDM_MUST_USE tdm_status tdm_cast(tdm_queue *queue, const tdm_tensor *x, tdm_tensor *y);

/** y = value, converted as tdm_cast does from f64, on any device. Any dtype, any strides. */
TDM_API TDM_MUST_USE tdm_status tdm_fill(tdm_queue *queue, double value, tdm_tensor *y);

/** y[i] = start + i · step, i counted row-major. Floats: one fused multiply-add in the dtype's
 * arithmetic, where start, step and i are rounded to f32 or f64 first. Integers: start and step converted as
 * tdm_cast does to i64 (positive ones for u64: to u64), then exact, and wrapped to the dtype. bool:
 * whether such an integer is not 0. Any dtype; rows of y as above. */
TDM_API TDM_MUST_USE tdm_status tdm_fill_range(tdm_queue *queue, double start, double step,
                                               tdm_tensor *y);

/** A stream of random numbers: Philox 4x32-10 (Salmon et al. 2011) with the seed as key. Element
 * number e of the stream depends on seed, e and the dtype's width alone, so that the same seed
 * gives the same numbers on every device, and a tensor filled in parts those of a tensor filled
 * whole. Numbers wrap at 2⁶⁴. A plain value, to be copied at will, whose layout is frozen:
 *
 *     tdm_generator g = {.seed = 42}; */
typedef struct tdm_generator {
    uint64_t seed; /**< which stream */
    uint64_t next; /**< number of the next element; the functions below add y's count */
} tdm_generator;

/** y = uniform in [low, high): low + u · (high - low), one fused multiply-add, u in [0, 1) with 24
 * random bits for f32, 53 for f64, 11 for f16, 8 for bf16 (rounding may give high itself). Other
 * dtypes take the first bits of a number (of 32 bits, or of 64) and so the whole range of the dtype;
 * low and high are ignored. Bit for bit the same on
 * every device. Numbers in y are counted row-major; rows of y as above. Block b = ⌊e/4⌋ of Philox,
 * with counter {b mod 2³², ⌊b/2³²⌋, 0, 0}, gives elements 4b to 4b + 3 of dtypes up to 32 bits; of
 * 64-bit dtypes block ⌊e/2⌋, with counter {…, 1, 0}, gives two, the low word first.
 * TDM_ERROR_INVALID_ARGUMENT for a float y: low above high, or low, high or high - low not finite in the arithmetic. */
TDM_API TDM_MUST_USE tdm_status tdm_fill_uniform(tdm_queue *queue, tdm_generator *generator,
                                                 double low, double high, tdm_tensor *y);

/** y = mean + deviation · z, one fused multiply-add, z standard normal by Box and Muller (1958):
 * elements 2k and 2k + 1 are √(-2 ln u) cos 2πv and √(-2 ln u) sin 2πv of two uniforms. Float
 * dtypes only. mean and deviation are rounded to f32 where the arithmetic is. Error: e(2|deviation · z| + |y|/2); for
 * f32 and f64 2 ulp when mean is 0. TDM_ERROR_INVALID_ARGUMENT where deviation is below
 * 0, or mean or deviation is not finite in the arithmetic. */
TDM_API TDM_MUST_USE tdm_status tdm_fill_normal(tdm_queue *queue, tdm_generator *generator,
                                                double mean, double deviation, tdm_tensor *y);

/** Compiles the kernels that programs usually need for tensors of the given floating dtypes,
 * several at a time in its own threads, which have ended when it returns. The cache folder
 * keeps them, as does the driver's own cache where it has one, so that later programs start
 * without a compiler. *kernels (NULL is allowed) is how many are ready in this process, kept or not (a folder
 * that cannot be used is in the log alone): 0 on cpu, whose kernels are compiled with the library. On a GPU they
 * are for rows that begin at multiples of 16 bytes; others are compiled when they are needed. Takes seconds to
 * minutes where nothing was kept. Any thread, also while others use the device. TDM_ERROR_INVALID_ARGUMENT for a dtype
 * that is not floating, TDM_ERROR_UNSUPPORTED for f64 on a device without it; else the first
 * failure of a kernel, and those that were ready by then are kept. */
TDM_API TDM_MUST_USE tdm_status tdm_device_warm(tdm_device *device, const tdm_dtype *dtypes,
                                                size_t dtype_count, size_t *kernels);

/** Called by tdm_device_warm_watched before each kernel, with its progress: `ready` of `all` kernels are there. If it
 * returns false, no other kernel is begun. It is called from the threads that compile, one at a time, and must not call
 * Tandem. */
typedef bool (*tdm_warm_function)(void *user, size_t ready, size_t all);

/** tdm_device_warm for a program that shows its progress, or has limited time. `watch` is called with `user`, and only
 * during this call. Returns TDM_OK also where `watch` stopped it; *kernels is then less than `all`. */
TDM_API TDM_MUST_USE tdm_status tdm_device_warm_watched(tdm_device *device, const tdm_dtype *dtypes,
                                                        size_t dtype_count, tdm_warm_function watch,
                                                        void *user, size_t *kernels);

#if defined(__cplusplus)
}
#endif
#endif

/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/** @file
 * Which library multiplies matrices, and how a GPU takes rows: measured on this machine, and explained.
 *
 * No program needs this: without it, a product goes to the first library of the device that has it, or, if
 * it is narrow or small, to the one that a table names as usually the fastest, and how many lanes of a GPU share
 * a row is computed from its length. `tdm tune` measures a list of products or of rows; a program that knows
 * its own may measure them once, for instance when it is installed.
 *
 * Measurements are kept in the cache folder (cache.h) by device, instructions of the processor,
 * number of threads and version of Tandem, and are used by processes that start from then on: within a
 * process the choice for a product never changes, so that results repeat bit for bit, unless it searches the
 * parameters of CLBlast's kernels itself. A product between
 * those measured takes the choice of the nearest, where none of M, N and K is more than twice or less
 * than half as large. A library that was replaced or has gone since counts as not measured. Products are measured with
 * operands that stay in the cache where they fit.
 *
 * Threads: as the queue. */
#ifndef TANDEM_TUNE_H
#define TANDEM_TUNE_H

#include <tandem/ops.h>

#if defined(__cplusplus)
extern "C" {
#endif

/** The outcome of tdm_matmul_tune. */
typedef struct tdm_matmul_tuning {
    size_t size;          /**< sizeof(tdm_matmul_tuning): see status.h */
    const char *provider; /**< the fastest, named as tdm_matmul_provider names it; static storage */
    const char *usual;    /**< the one that is taken where nothing was measured; static storage */
    double seconds;       /**< a product takes with the fastest, median */
    double
        usual_seconds;  /**< and with the usual one, before its kernels' parameters were searched */
    uint32_t algorithm; /**< which of the provider's algorithms, 0 for the one that it prefers */
    uint32_t candidates; /**< how many ways to run it were tried */
    uint32_t wrong;      /**< of those, how many failed or gave a wrong result: never chosen */
    bool kept;           /**< it was written to the cache folder */
} tdm_matmul_tuning;

/** Sets the size: tdm_matmul_tuning t = TDM_MATMUL_TUNING_DEFAULTS; */
#define TDM_MATMUL_TUNING_DEFAULTS                                                                 \
    { sizeof(tdm_matmul_tuning), NULL, NULL, 0.0, 0.0, 0, 0, 0, false }

/** The same for languages without C's macros; see tdm_memory_stats_init. */
TDM_API void tdm_matmul_tuning_init(tdm_matmul_tuning *tuning, size_t size);

/** Measures this matmul with every library that has it, and keeps the fastest. Takes about `seconds`:
 * a candidate for which there is no time is not chosen, and with 0 each has a few runs. The arguments are those of
 * tdm_matmul, with the same checks. A and B hold numbers to multiply, such as random ones, whose products do not cancel
 * each other out. beta counts as 0, and C holds the product afterwards. Each candidate's result is compared with that
 * of Tandem's own kernels. Where matrices lie at no common distance, as heads do, there are several products of one
 * shape: the first is timed. The usual choice stays unless another is 3 % faster in two measurements. With TANDEM_BLAS
 * only the libraries that it names are tried, and programs with the same TANDEM_BLAS use what is kept.
 *
 * On OpenCL devices whose products run on CLBlast the parameters of its kernels are searched, too, once for
 * each dtype and kernel. These are in use from then on, in this process too, and while they are searched other
 * threads' products on the device run on Tandem's own kernels. Nothing else should run on the device
 * meanwhile. TDM_ERROR_INVALID_ARGUMENT when every element of C is 0, so that nothing could be compared. */
TDM_API TDM_MUST_USE tdm_status tdm_matmul_tune(tdm_queue *queue, const tdm_matmul_options *options,
                                                const tdm_tensor *a, const tdm_tensor *b,
                                                tdm_tensor *c, double seconds,
                                                tdm_matmul_tuning *tuning);

/** Says in a sentence which library would run this matmul and why, as "builtin, which was measured as the
 * fastest for f64 256x256x256: 212 us; openblas, the usual choice, took 302 us". Same checks as tdm_matmul.
 * At most `size` bytes with the NUL; cut if need be. */
TDM_API TDM_MUST_USE tdm_status tdm_matmul_explain(tdm_queue *queue,
                                                   const tdm_matmul_options *options,
                                                   const tdm_tensor *a, const tdm_tensor *b,
                                                   const tdm_tensor *c, char *text, size_t size);

/** Measures how an operation on rows runs fastest on a GPU, and keeps that: how many lanes share a row, how many
 * vectors of 16 bytes of it each has at once, whether it holds them in registers, and how many groups are launched.
 * `operation` is "layer_norm" (with weight and bias), "rms_norm" (with weight), "softmax", "l2_normalize" or "norm" (of
 * rows). Takes about `seconds`, compiling apart, and at least a few runs of each way. Its operands are made for it:
 * `rows` rows of `cols` columns, or with 0 as many as are several times as large as the device's cache.
 *
 * Each way's result is compared with that of the usual one, which stays unless another is 3 % faster twice. What
 * was found is used by processes that start from then on, for all forms of the operation, for that dtype and for
 * rows whose size in bytes has the same next power of two. It depends on the length of a row alone: a row still has the
 * same bits in every batch, though others than before. Nothing else should run on the device meanwhile.
 *
 * *speedup is how many times as fast as the usual way the fastest is, 1 where the usual one stays. `text` names both
 * ways, as "64 lanes of 4 vectors, held" and "128 lanes of 1 vector, 2 x groups", with the time, the rows and the
 * bytes a second; at most `size` bytes with the NUL, cut if need be. TDM_ERROR_UNSUPPORTED on a device where a row has
 * one lane, as on CPUs; TDM_ERROR_IO when nothing can be kept in the cache folder. */
TDM_API TDM_MUST_USE tdm_status tdm_rows_tune(tdm_queue *queue, const char *operation,
                                              tdm_dtype dtype, int64_t rows, int64_t cols,
                                              double seconds, double *speedup, char *text,
                                              size_t size);

#if defined(__cplusplus)
}
#endif
#endif

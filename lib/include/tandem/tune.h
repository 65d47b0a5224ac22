/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/** @file
 * Which library multiplies matrices: measured on this machine, and explained.
 *
 * No program needs this: without it, a product goes to the first library of the device that has it, or, if
 * it is narrow or small, to the one that a table names as usually the fastest. `tdm tune` does it for a list
 * of products; a program that knows its own may do it once, when it is installed say.
 *
 * What was measured is kept in the cache directory (cache.h) by device, instructions of the processor,
 * number of threads and version of Tandem, and is used by processes that start from then on: within a
 * process the choice for a product never changes, so that results repeat bit for bit, unless it searches the
 * parameters of CLBlast's kernels itself. A product between
 * those measured takes the choice of the nearest, where none of M, N and K is more than twice or less
 * than half as large. A library that was replaced or has gone since counts as not measured.
 *
 * Threads: as the queue. */
#ifndef TANDEM_TUNE_H
#define TANDEM_TUNE_H

#include <tandem/ops.h>

#if defined(__cplusplus)
extern "C" {
#endif

/** What tdm_matmul_tune found. */
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
    bool kept;           /**< it was written to the cache directory */
} tdm_matmul_tuning;

/** Sets the size: tdm_matmul_tuning t = TDM_MATMUL_TUNING_DEFAULTS; */
#define TDM_MATMUL_TUNING_DEFAULTS                                                                 \
    { sizeof(tdm_matmul_tuning), NULL, NULL, 0.0, 0.0, 0, 0, 0, false }

/** The same for languages without C's macros; see tdm_memory_stats_init. */
TDM_API void tdm_matmul_tuning_init(tdm_matmul_tuning *tuning, size_t size);

/** Measures this matmul with every library that has it, and keeps the fastest. Takes about `seconds`, and at
 * least a few runs of each. The arguments are those of tdm_matmul, with the same checks, and hold what is
 * to be multiplied: random numbers do, where those that cancel each other out do not. beta counts as 0, and
 * C holds the product afterwards. Each candidate's result is compared with that of Tandem's own kernels. The
 * usual choice stays where nothing else is 3 % faster. With TANDEM_BLAS the libraries that it names are tried
 * alone, and programs with the same TANDEM_BLAS use what is kept.
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

#if defined(__cplusplus)
}
#endif
#endif

/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* Rows of values of any type, combined by any function: for users' kernels over rows. The same in all three
 * languages; compiled after reduce.h. The kernel's own text follows, and defines
 *
 *   FOLDED            the type of the values
 *   FOLD_START        the value that changes none
 *   FOLD_PAIR(a, b)   two values combined
 *   FOLD_TOTAL(parts) with one lane, the SUM_LANES parts combined: TDM_FOLD_PARTS, or tdm_total_ of reduce.h
 *
 * and then has FOLD_FUNCTIONS. FOLD combines `v` for each j of [begin, end), or a lane's part of it, into a; `d` is
 * a declaration that v may use. GROUP_FOLD(scratch, a) must follow, with GROUP_FOLD_ARRAY(scratch) at the top of the
 * kernel. */
#ifndef TDMI_KERNEL_FOLD_H
#define TDMI_KERNEL_FOLD_H

#define GROUP_FOLD_ARRAY(name) TDM_GROUP_FOLD_ARRAY(FOLDED, name)
#define GROUP_FOLD(scratch, a) tdm_group_fold(scratch, a)
#define TDM_FOLD_PARTS(parts) tdm_fold_parts(parts)

#if ROW_LOOPS
#define FOLD_FUNCTIONS                                                                             \
    INLINE FOLDED tdm_fold_parts(FOLDED *parts)                                                    \
    {                                                                                              \
        for (tdm_i32 width = SUM_LANES / 2; width > 0; width /= 2)                                  \
            for (tdm_i32 k = 0; k < width; k++) parts[k] = FOLD_PAIR(parts[k], parts[k + width]);  \
        return parts[0];                                                                           \
    }                                                                                              \
    TDM_GROUP_FOLD_IN_ORDER(tdm_group_fold, FOLDED, FOLD_PAIR(a, b))
#define FOLD(a, j, begin, end, reads, d, v, ahead)                                                 \
    do {                                                                                           \
        PRIVATE_ARRAY(FOLDED, tdm_as, SUM_LANES);                                                  \
        for (tdm_i32 tdm_k = 0; tdm_k < SUM_LANES; tdm_k++) tdm_as[tdm_k] = FOLD_START;            \
        TDM_REDUCE_LOOP(                                                                           \
            j, begin, end, reads, d tdm_as[tdm_k] = FOLD_PAIR(tdm_as[tdm_k], v);                   \
            , d(a) = FOLD_PAIR(a, v);, ahead)                                                      \
        (a) = FOLD_PAIR(a, FOLD_TOTAL(tdm_as));                                                    \
    } while (0)
#else
#define FOLD_FUNCTIONS TDM_GROUP_FOLD_IN_ORDER(tdm_group_fold, FOLDED, FOLD_PAIR(a, b))
#define FOLD(a, j, begin, end, reads, d, v, ahead)                                                 \
    do {                                                                                           \
        TDM_PARTIAL_RESULTS(FOLDED, tdm_as, a, FOLD_START);                                        \
        TDM_SHARE(j, begin, end, reads)                                                            \
        {                                                                                          \
            d const FOLDED tdm_v = (v);                                                            \
            tdm_as[TDM_PARTIAL] = FOLD_PAIR(tdm_as[TDM_PARTIAL], TDM_INSIDE(j, tdm_v, FOLD_START)); \
        }                                                                                          \
        TDM_COMBINE(tdm_as, FOLD_PAIR);                                                            \
        (a) = tdm_as[0];                                                                           \
    } while (0)
#endif

/* As ADD_BLOCK, in FOLDED; a sum that is not finite is no less for what it lost. */
#define FOLD_SUM(sum, lost, v)                                                                     \
    do {                                                                                           \
        const FOLDED tdm_term = (v) - (lost), tdm_total = (sum) + tdm_term;                        \
        (lost) = tdm_total - tdm_total == 0 ? (tdm_total - (sum)) - tdm_term : 0;                  \
        (sum) = tdm_total;                                                                         \
    } while (0)

#endif

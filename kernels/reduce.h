/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* Sums and maxima of a row's elements, the same in all three languages. Compiled after numeric.h.
 *
 * SUM: a += v over [begin, end), or over a lane's part of it on a GPU. SUM2: two of them, b += w as
 * well, of which `d` declares what they share. LARGEST: the largest of integer keys, and of a. With
 * one lane there is a line of partial results, whatever the registers' width and whether or not the
 * compiler vectorises, so that a sum is the same on all CPUs but for fused multiply-adds. Where
 * `ahead` is given, each step fetches as many elements further on: a norm then reads memory in 0.85
 * of the time. On a GPU a GROUP_ macro must follow. */
#ifndef TDMI_KERNEL_REDUCE_H
#define TDMI_KERNEL_REDUCE_H

/* Partial sums of one lane: 64 bytes of ACC. Literals, as a pragma takes no sizeof. */
#if LANES == 1
#define tdm_sum_lanes_f32 16
#define tdm_sum_lanes_f64 8
#define SUM_LANES TDM_BY_ACC(tdm_sum_lanes_)
#define SUM(a, j, begin, end, reads, v, ahead)                                                     \
    do {                                                                                           \
        PRIVATE_ARRAY(ACC, tdm_as, SUM_LANES) = {0};                                               \
        TDM_REDUCE_LOOP(j, begin, end, reads, tdm_as[tdm_k] += (v);, (a) += (v);, ahead)           \
        (a) += TDM_BY_ACC(tdm_total_)(tdm_as);                                                     \
    } while (0)
#define SUM2(a, b, j, begin, end, reads, d, v, w, ahead)                                           \
    do {                                                                                           \
        PRIVATE_ARRAY(ACC, tdm_as, SUM_LANES) = {0};                                               \
        PRIVATE_ARRAY(ACC, tdm_bs, SUM_LANES) = {0};                                               \
        TDM_REDUCE_LOOP(                                                                           \
            j, begin, end, reads, d; tdm_as[tdm_k] += (v); tdm_bs[tdm_k] += (w);                   \
            , d; (a) += (v); (b) += (w);, ahead)                                                   \
        (a) += TDM_BY_ACC(tdm_total_)(tdm_as);                                                     \
        (b) += TDM_BY_ACC(tdm_total_)(tdm_bs);                                                     \
    } while (0)
/* The steps of a line, then what is left. `row` and `near` are what `ahead` stands for. */
#define TDM_REDUCE_LOOP(j, begin, end, reads, in_lines, in_rest, row, near)                        \
    tdm_i32 tdm_from = (begin);                                                                    \
    for (; tdm_from <= (end) - SUM_LANES; tdm_from += SUM_LANES) {                                 \
        tdm_fetch(row, near, tdm_from, SUM_LANES, (tdm_i32)sizeof(T));                             \
        TDM_STEP(tdm_from, SUM_LANES, SUM_LANES)                                                   \
        reads TDM_SUM_SIMD                                                                         \
        for (tdm_i32 tdm_k = 0; tdm_k < SUM_LANES; tdm_k++) {                                      \
            const tdm_i32 j = tdm_from + tdm_k;                                                    \
            in_lines                                                                               \
        }                                                                                          \
    }                                                                                              \
    TDM_STEP(tdm_from, (end)-tdm_from, SUM_LANES)                                                  \
    reads for (tdm_i32 j = tdm_from; j < (end); j++) {                                             \
        in_rest                                                                                    \
    }

#define LARGEST(a, j, begin, end, reads, key, ahead)                                               \
    do {                                                                                           \
        PRIVATE_ARRAY(KEY, tdm_ks, SUM_LANES);                                                     \
        for (tdm_i32 tdm_k = 0; tdm_k < SUM_LANES; tdm_k++) tdm_ks[tdm_k] = (a);                   \
        TDM_REDUCE_LOOP(j, begin, end, reads, TDM_RAISE(tdm_ks[tdm_k], key), TDM_RAISE(a, key),    \
                        ahead)                                                                     \
        TDM_RAISE(a, TDM_BY_ACC(tdm_top_)(tdm_ks))                                                 \
    } while (0)

/* Half of the parts onto the other half, again and again; loops of constant length vectorise. */
#define TDM_HALVE(type, half, combined)                                                            \
    for (tdm_i32 i = 0; i < half; i++) {                                                           \
        const type a = parts[i], b = parts[i + half];                                              \
        parts[i] = combined;                                                                       \
    }
#define TDM_REDUCE_8(type, combined)                                                               \
    TDM_HALVE(type, 4, combined)                                                                   \
    TDM_HALVE(type, 2, combined)                                                                   \
    TDM_HALVE(type, 1, combined)                                                                   \
    return parts[0];
INLINE float tdm_total_f32(float *parts)
{
    TDM_HALVE(float, 8, a + b)
    TDM_REDUCE_8(float, a + b)
}
INLINE tdm_i32 tdm_top_f32(tdm_i32 *parts)
{
    TDM_HALVE(tdm_i32, 8, MAX(a, b))
    TDM_REDUCE_8(tdm_i32, MAX(a, b))
}
#if TDM_HAS_F64
INLINE double tdm_total_f64(double *parts)
{
    TDM_REDUCE_8(double, a + b)
}
INLINE tdm_i64 tdm_top_f64(tdm_i64 *parts)
{
    TDM_REDUCE_8(tdm_i64, MAX(a, b))
}
#endif
#else
#define SUM_LANES LANES
#define SUM(a, j, begin, end, reads, v, ahead)                                                     \
    do {                                                                                           \
        TDM_SHARE(j, begin, end, reads)                                                            \
        {                                                                                          \
            const ACC tdm_v = (v);                                                                 \
            (a) += TDM_INSIDE(j, tdm_v, 0);                                                        \
        }                                                                                          \
    } while (0)
#define SUM2(a, b, j, begin, end, reads, d, v, w, ahead)                                           \
    do {                                                                                           \
        TDM_SHARE(j, begin, end, reads)                                                            \
        {                                                                                          \
            d;                                                                                     \
            const ACC tdm_v = (v), tdm_w = (w);                                                    \
            (a) += TDM_INSIDE(j, tdm_v, 0);                                                        \
            (b) += TDM_INSIDE(j, tdm_w, 0);                                                        \
        }                                                                                          \
    } while (0)
#define LARGEST(a, j, begin, end, reads, key, ahead)                                               \
    do {                                                                                           \
        TDM_SHARE(j, begin, end, reads)                                                            \
        {                                                                                          \
            const KEY tdm_k_of_j = (key);                                                          \
            TDM_RAISE(a, TDM_INSIDE(j, tdm_k_of_j, a))                                             \
        }                                                                                          \
    } while (0)
#endif
#define TDM_RAISE(a, key)                                                                          \
    {                                                                                              \
        const KEY tdm_key = (key);                                                                 \
        (a) = MAX(a, tdm_key);                                                                     \
    }

/* Long sums are taken in blocks in which no partial sum has more than 64 terms. All may be rounded
 * in one direction, as are differences from one number of values that share a grid, so the error is
 * up to a half eps for each. ADD_BLOCK keeps what adding a block's sum loses (Kahan, CACM 8, 1965),
 * for sums in which that would show, however long they are. */
#define SUM_BLOCK (64 * SUM_LANES)
#define ADD_BLOCK(sum, lost, v)                                                                    \
    do {                                                                                           \
        const ACC tdm_term = (v) - (lost), tdm_total = (sum) + tdm_term;                           \
        (lost) = (tdm_total - (sum)) - tdm_term;                                                   \
        (sum) = tdm_total;                                                                         \
    } while (0)

#endif

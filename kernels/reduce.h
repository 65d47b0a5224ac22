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

/* Partial sums of one lane: 128 bytes of ACC, two of the widest registers, so that additions do not wait for
 * each other. Literals, as a pragma takes no sizeof. */
#if LANES == 1
#define tdm_sum_lanes_f32 32
#define tdm_sum_lanes_f64 16
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
    if (tdm_from < (end)) TDM_STEP(tdm_from, (end)-tdm_from, SUM_LANES)                            \
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

/* One half of the parts onto the other, again and again, in whole registers: a loop of constant length some
 * compilers take element by element. */
#define TDM_OF_16(name, v, combine, scalar)                                                        \
    const tdm_parts_##name##_8 tdm_8 = combine(TDM_LOWER(name, 8, v), TDM_UPPER(name, 8, v));         \
    const tdm_parts_##name##_4 tdm_4 = combine(TDM_LOWER(name, 4, tdm_8), TDM_UPPER(name, 4, tdm_8)); \
    return scalar(scalar(TDM_PART(tdm_4, 0), TDM_PART(tdm_4, 2)),                                  \
                  scalar(TDM_PART(tdm_4, 1), TDM_PART(tdm_4, 3)));
#define TDM_OF_32(name, combine, scalar)                                                           \
    const tdm_parts_##name##_16 tdm_16 =                                                           \
        combine(TDM_PARTS_16(name, parts, 0), TDM_PARTS_16(name, parts, 1));                       \
    TDM_OF_16(name, tdm_16, combine, scalar)
#define TDM_ADDED(a, b) ((a) + (b))
INLINE float tdm_total_f32(const float *parts)
{
    TDM_OF_32(f32, TDM_ADDED, TDM_ADDED)
}
INLINE tdm_i32 tdm_top_f32(const tdm_i32 *parts)
{
    TDM_OF_32(i32, TDM_LARGER, MAX)
}
#if TDM_HAS_F64
INLINE double tdm_total_f64(const double *parts)
{
    const tdm_parts_f64_16 tdm_16 = TDM_PARTS_16(f64, parts, 0);
    TDM_OF_16(f64, tdm_16, TDM_ADDED, TDM_ADDED)
}
INLINE tdm_i64 tdm_top_f64(const tdm_i64 *parts)
{
    const tdm_parts_i64_16 tdm_16 = TDM_PARTS_16(i64, parts, 0);
    TDM_OF_16(i64, tdm_16, TDM_LARGER, MAX)
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

/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* Sums, products and maxima of a row's elements, the same in all three languages. Compiled after numeric.h.
 *
 * SUM: a += v over [begin, end), or over a lane's part of it on a GPU. SUM2: two of them, b += w as
 * well, of which `d` declares what they share. PRODUCT: a *= v, with GROUP_PRODUCT to follow. LARGEST: the largest of
 * integer keys, and of a. With
 * one lane there is a line of partial results, whatever the registers' width and whether or not the
 * compiler vectorises, so that a sum is the same on all CPUs but for fused multiply-adds. Where
 * `ahead` is given, each step fetches as many elements further on: a norm then reads memory in 0.85
 * of the time. On a GPU a GROUP_ macro must follow. */
#ifndef TDMI_KERNEL_REDUCE_H
#define TDMI_KERNEL_REDUCE_H

/* Partial sums of one lane: 128 bytes of ACC, two of the widest registers, so that additions do not wait for
 * each other. Literals, as a pragma takes no sizeof. */
#if ROW_LOOPS
#define tdm_sum_lanes_f32 32
#define tdm_sum_lanes_f64 16
#define tdm_sum_lanes_w32 32
#define tdm_sum_lanes_w64 16
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
#define PRODUCT(a, j, begin, end, reads, v, ahead)                                                 \
    do {                                                                                           \
        PRIVATE_ARRAY(ACC, tdm_as, SUM_LANES);                                                     \
        for (tdm_i32 tdm_k = 0; tdm_k < SUM_LANES; tdm_k++) tdm_as[tdm_k] = 1;                     \
        TDM_REDUCE_LOOP(j, begin, end, reads, tdm_as[tdm_k] *= (v);, (a) *= (v);, ahead)           \
        (a) *= TDM_BY_ACC(tdm_product_)(tdm_as);                                                   \
    } while (0)
#define GROUP_PRODUCT(scratch, v) ((void)(scratch), (v))
/* The steps of a line, then what is left. `row` and `near` are what `ahead` stands for. */
#define TDM_REDUCE_LOOP(j, begin, end, reads, in_lines, in_rest, row, near)                        \
    tdm_i32 tdm_from = (begin);                                                                    \
    for (; tdm_from <= (end) - SUM_LANES; tdm_from += SUM_LANES) {                                 \
        tdm_fetch(row, near, tdm_from, SUM_LANES, (tdm_i32)sizeof(T));                             \
        TDM_STEP(tdm_from, SUM_LANES, SUM_LANES)                                                   \
        reads TDM_ONE_STEP(SUM_LANES)                                                              \
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
#define TDM_MULTIPLIED(a, b) ((a) * (b))
INLINE float tdm_product_f32(const float *parts)
{
    TDM_OF_32(f32, TDM_MULTIPLIED, TDM_MULTIPLIED)
}
INLINE tdm_i32 tdm_top_f32(const tdm_i32 *parts)
{
    TDM_OF_32(i32, TDM_LARGER, MAX)
}
INLINE tdm_i64 tdm_top_f64(const tdm_i64 *parts)
{
    const tdm_parts_i64_16 tdm_16 = TDM_PARTS_16(i64, parts, 0);
    TDM_OF_16(i64, tdm_16, TDM_LARGER, MAX)
}
INLINE tdm_u64 tdm_total_of_words(const tdm_u64 *parts, tdm_i32 count)
{
    tdm_u64 total = 0;
    for (tdm_i32 k = 0; k < count; k++)
        total += parts[k];
    return total;
}
INLINE tdm_u64 tdm_product_of_words(const tdm_u64 *parts, tdm_i32 count)
{
    tdm_u64 product = 1;
    for (tdm_i32 k = 0; k < count; k++)
        product *= parts[k];
    return product;
}
#define tdm_product_w32(parts) tdm_product_of_words(parts, 32)
#define tdm_product_w64(parts) tdm_product_of_words(parts, 16)
#define tdm_total_w32(parts) tdm_total_of_words(parts, 32)
#define tdm_total_w64(parts) tdm_total_of_words(parts, 16)
#define tdm_top_w32 tdm_top_f32
#define tdm_top_w64 tdm_top_f64
#if TDM_HAS_F64
INLINE double tdm_total_f64(const double *parts)
{
    const tdm_parts_f64_16 tdm_16 = TDM_PARTS_16(f64, parts, 0);
    TDM_OF_16(f64, tdm_16, TDM_ADDED, TDM_ADDED)
}
INLINE double tdm_product_f64(const double *parts)
{
    const tdm_parts_f64_16 tdm_16 = TDM_PARTS_16(f64, parts, 0);
    TDM_OF_16(f64, tdm_16, TDM_MULTIPLIED, TDM_MULTIPLIED)
}
#endif
#else
#define SUM_LANES (LANES * TDM_PARTIALS)
/* A lane's partial results, of which the first begins with what there is, and the others with what changes none. */
#define TDM_PARTIAL_RESULTS(type, name, first, others)                                             \
    PRIVATE_ARRAY(type, name, TDM_PARTIALS);                                                       \
    name[0] = (first);                                                                             \
    for (tdm_i32 tdm_p = 1; tdm_p < TDM_PARTIALS; tdm_p++) name[tdm_p] = (others)
#define TDM_COMBINE(name, combined)                                                                \
    for (tdm_i32 tdm_half = TDM_PARTIALS / 2; tdm_half > 0; tdm_half /= 2)                         \
        for (tdm_i32 tdm_p = 0; tdm_p < tdm_half; tdm_p++)                                         \
            name[tdm_p] = combined(name[tdm_p], name[tdm_p + tdm_half])
#define TDM_ADDED(a, b) ((a) + (b))
#define SUM(a, j, begin, end, reads, v, ahead)                                                     \
    do {                                                                                           \
        TDM_PARTIAL_RESULTS(ACC, tdm_as, a, 0);                                                    \
        TDM_SHARE(j, begin, end, reads)                                                            \
        {                                                                                          \
            const ACC tdm_v = (v);                                                                 \
            tdm_as[TDM_PARTIAL] += TDM_INSIDE(j, tdm_v, 0);                                        \
        }                                                                                          \
        TDM_COMBINE(tdm_as, TDM_ADDED);                                                            \
        (a) = tdm_as[0];                                                                           \
    } while (0)
#define SUM2(a, b, j, begin, end, reads, d, v, w, ahead)                                           \
    do {                                                                                           \
        TDM_PARTIAL_RESULTS(ACC, tdm_as, a, 0);                                                    \
        TDM_PARTIAL_RESULTS(ACC, tdm_bs, b, 0);                                                    \
        TDM_SHARE(j, begin, end, reads)                                                            \
        {                                                                                          \
            d;                                                                                     \
            const ACC tdm_v = (v), tdm_w = (w);                                                    \
            tdm_as[TDM_PARTIAL] += TDM_INSIDE(j, tdm_v, 0);                                        \
            tdm_bs[TDM_PARTIAL] += TDM_INSIDE(j, tdm_w, 0);                                        \
        }                                                                                          \
        TDM_COMBINE(tdm_as, TDM_ADDED);                                                            \
        TDM_COMBINE(tdm_bs, TDM_ADDED);                                                            \
        (a) = tdm_as[0];                                                                           \
        (b) = tdm_bs[0];                                                                           \
    } while (0)
#define PRODUCT(a, j, begin, end, reads, v, ahead)                                                 \
    do {                                                                                           \
        TDM_SHARE(j, begin, end, reads)                                                            \
        {                                                                                          \
            const ACC tdm_v = (v);                                                                 \
            (a) *= TDM_INSIDE(j, tdm_v, 1);                                                        \
        }                                                                                          \
    } while (0)
#define GROUP_PRODUCT(scratch, v) tdm_group_product(scratch, v)
#if T_IS_FLOAT || T_KIND == TDM_KIND_UNSIGNED /* which have an ACC */
/* over all lanes, so of rows that are not read in vectors; scratch: an ACC for each */
INLINE ACC tdm_group_product(LOCAL ACC *scratch, ACC v)
{
    scratch[LANE] = v;
    BARRIER;
    for (tdm_i32 distance = LANES / 2; distance > 0; distance /= 2) {
        if (LANE < distance) scratch[LANE] *= scratch[LANE + distance];
        BARRIER;
    }
    const ACC product = scratch[0];
    BARRIER;
    return product;
}
#endif
#define LARGEST(a, j, begin, end, reads, key, ahead)                                               \
    do {                                                                                           \
        TDM_PARTIAL_RESULTS(KEY, tdm_ks, a, a);                                                    \
        TDM_SHARE(j, begin, end, reads)                                                            \
        {                                                                                          \
            const KEY tdm_k_of_j = (key);                                                          \
            TDM_RAISE(tdm_ks[TDM_PARTIAL], TDM_INSIDE(j, tdm_k_of_j, tdm_ks[TDM_PARTIAL]))         \
        }                                                                                          \
        TDM_COMBINE(tdm_ks, MAX);                                                                  \
        (a) = tdm_ks[0];                                                                           \
    } while (0)
#endif
#define TDM_RAISE(a, key)                                                                          \
    {                                                                                              \
        const KEY tdm_key = (key);                                                                 \
        (a) = MAX(a, tdm_key);                                                                     \
    }

/* Long sums are taken in blocks in which no partial sum has more than 64 terms. All may be rounded
 * in one direction, as are differences from one number of values that share a grid, so the error is
 * up to a half eps for each. ADD_BLOCK keeps what adding a block's sum loses (Kahan, CACM 8, 1965), however many
 * blocks there are; an infinite sum has lost nothing. */
#define SUM_BLOCK (64 * SUM_LANES)
#if HOLDS /* of which a lane's part is no block */
#define FOR_BLOCKS_OF(from, to, begin, end)                                                        \
    for (tdm_i32 from = (begin), to = (end), tdm_single = 1; tdm_single; tdm_single = 0)
#else
#define FOR_BLOCKS_OF(from, to, begin, end)                                                        \
    for (tdm_i32 from = (begin), to = (end)-from > SUM_BLOCK ? from + SUM_BLOCK : (end);           \
         from < (end); from = to, to = (end)-to > SUM_BLOCK ? to + SUM_BLOCK : (end))
#endif
#define SUM_ROWS 64 /* of columns, likewise */
#define ADD_BLOCK(sum, lost, v)                                                                    \
    do {                                                                                           \
        const ACC tdm_term = (v) - (lost), tdm_total = (sum) + tdm_term;                           \
        const ACC tdm_less = (tdm_total - (sum)) - tdm_term;                                       \
        (lost) = LOST(tdm_less);                                                                   \
        (sum) = tdm_total;                                                                         \
    } while (0)
/* The same for the block that begins at `from`. The row's first block, at `begin`, is taken as it is: most rows have no
 * other. */
#define TDM_ADD_BLOCK_AT(from, begin, sum, lost, v)                                                \
    do {                                                                                           \
        if ((from) == (begin))                                                                     \
            (sum) = (v);                                                                           \
        else                                                                                       \
            ADD_BLOCK(sum, lost, v);                                                               \
    } while (0)
/* The loss of a sum, or 0 where that is not finite, as of infinite sums. */
#define LOST(v) TDM_BY_ACC(tdm_lost_)(v)
#define tdm_lost_f32(v) (IS_FINITE(v) ? (v) : 0)
#define tdm_lost_f64(v) (IS_FINITE(v) ? (v) : 0)
#define tdm_lost_w32(v) (v)
#define tdm_lost_w64(v) (v)

/* An element of an array of results, whose dtype has this number: v, rounded to it. */
#define PUT_AS(p, at, v, to) TDM_BY_ACC(tdm_put_as_)(p, at, v, to)
#define tdm_put_as_f64(p, at, v, to) ((p)[at] = (v))
#define tdm_put_as_w32(p, at, v, to) ((p)[at] = (v))
#define tdm_put_as_w64(p, at, v, to) ((p)[at] = (v))
APART void tdm_put_as_f32(GLOBAL float *p, tdm_i64 at, float v, tdm_i32 to)
{
    if (to == TDM_ID_F16)
        ((GLOBAL tdm_u16 *)p)[at] = PUT_F16(v);
    else if (to == TDM_ID_BF16)
        ((GLOBAL tdm_u16 *)p)[at] = PUT_BF16(v);
    else
        p[at] = v;
}

/* Elements as integers in the order of their values, from their bits at the top of a key. mask: all, or all but a
 * float's sign. fold: all but the sign, of floats, whose negative ones come the other way round. turn: what turns the
 * order of the others, or of unsigned integers, as their top bit is no sign. above: the bits of infinity, above which
 * is NaN, the largest of all keys, whichever way they are turned; of integers the largest key, above which is nothing.
 * VALUE_OF_RANK: what a rank was made of, unless it was NaN. */
#define RANK(w, mask, fold, turn, above) TDM_BY_ACC(tdm_rank_)(w, mask, fold, turn, above)
#define VALUE_OF_RANK(rank, fold, turn) TDM_BY_ACC(tdm_of_rank_)(rank, fold, turn)
#define HIGHEST_KEY TDM_BY_ACC(tdm_highest_key_)
#define tdm_highest_key_w32 0x7fffffff
#define tdm_highest_key_w64 (~tdm_lowest_key_f64)
#define TDM_RANKS(name, type)                                                                      \
    INLINE type tdm_rank_##name(type w, type mask, type fold, type turn, type above)               \
    {                                                                                              \
        const type v = w & mask;                                                                   \
        const type rank = v ^ ((v >> (8 * (tdm_i32)sizeof(type) - 1)) & fold) ^ turn;              \
        return (v & tdm_highest_key_##name) > above ? tdm_highest_key_##name : rank;               \
    }                                                                                              \
    INLINE type tdm_of_rank_##name(type rank, type fold, type turn)                                \
    {                                                                                              \
        const type v = rank ^ turn;                                                                \
        return v ^ ((v >> (8 * (tdm_i32)sizeof(type) - 1)) & fold);                                \
    }
TDM_RANKS(w32, tdm_i32)
TDM_RANKS(w64, tdm_i64)
/* the upper half of tdm_rank_w32's, of such halves; by a mask, as GCC 12 fails on what it makes of a condition */
INLINE tdm_i16 tdm_rank_16(tdm_i16 w, tdm_i16 mask, tdm_i16 fold, tdm_i16 turn, tdm_i16 above)
{
    const tdm_i16 v = (tdm_i16)(w & mask);
    const tdm_i16 rank = (tdm_i16)(v ^ ((v >> 15) & fold) ^ turn);
    const tdm_i16 is_above = (tdm_i16)((tdm_i16)(above - (v & 0x7fff)) >> 15);
    return (tdm_i16)((rank & ~is_above) | (0x7fff & is_above));
}

#endif

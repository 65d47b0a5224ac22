/* Sums and maxima of a row's elements, the same in all three languages. Compiled after numeric.h.
 *
 * SUM: a += v over [begin, end), or over a lane's part of it on a GPU. SUM2: two of them, b += w as
 * well, of which `d` declares what they share. LARGEST: the largest of integer keys, and of a. With
 * one lane there is a line of partial results, whatever the registers' width and whether or not the
 * compiler vectorises, so that a sum is the same on all CPUs but for fused multiply-adds. A line is
 * fetched for each that is read, as otherwise a core reads memory a quarter more slowly. */
#ifndef TDMI_KERNEL_REDUCE_H
#define TDMI_KERNEL_REDUCE_H

/* How many elements ahead of a loop that reads a row once its input is fetched. */
#define FETCH_DISTANCE (2048 / (tdm_i32)sizeof(T))

#if LANES == 1
#define SUM(a, j, begin, end, v, ahead)                                                            \
    do {                                                                                           \
        PRIVATE_ARRAY(ACC, tdm_as, SUM_LANES) = {0};                                               \
        TDM_REDUCE_LOOP(j, begin, end, tdm_as[tdm_k] += (v);, (a) += (v);, ahead)                  \
        (a) += TDM_BY_ACC(tdm_total_)(tdm_as);                                                     \
    } while (0)
#define SUM2(a, b, j, begin, end, d, v, w, ahead)                                                  \
    do {                                                                                           \
        PRIVATE_ARRAY(ACC, tdm_as, SUM_LANES) = {0};                                               \
        PRIVATE_ARRAY(ACC, tdm_bs, SUM_LANES) = {0};                                               \
        TDM_REDUCE_LOOP(                                                                           \
            j, begin, end, d; tdm_as[tdm_k] += (v); tdm_bs[tdm_k] += (w);                          \
            , d; (a) += (v); (b) += (w);, ahead)                                                   \
        (a) += TDM_BY_ACC(tdm_total_)(tdm_as);                                                     \
        (b) += TDM_BY_ACC(tdm_total_)(tdm_bs);                                                     \
    } while (0)
#define TDM_REDUCE_LOOP(j, begin, end, in_lines, in_rest, ...)                                     \
    tdm_i32 tdm_from = (begin);                                                                    \
    for (; tdm_from + SUM_LANES <= (end); tdm_from += SUM_LANES) {                                 \
        tdm_fetch(__VA_ARGS__, tdm_from, SUM_LANES, (tdm_i32)sizeof(T));                           \
        TDM_SIMD_LINE                                                                              \
        for (tdm_i32 tdm_k = 0; tdm_k < SUM_LANES; tdm_k++) {                                      \
            const tdm_i32 j = tdm_from + tdm_k;                                                    \
            in_lines                                                                               \
        }                                                                                          \
    }                                                                                              \
    for (tdm_i32 j = tdm_from; j < (end); j++) {                                                   \
        in_rest                                                                                    \
    }

#define LARGEST(a, j, begin, end, key, ahead)                                                      \
    do {                                                                                           \
        PRIVATE_ARRAY(KEY, tdm_ks, SUM_LANES);                                                     \
        for (tdm_i32 tdm_k = 0; tdm_k < SUM_LANES; tdm_k++) tdm_ks[tdm_k] = (a);                   \
        TDM_REDUCE_LOOP(j, begin, end, TDM_RAISE(tdm_ks[tdm_k], key), TDM_RAISE(a, key), ahead)    \
        TDM_RAISE(a, TDM_BY_ACC(tdm_top_)(tdm_ks))                                                 \
    } while (0)

/* Half of a line onto the other half, again and again. */
#define TDM_REDUCE_LINE(name, type, first_half, combined)                                          \
    INLINE type name(type *parts)                                                                  \
    {                                                                                              \
        for (tdm_i32 half_way = first_half; half_way > 0; half_way /= 2) {                         \
            for (tdm_i32 i = 0; i < half_way; i++) {                                               \
                const type a = parts[i], b = parts[i + half_way];                                  \
                parts[i] = combined;                                                               \
            }                                                                                      \
        }                                                                                          \
        return parts[0];                                                                           \
    }
TDM_REDUCE_LINE(tdm_total_f32, float, 8, a + b)
TDM_REDUCE_LINE(tdm_top_f32, tdm_i32, 8, MAX(a, b))
#if TDM_HAS_F64
TDM_REDUCE_LINE(tdm_total_f64, double, 4, a + b)
TDM_REDUCE_LINE(tdm_top_f64, tdm_i64, 4, MAX(a, b))
#endif
#else
#define SUM_LANES LANES
#define SUM(a, j, begin, end, v, ahead)                                                            \
    FOR_LANES(j, begin, end) { (a) += (v); }
#define SUM2(a, b, j, begin, end, d, v, w, ahead)                                                  \
    FOR_LANES(j, begin, end)                                                                       \
    {                                                                                              \
        d;                                                                                         \
        (a) += (v);                                                                                \
        (b) += (w);                                                                                \
    }
#define LARGEST(a, j, begin, end, key, ahead)                                                      \
    FOR_LANES(j, begin, end)                                                                       \
    {                                                                                              \
        TDM_RAISE(a, key)                                                                          \
    }
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

/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* Rows in pieces and chunks (tdm_cut), and the states that chunks leave and that merge: squares and moments. The
 * same in all three languages; compiled after reduce.h.
 *
 * A chunk whose squares overflow or vanish is multiplied by a power of two, its factor, whatever those of the
 * others are, and its state is in terms of that. Two states merge in terms of the lesser factor, that of the larger
 * elements, compared with which the others may vanish. */
#ifndef TDMI_KERNEL_CHUNKS_H
#define TDMI_KERNEL_CHUNKS_H

/* PIECE declares an item's row, where in it the piece begins, its columns, and `tdm_first`, its first chunk. CUT stands
 * before the rows: on a CPU, where short rows are quick, it declares what is the same for all, as where rows are cut
 * each group has one item. A GPU would need registers for that; and there a row that is held is one chunk. */
#define CHUNKS (HOLDS ? 1 : (tdm_i32)args.cut.chunks)
#define PIECES (HOLDS ? 1 : (tdm_i32)args.cut.pieces)
#define PHASE (HOLDS ? TDM_ROWS_WHOLE : args.cut.phase)
#define TDM_PIECE_START(number) ((tdm_i64)(number) * args.cut.piece)
#define TDM_PIECE_COLS(start) ((tdm_i32)MIN((tdm_i64)args.cut.piece, (tdm_i64)args.cut.cols - (start)))
#if ROW_LOOPS
#define CUT                                                                                        \
    tdm_i64 tdm_more = 0, tdm_start = 0; /* more items before this one than rows */                \
    tdm_i32 tdm_cols = (tdm_i32)args.cut.cols, tdm_first = 0;                                      \
    if (PIECES > 1) {                                                                              \
        const tdm_i64 tdm_item = FIRST_ROW(args.rows * PIECES);                                    \
        tdm_more = tdm_item - tdm_item / PIECES;                                                   \
        tdm_start = TDM_PIECE_START(tdm_item % PIECES);                                            \
        tdm_cols = TDM_PIECE_COLS(tdm_start);                                                      \
        tdm_first = (tdm_i32)(tdm_start / args.cut.chunk);                                         \
    }
#define PIECE(item, row, start, cols)                                                              \
    const tdm_i64 row = item - tdm_more, start = tdm_start;                                        \
    const tdm_i32 cols = tdm_cols
#else
#define CUT
#define PIECE(item, row, start, cols)                                                              \
    tdm_i64 row = item, start = 0;                                                                 \
    tdm_i32 cols = (tdm_i32)args.cut.cols, tdm_first = 0;                                          \
    if (PIECES > 1) {                                                                              \
        row = item / PIECES;                                                                       \
        start = TDM_PIECE_START(item - row * PIECES);                                              \
        cols = TDM_PIECE_COLS(start);                                                              \
        tdm_first = (tdm_i32)(start / args.cut.chunk);                                             \
    }
#endif

/* The chunks of a piece of so many columns, from `first` on: chunk c of the row is [begin, end) of the piece. */
#if HOLDS
#define TDM_FOR_CHUNKS(c, begin, end, first, cols)                                                 \
    for (tdm_i32 c = 0, begin = 0, end = (cols), tdm_once = 1; tdm_once; tdm_once = 0)
#else
#define TDM_FOR_CHUNKS(c, begin, end, first, cols)                                                 \
    for (tdm_i32 c = first, begin = 0, end = TDM_CHUNK_END(0, cols); begin < (cols);               \
         c++, begin = end, end = TDM_CHUNK_END(begin, cols))
#define TDM_CHUNK_END(begin, cols)                                                                 \
    ((cols) - (begin) > (tdm_i32)args.cut.chunk ? (begin) + (tdm_i32)args.cut.chunk : (cols))
#endif

/* The chunks whose states an item needs: the row's, where they are LEFT. KEEP_STATE leaves one that was found, or
 * merges it into `all`, by an expression for all but the first. One loop for all, and so one text that is compiled,
 * as a multiplication and an addition may become one operation. */
#define FOR_STATES(c, begin, end, cols)                                                            \
    TDM_FOR_CHUNKS(c, begin, end, PHASE == TDM_ROWS_WRITES ? 0 : tdm_first,                        \
                   PHASE == TDM_ROWS_WRITES ? (tdm_i32)args.cut.cols : (cols))
#define LEFT(c) partial[row * CHUNKS + (c)]
#define KEEP_STATE(all, c, s, merged)                                                              \
    do {                                                                                           \
        if (PHASE == TDM_ROWS_SUMS) {                                                              \
            if (LANE == 0) LEFT(c) = s;                                                            \
        } else {                                                                                   \
            all = (c) == 0 ? s : merged;                                                           \
        }                                                                                          \
    } while (0)

#if T_IS_FLOAT

/* The quotient of two powers of two, exact, or 0 where it is below the normal numbers. */
INLINE ACC tdm_ratio(ACC a, ACC b)
{
    const KEY quotient = MAGNITUDE_KEY(a) - MAGNITUDE_KEY(b) + MAGNITUDE_KEY((ACC)1);
    return MAGNITUDE_OF(MAX(quotient, (KEY)0));
}

/* The factor for elements [begin, end) of x + residual, or of x alone where that is NULL: the power of two that brings
 * the largest of them, and `least`, near 2^40. */
APART ACC tdm_safe_factor(GLOBAL const T *x, GLOBAL const T *residual, tdm_i32 begin, tdm_i32 end, ACC least,
                          LOCAL KEY *key_scratch)
{
    KEY key = MAGNITUDE_KEY(least);
    FOR_LANES_SINGLY(j, end - begin)
    {
        const ACC v = LOAD(x, begin + j);
        TDM_RAISE(key, MAGNITUDE_KEY(residual ? ROUND(v + LOAD(residual, begin + j)) : v))
    }
    return RESCALE(GROUP_MAX(key_scratch, key));
}

/* Adds two states' sums, whichever is larger (Møller, BIT 5, 1965). `lost` has what both have lost so far, and then
 * what the new sum has. */
#define ADD_STATES(sum, lost, a, b)                                                                \
    do {                                                                                           \
        const ACC tdm_term = (b) - (lost), tdm_total = (a) + tdm_term, tdm_part = tdm_total - (a); \
        const ACC tdm_less = (tdm_part - tdm_term) - ((a) - (tdm_total - tdm_part));               \
        (lost) = LOST(tdm_less);                                                                   \
        (sum) = tdm_total;                                                                         \
    } while (0)

/* The sum of squares of elements times the factor, and what adding chunks lost. Those of TDM_MOST_CHUNKS can be
 * added. */
typedef struct tdm_squares {
    ACC factor, sum, lost;
} tdm_squares;
#define SAFE_SUM(sum, result) (IS_FINITE((sum) * (ACC)TDM_MOST_CHUNKS) && SAFE_SQUARES(result))

/* the middle one of three */
INLINE ACC tdm_middle(ACC a, ACC b, ACC c)
{
    return MAX(MIN(a, b), MIN(MAX(a, b), c));
}

INLINE tdm_squares tdm_squares_of(ACC factor, ACC sum)
{
    tdm_squares s;
    s.factor = factor;
    s.sum = sum;
    s.lost = 0;
    return s;
}

INLINE tdm_squares tdm_squares_merged(tdm_squares a, tdm_squares b)
{
    const ACC factor = MIN(a.factor, b.factor);
    const ACC of_a = SQUARE(tdm_ratio(factor, a.factor)), of_b = SQUARE(tdm_ratio(factor, b.factor));
    const ACC sum_a = a.sum * of_a, sum_b = b.sum * of_b;
    tdm_squares all;
    all.factor = factor;
    all.lost = a.lost * of_a + b.lost * of_b;
    ADD_STATES(all.sum, all.lost, sum_a, sum_b);
    return all;
}

/* Finds s, the squares of chunk [begin, end) of x + residual, or of x alone where that is NULL; v is element j, after
 * `reads` have read it. Where least + sum inverse loses what squares have, they are those of elements
 * times a factor that leaves the square of `root` above 0, too. */
#define SQUARES(s, x, residual, j, begin, end, reads, v, inverse, least, root)                     \
    do {                                                                                           \
        ACC tdm_factor = 1, tdm_sum = 0;                                                           \
        for (tdm_i32 tdm_turn = 0, tdm_turns = 1; tdm_turn < tdm_turns; tdm_turn++) {              \
            ACC tdm_lost = 0;                                                                      \
            tdm_sum = 0;                                                                           \
            FOR_BLOCKS_OF(tdm_block, tdm_stop, begin, end)                                         \
            {                                                                                      \
                ACC tdm_a = 0;                                                                     \
                SUM(tdm_a, j, tdm_block, tdm_stop, reads, SQUARE((v) * tdm_factor), AHEAD(x));     \
                TDM_ADD_BLOCK_AT(tdm_block, begin, tdm_sum, tdm_lost, tdm_a);                      \
            }                                                                                      \
            tdm_sum = GROUP_SUM(scratch, tdm_sum);                                                 \
            if (tdm_turn == 0 && !SAFE_SUM(tdm_sum, tdm_sum * (inverse) + (least))) {              \
                tdm_factor = tdm_safe_factor(x, residual, begin, end, root, key_scratch);          \
                tdm_turns = 2;                                                                     \
            }                                                                                      \
        }                                                                                          \
        s = tdm_squares_of(tdm_factor, tdm_sum);                                                   \
    } while (0)

/* Of `count` elements times the factor: their mean, mean + rest, as a rounded sum and what that lost, and the mean of
 * the squares of their differences from it. */
typedef struct tdm_moments {
    ACC factor, count, mean, rest, variance;
} tdm_moments;

/* From sums of elements' differences from a pivot, of which `lost` is what adding it lost, and of their squares. */
INLINE tdm_moments tdm_moments_around(ACC factor, ACC pivot, tdm_i32 count, ACC sum, ACC lost, ACC squares)
{
    tdm_moments m;
    m.factor = factor;
    m.count = (ACC)count;
    const ACC inverse = (ACC)1 / m.count, shift = sum * inverse;
    const ACC low = (FMA(-shift, m.count, sum) - lost) * inverse;
    m.mean = pivot + shift;
    const ACC added = m.mean - pivot;
    m.rest = (pivot - (m.mean - added)) + ((shift - added) + low);
    m.variance = squares * inverse - shift * shift;
    return m;
}

/* Whether the squares overflowed, where differences of two states have a sixteenth of the range to themselves, or
 * vanished. Equal elements, whose sums are all 0, have lost nothing, but the mean that they and others have together
 * may have too few digits where they are small; so may the variance unless epsilon is above 0. */
INLINE tdm_i32 tdm_moments_are_lost(tdm_moments m, ACC sum, ACC squares, ACC epsilon)
{
    if (!IS_FINITE((squares + SQUARE(m.mean)) * (ACC)16)) return 1;
    if (SAFE_SQUARES(squares)) return 0;
    const tdm_i32 equal = sum == 0 && squares == 0;
    return !equal || !(epsilon > 0) || (m.mean != 0 && !SAFE_SQUARES(SQUARE(m.mean)));
}

/* Finds m, the moments of chunk [begin, end), as SQUARES does; `middle` is an element that is hardly an outlier:
 * the middle one of three, as outliers lie where few patterns repeat. One pass takes them around that, the pivot.
 * Around the mean itself more digits would be lost where few elements are far from all others, as each sum with one
 * of these is rounded in their terms. Another pass follows where squares are lost, of the elements times a factor,
 * and where the mean is far from the pivot in terms of the deviation, which loses digits, around the mean found so
 * far. The variance of equal elements times a factor is above 0 if epsilon is, as epsilon vanishes in their terms. */
#define MOMENTS(m, x, residual, middle, j, begin, end, reads, v, epsilon, root)                    \
    do {                                                                                           \
        ACC tdm_factor = 1, tdm_pivot = middle;                                                    \
        for (tdm_i32 tdm_pass = 0; tdm_pass < 3;) {                                                \
            ACC tdm_summed = 0, tdm_lost = 0, tdm_squared = 0, tdm_less_squared = 0;               \
            FOR_BLOCKS_OF(tdm_block, tdm_stop, begin, end)                                         \
            {                                                                                      \
                ACC tdm_a = 0, tdm_b = 0;                                                          \
                SUM2(tdm_a, tdm_b, j, tdm_block, tdm_stop, reads,                                  \
                     const ACC tdm_d = (v) * tdm_factor - tdm_pivot, tdm_d, tdm_d * tdm_d, AHEAD(x)); \
                TDM_ADD_BLOCK_AT(tdm_block, begin, tdm_summed, tdm_lost, tdm_a);                   \
                TDM_ADD_BLOCK_AT(tdm_block, begin, tdm_squared, tdm_less_squared, tdm_b);          \
            }                                                                                      \
            tdm_summed = GROUP_SUM(scratch, tdm_summed);                                           \
            tdm_squared = GROUP_SUM(scratch, tdm_squared);                                         \
            m = tdm_moments_around(tdm_factor, tdm_pivot, (end) - (begin), tdm_summed,             \
                                   LANES == 1 ? tdm_lost : 0, tdm_squared);                        \
            if (tdm_pass == 0 && tdm_moments_are_lost(m, tdm_summed, tdm_squared, epsilon)) {      \
                tdm_factor = tdm_safe_factor(x, residual, begin, end, root, key_scratch);          \
                tdm_pivot *= tdm_factor;                                                           \
                tdm_pass = 1;                                                                      \
            } else if (tdm_pass < 2 && !(SQUARE(m.mean - tdm_pivot) <= (ACC)4 * m.variance)) {     \
                tdm_pivot = m.mean;                                                                \
                tdm_pass = 2;                                                                      \
            } else {                                                                               \
                if (tdm_factor != (ACC)1 && m.variance == 0 && (root) > 0) m.variance = LEAST_NORMAL; \
                tdm_pass = 3;                                                                      \
            }                                                                                      \
        }                                                                                          \
    } while (0)

/* In terms of a lesser factor. */
INLINE tdm_moments tdm_moments_scaled(tdm_moments m, ACC factor)
{
    const ACC ratio = tdm_ratio(factor, m.factor);
    m.factor = factor;
    m.mean *= ratio;
    m.rest *= ratio;
    m.variance *= ratio * ratio;
    return m;
}

/* After Chan, Golub and LeVeque (COMPSTAT 1982). */
INLINE tdm_moments tdm_moments_merged(tdm_moments a, tdm_moments b)
{
    /* Zeros are the same times any factor. */
    if (a.mean == 0 && a.variance == 0) a.factor = b.factor;
    if (b.mean == 0 && b.variance == 0) b.factor = a.factor;
    if (a.factor != b.factor) {
        const ACC factor = MIN(a.factor, b.factor);
        a = tdm_moments_scaled(a, factor);
        b = tdm_moments_scaled(b, factor);
    }
    tdm_moments all;
    all.factor = a.factor;
    all.count = a.count + b.count;
    const ACC share = b.count / all.count;
    const ACC d = (b.mean - a.mean) + (b.rest - a.rest), shift = d * share;
    all.mean = a.mean + shift;
    const ACC added = all.mean - a.mean;
    all.rest = a.rest + ((a.mean - (all.mean - added)) + (shift - added));
    all.variance = a.variance + (b.variance - a.variance) * share + shift * (d - shift);
    return all;
}

#endif
#endif

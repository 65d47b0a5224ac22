/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* Chunks of rows, and what they left, put together by each group that writes one. The same in all three
 * languages; compiled after reduce.h.
 *
 * A chunk whose squares overflow or vanish was multiplied by a power of two, its factor, whatever the others
 * were, and what it left is in terms of that. The row's is the least of them, that of the largest elements,
 * beside which those of other chunks may vanish. The factor of a chunk of zeros is the largest there is. */
#ifndef TDMI_KERNEL_CHUNKS_H
#define TDMI_KERNEL_CHUNKS_H

/* Which part of which row an item is: rows are whole, or CHUNKS to a row. PART declares the row, where in it the
 * part begins, and its columns. CUT stands before the rows: on a CPU, where short rows are quick, it declares
 * what is the same for all, as where rows are cut each group has one item. A GPU would need registers for that;
 * and there a row that is held is whole. */
#define CHUNKS (HOLDS ? 1 : (tdm_i32)args.chunks)
#define PHASE (HOLDS ? TDM_ROWS_WHOLE : args.phase)
#if ROW_LOOPS
#define CUT                                                                                        \
    tdm_i64 tdm_more = 0, tdm_start = 0; /* more items before this one than rows */                \
    tdm_i32 tdm_cols = (tdm_i32)args.cols;                                                         \
    if (CHUNKS > 1) {                                                                              \
        const tdm_i64 tdm_item = FIRST_ROW(args.rows * CHUNKS);                                    \
        tdm_more = tdm_item - tdm_item / CHUNKS;                                                   \
        tdm_start = tdm_item % CHUNKS * args.chunk;                                                \
        tdm_cols = (tdm_i32)MIN((tdm_i64)args.chunk, (tdm_i64)args.cols - tdm_start);              \
    }
#define PART(item, row, start, cols)                                                               \
    const tdm_i64 row = item - tdm_more, start = tdm_start;                                        \
    const tdm_i32 cols = tdm_cols
#else
#define CUT
#define PART(item, row, start, cols)                                                               \
    tdm_i64 row = item, start = 0;                                                                 \
    tdm_i32 cols = (tdm_i32)args.cols;                                                             \
    if (CHUNKS > 1) {                                                                              \
        row = item / CHUNKS;                                                                       \
        start = (item - row * CHUNKS) * args.chunk;                                                \
        cols = (tdm_i32)MIN((tdm_i64)args.chunk, (tdm_i64)args.cols - start);                      \
    }
#endif

#if T_IS_FLOAT

/* The quotient of two powers of two, exact, or 0 where it is below the normal numbers. */
INLINE ACC tdm_ratio(ACC a, ACC b)
{
    const KEY quotient = MAGNITUDE_KEY(a) - MAGNITUDE_KEY(b) + MAGNITUDE_KEY((ACC)1);
    return MAGNITUDE_OF(MAX(quotient, (KEY)0));
}

/* The row's factor. Where it is above 1 it also leaves room for `least`, as that of a whole row does. */
INLINE ACC tdm_factor_of_chunks(GLOBAL const ACC *partial, tdm_i32 parts, tdm_i32 chunks, ACC least,
                                LOCAL KEY *key_scratch)
{
    KEY key = LOWEST_KEY;
    FOR_LANES_SINGLY(j, chunks) TDM_RAISE(key, -MAGNITUDE_KEY(partial[j * parts]))
    const ACC factor = MAGNITUDE_OF(-GROUP_MAX(key_scratch, key));
    const ACC room = RESCALE(MAGNITUDE_KEY(least));
    return factor > (ACC)1 ? MIN(factor, room) : factor;
}

typedef struct tdm_squares {
    ACC factor, sum;
} tdm_squares;

/* Of chunks that left {factor, sum of squares}. */
APART tdm_squares tdm_squares_of_chunks(GLOBAL const ACC *partial, tdm_i32 chunks, ACC least,
                                        LOCAL ACC *scratch, LOCAL KEY *key_scratch)
{
    tdm_squares all;
    all.factor = tdm_factor_of_chunks(partial, 2, chunks, least, key_scratch);
    all.sum = 0;
    FOR_LANES_SINGLY(j, chunks)
    {
        const ACC ratio = tdm_ratio(all.factor, partial[2 * j]);
        all.sum += partial[2 * j + 1] * ratio * ratio;
    }
    all.sum = GROUP_SUM(scratch, all.sum);
    return all;
}

typedef struct tdm_moments {
    ACC factor, mean, rest, variance;
} tdm_moments;

/* Of chunks of `chunk` columns, the last of which may be shorter, that left their moments (Chan, Golub and
 * LeVeque, COMPSTAT 1982). The mean is found around the first chunk's, so that a constant row's is exact, and
 * again around what that gave, as that chunk may be far from all others. */
APART tdm_moments tdm_moments_of_chunks(GLOBAL const ACC *partial, tdm_i32 chunks, tdm_u32 chunk,
                                        tdm_u32 cols, ACC least, LOCAL ACC *scratch,
                                        LOCAL KEY *key_scratch)
{
    const ACC inverse = (ACC)1 / (ACC)cols;
    tdm_moments all;
    all.factor = tdm_factor_of_chunks(partial, 4, chunks, least, key_scratch);
    /* squares of what is between two means may overflow, though none does inside of a chunk */
    KEY largest = 0;
    FOR_LANES_SINGLY(j, chunks)
    {
        const ACC ratio = tdm_ratio(all.factor, partial[4 * j]);
        TDM_RAISE(largest, MAGNITUDE_KEY(partial[4 * j + 1] * ratio))
        TDM_RAISE(largest, MAGNITUDE_KEY(SQRT(ABS(partial[4 * j + 3])) * ratio))
    }
    largest = GROUP_MAX(key_scratch, largest);
    if (!IS_FINITE(SQUARE(MAGNITUDE_OF(largest) * (ACC)16))) all.factor *= RESCALE(largest);
    ACC pivot = LANE == 0 ? partial[1] * tdm_ratio(all.factor, partial[0]) : (ACC)0;
    pivot = GROUP_SUM(scratch, pivot);
    ACC shift = 0, low = 0;
    for (tdm_i32 turn = 0; turn < 2; turn++) {
        pivot += shift;
        ACC sum = 0, lost = 0;
        FOR_LANES_SINGLY(j, chunks)
        {
            const ACC n = (ACC)MIN(chunk, cols - (tdm_u32)j * chunk);
            const ACC ratio = tdm_ratio(all.factor, partial[4 * j]);
            ADD_BLOCK(sum, lost,
                      ((partial[4 * j + 1] * ratio - pivot) + partial[4 * j + 2] * ratio) * n);
        }
        sum = GROUP_SUM(scratch, sum);
        shift = sum * inverse;
        low = (FMA(-shift, (ACC)cols, sum) - (LANES == 1 ? lost : (ACC)0)) * inverse;
    }
    all.mean = pivot + shift;
    const ACC added = all.mean - pivot;
    all.rest = (pivot - (all.mean - added)) + ((shift - added) + low);
    ACC variance = 0;
    FOR_LANES_SINGLY(j, chunks)
    {
        const ACC n = (ACC)MIN(chunk, cols - (tdm_u32)j * chunk);
        const ACC ratio = tdm_ratio(all.factor, partial[4 * j]);
        const ACC d = ((partial[4 * j + 1] * ratio - all.mean) - all.rest) + partial[4 * j + 2] * ratio;
        variance += (partial[4 * j + 3] * ratio * ratio + d * d) * (n * inverse);
    }
    all.variance = GROUP_SUM(scratch, variance);
    return all;
}

#endif
#endif

/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* Sums, products, norms and variances of groups of elements, by OP, whose lines lie along memory, so that a group's
 * lanes share them, or in columns, so that each lane has results of its own and walks from line to line. T is a float
 * or an unsigned integer, as which the others are read; what is made of these has 64 bits.
 *
 * Sums are of blocks in which each partial sum has 64 terms, and of blocks' sums with what adding them lost. Squares
 * that overflow or vanish are taken again of the elements times a power of two. A variance takes two passes over each
 * block, in the cache: around the first element of all, and around the mean of the block, so that neither a large mean
 * nor an outlier costs digits; blocks are put together after Chan, Golub and LeVeque (COMPSTAT 1982). */
#if T_IS_FLOAT
OPS(reduce, TDM_OP_REDUCE_COUNT, 0)
OPS(reduce_variance, 2, 0)
#define SIZE(v) ((squares ? (v) : (ACC)1) * (v))
#define VALUE(v, factor) (KIND == TDM_OP_REDUCE_NORM ? SIZE(ABS((v) * (factor))) : (v))
#define RESULT(v, factor)                                                                          \
    (KIND == TDM_OP_REDUCE_NORM  ? (squares ? SQRT(v) : (v)) / (factor)                            \
     : KIND == TDM_OP_REDUCE_SUM ? (v) / divisor                                                   \
                                 : (v))
#define IS_SAFE(sum) (KIND != TDM_OP_REDUCE_NORM || !squares || SAFE_SQUARES(sum))
#else
OPS(reduce, TDM_OP_REDUCE_INTEGERS, 0)
#define VALUE(v, factor) INTEGER(v)
#define RESULT(v, factor) (v)
#define IS_SAFE(sum) 1
#endif

/* A lane alone multiplies short rows one behind the other: what finds a row would take a third of the time. As one
 * condition, as of many a compiler takes what follows to be seldom. */
#define IS_SHORT                                                                                   \
    (LANES == 1 && OP == TDM_OP_REDUCE_PRODUCT &&                                                  \
     ((args.outer_ndim <= 1) & (args.lines == 1) & (args.chunks == 1) & (args.cols <= SUM_BLOCK)))

/* lines of columns between two passes over them: they fit a core's cache */
#define VARIANCE_ROWS 32

KERNEL3(reduce, tdm_reduce_args, const T, x, const T, other, ACC, y)
{
    GROUP_ARRAY(ACC, scratch);
    LOCAL_ARRAY(ACC, products, LANES);
#if T_IS_FLOAT
    GROUP_ARRAY(KEY, key_scratch);
    const ACC divisor = SCALAR(args.divisor);
    const tdm_i32 squares = args.squares;
#endif
#if LANES == 1
    FOR_ROWS(row, IS_SHORT ? args.rows : 0)
    {
        GLOBAL const T *const xr = x + (args.x_offset + row * args.x_stride[0]);
        ACC product = 1;
        PRODUCT(product, j, 0, (tdm_i32)args.cols, READ(xr), VALUE(AT(xr, j), 1), AHEAD(xr));
        PUT_AS(y, args.y_offset + row * args.y_stride[0], product, args.to);
    }
#endif
    FOR_ROWS(item, IS_SHORT ? 0 : ITEMS(COLUMN_BLOCK(ACC)))
    {
        PLACE(item, COLUMN_BLOCK(ACC));
        if (OP == TDM_OP_REDUCE_PRODUCT) {
            ACC product = 1;
            for (tdm_i64 line = first; line < last; line++) {
                LINE(xr, line)
                PRODUCT(product, j, 0, n, READ(xr), VALUE(AT(xr, j), 1), AHEAD(xr));
            }
            product = GROUP_PRODUCT(products, product);
            if (LANE == 0) PUT_AS(y, y_at, product, args.to);
#if T_IS_FLOAT
        } else if (OP == TDM_OP_REDUCE_VARIANCE) {
            const ACC pivot = LOAD(x, x_at);
            ACC count = 0, mean = 0, around = 0;
            for (tdm_i64 line = first; line < last; line++) {
                LINE(xr, line)
                FOR_BLOCKS(begin, end, n, SUM_BLOCK)
                {
                    const ACC of_block = (ACC)(end - begin);
                    ACC a = 0, b = 0;
                    SUM(a, j, begin, end, READ(xr), AT(xr, j) - pivot, AHEAD(xr));
                    a = GROUP_SUM(scratch, a) / of_block;
                    SUM(b, j, begin, end, READ(xr), SQUARE((AT(xr, j) - pivot) - a), NOTHING_AHEAD);
                    b = GROUP_SUM(scratch, b);
                    const ACC d = a - mean, share = of_block / (count + of_block);
                    mean += d * share;
                    around += b + d * d * (count * share);
                    count += of_block;
                }
            }
            if (LANE == 0 && args.partial) {
                y[y_at] = mean;
                y[y_at + 1] = around;
            } else if (LANE == 0) {
                PUT_AS(y, y_at, around / divisor, args.to);
            }
#endif
        } else if (!IN_COLUMNS) {
            ACC sum = 0, factor = 1;
            (void)factor;
            for (tdm_i32 tries = 0; tries < 2;) {
                ACC lost = 0;
                sum = 0;
                for (tdm_i64 line = first; line < last; line++) {
                    LINE(xr, line)
                    GLOBAL const T *const br =
                        OP == TDM_OP_REDUCE_DOT ? other + (args.other_offset + start) : xr;
                    FOR_BLOCKS(begin, end, n, SUM_BLOCK)
                    {
                        ACC a = 0;
                        SUM(a, j, begin, end, READ(xr) READ_IF(OP == TDM_OP_REDUCE_DOT, br),
                            OP == TDM_OP_REDUCE_DOT ? AT(xr, j) * AT(br, j) : VALUE(AT(xr, j), factor),
                            AHEAD(xr));
                        ADD_BLOCK(sum, lost, a);
                        lost = LOST(lost);
                    }
                }
                sum = GROUP_SUM(scratch, sum - lost);
                tries = tries == 1 || IS_SAFE(sum) ? 2 : 1;
#if T_IS_FLOAT
                if (tries == 1) {
                    KEY largest = 0;
                    for (tdm_i64 line = first; line < last; line++) {
                        LINE(xr, line)
                        LARGEST(largest, j, 0, n, READ(xr), MAGNITUDE_KEY(AT(xr, j)), NOTHING_AHEAD);
                    }
                    factor = RESCALE(GROUP_MAX(key_scratch, largest));
                }
#endif
            }
            if (LANE == 0) PUT_AS(y, y_at, RESULT(sum, factor), args.to);
        } else {
            COLUMNS(ACC, sum);
            COLUMNS(ACC, lost);
            COLUMNS(ACC, some);
            COLUMNS(ACC, factor);
            (void)factor;
#if T_IS_FLOAT
            if (KIND == TDM_OP_REDUCE_VARIANCE) {
                LINE(pivot, 0)
                FOR_COLUMNS(j, columns)
                {
                    OF(sum) = 0; /* the mean of the lines so far, less the pivot */
                    OF(lost) = 0; /* the sum of squares around it */
                }
                for (tdm_i64 from = first; from < last; from += VARIANCE_ROWS) {
                    const tdm_i64 to = MIN(last, from + VARIANCE_ROWS);
                    const ACC count = (ACC)(from - first), of_block = (ACC)(to - from);
                    const ACC share = of_block / (count + of_block);
                    FOR_COLUMNS(j, columns)
                    {
                        OF(some) = 0;
                        OF(factor) = 0;
                    }
                    for (tdm_i64 line = from; line < to; line++) {
                        LINE(xr, line)
                        FOR_COLUMNS(j, columns) { OF(some) += LOAD(xr, j) - LOAD(pivot, j); }
                    }
                    FOR_COLUMNS(j, columns) { OF(some) /= of_block; }
                    for (tdm_i64 line = from; line < to; line++) {
                        LINE(xr, line)
                        FOR_COLUMNS(j, columns)
                        {
                            const ACC d = (LOAD(xr, j) - LOAD(pivot, j)) - OF(some);
                            OF(factor) += d * d;
                        }
                    }
                    FOR_COLUMNS(j, columns)
                    {
                        const ACC d = OF(some) - OF(sum);
                        OF(sum) += d * share;
                        OF(lost) += OF(factor) + d * d * (count * share);
                    }
                }
                FOR_COLUMNS_SINGLY(j, columns)
                {
                    if (args.partial) {
                        y[y_at + j * args.y_step] = OF(sum);
                        y[y_at + j * args.y_step + 1] = OF(lost);
                    } else {
                        PUT_AS(y, y_at + j * args.y_step, OF(lost) / divisor, args.to);
                    }
                }
            } else
#endif
            if (KIND == TDM_OP_REDUCE_PRODUCT) {
                FOR_COLUMNS(j, columns) { OF(sum) = 1; }
                for (tdm_i64 line = first; line < last; line++) {
                    LINE(xr, line)
                    FOR_COLUMNS(j, columns) { OF(sum) *= VALUE(LOAD(xr, j), 1); }
                }
                FOR_COLUMNS_SINGLY(j, columns) { PUT_AS(y, y_at + j * args.y_step, OF(sum), args.to); }
            } else {
                FOR_COLUMNS(j, columns) { OF(factor) = 1; }
                for (tdm_i32 tries = 0; tries < 2;) {
                    FOR_COLUMNS(j, columns)
                    {
                        OF(sum) = 0;
                        OF(lost) = 0;
                    }
                    for (tdm_i64 from = first; from < last; from += SUM_ROWS) {
                        const tdm_i64 to = MIN(last, from + SUM_ROWS);
                        tdm_i64 line = from;
                        FOR_COLUMNS(j, columns) { OF(some) = 0; }
                        for (; line + 4 <= to; line += 4) {
                            FOUR_LINES(line)
                            FOR_COLUMNS(j, columns)
                            {
                                OF(some) += (VALUE(LOAD(x0, j), OF(factor)) + VALUE(LOAD(x1, j), OF(factor))) +
                                            (VALUE(LOAD(x2, j), OF(factor)) + VALUE(LOAD(x3, j), OF(factor)));
                            }
                        }
                        for (; line < to; line++) {
                            LINE(xr, line)
                            FOR_COLUMNS(j, columns) { OF(some) += VALUE(LOAD(xr, j), OF(factor)); }
                        }
                        FOR_COLUMNS(j, columns)
                        {
                            ADD_BLOCK(OF(sum), OF(lost), OF(some));
                            OF(lost) = LOST(OF(lost));
                        }
                    }
                    tries++;
#if T_IS_FLOAT
                    tdm_i32 unsafe = 0;
                    FOR_COLUMNS_SINGLY(j, columns) { unsafe |= !IS_SAFE(OF(sum)); }
                    if (unsafe == 0) {
                        tries = 2;
                    } else if (tries == 1) {
                        COLUMNS(KEY, largest);
                        FOR_COLUMNS(j, columns) { OF(largest) = 0; }
                        for (tdm_i64 line = first; line < last; line++) {
                            LINE(xr, line)
                            FOR_COLUMNS(j, columns)
                            {
                                const KEY key = MAGNITUDE_KEY(LOAD(xr, j));
                                OF(largest) = MAX(OF(largest), key);
                            }
                        }
                        FOR_COLUMNS(j, columns) { OF(factor) = RESCALE(OF(largest)); }
                    }
#else
                    tries = 2;
#endif
                }
                FOR_COLUMNS_SINGLY(j, columns)
                {
                    PUT_AS(y, y_at + j * args.y_step, RESULT(OF(sum) - OF(lost), OF(factor)), args.to);
                }
            }
        }
    }
}

#if T_IS_FLOAT
/* A variance of what is left of `chunks` parts: {mean, sum of squares around it} of each, `chunk` elements but for the
 * last one. In columns, where parts of one column are y_chunk apart, a lane has results of its own. */
#define COUNT_OF(c) ((ACC)MIN((tdm_i64)args.chunk, cut - (tdm_i64)(c) * args.chunk) * per)
KERNEL2(reduce_variance, tdm_reduce_args, const ACC, partial, ACC, y)
{
    GROUP_ARRAY(ACC, scratch);
    const ACC divisor = SCALAR(args.divisor), all = (ACC)args.count;
    const tdm_i32 chunks = (tdm_i32)args.chunks;
    const tdm_i64 cut = IN_COLUMNS || args.lines > 1 ? args.lines : (tdm_i64)args.cols;
    const ACC per = !IN_COLUMNS && args.lines > 1 ? (ACC)args.cols : (ACC)1;
    const tdm_i64 across = IN_COLUMNS ? (tdm_i64)args.cols : 1;
    const tdm_i64 blocks = IN_COLUMNS ? (across + LANES - 1) / LANES : 1;
    FOR_ROWS(item, args.rows * blocks)
    {
        tdm_i64 row = item / blocks;
        const tdm_i64 column = IN_COLUMNS ? item % blocks * LANES + LANE : 0;
        GLOBAL const ACC *const from = partial + 2 * (row * chunks * across + column);
        tdm_i64 y_at = args.y_offset + column * args.y_step;
        FOR_DIMS(d, args.outer_ndim)
        {
            const tdm_i64 next = row / args.outer_shape[d];
            y_at += (row - next * args.outer_shape[d]) * args.y_stride[d];
            row = next;
        }
        ACC mean = 0, squares = 0;
        if (IN_COLUMNS) {
            if (column < across) {
                for (tdm_i32 c = 0; c < chunks; c++)
                    mean += from[2 * c * across] * (COUNT_OF(c) / all);
                for (tdm_i32 c = 0; c < chunks; c++)
                    squares += from[2 * c * across + 1] +
                               SQUARE(from[2 * c * across] - mean) * COUNT_OF(c);
                PUT_AS(y, y_at, squares / divisor, args.to);
            }
        } else {
            FOR_LANES_SINGLY(c, chunks) mean += from[2 * c] * (COUNT_OF(c) / all);
            mean = GROUP_SUM(scratch, mean);
            FOR_LANES_SINGLY(c, chunks)
            squares += from[2 * c + 1] + SQUARE(from[2 * c] - mean) * COUNT_OF(c);
            squares = GROUP_SUM(scratch, squares);
            if (LANE == 0) PUT_AS(y, y_at, squares / divisor, args.to);
        }
    }
}
#undef COUNT_OF
#endif

#if T_IS_FLOAT
#undef SIZE
#endif
#undef IS_SHORT
#undef VALUE
#undef RESULT
#undef IS_SAFE
#undef VARIANCE_ROWS

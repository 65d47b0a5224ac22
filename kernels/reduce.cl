/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* Sums, products and variances of groups of elements, by OP, whose lines lie along memory, so that a group's lanes
 * share them, or in columns, so that each lane has its own results and walks from line to line; and norms of columns.
 * T is a float or an unsigned integer, as which the others are read; the results of these have 64 bits.
 *
 * Sums are of blocks in which each partial sum has 64 terms, and of blocks' sums with what adding them lost. Squares
 * that overflow or vanish are taken again of the elements times a power of two. A variance takes two passes over each
 * block, in the cache: around the mean of the blocks before it, or the first element of all, and around its own mean,
 * so that neither a large mean nor an outlier costs digits; blocks are put together after Chan, Golub and LeVeque
 * (COMPSTAT 1982), their mean with what adding to it lost. */
#if T_IS_FLOAT
#define SIZE(v) ((squares ? (v) : (ACC)1) * (v))
#define VALUE(v, factor) (OP == TDM_OP_REDUCE_NORM ? SIZE(ABS((v) * (factor))) : (v))
#define RESULT(v, factor)                                                                          \
    (OP == TDM_OP_REDUCE_NORM    ? (squares ? SQRT(v) : (v)) / (factor)                            \
     : KIND == TDM_OP_REDUCE_SUM ? (v) / divisor                                                   \
                                 : (v))
/* of a sum of squares around the mean: the variance, or its root */
#define SPREAD(v) (args.squares ? SQRT((v) / divisor) : (v) / divisor)
#define IS_SAFE(sum) (OP != TDM_OP_REDUCE_NORM || !squares || SAFE_SQUARES(sum))
#else
#define VALUE(v, factor) INTEGER(v)
#define RESULT(v, factor) (v)
#define IS_SAFE(sum) 1
#endif

/* A lane alone multiplies short rows one after the other: finding each row would take a third of the time. It is one
 * condition, as a compiler takes a branch with many to be rare. */
#define IS_SHORT                                                                                   \
    (ROW_LOOPS && OP == TDM_OP_REDUCE_PRODUCT &&                                                  \
     ((args.outer_ndim <= 1) & (args.lines == 1) & (args.chunks == 1) & (args.cols <= SUM_BLOCK)))

/* The squares around the mean of so many elements, of those around a number that is `low` below it. */
#define AROUND_MEAN(squares, low, count)                                                           \
    ((squares) - MIN(MIN((low) * ((low) * (count)), HIGHEST_FINITE), (squares)))

/* Sums of squares in columns, 64 blocks of lines at a time: of so many columns, after a block. */
#define GATHER_SQUARES(block, m)                                                                   \
    if (((block)&63) == 63)                                                                        \
        FOR_COLUMNS(j, m)                                                                          \
        {                                                                                          \
            ADD_BLOCK(OF(gathered), OF(rest), OF(lost));                                           \
            OF(lost) = 0;                                                                          \
        }

/* lines of columns between two passes over them: they fit a core's cache */
#define VARIANCE_ROWS 32

#if IN_STRIPS
#define OF_EIGHT(term)                                                                             \
    (((term(x0 + at + i) + term(x1 + at + i)) + (term(x2 + at + i) + term(x3 + at + i))) +         \
     ((term(x4 + at + i) + term(x5 + at + i)) + (term(x6 + at + i) + term(x7 + at + i))))
#define SQUARES(p) SQUARE(LOAD_VEC(p))
#define MAGNITUDES(p) ABS_VEC(LOAD_VEC(p))
/* Adds the lines [from, to) to some: of each strip the sums of eight. */
#define ADD_LINES(term)                                                                            \
    do {                                                                                           \
        tdm_i64 line = from;                                                                       \
        for (; line + 8 <= to; line += 8) {                                                        \
            EIGHT_LINES(line)                                                                      \
            FOR_STRIPS(j, at)                                                                      \
            {                                                                                      \
                FETCH_EIGHT(at, STRIP);                                                            \
                FOR_REGISTERS(i) VEC_OF(some, j + i) += OF_EIGHT(term);                            \
            }                                                                                      \
        }                                                                                          \
        for (; line < to; line++) {                                                                \
            LINE(xr, line)                                                                         \
            FOR_STRIPS(j, at) FOR_REGISTERS(i) VEC_OF(some, j + i) += term(xr + at + i);           \
        }                                                                                          \
    } while (0)
/* Of the lines [from, to) the differences from sum, the mean so far, added to some, and their squares, added to
 * squared. */
#define ADD_DIFFERENCE(p)                                                                          \
    {                                                                                              \
        const VEC d = LOAD_VEC((p) + at + i) - middle;                                             \
        a += d;                                                                                    \
        b += d * d;                                                                                \
    }
#define ADD_DIFFERENCES(from, to)                                                                  \
    do {                                                                                           \
        tdm_i64 line = from;                                                                       \
        for (; line + 8 <= (to); line += 8) {                                                      \
            EIGHT_LINES(line)                                                                      \
            FOR_STRIPS(j, at)                                                                      \
            {                                                                                      \
                FETCH_EIGHT(at, STRIP);                                                            \
                FOR_REGISTERS(i)                                                                   \
                {                                                                                  \
                    const VEC middle = VEC_OF(sum, j + i);                                         \
                    VEC a = VEC_OF(some, j + i), b = VEC_OF(squared, j + i);                       \
                    ADD_DIFFERENCE(x0)                                                             \
                    ADD_DIFFERENCE(x1)                                                             \
                    ADD_DIFFERENCE(x2)                                                             \
                    ADD_DIFFERENCE(x3)                                                             \
                    ADD_DIFFERENCE(x4)                                                             \
                    ADD_DIFFERENCE(x5)                                                             \
                    ADD_DIFFERENCE(x6)                                                             \
                    ADD_DIFFERENCE(x7)                                                             \
                    VEC_OF(some, j + i) = a;                                                       \
                    VEC_OF(squared, j + i) = b;                                                    \
                }                                                                                  \
            }                                                                                      \
        }                                                                                          \
        for (; line < (to); line++) {                                                              \
            LINE(xr, line)                                                                         \
            FOR_STRIPS(j, at) FOR_REGISTERS(i)                                                     \
            {                                                                                      \
                const VEC middle = VEC_OF(sum, j + i);                                             \
                VEC a = VEC_OF(some, j + i), b = VEC_OF(squared, j + i);                           \
                ADD_DIFFERENCE(xr)                                                                 \
                VEC_OF(some, j + i) = a;                                                           \
                VEC_OF(squared, j + i) = b;                                                        \
            }                                                                                      \
        }                                                                                          \
    } while (0)
#endif

KERNEL3(reduce, tdm_reduce_args, const T, x, const T, other, ACC, y)
{
    GROUP_ARRAY(ACC, scratch);
    LOCAL_ARRAY(ACC, products, LANES);
#if T_IS_FLOAT
    const ACC divisor = SCALAR(args.divisor);
    const tdm_i32 squares = args.squares;
#endif
#if ROW_LOOPS
    FOR_ROWS(row, IS_SHORT ? args.rows : 0)
    {
        GLOBAL const T *const xr = x + (args.x_offset + row * args.x_stride[0]);
        ACC product = 1;
        PRODUCT(product, j, 0, (tdm_i32)args.cols, READ(xr), VALUE(AT(xr, j), 1), AHEAD(xr));
        PUT_AS(y, args.y_offset + row * args.y_stride[0], product, args.to);
    }
#endif
    FOR_ROWS(item, IS_SHORT ? 0 : ITEMS(COLUMN_BLOCK))
    {
        PLACE(item, COLUMN_BLOCK);
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
            ACC mean = pivot, rest = 0, around = 0, lost = 0; /* rest, lost: what adding to mean, around lost */
            for (tdm_i64 line = first; line < last; line++) {
                LINE(xr, line)
                FOR_BLOCKS(begin, end, n, SUM_BLOCK)
                {
                    const ACC of_block = (ACC)(end - begin);
                    ACC a = 0, b = 0, low = 0;
                    SUM(a, j, begin, end, READ(xr), AT(xr, j) - mean, AHEAD(xr));
                    a = GROUP_SUM(scratch, a) / of_block;
                    SUM(b, j, begin, end, READ(xr), SQUARE((AT(xr, j) - mean) - a), NOTHING_AHEAD);
                    b = GROUP_SUM(scratch, b);
                    if (line > first || begin > 0) {
                        const ACC count = (ACC)((line - first) * n + begin), share = of_block / (count + of_block);
                        const ACC d = a + rest;
                        ADD_BLOCK(mean, rest, d * share);
                        ADD_BLOCK(around, lost, b + d * (d * (count * share)));
                    } else {
                        around = b;
                        /* a first element far from the others costs a's digits */
                        if ((end < n || line + 1 < last) && SQUARE(a) * of_block > (ACC)4 * b) {
                            SUM(low, j, begin, end, READ(xr), (AT(xr, j) - mean) - a, NOTHING_AHEAD);
                            low = GROUP_SUM(scratch, low) / of_block;
                            around = AROUND_MEAN(b, low, of_block);
                        }
                        ADD_BLOCK(mean, rest, a);
                        ADD_BLOCK(mean, rest, low);
                    }
                }
            }
            if (LANE == 0 && args.partial) {
                y[y_at] = (mean - pivot) - rest;
                y[y_at + 1] = around;
            } else if (LANE == 0) {
                PUT_AS(y, y_at, SPREAD(around), args.to);
            }
#endif
        } else if (!IN_COLUMNS) {
            ACC sum = 0, lost = 0;
            for (tdm_i64 line = first; line < last; line++) {
                LINE(xr, line)
                GLOBAL const T *const br =
                    OP == TDM_OP_REDUCE_DOT ? other + (args.other_offset - args.x_offset + (xr - x)) : xr;
                FOR_BLOCKS(begin, end, n, SUM_BLOCK)
                {
                    ACC a = 0;
                    SUM(a, j, begin, end, READ(xr) READ_IF(OP == TDM_OP_REDUCE_DOT, br),
                        OP == TDM_OP_REDUCE_DOT ? VALUE(AT(xr, j) * AT(br, j), 1) : VALUE(AT(xr, j), 1), AHEAD(xr));
                    ADD_BLOCK(sum, lost, a);
                }
            }
            sum = GROUP_SUM(scratch, sum - lost);
            if (LANE == 0) PUT_AS(y, y_at, RESULT(sum, (ACC)1), args.to);
        } else {
            COLUMNS(ACC, sum, 0);
            COLUMNS(ACC, lost, 1);
            COLUMNS(ACC, some, 2);
            COLUMNS(ACC, factor, 3);
            (void)factor;
            tdm_i32 tries = 0;
#if IN_STRIPS
            if (STRIPS && (KIND == TDM_OP_REDUCE_SUM || OP == TDM_OP_REDUCE_NORM)) {
                FOR_COLUMNS(j, SLOTS)
                {
                    OF(sum) = 0;
                    OF(lost) = 0;
                }
                for (tdm_i64 from = first; from < last; from += SUM_ROWS) {
                    const tdm_i64 to = MIN(last, from + SUM_ROWS);
                    FOR_COLUMNS(j, SLOTS) { OF(some) = 0; }
                    if (KIND == TDM_OP_REDUCE_SUM)
                        ADD_LINES(LOAD_VEC);
                    else if (squares)
                        ADD_LINES(SQUARES);
                    else
                        ADD_LINES(MAGNITUDES);
                    FOR_COLUMNS(j, SLOTS) { ADD_BLOCK(OF(sum), OF(lost), OF(some)); }
                }
                tdm_i32 unsafe = 0;
                FOR_COLUMNS_SINGLY(j, SLOTS) { unsafe |= !IS_SAFE(OF(sum)); }
                tries = unsafe ? 1 : 2;
                FOR_COLUMNS_SINGLY(j, unsafe ? 0 : columns)
                {
                    const ACC v = sum[SLOT_OF(j)] - lost[SLOT_OF(j)];
                    PUT_AS(y, y_at + j * args.y_step, RESULT(v, (ACC)1), args.to);
                }
            }
            if (STRIPS && KIND == TDM_OP_REDUCE_VARIANCE) {
                COLUMNS(ACC, squared, 3);
                COLUMNS(ACC, off, 4); /* the loss of adding to the mean */
                COLUMNS(ACC, gathered, 5);
                COLUMNS(ACC, rest, 6);
                /* Around `sum`, the mean of the lines before the block: of them and the block together the squares are
                 * more than what it costs that the block's mean is another. The first block's is the mean of some of
                 * its lines. */
                LINE(pivot, 0)
                FOR_STRIPS(j, at) FOR_REGISTERS(i) VEC_OF(sum, j + i) = LOAD_VEC(pivot + at + i);
                FOR_COLUMNS(j, SLOTS)
                {
                    OF(some) = 0;
                    OF(squared) = 0;
                    OF(gathered) = 0;
                    OF(rest) = 0;
                    OF(off) = 0;
                }
                const tdm_i64 near = MIN(last - first, 8);
                ADD_DIFFERENCES(first, first + near);
                FOR_COLUMNS(j, SLOTS)
                {
                    OF(sum) += OF(some) / (ACC)near;
                    OF(lost) = 0; /* with `gathered` the sum of squares around it */
                }
                for (tdm_i64 from = first; from < last; from += SUM_ROWS) {
                    const tdm_i64 to = MIN(last, from + SUM_ROWS);
                    const ACC count = (ACC)(from - first), of_block = (ACC)(to - from);
                    const ACC share = of_block / (count + of_block);
                    FOR_COLUMNS(j, SLOTS)
                    {
                        OF(some) = 0;
                        OF(squared) = 0;
                    }
                    ADD_DIFFERENCES(from, to);
                    FOR_COLUMNS(j, SLOTS)
                    {
                        /* squares that overflow are infinite, and elements that are make NaN of all */
                        const ACC a = OF(some) / of_block, no_number = OF(some) - OF(some);
                        const ACC b = (OF(squared) - MIN(OF(some) * a, HIGHEST_FINITE)) + no_number;
                        const ACC d = a + OF(off);
                        ADD_BLOCK(OF(sum), OF(off), d * share);
                        OF(lost) += b + d * (d * (count * share));
                    }
                    GATHER_SQUARES((from - first) / SUM_ROWS, SLOTS)
                }
                FOR_COLUMNS_SINGLY(j, columns)
                {
                    const ACC all = gathered[SLOT_OF(j)] + lost[SLOT_OF(j)];
                    if (args.partial) {
                        y[y_at + j * args.y_step] = (sum[SLOT_OF(j)] - LOAD(pivot, j)) - off[SLOT_OF(j)];
                        y[y_at + j * args.y_step + 1] = all;
                    } else {
                        PUT_AS(y, y_at + j * args.y_step, SPREAD(all), args.to);
                    }
                }
            } else
#endif
#if T_IS_FLOAT
            if (KIND == TDM_OP_REDUCE_VARIANCE) {
                COLUMNS(ACC, off, 4); /* the loss of adding to the mean */
                COLUMNS(ACC, gathered, 5);
                COLUMNS(ACC, rest, 6);
                COLUMNS(ACC, low, 7); /* the rest of a block's mean */
                LINE(pivot, 0)
                FOR_COLUMNS(j, columns)
                {
                    OF(sum) = LOAD(pivot, j); /* the mean of the lines so far */
                    OF(lost) = 0; /* with `gathered` the sum of squares around it */
                    OF(gathered) = 0;
                    OF(rest) = 0;
                    OF(off) = 0;
                }
                for (tdm_i64 from = first; from < last; from += VARIANCE_ROWS) {
                    const tdm_i64 to = MIN(last, from + VARIANCE_ROWS);
                    const ACC count = (ACC)(from - first), of_block = (ACC)(to - from);
                    const ACC share = of_block / (count + of_block);
                    FOR_COLUMNS(j, columns)
                    {
                        OF(some) = 0;
                        OF(factor) = 0;
                        OF(low) = 0;
                    }
                    for (tdm_i64 line = from; line < to; line++) {
                        LINE(xr, line)
                        FOR_COLUMNS(j, columns) { OF(some) += LOAD(xr, j) - OF(sum); }
                    }
                    FOR_COLUMNS(j, columns) { OF(some) /= of_block; }
                    for (tdm_i64 line = from; line < to; line++) {
                        LINE(xr, line)
                        FOR_COLUMNS(j, columns)
                        {
                            const ACC d = (LOAD(xr, j) - OF(sum)) - OF(some);
                            OF(low) += d;
                            OF(factor) += d * d;
                        }
                    }
                    FOR_COLUMNS(j, columns)
                    {
                        const ACC more = OF(low) / of_block, d = (OF(some) + OF(off)) + more;
                        ADD_BLOCK(OF(sum), OF(off), d * share);
                        OF(lost) += AROUND_MEAN(OF(factor), more, of_block) + d * (d * (count * share));
                    }
                    GATHER_SQUARES((from - first) / VARIANCE_ROWS, columns)
                }
                FOR_COLUMNS_SINGLY(j, columns)
                {
                    const ACC all = OF(gathered) + OF(lost);
                    if (args.partial) {
                        y[y_at + j * args.y_step] = (OF(sum) - LOAD(pivot, j)) - OF(off);
                        y[y_at + j * args.y_step + 1] = all;
                    } else {
                        PUT_AS(y, y_at + j * args.y_step, SPREAD(all), args.to);
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
            } else if (tries < 2) {
                do {
#if T_IS_FLOAT
                    if (tries == 1) {
                        COLUMNS(KEY, largest, 4);
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
                    } else
#endif
                    FOR_COLUMNS(j, columns) { OF(factor) = 1; }
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
                            FETCH_FOUR(0, columns);
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
                        FOR_COLUMNS(j, columns) { ADD_BLOCK(OF(sum), OF(lost), OF(some)); }
                    }
                    tdm_i32 unsafe = 0;
                    FOR_COLUMNS_SINGLY(j, columns) { unsafe |= !IS_SAFE(OF(sum)); }
                    tries = unsafe ? tries + 1 : 2;
                } while (tries < 2);
                FOR_COLUMNS_SINGLY(j, columns)
                {
                    PUT_AS(y, y_at + j * args.y_step, RESULT(OF(sum) - OF(lost), OF(factor)), args.to);
                }
            }
        }
    }
}

#if T_IS_FLOAT
/* A variance merged from `chunks` parts: {mean, sum of squares around it} of each, `chunk` elements but for the
 * last one. In columns, where parts of one column are y_chunk apart, a lane has its own results. */
#define ADD_CHUNK(sum, lost, v) /* few lose little, and cost a quarter of the time in columns */       \
    do {                                                                                           \
        if (chunks > 32)                                                                           \
            ADD_BLOCK(sum, lost, v);                                                               \
        else                                                                                       \
            (sum) += (v);                                                                          \
    } while (0)
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
        TDM_FOR_INDICES(d, index, row, args.outer_ndim, args.outer_shape)
            y_at += index * args.y_stride[d];
        ACC mean = 0, rest = 0, squares = 0, lost = 0;
        if (IN_COLUMNS) {
            if (column < across) {
                for (tdm_i32 c = 0; c < chunks; c++)
                    ADD_CHUNK(mean, rest, from[2 * c * across] * (COUNT_OF(c) / all));
                for (tdm_i32 c = 0; c < chunks; c++)
                    ADD_CHUNK(squares, lost,
                              from[2 * c * across + 1] + SQUARE(from[2 * c * across] - mean) * COUNT_OF(c));
                PUT_AS(y, y_at, SPREAD(squares), args.to);
            }
        } else {
            FOR_LANES_SINGLY(c, chunks) { ADD_BLOCK(mean, rest, from[2 * c] * (COUNT_OF(c) / all)); }
            mean = GROUP_SUM(scratch, mean);
            FOR_LANES_SINGLY(c, chunks)
            {
                ADD_BLOCK(squares, lost, from[2 * c + 1] + SQUARE(from[2 * c] - mean) * COUNT_OF(c));
            }
            squares = GROUP_SUM(scratch, squares);
            if (LANE == 0) PUT_AS(y, y_at, SPREAD(squares), args.to);
        }
    }
}
#undef COUNT_OF
#undef ADD_CHUNK
#endif

#if T_IS_FLOAT
#undef SIZE
#undef SPREAD
#endif
#undef IS_SHORT
#undef VALUE
#undef RESULT
#undef IS_SAFE
#undef VARIANCE_ROWS
#undef GATHER_SQUARES
#undef AROUND_MEAN
#if IN_STRIPS
#undef OF_EIGHT
#undef SQUARES
#undef MAGNITUDES
#undef ADD_LINES
#undef ADD_DIFFERENCE
#undef ADD_DIFFERENCES
#endif

/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* One small kernel for each group of the dialect's macros. x is [rows][cols] with row stride
 * args.x_stride, y is [rows][cols] with row stride args.y_stride; z is like y. dialect.c has the
 * expected results. */
OPS(share, 1, 1)
OPS(dims, 1, 1)
OPS(lanes, 1, 1)
OPS(far, 1, 1)
OPS(sum, 1, 1)
OPS(carry, 1, 1)
OPS(largest, 1, 1)
OPS(write, 1, 1)
OPS(write2, 1, 1)
OPS(local, 1, 1)
OPS(number, 1, 1)
OPS(words, 1, 1)
OPS(hold, 1, 1)
OPS(square, 1, 1)
OPS(variant, 3, 3)

/* FOR_ROWS, LANE: y[row] = row, once each, and z counts. */
KERNEL3(share, tdm_rows_args, const T, x, T, y, T, z)
{
    FOR_ROWS(row, args.rows)
    {
        if (LANE == 0) {
            STORE(y, row * args.y_stride, LOAD(x, row * args.x_stride));
            STORE(z, row * args.y_stride, LOAD(z, row * args.y_stride) + (ACC)1);
        }
    }
}

/* FOR_DIMS: y = 1 where each of the first row + 1 dimensions comes once, the last of them first. */
KERNEL3(dims, tdm_rows_args, const T, x, T, y, T, z)
{
    FOR_ROWS(row, args.rows)
    {
        tdm_i32 next = (tdm_i32)row, wrong = 0;
        FOR_DIMS(d, (tdm_i32)row + 1)
        {
            wrong += d != next;
            next--;
        }
        if (LANE == 0) STORE(y, row * args.y_stride, wrong == 0 && next == -1 ? (ACC)1 : (ACC)0);
    }
}

/* FOR_LANES, LOAD, STORE, GLOBAL, FETCH; y may be x. */
KERNEL3(lanes, tdm_rows_args, const T, x, T, y, T, z)
{
    FOR_ROWS(row, args.rows)
    {
        GLOBAL const T *const xr = x + row * args.x_stride;
        GLOBAL T *const yr = y + row * args.y_stride;
        FETCH(xr, (tdm_i32)args.cut.cols);
        FOR_LANES(j, 0, (tdm_i32)args.cut.cols)
        {
            STORE(yr, j, LOAD(xr, j) + (ACC)1);
        }
    }
}

/* FOR_LANES, SUM and FOR_BLOCKS up to the largest index there is: y gets how often an index was met, z
 * how many SUM met. */
KERNEL3(far, tdm_rows_args, const T, x, T, y, T, z)
{
    GROUP_ARRAY(ACC, scratch);
    const tdm_i32 last = 0x7fffffff, first = last - (tdm_i32)args.cut.cols;
    FOR_ROWS(row, args.rows)
    {
        FOR_LANES(j, 0, (tdm_i32)args.cut.cols)
        {
            STORE(y, row * args.y_stride + j, (ACC)0);
        }
        BARRIER;
        FOR_LANES(j, first, last)
        {
            const tdm_i64 at = row * args.y_stride + (j - first);
            STORE(y, at, LOAD(y, at) + (ACC)1);
        }
        ACC count = 0;
        SUM(count, j, first, last, NOTHING_READ, j < first ? (ACC)-1 : (ACC)1, NOTHING_AHEAD);
        count = GROUP_SUM(scratch, count);
        tdm_i32 blocks = 0, length = 0;
        FOR_BLOCKS(begin, end, last, 1 << 30)
        {
            blocks++;
            length += end - begin;
        }
        if (blocks != 2 || length != last) count = 0;
        FOR_LANES(j, 0, (tdm_i32)args.cut.cols)
        {
            STORE(z, row * args.y_stride + j, count);
        }
    }
}

/* FOR_BLOCKS, SUM, SUM2, SQUARE, GROUP_SUM, all with one scratch: y gets Σx and
 * z gets Σx² + Σx + Σ1 in every element, so a lane that is too early or too late shows. */
KERNEL3(sum, tdm_rows_args, const T, x, T, y, T, z)
{
    GROUP_ARRAY(ACC, scratch);
    const tdm_i32 cols = (tdm_i32)args.cut.cols;
    FOR_ROWS(row, args.rows)
    {
        GLOBAL const T *const xr = x + row * args.x_stride;
        ACC first = 0, squares = 0, ones = 0;
        FOR_BLOCKS(begin, end, cols, 112)
        {
            ACC a = 0, b = 0, c = 0;
            SUM(a, j, begin, end, READ(xr), AT(xr, j), AHEAD(xr));
            SUM2(b, c, j, begin, end, READ(xr), const ACC v = AT(xr, j), SQUARE(v), (ACC)1,
                 NOTHING_AHEAD);
            first += a;
            squares += b;
            ones += c;
        }
        first = GROUP_SUM(scratch, first);
        squares = GROUP_SUM(scratch, squares);
        ones = GROUP_SUM(scratch, ones);
        FOR_LANES(j, 0, cols)
        {
            STORE(y, row * args.y_stride + j, first);
            STORE(z, row * args.y_stride + j, squares + first + ones);
        }
    }
}

/* ADD_BLOCK: y gets what 1024 ones add to a number whose last place is 8. */
KERNEL3(carry, tdm_rows_args, const T, x, T, y, T, z)
{
    const ACC large = (ACC)67108864 * (sizeof(ACC) == 8 ? (ACC)536870912 : (ACC)1);
    FOR_ROWS(row, args.rows)
    {
        ACC sum = large, lost = 0;
        FOR_BLOCKS(begin, end, 1024, 1)
        {
            ADD_BLOCK(sum, lost, (ACC)(end - begin));
        }
        if (LANE == 0) STORE(y, row * args.y_stride, sum - large);
    }
}

/* LARGEST, MAX, GROUP_MAX and the keys: y gets max|x|, z gets max x. */
KERNEL3(largest, tdm_rows_args, const T, x, T, y, T, z)
{
    GROUP_ARRAY(KEY, scratch);
    const tdm_i32 cols = (tdm_i32)args.cut.cols;
    FOR_ROWS(row, args.rows)
    {
        GLOBAL const T *const xr = x + row * args.x_stride;
        KEY a = 0, b = LOWEST_KEY;
        LARGEST(a, j, 0, cols, READ(xr), MAGNITUDE_KEY(AT(xr, j)), AHEAD(xr));
        LARGEST(b, j, 0, cols, READ(xr), ORDER_KEY(AT(xr, j)), AHEAD(xr));
        const ACC magnitude = MAGNITUDE_OF(GROUP_MAX(scratch, a));
        const ACC value = VALUE_OF(GROUP_MAX(scratch, b));
        FOR_LANES(j, 0, cols)
        {
            STORE(y, row * args.y_stride + j, magnitude);
            STORE(z, row * args.y_stride + j, value);
        }
    }
}

/* FOR_LANES_WRITE, READ, AT, WRITE, ROW_AHEAD, FOR_LANES_FILL, FILL; y may be x. */
KERNEL3(write, tdm_rows_args, const T, x, T, y, T, z)
{
    const tdm_i32 cols = (tdm_i32)args.cut.cols;
    FOR_ROWS(row, args.rows)
    {
        GLOBAL const T *const xr = x + row * args.x_stride;
        GLOBAL T *const yr = y + row * args.y_stride;
        GLOBAL T *const zr = z + row * args.y_stride;
        FOR_LANES_WRITE(yr, j, cols, ROW_AHEAD(xr, args.x_stride), READ(xr))
        {
            WRITE(yr, j, AT(xr, j) * (ACC)2);
        }
        FOR_LANES_FILL(zr, j, cols)
        {
            FILL(zr, j, TO_T((ACC)3));
        }
    }
}

/* FOR_LANES_WRITE2, WRITE2, AHEAD, ROUND. */
KERNEL3(write2, tdm_rows_args, const T, x, T, y, T, z)
{
    FOR_ROWS(row, args.rows)
    {
        GLOBAL const T *const xr = x + row * args.x_stride;
        GLOBAL T *const yr = y + row * args.y_stride;
        GLOBAL T *const zr = z + row * args.y_stride;
        FOR_LANES_WRITE2(yr, zr, j, (tdm_i32)args.cut.cols, AHEAD(xr), READ(xr))
        {
            const ACC v = ROUND(AT(xr, j) * (ACC)1.0625f);
            WRITE(yr, j, v);
            WRITE2(zr, j, -v);
        }
    }
}

/* LOCAL_ARRAY, PRIVATE_ARRAY, SCRATCH_ARRAY, LOCAL, INLINE, BARRIER: lanes pass their numbers round. y gets the sum
 * of what all lanes read from their neighbour, which is the sum of all numbers. */
INLINE tdm_i32 TDM_CAT(next_lane_, T_ID)(tdm_i32 lane)
{
    return (lane + 1) % LANES;
}

KERNEL3(local, tdm_rows_args, const T, x, T, y, T, z)
{
    LOCAL_ARRAY(tdm_i32, numbers, LANES);
    GROUP_ARRAY(ACC, scratch);
    PRIVATE_ARRAY(ACC, own, 4);
#if ROW_LOOPS
    SCRATCH_ARRAY(ACC, first, 16, 0);
    SCRATCH_ARRAY(ACC, second, 4, 16);
#else
    PRIVATE_ARRAY(ACC, first, 16);
    PRIVATE_ARRAY(ACC, second, 4);
#endif
    FOR_ROWS(row, args.rows)
    {
        LOCAL tdm_i32 *const all = numbers;
        all[LANE] = LANE + 1;
        BARRIER;
        own[LANE % 4] = (ACC)all[TDM_CAT(next_lane_, T_ID)(LANE)];
        BARRIER;
        second[LANE % 4] = own[LANE % 4];
        for (tdm_i32 i = 0; i < 16; i++)
            first[i] = 0;
        const ACC sum = GROUP_SUM(scratch, second[LANE % 4]);
        if (LANE == 0) STORE(y, row * args.y_stride, sum);
    }
}

/* SQRT, ABS, EXP_NEGATIVE, SCALAR, MIN, IS_FINITE, ROUND: y = √|x| exp(-|x|) + epsilon, z = x is finite, and of any
 * number ROUND is what comes back from memory. */
KERNEL3(number, tdm_rows_args, const T, x, T, y, T, z)
{
    const ACC epsilon = SCALAR(args.epsilon);
    FOR_ROWS(row, args.rows)
    {
        GLOBAL const T *const xr = x + row * args.x_stride;
        FOR_LANES(j, 0, (tdm_i32)args.cut.cols)
        {
            const ACC v = ABS(LOAD(xr, j));
            STORE(y, row * args.y_stride + j, SQRT(v) * EXP_NEGATIVE(-v) + MIN(epsilon, (ACC)1));
            const tdm_u32 bits = (tdm_u32)(row * (tdm_i64)args.cut.cols + j + 1) * 2654435761u;
            const ACC any = (ACC)tdm_as_f32((tdm_i32)bits);
            STORE(z, row * args.y_stride + j, any);
            const ACC rounded = ROUND(any), stored = LOAD(z, row * args.y_stride + j);
            const tdm_i32 right = rounded == stored || (rounded != rounded && stored != stored);
            STORE(z, row * args.y_stride + j, IS_FINITE(v) && right ? (ACC)1 : (ACC)0);
        }
    }
}

/* FMA: with a = 1 + eps, y = (a a - (1 + 2 eps)) / eps^2, which is 0 when the product is rounded.
 * WORDS, WORDS_LEN, WORDS_FROM, MUL_WORDS, HIGH_WORDS, WORDS_ZIP_*, WORDS_AS_HALVES: z = 1 when
 * each lane's products of low halves are right, whatever is in the upper ones, and so are their high
 * halves and the order in which they lie as halves. */
KERNEL3(words, tdm_rows_args, const T, x, T, y, T, z)
{
    LOCAL_ARRAY(tdm_u64, products, LANES * WORDS_LEN);
    LOCAL_ARRAY(tdm_u64, zipped, 2 * LANES * WORDS_LEN);
    LOCAL_ARRAY(tdm_u32, halves, 2 * LANES * WORDS_LEN);
    GROUP_ARRAY(ACC, scratch);
    const ACC big = (ACC)8388608 * (sizeof(ACC) == 8 ? (ACC)536870912 : (ACC)1), eps = 1 / big;
    FOR_ROWS(row, args.rows)
    {
        const tdm_u64 start = ((tdm_u64)0xdeadbeefu << 32) + 0xfffffffeu + (tdm_u64)(row + LANE);
        const WORDS product = MUL_WORDS(WORDS_FROM(start), 0xd2511f53u);
        ((LOCAL WORDS *)products)[LANE] = product;
#if ROW_LOOPS
        ((LOCAL WORDS *)zipped)[0] = WORDS_ZIP_LOW(product, HIGH_WORDS(product));
        ((LOCAL WORDS *)zipped)[1] = WORDS_ZIP_HIGH(product, HIGH_WORDS(product));
        ((LOCAL WORDS *)halves)[0] = WORDS_AS_HALVES(product);
#else
        zipped[2 * LANE] = product;
        zipped[2 * LANE + 1] = HIGH_WORDS(product);
        halves[2 * LANE] = (tdm_u32)product;
        halves[2 * LANE + 1] = (tdm_u32)(product >> 32);
#endif
        ACC right = 0;
        for (tdm_i32 k = 0; k < WORDS_LEN; k++) {
            const tdm_u64 want = (tdm_u64)(tdm_u32)(start + (tdm_u64)k) * 0xd2511f53u;
            const tdm_i32 at = LANE * WORDS_LEN + k;
            right += products[at] == want && zipped[2 * at] == want &&
                             (tdm_u32)zipped[2 * at + 1] == (tdm_u32)(want >> 32) &&
                             halves[2 * at] == (tdm_u32)want &&
                             halves[2 * at + 1] == (tdm_u32)(want >> 32)
                         ? (ACC)1
                         : (ACC)0;
        }
        right = GROUP_SUM(scratch, right);
        if (LANE == 0) {
            const ACC a = (ACC)1 + eps, b = -((ACC)1 + 2 * eps);
            STORE(y, row * args.y_stride, FMA(a, a, b) * big * big);
            STORE(z, row * args.y_stride, right / (ACC)(LANES * WORDS_LEN));
        }
    }
}

/* HOLD, HOLD_IF, HELD, FOR_BLOCKS_OF: y = x + Σx and z = x + 3 Σx, of a row that is held; y may be x. */
KERNEL3(hold, tdm_rows_args, const T, x, T, y, T, z)
{
    GROUP_ARRAY(ACC, scratch);
    const tdm_i32 cols = (tdm_i32)args.cut.cols;
    FOR_ROWS(row, args.rows)
    {
        GLOBAL const T *const xr = x + row * args.x_stride;
        GLOBAL T *const yr = y + row * args.y_stride;
        GLOBAL T *const zr = z + row * args.y_stride;
        HOLD(xr, cols);
        HOLD_IF(0, yr, cols);
        ACC sum = 0, of_blocks = 0;
        FOR_BLOCKS(begin, end, cols, SUM_BLOCK)
        {
            ACC a = 0;
            SUM(a, j, begin, end, HELD(xr), AT(xr, j), AHEAD(xr));
            sum += a;
        }
        FOR_BLOCKS_OF(begin, end, 0, cols)
        {
            ACC a = 0;
            SUM(a, j, begin, end, HELD(xr), 3 * AT(xr, j), NOTHING_AHEAD);
            of_blocks += a;
        }
        sum = GROUP_SUM(scratch, sum);
        of_blocks = GROUP_SUM(scratch, of_blocks);
        FOR_LANES_WRITE2(yr, zr, j, cols, ROW_AHEAD(xr, args.x_stride), HELD(xr) HELD_IF(0, yr))
        {
            const ACC v = AT(xr, j);
            WRITE(yr, j, v + sum);
            WRITE2(zr, j, v + of_blocks);
        }
    }
}

/* UNROLL, SQUARE_ROW, SQUARE_LEN, LOAD_SQUARE_ROW, STORE_SQUARE_ROW, ZIP_LOW, ZIP_HIGH, which there are where
 * ROW_LOOPS: y = 1 when the halves of two parts of x's row, put into z for a while, lie there as they should. */
KERNEL3(square, tdm_rows_args, const T, x, T, y, T, z)
{
    FOR_ROWS(row, args.rows)
    {
        tdm_i32 wrong = 0;
#if ROW_LOOPS && T_SIZE == 4
        if ((tdm_i32)args.cut.cols >= 2 * SQUARE_LEN) {
            GLOBAL const T *const xr = x + row * args.x_stride;
            GLOBAL T *const zr = z + row * args.y_stride;
            GLOBAL const tdm_u32 *const from = (GLOBAL const tdm_u32 *)xr;
            GLOBAL tdm_u32 *const to = (GLOBAL tdm_u32 *)zr;
            const SQUARE_ROW a = LOAD_SQUARE_ROW(from), b = LOAD_SQUARE_ROW(from + SQUARE_LEN);
            const ACC before = LOAD(zr, 0);
            STORE_SQUARE_ROW(to, ZIP_LOW(a, b));
            STORE_SQUARE_ROW(to + SQUARE_LEN, ZIP_HIGH(a, b));
            UNROLL for (tdm_i32 k = 0; k < 2 * SQUARE_LEN; k++)
            {
                wrong += LOAD(zr, k) != LOAD(xr, k % 2 * SQUARE_LEN + k / 2);
                STORE(zr, k, before);
            }
        }
#endif
        if (LANE == 0) STORE(y, row * args.y_stride, wrong == 0 ? (ACC)1 : (ACC)0);
    }
}

/* OP. */
KERNEL3(variant, tdm_rows_args, const T, x, T, y, T, z)
{
    FOR_ROWS(row, args.rows)
    {
        if (LANE == 0) STORE(y, row * args.y_stride, (ACC)(tdm_i32)OP);
    }
}

/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* Sums, or products, of the elements so far, in lines along memory or in columns by OP, which lie as those of
 * reductions do (groups.h); T as there, U what they are stored as. y may be x. A lane alone multiplies one by one. A
 * sum is that of its block, for which nothing is added more than 64 times, and of the blocks before it with what
 * adding these up lost (reduce.h). Of what is cut into parts `partial` has the sum or product of each, as reduce.cl
 * left it. */
#define STREAMS (T_SIZE < 8 ? IN_STRIPS * TDM_OP_CUMSUM_FORMS : 0) /* in f64 not, to save code */

#if T_IS_FLOAT
#define VALUE(v) (v)
#define PUT(p, j, v) STORE_U(p, j, v)
#else
#define VALUE(v) INTEGER(v)
#define PUT(p, j, v) ((p)[j] = (v))
#endif

/* One lane alone has columns of floats in strips, see groups.h, but for the last ones, which are no strip. */
#if IN_STRIPS
#define IN_WHOLE_STRIPS (columns / STRIP * STRIP)
#define STRIP_LENGTH (64 / T_SIZE)
#define FOR_OTHER_COLUMNS(j, m) FOR_LANES(j, IN_WHOLE_STRIPS, m)
#define SCANNED (16 * VEC_LEN) /* elements of a block along memory */
#if TDM_LINES && U_ID == T_ID
#define PUT_STRIP(p, sums) tdm_write_line(STREAM, ROUNDS_BF16, p, sums, STRIP)
#else
#define PUT_STRIP(p, sums) STORE_STRIP(p, sums, STRIP)
#endif
#else
#define FOR_OTHER_COLUMNS(j, m) FOR_COLUMNS(j, m)
#endif

#define MULTIPLIES ((TDM_FLAGS & TDM_OP_CUMSUM_PRODUCT) != 0)
#define OF_NONE ((ACC)(MULTIPLIES ? 1 : 0))
#define JOINED(a, b) (MULTIPLIES ? (a) * (b) : (a) + (b))

/* A sum that is v in its block. */
#define WITH(sum, lost, v) ((sum) + ((v) - (lost)))

#if !ROW_LOOPS
/* Along memory a lane has EACH adjacent elements of a block, which all lanes read and write side by side by way of a
 * tile; there a lane's elements have a place more than they need, so that lanes find theirs in different banks. */
#define EACH 4
#define TILE (LANES * (EACH + 1))
#define PLACE_OF(i) ((i) + (i) / EACH)
/* the sums that FEW lanes add up for the others: see the dialect's GROUP_SUM */
#define FEW (LANES < 16 ? LANES : 16)

/* The sum of v over the lanes before this one, and in *all over all of them. */
INLINE ACC tdm_sum_before(LOCAL ACC *scratch, ACC v, ACC *all)
{
    const tdm_i32 share = LANES / FEW;
    scratch[LANE] = v;
    BARRIER;
    if (LANE < FEW) {
        ACC sum = OF_NONE;
        for (tdm_i32 i = LANE * share; i < (LANE + 1) * share; i++) {
            const ACC of_lane = scratch[i];
            scratch[i] = sum;
            sum = JOINED(sum, of_lane);
        }
        scratch[LANES + LANE] = sum;
    }
    BARRIER;
    ACC before = OF_NONE, sum = OF_NONE;
    for (tdm_i32 i = 0; i < FEW; i++) {
        before = i == LANE / share ? sum : before;
        sum = JOINED(sum, scratch[LANES + i]);
    }
    *all = sum;
    return JOINED(before, scratch[LANE]);
}
#endif

KERNEL3(cumsum, tdm_reduce_args, const T, x, const ACC, partial, U, y)
{
    GROUP_ARRAY(ACC, scratch);
#if !ROW_LOOPS
    LOCAL_ARRAY(ACC, tile, TILE);
    LOCAL_ARRAY(ACC, totals, LANES + FEW);
#endif
    FOR_ROWS(item, ITEMS(COLUMN_BLOCK))
    {
        PLACE(item, COLUMN_BLOCK);
        const tdm_i64 across = IN_COLUMNS ? (tdm_i64)args.cols : 1;
        const tdm_i64 first_part = number * args.chunks * across + column;
        if (!IN_COLUMNS) {
            LINE(xr, 0)
            GLOBAL U *const yr = y + y_at;
            ACC sum = OF_NONE, lost = 0;
            if (MULTIPLIES) {
                for (tdm_i64 c = 0; c < part; c++) sum *= partial[first_part + c];
            } else if (args.chunks > 1) {
                FOR_LANES_SINGLY(c, (tdm_i32)part) { ADD_BLOCK(sum, lost, partial[first_part + c]); }
                sum = GROUP_SUM(scratch, sum - lost);
                lost = 0;
            }
#if ROW_LOOPS
            for (tdm_i32 j = 0; MULTIPLIES && j < n; j++) {
                sum *= VALUE(LOAD(xr, j));
                PUT(yr, j, sum);
            }
            if (MULTIPLIES) continue;
#endif
#if !ROW_LOOPS
            FOR_BLOCKS(begin, end, n, LANES * EACH)
            {
                GLOBAL const T *const xb = xr + begin;
                GLOBAL U *const yb = yr + begin;
                PRIVATE_ARRAY(ACC, own, EACH);
                ACC inside = OF_NONE, all;
                UNROLL for (tdm_i32 k = 0; k < EACH; k++)
                {
                    const tdm_i32 i = k * LANES + LANE;
                    tile[PLACE_OF(i)] = i < end - begin ? VALUE(LOAD(xb, i)) : OF_NONE;
                }
                BARRIER;
                UNROLL for (tdm_i32 k = 0; k < EACH; k++)
                {
                    inside = JOINED(inside, tile[LANE * (EACH + 1) + k]);
                    own[k] = inside;
                }
                const ACC before = tdm_sum_before(totals, inside, &all);
                UNROLL for (tdm_i32 k = 0; k < EACH; k++)
                    tile[LANE * (EACH + 1) + k] = MULTIPLIES ? sum * (before * own[k])
                                                             : WITH(sum, lost, before + own[k]);
                BARRIER;
                /* no barrier after this loop: a lane writes next where it has just read */
                UNROLL for (tdm_i32 k = 0; k < EACH; k++)
                {
                    const tdm_i32 i = k * LANES + LANE;
                    if (i < end - begin) PUT(yb, i, tile[PLACE_OF(i)]);
                }
                if (MULTIPLIES)
                    sum *= all;
                else
                    ADD_BLOCK(sum, lost, all);
            }
#elif IN_STRIPS
            /* register by register: in one, by shifting; sums of whole registers and of blocks are the only chains.
             * `before` includes the error of the blocks before, so that no register subtracts it for itself. */
            PRIVATE_ARRAY(ACC, ends, VEC_LEN);
            FOR_BLOCKS(begin, end, n, SCANNED)
            {
                UNROLL for (tdm_i32 i = 0; i < VEC_LEN; i++) ends[i] = -lost;
                VEC before = VEC_OF(ends, 0);
                tdm_i32 j = begin;
                for (; j <= end - STRIP; j += STRIP) {
                    PRIVATE_ARRAY(ACC, sums, STRIP_LENGTH);
                    UNROLL FOR_REGISTERS(i)
                    {
                        const VEC v = SCAN_VEC(LOAD_VEC(xr + j + i));
                        VEC_OF(sums, i) = sum + (v + before);
                        before += LAST_OF_VEC(v);
                    }
                    PUT_STRIP(yr + j, sums);
                }
                VEC_OF(ends, 0) = before;
                ACC inside = ends[0];
                for (; j < end; j++) {
                    inside += LOAD(xr, j);
                    PUT(yr, j, sum + inside);
                }
                lost = 0;
                ADD_BLOCK(sum, lost, inside);
            }
#elif T_IS_FLOAT
            FOR_BLOCKS(begin, end, n, SUM_ROWS)
            {
                ACC inside = 0;
                for (tdm_i32 j = begin; j < end; j++) {
                    inside += LOAD(xr, j);
                    PUT(yr, j, WITH(sum, lost, inside));
                }
                ADD_BLOCK(sum, lost, inside);
            }
#else
            for (tdm_i32 j = 0; j < n; j++) {
                sum += VALUE(LOAD(xr, j));
                PUT(yr, j, sum);
            }
#endif
        } else {
            COLUMNS(ACC, sum, 0);
            if (MULTIPLIES) {
                FOR_COLUMNS(j, columns) { OF(sum) = 1; }
                for (tdm_i64 c = 0; c < part; c++) {
                    GLOBAL const ACC *const pr = partial + (first_part + c * across);
                    FOR_COLUMNS(j, columns) { OF(sum) *= pr[j]; }
                }
                for (tdm_i64 line = first; line < last; line++) {
                    GLOBAL U *const yr = y + (y_at + (line - first) * args.y_line);
                    LINE(xr, line)
                    FOR_COLUMNS(j, columns)
                    {
                        OF(sum) *= VALUE(LOAD(xr, j));
                        PUT(yr, j, OF(sum));
                    }
                }
                continue;
            }
            COLUMNS(ACC, some, 1); /* its block's sum, less the loss of adding up the blocks */
            {
                COLUMNS(ACC, lost, 2);
                FOR_COLUMNS(j, columns)
                {
                    OF(sum) = 0;
                    OF(lost) = 0;
                }
                for (tdm_i64 c = 0; c < part; c++) {
                    GLOBAL const ACC *const pr = partial + (first_part + c * across);
                    FOR_COLUMNS(j, columns) { ADD_BLOCK(OF(sum), OF(lost), pr[j]); }
                }
                FOR_COLUMNS(j, columns) { OF(some) = -OF(lost); }
            }
            for (tdm_i64 from = first; from < last; from += SUM_ROWS) {
                const tdm_i64 to = MIN(last, from + SUM_ROWS);
                tdm_i64 line = from;
                GLOBAL U *yr = y + (y_at + (from - first) * args.y_line);
                for (; line + 4 <= to; line += 4, yr += 4 * args.y_line) {
                    FOUR_LINES(line)
                    GLOBAL U *const y1 = yr + args.y_line, *const y2 = y1 + args.y_line;
                    GLOBAL U *const y3 = y2 + args.y_line;
#if IN_STRIPS
                    for (tdm_i32 j = 0; j < IN_WHOLE_STRIPS; j += STRIP) {
                        PRIVATE_ARRAY(ACC, sums0, STRIP_LENGTH);
                        PRIVATE_ARRAY(ACC, sums1, STRIP_LENGTH);
                        PRIVATE_ARRAY(ACC, sums2, STRIP_LENGTH);
                        PRIVATE_ARRAY(ACC, sums3, STRIP_LENGTH);
                        FETCH_FOUR(j, STRIP);
                        UNROLL FOR_REGISTERS(i)
                        {
                            const VEC before = VEC_OF(sum, j + i);
                            const VEC s0 = VEC_OF(some, j + i) + LOAD_VEC(x0 + j + i);
                            const VEC s1 = s0 + LOAD_VEC(x1 + j + i), s2 = s1 + LOAD_VEC(x2 + j + i);
                            const VEC s3 = s2 + LOAD_VEC(x3 + j + i);
                            VEC_OF(sums0, i) = before + s0;
                            VEC_OF(sums1, i) = before + s1;
                            VEC_OF(sums2, i) = before + s2;
                            VEC_OF(sums3, i) = before + s3;
                            VEC_OF(some, j + i) = s3;
                        }
                        PUT_STRIP(yr + j, sums0);
                        PUT_STRIP(y1 + j, sums1);
                        PUT_STRIP(y2 + j, sums2);
                        PUT_STRIP(y3 + j, sums3);
                    }
#endif
                    FOR_OTHER_COLUMNS(j, columns)
                    {
                        /* all are read before one is written, which may be another's place to a compiler */
                        const ACC v0 = VALUE(LOAD(x0, j)), v1 = VALUE(LOAD(x1, j));
                        const ACC v2 = VALUE(LOAD(x2, j)), v3 = VALUE(LOAD(x3, j));
                        const ACC s0 = OF(some) + v0, s1 = s0 + v1, s2 = s1 + v2, s3 = s2 + v3;
                        PUT(yr, j, OF(sum) + s0);
                        PUT(y1, j, OF(sum) + s1);
                        PUT(y2, j, OF(sum) + s2);
                        PUT(y3, j, OF(sum) + s3);
                        OF(some) = s3;
                    }
                }
                for (; line < to; line++, yr += args.y_line) {
                    LINE(xr, line)
#if IN_STRIPS
                    for (tdm_i32 j = 0; j < IN_WHOLE_STRIPS; j += STRIP) {
                        PRIVATE_ARRAY(ACC, sums, STRIP_LENGTH);
                        UNROLL FOR_REGISTERS(i)
                        {
                            VEC_OF(some, j + i) += LOAD_VEC(xr + j + i);
                            VEC_OF(sums, i) = VEC_OF(sum, j + i) + VEC_OF(some, j + i);
                        }
                        PUT_STRIP(yr + j, sums);
                    }
#endif
                    FOR_OTHER_COLUMNS(j, columns)
                    {
                        OF(some) += VALUE(LOAD(xr, j));
                        PUT(yr, j, OF(sum) + OF(some));
                    }
                }
                FOR_COLUMNS(j, columns)
                {
                    ACC lost = 0;
                    ADD_BLOCK(OF(sum), lost, OF(some));
                    OF(some) = -lost;
                }
            }
        }
    }
}

#undef STREAMS
#undef VALUE
#undef PUT
#undef FOR_OTHER_COLUMNS
#if IN_STRIPS
#undef IN_WHOLE_STRIPS
#undef STRIP_LENGTH
#undef PUT_STRIP
#undef SCANNED
#endif
#undef MULTIPLIES
#undef OF_NONE
#undef JOINED
#undef WITH
#if !ROW_LOOPS
#undef EACH
#undef TILE
#undef PLACE_OF
#undef FEW
#endif

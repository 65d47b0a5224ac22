/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* Sums of the elements so far, in lines along memory or in columns by OP, which lie as those of reductions do
 * (groups.h); T as there, U what the sums are stored as. y may be x.
 *
 * A sum is that of its block, in which no partial sum has more than 64 terms, and of the blocks before it with what
 * adding these up lost (reduce.h). Of what is cut into parts `partial` has the sum of each, as reduce.cl left it. */
OPS(cumsum, TDM_OP_CUMSUM_COUNT, 0)

#if T_IS_FLOAT
#define VALUE(v) (v)
#define PUT(p, j, v) STORE_U(p, j, v)
#else
#define VALUE(v) INTEGER(v)
#define PUT(p, j, v) ((p)[j] = (v))
#endif

/* 16-bit floats on a CPU: lines are converted as a whole, see the dialect, and so sums are made of columns that are not
 * there, too. */
#define IN_LINES (LANES == 1 && U_ID == T_ID && T_SIZE == 2)

/* Adds a block's sum to those before it. */
#define ADD_TO(sum, lost, v)                                                                       \
    do {                                                                                           \
        ADD_BLOCK(sum, lost, v);                                                                   \
        (lost) = LOST(lost);                                                                       \
    } while (0)
/* A sum that is v in its block. */
#define WITH(sum, lost, v) ((sum) + ((v) - (lost)))

#if LANES > 1
/* Along memory a lane has EACH adjacent elements of a block, which all lanes read and write side by side by way of a
 * tile; there a lane's elements have a place more than they need, so that lanes find theirs in different banks. */
#define EACH 4
#define TILE (LANES * (EACH + 1))
#define PLACE_OF(i) ((i) + (i) / EACH)
/* what FEW lanes add up for the others: see the dialect's GROUP_SUM */
#define FEW (LANES < 16 ? LANES : 16)

/* The sum of v over the lanes before this one, and in *all over all of them. */
INLINE ACC tdm_sum_before(LOCAL ACC *scratch, ACC v, ACC *all)
{
    const tdm_i32 share = LANES / FEW;
    scratch[LANE] = v;
    BARRIER;
    if (LANE < FEW) {
        ACC sum = 0;
        for (tdm_i32 i = LANE * share; i < (LANE + 1) * share; i++) {
            const ACC of_lane = scratch[i];
            scratch[i] = sum;
            sum += of_lane;
        }
        scratch[LANES + LANE] = sum;
    }
    BARRIER;
    ACC before = 0, sum = 0;
    for (tdm_i32 i = 0; i < FEW; i++) {
        before = i == LANE / share ? sum : before;
        sum += scratch[LANES + i];
    }
    *all = sum;
    return before + scratch[LANE];
}
#endif

KERNEL3(cumsum, tdm_reduce_args, const T, x, const ACC, partial, U, y)
{
    GROUP_ARRAY(ACC, scratch);
#if LANES > 1
    LOCAL_ARRAY(ACC, tile, TILE);
    LOCAL_ARRAY(ACC, totals, LANES + FEW);
#endif
    FOR_ROWS(item, ITEMS(COLUMN_BLOCK(ACC)))
    {
        PLACE(item, COLUMN_BLOCK(ACC));
        const tdm_i64 across = IN_COLUMNS ? (tdm_i64)args.cols : 1;
        const tdm_i64 first_part = number * args.chunks * across + column;
        if (!IN_COLUMNS) {
            LINE(xr, 0)
            GLOBAL U *const yr = y + y_at;
            ACC sum = 0, lost = 0;
            if (args.chunks > 1) {
                FOR_LANES_SINGLY(c, (tdm_i32)part) { ADD_TO(sum, lost, partial[first_part + c]); }
                sum = GROUP_SUM(scratch, sum - lost);
                lost = 0;
            }
#if LANES > 1
            FOR_BLOCKS(begin, end, n, LANES * EACH)
            {
                GLOBAL const T *const xb = xr + begin;
                GLOBAL U *const yb = yr + begin;
                PRIVATE_ARRAY(ACC, own, EACH);
                ACC inside = 0, all;
                UNROLL for (tdm_i32 k = 0; k < EACH; k++)
                {
                    const tdm_i32 i = k * LANES + LANE;
                    tile[PLACE_OF(i)] = i < end - begin ? VALUE(LOAD(xb, i)) : 0;
                }
                BARRIER;
                UNROLL for (tdm_i32 k = 0; k < EACH; k++)
                {
                    inside += tile[LANE * (EACH + 1) + k];
                    own[k] = inside;
                }
                const ACC before = tdm_sum_before(totals, inside, &all);
                UNROLL for (tdm_i32 k = 0; k < EACH; k++)
                    tile[LANE * (EACH + 1) + k] = WITH(sum, lost, before + own[k]);
                BARRIER;
                /* no barrier behind this: a lane writes next where it has just read */
                UNROLL for (tdm_i32 k = 0; k < EACH; k++)
                {
                    const tdm_i32 i = k * LANES + LANE;
                    if (i < end - begin) PUT(yb, i, tile[PLACE_OF(i)]);
                }
                ADD_TO(sum, lost, all);
            }
#elif T_IS_FLOAT
            /* register by register: in one, by shifting; sums of whole registers are the only chain */
            PRIVATE_ARRAY(ACC, sums, SUM_ROWS);
            FOR_BLOCKS(begin, end, n, SUM_ROWS)
            {
                ACC inside = 0;
                tdm_i32 j = begin;
                for (; j <= end - VEC_LEN; j += VEC_LEN) {
                    const VEC v = SCAN_VEC(LOAD_VEC(xr + j));
                    *(VEC *)(sums + (j - begin)) = WITH(sum, lost, v + inside);
                    inside += LAST_OF_VEC(v);
                }
                for (; j < end; j++) {
                    inside += LOAD(xr, j);
                    sums[j - begin] = WITH(sum, lost, inside);
                }
#if U_ID == T_ID
                GLOBAL U *const yb = yr + begin;
                for (tdm_i32 k = end - begin; k < SUM_ROWS; k++)
                    sums[k] = 0; /* a line is converted as a whole */
                FOR_LANES_WRITE(yb, k, end - begin, NOTHING_AHEAD, NOTHING_READ)
                {
                    WRITE(yb, k, sums[k]);
                }
#else
                FOR_LANES(k, begin, end) PUT(yr, k, sums[k - begin]);
#endif
                ADD_TO(sum, lost, inside);
            }
#else
            for (tdm_i32 j = 0; j < n; j++) {
                sum += VALUE(LOAD(xr, j));
                PUT(yr, j, sum);
            }
#endif
        } else {
            COLUMNS(ACC, sum);
            COLUMNS(ACC, lost);
            COLUMNS(ACC, some);
            FOR_COLUMNS(j, IN_LINES ? COLUMN_BLOCK(ACC) : columns)
            {
                OF(sum) = 0;
                OF(lost) = 0;
                OF(some) = 0;
            }
            for (tdm_i64 c = 0; c < part; c++) {
                GLOBAL const ACC *const pr = partial + (first_part + c * across);
                FOR_COLUMNS(j, columns) { ADD_TO(OF(sum), OF(lost), pr[j]); }
            }
            for (tdm_i64 from = first; from < last; from += SUM_ROWS) {
                const tdm_i64 to = MIN(last, from + SUM_ROWS);
                tdm_i64 line = from;
                GLOBAL U *yr = y + (y_at + (from - first) * args.y_line);
                FOR_COLUMNS(j, columns) { OF(some) = 0; }
#if !IN_LINES
                for (; line + 4 <= to; line += 4, yr += 4 * args.y_line) {
                    FOUR_LINES(line)
                    GLOBAL U *const y1 = yr + args.y_line, *const y2 = y1 + args.y_line;
                    GLOBAL U *const y3 = y2 + args.y_line;
                    FOR_COLUMNS(j, columns)
                    {
                        /* all are read before one is written, which may be another's place to a compiler */
                        const ACC v0 = VALUE(LOAD(x0, j)), v1 = VALUE(LOAD(x1, j));
                        const ACC v2 = VALUE(LOAD(x2, j)), v3 = VALUE(LOAD(x3, j));
                        const ACC s0 = OF(some) + v0, s1 = s0 + v1, s2 = s1 + v2, s3 = s2 + v3;
                        PUT(yr, j, WITH(OF(sum), OF(lost), s0));
                        PUT(y1, j, WITH(OF(sum), OF(lost), s1));
                        PUT(y2, j, WITH(OF(sum), OF(lost), s2));
                        PUT(y3, j, WITH(OF(sum), OF(lost), s3));
                        OF(some) = s3;
                    }
                }
#endif
                for (; line < to; line++, yr += args.y_line) {
                    LINE(xr, line)
#if IN_LINES
                    FETCH_ROW(xr + 4 * args.line_stride[0], columns);
                    FOR_LANES_WRITE(yr, j, columns, NOTHING_AHEAD, READ(xr))
                    {
                        OF(some) += AT(xr, j);
                        WRITE(yr, j, WITH(OF(sum), OF(lost), OF(some)));
                    }
#else
                    FOR_COLUMNS(j, columns)
                    {
                        OF(some) += VALUE(LOAD(xr, j));
                        PUT(yr, j, WITH(OF(sum), OF(lost), OF(some)));
                    }
#endif
                }
                FOR_COLUMNS(j, columns) { ADD_TO(OF(sum), OF(lost), OF(some)); }
            }
        }
    }
}

#undef VALUE
#undef PUT
#undef IN_LINES
#undef ADD_TO
#undef WITH
#if LANES > 1
#undef EACH
#undef TILE
#undef PLACE_OF
#undef FEW
#endif

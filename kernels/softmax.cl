/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* Softmax of each row: of a chunk the largest element and the sum of exp(x - base), where the base is that element or,
 * in rows of several chunks, a little above it. Where two chunks merge, their sums are put in terms of the larger base
 * (Milakov and Gimelshein, arXiv:1805.02867). A CPU keeps the powers of a row of one chunk, which fits its cache,
 * unrounded; else they are computed again, which is cheaper than memory. NaN and +Inf reach the sum, and so the whole
 * row. y may be x.
 * Of logarithms a row is x - largest - log(sum), and of log_sum the element largest + log(sum), Inf where one is Inf.
 * With SCALED it is that of x scale + mask, of which a causal row counts its first columns alone. The others are 0,
 * or NaN where the row's sum is NaN or there is none, as if they had been -Inf. */
#ifdef TDMI_ISA /* where other values of OP are in TDM_FLAGS alone */
#define SCALED OP
#else
#define SCALED (OP & TDM_OP_SOFTMAX_SCALED)
#endif
#define MASKED (SCALED && args.has_mask)
#if ROW_LOOPS
/* one loop for rows with a mask and without, where it is read and taken for zeros */
#define READ_MASK(m) READ_IF(SCALED, m)
#define MASK(m, j) MAGNITUDE_OF(BITS_KEY(AT(m, j)) & mask_bits)
/* of a row that is kept the next is fetched during the sum, which takes the longest */
#define KEEPS (CHUNKS == 1)
#define POWER(j, v) (powers[KEEPS ? j : j - from] = (v))
#else
#define READ_MASK(m) READ_IF(MASKED, m)
#define MASK(m, j) (MASKED ? AT(m, j) : (ACC)0)
#define POWER(j, v) (v)
#endif
#define SCORE(p, m, j) (SCALED ? AT(p, j) * scale + MASK(m, j) : AT(p, j))
/* -Inf is no base, as -Inf - -Inf is NaN. */
#define BASE_OF(largest) (ORDER_KEY(largest) > ~INFINITY_KEY ? (largest) : (ACC)0)

/* The base of the powers in rows of several chunks: a multiple of 4 a little above the largest element, where these are
 * apart. Chunks whose largest elements rise slowly share it; with one for each the sum would be multiplied by a rounded
 * power at every merge. */
#define tdm_coarse_f32 50331648.0f /* to which adding rounds to multiples of 4 */
#define tdm_coarse_f64 27021597764222976.0
INLINE ACC tdm_coarse_base(ACC largest)
{
    const ACC coarse = (largest + TDM_BY_ACC(tdm_coarse_)) - TDM_BY_ACC(tdm_coarse_) + (ACC)4;
    return VALUE_OF(MAX(ORDER_KEY(coarse), ORDER_KEY(largest)));
}

typedef struct tdm_powers {
    ACC largest, sum, lost; /* lost: in adding chunks */
} tdm_powers;

INLINE tdm_powers tdm_powers_merged(tdm_powers a, tdm_powers b)
{
    tdm_powers all;
    all.largest = VALUE_OF(MAX(ORDER_KEY(a.largest), ORDER_KEY(b.largest)));
    const ACC base = BASE_OF(tdm_coarse_base(all.largest));
    const ACC of_a = EXP_NEGATIVE(tdm_coarse_base(a.largest) - base);
    const ACC of_b = EXP_NEGATIVE(tdm_coarse_base(b.largest) - base);
    const ACC sum_a = a.sum * of_a, sum_b = b.sum * of_b;
    all.lost = a.lost * of_a + b.lost * of_b;
    ADD_STATES(all.sum, all.lost, sum_a, sum_b);
    return all;
}

/* The log_sum of a row whose largest element is Inf: its powers are NaN. */
APART ACC tdm_infinite_sum(GLOBAL const T *x, tdm_i32 cols, LOCAL ACC *scratch)
{
    ACC sum = 0;
    FOR_LANES_SINGLY(j, cols)
    {
        const ACC v = LOAD(x, j);
        sum += v == v ? (ACC)0 : v;
    }
    return GROUP_SUM(scratch, sum) + MAGNITUDE_OF(INFINITY_KEY);
}

KERNEL4(softmax, tdm_softmax_args, const T, x, const T, mask, tdm_powers, partial, T, y)
{
    GROUP_ARRAY(ACC, scratch);
    GROUP_ARRAY(KEY, key_scratch);
    CUT
#if ROW_LOOPS
    SCRATCH_ARRAY(ACC, powers, TDM_KEPT_BYTES / sizeof(ACC) + SUM_LANES, 0); /* a line's past the end, too */
    const KEY mask_bits = MASKED ? ~(KEY)0 : (KEY)0;
#endif
    const ACC scale = SCALED ? SCALAR(args.scale) : (ACC)1;
    FOR_ROWS(item, args.rows * PIECES)
    {
        PIECE(item, row, start, cols);
        GLOBAL const T *const xr = x + (args.x_offset + row * args.x_stride + start);
        GLOBAL T *const yr = y + (args.y_offset + row * args.y_stride + start);
        GLOBAL const T *mr = xr;
        if (MASKED) {
            tdm_i64 at = args.mask_offset + start, rest = row;
            FOR_DIMS(d, args.mask_ndim)
            {
                const tdm_i64 next = rest / args.mask_shape[d];
                at += (rest - next * args.mask_shape[d]) * args.mask_stride[d];
                rest = next;
            }
            mr = mask + at;
        }
        tdm_i32 counted = cols;
        if (SCALED && args.causal_rows > 0) {
            const tdm_i64 end = row % args.causal_rows + 1 + args.cut.cols - args.causal_rows - start;
            counted = (tdm_i32)MAX((tdm_i64)0, MIN(end, (tdm_i64)cols));
        }
        HOLD(xr, counted);
        tdm_powers all;
        FOR_STATES(c, begin, end, cols)
        {
            tdm_powers s;
            if (PHASE == TDM_ROWS_WRITES) {
                s = LEFT(c);
            } else {
                const tdm_i32 last = MIN(end, MAX(begin, counted));
                KEY key = SCALED ? ~INFINITY_KEY : LOWEST_KEY;
                LARGEST(key, j, begin, last, HELD(xr) READ_MASK(mr), ORDER_KEY(SCORE(xr, mr, j)), AHEAD(xr));
                s.largest = VALUE_OF(GROUP_MAX(key_scratch, key));
                const ACC base = BASE_OF(CHUNKS > 1 ? tdm_coarse_base(s.largest) : s.largest);
                ACC lost = 0;
                s.sum = 0;
                FOR_BLOCKS_OF(from, to, begin, last)
                {
                    ACC a = 0;
                    SUM(a, j, from, to, HELD(xr) READ_MASK(mr),
                        POWER(j, EXP_NEGATIVE(SCORE(xr, mr, j) - base)), ROW_AHEAD(xr, args.x_stride));
                    TDM_ADD_BLOCK_AT(from, begin, s.sum, lost, a);
                }
                s.sum = GROUP_SUM(scratch, s.sum);
                s.lost = 0;
            }
            KEEP_STATE(all, c, s, tdm_powers_merged(all, s));
        }
        if (PHASE == TDM_ROWS_SUMS) continue;
        if (CHUNKS > 1 && ORDER_KEY(all.largest) > ~INFINITY_KEY) /* in terms of the largest element */
            all.sum /= EXP_NEGATIVE(all.largest - tdm_coarse_base(all.largest));
        if (TDM_FLAGS & (TDM_OP_SOFTMAX_LOG | TDM_OP_SOFTMAX_LOG_SUM)) {
            const ACC of_sum = LOG(all.sum);
            if (TDM_FLAGS & TDM_OP_SOFTMAX_LOG_SUM) {
                const ACC sum = all.largest == MAGNITUDE_OF(INFINITY_KEY) ? tdm_infinite_sum(xr, cols, scratch)
                                                                         : all.largest + of_sum;
                if (LANE == 0) STORE(yr, 0, sum);
            } else {
                FOR_LANES_WRITE(yr, j, cols, ROW_AHEAD(xr, args.x_stride), HELD(xr))
                {
                    WRITE(yr, j, (AT(xr, j) - all.largest) - of_sum);
                }
            }
            continue;
        }
        const ACC share = (ACC)1 / all.sum, none = (ACC)0 * share;
#if ROW_LOOPS
        if (KEEPS)
            FOR_LANES_WRITE(yr, j, cols, NOTHING_AHEAD, NOTHING_READ)
            {
                const ACC v = powers[j] * share;
                WRITE(yr, j, SCALED && (tdm_i32)j >= counted ? none : v);
            }
        else
#endif
        FOR_LANES_WRITE(yr, j, cols, ROW_AHEAD(xr, args.x_stride), HELD(xr) READ_MASK(mr))
        {
            const ACC v = EXP_NEGATIVE(SCORE(xr, mr, j) - all.largest) * share;
            WRITE(yr, j, SCALED && (tdm_i32)j >= counted ? none : v);
        }
    }
}

#undef SCALED
#undef MASKED
#undef READ_MASK
#undef MASK
#undef KEEPS
#undef POWER
#undef SCORE
#undef BASE_OF

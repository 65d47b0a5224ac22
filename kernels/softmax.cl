/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* Softmax of each row, in two passes over it: a lane sums up exp(x - base), where its base is the largest
 * element so far, or is so near that no sum overflows, and what it summed up before is multiplied where the
 * base rises (Milakov and Gimelshein, arXiv:1805.02867). To rise at each block would round each time. A CPU keeps
 * the exponentials of a row that fits its cache, unrounded; else they are computed again, which is cheaper than
 * memory. -Inf is no base, as -Inf - -Inf is NaN. NaN and +Inf reach the sum, and so the whole row. y may be
 * x. Rows are whole or cut, see args.h.
 *
 * With OP it is that of x scale + mask, of which a causal row counts its first columns alone. The others are 0,
 * or NaN where the row's sum is NaN or there is none, as if they had been -Inf. */
OPS(softmax, TDM_OP_SOFTMAX_COUNT, 1)

#define NEAR (ACC)20
#define MASKED (OP && args.has_mask)
#if ROW_LOOPS
/* one loop for rows with a mask and without, where it is read and taken for zeros */
#define READ_MASK(m) READ_IF(OP, m)
#define MASK(m, j) MAGNITUDE_OF(BITS_KEY(AT(m, j)) & mask_bits)
/* of a row that is kept the next is fetched during the sum, which takes the longest */
#define MOST_KEPT (tdm_i32)((128 << 10) / sizeof(ACC))
#define KEEPS (PHASE == TDM_ROWS_WHOLE && cols <= MOST_KEPT)
#define STRIP (KEEPS ? counted : SUM_BLOCK)
#define NEXT_ROW ROW_AHEAD(block, args.x_stride)
#define FOR_SUMS(begin, end, n) FOR_BLOCKS(begin, end, n, SUM_BLOCK)
#define POWER(j, v) (powers[j] = (v))
#else
#define STRIP KEEP_BLOCK
#define NEXT_ROW NOTHING_AHEAD
#define FOR_SUMS(begin, end, n) for (tdm_i32 begin = 0, end = (n), once = 1; once; once = 0)
#define POWER(j, v) (v)
#define READ_MASK(m) READ_IF(MASKED, m)
#define MASK(m, j) (MASKED ? AT(m, j) : (ACC)0)
#endif
#define SCORE(p, m, j) (OP ? AT(p, j) * scale + MASK(m, j) : AT(p, j))
#define BASE_OF(key) ((key) > ~INFINITY_KEY ? VALUE_OF(key) : (ACC)0)

KERNEL4(softmax, tdm_softmax_args, const T, x, const T, mask, ACC, partial, T, y)
{
    GROUP_ARRAY(ACC, scratch);
    GROUP_ARRAY(KEY, key_scratch);
    CUT
#if ROW_LOOPS
    /* of the last strip; the elements behind it that a line has are not stored */
    SCRATCH_ARRAY(ACC, powers, MOST_KEPT + SUM_LANES, 0);
    const KEY mask_bits = MASKED ? ~(KEY)0 : (KEY)0;
#endif
    const ACC scale = OP ? SCALAR(args.scale) : (ACC)1;
    FOR_ROWS(item, args.rows * CHUNKS)
    {
        PART(item, row, start, cols);
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
        if (OP && args.causal_rows > 0) {
            const tdm_i64 end = row % args.causal_rows + 1 + args.cols - args.causal_rows - start;
            counted = (tdm_i32)MAX((tdm_i64)0, MIN(end, (tdm_i64)cols));
        }
        GLOBAL const ACC *const pr = PHASE == TDM_ROWS_WRITES ? partial + 2 * row * CHUNKS : partial;
        HOLD(xr, counted);
        KEY key = OP ? ~INFINITY_KEY : LOWEST_KEY;
        ACC base = 0, sum = 0, lost = 0;
        if (PHASE == TDM_ROWS_WRITES) {
            FOR_LANES_SINGLY(j, CHUNKS) TDM_RAISE(key, ORDER_KEY(pr[2 * j]))
        } else {
            FOR_BLOCKS(begin, end, counted, STRIP)
            {
                const tdm_i32 n = end - begin;
                KEEP(block, xr, begin, n);
                GLOBAL const T *const mb = mr + begin;
                LARGEST(key, j, 0, n, KEPT(block) READ_MASK(mb),
                        ORDER_KEY(SCORE(block, mb, j)), AHEAD(block));
                const ACC higher = BASE_OF(key);
                if (!(sum > 0) || !(higher - base <= NEAR)) {
                    const ACC risen = sum > 0 ? EXP_NEGATIVE(base - higher) : (ACC)1;
                    sum *= risen;
                    lost *= risen;
                    base = higher;
                }
                FOR_SUMS(from, to, n)
                {
                    ACC a = 0;
                    SUM(a, j, from, to, KEPT(block) READ_MASK(mb),
                        POWER(j, EXP_NEGATIVE(SCORE(block, mb, j) - base)), NEXT_ROW);
                    ADD_BLOCK(sum, lost, a);
                }
            }
        }
        const ACC largest = VALUE_OF(GROUP_MAX(key_scratch, key));
        if (PHASE == TDM_ROWS_WRITES) {
            FOR_LANES_SINGLY(j, CHUNKS)
                sum += EXP_NEGATIVE(pr[2 * j] - largest) * pr[2 * j + 1];
        } else if (sum > 0) {
            sum *= EXP_NEGATIVE(base - largest);
        }
        const ACC total = GROUP_SUM(scratch, sum);
        if (PHASE == TDM_ROWS_SUMS) {
            if (LANE == 0) {
                partial[2 * item] = largest;
                partial[2 * item + 1] = total;
            }
        } else {
            const ACC share = (ACC)1 / total;
            const ACC none = (ACC)0 * share;
#if ROW_LOOPS
            if (KEEPS)
                FOR_LANES_WRITE(yr, j, cols, NOTHING_AHEAD, NOTHING_READ)
                {
                    const ACC v = powers[j] * share;
                    WRITE(yr, j, OP && (tdm_i32)j >= counted ? none : v);
                }
            else
#endif
            FOR_LANES_WRITE(yr, j, cols, ROW_AHEAD(xr, args.x_stride),
                            HELD(xr) READ_MASK(mr))
            {
                const ACC v = EXP_NEGATIVE(SCORE(xr, mr, j) - largest) * share;
                WRITE(yr, j, OP && (tdm_i32)j >= counted ? none : v);
            }
        }
    }
}

#undef NEAR
#undef MASKED
#undef READ_MASK
#undef MASK
#undef MOST_KEPT
#undef KEEPS
#undef STRIP
#undef NEXT_ROW
#undef FOR_SUMS
#undef POWER
#undef SCORE
#undef BASE_OF

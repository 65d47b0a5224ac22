/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* Softmax of each row, in two passes over it: a lane sums up exp(x - base), where its base is the largest
 * element so far, or is so near that no sum overflows, and what it summed up before is multiplied where the
 * base rises (Milakov and Gimelshein, arXiv:1805.02867). To rise at each block would round each time. exp is
 * then computed again rather than kept: a 16-bit y could not hold it, and it is cheaper than memory. -Inf is
 * no base, as -Inf - -Inf is NaN. NaN and +Inf reach the sum, and so the whole row. y may be
 * x. Rows are whole or cut, see args.h. */
OPS(softmax, 1, 1)

#define NEAR (ACC)20
#define BASE_OF(key) ((key) > ~INFINITY_KEY ? VALUE_OF(key) : (ACC)0)

KERNEL3(softmax, tdm_rows_args, const T, x, ACC, partial, T, y)
{
    GROUP_ARRAY(ACC, scratch);
    GROUP_ARRAY(KEY, key_scratch);
    CUT
    FOR_ROWS(item, args.rows * CHUNKS)
    {
        PART(item, row, start, cols);
        GLOBAL const T *const xr = x + (args.x_offset + row * args.x_stride + start);
        GLOBAL T *const yr = y + (args.y_offset + row * args.y_stride + start);
        GLOBAL const ACC *const pr = PHASE == TDM_ROWS_WRITES ? partial + 2 * row * CHUNKS : partial;
        HOLD(xr, cols);
        KEY key = LOWEST_KEY;
        ACC base = 0, sum = 0, lost = 0;
        if (PHASE == TDM_ROWS_WRITES) {
            FOR_LANES_SINGLY(j, CHUNKS) TDM_RAISE(key, ORDER_KEY(pr[2 * j]))
        } else {
            FOR_BLOCKS(begin, end, cols, KEEP_BLOCK)
            {
                const tdm_i32 n = end - begin;
                KEEP(block, xr, begin, n);
                LARGEST(key, j, 0, n, KEPT(block), ORDER_KEY(AT(block, j)), AHEAD(block));
                const ACC higher = BASE_OF(key);
                if (!(sum > 0) || !(higher - base <= NEAR)) {
                    const ACC risen = sum > 0 ? EXP_NEGATIVE(base - higher) : (ACC)1;
                    sum *= risen;
                    lost *= risen;
                    base = higher;
                }
                ACC a = 0;
                SUM(a, j, 0, n, KEPT(block), EXP_NEGATIVE(AT(block, j) - base), NOTHING_AHEAD);
                ADD_BLOCK(sum, lost, a);
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
            const ACC scale = (ACC)1 / total;
            FOR_LANES_WRITE(yr, j, cols, ROW_AHEAD(xr, args.x_stride), HELD(xr))
            {
                WRITE(yr, j, EXP_NEGATIVE(AT(xr, j) - largest) * scale);
            }
        }
    }
}

#undef NEAR
#undef BASE_OF

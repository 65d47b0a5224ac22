/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* y = x / max(|x|, epsilon), |x| the row's L2 norm, right also where the squares would overflow or
 * underflow. y may be x. Rows are whole or cut, see args.h. */
OPS(l2_normalize, 1, 1)

KERNEL3(l2_normalize, tdm_rows_args, const T, x, ACC, partial, T, y)
{
    GROUP_ARRAY(ACC, scratch);
    GROUP_ARRAY(KEY, key_scratch);
    CUT
    const ACC epsilon = SCALAR(args.epsilon);
    FOR_ROWS(item, args.rows * CHUNKS)
    {
        PART(item, row, start, cols);
        GLOBAL const T *const xr = x + (args.x_offset + row * args.x_stride + start);
        GLOBAL T *const yr = y + (args.y_offset + row * args.y_stride + start);
        HOLD(xr, cols);
        ACC factor = (ACC)1, sum = 0;
        if (PHASE == TDM_ROWS_WRITES) {
            const tdm_squares all = tdm_squares_of_chunks(partial + 2 * row * CHUNKS, CHUNKS, epsilon,
                                                          scratch, key_scratch);
            factor = all.factor;
            sum = all.sum;
        } else {
            for (tdm_i32 turn = 0, turns = 1; turn < turns; turn++) {
                sum = 0;
                FOR_BLOCKS(begin, end, cols, SUM_BLOCK)
                {
                    ACC a = 0;
                    SUM(a, j, begin, end, HELD(xr), SQUARE(AT(xr, j) * factor), AHEAD(xr));
                    sum += a;
                }
                sum = GROUP_SUM(scratch, sum);
                if (turn == 0 && !SAFE_SQUARES(sum * (ACC)CHUNKS)) {
                    /* the squares overflow or vanish: those of the row times a power of two do not */
                    KEY key = PHASE == TDM_ROWS_SUMS ? 0 : MAGNITUDE_KEY(epsilon);
                    LARGEST(key, j, 0, cols, HELD(xr), MAGNITUDE_KEY(AT(xr, j)), NOTHING_AHEAD);
                    factor = RESCALE(GROUP_MAX(key_scratch, key));
                    turns = 2;
                }
            }
        }
        if (PHASE == TDM_ROWS_SUMS) {
            if (LANE == 0) {
                partial[2 * item] = factor;
                partial[2 * item + 1] = sum;
            }
        } else {
            const ACC norm = SQRT(sum), least = epsilon * factor;
            const ACC scale = (ACC)1 / (norm < least ? least : norm);
            FOR_LANES_WRITE(yr, j, cols, ROW_AHEAD(xr, args.x_stride), HELD(xr))
            {
                WRITE(yr, j, AT(xr, j) * factor * scale);
            }
        }
    }
}

/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* y = x / max(|x|, epsilon), |x| the row's L2 norm, right also where the squares would overflow or
 * underflow. y may be x. */

KERNEL3(l2_normalize, tdm_rows_args, const T, x, tdm_squares, partial, T, y)
{
    GROUP_ARRAY(ACC, scratch);
    GROUP_ARRAY(KEY, key_scratch);
    CUT
    const ACC epsilon = SCALAR(args.epsilon);
    FOR_ROWS(item, args.rows * PIECES)
    {
        PIECE(item, row, start, cols);
        GLOBAL const T *const xr = x + (args.x_offset + row * args.x_stride + start);
        GLOBAL T *const yr = y + (args.y_offset + row * args.y_stride + start);
        HOLD(xr, cols);
        tdm_squares all;
        FOR_STATES(c, begin, end, cols)
        {
            tdm_squares s;
            if (PHASE == TDM_ROWS_WRITES)
                s = LEFT(c);
            else
                SQUARES(s, xr, 0, j, begin, end, HELD(xr), AT(xr, j), 1, 0, epsilon);
            KEEP_STATE(all, c, s, tdm_squares_merged(all, s));
        }
        if (PHASE == TDM_ROWS_SUMS) continue;
        const ACC norm = SQRT(all.sum), least = epsilon * all.factor;
        const ACC scale = (ACC)1 / (norm < least ? least : norm);
        FOR_LANES_WRITE(yr, j, cols, ROW_AHEAD(xr, args.x_stride), HELD(xr))
        {
            WRITE(yr, j, AT(xr, j) * all.factor * scale);
        }
    }
}

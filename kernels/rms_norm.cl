/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* RMSNorm of s = x + residual, s rounded to T. OP: TDM_OP_WEIGHT, TDM_OP_RMS_RESIDUAL, TDM_OP_RMS_SUM.
 * s is computed twice, not kept; sum is written with y, so that y and sum may be x or residual.
 * Where the squares overflow or vanish, s is multiplied by a power of two. Rows are whole or cut, see args.h. */
OPS(rms_norm, TDM_OP_RMS_COUNT, TDM_OP_RMS_COUNT)

#define READ_S HELD(xr) HELD_IF((OP & TDM_OP_RMS_RESIDUAL) != 0, rr)
#define S_AT(j) ((OP & TDM_OP_RMS_RESIDUAL) != 0 ? ROUND(AT(xr, j) + AT(rr, j)) : AT(xr, j))

KERNEL6(rms_norm, tdm_normalize_args, const T, x, const T, residual, const T, weight, ACC, partial, T, sum,
        T, y)
{
    GROUP_ARRAY(ACC, scratch);
    GROUP_ARRAY(KEY, key_scratch);
    CUT
    const ACC inverse = (ACC)1 / (ACC)args.cols;
    const ACC epsilon = SCALAR(args.epsilon);
    FOR_ROWS(item, args.rows * CHUNKS)
    {
        PART(item, row, start, cols);
        GLOBAL const T *const xr = x + (args.x_offset + row * args.x_stride + start);
        GLOBAL const T *const rr =
            (OP & TDM_OP_RMS_RESIDUAL) != 0
                ? residual + (args.residual_offset + row * args.residual_stride + start)
                : xr;
        GLOBAL const T *const wr =
            (OP & TDM_OP_WEIGHT) != 0 ? weight + (args.weight_offset + start) : xr;
        GLOBAL T *const yr = y + (args.y_offset + row * args.y_stride + start);
        HOLD(xr, cols);
        HOLD_IF((OP & TDM_OP_RMS_RESIDUAL) != 0, rr, cols);
        /* the mean of the squares, of a chunk its share in that of the row */
        ACC factor = (ACC)1, least = epsilon, mean = 0;
        if (PHASE == TDM_ROWS_WRITES) {
            const ACC root = SQRT(epsilon);
            const tdm_squares all = tdm_squares_of_chunks(partial + 2 * row * CHUNKS, CHUNKS, root,
                                                          scratch, key_scratch);
            factor = all.factor;
            mean = all.sum;
            if (factor != (ACC)1) least = SQUARE(root * factor);
        } else {
            for (tdm_i32 turn = 0, turns = 1; turn < turns; turn++) {
                mean = 0;
                FOR_BLOCKS(begin, end, cols, SUM_BLOCK)
                {
                    ACC a = 0;
                    SUM(a, j, begin, end, READ_S, SQUARE(S_AT(j) * factor), AHEAD(xr));
                    mean += a;
                }
                mean = GROUP_SUM(scratch, mean) * inverse;
                if (turn == 0 && !SAFE_SQUARES(mean + least)) {
                    const ACC root = SQRT(epsilon);
                    KEY key = PHASE == TDM_ROWS_SUMS ? 0 : MAGNITUDE_KEY(root);
                    LARGEST(key, j, 0, cols, READ_S, MAGNITUDE_KEY(S_AT(j)), NOTHING_AHEAD);
                    factor = RESCALE(GROUP_MAX(key_scratch, key));
                    least = SQUARE(root * factor);
                    turns = 2;
                }
            }
        }
        const ACC scale = (ACC)1 / SQRT(mean + least);
        if (PHASE == TDM_ROWS_SUMS) {
            if (LANE == 0) {
                partial[2 * item] = factor;
                partial[2 * item + 1] = mean;
            }
        } else if ((OP & TDM_OP_RMS_SUM) != 0) {
            GLOBAL T *const sr = sum + (args.sum_offset + row * args.sum_stride + start);
            FOR_LANES_WRITE2(yr, sr, j, cols, ROW_AHEAD(xr, args.x_stride),
                            READ_S READ_IF((OP & TDM_OP_WEIGHT) != 0, wr))
            {
                const ACC s = S_AT(j);
                const ACC v = s * factor * scale;
                WRITE2(sr, j, s);
                WRITE(yr, j, (OP & TDM_OP_WEIGHT) != 0 ? v * AT(wr, j) : v);
            }
        } else {
            FOR_LANES_WRITE(yr, j, cols, ROW_AHEAD(xr, args.x_stride),
                            READ_S READ_IF((OP & TDM_OP_WEIGHT) != 0, wr))
            {
                const ACC v = S_AT(j) * factor * scale;
                WRITE(yr, j, (OP & TDM_OP_WEIGHT) != 0 ? v * AT(wr, j) : v);
            }
        }
    }
}

#undef READ_S
#undef S_AT

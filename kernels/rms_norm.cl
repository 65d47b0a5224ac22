/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* RMSNorm of s = x + residual, see residual.h. OP: TDM_OP_ROW_RESIDUAL, _WEIGHT, _SUM.
 * Where the squares overflow or vanish, s is multiplied by a power of two. Rows are whole or cut, see args.h. */
OPS(rms_norm, TDM_OP_ROW_FORMS, TDM_OP_ROW_FORMS)

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
        GLOBAL const T *const wr = HAS_WEIGHT ? weight + (args.weight_offset + start) : xr;
        GLOBAL T *const yr = y + (args.y_offset + row * args.y_stride + start);
        HOLD_S(xr, rr, row, start, cols);
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
                    SUM(a, j, begin, end, READ_S(xr, rr), SQUARE(S_AT(xr, rr, j) * factor),
                        AHEAD(xr));
                    mean += a;
                }
                mean = GROUP_SUM(scratch, mean) * inverse;
                if (turn == 0 && !SAFE_SQUARES(mean + least)) {
                    const ACC root = SQRT(epsilon);
                    KEY key = PHASE == TDM_ROWS_SUMS ? 0 : MAGNITUDE_KEY(root);
                    LARGEST(key, j, 0, cols, READ_S(xr, rr), MAGNITUDE_KEY(S_AT(xr, rr, j)),
                            NOTHING_AHEAD);
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
        } else if (HAS_WEIGHT) {
            WRITE_OF_S(yr, xr, rr, row, start, cols, READ(wr), s, j,
                       s * factor * scale * AT(wr, j));
        } else {
            WRITE_OF_S(yr, xr, rr, row, start, cols, NOTHING_READ, s, j, s * factor * scale);
        }
    }
}

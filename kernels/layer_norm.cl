/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* LayerNorm of s = x + residual, see residual.h. A pass takes both moments around a pivot, at first the middle one
 * of three elements, so that it is hardly an outlier: these lie where few patterns repeat. Around the mean itself
 * more digits would be lost where few elements are far from all others, as each sum with one of these is rounded in
 * their terms. Where squares overflow or vanish, the next pass multiplies the row by a power of two; where the
 * mean is far from the pivot in terms of the deviation, which loses digits, it is around the mean found so
 * far. As the mean may not be representable, pivot + shift + low is kept as a rounded sum and what that
 * lost: a rounding of the mean is much to elements that are near it. OP:
 * TDM_OP_ROW_RESIDUAL, _WEIGHT, _BIAS, _SUM. Rows are whole or cut, see args.h. */
OPS(layer_norm, TDM_OP_ROW_FORMS, TDM_OP_ROW_FORMS)

#define NORMALIZED(s) ((((s) * factor - mean) - rest) * scale)

#define BUFFERS(X)                                                                                 \
    X(0, const T, x) X(1, const T, residual) X(2, const T, weight) X(3, const T, bias)             \
    X(4, ACC, partial) X(5, T, sum) X(6, T, y)

KERNEL_OF(layer_norm, tdm_normalize_args, BUFFERS)
{
    GROUP_ARRAY(ACC, scratch);
    GROUP_ARRAY(KEY, key_scratch);
    CUT
    const ACC epsilon = SCALAR(args.epsilon);
    FOR_ROWS(item, args.rows * CHUNKS)
    {
        PART(item, row, start, cols);
        const ACC inverse = (ACC)1 / (ACC)cols;
        GLOBAL const T *const xr = x + (args.x_offset + row * args.x_stride + start);
        GLOBAL const T *const wr = HAS_WEIGHT ? weight + (args.weight_offset + start) : xr;
        GLOBAL const T *const br = HAS_BIAS ? bias + (args.bias_offset + start) : xr;
        GLOBAL T *const yr = y + (args.y_offset + row * args.y_stride + start);
        HOLD_S(xr, rr, row, start, cols);
        tdm_moments all;
        all.factor = (ACC)1;
        ACC least = epsilon;
        if (PHASE == TDM_ROWS_WRITES) {
            const ACC root = SQRT(epsilon);
            all = tdm_moments_of_chunks(partial + 4 * row * CHUNKS, CHUNKS, args.chunk, args.cols, root,
                                        scratch, key_scratch);
            if (all.factor != (ACC)1) least = SQUARE(root * all.factor);
        } else {
            ACC pivot = 0;
            if (LANE == 0) {
                const ACC s0 = LOAD_S(xr, rr, cols / 8), s1 = LOAD_S(xr, rr, cols / 8 * 3);
                const ACC s2 = LOAD_S(xr, rr, cols / 8 * 5);
                pivot = MAX(MIN(s0, s1), MIN(MAX(s0, s1), s2));
            }
            pivot = GROUP_SUM(scratch, pivot);
            ACC shift = 0, low = 0, variance = 0;
            for (tdm_i32 tries = 0; tries < 3;) {
                const ACC factor = all.factor;
                ACC first = 0, second = 0, lost = 0;
                FOR_BLOCKS(begin, end, cols, SUM_BLOCK)
                {
                    ACC a = 0, b = 0;
                    SUM2(a, b, j, begin, end, READ_S(xr, rr),
                         const ACC d = S_AT(xr, rr, j) * factor - pivot, d, d * d, AHEAD(xr));
                    ADD_BLOCK(first, lost, a);
                    second += b;
                }
                first = GROUP_SUM(scratch, first);
                shift = first * inverse;
                /* what the quotient lost, and the sum where one lane has all of it */
                low = (FMA(-shift, (ACC)cols, first) - (LANES == 1 ? lost : (ACC)0)) * inverse;
                second = GROUP_SUM(scratch, second) * inverse;
                variance = second - shift * shift;
                if (tries == 0 && !SAFE_SQUARES(second + epsilon)) {
                    const ACC root = SQRT(epsilon);
                    KEY key = PHASE == TDM_ROWS_SUMS ? 0 : MAGNITUDE_KEY(root);
                    LARGEST(key, j, 0, cols, READ_S(xr, rr), MAGNITUDE_KEY(S_AT(xr, rr, j)),
                            NOTHING_AHEAD);
                    all.factor = RESCALE(GROUP_MAX(key_scratch, key));
                    least = SQUARE(root * all.factor);
                    pivot *= all.factor;
                    tries = 1;
                } else if (tries < 2 && !(shift * shift <= (ACC)4 * variance)) {
                    pivot += shift;
                    tries = 2;
                } else {
                    tries = 3;
                }
            }
            all.mean = pivot + shift;
            const ACC added = all.mean - pivot;
            all.rest = (pivot - (all.mean - added)) + ((shift - added) + low);
            all.variance = variance;
        }
        if (PHASE == TDM_ROWS_SUMS) {
            if (LANE == 0) {
                GLOBAL ACC *const left = partial + 4 * item;
                left[0] = all.factor;
                left[1] = all.mean;
                left[2] = all.rest;
                left[3] = all.variance;
            }
        } else {
            const ACC factor = all.factor, mean = all.mean, rest = all.rest;
            const ACC scale = (ACC)1 / SQRT(all.variance + least);
            if (HAS_WEIGHT && HAS_BIAS)
                WRITE_OF_S(yr, xr, rr, row, start, cols, READ(wr) READ(br), s, j,
                           NORMALIZED(s) * AT(wr, j) + AT(br, j));
            else if (HAS_WEIGHT)
                WRITE_OF_S(yr, xr, rr, row, start, cols, READ(wr), s, j, NORMALIZED(s) * AT(wr, j));
            else if (HAS_BIAS)
                WRITE_OF_S(yr, xr, rr, row, start, cols, READ(br), s, j, NORMALIZED(s) + AT(br, j));
            else
                WRITE_OF_S(yr, xr, rr, row, start, cols, NOTHING_READ, s, j, NORMALIZED(s));
        }
    }
}

#undef NORMALIZED
#undef BUFFERS

/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* Elementwise work on strided operands: y = a + b, a - b, a b, alpha a or alpha a + b, by OP. y may be
 * an input. */

#define COMBINE(a, b)                                                                              \
    (OP == TDM_OP_ADD     ? (a) + (b)                                                              \
     : OP == TDM_OP_SUB   ? (a) - (b)                                                              \
     : OP == TDM_OP_MUL   ? (a) * (b)                                                              \
     : OP == TDM_OP_SCALE ? alpha * (a)                                                            \
                          : alpha * (a) + (b))
/* SCALE has no b */
#define OF_B(v) (OP == TDM_OP_SCALE ? (ACC)0 : (v))

KERNEL3(elementwise, tdm_elementwise_args, T, y, const T, a, const T, b)
{
    const ACC alpha = SCALAR(args.alpha);
    FOR_ROWS(item, args.rows * args.chunks)
    {
        TDM_ROW_PIECE(item, row, first, n);
        tdm_i64 y_at = args.offset[0] + first * args.inner_stride[0];
        tdm_i64 a_at = args.offset[1] + first * args.inner_stride[1];
        tdm_i64 b_at = args.offset[2] + first * args.inner_stride[2];
        TDM_FOR_INDICES(d, index, row, args.outer_ndim, args.outer_shape)
        {
            y_at += index * args.outer_stride[0][d];
            a_at += index * args.outer_stride[1][d];
            b_at += index * args.outer_stride[2][d];
        }
        GLOBAL T *const yr = y + y_at;
        GLOBAL const T *const ar = a + a_at;
        GLOBAL const T *const br = OP == TDM_OP_SCALE ? ar : b + b_at;
        if (STREAM || VECTORS || args.unit_stride) {
            FOR_LANES_WRITE(yr, j, n, AHEAD(ar), READ(ar) READ_IF(OP != TDM_OP_SCALE, br))
            {
                WRITE(yr, j, COMBINE(AT(ar, j), OF_B(AT(br, j))));
            }
        } else {
            FOR_LANES(j, 0, n)
            {
                const ACC va = LOAD(ar, j * args.inner_stride[1]);
                const ACC vb = OF_B(LOAD(br, j * args.inner_stride[2]));
                STORE(yr, j * args.inner_stride[0], COMBINE(va, vb));
            }
        }
    }
}

#undef COMBINE
#undef OF_B

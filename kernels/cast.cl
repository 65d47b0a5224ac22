/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* y = a converted from U to T, both of any stride. Copies of rows from their end back write as those of rows do. */

#if T_IS_FLOAT
#define PUT(p, j, v) WRITE(p, j, v)
#define STORED(v) TO_T(v)
#else
#define PUT(p, j, v) WRITE_RAW(p, j, v)
#define STORED(v) (v)
#endif

KERNEL2(cast, tdm_elementwise_args, T, y, const U, a)
{
    FOR_ROWS(item, args.rows * args.chunks)
    {
        TDM_ROW_PIECE(item, row, first, n);
        tdm_i64 y_at = args.offset[0] + first * args.inner_stride[0];
        tdm_i64 a_at = args.offset[1] + first * args.inner_stride[1];
        TDM_FOR_INDICES(d, index, row, args.outer_ndim, args.outer_shape)
        {
            y_at += index * args.outer_stride[0][d];
            a_at += index * args.outer_stride[1][d];
        }
#if T_ID == U_ID
        if (args.inner_stride[0] == 1 && args.inner_stride[1] == -1) {
            GLOBAL T *const yr = y + y_at;
            GLOBAL const U *const ar = a + a_at;
#if ROW_LOOPS
            FOR_LANES_WRITE(yr, j, n, NOTHING_AHEAD, NOTHING_READ)
            {
                WRITE_RAW(yr, j, ar[-j]);
            }
#else
            FOR_LANES_APART(j, n) { yr[j] = ar[-j]; }
#endif
        } else
#endif
        if (STREAM || VECTORS || args.unit_stride) {
            const tdm_i32 done = WIDENED(y + y_at, a + a_at, n);
            GLOBAL T *const yr = y + y_at + done;
            GLOBAL const U *const ar = a + a_at + done;
            FOR_LANES_WRITE(yr, j, n - done, NOTHING_AHEAD, READ_U(ar))
            {
                const SOURCE v = U_AT(ar, j);
                PUT(yr, j, CONVERT(v));
            }
        } else {
            GLOBAL T *const yr = y + y_at;
            GLOBAL const U *const ar = a + a_at;
            FOR_LANES_APART(j, n)
            {
                const SOURCE v = LOAD_U(ar, j * args.inner_stride[1]);
                yr[j * args.inner_stride[0]] = (T)STORED(CONVERT(v));
            }
        }
    }
}

#undef PUT
#undef STORED

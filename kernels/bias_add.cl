/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* y = activation(x + bias) + residual. OP is the activation, with TDM_OP_RESIDUAL and, of a
 * bias of the columns, TDM_OP_COLS_BIAS added when there is one. y may be x or residual. */

KERNEL4(bias_add, tdm_bias_add_args, const T, x, const T, bias, const T, residual, T, y)
{
    const tdm_u32 chunks = args.chunks;
    FOR_ROWS(item, args.rows * chunks)
    {
        const tdm_i64 row = chunks == 1 ? item : item / chunks;
        const tdm_i64 first = chunks == 1 ? 0 : (item - row * chunks) * args.chunk;
        const tdm_i32 n = (tdm_i32)MIN((tdm_i64)args.chunk, (tdm_i64)args.cols - first);
        const tdm_i64 gaps = args.gap == 0 ? 0 : row / args.matrix * args.gap;
        GLOBAL const T *const xr = x + (args.x_offset + row * args.x_stride + gaps + first);
        GLOBAL T *const yr = y + (args.y_offset + row * args.y_stride + gaps + first);
        GLOBAL const T *const rr =
            (OP & TDM_OP_RESIDUAL) != 0
                ? residual + (args.residual_offset + row * args.residual_stride + first)
                : xr;
        /* without a bias of the columns never read, but never null */
        GLOBAL const T *const br =
            (OP & TDM_OP_COLS_BIAS) != 0 ? bias + (args.bias_offset + first) : xr;
        /* x + -0 is x, also for an x of -0 */
        const ACC shift = (OP & TDM_OP_COLS_BIAS) == 0 && args.bias_kind == TDM_BIAS_OF_ROWS
                              ? LOAD(bias, args.bias_offset + row % args.matrix)
                              : -(ACC)0;
        FOR_LANES_WRITE(yr, j, n, AHEAD(xr),
                        READ(xr) READ_IF((OP & TDM_OP_COLS_BIAS) != 0, br)
                            READ_IF((OP & TDM_OP_RESIDUAL) != 0, rr))
        {
            const ACC sum = AT(xr, j) + ((OP & TDM_OP_COLS_BIAS) != 0 ? AT(br, j) : shift);
            const ACC v = ACTIVATE(OP & TDM_OP_ACTIVATION, sum);
            WRITE(yr, j, (OP & TDM_OP_RESIDUAL) != 0 ? v + AT(rr, j) : v);
        }
    }
}

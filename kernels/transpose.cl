/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* y = a, bit by bit, where a row of y is a column of a: T is an unsigned integer as wide as the dtype. Tile by
 * tile, so that both are read and written along memory; in a tile rows become columns, in the group's memory,
 * or, where a lane is alone, in registers, square by square. */

#define SIDE TDM_TILE_SIDE(ROW_LOOPS, T_SIZE)
/* Lanes that have a column of the tile are in different banks, as this many words is odd. */
#define STEP TDM_TILE_STEP(ROW_LOOPS, T_SIZE)

#if !ROW_LOOPS
/* So many lanes lie side by side along memory, and so many columns are on their way at once, that a lane has
 * MOST elements of them at the most. */
#define MOST 16
#define WIDTH MIN(SIDE, LANES)
#define TURNS (SIDE / WIDTH)
#define COLUMNS MAX(1, MIN(SIDE, MOST * LANES / SIDE))
#define PART (COLUMNS * SIDE / LANES)
#define ALONG(k) (LANE % WIDTH + (k) % TURNS * WIDTH)
#define ACROSS(k) (LANE / WIDTH + (k) / TURNS * (LANES / WIDTH))
#endif

KERNEL2(transpose, tdm_transpose_args, T, y, const T, a)
{
#if !ROW_LOOPS
    LOCAL_ARRAY(T, tile, SIDE * STEP);
#endif
    const tdm_i64 across = (args.cols + SIDE - 1) / SIDE;
    const tdm_i64 tiles = (args.rows + SIDE - 1) / SIDE * across;
    FOR_ROWS(item, args.matrices * tiles)
    {
        tdm_i64 matrix = item / tiles;
        const tdm_i64 row = (item - matrix * tiles) / across * SIDE;
        const tdm_i64 col = (item - matrix * tiles) % across * SIDE;
        const tdm_i32 m = (tdm_i32)MIN((tdm_i64)SIDE, args.rows - row);
        const tdm_i32 n = (tdm_i32)MIN((tdm_i64)SIDE, args.cols - col);
        tdm_i64 y_at = args.y_offset + row * args.y_step + col;
        tdm_i64 a_at = args.a_offset + col * args.a_step + row;
        TDM_FOR_INDICES(d, index, matrix, args.outer_ndim, args.outer_shape)
        {
            y_at += index * args.outer_stride[0][d];
            a_at += index * args.outer_stride[1][d];
        }
        GLOBAL T *const yt = y + y_at;
        GLOBAL const T *const at = a + a_at;
#if !ROW_LOOPS
        for (tdm_i32 begin = 0; begin < SIDE && begin < n; begin += COLUMNS) {
            T part[PART];
            UNROLL for (tdm_i32 k = 0; k < PART; k++) part[k] =
                (ALONG(k) < m) & (begin + ACROSS(k) < n) ? at[(begin + ACROSS(k)) * args.a_step + ALONG(k)] : 0;
            UNROLL for (tdm_i32 k = 0; k < PART; k++)
                tile[(begin + ACROSS(k)) * STEP + ALONG(k)] = part[k];
        }
        BARRIER;
        for (tdm_i32 begin = 0; begin < SIDE && begin < m; begin += COLUMNS)
            UNROLL for (tdm_i32 k = 0; k < PART; k++) if ((begin + ACROSS(k) < m) & (ALONG(k) < n))
                yt[(begin + ACROSS(k)) * args.y_step + ALONG(k)] =
                    tile[ALONG(k) * STEP + begin + ACROSS(k)];
        BARRIER;
#else
        for (tdm_i32 i = 0; i < m; i += SQUARE_LEN) {
            for (tdm_i32 j = 0; j < n; j += SQUARE_LEN) {
                GLOBAL T *const ys = yt + (i * args.y_step + j);
                GLOBAL const T *const as = at + (j * args.a_step + i);
                if (i + SQUARE_LEN <= m && j + SQUARE_LEN <= n) {
                    /* Shuffled like cards, the first half of the rows with the other one, as often as halving
                     * leads to one row, they are the columns. */
                    SQUARE_ROW v[SQUARE_LEN], w[SQUARE_LEN];
                    UNROLL for (tdm_i32 k = 0; k < SQUARE_LEN; k++) v[k] =
                        LOAD_SQUARE_ROW(as + k * args.a_step);
                    UNROLL for (tdm_i32 rows = SQUARE_LEN; rows > 1; rows /= 2)
                    {
                        UNROLL for (tdm_i32 k = 0; k < SQUARE_LEN / 2; k++)
                        {
                            w[2 * k] = ZIP_LOW(v[k], v[k + SQUARE_LEN / 2]);
                            w[2 * k + 1] = ZIP_HIGH(v[k], v[k + SQUARE_LEN / 2]);
                        }
                        UNROLL for (tdm_i32 k = 0; k < SQUARE_LEN; k++) v[k] = w[k];
                    }
                    UNROLL for (tdm_i32 k = 0; k < SQUARE_LEN; k++)
                        STORE_SQUARE_ROW(ys + k * args.y_step, v[k]);
                } else {
                    const tdm_i32 rows = MIN(m - i, SQUARE_LEN), cols = MIN(n - j, SQUARE_LEN);
                    for (tdm_i32 k = 0; k < rows; k++)
                        for (tdm_i32 l = 0; l < cols; l++)
                            ys[k * args.y_step + l] = as[l * args.a_step + k];
                }
            }
        }
#endif
    }
}

#undef SIDE
#undef STEP
#if !ROW_LOOPS
#undef MOST
#undef WIDTH
#undef TURNS
#undef COLUMNS
#undef PART
#undef ALONG
#undef ACROSS
#endif

/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* C = alpha op(A) op(B) + beta C as tensor.h multiplies, a tile of C to a group and 64 x 64 of it to each warp. OP:
 * that of matmul, and TDM_OP_TILES_.... Slices of A and B go through a ring of slots in the group's memory, filled by
 * copies that no lane waits for. While a warp multiplies it reads what comes next into registers, so a slot is free
 * as soon as all warps are at the barrier of its last step. */
#define WARPS (LANES / 32)
#define WARPS_M (WARPS > 1 ? 2 : 1)
#define ROWS (TDM_WARP_SIDE * WARPS_M) /* of the tile */
#define COLS (TDM_WARP_SIDE * (WARPS / WARPS_M))
#define STEPS ((OP & TDM_OP_TILES_DEEP) != 0 ? 2 : 1) /* in a slice */
#define CHUNKS (STEPS * 2)                            /* of k for each row or column */
#define DEPTH (STEPS * TDM_STEP)
#define SLICE ((ROWS + COLS) * CHUNKS)        /* chunks */
#define MOST_SLOTS (48 * 1024 / 16 / (SLICE)) /* all that a group has with NVIDIA's OpenCL */
#define SLOTS (MOST_SLOTS < 6 ? MOST_SLOTS : 6)
#define AHEAD_BY COPIES_AHEAD(SLOTS)
#define A_BY_DEPTH ((OP & TDM_OP_TRANSPOSE_A) == 0)
#define B_BY_DEPTH ((OP & TDM_OP_TRANSPOSE_B) != 0)
#define PITCH (TDM_WARP_SIDE + 8) /* of results on their way to C, against bank conflicts */

/* An operand on its way: each lane brings a chunk of every so many lines that lie in memory. */
typedef struct tdm_stream {
    GLOBAL const T *from; /* the lane's first chunk of the next slice */
    tdm_i64 next, step;   /* to that of the slice after it, and from one of its chunks to the next */
    tdm_i32 to;           /* the chunk's place */
    tdm_i32 inside;       /* lines of the tile that C has, from the lane's first on: rows or columns … */
} tdm_stream;             /* … or, where these lie along memory, elements from its chunk on */

INLINE tdm_stream tdm_begin_stream(GLOBAL const T *p, tdm_i64 ld, bool by_depth, tdm_i32 lines,
                                   tdm_i64 first, tdm_i64 extent)
{
    tdm_stream s;
    const tdm_i32 along = by_depth ? CHUNKS : lines / TDM_CHUNK;
    const tdm_i32 line = LANE / along, chunk = LANE % along;
    s.step = LANES / along * ld;
    s.to = by_depth ? TDM_BY_DEPTH(line, chunk, along) : TDM_BY_LINE(line, chunk, along);
    s.from = p + ((by_depth ? (first + line) * ld : line * ld + first) + chunk * TDM_CHUNK);
    s.next = by_depth ? DEPTH : DEPTH * ld;
    s.inside = (tdm_i32)(extent - first - (by_depth ? line : chunk * TDM_CHUNK));
    return s;
}

/* Brings the next slice, of which `left` of k are there, or less than none. */
INLINE void tdm_bring(tdm_stream *s, tdm_tile slot, bool by_depth, tdm_i32 lines, tdm_i32 left)
{
    const tdm_i32 along = by_depth ? CHUNKS : lines / TDM_CHUNK, apart = LANES / along;
    const tdm_i32 line = LANE / along, chunk = LANE % along;
    const tdm_i32 elements = by_depth ? left - chunk * TDM_CHUNK : s->inside;
    const tdm_i32 lines_left = by_depth ? s->inside : left - line;
    const tdm_i32 most = MIN(MAX(elements, 0), TDM_CHUNK);
    UNROLL for (tdm_i32 i = 0; i < lines * CHUNKS / LANES; i++)
    {
        GLOBAL const T *const from = s->from + i * s->step;
        const tdm_i32 count = i * apart < lines_left ? most : 0;
        /* lines that are so far apart have their chunks permuted alike */
        const tdm_tile to = TILE_AT(slot, s->to + i * apart * along);
#if (OP & TDM_OP_TILES_ALIGNED)
        tdm_copy_chunk(to, from, count * T_SIZE);
#else
        PRIVATE_ARRAY(T, part, TDM_CHUNK);
        UNROLL for (tdm_i32 k = 0; k < TDM_CHUNK; k++) part[k] = k < count ? from[k] : 0;
        tdm_write_chunk(to, *(const tdm_vector_16 *)part);
#endif
    }
    s->from += s->next;
}

#define BRING                                                                                      \
    do {                                                                                           \
        if (to_bring > 0) {                                                                        \
            tdm_bring(&of_a, TILE_AT(tiles, filled), A_BY_DEPTH, ROWS, left);                      \
            tdm_bring(&of_b, TILE_AT(tiles, filled + ROWS * CHUNKS), B_BY_DEPTH, COLS, left);      \
            filled = filled + SLICE == SLOTS * SLICE ? 0 : filled + SLICE;                         \
            left -= DEPTH;                                                                         \
            to_bring--;                                                                            \
        }                                                                                          \
        tdm_copies_end();                                                                          \
    } while (0)

#define READ_A(i, step)                                                                            \
    tdm_read_part(&a_part[i], TILE_AT(tiles, reading), true, A_BY_DEPTH,                           \
                  A_BY_DEPTH ? CHUNKS : ROWS / TDM_CHUNK, warp_m + (i)*16, step)
#define READ_B(to, i, step)                                                                        \
    tdm_read_part(&to[i], TILE_AT(tiles, reading + ROWS * CHUNKS), false, B_BY_DEPTH,              \
                  B_BY_DEPTH ? CHUNKS : COLS / TDM_CHUNK, warp_n + (i)*16, step)

/* Multiplies a_part by `now`, and reads the step after that, number `step` of its slice: the first one of the next
 * slice after it has waited for that slice, and had its own slot filled. After the last step of all a step is read
 * again, and not used. */
#define MULTIPLY(now, then, step)                                                                  \
    do {                                                                                           \
        if (step == 0) {                                                                           \
            tdm_copies_wait(AHEAD_BY - 2);                                                         \
            BARRIER;                                                                               \
            BRING;                                                                                 \
            if (AHEAD_BY < 2) BARRIER; /* the next slice was brought only now */                   \
            if (--slices > 0)                                                                      \
                reading = reading + SLICE == SLOTS * SLICE ? 0 : reading + SLICE;                  \
        }                                                                                          \
        UNROLL for (tdm_i32 i = 0; i < TDM_PARTS; i++)                                         \
        {                                                                                          \
            READ_B(then, i, step);                                                                 \
            UNROLL for (tdm_i32 j = 0; j < TDM_PARTS * 2; j++)                                 \
                tdm_multiply(sums[i][j], &a_part[i], &now[j / 2], j % 2);                          \
            READ_A(i, step);                                                                       \
        }                                                                                          \
    } while (0)

KERNEL3(matmul_tiles, tdm_matmul_args, const T, a, const T, b, T, c)
{
    LOCAL_ARRAY(tdm_vector_16, memory, SLOTS *SLICE);
    const tdm_tile tiles = TILE_OF(memory);
    const tdm_i32 lane = LANE % 32, warp = LANE / 32;
    const tdm_i32 warp_m = warp % WARPS_M * TDM_WARP_SIDE, warp_n = warp / WARPS_M * TDM_WARP_SIDE;
    LOCAL float *const results = (LOCAL float *)memory;
    const ACC alpha = SCALAR(args.alpha), beta = SCALAR(args.beta);
    /* 32 bits: of all matrices there are fewer than 2^31 */
    const tdm_u32 tiles_m = (args.m + ROWS - 1) / ROWS, tiles_n = (args.n + COLS - 1) / COLS;
    const tdm_u32 tiles_of_one = tiles_m * tiles_n;
    FOR_ROWS(item, args.batch * tiles_of_one)
    {
        /* groups that run at once have tiles of few rows and columns, for the cache's sake */
        const tdm_u32 matrix = (tdm_u32)item / tiles_of_one, place = (tdm_u32)item % tiles_of_one;
        const tdm_u32 band = place / (TDM_TILES_BAND * tiles_n) * TDM_TILES_BAND;
        const tdm_u32 in_band = place % (TDM_TILES_BAND * tiles_n);
        const tdm_u32 high = MIN(tiles_m - band, (tdm_u32)TDM_TILES_BAND);
        const tdm_i32 row = (tdm_i32)(band + in_band % high) * ROWS;
        const tdm_i32 col = (tdm_i32)(in_band / high) * COLS;
        tdm_stream of_a = tdm_begin_stream(a + (args.a_offset + matrix * args.a_stride), args.lda,
                                           A_BY_DEPTH, ROWS, row, args.m);
        tdm_stream of_b = tdm_begin_stream(b + (args.b_offset + matrix * args.b_stride), args.ldb,
                                           B_BY_DEPTH, COLS, col, args.n);
        /* an even number of steps, as a branch in the loop costs copies of all sums: the last may be of zeros */
        tdm_i32 left = (tdm_i32)args.k, slices = ((left - 1) / (2 * TDM_STEP) + 1) * 2 / STEPS;
        tdm_i32 to_bring = slices, filled = 0, reading = 0;
        tdm_part a_part[TDM_PARTS], b_even[TDM_PARTS], b_odd[TDM_PARTS];
        float sums[TDM_PARTS][TDM_PARTS * 2][4];
        UNROLL for (tdm_i32 i = 0; i < TDM_PARTS; i++)
            UNROLL for (tdm_i32 j = 0; j < TDM_PARTS * 2; j++)
                UNROLL for (tdm_i32 q = 0; q < 4; q++) sums[i][j][q] = 0;
        for (tdm_i32 i = 0; i < AHEAD_BY; i++)
            BRING;
        tdm_copies_wait(AHEAD_BY - 1);
        BARRIER;
        UNROLL for (tdm_i32 i = 0; i < TDM_PARTS; i++)
        {
            READ_A(i, 0);
            READ_B(b_even, i, 0);
        }
        while (slices > 0) {
#if (OP & TDM_OP_TILES_DEEP)
            MULTIPLY(b_even, b_odd, 1);
            MULTIPLY(b_odd, b_even, 0);
#else
            MULTIPLY(b_even, b_odd, 0);
            MULTIPLY(b_odd, b_even, 0);
#endif
        }
        /* by way of the group's memory, so that lanes next to each other have columns next to each other */
        UNROLL for (tdm_i32 i = 0; i < TDM_PARTS; i++)
        {
            BARRIER;
            UNROLL for (tdm_i32 j = 0; j < TDM_PARTS * 2; j++) UNROLL for (tdm_i32 q = 0; q < 4; q++)
                results[(warp * 16 + lane / 4 + q / 2 * 8) * PITCH + j * 8 + lane % 4 * 2 + q % 2] =
                    sums[i][j][q];
            BARRIER;
            FOR_LANES_SINGLY(e, WARPS * 16 * TDM_WARP_SIDE / TDM_CHUNK)
            {
                const tdm_i32 y = e / (TDM_WARP_SIDE / TDM_CHUNK);
                const tdm_i32 x = e % (TDM_WARP_SIDE / TDM_CHUNK) * TDM_CHUNK, of = y / 16;
                /* 64 bits: these may be outside of C */
                const tdm_i64 to_row =
                    (tdm_i64)row + (of % WARPS_M * TDM_WARP_SIDE + i * 16 + y % 16);
                const tdm_i64 to_col = (tdm_i64)col + (of / WARPS_M * TDM_WARP_SIDE + x);
                GLOBAL T *const cr =
                    c + (args.c_offset + matrix * args.c_stride + to_row * args.ldc + to_col);
                LOCAL const float *const from = results + y * PITCH + x;
                const tdm_i64 count = to_row < (tdm_i64)args.m ? (tdm_i64)args.n - to_col : 0;
                if (args.vector_c && count >= TDM_CHUNK) {
                    PRIVATE_ARRAY(T, part, TDM_CHUNK);
                    if (args.read_c)
                        *(tdm_vector_16 *)part = *(GLOBAL const tdm_vector_16 *)cr;
                    UNROLL for (tdm_i32 q = 0; q < TDM_CHUNK; q++)
                        STORE(part, q,
                              alpha * from[q] + (args.read_c ? beta * LOAD(part, q) : (ACC)0));
                    *(GLOBAL tdm_vector_16 *)cr = *(const tdm_vector_16 *)part;
                } else {
                    UNROLL for (tdm_i32 q = 0; q < TDM_CHUNK; q++)
                        if (q < count)
                            STORE(cr, q, alpha * from[q] + (args.read_c ? beta * LOAD(cr, q) : (ACC)0));
                }
            }
        }
        BARRIER;
    }
}

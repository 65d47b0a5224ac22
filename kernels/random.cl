/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* y = uniform or normal random numbers, by OP; T as in range.cl. A group makes a tile of Philox's
 * blocks, each of two 64-bit or four 32-bit words, one word per element, then writes it as a part of
 * a row. */

#if T_SIZE == 8
#define WIDE 1
#define WORD tdm_u64
#define IN_MEMORY(v) (v)
#else
#define WIDE 0
#define WORD tdm_u32
#define IN_MEMORY(v) WORDS_AS_HALVES(v)
#endif
#define PER_BLOCK (4 >> WIDE)
#define TILE_BLOCKS (ROW_LOOPS ? 64 : LANES)
#define TILE (TILE_BLOCKS * PER_BLOCK)

/* Element j of the tile: as it is, or low + v scale. */
#define SCALED(v) (OP & TDM_OP_RANDOM_SCALED ? FMA(v, scale, low) : (v))
#if T_KIND == TDM_KIND_BOOL
#define UNIFORM(j) (words[j] >> 31)
#elif !T_IS_FLOAT
#define UNIFORM(j) ((T)(words[j] >> (8 * (sizeof(WORD) - sizeof(T)))))
#elif WIDE
#define UNIFORM(j) SCALED(tdm_fraction_f64(words[j]))
#else
#define UNIFORM(j) ((T)TO_T(SCALED(tdm_fraction_f32(words[j], T_DIGITS))))
#endif

KERNEL1(random, tdm_random_args, T, y)
{
    LOCAL_ARRAY(WORD, words, TILE);
#if T_IS_FLOAT
    LOCAL_ARRAY(ACC, normals, TILE);
    const ACC low = SCALAR(args.low), scale = SCALAR(args.scale);
#endif
    FOR_ROWS(item, args.rows * args.chunks)
    {
        TDM_ROW_PIECE(item, row, first, n);
        GLOBAL T *const yr = y + (args.y_offset + row * args.y_stride + first);
        const tdm_u64 number = (tdm_u64)args.first + (tdm_u64)(row * args.cols + first);
        const tdm_u64 block = number / PER_BLOCK;
        /* Positions count from the begin of the first block; the row has [skip, end). */
        const tdm_i32 skip = (tdm_i32)(number % PER_BLOCK), end = skip + n;
        /* The last tile is moved back to be a whole one, as writing wants a line at least. */
        const tdm_i32 last = (end + PER_BLOCK - 1) / PER_BLOCK * PER_BLOCK - TILE;
        FOR_BLOCKS(begin, next, end, TILE)
        {
            const tdm_i32 at = MAX(0, MIN(begin, last));
            FOR_LANES_ROLLED(b, TILE_BLOCKS / WORDS_LEN)
            {
                const WORDS counter = WORDS_FROM(block + (tdm_u64)(at / PER_BLOCK + b * WORDS_LEN)) &
                                      (~(tdm_u64)0 / PER_BLOCK);
                const tdm_block c = tdm_philox(counter, WIDE, args.seed_low, args.seed_high);
                LOCAL WORD *const to = words + b * WORDS_LEN * PER_BLOCK;
#if ROW_LOOPS
                ((LOCAL WORDS *)to)[0] = IN_MEMORY(WORDS_ZIP_LOW(c.words01, c.words23));
                ((LOCAL WORDS *)to)[1] = IN_MEMORY(WORDS_ZIP_HIGH(c.words01, c.words23));
#elif WIDE
                to[0] = c.words01;
                to[1] = c.words23;
#else
                to[0] = (tdm_u32)c.words01;
                to[1] = (tdm_u32)(c.words01 >> 32);
                to[2] = (tdm_u32)c.words23;
                to[3] = (tdm_u32)(c.words23 >> 32);
#endif
            }
            BARRIER;
            const tdm_i32 from = MAX(at, skip), to = MIN(at + TILE, end);
            GLOBAL T *const out = yr + (from - skip);
#if T_IS_FLOAT
            if (OP & TDM_OP_RANDOM_NORMAL) {
                FOR_LANES_ROLLED(k, TILE / 2)
                {
                    const TDM_BY_ACC(tdm_pair_) radius = TDM_BY_ACC(tdm_radius_)(words[2 * k]);
                    normals[2 * k] = TDM_BY_ACC(tdm_wave_)(radius, words[2 * k + 1], 0);
                    normals[2 * k + 1] = TDM_BY_ACC(tdm_wave_)(radius, words[2 * k + 1], 1);
                }
                BARRIER;
                FOR_LANES_FILL(out, j, to - from)
                {
                    FILL(out, j, TO_T(SCALED(normals[from - at + j])));
                }
            } else
#endif
            {
                FOR_LANES_FILL(out, j, to - from)
                {
                    FILL(out, j, UNIFORM(from - at + j));
                }
            }
            BARRIER;
        }
    }
}

#undef WIDE
#undef WORD
#undef IN_MEMORY
#undef PER_BLOCK
#undef TILE_BLOCKS
#undef TILE
#undef SCALED
#undef UNIFORM

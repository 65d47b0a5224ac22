/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* The `keep` largest elements of each chunk of rows, as words of which the smallest is the largest element: 32 bits of
 * its key, turned, then its number in the row. They come in runs of `run` sorted words, as sort_merge takes them;
 * they are filled up to `slot` words with ones that sort after all others. T is an unsigned integer as wide as the
 * dtype, keys are made as those of extreme.cl: -0 is 0, every NaN the largest value. Words of 64-bit elements are their
 * numbers alone, in one run. A lane alone reads its chunk once and keeps those that may be among the largest; lanes
 * that share one read it again for every two bits of the key of the last one that is kept. */

#if T_SIZE == 8
#define WORD tdm_u64
#else
#define WORD tdm_u32
#endif
#define WORD_BITS (8 * (tdm_i32)sizeof(WORD))
#define SHIFT (WORD_BITS - 8 * T_SIZE)
#define BITS(v) ((KEY)((WORD)(v) << SHIFT))
#if T_SIZE == 1
#define HELD_TO(v) MIN(v, (tdm_i32)args.limit)
#else
#define HELD_TO(v) (v)
#endif
#define SAME_ZERO(w) ((w) == zero ? (KEY)0 : (w))
#define KEY_OF(v) (RANK(SAME_ZERO(BITS(HELD_TO(v))), (KEY)-1, fold, turn, above) >> SHIFT)
#define LEAST_KEY ((KEY)LOWEST_KEY >> SHIFT)
/* elements that are compared with the last one that is kept at a time */
#define BLOCK TDM_SELECT_BLOCK

#if T_SIZE == 8
#define WORD_OF(key, number) ((tdm_u64)(number))
#else
#define WORD_OF(key, number)                                                                       \
    ((tdm_u64)((tdm_u32)0x7fffffff - (tdm_u32)(key)) << 32 | (tdm_u64)(number))
#endif

KERNEL2(sort_select, tdm_select_args, tdm_u64, words, const T, x)
{
    const KEY fold = (KEY)args.fold, turn = (KEY)args.turn;
    const KEY above = (KEY)args.above, zero = (KEY)args.zero;
#if !ROW_LOOPS
    GROUP_ARRAY(ACC, scratch);
    LOCAL_ARRAY(tdm_i32, counts, LANES);
#endif
    FOR_ROWS(item, args.rows * args.chunks)
    {
        const tdm_i64 row = args.chunks == 1 ? item : item / args.chunks;
        const tdm_i32 first = (tdm_i32)((item - row * args.chunks) * args.chunk);
        const tdm_i32 n = (tdm_i32)MIN((tdm_i64)args.chunk, (tdm_i64)args.cols - first);
        const tdm_i32 keep = MIN(n, (tdm_i32)args.keep);
        GLOBAL const T *const xr = x + (args.x_offset + row * args.x_stride + first);
        GLOBAL tdm_u64 *const to = words + (args.to + item * args.slot);
        GLOBAL tdm_u64 *const room = words + (args.held + item * args.room);
        GLOBAL KEY *const keys = (GLOBAL KEY *)room;
        GLOBAL tdm_i32 *const numbers = (GLOBAL tdm_i32 *)(keys + args.most);
#if ROW_LOOPS
        KEY least = LEAST_KEY;
        tdm_i32 held = 0, is_full = 0;
        FOR_BLOCKS(begin, end, n, BLOCK)
        {
            KEY top = LEAST_KEY;
            LARGEST(top, j, begin, end, READ(xr), KEY_OF(AT(xr, j)), AHEAD(xr));
            if (top > least || !is_full) {
                for (tdm_i32 j = begin; j < end; j++) {
                    const KEY key = KEY_OF(LOAD(xr, j));
                    keys[held] = key;
                    numbers[held] = j;
                    held += key > least || !is_full;
                }
            }
            if (held > (tdm_i32)args.most - BLOCK) {
                least = KEEP_FIRST(keys, numbers, held, keep, LEAST_KEY, 8 * T_SIZE);
                held = keep;
                is_full = 1;
            }
        }
        if (held > keep) KEEP_FIRST(keys, numbers, held, keep, LEAST_KEY, 8 * T_SIZE);
#else
        KEY last = LEAST_KEY;
        for (tdm_i32 shift = 8 * T_SIZE - 2; shift >= 0; shift -= 2) {
            const KEY a = RAISED(last, (WORD)1 << shift), b = RAISED(last, (WORD)2 << shift);
            const KEY c = RAISED(last, (WORD)3 << shift);
            ACC found = 0;
            FOR_LANES(j, 0, n)
            {
                const KEY key = KEY_OF(LOAD(xr, j));
                found += (ACC)(key >= a) + ((ACC)(key >= b) << TDM_SELECT_BITS) +
                         ((ACC)(key >= c) << 2 * TDM_SELECT_BITS);
            }
            found = GROUP_SUM(scratch, found);
            const ACC field = ((ACC)1 << TDM_SELECT_BITS) - 1;
            const tdm_i32 in_a = (tdm_i32)(found & field);
            const tdm_i32 in_b = (tdm_i32)(found >> TDM_SELECT_BITS & field);
            const tdm_i32 in_c = (tdm_i32)(found >> 2 * TDM_SELECT_BITS);
            last = in_c >= keep ? c : in_b >= keep ? b : in_a >= keep ? a : last;
        }
        /* elements above the last one's key, and which of those that are equal */
        ACC found = 0;
        FOR_LANES(j, 0, n)
        {
            const KEY key = KEY_OF(LOAD(xr, j));
            found += (ACC)(key > last) + ((ACC)(key == last) << 32);
        }
        found = GROUP_SUM(scratch, found);
        const tdm_i32 wanted = keep - (tdm_i32)(found & (ACC)0xffffffff);
        tdm_i32 until = n;
        if ((tdm_i32)(found >> 32) > wanted) {
            until = 0;
            for (tdm_i32 bit = TDM_SELECT_BITS - 1; bit >= 0; bit--) {
                const tdm_i32 next = until + (1 << bit);
                ACC equal = 0;
                FOR_LANES(j, 0, MIN(n, next))
                {
                    equal += (ACC)(KEY_OF(LOAD(xr, j)) == last);
                }
                until = (tdm_i32)GROUP_SUM(scratch, equal) <= wanted ? next : until;
            }
        }
        /* each lane writes after the lanes before it */
        tdm_i32 own = 0;
        FOR_LANES(j, 0, n)
        {
            const KEY key = KEY_OF(LOAD(xr, j));
            own += key > last || (key == last && (tdm_i32)j < until);
        }
        counts[LANE] = own;
        BARRIER;
        tdm_i32 place = 0;
        for (tdm_i32 lane = 0; lane < LANE; lane++)
            place += counts[lane];
        FOR_LANES(j, 0, n)
        {
            const KEY key = KEY_OF(LOAD(xr, j));
            if (key > last || (key == last && (tdm_i32)j < until)) {
                keys[place] = key;
                numbers[place] = (tdm_i32)j;
                place++;
            }
        }
        BARRIER;
#endif
        /* its place in its run is how many come before it there */
        FOR_LANES_SINGLY(i, keep)
        {
            const KEY key = keys[i];
            const tdm_i32 number = numbers[i];
            const tdm_i32 begin = i - i % (tdm_i32)args.run, end = MIN(begin + (tdm_i32)args.run, keep);
            tdm_i32 before = 0;
            for (tdm_i32 j = begin; j < end; j++)
                before += keys[j] > key || (keys[j] == key && numbers[j] < number);
            to[begin + before] = WORD_OF(key, first + number);
        }
        FOR_LANES_SINGLY(i, (tdm_i32)args.slot - keep)
        {
            to[keep + i] = ~(tdm_u64)0;
        }
    }
}

#undef WORD
#undef WORD_BITS
#undef SHIFT
#undef BITS
#undef HELD_TO
#undef SAME_ZERO
#undef KEY_OF
#undef LEAST_KEY
#undef BLOCK
#undef WORD_OF

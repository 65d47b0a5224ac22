/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* The largest element of each group, by OP its value or its place, by integer keys in the order of
 * the values (RANK in reduce.h), which may be turned, and in which NaN is the largest. T is an unsigned integer as wide
 * as the dtype. Groups of elements lie along memory, so that lanes share them, or in columns, as in reduce.cl. Of equal
 * elements the first one's place counts. With `again` it is looked for among the places that parts left, with
 * `truth` the keys are whether elements are not 0. */
OPS(extreme, TDM_OP_EXTREME_COUNT, 0)

#if T_SIZE == 8
#define WORD tdm_u64
#else
#define WORD tdm_u32
#endif
#define SHIFT (8 * ((tdm_i32)sizeof(WORD) - T_SIZE))
#define BITS(v) ((KEY)((WORD)(v) << SHIFT))
#define TRUTH(v) ((KEY)((BITS(v) & mask) != 0) ^ turn)
#if T_SIZE == 1
#define HELD_TO(v) MIN(v, (tdm_i32)args.limit)
#else
#define HELD_TO(v) (v)
#endif
/* -0 is 0 where places are compared */
#define SAME_ZERO(w) (KIND == TDM_OP_EXTREME_PLACE && (w) == zero ? (KEY)0 : (w))
#define NUMBER(v) RANK(SAME_ZERO(BITS(HELD_TO(v))), mask, fold, turn, above)
#define KEY_OF(v) (KIND == TDM_OP_EXTREME_VALUE && args.truth ? TRUTH(v) : NUMBER(v))

/* Element j of a line, compared with the best so far. */
#define TAKE(best, place, p, line)                                                                 \
    do {                                                                                           \
        const KEY tdm_k = KEY_OF(LOAD(p, j));                                                      \
        if (KIND == TDM_OP_EXTREME_PLACE) (place) = tdm_k > (best) ? (tdm_i32)(line) : (place);    \
        (best) = MAX(best, tdm_k);                                                                 \
    } while (0)
/* elements of a row among which a place is looked for again */
#define PLACE_BLOCK (8 * SUM_LANES)

#define WRITE_RESULT(at, key)                                                                      \
    do {                                                                                           \
        const KEY tdm_k = (key);                                                                   \
        if (args.truth)                                                          \
            ((GLOBAL tdm_u8 *)y)[at] = (tdm_u8)((tdm_k ^ turn) != 0);                              \
        else if (tdm_k == HIGHEST_KEY && above != HIGHEST_KEY)                                     \
            y[at] = (T)args.nan;                                                                   \
        else                                                                                       \
            y[at] = (T)((WORD)VALUE_OF_RANK(tdm_k, fold, turn) >> SHIFT);                       \
    } while (0)
#define WRITE_PLACE(at, place)                                                                     \
    do {                                                                                           \
        if (args.wide)                                                                             \
            ((GLOBAL tdm_i64 *)y)[at] = (place);                                                   \
        else                                                                                       \
            ((GLOBAL tdm_i32 *)y)[at] = (tdm_i32)(place);                                          \
    } while (0)

KERNEL3(extreme, tdm_reduce_args, const T, x, const tdm_i64, places, T, y)
{
    GROUP_ARRAY(KEY, key_scratch);
    LOCAL_ARRAY(KEY, keys, LANES);
    LOCAL_ARRAY(tdm_i32, numbers, LANES);
    const KEY mask = (KEY)args.mask, fold = (KEY)args.fold, turn = (KEY)args.turn;
    const KEY above = (KEY)args.above, zero = (KEY)args.zero;
    FOR_ROWS(item, ITEMS(COLUMN_BLOCK(KEY)))
    {
        PLACE(item, COLUMN_BLOCK(KEY));
        if (OP == TDM_OP_EXTREME_PLACE) {
            GLOBAL const T *const xr = x + (x_at + start);
            KEY best = LOWEST_KEY;
#if LANES == 1
            /* in which block it is: that alone is then searched, for the smallest number of an element like it */
            tdm_i32 at = 0, until = 0;
            FOR_BLOCKS(begin, end, n, PLACE_BLOCK)
            {
                KEY top = LOWEST_KEY;
                LARGEST(top, j, begin, end, READ(xr), KEY_OF(AT(xr, j)), AHEAD(xr));
                at = top > best || begin == 0 ? begin : at;
                until = top > best || begin == 0 ? end : until;
                best = MAX(best, top);
            }
            KEY found = LOWEST_KEY;
            LARGEST(found, j, at, until, READ(xr), KEY_OF(AT(xr, j)) == best ? ~(KEY)j : LOWEST_KEY, NOTHING_AHEAD);
            at = (tdm_i32)~found;
#else
            tdm_i32 at = LANE < n ? LANE : 0x7fffffff;
            FOR_LANES(j, 0, n)
            {
                const KEY key = KEY_OF(LOAD(xr, j));
                at = key > best ? (tdm_i32)j : at;
                best = MAX(best, key);
            }
            keys[LANE] = best;
            numbers[LANE] = at;
            BARRIER;
            for (tdm_i32 distance = LANES / 2; distance > 0; distance /= 2) {
                if (LANE < distance) {
                    const KEY key = keys[LANE + distance];
                    const tdm_i32 its = numbers[LANE + distance];
                    const tdm_i32 is_first = key > keys[LANE] || (key == keys[LANE] && its < numbers[LANE]);
                    if (is_first) {
                        keys[LANE] = key;
                        numbers[LANE] = its;
                    }
                }
                BARRIER;
            }
            at = numbers[0];
            BARRIER;
#endif
            if (LANE == 0) WRITE_PLACE(y_at, start + at);
        } else if (!IN_COLUMNS) {
            KEY best = LOWEST_KEY;
            for (tdm_i64 line = first; line < last; line++) {
                LINE(xr, line)
                LARGEST(best, j, 0, n, READ(xr), KEY_OF(AT(xr, j)), AHEAD(xr));
            }
            best = GROUP_MAX(key_scratch, best);
            if (LANE == 0) WRITE_RESULT(y_at, best);
        } else {
            COLUMNS(KEY, best);
            COLUMNS(tdm_i32, place);
            FOR_COLUMNS(j, columns)
            {
                OF(best) = LOWEST_KEY;
                OF(place) = (tdm_i32)first;
            }
            if (KIND == TDM_OP_EXTREME_PLACE && args.again) {
                FOR_COLUMNS_SINGLY(j, columns)
                {
                    for (tdm_i64 line = first; line < last; line++) {
                        const tdm_i64 its =
                            places[(number * args.lines + line) * args.cols + column + j];
                        const KEY key = KEY_OF(LOAD(x, x_at + its * args.line_stride[0] + j));
                        OF(place) = line == first || key > OF(best) ? (tdm_i32)its : OF(place);
                        OF(best) = MAX(OF(best), key);
                    }
                }
            } else {
                tdm_i64 line = first;
                for (; line + 4 <= last; line += 4) {
                    FOUR_LINES(line)
                    FOR_COLUMNS(j, columns)
                    {
                        KEY top = OF(best);
                        tdm_i32 at = OF(place);
                        TAKE(top, at, x0, line);
                        TAKE(top, at, x1, line + 1);
                        TAKE(top, at, x2, line + 2);
                        TAKE(top, at, x3, line + 3);
                        OF(best) = top;
                        OF(place) = at;
                    }
                }
                for (; line < last; line++) {
                    LINE(xr, line)
                    FOR_COLUMNS(j, columns) { TAKE(OF(best), OF(place), xr, line); }
                }
            }
            FOR_COLUMNS_SINGLY(j, columns)
            {
                if (KIND == TDM_OP_EXTREME_PLACE)
                    WRITE_PLACE(y_at + j * args.y_step, (tdm_i64)OF(place));
                else
                    WRITE_RESULT(y_at + j * args.y_step, OF(best));
            }
        }
    }
}

#undef WORD
#undef SHIFT
#undef BITS
#undef TRUTH
#undef HELD_TO
#undef SAME_ZERO
#undef NUMBER
#undef KEY_OF
#undef TAKE
#undef PLACE_BLOCK
#undef WRITE_RESULT
#undef WRITE_PLACE

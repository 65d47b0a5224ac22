/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* The largest element of each group, by OP its value or its place, by integer keys in the order of
 * the values (RANK in reduce.h), which may be turned, and in which NaN is the largest. T is an unsigned integer as wide
 * as the dtype. Groups of elements lie along memory, so that lanes share them, or in columns, as in reduce.cl. Of equal
 * elements the first one's place counts. With `again` it is looked for among the places that parts left, with
 * `truth` the keys are whether elements are not 0. */

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

/* Where one lane has many keys, those of up to 16 bits have 16, so that a register has twice as many; these are the
 * upper halves of those of 32. */
#define IN_NARROW (ROW_LOOPS && T_SIZE <= 2)
#if IN_NARROW
#define NARROW tdm_i16
#define LOWEST_NARROW (-0x7fff - 1)
#define NARROWED(v) ((tdm_i16)((v) >> 16))
#define WIDENED_KEY(k) ((k) == 0x7fff ? HIGHEST_KEY : (KEY)((WORD)(k) << 16))
#if T_SIZE == 1
#define NARROW_BITS(v) ((tdm_i16)((tdm_u16)(v) << 8))
#define NARROW_HELD(v) ((tdm_i16)MIN((tdm_i16)(v), narrow_limit))
#else
#define NARROW_BITS(v) ((tdm_i16)(v))
#define NARROW_HELD(v) (v)
#endif
#define NARROW_ZERO(w) ((tdm_i16)(KIND == TDM_OP_EXTREME_PLACE && (w) == narrow_zero ? 0 : (w)))
#define NARROW_NUMBER(v)                                                                           \
    tdm_rank_16(NARROW_ZERO(NARROW_BITS(NARROW_HELD(v))), narrow_mask, narrow_fold, narrow_turn,   \
                narrow_above)
#define NARROW_TRUTH(v) ((tdm_i16)((tdm_i16)((NARROW_BITS(v) & narrow_mask) != 0) ^ narrow_turn))
#define LARGEST_NARROW(a, j, begin, end, p, key)                                                   \
    do {                                                                                           \
        PRIVATE_ARRAY(NARROW, tdm_ns, 2 * SUM_LANES);                                              \
        PRIVATE_ARRAY(KEY, tdm_ks, SUM_LANES);                                                     \
        for (tdm_i32 tdm_k = 0; tdm_k < 2 * SUM_LANES; tdm_k++) tdm_ns[tdm_k] = (a);               \
        tdm_i32 tdm_from = (begin);                                                                \
        for (; tdm_from <= (end)-2 * SUM_LANES; tdm_from += 2 * SUM_LANES) {                       \
            tdm_fetch(AHEAD(p), tdm_from, 2 * SUM_LANES, (tdm_i32)sizeof(T));                      \
            TDM_ONE_STEP(2 * SUM_LANES)                                                            \
            for (tdm_i32 tdm_k = 0; tdm_k < 2 * SUM_LANES; tdm_k++) {                              \
                const tdm_i32 j = tdm_from + tdm_k;                                                \
                const NARROW tdm_n = key(LOAD(p, j));                                              \
                tdm_ns[tdm_k] = (NARROW)MAX(tdm_ns[tdm_k], tdm_n);                                 \
            }                                                                                      \
        }                                                                                          \
        for (tdm_i32 j = tdm_from; j < (end); j++) {                                               \
            const NARROW tdm_n = key(LOAD(p, j));                                                  \
            (a) = (NARROW)MAX(a, tdm_n);                                                           \
        }                                                                                          \
        for (tdm_i32 tdm_k = 0; tdm_k < SUM_LANES; tdm_k++)                                        \
            tdm_ks[tdm_k] = MAX(tdm_ns[tdm_k], tdm_ns[tdm_k + SUM_LANES]);                         \
        const NARROW tdm_top = (NARROW)TDM_BY_ACC(tdm_top_)(tdm_ks);                               \
        (a) = (NARROW)MAX(a, tdm_top);                                                             \
    } while (0)
#else
#define NARROW KEY
#define LOWEST_NARROW LOWEST_KEY
#define WIDENED_KEY(k) (k)
#define NARROW_NUMBER(v) NUMBER(v)
#define NARROW_TRUTH(v) TRUTH(v)
#define LARGEST_NARROW(a, j, begin, end, p, key)                                                   \
    LARGEST(a, j, begin, end, READ(p), key(AT(p, j)), AHEAD(p))
#endif
#define NARROW_OF(v)                                                                               \
    ((NARROW)(KIND == TDM_OP_EXTREME_VALUE && args.truth ? NARROW_TRUTH(v) : NARROW_NUMBER(v)))
/* of columns, among which a place has a number that is a key, too */
#define PLACE_LINES 16384

/* Element j of line number `line` of a block, compared with the best so far. */
#define TAKE(key, p, line)                                                                         \
    do {                                                                                           \
        const NARROW tdm_k = key(LOAD(p, j));                                                      \
        if (KIND == TDM_OP_EXTREME_PLACE) where = (NARROW)(tdm_k > top ? (NARROW)(line) : where);  \
        top = (NARROW)MAX(top, tdm_k);                                                             \
    } while (0)
#define TAKE_LINE(key)                                                                             \
    do {                                                                                           \
        LINE(xr, line)                                                                             \
        const tdm_i32 its = (tdm_i32)(line - from);                                                \
        FOR_COLUMNS(j, columns)                                                                    \
        {                                                                                          \
            NARROW top = OF(best), where = OF(at);                                                 \
            TAKE(key, xr, its);                                                                    \
            OF(best) = top;                                                                        \
            if (KIND == TDM_OP_EXTREME_PLACE) OF(at) = where;                                      \
        }                                                                                          \
    } while (0)

/* elements of a row among which a place is looked for again */
#define PLACE_BLOCK (8 * SUM_LANES)

#define WRITE_RESULT(at, key)                                                                      \
    do {                                                                                           \
        const KEY tdm_k = (key);                                                                   \
        if (args.truth)                                                                            \
            ((GLOBAL tdm_u8 *)y)[at] = (tdm_u8)((tdm_k ^ turn) != 0);                              \
        else if (tdm_k == HIGHEST_KEY && above != HIGHEST_KEY)                                     \
            y[at] = (T)args.nan;                                                                   \
        else                                                                                       \
            y[at] = (T)((WORD)VALUE_OF_RANK(tdm_k, fold, turn) >> SHIFT);                          \
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
#if IN_NARROW
    const tdm_i16 narrow_mask = NARROWED(mask), narrow_fold = NARROWED(fold);
    const tdm_i16 narrow_turn = NARROWED(turn), narrow_above = NARROWED(above);
    const tdm_i16 narrow_zero = NARROWED(zero), narrow_limit = (tdm_i16)args.limit;
    (void)narrow_zero, (void)narrow_limit;
#endif
    FOR_ROWS(item, ITEMS(COLUMN_BLOCK))
    {
        PLACE(item, COLUMN_BLOCK);
        if (OP == TDM_OP_EXTREME_PLACE) {
            GLOBAL const T *const xr = x + (x_at + start);
#if ROW_LOOPS
            NARROW best = LOWEST_NARROW;
            /* in which block it is: that alone is then searched, for the smallest number of an element like it */
            tdm_i32 at = 0, until = 0;
            FOR_BLOCKS(begin, end, n, PLACE_BLOCK)
            {
                NARROW top = LOWEST_NARROW;
                LARGEST_NARROW(top, j, begin, end, xr, NARROW_NUMBER);
                at = top > best || begin == 0 ? begin : at;
                until = top > best || begin == 0 ? end : until;
                best = (NARROW)MAX(best, top);
            }
            KEY found = LOWEST_KEY;
            LARGEST(found, j, at, until, READ(xr), NARROW_NUMBER(AT(xr, j)) == best ? ~(KEY)j : LOWEST_KEY,
                    NOTHING_AHEAD);
            at = (tdm_i32)~found;
#else
            KEY best = LOWEST_KEY;
            tdm_i32 at = LANE < n ? LANE : 0x7fffffff;
            FOR_LANES(j, 0, n)
            {
                const KEY key = NUMBER(LOAD(xr, j));
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
            NARROW some = LOWEST_NARROW;
            for (tdm_i64 line = first; line < last; line++) {
                LINE(xr, line)
                LARGEST_NARROW(some, j, 0, n, xr, NARROW_OF);
            }
            const KEY best = GROUP_MAX(key_scratch, args.truth ? (KEY)some : WIDENED_KEY(some));
            if (LANE == 0) WRITE_RESULT(y_at, best);
        } else {
            if (KIND == TDM_OP_EXTREME_PLACE && args.again) {
                FOR_COLUMNS_SINGLY(j, columns)
                {
                    KEY best = LOWEST_KEY;
                    tdm_i64 place = first;
                    for (tdm_i64 line = first; line < last; line++) {
                        const tdm_i64 its =
                            places[(number * args.lines + line) * args.cols + column + j];
                        const KEY key = NUMBER(LOAD(x, x_at + its * args.line_stride[0] + j));
                        place = line == first || key > best ? its : place;
                        best = MAX(best, key);
                    }
                    WRITE_PLACE(y_at + j * args.y_step, place);
                }
            } else {
                COLUMNS(NARROW, best, 0);
                COLUMNS(NARROW, at, 1);
                COLUMNS(tdm_i32, place, 2);
                FOR_COLUMNS(j, columns)
                {
                    OF(best) = LOWEST_NARROW;
                    OF(at) = -1;
                    OF(place) = (tdm_i32)first;
                }
                for (tdm_i64 from = first; from < last; from += PLACE_LINES) {
                    const tdm_i64 to = MIN(last, from + PLACE_LINES);
                    const tdm_i32 truth = KIND == TDM_OP_EXTREME_VALUE && args.truth;
                    tdm_i64 line = from;
                    for (; truth && line < to; line++)
                        TAKE_LINE(NARROW_TRUTH);
                    for (; line + 8 <= to; line += 8) {
                        EIGHT_LINES(line)
                        const tdm_i32 its = (tdm_i32)(line - from);
                        FOR_COLUMNS_OF_EIGHT(j, columns)
                        {
                            NARROW top = OF(best), where = OF(at);
                            TAKE(NARROW_NUMBER, x0, its);
                            TAKE(NARROW_NUMBER, x1, its + 1);
                            TAKE(NARROW_NUMBER, x2, its + 2);
                            TAKE(NARROW_NUMBER, x3, its + 3);
                            TAKE(NARROW_NUMBER, x4, its + 4);
                            TAKE(NARROW_NUMBER, x5, its + 5);
                            TAKE(NARROW_NUMBER, x6, its + 6);
                            TAKE(NARROW_NUMBER, x7, its + 7);
                            OF(best) = top;
                            if (KIND == TDM_OP_EXTREME_PLACE) OF(at) = where;
                        }
                    }
                    for (; line < to; line++)
                        TAKE_LINE(NARROW_NUMBER);
                    if (KIND == TDM_OP_EXTREME_PLACE)
                        FOR_COLUMNS(j, columns)
                        {
                            OF(place) = OF(at) < 0 ? OF(place) : (tdm_i32)(from + OF(at));
                            OF(at) = -1;
                        }
                }
                FOR_COLUMNS_SINGLY(j, columns)
                {
                    if (KIND == TDM_OP_EXTREME_PLACE)
                        WRITE_PLACE(y_at + j * args.y_step, (tdm_i64)OF(place));
                    else
                        WRITE_RESULT(y_at + j * args.y_step,
                                     args.truth ? (KEY)OF(best) : WIDENED_KEY(OF(best)));
                }
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
#undef NARROW_OF
#undef TAKE
#undef TAKE_LINE
#undef NARROW
#undef LOWEST_NARROW
#undef WIDENED_KEY
#undef NARROW_NUMBER
#undef NARROW_TRUTH
#undef LARGEST_NARROW
#undef PLACE_LINES
#if IN_NARROW
#undef NARROWED
#undef NARROW_BITS
#undef NARROW_HELD
#undef NARROW_ZERO
#endif
#undef IN_NARROW
#undef PLACE_BLOCK
#undef WRITE_RESULT
#undef WRITE_PLACE

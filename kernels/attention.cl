/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* y = softmax(scale q kT + mask) v. A group has rows of q of one head and a slice of v's columns, and takes blocks
 * of keys: of the scores so far it keeps the largest of each row, the sum of the powers, and that of v weighted by
 * them, in terms of the largest (Milakov and Gimelshein, arXiv:1805.02867; Dao et al., arXiv:2205.14135). Blocks begin
 * at the first key of the row's sequence, so a row has the same bits in every batch. A key that does not count has a
 * score of -Inf, and for a power -0, as 0 times Inf would be NaN. */

#define ROWS TDM_ATTENTION_ROWS(sizeof(ACC))
#define KEYS TDM_ATTENTION_KEYS
#define VALUES TDM_ATTENTION_VALUES(sizeof(ACC))
#if ROW_LOOPS
#define SLICES 4 /* are taken at once, as each needs all scores; the items of the others have nothing to do */
#else
#define SLICES 1
#endif
#define WIDE (SLICES * VALUES)
#define NONE VALUE_OF(~INFINITY_KEY)
#define COUNTS(score) (!((score) < -HIGHEST_FINITE)) /* NaN does */
#define BASE_OF(largest) (COUNTS(largest) ? (largest) : (ACC)0)
#define POWER(score, base) (COUNTS(score) ? EXP_NEGATIVE((score) - (base)) : -(ACC)0)
/* Whether the mask has key j of the run for row r. */
#define HAS_KEY(r, j) mask[mask_at + (r)*args.mask_row + (run.first + (j)) * args.mask_key]

/* Rows of one sequence, up to `end`, and its keys; row r counts those before number r + reach. */
typedef struct tdm_attention_run {
    tdm_i64 end, first, keys, reach;
} tdm_attention_run;

/* Those from `row` on, by offsets, which may have any values; a row that lies in no sequence has no keys. */
INLINE tdm_attention_run tdm_attention_ragged(GLOBAL const tdm_i32 *offsets, tdm_i64 at, tdm_i64 stride, tdm_i32 wide,
                                              tdm_i64 sequences, tdm_i32 causal, tdm_i64 tokens, tdm_i64 row,
                                              tdm_i64 end)
{
    tdm_i64 below = 0, above = sequences + 1; /* those before number `below` are at most row */
    while (below < above) {
        const tdm_i64 middle = (below + above) / 2;
        const tdm_i32 is_below = INDEX_AT(offsets, at + middle * stride, wide) <= row;
        below = is_below ? middle + 1 : below;
        above = is_below ? above : middle;
    }
    tdm_i64 first = row, last = row;
    if (below > 0 && below <= sequences) {
        first = INDEX_AT(offsets, at + (below - 1) * stride, wide);
        last = MIN(INDEX_AT(offsets, at + below * stride, wide), tokens);
    }
    const tdm_i32 inside = first >= 0 && first <= row && row < last;
    tdm_attention_run run;
    run.end = inside ? MIN(last, end) : row + 1;
    run.first = inside ? first : 0;
    run.keys = inside ? last - first : 0;
    run.reach = causal ? 1 - first : run.keys;
    return run;
}

/* The head of an item, its rows, and columns of v. */
#define ITEM                                                                                                    \
    const tdm_i64 slice = item % args.slices, block = item / args.slices % args.blocks;                         \
    const tdm_i64 matrix = item / args.slices / args.blocks, batch = matrix / args.heads;                       \
    const tdm_i64 head = matrix % args.heads, shared = head / args.shared;                                      \
    const tdm_i64 last = MIN((block + 1) * ROWS, args.queries);                                                 \
    const tdm_i32 size = args.head_size, col = (tdm_i32)slice * VALUES, cols = MIN(args.value_size - col, WIDE); \
    GLOBAL const T *const qh = q + (args.q_offset + batch * args.q_batch + head * args.q_head);                 \
    GLOBAL const T *const kh = k + (args.k_offset + batch * args.k_batch + shared * args.k_head);               \
    GLOBAL const T *const vh = v + (args.v_offset + batch * args.v_batch + shared * args.v_head + col);         \
    GLOBAL T *const yh = y + (args.y_offset + batch * args.y_batch + head * args.y_head + col);                 \
    const tdm_i64 mask_at = args.mask_offset + batch * args.mask_batch + head * args.mask_head;                 \
    tdm_i64 counted = args.keys;                                                                                \
    if (args.index == TDM_ATTENTION_LENGTHS)                                                                    \
        counted = MIN(counted, INDEX_AT(index, args.index_offset + batch * args.index_stride, args.wide))
/* The part of it that is of one sequence, from `row` on; `seen` keys are the most that one of its rows counts. */
#define RUN                                                                                                     \
    tdm_attention_run run = {last, 0, counted, args.causal ? args.keys - args.queries + 1 : counted};           \
    if (args.index == TDM_ATTENTION_OFFSETS)                                                                    \
        run = tdm_attention_ragged(index, args.index_offset, args.index_stride, args.wide, args.sequences,      \
                                   args.causal, args.queries, row, last);                                       \
    const tdm_i32 rows = (tdm_i32)(run.end - row);                                                              \
    const tdm_i64 seen = MIN(run.keys, run.end - 1 + run.reach)

#if ROW_LOOPS

/* A register has a number of each of VEC_LEN rows: vector [i] of q is column i of these rows, of scores key i. */
#define STRIP 8                /* vectors that are summed at once */
#define SCORES (KEYS + STRIP)  /* vectors of scores, with those of a last strip */

/* Each of n vectors becomes `factor` times itself, or where it is `fresh` 0, and the sum over i of a[n][i] b[i]; of two
 * such products by one a, whose vectors are `apart` and `b_apart`, what is read of a serves both. */
#define EACH(X) X(0) X(1) X(2) X(3) X(4) X(5) X(6) X(7)
#define FIRST(t)                                                     \
    const ACC *const a##t = a + MIN(from + t / count, n - 1) * step; \
    VEC sum##t = {0};                                                \
    if (!fresh) sum##t = out[t % count * apart + from + t / count] * factor[t % count];
#define ADD(t) sum##t += a##t[i * along] * row[t % count];
#define KEEP(t) out[t % count * apart + from + t / count] = sum##t;
INLINE void tdm_attention_strips(tdm_i32 count, VEC *out, tdm_i32 apart, const VEC *factor, tdm_i32 fresh, const ACC *a,
                                 tdm_i32 step, tdm_i32 along, const VEC *b, tdm_i32 b_apart, tdm_i32 n, tdm_i32 depth)
{
    for (tdm_i32 from = 0; from < n; from += STRIP / count) {
        EACH(FIRST)
        for (tdm_i32 i = 0; i < depth; i++) {
            const VEC row[2] = {b[i], b[(count - 1) * b_apart + i]};
            EACH(ADD)
        }
        EACH(KEEP)
    }
}
#undef EACH
#undef FIRST
#undef ADD
#undef KEEP

/* The same of all vectors of `rows` rows. */
INLINE void tdm_attention_multiply(tdm_i32 rows, ACC *out, tdm_i32 apart, const ACC *factor, tdm_i32 fresh,
                                   const ACC *a, tdm_i32 step, tdm_i32 along, const ACC *b, tdm_i32 b_apart, tdm_i32 n,
                                   tdm_i32 depth)
{
    for (tdm_i32 i = 0; i < rows; i += 2 * VEC_LEN) {
        VEC *const to = (VEC *)(out + i * apart);
        const VEC *const by = (const VEC *)(factor + i), *const from = (const VEC *)(b + i * b_apart);
        if (rows - i > VEC_LEN)
            tdm_attention_strips(2, to, apart, by, fresh, a, step, along, from, b_apart, n, depth);
        else
            tdm_attention_strips(1, to, apart, by, fresh, a, step, along, from, b_apart, n, depth);
    }
}

/* n elements of each of some rows as ACC, VALUES apart. 0, or NaN where one is not finite. */
INLINE ACC tdm_attention_take(ACC *to, const T *from, tdm_i64 stride, tdm_i32 rows, tdm_i32 n)
{
    VEC odd = {0};
    for (tdm_i32 r = 0; r < rows; r++, to += VALUES, from += stride) {
        tdm_i32 j = 0;
        for (; j + VEC_LEN <= n; j += VEC_LEN) {
            const VEC taken = LOAD_VEC(from + j);
            *(VEC *)(to + j) = taken;
            odd += taken * 0;
        }
        for (; j < n; j++) {
            to[j] = LOAD(from, j);
            odd += to[j] * 0;
        }
    }
    ACC any = 0;
    for (tdm_i32 r = 0; r < VEC_LEN; r++)
        any += odd[r];
    return any;
}

/* Adds what weighs elements that are not finite, to the rows that count their keys: others keep their bits. */
APART void tdm_attention_add_others(ACC *sums, const ACC *scores, tdm_i32 rows, const T *v, tdm_i64 stride, tdm_i32 n,
                                    tdm_i32 width)
{
    for (tdm_i32 e = 0; e < n * width; e++) {
        const tdm_i32 j = e / width, c = e % width;
        const ACC element = LOAD(v + j * stride, c);
        for (tdm_i32 i = 0; i < rows && !IS_FINITE(element); i++) {
            const tdm_i32 first = i / VEC_LEN * VEC_LEN, r = i % VEC_LEN;
            const ACC power = scores[first * SCORES + j * VEC_LEN + r];
            if (BITS_KEY(power) >= 0) sums[first * WIDE + c * VEC_LEN + r] += power * element;
        }
    }
}

/* Vectors of n columns of VEC_LEN rows, the last of `rows` in place of those that are not there. */
INLINE void tdm_attention_turn(ACC *to, const T *from, tdm_i64 stride, tdm_i32 rows, tdm_i32 n)
{
    for (tdm_i32 j = 0; j < n; j += VEC_LEN) {
        ACC *const square = to + j * VEC_LEN;
        for (tdm_i32 r = 0; r < VEC_LEN; r++) {
            const T *const row = from + (MIN(r, rows - 1) * stride + j);
            if (j + VEC_LEN <= n)
                *(VEC *)(square + r * VEC_LEN) = LOAD_VEC(row);
            else
                for (tdm_i32 c = 0; c < n - j; c++)
                    square[r * VEC_LEN + c] = LOAD(row, c);
        }
        TRANSPOSE_VECS((VEC *)square);
    }
}

/* Scores of n keys become powers, with STRIP more that do not count; what the rows have had is to be changed by. */
INLINE VEC tdm_attention_powers(ACC *scores, tdm_i32 n, ACC *top, ACC *sum)
{
    PRIVATE_ARRAY(ACC, base, VEC_LEN);
    PRIVATE_ARRAY(ACC, change, VEC_LEN);
    for (tdm_i32 j = n * VEC_LEN; j < (n + STRIP - 1) / STRIP * STRIP * VEC_LEN; j++)
        scores[j] = NONE;
    *(VEC *)base = *(VEC *)top;
    for (tdm_i32 j = 0; j < n; j += STRIP) {
        const ACC *const s = scores + j * VEC_LEN;
        FOR_LANES(r, 0, VEC_LEN)
        {
            const ACC a = MAX(s[0 * VEC_LEN + r], s[1 * VEC_LEN + r]), b = MAX(s[2 * VEC_LEN + r], s[3 * VEC_LEN + r]);
            const ACC c = MAX(s[4 * VEC_LEN + r], s[5 * VEC_LEN + r]), d = MAX(s[6 * VEC_LEN + r], s[7 * VEC_LEN + r]);
            base[r] = MAX(MAX(MAX(a, b), MAX(c, d)), base[r]);
        }
    }
    FOR_LANES(r, 0, VEC_LEN)
    {
        const ACC largest = base[r];
        base[r] = BASE_OF(largest);
        change[r] = EXP_NEGATIVE(top[r] - base[r]);
        top[r] = largest;
    }
    VEC total = *(VEC *)sum * *(VEC *)change;
    for (tdm_i32 j = 0; j < n; j++) {
        ACC *const s = scores + j * VEC_LEN;
        FOR_LANES(r, 0, VEC_LEN)
        {
            s[r] = POWER(s[r], base[r]);
        }
        total += *(VEC *)s;
    }
    *(VEC *)sum = total;
    return *(VEC *)change;
}

/* Vectors of sums become rows, divided by the sums of the powers; a row of which nothing counts is 0. */
INLINE void tdm_attention_divide(ACC *sums, const ACC *sum, tdm_i32 cols)
{
    PRIVATE_ARRAY(ACC, share, VEC_LEN);
    VEC *const columns = (VEC *)sums;
    FOR_LANES(r, 0, VEC_LEN)
    {
        share[r] = sum[r] == 0 ? (ACC)0 : (ACC)1 / sum[r];
    }
    for (tdm_i32 j = 0; j < cols; j++)
        columns[j] *= *(VEC *)share;
    for (tdm_i32 j = 0; j < cols; j += VEC_LEN)
        TRANSPOSE_VECS(columns + j);
}

KERNEL6(attention, tdm_attention_args, const T, q, const T, k, const T, v, const tdm_u8, mask, const tdm_i32, index,
        T, y)
{
    SCRATCH_ARRAY(ACC, columns, ROWS * WIDE, 0);        /* of q, [vector][column][row] */
    SCRATCH_ARRAY(ACC, sums, ROWS * WIDE, ROWS * WIDE); /* of weighted v, in that order */
    SCRATCH_ARRAY(ACC, block_of, KEYS * VALUES, 2 * ROWS * WIDE); /* columns of keys, or of v */
    SCRATCH_ARRAY(ACC, scores, ROWS * SCORES, 2 * ROWS * WIDE + KEYS * VALUES); /* [vector][key][row] */
    PRIVATE_ARRAY(ACC, top, ROWS);
    PRIVATE_ARRAY(ACC, sum, ROWS);
    PRIVATE_ARRAY(ACC, change, ROWS);
    PRIVATE_ARRAY(ACC, ones, ROWS);
    PRIVATE_ARRAY(ACC, line, WIDE);
    const ACC scale = SCALAR(args.scale);
    for (tdm_i32 r = 0; r < ROWS; r++)
        ones[r] = 1;
    FOR_ROWS(item, args.items)
    {
        ITEM;
        if (slice % SLICES != 0) continue;
        for (tdm_i64 row = block * ROWS; row < last;) {
            RUN;
            for (tdm_i32 r = 0; r < ROWS; r++) {
                top[r] = NONE;
                sum[r] = 0;
            }
            for (tdm_i32 j = 0; j < ROWS * WIDE && seen <= 0; j++)
                sums[j] = 0;
            for (tdm_i64 start = 0; start < seen; start += KEYS) {
                const tdm_i32 n = (tdm_i32)MIN((tdm_i64)KEYS, seen - start);
                const T *const kb = kh + (run.first + start) * args.k_row;
                const T *const vb = vh + (run.first + start) * args.v_row;
                for (tdm_i32 from = 0; from == 0 || from < size; from += VALUES) {
                    const tdm_i32 depth = MIN(size - from, VALUES);
                    (void)tdm_attention_take(block_of, kb + from, args.k_row, n, depth);
                    ACC *const of_q = columns + (size > WIDE ? 0 : from * VEC_LEN);
                    for (tdm_i32 i = 0; i < rows && (start == 0 || size > WIDE); i += VEC_LEN)
                        tdm_attention_turn(of_q + i * WIDE, qh + ((row + i) * args.q_row + from), args.q_row, rows - i,
                                           depth);
                    tdm_attention_multiply(rows, scores, SCORES, ones, from == 0, block_of, VALUES, 1, of_q, WIDE, n,
                                           depth);
                }
                for (tdm_i32 i = 0; i < rows; i += VEC_LEN) {
                    ACC *const s = scores + i * SCORES;
                    const tdm_i64 reach = row + i + run.reach - start; /* of the first row */
                    for (tdm_i32 j = 0; j < n; j++)
                        ((VEC *)s)[j] *= scale;
                    for (tdm_i32 r = 0; r < MIN(VEC_LEN, rows - i) && (args.has_mask || reach < n); r++)
                        for (tdm_i32 j = 0; j < n; j++)
                            if (j >= reach + r || (args.has_mask && !HAS_KEY(row + i + r, start + j)))
                                s[j * VEC_LEN + r] = NONE;
                    *(VEC *)(change + i) = tdm_attention_powers(s, n, top + i, sum + i);
                }
                for (tdm_i32 from = 0; from < cols; from += VALUES) {
                    const tdm_i32 width = MIN(cols - from, VALUES);
                    ACC *const to = sums + from * VEC_LEN;
                    const tdm_i32 finite = tdm_attention_take(block_of, vb + from, args.v_row, n, width) == 0;
                    for (tdm_i32 j = 0; j < n && !finite; j++)
                        for (ACC *e = block_of + j * VALUES; e < block_of + j * VALUES + width; e++)
                            *e = IS_FINITE(*e) ? *e : (ACC)0;
                    tdm_attention_multiply(rows, to, WIDE, change, start == 0, block_of, 1, VALUES, scores, SCORES,
                                           width, n);
                    if (!finite) tdm_attention_add_others(to, scores, rows, vb + from, args.v_row, n, width);
                }
            }
            for (tdm_i32 i = 0; i < rows; i += VEC_LEN) {
                tdm_attention_divide(sums + i * WIDE, sum + i, cols);
                for (tdm_i32 r = 0; r < MIN(VEC_LEN, rows - i); r++) {
                    T *const yr = yh + (row + i + r) * args.y_row;
                    for (tdm_i32 j = 0; j < cols; j += VEC_LEN)
                        *(VEC *)(line + j) = *(VEC *)(sums + (i * WIDE + (j + r) * VEC_LEN));
                    FOR_LANES_WRITE(yr, j, cols, NOTHING_AHEAD, NOTHING_READ)
                    {
                        WRITE(yr, j, line[j]);
                    }
                }
            }
            row = run.end;
        }
    }
}

#undef STRIP
#undef SCORES

#else

/* In registers a lane of the grid has its part of a tile of scores and of one of weighted sums and, as all lanes of a
 * row have, the row's largest score and its sum. */
#define PER_M (ROWS / LANES_M)
#define PER_N (KEYS / LANES_N)
#define PER_V (VALUES / LANES_N)
#define SLICE 16
#define PITCH_Q (ROWS + 1) /* one more, against bank conflicts */
#define PITCH_K (KEYS + 1)
#define PITCH_V (VALUES + 1)
#define EACH(i, n) UNROLL for (tdm_i32 i = 0; i < (n); i++)
#define ROW(i) (LANE / LANES_N + (i)*LANES_M) /* of the tile; element j is a key or a column of v */
#define COL(j) (LANE % LANES_N + (j)*LANES_N)

KERNEL6(attention, tdm_attention_args, const T, q, const T, k, const T, v, const tdm_u8, mask, const tdm_i32, index,
        T, y)
{
    LOCAL_ARRAY(ACC, powers, ROWS * PITCH_K);
    LOCAL_ARRAY(ACC, slices, SLICE * MAX(PITCH_Q + PITCH_K, PITCH_V)); /* or a number of each lane, ROWS at most */
    LOCAL ACC *const k_slice = slices + SLICE * PITCH_Q;
    const ACC scale = SCALAR(args.scale), none = NONE;
    FOR_ROWS(item, args.items)
    {
        ITEM;
        for (tdm_i64 row = block * ROWS; row < last;) {
            RUN;
            ACC top[PER_M], sum[PER_M], sums[PER_M][PER_V];
            EACH(i, PER_M)
            {
                top[i] = none;
                sum[i] = 0;
                EACH(j, PER_V) sums[i][j] = 0;
            }
            for (tdm_i64 start = 0; start < seen; start += KEYS) {
                const tdm_i32 n = (tdm_i32)MIN((tdm_i64)KEYS, seen - start);
                ACC s[PER_M][PER_N];
                EACH(i, PER_M) EACH(j, PER_N) s[i][j] = 0;
                for (tdm_i32 from = 0; from < size; from += SLICE) {
                    const tdm_i32 depth = MIN(SLICE, size - from); /* a loop of constant length takes more registers */
                    FOR_LANES(e, 0, SLICE * ROWS)
                    {
                        const tdm_i32 i = (tdm_i32)e / SLICE, d = (tdm_i32)e % SLICE;
                        slices[d * PITCH_Q + i] =
                            i < rows && d < depth ? LOAD(qh, (row + i) * args.q_row + from + d) : (ACC)0;
                    }
                    FOR_LANES(e, 0, SLICE * KEYS)
                    {
                        const tdm_i32 j = (tdm_i32)e / SLICE, d = (tdm_i32)e % SLICE;
                        k_slice[d * PITCH_K + j] =
                            j < n && d < depth ? LOAD(kh, (run.first + start + j) * args.k_row + from + d) : (ACC)0;
                    }
                    BARRIER;
                    for (tdm_i32 d = 0; d < depth; d++)
                        EACH(i, PER_M)
                        {
                            const ACC p = slices[d * PITCH_Q + ROW(i)];
                            EACH(j, PER_N) s[i][j] += p * k_slice[d * PITCH_K + COL(j)];
                        }
                    BARRIER;
                }
                EACH(i, PER_M)
                {
                    const tdm_i64 r = row + ROW(i), most = MIN(r + run.reach - start, (tdm_i64)n);
                    const tdm_i32 open = r < run.end ? (tdm_i32)MAX(most, (tdm_i64)0) : 0;
                    EACH(j, PER_N) s[i][j] =
                        COL(j) < open ? s[i][j] * scale : none;
                }
                if (args.has_mask)
                    EACH(i, PER_M) EACH(j, PER_N)
                    {
                        /* keys that do not count may lie outside */
                        if (COUNTS(s[i][j]) && !HAS_KEY(row + ROW(i), start + COL(j))) s[i][j] = none;
                    }
                EACH(i, PER_M)
                {
                    ACC largest = none;
                    EACH(j, PER_N) largest = MAX(s[i][j], largest);
                    slices[ROW(i) * LANES_N + COL(0)] = largest;
                }
                BARRIER;
                ACC change[PER_M];
                EACH(i, PER_M)
                {
                    ACC largest = top[i];
                    for (tdm_i32 j = 0; j < LANES_N; j++)
                        largest = MAX(slices[ROW(i) * LANES_N + j], largest);
                    change[i] = EXP_NEGATIVE(top[i] - BASE_OF(largest));
                    top[i] = largest;
                }
                BARRIER;
                EACH(i, PER_M)
                {
                    ACC total = 0;
                    EACH(j, PER_N)
                    {
                        const ACC p = POWER(s[i][j], BASE_OF(top[i]));
                        powers[ROW(i) * PITCH_K + COL(j)] = p;
                        total += p;
                    }
                    slices[ROW(i) * LANES_N + COL(0)] = total;
                }
                BARRIER;
                EACH(i, PER_M)
                {
                    sum[i] *= change[i];
                    for (tdm_i32 j = 0; j < LANES_N; j++)
                        sum[i] += slices[ROW(i) * LANES_N + j];
                    EACH(j, PER_V) sums[i][j] *= change[i];
                }
                for (tdm_i32 from = 0; from < n; from += SLICE) {
                    const tdm_i32 depth = MIN(SLICE, n - from);
                    BARRIER;
                    FOR_LANES(e, 0, SLICE * VALUES)
                    {
                        const tdm_i32 d = (tdm_i32)e / VALUES, j = (tdm_i32)e % VALUES;
                        slices[d * PITCH_V + j] =
                            d < depth && j < cols ? LOAD(vh, (run.first + start + from + d) * args.v_row + j) : (ACC)0;
                    }
                    BARRIER;
                    for (tdm_i32 d = 0; d < depth; d++)
                        EACH(i, PER_M)
                        {
                            const ACC p = powers[ROW(i) * PITCH_K + from + d];
                            const tdm_i32 counts = BITS_KEY(p) >= 0;
                            EACH(j, PER_V)
                            {
                                const ACC weighted = p * slices[d * PITCH_V + COL(j)];
                                sums[i][j] += counts ? weighted : (ACC)0;
                            }
                        }
                }
                BARRIER;
            }
            EACH(i, PER_M)
            {
                const tdm_i64 r = row + ROW(i);
                const ACC share = sum[i] == 0 ? (ACC)0 : (ACC)1 / sum[i];
                EACH(j, PER_V)
                {
                    const tdm_i32 c = COL(j);
                    if (r < run.end && c < cols) STORE(yh, r * args.y_row + c, sums[i][j] * share);
                }
            }
            row = run.end;
        }
    }
}

#undef PER_M
#undef PER_N
#undef PER_V
#undef SLICE
#undef PITCH_Q
#undef PITCH_K
#undef PITCH_V
#undef EACH
#undef ROW
#undef COL
#endif

#undef ROWS
#undef KEYS
#undef VALUES
#undef SLICES
#undef WIDE
#undef NONE
#undef BASE_OF
#undef COUNTS
#undef POWER
#undef HAS_KEY
#undef ITEM
#undef RUN

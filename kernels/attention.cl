/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* y = softmax(scale q kT + mask) v, one group to some rows of q of a head, and to a slice of v's columns. It takes blocks
 * of TDM_ATTENTION_KEYS keys: of the scores so far it keeps the largest of each row, the sum of the powers and the sum of
 * v weighted by these, in terms of the largest (Milakov and Gimelshein, arXiv:1805.02867; Dao et al.,
 * arXiv:2205.14135). Blocks begin at the first key of the row's sequence, so that a row has the same bits in every
 * batch. A key that does not count has a score of -Inf, and -0 for a power: 0 times Inf would be NaN. */

#define ROWS TDM_ATTENTION_ROWS(sizeof(ACC))
#define KEYS TDM_ATTENTION_KEYS
#define VALUES TDM_ATTENTION_VALUES(sizeof(ACC))
#define NONE (-HIGHEST_FINITE) /* what is below it is -Inf */
#define BASE_OF(largest) ((largest) < NONE ? (ACC)0 : (largest))
#define POWER(s, base) ((s) < NONE ? -(ACC)0 : EXP_NEGATIVE((s) - (base)))
/* Whether the mask has key j of the run for row r. */
#define HAS_KEY(r, j) mask[mask_at + (r)*args.mask_row + (run.first + (j)) * args.mask_key]

/* Rows of q of one sequence, [row, end), and its keys; row r counts those before number r + reach. */
typedef struct tdm_attention_run {
    tdm_i64 end, first, keys, reach;
} tdm_attention_run;

/* Those that begin at `row`, by offsets, which may have any values; a row that lies in no sequence has no keys. */
INLINE tdm_attention_run tdm_attention_ragged(GLOBAL const tdm_i32 *offsets, tdm_i64 at, tdm_i64 stride, tdm_i32 wide,
                                              tdm_i64 sequences, tdm_i32 causal, tdm_i64 tokens, tdm_i64 row,
                                              tdm_i64 end)
{
    tdm_i64 below = 0, above = sequences + 1; /* the offsets below number `below` are at most row */
    while (below < above) {
        const tdm_i64 middle = (below + above) / 2, offset = INDEX_AT(offsets, at + middle * stride, wide);
        below = offset <= row ? middle + 1 : below;
        above = offset <= row ? above : middle;
    }
    tdm_i64 first = row, last = row;
    if (below > 0 && below <= sequences) {
        first = INDEX_AT(offsets, at + (below - 1) * stride, wide);
        last = MIN(INDEX_AT(offsets, at + below * stride, wide), tokens);
    }
    tdm_attention_run run;
    const tdm_i32 inside = first >= 0 && first <= row && row < last;
    run.end = inside ? MIN(last, end) : row + 1;
    run.first = inside ? first : 0;
    run.keys = inside ? last - first : 0;
    run.reach = causal ? 1 - first : run.keys;
    return run;
}

/* The head and the rows of an item. */
#define ITEM                                                                                                 \
    const tdm_i64 slice = item % args.slices, block = item / args.slices % args.blocks;                      \
    const tdm_i64 matrix = item / args.slices / args.blocks, batch = matrix / args.heads;                    \
    const tdm_i64 head = matrix % args.heads, shared = head / args.shared;                                   \
    const tdm_i64 last = MIN((block + 1) * ROWS, args.queries);                                     \
    const tdm_i32 size = args.head_size, col = (tdm_i32)slice * VALUES;                             \
    const tdm_i32 cols = MIN(args.value_size - col, VALUES);                                        \
    GLOBAL const T *const qh = q + (args.q_offset + batch * args.q_batch + head * args.q_head);              \
    GLOBAL const T *const kh = k + (args.k_offset + batch * args.k_batch + shared * args.k_head);            \
    GLOBAL const T *const vh = v + (args.v_offset + batch * args.v_batch + shared * args.v_head + col);      \
    GLOBAL T *const yh = y + (args.y_offset + batch * args.y_batch + head * args.y_head + col);              \
    const tdm_i64 mask_at = args.mask_offset + batch * args.mask_batch + head * args.mask_head;              \
    tdm_i64 counted = args.keys;                                                                             \
    if (args.index == TDM_ATTENTION_LENGTHS)                                                                 \
        counted = MIN(counted, INDEX_AT(index, args.index_offset + batch * args.index_stride, args.wide))
/* The rows of it from `row` on that are of one sequence. */
#define RUN                                                                                                  \
    tdm_attention_run run = {last, 0, counted, args.causal ? args.keys - args.queries + 1 : counted}; \
    if (args.index == TDM_ATTENTION_OFFSETS)                                                                 \
        run = tdm_attention_ragged(index, args.index_offset, args.index_stride, args.wide, args.sequences,   \
                                   args.causal, args.queries, row, last);                                    \
    const tdm_i64 seen = MIN(run.keys, run.end - 1 + run.reach)

#if ROW_LOOPS

/* A lane has registers of rows: of q and the scores it keeps columns of VEC_LEN rows. */
#define STRIP 8 /* vectors that are summed at once */
#define WIDE VALUES
#define SCORES (KEYS + STRIP) /* of a row, with those of a last strip */

/* Each of n vectors becomes `factor` times itself, or where it is `fresh` 0, and the sum over i of a[n][i] b[i]. */
#define EACH(X) X(0) X(1) X(2) X(3) X(4) X(5) X(6) X(7)
#define FIRST(t)                                                \
    const ACC *const a##t = a + MIN(from + t, n - 1) * step;    \
    VEC sum##t = {0};                                           \
    if (!fresh) sum##t = out[from + t] * factor;
#define ADD(t) sum##t += a##t[i * along] * row;
#define KEEP(t) out[from + t] = sum##t;
INLINE void tdm_attention_multiply(VEC *out, VEC factor, tdm_i32 fresh, const ACC *a, tdm_i32 step, tdm_i32 along,
                                   const VEC *b, tdm_i32 n, tdm_i32 depth)
{
    for (tdm_i32 from = 0; from < n; from += STRIP) {
        EACH(FIRST)
        for (tdm_i32 i = 0; i < depth; i++) {
            const VEC row = b[i];
            EACH(ADD)
        }
        EACH(KEEP)
    }
}
#undef EACH
#undef FIRST
#undef ADD
#undef KEEP

/* n elements of a row as ACC; adds NaN to `odd` where one is not finite, else 0. */
INLINE void tdm_attention_take(ACC *to, const T *from, tdm_i32 n, VEC *odd)
{
    tdm_i32 j = 0;
    for (; j + VEC_LEN <= n; j += VEC_LEN) {
        const VEC taken = LOAD_VEC(from + j);
        *(VEC *)(to + j) = taken;
        *odd += taken * 0;
    }
    for (; j < n; j++) {
        to[j] = LOAD(from, j);
        *odd += to[j] * 0;
    }
}

KERNEL6(attention, tdm_attention_args, const T, q, const T, k, const T, v, const tdm_u8, mask, const tdm_i32, index, T, y)
{
    SCRATCH_ARRAY(ACC, columns, ROWS * WIDE, 0);            /* of q: [vector][column][row] */
    SCRATCH_ARRAY(ACC, sums, ROWS * WIDE, ROWS * WIDE);     /* of weighted v: likewise */
    SCRATCH_ARRAY(ACC, keys, KEYS * WIDE, 2 * ROWS * WIDE); /* [key][column] */
    SCRATCH_ARRAY(ACC, values, KEYS * WIDE, (2 * ROWS + KEYS) * WIDE);
    SCRATCH_ARRAY(ACC, scores, ROWS * SCORES, 2 * (ROWS + KEYS) * WIDE); /* [vector][key][row] */
    PRIVATE_ARRAY(ACC, top, ROWS);
    PRIVATE_ARRAY(ACC, sum, ROWS);
    const ACC scale = SCALAR(args.scale), none = VALUE_OF(~INFINITY_KEY);
    const VEC zero = {0}, one = zero + (ACC)1;
    FOR_ROWS(item, args.items)
    {
        ITEM;
        for (tdm_i64 row = block * ROWS; row < last;) {
            RUN;
            const tdm_i32 rows = (tdm_i32)(run.end - row);
            for (tdm_i32 r = 0; r < ROWS; r++) {
                top[r] = none;
                sum[r] = 0;
            }
            for (tdm_i32 j = 0; j < ROWS * WIDE && seen <= 0; j++)
                sums[j] = 0;
            for (tdm_i64 start = 0; start < seen; start += KEYS) {
                const tdm_i32 n = (tdm_i32)MIN((tdm_i64)KEYS, seen - start);
                VEC odd = {0}, ignored = {0};
                for (tdm_i32 j = 0; j < n; j++)
                    tdm_attention_take(values + j * WIDE, vh + (run.first + start + j) * args.v_row, cols, &odd);
                tdm_i32 finite = 1;
                for (tdm_i32 r = 0; r < VEC_LEN; r++)
                    finite &= odd[r] == 0;
                for (tdm_i32 from = 0; from == 0 || from < size; from += WIDE) {
                    const tdm_i32 depth = MIN(size - from, WIDE);
                    for (tdm_i32 j = 0; j < n; j++)
                        tdm_attention_take(keys + j * WIDE, kh + ((run.first + start + j) * args.k_row + from), depth,
                                           &ignored);
                    for (tdm_i32 i = 0; i < rows; i += VEC_LEN) {
                        /* of a head with more columns than are kept they are taken again for each block */
                        ACC *const of_q = columns + i * WIDE;
                        for (tdm_i32 j = 0; j < depth && (start == 0 || size > WIDE); j += VEC_LEN) {
                            ACC *const square = of_q + j * VEC_LEN;
                            for (tdm_i32 r = 0; r < VEC_LEN; r++)
                                tdm_attention_take(square + r * VEC_LEN,
                                                   qh + ((row + MIN(i + r, rows - 1)) * args.q_row + from + j),
                                                   MIN(depth - j, VEC_LEN), &ignored);
                            TRANSPOSE_VECS((VEC *)square);
                        }
                        tdm_attention_multiply((VEC *)(scores + i * SCORES), one, from == 0, keys, WIDE, 1,
                                               (const VEC *)of_q, n, depth);
                    }
                }
                for (tdm_i32 i = 0; i < rows; i += VEC_LEN) {
                    ACC *const of_keys = scores + i * SCORES;
                    VEC *const s = (VEC *)of_keys;
                    const tdm_i64 reach = row + i + run.reach - start; /* of the vector's first row */
                    const tdm_i32 masked = args.has_mask || reach < n;
                    for (tdm_i32 j = 0; j < n; j++)
                        s[j] *= scale;
                    if (masked) {
                        for (tdm_i32 r = 0; r < MIN(VEC_LEN, rows - i); r++)
                            for (tdm_i32 j = 0; j < n; j++)
                                if (j >= reach + r || (args.has_mask && !HAS_KEY(row + i + r, start + j)))
                                    of_keys[j * VEC_LEN + r] = none;
                    }
                    for (tdm_i32 j = n; j % STRIP != 0; j++)
                        s[j] = zero + none;
                    PRIVATE_ARRAY(ACC, base, VEC_LEN);
                    PRIVATE_ARRAY(ACC, change, VEC_LEN);
                    *(VEC *)base = *(VEC *)(top + i);
                    for (tdm_i32 j = 0; j < n; j += STRIP) {
                        const ACC *const some = of_keys + j * VEC_LEN;
                        FOR_LANES(r, 0, VEC_LEN)
                        {
                            const ACC a = MAX(some[0 * VEC_LEN + r], some[1 * VEC_LEN + r]);
                            const ACC b = MAX(some[2 * VEC_LEN + r], some[3 * VEC_LEN + r]);
                            const ACC c = MAX(some[4 * VEC_LEN + r], some[5 * VEC_LEN + r]);
                            const ACC d = MAX(some[6 * VEC_LEN + r], some[7 * VEC_LEN + r]);
                            base[r] = MAX(MAX(MAX(a, b), MAX(c, d)), base[r]);
                        }
                    }
                    FOR_LANES(r, 0, VEC_LEN)
                    {
                        const ACC largest = base[r];
                        base[r] = BASE_OF(largest);
                        change[r] = EXP_NEGATIVE(top[i + r] - base[r]);
                        top[i + r] = largest;
                    }
                    VEC total = zero;
                    for (tdm_i32 j = 0; j < n; j++) {
                        FOR_LANES(r, 0, VEC_LEN)
                        {
                            of_keys[j * VEC_LEN + r] = POWER(of_keys[j * VEC_LEN + r], base[r]);
                        }
                        total += s[j];
                    }
                    *(VEC *)(sum + i) = *(VEC *)(sum + i) * *(VEC *)change + total;
                    VEC *const out = (VEC *)(sums + i * WIDE);
                    if (finite) {
                        tdm_attention_multiply(out, *(VEC *)change, start == 0, values, 1, WIDE, s, cols, n);
                    } else {
                        for (tdm_i32 j = 0; j < cols; j++) {
                            if (start == 0) out[j] = zero;
                            out[j] *= *(VEC *)change;
                        }
                        for (tdm_i32 j = 0; j < n * VEC_LEN; j++)
                            for (tdm_i32 c = 0; c < cols && BITS_KEY(of_keys[j]) >= 0; c++)
                                sums[(i * WIDE + c * VEC_LEN) + j % VEC_LEN] += of_keys[j] * values[j / VEC_LEN * WIDE + c];
                    }
                }
            }
            for (tdm_i32 i = 0; i < rows; i += VEC_LEN) {
                PRIVATE_ARRAY(ACC, share, VEC_LEN);
                PRIVATE_ARRAY(ACC, line, WIDE);
                FOR_LANES(r, 0, VEC_LEN)
                {
                    share[r] = sum[i + r] == 0 ? (ACC)0 : (ACC)1 / sum[i + r];
                }
                VEC *const squares = (VEC *)(sums + i * WIDE);
                for (tdm_i32 j = 0; j < cols; j++)
                    squares[j] *= *(VEC *)share;
                for (tdm_i32 j = 0; j < cols; j += VEC_LEN)
                    TRANSPOSE_VECS(squares + j);
                for (tdm_i32 r = 0; r < MIN(VEC_LEN, rows - i); r++) {
                    GLOBAL T *const yr = yh + (row + i + r) * args.y_row;
                    for (tdm_i32 j = 0; j < cols; j += VEC_LEN)
                        *(VEC *)(line + j) = squares[j + r];
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
#undef WIDE
#undef SCORES

#else

/* Lanes as a grid of LANES_M x LANES_N, as in matmul. A lane keeps its part of a tile of scores, and of the weighted sums,
 * in registers, and, as all lanes of a row do, the row's largest score and sum. */
#if LANES >= 512
#define LANES_N 32
#elif LANES >= 128
#define LANES_N 16
#elif LANES >= 8
#define LANES_N 8
#else
#define LANES_N LANES
#endif
#define LANES_M (LANES / LANES_N)
#define PER_M (ROWS / LANES_M)
#define PER_N (KEYS / LANES_N)
#define PER_V (VALUES / LANES_N)
#define SLICE 16
#define PITCH_Q (ROWS + 1) /* one more, against bank conflicts */
#define PITCH_K (KEYS + 1)
#define PITCH_V (VALUES + 1)

KERNEL6(attention, tdm_attention_args, const T, q, const T, k, const T, v, const tdm_u8, mask, const tdm_i32, index, T, y)
{
    LOCAL_ARRAY(ACC, powers, ROWS * PITCH_K);
    LOCAL_ARRAY(ACC, slices, SLICE * MAX(PITCH_Q + PITCH_K, PITCH_V)); /* or a number of each lane, ROWS at most */
    LOCAL ACC *const k_slice = slices + SLICE * PITCH_Q;
    const tdm_i32 ly = LANE / LANES_N, lx = LANE % LANES_N;
    const ACC scale = SCALAR(args.scale), none = VALUE_OF(~INFINITY_KEY);
    FOR_ROWS(item, args.items)
    {
        ITEM;
        for (tdm_i64 row = block * ROWS; row < last;) {
            RUN;
            const tdm_i32 rows = (tdm_i32)(run.end - row);
            ACC top[PER_M], sum[PER_M], sums[PER_M][PER_V];
            UNROLL for (tdm_i32 i = 0; i < PER_M; i++)
            {
                top[i] = none;
                sum[i] = 0;
                UNROLL for (tdm_i32 j = 0; j < PER_V; j++) sums[i][j] = 0;
            }
            for (tdm_i64 start = 0; start < seen; start += KEYS) {
                const tdm_i32 n = (tdm_i32)MIN((tdm_i64)KEYS, seen - start);
                ACC s[PER_M][PER_N];
                UNROLL for (tdm_i32 i = 0; i < PER_M; i++) UNROLL for (tdm_i32 j = 0; j < PER_N; j++) s[i][j] = 0;
                for (tdm_i32 from = 0; from < size; from += SLICE) {
                    const tdm_i32 depth = MIN(SLICE, size - from); /* a loop of constant length takes more registers */
                    FOR_LANES(e, 0, SLICE * ROWS)
                    {
                        const tdm_i32 i = (tdm_i32)e / SLICE, d = (tdm_i32)e % SLICE;
                        slices[d * PITCH_Q + i] = i < rows && d < depth ? LOAD(qh, (row + i) * args.q_row + from + d)
                                                                               : (ACC)0;
                    }
                    FOR_LANES(e, 0, SLICE * KEYS)
                    {
                        const tdm_i32 j = (tdm_i32)e / SLICE, d = (tdm_i32)e % SLICE;
                        k_slice[d * PITCH_K + j] =
                            j < n && d < depth ? LOAD(kh, (run.first + start + j) * args.k_row + from + d) : (ACC)0;
                    }
                    BARRIER;
                    for (tdm_i32 d = 0; d < depth; d++)
                        UNROLL for (tdm_i32 i = 0; i < PER_M; i++)
                        {
                            const ACC p = slices[d * PITCH_Q + ly + i * LANES_M];
                            UNROLL for (tdm_i32 j = 0; j < PER_N; j++) s[i][j] += p * k_slice[d * PITCH_K + lx + j * LANES_N];
                        }
                    BARRIER;
                }
                UNROLL for (tdm_i32 i = 0; i < PER_M; i++)
                {
                    const tdm_i64 r = row + ly + i * LANES_M, most = MIN(r + run.reach - start, (tdm_i64)n);
                    const tdm_i32 open = r < run.end ? (tdm_i32)MAX(most, (tdm_i64)0) : 0;
                    UNROLL for (tdm_i32 j = 0; j < PER_N; j++) s[i][j] =
                        lx + j * LANES_N < open ? s[i][j] * scale : none;
                }
                if (args.has_mask)
                    UNROLL for (tdm_i32 i = 0; i < PER_M; i++) UNROLL for (tdm_i32 j = 0; j < PER_N; j++)
                    {
                        /* what is -Inf may be outside */
                        if (!(s[i][j] < NONE) && !HAS_KEY(row + ly + i * LANES_M, start + lx + j * LANES_N)) s[i][j] = none;
                    }
                UNROLL for (tdm_i32 i = 0; i < PER_M; i++)
                {
                    ACC largest = none;
                    UNROLL for (tdm_i32 j = 0; j < PER_N; j++) largest = MAX(s[i][j], largest);
                    slices[(ly + i * LANES_M) * LANES_N + lx] = largest;
                }
                BARRIER;
                ACC change[PER_M];
                UNROLL for (tdm_i32 i = 0; i < PER_M; i++)
                {
                    ACC largest = top[i];
                    for (tdm_i32 j = 0; j < LANES_N; j++)
                        largest = MAX(slices[(ly + i * LANES_M) * LANES_N + j], largest);
                    change[i] = EXP_NEGATIVE(top[i] - BASE_OF(largest));
                    top[i] = largest;
                }
                BARRIER;
                UNROLL for (tdm_i32 i = 0; i < PER_M; i++)
                {
                    ACC total = 0;
                    UNROLL for (tdm_i32 j = 0; j < PER_N; j++)
                    {
                        const ACC p = POWER(s[i][j], BASE_OF(top[i]));
                        powers[(ly + i * LANES_M) * PITCH_K + lx + j * LANES_N] = p;
                        total += p;
                    }
                    slices[(ly + i * LANES_M) * LANES_N + lx] = total;
                }
                BARRIER;
                UNROLL for (tdm_i32 i = 0; i < PER_M; i++)
                {
                    sum[i] *= change[i];
                    for (tdm_i32 j = 0; j < LANES_N; j++)
                        sum[i] += slices[(ly + i * LANES_M) * LANES_N + j];
                    UNROLL for (tdm_i32 j = 0; j < PER_V; j++) sums[i][j] *= change[i];
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
                        UNROLL for (tdm_i32 i = 0; i < PER_M; i++)
                        {
                            const ACC p = powers[(ly + i * LANES_M) * PITCH_K + from + d];
                            const tdm_i32 counts = BITS_KEY(p) >= 0;
                            UNROLL for (tdm_i32 j = 0; j < PER_V; j++)
                            {
                                const ACC weighted = p * slices[d * PITCH_V + lx + j * LANES_N];
                                sums[i][j] += counts ? weighted : (ACC)0;
                            }
                        }
                }
                BARRIER;
            }
            UNROLL for (tdm_i32 i = 0; i < PER_M; i++)
            {
                const tdm_i64 r = row + ly + i * LANES_M;
                const ACC share = sum[i] == 0 ? (ACC)0 : (ACC)1 / sum[i];
                UNROLL for (tdm_i32 j = 0; j < PER_V; j++)
                {
                    const tdm_i32 c = lx + j * LANES_N;
                    if (r < run.end && c < cols) STORE(yh, r * args.y_row + c, sums[i][j] * share);
                }
            }
            row = run.end;
        }
    }
}

#undef LANES_N
#undef LANES_M
#undef PER_M
#undef PER_N
#undef PER_V
#undef SLICE
#undef PITCH_Q
#undef PITCH_K
#undef PITCH_V
#endif

#undef ROWS
#undef KEYS
#undef VALUES
#undef NONE
#undef BASE_OF
#undef POWER
#undef HAS_KEY
#undef ITEM
#undef RUN

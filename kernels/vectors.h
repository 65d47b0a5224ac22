/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* How lanes take rows in CUDA and in OpenCL C; in C, ROW_LOOPS, the dialect says so. Compiled after dtypes.h.
 *
 * Lanes that share a row take it in vectors of VECTOR_BYTES, so that few instructions keep many bytes on their way.
 * A vector has TDM_WIDTH elements, VECTOR_BYTES of the smaller of T and U, and lane l has vectors l, l + LANES, …;
 * with VECTORS of 0, where the rows' alignment is not known, a vector is one element. A loop takes TDM_ONCE vectors
 * of each row in a step: all are read, then all are computed, then all are written. Of a vector that sticks out of
 * the row the elements inside are moved one by one, and the others are zeros. With LOOSE rows may begin anywhere:
 * elements are moved one by one, by the same lanes, so that a row has the same bits wherever it lies. With HOLDS a
 * row has VECTORS vectors to a lane at most, so that HOLD has it read once, into registers. */
#ifndef TDMI_KERNEL_VECTORS_H
#define TDMI_KERNEL_VECTORS_H
#if !ROW_LOOPS

/* nothing is fetched, so one argument will do, which is dropped */
#define AHEAD(row) 0
#define ROW_AHEAD(row, stride) 0
#define NOTHING_AHEAD 0
#define FETCH(row, n) ((void)0)
#define FETCH_ROW(row, n) ((void)0)
#define FETCH_LATER(p, n) ((void)0)
#define WIDENED(to, from, n) 0
#define FOR_LANES_APART(j, n) FOR_LANES(j, 0, n)

/* Words for Philox; see the C dialect. */
typedef tdm_u64 WORDS;
#define WORDS_LEN 1
#define WORDS_FROM(v) (v)
#define MUL_WORDS(a, b) ((tdm_u64)(tdm_u32)(a) * (tdm_u32)(b))
#define HIGH_WORDS(a) ((a) >> 32)

#if LANES == 1
/* A lane alone, on a CPU, takes a row in steps, whose elements are a loop for its compiler to vectorise. So what it
 * writes is kept until the end of the step, as it may be what it reads; and a reduction has a partial result for each
 * element of a step, as one chain of sums would wait for each addition. */
#define TDM_PARTIALS 64
#define TDM_PARTIAL tdm_k
#define TDM_STEPS(begin, end)                                                                      \
    for (tdm_i32 tdm_from = (begin), tdm_n = MIN((end)-tdm_from, TDM_PARTIALS); tdm_n > 0;         \
         tdm_from += tdm_n, tdm_n = MIN((end)-tdm_from, TDM_PARTIALS))
#define TDM_ELEMENTS(j) for (tdm_i32 tdm_k = 0, j = tdm_from; tdm_k < tdm_n; tdm_k++, j++)
#define TDM_SHARE(j, begin, end, reads) TDM_STEPS(begin, end) TDM_ELEMENTS(j)
#define TDM_INSIDE(j, v, otherwise) (v)
INLINE void tdm_write_step(GLOBAL T *to, const T *from, tdm_i32 n)
{
    if (n == TDM_PARTIALS)
        for (tdm_i32 i = 0; i < TDM_PARTIALS; i++)
            to[i] = from[i];
    else
        for (tdm_i32 i = 0; i < n; i++)
            to[i] = from[i];
}
#define TDM_WITH_STEP(k, p)                                                                        \
    for (T tdm_out##k[TDM_PARTIALS], *tdm_once##k = tdm_out##k; tdm_once##k;                       \
         tdm_write_step((p) + tdm_from, tdm_out##k, tdm_n), tdm_once##k = 0)
#define FOR_LANES_WRITE(p, j, n, ahead, reads) TDM_STEPS(0, n) TDM_WITH_STEP(0, p) TDM_ELEMENTS(j)
#define FOR_LANES_WRITE2(p, q, j, n, ahead, reads)                                                 \
    TDM_STEPS(0, n) TDM_WITH_STEP(0, p) TDM_WITH_STEP(1, q) TDM_ELEMENTS(j)
#define WRITE(p, j, v) (tdm_out0[tdm_k] = (T)TO_T(v))
#define WRITE2(p, j, v) (tdm_out1[tdm_k] = (T)TO_T(v))
#define WRITE_RAW(p, j, v) (tdm_out0[tdm_k] = (T)(v))
#define FOR_LANES_FILL(p, j, n) FOR_LANES_WRITE(p, j, n, NOTHING_AHEAD, )
#define FILL(p, j, v) WRITE_RAW(p, j, v)
#else

/* a sum over a row that is held takes no steps of blocks */
#if HOLDS && VECTORS * VECTOR_BYTES / T_SIZE > 64
#error "a lane holds more of a row than a SUM_BLOCK has for it"
#endif

#define tdm_vector TDM_CAT(tdm_vector_, VECTOR_BYTES)
#if !defined(LOOSE)
#define LOOSE 0
#endif
#define TDM_WHOLE (VECTORS && !LOOSE)
#define TDM_WIDTH (VECTORS ? VECTOR_BYTES / MIN(T_SIZE, U_SIZE) : 1)
#define TDM_ONCE (HOLDS ? 2 : VECTORS ? VECTORS : 4)
#define TDM_PARTIALS 1
#define TDM_PARTIAL 0
#define TDM_LANE_PART (TDM_ONCE * TDM_WIDTH)
/* from one vector of a lane to its next */
#define TDM_PITCH (LANES * TDM_WIDTH)
/* Of an element, and so without a sign that a step past the largest int has room. */
typedef tdm_u32 tdm_index;

/* Element i of an array of 16-bit ones, from the register that holds two: where single elements of an array are read
 * and written as well as vectors, clang keeps the array in memory. */
#define TDM_T_IN_PAIRS (VECTORS && T_SIZE == 2)
#define TDM_OF_PAIR(array, i) (((const tdm_pair *)(array))[(i) / 2] >> (i) % 2 * 16)

/* Word i of a vector. */
#if VECTOR_BYTES == 16
#define TDM_WORD(v, i) ((i) == 0 ? (v).x : (i) == 1 ? (v).y : (i) == 2 ? (v).z : (v).w)
#elif VECTOR_BYTES == 8
#define TDM_WORD(v, i) ((i) == 0 ? (v).x : (v).y)
#else
#define TDM_WORD(v, i) as_uint(v)
#endif

/* Loops of one step, for their variables alone, have a flag: the address of an array. Clang does not see that it is not
 * NULL for AMD's GPUs, where NULL is not 0, and leaves the array in memory: there it is the number 1. It also leaves a
 * loop whose end is a parameter there; for NVIDIA's such a loop takes half of the registers. */
#if defined(__AMDGCN__)
#define TDM_FLAG
#define TDM_SET(type, array) ((type)1)
#define TDM_MOST_READ(vectors) (HOLDS ? VECTORS : TDM_ONCE)
#else
#define TDM_FLAG *
#define TDM_SET(type, array) (array)
#define TDM_MOST_READ(vectors) (vectors)
#endif

/* The vector that begins at element `at` of a row that has `end` of them. */
#define TDM_VECTOR_FUNCTIONS(type, of_type)                                                        \
    INLINE void TDM_CAT(tdm_read_vector_, of_type)(type * to, GLOBAL const type *row, tdm_index at, \
                                                   tdm_index end)                                  \
    {                                                                                              \
        if (TDM_WHOLE && at + TDM_WIDTH <= end) {                                                    \
            UNROLL for (tdm_i32 i = 0; i < TDM_WIDTH * (tdm_i32)sizeof(type) / VECTOR_BYTES; i++)  \
                ((tdm_vector *)to)[i] = ((GLOBAL const tdm_vector *)(row + at))[i];                \
        } else if (TDM_WIDTH > 1 && sizeof(type) == 2) { /* in pairs, as registers are */            \
            UNROLL for (tdm_index i = 0; i + 1 < TDM_WIDTH; i += 2)                                \
                ((tdm_pair *)to)[i / 2] =                                                          \
                    (at + i < end ? (tdm_u32)(tdm_u16)row[at + i] : 0) |                           \
                    (at + i + 1 < end ? (tdm_u32)row[at + i + 1] << 16 : 0);                       \
        } else {                                                                                   \
            UNROLL for (tdm_index i = 0; i < TDM_WIDTH; i++) to[i] =                           \
                at + i < end ? row[at + i] : 0;                                                    \
        }                                                                                          \
    }                                                                                              \
    /* vectors of one row, the first of which begins at element `from`; returns a flag that is set */ \
    INLINE type TDM_FLAG TDM_CAT(tdm_read_part_, of_type)(                                         \
        type * to, GLOBAL const type *row, tdm_index from, tdm_index end, tdm_i32 vectors)         \
    {                                                                                              \
        UNROLL for (tdm_i32 i = 0; i < TDM_MOST_READ(vectors); i++, from += TDM_PITCH)         \
        {                                                                                          \
            if (i < vectors)                                                                       \
                TDM_CAT(tdm_read_vector_, of_type)(to + i * TDM_WIDTH, row, from, end);            \
        }                                                                                          \
        return TDM_SET(type, to);                                                                  \
    }
TDM_VECTOR_FUNCTIONS(T, t)
TDM_VECTOR_FUNCTIONS(U, u)

INLINE void tdm_write_part(GLOBAL T *row, tdm_index from, tdm_index end, const T *part)
{
    UNROLL for (tdm_i32 i = 0; i < TDM_ONCE; i++, from += TDM_PITCH)
    {
        if (TDM_WHOLE && from + TDM_WIDTH <= end) {
            UNROLL for (tdm_i32 k = 0; k < TDM_WIDTH * (tdm_i32)sizeof(T) / VECTOR_BYTES; k++)
                TDM_STORE_VECTOR((GLOBAL tdm_vector *)(row + from) + k,
                                 ((const tdm_vector *)(part + i * TDM_WIDTH))[k]);
        } else if (TDM_T_IN_PAIRS) {
            UNROLL for (tdm_index k = 0; k < TDM_WIDTH; k++)
            {
                const tdm_vector v = ((const tdm_vector *)(part + i * TDM_WIDTH))[k * 2 / VECTOR_BYTES];
                if (from + k < end)
                    TDM_STORE(row + from + k,
                              (T)(TDM_WORD(v, k * 2 % VECTOR_BYTES / 4) >> k % 2 * 16));
            }
        } else {
            UNROLL for (tdm_index k = 0; k < TDM_WIDTH; k++) if (from + k < end)
                TDM_STORE(row + from + k, part[i * TDM_WIDTH + k]);
        }
    }
}

/* A lane's steps over [begin, end), and the elements of one. */
#if HOLDS
#define TDM_STEPS(begin, n)                                                                        \
    UNROLL for (tdm_i32 tdm_step = 0; tdm_step < VECTORS / TDM_ONCE; tdm_step++)               \
        for (tdm_index tdm_end = (n), tdm_from = (begin) + LANE * TDM_WIDTH +                      \
                                  tdm_step * TDM_ONCE * TDM_PITCH,                                 \
                       tdm_once = tdm_from < tdm_end;                                              \
             tdm_once; tdm_once = 0)
#else
#define TDM_STEPS(begin, n)                                                                        \
    for (tdm_index tdm_end = (n), tdm_from = (tdm_index)(begin) + LANE * TDM_WIDTH;                \
         tdm_from < tdm_end; tdm_from += TDM_ONCE * TDM_PITCH)
#endif
#define TDM_ELEMENTS(j)                                                                            \
    UNROLL for (tdm_i32 tdm_k = 0; tdm_k < TDM_LANE_PART; tdm_k++)                                  \
        for (tdm_index j = tdm_from + tdm_k / TDM_WIDTH * TDM_PITCH + tdm_k % TDM_WIDTH,           \
                       tdm_one = 1;                                                                \
             tdm_one; tdm_one = 0)
/* The elements of a reduction. Those past the end are computed of zeros, too, as branches take longer;
 * but where rows are not aligned, a kernel may read other memory than rows. */
#if VECTORS
#define TDM_SHARE(j, begin, end, reads) TDM_STEPS(begin, end) reads TDM_ELEMENTS(j)
#define TDM_INSIDE(j, v, otherwise) (j < tdm_end ? (v) : (otherwise))
#else
#define TDM_SHARE(j, begin, end, reads) TDM_STEPS(begin, end) reads TDM_ELEMENTS(j) if (j < tdm_end)
#define TDM_INSIDE(j, v, otherwise) (v)
#endif

#define TDM_REGISTERS(type, name, n) type name[n] TDM_ALIGNED_16
#define READ_IF(c, p)                                                                              \
    for (TDM_REGISTERS(T, tdm_in_##p, TDM_LANE_PART),                                                   \
         TDM_FLAG tdm_once_##p = (c)                                                               \
                                     ? tdm_read_part_t(tdm_in_##p, p, tdm_from, tdm_end, TDM_ONCE) \
                                     : TDM_SET(T, tdm_in_##p);                                     \
         tdm_once_##p; tdm_once_##p = 0)
/* A bf16 is read from the register that holds two: a compiler would move it to another one first. Where PUT_TWO_BF16
 * is not defined, on GPUs before sm_80, LayerNorm would run out of registers. */
#if T_ID == TDM_ID_BF16 && defined(PUT_TWO_BF16)
#define TDM_REGISTER_OF(p) (((const tdm_pair *)tdm_in_##p)[tdm_k / 2])
#define AT(p, j)                                                                                   \
    tdm_as_f32((tdm_i32)(tdm_k % 2 ? TDM_REGISTER_OF(p) & 0xffff0000u : TDM_REGISTER_OF(p) << 16))
#elif T_ID == TDM_ID_F16 && TDM_READS_PAIRS
#define AT(p, j) GET_F16((T)TDM_OF_PAIR(tdm_in_##p, tdm_k))
#else
#define AT(p, j) LOAD(tdm_in_##p, tdm_k)
#endif
#define READ_U(p)                                                                                  \
    for (TDM_REGISTERS(U, tdm_in_##p, TDM_LANE_PART),                                                   \
         TDM_FLAG tdm_once_##p = tdm_read_part_u(tdm_in_##p, p, tdm_from, tdm_end, TDM_ONCE);               \
         tdm_once_##p; tdm_once_##p = 0)
#define U_AT(p, j) LOAD_U(tdm_in_##p, tdm_k)
#if HOLDS
#define HOLD_IF(c, p, n)                                                                           \
    TDM_REGISTERS(T, tdm_held_##p, VECTORS * TDM_WIDTH);                                           \
    if (c) (void)tdm_read_part_t(tdm_held_##p, p, LANE * TDM_WIDTH, n, VECTORS)
#define HELD_IF(c, p)                                                                              \
    for (const T *tdm_in_##p = tdm_held_##p + tdm_step * TDM_LANE_PART,                            \
                 *tdm_past_##p = tdm_in_##p + 1;                                                   \
         tdm_past_##p != tdm_in_##p; tdm_past_##p = tdm_in_##p)
#endif

#define TDM_WITH_PART(k, p)                                                                        \
    for (TDM_REGISTERS(T, tdm_out##k, TDM_LANE_PART), TDM_FLAG tdm_once##k = TDM_SET(T, tdm_out##k); tdm_once##k; \
         tdm_write_part(p, tdm_from, tdm_end, tdm_out##k), tdm_once##k = 0)                        \
    TDM_WITH_LOW(k)
/* Where two elements are rounded at once the first waits for the second. */
#if defined(PUT_TWO_BF16) && (T_ID == TDM_ID_F16 || T_ID == TDM_ID_BF16)
#define TDM_WITH_LOW(k) for (ACC tdm_low##k = 0, tdm_once_low##k = 1; tdm_once_low##k; tdm_once_low##k = 0)
#define TDM_WRITE(k, v)                                                                            \
    do {                                                                                           \
        const ACC tdm_written = (v);                                                               \
        if (tdm_k % 2)                                                                             \
            ((tdm_pair *)tdm_out##k)[tdm_k / 2] =                                                  \
                TDM_CAT(tdm_put_two_, T_ID)(tdm_low##k, tdm_written);                              \
        else                                                                                       \
            tdm_low##k = tdm_written;                                                              \
    } while (0)
#else
#define TDM_WITH_LOW(k)
#define TDM_WRITE(k, v) (tdm_out##k[tdm_k] = (T)TO_T(v))
#endif
#define FOR_LANES_WRITE(p, j, n, ahead, reads)                                                     \
    TDM_STEPS(0, n) TDM_WITH_PART(0, p) reads TDM_ELEMENTS(j)
#define FOR_LANES_WRITE2(p, q, j, n, ahead, reads)                                                 \
    TDM_STEPS(0, n) TDM_WITH_PART(0, p) TDM_WITH_PART(1, q) reads TDM_ELEMENTS(j)
#define WRITE(p, j, v) TDM_WRITE(0, v)
#define WRITE2(p, j, v) TDM_WRITE(1, v)
#define WRITE_RAW(p, j, v) (tdm_out0[tdm_k] = (T)(v))
/* no value is made of an element past the end */
#define FOR_LANES_FILL(p, j, n)                                                                    \
    TDM_STEPS(0, n) TDM_WITH_PART(0, p) TDM_ELEMENTS(j) if (j < tdm_end)
#define FILL(p, j, v) WRITE_RAW(p, j, v)

#endif
#endif
#endif

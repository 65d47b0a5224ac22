/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* Where the elements of a reduction lie (tdm_reduce_args), the same in all three languages. Compiled after reduce.h.
 *
 * The elements that become one result lie in lines along memory, of which a group's lanes have shares, or in columns,
 * by OP: then each lane has its own results and walks from line to line. A lane alone has a block of columns at a
 * time, and keeps their results in arrays, of which COLUMNS declares number k, so that it reads along memory, too;
 * there OF(name) is the one of column j. */
#ifndef TDMI_KERNEL_GROUPS_H
#define TDMI_KERNEL_GROUPS_H

#define IN_COLUMNS ((OP & TDM_OP_IN_COLUMNS) != 0)
#define KIND ((tdm_i32)OP & ~TDM_OP_IN_COLUMNS)

#if ROW_LOOPS
#define COLUMN_BLOCK args.width
#define COLUMNS(type, name, k)                                                                     \
    SCRATCH_ARRAY(type, name, TDM_REDUCE_COLUMNS(type), (k)*TDM_REDUCE_COLUMNS(type))
#define OF(name) name[j]
#define FOR_COLUMNS(j, m) FOR_LANES(j, 0, m)
#define FOR_COLUMNS_SINGLY(j, m) for (tdm_i32 j = 0; j < (m); j++)
#else
#define COLUMN_BLOCK LANES
#define COLUMNS(type, name, k) type name
#define OF(name) name
#define FOR_COLUMNS(j, m) for (tdm_i32 j = LANE; j < (m); j = (m))
#define FOR_COLUMNS_SINGLY(j, m) FOR_COLUMNS(j, m)
#endif

/* The items of a launch: for each row of results the blocks of `width` columns, of one result one, and of each the
 * parts of its lines. */
#define BLOCKS(width) (IN_COLUMNS ? ((tdm_i64)args.cols + (width)-1) / (width) : 1)
#define ITEMS(width) (args.rows * BLOCKS(width) * args.chunks)

/* Declares for an item: the numbers of its part and of its row, `part` and `number`; `column`, the first one, and how
 * many there are in `columns`; where in x and y what it reads and writes begins, x_at and y_at; the lines from `first`
 * to `last`, and of each the elements from `start` on, n in number. */
#define PLACE(item, width)                                                                         \
    const tdm_i64 part = args.chunks == 1 ? 0 : (item) % args.chunks;                              \
    const tdm_i64 tdm_whole = args.chunks == 1 ? (item) : (item) / args.chunks;                    \
    const tdm_i64 number = IN_COLUMNS ? tdm_whole / BLOCKS(width) : tdm_whole;                     \
    const tdm_i64 column = IN_COLUMNS ? (tdm_whole - number * BLOCKS(width)) * (width) : 0;        \
    const tdm_i32 columns = (tdm_i32)MIN((tdm_i64)(width), (tdm_i64)args.cols - column);           \
    tdm_i64 x_at = args.x_offset + column;                                                         \
    tdm_i64 y_at = args.y_offset + part * args.y_chunk + column * args.y_step;                     \
    TDM_FOR_INDICES(d, tdm_index, number, args.outer_ndim, args.outer_shape)                       \
    {                                                                                              \
        x_at += tdm_index * args.x_stride[d];                                                      \
        y_at += tdm_index * args.y_stride[d];                                                      \
    }                                                                                              \
    const tdm_i32 tdm_by_lines = IN_COLUMNS || args.lines > 1;                                     \
    const tdm_i64 tdm_all = tdm_by_lines ? args.lines : (tdm_i64)args.cols;                        \
    const tdm_i64 tdm_begin = args.chunks == 1 ? 0 : part * args.chunk;                            \
    const tdm_i64 tdm_end = args.chunks == 1 ? tdm_all : MIN(tdm_all, tdm_begin + args.chunk);     \
    const tdm_i64 first = tdm_by_lines ? tdm_begin : 0, last = tdm_by_lines ? tdm_end : 1;         \
    const tdm_i64 start = tdm_by_lines ? 0 : tdm_begin;                                            \
    const tdm_i32 n = (tdm_i32)(tdm_by_lines ? (tdm_i64)args.cols : tdm_end - tdm_begin);          \
    (void)columns, (void)start, (void)n

/* Declares p, where line number `line` begins. */
#define LINE(p, line)                                                                              \
    GLOBAL const T *p;                                                                             \
    {                                                                                              \
        tdm_i64 tdm_at = x_at;                                                                     \
        TDM_FOR_INDICES(d, tdm_index, line, args.line_ndim, args.line_shape)                       \
            tdm_at += tdm_index * args.line_stride[d];                                             \
        p = x + (tdm_at + start);                                                                  \
    }

/* Declares x0 to x3, four lines of columns, or to x7, eight of them. FETCH_EIGHT fetches n elements, from `at` on, of
 * the next eight as a rule: a CPU does not expect where lines begin. It has them in its second cache, as the lines of a
 * matrix of a power of two of columns have the same places in the first one and would drive each other out of it.
 * FOR_COLUMNS_OF_EIGHT does so before each piece of FETCHED columns. */
#define FOUR_LINES(line)                                                                           \
    LINE(x0, line)                                                                                 \
    LINE(x1, (line) + 1)                                                                           \
    LINE(x2, (line) + 2)                                                                           \
    LINE(x3, (line) + 3)
#define EIGHT_LINES(line)                                                                          \
    FOUR_LINES(line)                                                                               \
    LINE(x4, (line) + 4)                                                                           \
    LINE(x5, (line) + 5)                                                                           \
    LINE(x6, (line) + 6)                                                                           \
    LINE(x7, (line) + 7)
#define FETCH_LINE(p, lines, at, n) FETCH_LATER((p) + ((at) + LINES_AHEAD(lines) * (x1 - x0)), n)
#define FETCH_FOUR(at, n)                                                                          \
    (FETCH_LINE(x0, 4, at, n), FETCH_LINE(x1, 4, at, n), FETCH_LINE(x2, 4, at, n),                 \
     FETCH_LINE(x3, 4, at, n))
#define FETCH_EIGHT(at, n)                                                                         \
    (FETCH_LINE(x0, 8, at, n), FETCH_LINE(x1, 8, at, n), FETCH_LINE(x2, 8, at, n),                 \
     FETCH_LINE(x3, 8, at, n), FETCH_LINE(x4, 8, at, n), FETCH_LINE(x5, 8, at, n),                 \
     FETCH_LINE(x6, 8, at, n), FETCH_LINE(x7, 8, at, n))
/* eight lines are read before memory answers, where they are short */
#define LINES_AHEAD(lines) (columns * (tdm_i32)sizeof(T) < 1024 ? 8 * (lines) : (lines))
#if ROW_LOOPS
#define FETCHED 128
#define FOR_COLUMNS_OF_EIGHT(j, m)                                                                 \
    for (tdm_i32 tdm_c = 0;                                                                        \
         tdm_c < (m) && (FETCH_EIGHT(tdm_c, MIN((m)-tdm_c, FETCHED)), 1); tdm_c += FETCHED)        \
    FOR_LANES(j, tdm_c, MIN(m, tdm_c + FETCHED))
#else
#define FOR_COLUMNS_OF_EIGHT(j, m) FOR_COLUMNS(j, m)
#endif

/* Where one lane has columns of floats, and a cache line of them at least, it takes STRIP of them, a cache line, from
 * each of eight lines at a time into registers of ACC. So its results are read and written once for eight lines, and
 * whole registers of 16-bit elements are converted, for which compilers do not find the instruction. `at` is where a
 * strip lies in a line, `j` where its results lie; they differ in the last one, which is moved back so that it ends
 * with the line, and repeats columns of the one before. IN_STRIPS: #if compares it. */
#if defined(TDMI_ISA) && defined(__x86_64__) && !defined(__AVX__)
#define IN_STRIPS 0 /* for old processors in C: small rather than fast */
#else
#define IN_STRIPS (ROW_LOOPS && T_IS_FLOAT)
#endif
#define STRIP ((tdm_i32)(TDM_LINE / sizeof(T)))
#define STRIPS (columns >= STRIP)
#define FOR_STRIPS(j, at)                                                                          \
    for (tdm_i32 j = 0, at = 0; j < columns; j += STRIP, at = MIN(j, columns - STRIP))
#define FOR_REGISTERS(i) for (tdm_i32 i = 0; i < STRIP; i += VEC_LEN)
#define VEC_OF(name, i) (*(VEC *)(name + (i)))
#define SLOTS ((columns + STRIP - 1) / STRIP * STRIP) /* how many are found */
#define SLOT_OF(j) ((j) < columns / STRIP * STRIP ? (j) : (j) + SLOTS - columns)

/* An element of an integer dtype, that was read as an unsigned one. */
#define INTEGER(v)                                                                                 \
    (((T_SIZE == 1 ? MIN((ACC)(v), (ACC)args.limit) : (ACC)(v)) ^ (ACC)args.sign) - (ACC)args.sign)

#endif

/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* Rows of s = x + residual, rounded to T, or of x alone, for kernels whose OP has the flags TDM_OP_ROW_…. The sum,
 * where it is wanted, is written with y, so that both may be x or the residual; s is computed whenever it is read,
 * not kept. The same in all three languages; compiled after reduce.h. */
#ifndef TDMI_KERNEL_RESIDUAL_H
#define TDMI_KERNEL_RESIDUAL_H

#define HAS_RESIDUAL ((OP & TDM_OP_ROW_RESIDUAL) != 0)
#define HAS_WEIGHT ((TDM_FLAGS & TDM_OP_ROW_WEIGHT) != 0)
#define HAS_BIAS ((TDM_FLAGS & TDM_OP_ROW_BIAS) != 0)
#define HAS_SUM (HAS_RESIDUAL && (TDM_FLAGS & TDM_OP_ROW_SUM) != 0)

/* Declares the residual's row, from `start` on, and holds it and x's. */
#define HOLD_S(xr, rr, row, start, n)                                                              \
    GLOBAL const T *const rr =                                                                     \
        HAS_RESIDUAL ? residual + (args.residual_offset + row * args.residual_stride + start) : xr; \
    HOLD(xr, n);                                                                                   \
    HOLD_IF(HAS_RESIDUAL, rr, n)

/* For `reads`; an element of rows that were read so; and one from memory. */
#define READ_S(xr, rr) HELD(xr) HELD_IF(HAS_RESIDUAL, rr)
#define S_AT(xr, rr, j) (HAS_RESIDUAL ? ROUND(AT(xr, j) + AT(rr, j)) : AT(xr, j))
#define LOAD_S(xr, rr, j) (HAS_RESIDUAL ? ROUND(LOAD(xr, j) + LOAD(rr, j)) : LOAD(xr, j))
#define RESIDUAL_OR_NULL(rr) (HAS_RESIDUAL ? (rr) : (GLOBAL const T *)0)
/* The middle one of three of n elements from `begin` on. */
#define MIDDLE_S(xr, rr, begin, n)                                                                 \
    tdm_middle(LOAD_S(xr, rr, (begin) + (n) / 8), LOAD_S(xr, rr, (begin) + (n) / 8 * 3),           \
               LOAD_S(xr, rr, (begin) + (n) / 8 * 5))

/* Writes y = v, an expression in s and j, and the sum where it is wanted; `reads` names the other rows that v reads. */
#define WRITE_OF_S(yr, xr, rr, row, start, n, reads, s, j, v)                                      \
    do {                                                                                           \
        if (HAS_SUM) {                                                                             \
            GLOBAL T *const tdm_sum_row = sum + (args.sum_offset + row * args.sum_stride + start); \
            FOR_LANES_WRITE2(yr, tdm_sum_row, j, n, ROW_AHEAD(xr, args.x_stride),                  \
                             READ_S(xr, rr) reads)                                                 \
            {                                                                                      \
                const ACC s = S_AT(xr, rr, j);                                                     \
                WRITE2(tdm_sum_row, j, s);                                                         \
                WRITE(yr, j, v);                                                                   \
            }                                                                                      \
        } else {                                                                                   \
            FOR_LANES_WRITE(yr, j, n, ROW_AHEAD(xr, args.x_stride), READ_S(xr, rr) reads)          \
            {                                                                                      \
                const ACC s = S_AT(xr, rr, j);                                                     \
                WRITE(yr, j, v);                                                                   \
            }                                                                                      \
        }                                                                                          \
    } while (0)

/* The same of v weight + bias, as far as there are these. */
#define WRITE_WEIGHTED_OF_S(yr, xr, rr, wr, br, row, start, n, s, j, v)                            \
    do {                                                                                           \
        if (HAS_WEIGHT && HAS_BIAS)                                                                \
            WRITE_OF_S(yr, xr, rr, row, start, n, READ(wr) READ(br), s, j,                         \
                       (v) * AT(wr, j) + AT(br, j));                                               \
        else if (HAS_WEIGHT)                                                                       \
            WRITE_OF_S(yr, xr, rr, row, start, n, READ(wr), s, j, (v) * AT(wr, j));                \
        else if (HAS_BIAS)                                                                         \
            WRITE_OF_S(yr, xr, rr, row, start, n, READ(br), s, j, (v) + AT(br, j));                \
        else                                                                                       \
            WRITE_OF_S(yr, xr, rr, row, start, n, NOTHING_READ, s, j, v);                          \
    } while (0)

#endif

/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* Macros for users' kernels, the same in all three languages. Compiled after functions.h and reduce.h, before the text
 * that lib/user_kernels/source.c makes of the parameters: tdm_source_args, TDM_TENSORS, and how each tensor's elements
 * are read and written. */
#ifndef TDMI_KERNEL_SOURCE_H
#define TDMI_KERNEL_SOURCE_H

#define KERNEL(name) OPS(name, 1, 0) KERNEL_OF(name, tdm_source_args, TDM_TENSORS)

/* Of the first tensor. */
#define ROWS (args.tdm_launch.rows)
#define COLS ((tdm_i32)args.tdm_launch.cols)

/* This group's part of the first tensor's rows, of which few and long ones are cut: a row's number, and which of its
 * elements, [begin, end). */
#define FOR_PIECES(row, begin, end)                                                                \
    FOR_ROWS(tdm_piece, args.tdm_launch.rows *args.tdm_launch.chunks)                              \
    for (tdm_i64 row = tdm_piece / args.tdm_launch.chunks,                                         \
                 tdm_first = (tdm_piece - row * args.tdm_launch.chunks) * args.tdm_launch.chunk,   \
                 tdm_once = 1;                                                                     \
         tdm_once; tdm_once = 0)                                                                   \
        for (tdm_i32 begin = (tdm_i32)tdm_first,                                                   \
                     end = (tdm_i32)MIN(tdm_first + args.tdm_launch.chunk, args.tdm_launch.cols),  \
                     tdm_again = 1;                                                                \
             tdm_again; tdm_again = 0)

/* Row r of a tensor. */
#define ROW(x, r) ((x) + (args.x.offset + (r)*args.x.stride))

/* An element of a pointer into tensor x, whatever its dtype, as arithmetic and from there; LOAD and STORE are for T. */
#define LOAD_OF(x, p, j) tdm_load_of_##x(p, j)
#define STORE_OF(x, p, j, v) tdm_store_of_##x(p, j, v)

/* A part of a row that is read more than once. */
#define KEEP_BLOCK SUM_BLOCK
#define KEEP(p, row, begin, n) GLOBAL const T *const p = (row) + (begin)
#define KEPT(p) READ(p)

/* A function of function_list.h on ACC: FN(exp)(v). */
#define FN(name) TDM_BY_ACC(tdm_fn_##name##_)

#endif

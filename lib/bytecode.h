/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* An expression as it runs where there is no compiler: steps that each compute one operation for a block of
 * elements. Part of the contract with the backends (backend.h); lib/user_kernels/lower.c makes them. */
#ifndef TDMI_BYTECODE_H
#define TDMI_BYTECODE_H

#include <stdbool.h>
#include <stdint.h>

/* All blocks of a kernel together take TDMI_BLOCK_BYTES at most, or have TDMI_LEAST_BLOCK elements each. */
enum {
    TDMI_LEAST_BLOCK = 64,
    TDMI_MOST_BLOCK = 1024,
    TDMI_MOST_BLOCKS = 256,
    TDMI_BLOCK_BYTES = 24 << 10 /* in the first cache together */
};

typedef enum tdmi_step_kind {
    TDMI_STEP_CONSTANT, /* `bits`; this and the next two keep their blocks to the end */
    TDMI_STEP_SCALAR,   /* scalar `number` of the arguments */
    TDMI_STEP_EXTENT,   /* of the last dimension */
    TDMI_STEP_LOAD,     /* tensor `number`, converted from dtype u to dtype t; keeps its block */
    TDMI_STEP_INDEX,    /* of the elements */
    TDMI_STEP_COMBINED, /* of the row; keeps its block */
    TDMI_STEP_FUNCTION, /* `number` of function_list.h on values of type `of` */
    TDMI_STEP_STORE     /* tensor `number`, converted from dtype u to dtype t; the last steps */
} tdmi_step_kind;

/* `to` and `from` are numbers of blocks. */
typedef struct tdmi_step {
    uint8_t kind, number;
    uint8_t of;   /* the type of the operands; of what is not computed: that of the value */
    uint8_t t, u; /* a cast's, as tdmi_cast_variant has them; t == u: the bits stay */
    uint8_t to, from[3];
    bool is_stored; /* a load: an output is what was read, and another may lie where it was read */
    uint64_t bits;
} tdmi_step;

/* Steps are done once for a group, up to `once`; then for each block, up to `mapped`, for rows to be combined, and
 * from there up to `ended` for each row: without apply that is all. The steps after it run for each block, and are all
 * there is where no rows are combined. */
typedef struct tdmi_bytecode {
    int tensor_count, step_count;
    int once, mapped, ended;
    bool has_rows, has_apply;
    uint8_t combine, type; /* of rows: the function of function_list.h, and on what */
    uint8_t values;        /* the block that is combined */
    uint64_t start;        /* the value that combining begins with */
    int length;            /* elements of a block: a power of two between the limits above */
    int value_size;        /* bytes of the widest value */
    uint8_t sizes[12];     /* bytes of an element of each tensor */
    tdmi_step steps[];
} tdmi_bytecode;

#endif

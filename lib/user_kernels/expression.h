/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* Expressions of users' kernels: what their text says, with a type for each value. parse.c reads the text,
 * values.c has the rules of types. Neither knows of devices. */
#ifndef TDMI_EXPRESSION_H
#define TDMI_EXPRESSION_H

#include <tandem/kernel.h>

#include <stdbool.h>
#include <stdint.h>

#include "base/fail.h"
#include "function_list.h"

enum {
    TDMI_MOST_NODES = 512,
    TDMI_MOST_TEXT = 64 << 10,
    TDMI_MOST_NAME = 63, /* characters */
    TDMI_MOST_PARAMETERS = TDM_KERNEL_MAX_TENSORS + TDM_KERNEL_MAX_SCALARS,
    TDMI_ROW_LENGTH = TDMI_MOST_PARAMETERS /* tdmi_scalar_use.parameter: not one, but n */
};

typedef enum tdmi_node_kind {
    TDMI_NODE_ELEMENT,  /* of tensor `number` */
    TDMI_NODE_SCALAR,   /* argument `number` of the expression's scalars */
    TDMI_NODE_CONSTANT, /* `bits` */
    TDMI_NODE_INDEX,    /* of the element */
    TDMI_NODE_EXTENT,   /* of the last dimension */
    TDMI_NODE_COMBINED, /* the row's combined value */
    TDMI_NODE_FUNCTION  /* `number` of the list, of the nodes `from` */
} tdmi_node_kind;

/* A value. */
typedef struct tdmi_node {
    uint8_t kind, number;
    uint8_t type; /* TDM_TYPE_… */
    uint8_t of;   /* a function: the type of its operands, but for where's first */
    int16_t from[3];
    uint64_t bits; /* as the type has them, in the low bytes */
} tdmi_node;

/* A scalar parameter as one type. */
typedef struct tdmi_scalar_use {
    uint8_t parameter, type;
} tdmi_scalar_use;

/* A parameter, as the kernel keeps it. */
typedef struct tdmi_parameter {
    char name[TDMI_MOST_NAME + 1];
    tdm_parameter_kind kind;
    int dtype; /* TDM_ANY_DTYPE until it is known */
} tdmi_parameter;

typedef struct tdmi_output {
    uint8_t tensor;
    int16_t node;
} tdmi_output;

/* The texts of a kernel: statements or, of rows, a value for each element, for each row and, if any, for each
 * element again. */
typedef struct tdmi_texts {
    const char *statements; /* NULL: of rows */
    const char *map, *finish, *apply;
    tdm_combine combine;
} tdmi_texts;

/* A parsed text. Tensors are numbered in the order of the parameters. */
typedef struct tdmi_expression {
    int tensor_count, node_count, scalar_count, output_count;
    uint8_t dtypes[TDM_KERNEL_MAX_TENSORS];
    bool is_read[TDM_KERNEL_MAX_TENSORS], is_written[TDM_KERNEL_MAX_TENSORS];
    bool has_index; /* or row, or column */
    bool has_rows, has_apply;
    uint8_t combine; /* of rows: the function that combines two values */
    int16_t mapped;  /* the node that is combined */
    uint8_t
        arithmetic; /* TDM_TYPE_F32 or TDM_TYPE_F64: what integers become where a function takes floats */
    tdmi_scalar_use scalars[TDM_KERNEL_MAX_SCALARS];
    tdmi_output outputs[TDM_KERNEL_MAX_TENSORS];
    tdmi_node
        nodes[TDMI_MOST_NODES]; /* in an order in which each comes after those that it is made of */
} tdmi_expression;

/* statements.c: reads the texts for parameters whose dtypes are known. Fails with a sentence that begins with
 * `function`; *is_typing then says that only a rule of types was broken, which other dtypes may not do. */
tdm_status tdmi_expression_read(const char *function, const tdmi_texts *texts,
                                const tdmi_parameter *parameters, int count,
                                tdmi_expression *expression, bool *is_typing) TDM_MUST_USE;

/* tokens.c: whether a parameter may have this name; if not, why not. */
const char *tdmi_name_fault(const char *name, bool of_rows);

/* The type of an element of the dtype, the dtype as which a type is stored, the type's name, a function's name. */
uint8_t tdmi_type_of(tdm_dtype dtype);
tdm_dtype tdmi_type_dtype(uint8_t type);
const char *tdmi_type_name(uint8_t type);
const char *tdmi_function_name(uint8_t function);
int tdmi_function_arity(uint8_t function);

/* The value that combining by the function, as `combine` above, begins with, in the low bytes. */
uint64_t tdmi_combine_start(uint8_t function, uint8_t type);

/* A number as a value of the type, in the low bytes, as a scalar argument or in the text. */
uint64_t tdmi_number_bits(uint8_t type, double number);
uint64_t tdmi_integer_bits(uint8_t type, int64_t integer);

/* ---- between parse.c and values.c ---- */

/* The value of a part of the text: a node, or a number that takes the type of the other operand. */
typedef enum tdmi_value_kind {
    TDMI_VALUE_NODE,
    TDMI_VALUE_LITERAL,
    TDMI_VALUE_PARAMETER
} tdmi_value_kind;

typedef struct tdmi_value {
    tdmi_value_kind kind;
    bool is_float; /* not a node: a number with a point, or a double */
    int node;      /* or the parameter's number */
    double number; /* a literal's, if it is_float */
    int64_t integer;
} tdmi_value;

/* Reading under way. */
typedef struct tdmi_reading {
    tdmi_expression *to;
    char fault[256]; /* the first fault; "" while there is none */
    bool is_typing;
} tdmi_reading;

/* Sets the fault, once. Returns false. */
bool tdmi_reading_fail(tdmi_reading *reading, bool is_typing, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* All return false when the reading has failed. */
bool tdmi_element_value(tdmi_reading *reading, int tensor, tdmi_value *value);
bool tdmi_index_value(tdmi_reading *reading, tdmi_node_kind kind, tdmi_value *value);
bool tdmi_combined_value(tdmi_reading *reading, const tdmi_value *mapped, tdm_combine combine,
                         tdmi_value *value);
bool tdmi_call_value(tdmi_reading *reading, int function, const tdmi_value operands[3],
                     tdmi_value *value);
/* The node of a value as a type, converted where it has another. */
bool tdmi_value_as(tdmi_reading *reading, const tdmi_value *value, uint8_t type, int *node);
/* The node of what an output of the dtype is given. */
bool tdmi_value_for(tdmi_reading *reading, const tdmi_value *value, tdm_dtype dtype, int *node);

#endif

/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* The rules of types: which one two values meet in, what functions take and give, numbers as values. A value that
 * is computed twice is one node. */
#include "user_kernels/expression.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/dtype.h"
#include "base/text.h"

static const struct {
    const char *name;
    tdm_dtype dtype;
} types[] = {
#define TYPE_ROW(NAME, name, dtype) {#name, TDM_##dtype},
    TDM_TYPE_LIST(TYPE_ROW)};

/* Classes of functions, as masks of types. */
#define TYPE_BIT(unused, type) | 1u << TYPE_##type
enum {
#define SHORT_NAMES(NAME, name, dtype) NAME = TDM_TYPE_##NAME, TYPE_##name = TDM_TYPE_##NAME,
    TDM_TYPE_LIST(SHORT_NAMES) TYPE_truth = BOOL,
    SAME = TDM_TYPE_COUNT,
    CLASS_FLOAT = 0 TDM_TYPES_FLOAT(TYPE_BIT, ),
    CLASS_INTEGER = 0 TDM_TYPES_INTEGER(TYPE_BIT, ),
    CLASS_NUMBER = 0 TDM_TYPES_NUMBER(TYPE_BIT, ),
    CLASS_BITS = 0 TDM_TYPES_BITS(TYPE_BIT, ),
    CLASS_ANY = 0 TDM_TYPES_ANY(TYPE_BIT, )
};

static const struct {
    const char *name;
    uint8_t arity, classes, result;
} functions[] = {
#define FUNCTION_ROW(NAME, name, arity, class, result) {#name, arity, CLASS_##class, result},
    TDM_FUNCTION_LIST(FUNCTION_ROW)};

tdm_dtype tdmi_type_dtype(uint8_t type) { return types[type].dtype; }
const char *tdmi_type_name(uint8_t type) { return types[type].name; }
const char *tdmi_function_name(uint8_t function) { return functions[function].name; }
int tdmi_function_arity(uint8_t function) { return functions[function].arity; }

uint8_t tdmi_type_of(tdm_dtype dtype) {
    const tdmi_dtype_kind kind = tdmi_dtype_kind_of(dtype);
    const size_t size = tdm_dtype_size(dtype);
    if (kind == TDMI_KIND_BOOL) return BOOL;
    if (kind == TDMI_KIND_FLOAT) return size == 8 ? F64 : F32;
    if (size == 8) return kind == TDMI_KIND_SIGNED ? I64 : U64;
    return kind == TDMI_KIND_UNSIGNED && size == 4 ? U32 : I32;
}

bool tdmi_reading_fail(tdmi_reading *reading, bool is_typing, const char *format, ...) {
    if (reading->fault[0]) return false;
    va_list arguments;
    va_start(arguments, format);
    tdmi_print_list(reading->fault, sizeof reading->fault, format, arguments);
    va_end(arguments);
    reading->is_typing = is_typing;
    return false;
}

/* ---- nodes ---- */

static bool add_node(tdmi_reading *reading, const tdmi_node *node, int *number) {
    tdmi_expression *to = reading->to;
    for (int i = 0; i < to->node_count; i++) {
        const tdmi_node *other = &to->nodes[i];
        if (other->kind == node->kind && other->number == node->number &&
            other->type == node->type && other->of == node->of && other->bits == node->bits &&
            memcmp(other->from, node->from, sizeof node->from) == 0) {
            *number = i;
            return true;
        }
    }
    if (to->node_count == TDMI_MOST_NODES)
        return tdmi_reading_fail(reading, false,
                                 "there are more than %d operations in this text; make two kernels "
                                 "of it",
                                 (int)TDMI_MOST_NODES);
    *number = to->node_count;
    to->nodes[to->node_count++] = *node;
    return true;
}

static bool node_value(tdmi_reading *reading, const tdmi_node *node, tdmi_value *value) {
    *value = (tdmi_value){.kind = TDMI_VALUE_NODE};
    return add_node(reading, node, &value->node);
}

bool tdmi_element_value(tdmi_reading *reading, int tensor, tdmi_value *value) {
    const tdmi_node node = {.kind = TDMI_NODE_ELEMENT,
                            .number = (uint8_t)tensor,
                            .type = tdmi_type_of((tdm_dtype)reading->to->dtypes[tensor])};
    reading->to->is_read[tensor] = true;
    return node_value(reading, &node, value);
}

/* The value that combining begins with, which changes nothing. */
uint64_t tdmi_combine_start(uint8_t function, uint8_t type) {
    const bool largest = function == TDM_FUNCTION_MIN;
    switch (function) {
    case TDM_FUNCTION_ADD:
        return tdmi_integer_bits(type, 0);
    case TDM_FUNCTION_MUL:
        return tdmi_integer_bits(type, 1);
    default:
        break;
    }
    switch (type) {
    case F64:
    case F32:
        return tdmi_number_bits(type, largest ? INFINITY : -INFINITY);
    case I64:
        return (uint64_t)(largest ? INT64_MAX : INT64_MIN);
    case U64:
        return largest ? UINT64_MAX : 0;
    case U32:
        return largest ? UINT32_MAX : 0;
    default:
        return (uint32_t)(largest ? INT32_MAX : INT32_MIN);
    }
}

bool tdmi_index_value(tdmi_reading *reading, tdmi_node_kind kind, tdmi_value *value) {
    reading->to->has_index = true;
    const tdmi_node node = {.kind = (uint8_t)kind, .type = I64};
    return node_value(reading, &node, value);
}

/* ---- numbers ---- */

uint64_t tdmi_number_bits(uint8_t type, double number) {
    return tdmi_element_bits(type == F64 ? TDM_F64 : TDM_F32, number);
}

uint64_t tdmi_integer_bits(uint8_t type, int64_t integer) {
    switch (type) {
    case F64:
        return tdmi_number_bits(F64, (double)integer);
    case F32: /* rounded once */
        return tdmi_number_bits(F32, (double)(float)integer);
    case BOOL:
        return integer != 0;
    case I32:
    case U32:
        return (uint32_t)integer;
    default:
        return (uint64_t)integer;
    }
}

static bool fits(uint8_t type, int64_t integer) {
    switch (type) {
    case I32:
        return integer >= INT32_MIN && integer <= INT32_MAX;
    case U32:
        return integer >= 0 && integer <= UINT32_MAX;
    case U64:
        return integer >= 0;
    default:
        return true;
    }
}

static bool is_float_type(uint8_t type) { return type == F32 || type == F64; }

/* A number as the integer or bool that a cast of f64 makes of it; false where it is out of range. */
static bool cast_number(uint8_t type, double number, uint64_t *bits) {
    const bool in_range = type == U64
                              ? number > -1 && number < 0x1p64
                              : number >= -0x1p63 && number < 0x1p63 && fits(type, (int64_t)number);
    if (type == BOOL)
        *bits = number != 0;
    else if (in_range)
        *bits = type == U64 ? (uint64_t)number : tdmi_integer_bits(type, (int64_t)number);
    return type == BOOL || in_range;
}

static bool literal_as(tdmi_reading *reading, const tdmi_value *value, uint8_t type, int *node) {
    if (!value->is_float && !fits(type, value->integer))
        return tdmi_reading_fail(reading, true, "%lld does not fit %s", (long long)value->integer,
                                 types[type].name);
    const tdmi_node made = {.kind = TDMI_NODE_CONSTANT,
                            .type = type,
                            .bits = value->is_float ? tdmi_number_bits(type, value->number)
                                                    : tdmi_integer_bits(type, value->integer)};
    return add_node(reading, &made, node);
}

/* The argument is converted on the host: each type that is needed is another scalar of the kernel. */
static bool parameter_as(tdmi_reading *reading, const tdmi_value *value, uint8_t type, int *node) {
    tdmi_expression *to = reading->to;
    int i = 0;
    while (i < to->scalar_count &&
           (to->scalars[i].parameter != value->node || to->scalars[i].type != type))
        i++;
    if (i == TDM_KERNEL_MAX_SCALARS)
        return tdmi_reading_fail(reading, false,
                                 "a kernel has %d scalars at most, counted once for each type that "
                                 "they are used as",
                                 TDM_KERNEL_MAX_SCALARS);
    if (i == to->scalar_count)
        to->scalars[to->scalar_count++] = (tdmi_scalar_use){(uint8_t)value->node, type};
    const tdmi_node made = {.kind = TDMI_NODE_SCALAR, .number = (uint8_t)i, .type = type};
    return add_node(reading, &made, node);
}

/* The type that a value has, or takes when it meets nothing. */
static uint8_t own_type(const tdmi_reading *reading, const tdmi_value *value) {
    if (value->kind == TDMI_VALUE_NODE) return reading->to->nodes[value->node].type;
    if (value->is_float) return reading->to->arithmetic;
    return value->kind == TDMI_VALUE_LITERAL && fits(I32, value->integer) ? I32 : I64;
}

static bool convert(tdmi_reading *reading, int node, uint8_t type, int *converted) {
    static const uint8_t conversions[] = {
        TDM_FUNCTION_TO_BOOL, TDM_FUNCTION_TO_I32, TDM_FUNCTION_TO_U32, TDM_FUNCTION_TO_I64,
        TDM_FUNCTION_TO_U64,  TDM_FUNCTION_TO_F32, TDM_FUNCTION_TO_F64};
    _Static_assert(sizeof conversions == TDM_TYPE_COUNT, "a conversion to each type");
    const uint8_t from = reading->to->nodes[node].type;
    *converted = node;
    if (from == type) return true;
    const tdmi_node made = {.kind = TDMI_NODE_FUNCTION,
                            .number = conversions[type],
                            .type = type,
                            .of = from,
                            .from = {(int16_t)node, 0, 0}};
    return add_node(reading, &made, converted);
}

bool tdmi_value_as(tdmi_reading *reading, const tdmi_value *value, uint8_t type, int *node) {
    int own;
    if (value->kind == TDMI_VALUE_NODE) return convert(reading, value->node, type, node);
    /* a float that becomes an integer does so as a cast would, not before it is one */
    const bool is_cast = value->is_float && !is_float_type(type);
    tdmi_node cast = {.kind = TDMI_NODE_CONSTANT, .type = type};
    if (is_cast && value->kind == TDMI_VALUE_LITERAL &&
        cast_number(type, value->number, &cast.bits))
        return add_node(reading, &cast, node);
    const uint8_t first = is_cast                            ? reading->to->arithmetic
                          : !value->is_float && type == BOOL ? own_type(reading, value)
                                                             : type;
    const bool done = value->kind == TDMI_VALUE_LITERAL ? literal_as(reading, value, first, &own)
                                                        : parameter_as(reading, value, first, &own);
    return done && convert(reading, own, type, node);
}

bool tdmi_combined_value(tdmi_reading *reading, const tdmi_value *mapped, tdm_combine combine,
                         tdmi_value *value) {
    static const uint8_t by[] = {[TDM_SUM] = TDM_FUNCTION_ADD,
                                 [TDM_PRODUCT] = TDM_FUNCTION_MUL,
                                 [TDM_MAX] = TDM_FUNCTION_MAX,
                                 [TDM_MIN] = TDM_FUNCTION_MIN};
    _Static_assert(sizeof by == TDM_COMBINE_COUNT, "a function for each");
    const uint8_t own = own_type(reading, mapped), type = own == BOOL ? I32 : own;
    int node;
    if (!tdmi_value_as(reading, mapped, type, &node)) return false;
    reading->to->combine = by[combine];
    reading->to->mapped = (int16_t)node;
    const tdmi_node combined = {.kind = TDMI_NODE_COMBINED, .type = type, .of = type};
    return node_value(reading, &combined, value);
}

bool tdmi_value_for(tdmi_reading *reading, const tdmi_value *value, tdm_dtype dtype, int *node) {
    const uint8_t wanted = tdmi_type_of(dtype);
    if (value->kind == TDMI_VALUE_NODE) {
        *node = value->node;
        return true;
    }
    const bool becomes_integer = value->is_float && !is_float_type(wanted);
    return tdmi_value_as(reading, value, becomes_integer ? reading->to->arithmetic : wanted, node);
}

/* ---- functions ---- */

/* The type in which two meet; TDM_TYPE_COUNT when there is none. */
static uint8_t common_type(uint8_t a, uint8_t b) {
    if (a == b) return a;
    const uint8_t high = a > b ? a : b, low = a > b ? b : a;
    if (is_float_type(high)) return high;
    if (high == U64) return low == BOOL || low == U32 ? U64 : TDM_TYPE_COUNT;
    if (high == U32 && low == I32) return I64;
    return high;
}

/* The type in which operands meet, with `wanted`, a mask of what they may be. */
static bool meet(tdmi_reading *reading, const char *name, const tdmi_value *operands, int count,
                 unsigned wanted, uint8_t *type) {
    const uint8_t arithmetic = reading->to->arithmetic;
    uint8_t met = TDM_TYPE_COUNT;
    bool has_float = false, all_weak = true;
    for (int i = 0; i < count; i++) {
        has_float = has_float || (operands[i].kind != TDMI_VALUE_NODE && operands[i].is_float);
        if (operands[i].kind != TDMI_VALUE_NODE) continue;
        const uint8_t own = own_type(reading, &operands[i]);
        const uint8_t before = met;
        met = all_weak ? own : common_type(met, own);
        all_weak = false;
        if (met == TDM_TYPE_COUNT)
            return tdmi_reading_fail(
                reading, true,
                "%s and %s have no common type; convert one, as by i64(), u64() "
                "or f64()",
                types[before].name, types[own].name);
    }
    for (int i = 0; all_weak && i < count; i++) {
        const uint8_t own = own_type(reading, &operands[i]);
        met = met == TDM_TYPE_COUNT ? own : common_type(met, own);
    }
    if (has_float && !is_float_type(met)) met = arithmetic;
    for (int i = 0; i < count; i++) /* an integer in the text makes an i32 of a bool */
        if (met == BOOL && operands[i].kind != TDMI_VALUE_NODE) met = I32;
    if (!(wanted >> met & 1) && wanted == CLASS_FLOAT) met = arithmetic;
    if (!(wanted >> met & 1) && met == BOOL && (wanted >> I32 & 1)) met = I32;
    if (!(wanted >> met & 1))
        return tdmi_reading_fail(reading, true, "%s does not take %s%s", name, types[met].name,
                                 strcmp(name, "^") == 0 ? "; a power is pow(x, y)" : "");
    *type = met;
    return true;
}

/* As the text has it. */
static const char *sign_or_name(int function) {
    static const char *const signs[] = {
        [TDM_FUNCTION_ADD] = "+", [TDM_FUNCTION_SUB] = "-",  [TDM_FUNCTION_MUL] = "*",
        [TDM_FUNCTION_DIV] = "/", [TDM_FUNCTION_REM] = "%",  [TDM_FUNCTION_NEG] = "-",
        [TDM_FUNCTION_AND] = "&", [TDM_FUNCTION_OR] = "|",   [TDM_FUNCTION_XOR] = "^",
        [TDM_FUNCTION_NOT] = "~", [TDM_FUNCTION_SHL] = "<<", [TDM_FUNCTION_SHR] = ">>",
        [TDM_FUNCTION_EQ] = "==", [TDM_FUNCTION_NE] = "!=",  [TDM_FUNCTION_LT] = "<",
        [TDM_FUNCTION_LE] = "<=", [TDM_FUNCTION_GT] = ">",   [TDM_FUNCTION_GE] = ">="};
    return function < TDM_FUNCTION_WHERE ? signs[function] : functions[function].name;
}

bool tdmi_call_value(tdmi_reading *reading, int function, const tdmi_value operands[3],
                     tdmi_value *value) {
    const int arity = functions[function].arity;
    const int first = function == TDM_FUNCTION_WHERE ? 1 : 0;
    uint8_t type = 0;
    const bool converts = function >= TDM_FUNCTION_TO_BOOL && function <= TDM_FUNCTION_TO_F64;
    if (converts && operands[0].kind != TDMI_VALUE_NODE && operands[0].is_float) {
        /* not by way of what it is in arithmetic, which may be f32 */
        *value = (tdmi_value){.kind = TDMI_VALUE_NODE};
        return tdmi_value_as(reading, &operands[0], functions[function].result, &value->node);
    }
    if (!meet(reading, sign_or_name(function), operands + first, arity - first,
              functions[function].classes, &type))
        return false;
    const uint8_t result = functions[function].result;
    tdmi_node node = {.kind = TDMI_NODE_FUNCTION,
                      .number = (uint8_t)function,
                      .type = result == SAME ? type : result,
                      .of = type};
    for (int i = 0; i < arity; i++) {
        int from;
        if (!tdmi_value_as(reading, &operands[i], i < first ? BOOL : type, &from)) return false;
        node.from[i] = (int16_t)from;
    }
    return node_value(reading, &node, value);
}

/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* Reads the text of an expression. */
#include "kernels/expression.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "kernels/tokens.h"
#include "machine/text.h"
#include "memory.h"

enum { MOST_DEPTH = 64, MOST_NAMES = 64 };

/* A name that the text has given a value. */
typedef struct variable {
    const char *name;
    size_t length;
    tdmi_value value;
} variable;

typedef struct parser {
    tdmi_reading reading;
    tdmi_scanner scanner;
    tdmi_token now;
    int depth;
    const tdmi_parameter *parameters;
    int parameter_count;
    bool is_used[TDMI_MOST_PARAMETERS];
    variable variables[MOST_NAMES];
    int variable_count;
    const char *fault_at; /* NULL: at the token */
} parser;

static bool fail_at(parser *self, const char *at) {
    if (!self->fault_at) self->fault_at = at;
    return false;
}

#define FAIL(self, ...)                                                                            \
    (fail_at(self, (self)->now.text), tdmi_reading_fail(&(self)->reading, false, __VA_ARGS__))

static bool next(parser *self) {
    self->now = tdmi_next_token(&self->scanner);
    const char sign = *self->now.text;
    if (self->now.kind == TDMI_TOKEN_BAD_NUMBER) return FAIL(self, "this is no number");
    if (self->now.kind != TDMI_TOKEN_BAD_SIGN) return true;
    if (sign > ' ' && sign < 0x7f) return FAIL(self, "'%c' means nothing here", sign);
    return FAIL(self, "a character that means nothing here");
}

static bool is_sign(const parser *self, const char *sign) {
    return self->now.kind == TDMI_TOKEN_OPERATOR && strlen(sign) == self->now.length &&
           memcmp(sign, self->now.text, self->now.length) == 0;
}

/* What stands there, for messages. */
static const char *seen(const parser *self, char text[32]) {
    if (self->now.kind == TDMI_TOKEN_END) return "the end of the text";
    if (self->now.kind == TDMI_TOKEN_BREAK) return "the end of the statement";
    const int length = self->now.length < 24 ? (int)self->now.length : 24;
    snprintf(text, 32, "'%.*s'", length, self->now.text);
    return text;
}

static bool expect(parser *self, const char *sign) {
    char text[32];
    if (is_sign(self, sign)) return next(self);
    return FAIL(self, "'%s' should stand here, not %s", sign, seen(self, text));
}

/* ---- numbers ---- */

static bool read_integer(parser *self, tdmi_value *value) {
    const char *text = self->now.text;
    const bool hex = self->now.length > 1 && (text[1] == 'x' || text[1] == 'X');
    uint64_t number = 0, base = hex ? 16 : 10;
    if (hex && self->now.length == 2) return FAIL(self, "this is no number");
    for (size_t i = hex ? 2 : 0; i < self->now.length; i++) {
        const char c = text[i];
        const uint64_t digit =
            c >= '0' && c <= '9' ? (uint64_t)(c - '0') : (uint64_t)((c | 32) - 'a') + 10;
        if (number > (INT64_MAX - digit) / base)
            return FAIL(self,
                        "the number is too large; the largest integer is 9223372036854775807");
        number = number * base + digit;
    }
    *value = (tdmi_value){.kind = TDMI_VALUE_LITERAL, .integer = (int64_t)number};
    return true;
}

static bool read_number(parser *self, tdmi_value *value) {
    const char *end;
    const bool hex = self->now.length > 1 && (self->now.text[1] | 32) == 'x';
    if (hex || !memchr(self->now.text, '.', self->now.length)) {
        bool whole = true;
        for (size_t i = 0; i < self->now.length && !hex; i++)
            whole = whole && self->now.text[i] >= '0' && self->now.text[i] <= '9';
        if (whole) return read_integer(self, value);
    }
    *value = (tdmi_value){.kind = TDMI_VALUE_LITERAL, .is_float = true};
    value->number = tdmi_read_number(self->now.text, &end);
    if (isinf(value->number)) return FAIL(self, "the number is too large for f64");
    return true;
}

static double as_double(const tdmi_value *value) {
    return value->is_float ? value->number : (double)value->integer;
}

/* Two literals are one. False where they are to be computed as values: what overflows wraps as they do. */
static bool fold(int function, const tdmi_value *a, const tdmi_value *b, tdmi_value *value) {
    if (a->kind != TDMI_VALUE_LITERAL || b->kind != TDMI_VALUE_LITERAL) return false;
    *value = (tdmi_value){.kind = TDMI_VALUE_LITERAL, .is_float = a->is_float || b->is_float};
    const double x = as_double(a), y = as_double(b);
    int64_t *integer = &value->integer;
    switch (function) {
    case TDM_FUNCTION_ADD:
        value->number = x + y;
        return value->is_float || !__builtin_add_overflow(a->integer, b->integer, integer);
    case TDM_FUNCTION_SUB:
        value->number = x - y;
        return value->is_float || !__builtin_sub_overflow(a->integer, b->integer, integer);
    case TDM_FUNCTION_MUL:
        value->number = x * y;
        return value->is_float || !__builtin_mul_overflow(a->integer, b->integer, integer);
    case TDM_FUNCTION_DIV:
        value->number = x / y;
        if (value->is_float) return true;
        if (b->integer == 0 || b->integer == -1) return false;
        *integer = a->integer / b->integer;
        return true;
    default:
        return false;
    }
}

static bool call(parser *self, const char *at, int function, const tdmi_value *operands,
                 tdmi_value *value) {
    tdmi_value given[3] = {{0}};
    memcpy(given, operands, (size_t)tdmi_function_arity((uint8_t)function) * sizeof *given);
    return tdmi_call_value(&self->reading, function, given, value) || fail_at(self, at);
}

/* ---- expressions ---- */

static bool read_choice(parser *self, tdmi_value *value);

static bool deeper(parser *self) {
    if (++self->depth <= MOST_DEPTH) return true;
    return FAIL(self, "this is nested too deep; give a part of it a name");
}

static bool read_arguments(parser *self, tdmi_value operands[3], int *count) {
    *count = 0;
    if (!expect(self, "(")) return false;
    while (!is_sign(self, ")")) {
        tdmi_value value;
        if (*count > 0 && !expect(self, ",")) return false;
        if (!read_choice(self, &value)) return false;
        if (*count < 3) operands[*count] = value;
        ++*count;
    }
    return next(self);
}

/* min(max(x, low), high) */
static bool read_clamp(parser *self, const char *at, const tdmi_value operands[3],
                       tdmi_value *value) {
    const tdmi_value bounded[2] = {operands[0], operands[1]};
    tdmi_value pair[2] = {{0}, operands[2]};
    return call(self, at, TDM_FUNCTION_MAX, bounded, &pair[0]) &&
           call(self, at, TDM_FUNCTION_MIN, pair, value);
}

static bool read_call(parser *self, tdmi_token name, int function, tdmi_value *value) {
    tdmi_value operands[3] = {{0}};
    const bool clamps = function < 0;
    int count;
    if (!read_arguments(self, operands, &count)) return false;
    const int wanted = clamps ? 3 : tdmi_function_arity((uint8_t)function);
    if (count != wanted) {
        self->now = name;
        return FAIL(self, "%.*s takes %d argument%s, not %d", (int)name.length, name.text, wanted,
                    wanted == 1 ? "" : "s", count);
    }
    if (clamps) return read_clamp(self, name.text, operands, value);
    const bool squares = function == TDM_FUNCTION_POW && operands[1].kind == TDMI_VALUE_LITERAL &&
                         as_double(&operands[1]) == 2 && operands[0].kind == TDMI_VALUE_NODE;
    if (squares) { /* as a product it is exact, and fast */
        const tdmi_value one = {.kind = TDMI_VALUE_LITERAL, .is_float = true, .number = 1};
        const tdmi_value floats[2] = {operands[0], one};
        tdmi_value factors[2];
        if (!call(self, name.text, TDM_FUNCTION_MUL, floats, &factors[0])) return false;
        factors[1] = factors[0];
        return call(self, name.text, TDM_FUNCTION_MUL, factors, value);
    }
    return call(self, name.text, function, operands, value);
}

static bool read_constant(parser *self, int which, tdmi_value *value) {
    static const double numbers[] = {3.14159265358979323846, INFINITY, NAN};
    *value = (tdmi_value){.kind = TDMI_VALUE_LITERAL, .is_float = which < 3};
    if (which < 3) {
        value->number = numbers[which];
        return true;
    }
    const tdmi_value literal = {.kind = TDMI_VALUE_LITERAL, .integer = which == 3};
    *value = (tdmi_value){.kind = TDMI_VALUE_NODE};
    return tdmi_value_as(&self->reading, &literal, TDM_TYPE_BOOL, &value->node);
}

/* index, or what it is of the last dimension's extent */
static bool read_place(parser *self, const char *at, int which, tdmi_value *value) {
    static const uint8_t functions[] = {TDM_FUNCTION_DIV, TDM_FUNCTION_REM};
    tdmi_value pair[2];
    if (!tdmi_index_value(&self->reading, TDMI_NODE_INDEX, &pair[0]) ||
        !tdmi_index_value(&self->reading, TDMI_NODE_EXTENT, &pair[1]))
        return fail_at(self, at);
    *value = pair[0];
    return which == 0 || call(self, at, functions[which - 1], pair, value);
}

static bool unknown_name(parser *self, tdmi_token name, bool is_call) {
    const char *others[TDMI_MOST_PARAMETERS];
    char word[TDMI_MOST_NAME + 1];
    for (int i = 0; i < self->parameter_count; i++)
        others[i] = self->parameters[i].name;
    const size_t length = name.length < sizeof word ? name.length : sizeof word - 1;
    memcpy(word, name.text, length);
    word[length] = '\0';
    self->now = name;
    return FAIL(self, "there is no %s \"%s\"; did you mean \"%s\"?", is_call ? "function" : "name",
                word, tdmi_nearest_name(word, is_call, others, (size_t)self->parameter_count));
}

static int find_parameter(const parser *self, tdmi_token name) {
    for (int i = 0; i < self->parameter_count; i++)
        if (strlen(self->parameters[i].name) == name.length &&
            memcmp(self->parameters[i].name, name.text, name.length) == 0)
            return i;
    return -1;
}

static const variable *find_variable(const parser *self, tdmi_token name) {
    for (int i = 0; i < self->variable_count; i++)
        if (self->variables[i].length == name.length &&
            memcmp(self->variables[i].name, name.text, name.length) == 0)
            return &self->variables[i];
    return NULL;
}

/* The number of a tensor among the tensors. */
static int tensor_number(const parser *self, int parameter) {
    int number = 0;
    for (int i = 0; i < parameter; i++)
        number += self->parameters[i].kind == TDM_PARAMETER_TENSOR;
    return number;
}

static bool read_name(parser *self, tdmi_value *value) {
    const tdmi_token name = self->now;
    int number;
    if (!next(self)) return false;
    const int own = tdmi_find_own_name(&name, &number);
    const bool is_function = own == TDMI_OWN_FUNCTION || own == TDMI_OWN_CLAMP;
    if (is_sign(self, "("))
        return is_function ? read_call(self, name, own == TDMI_OWN_CLAMP ? -1 : number, value)
                           : unknown_name(self, name, true);
    if (own == TDMI_OWN_CONSTANT) return read_constant(self, number, value);
    if (own == TDMI_OWN_PLACE) return read_place(self, name.text, number, value);
    const variable *known = find_variable(self, name);
    const int parameter = find_parameter(self, name);
    if (parameter >= 0) self->is_used[parameter] = true;
    if (known) {
        *value = known->value;
        return true;
    }
    if (parameter < 0) return unknown_name(self, name, false);
    const tdm_parameter_kind kind = self->parameters[parameter].kind;
    *value = (tdmi_value){
        .kind = TDMI_VALUE_PARAMETER, .is_float = kind == TDM_PARAMETER_NUMBER, .node = parameter};
    return kind != TDM_PARAMETER_TENSOR ||
           tdmi_element_value(&self->reading, tensor_number(self, parameter), value) ||
           fail_at(self, name.text);
}

static bool read_operand(parser *self, tdmi_value *value) {
    char text[32];
    if (self->now.kind == TDMI_TOKEN_NAME) return read_name(self, value);
    if (self->now.kind == TDMI_TOKEN_NUMBER) return read_number(self, value) && next(self);
    if (!is_sign(self, "("))
        return FAIL(self, "a value should stand here, not %s", seen(self, text));
    return next(self) && read_choice(self, value) && expect(self, ")");
}

static bool read_unary(parser *self, tdmi_value *value) {
    const tdmi_token sign = self->now;
    int function = -1;
    if (is_sign(self, "-")) function = TDM_FUNCTION_NEG;
    if (is_sign(self, "~")) function = TDM_FUNCTION_NOT;
    if (is_sign(self, "!")) function = TDM_FUNCTION_TO_BOOL; /* and then not */
    if (function < 0 && !is_sign(self, "+")) return read_operand(self, value);
    tdmi_value operand, truth;
    if (!deeper(self) || !next(self) || !read_unary(self, &operand)) return false;
    self->depth--;
    *value = operand;
    if (function == TDM_FUNCTION_NEG && operand.kind == TDMI_VALUE_LITERAL) {
        value->number = -operand.number;
        value->integer = (int64_t)(0 - (uint64_t)operand.integer); /* the least one wraps */
        return true;
    }
    if (function == TDM_FUNCTION_TO_BOOL)
        return call(self, sign.text, TDM_FUNCTION_TO_BOOL, &operand, &truth) &&
               call(self, sign.text, TDM_FUNCTION_NOT, &truth, value);
    return function < 0 || call(self, sign.text, function, &operand, value);
}

/* Binary operators, those that bind least first, as in C. */
static const struct {
    const char *sign;
    int level, function;
} operators[] = {
    {"||", 1, TDM_FUNCTION_OR},  {"&&", 2, TDM_FUNCTION_AND}, {"|", 3, TDM_FUNCTION_OR},
    {"^", 4, TDM_FUNCTION_XOR},  {"&", 5, TDM_FUNCTION_AND},  {"==", 6, TDM_FUNCTION_EQ},
    {"!=", 6, TDM_FUNCTION_NE},  {"<", 7, TDM_FUNCTION_LT},   {"<=", 7, TDM_FUNCTION_LE},
    {">", 7, TDM_FUNCTION_GT},   {">=", 7, TDM_FUNCTION_GE},  {"<<", 8, TDM_FUNCTION_SHL},
    {">>", 8, TDM_FUNCTION_SHR}, {"+", 9, TDM_FUNCTION_ADD},  {"-", 9, TDM_FUNCTION_SUB},
    {"*", 10, TDM_FUNCTION_MUL}, {"/", 10, TDM_FUNCTION_DIV}, {"%", 10, TDM_FUNCTION_REM}};
enum { LEVELS_OF_TRUTH = 2 };

static int find_operator(const parser *self, int least) {
    for (size_t i = 0; i < TDMI_COUNT(operators); i++)
        if (operators[i].level >= least && is_sign(self, operators[i].sign)) return (int)i;
    return -1;
}

static bool combine(parser *self, const char *at, int which, const tdmi_value operands[2],
                    tdmi_value *value) {
    const int function = operators[which].function;
    if (fold(function, &operands[0], &operands[1], value)) return true;
    if (operators[which].level > LEVELS_OF_TRUTH) return call(self, at, function, operands, value);
    tdmi_value truths[2];
    return call(self, at, TDM_FUNCTION_TO_BOOL, &operands[0], &truths[0]) &&
           call(self, at, TDM_FUNCTION_TO_BOOL, &operands[1], &truths[1]) &&
           call(self, at, function, truths, value);
}

static bool read_binary(parser *self, int least, tdmi_value *value) {
    if (!deeper(self) || !read_unary(self, value)) return false;
    for (int which; (which = find_operator(self, least)) >= 0;) {
        const char *at = self->now.text;
        tdmi_value operands[2] = {*value, {0}};
        if (!next(self) || !read_binary(self, operators[which].level + 1, &operands[1]) ||
            !combine(self, at, which, operands, value))
            return false;
    }
    self->depth--;
    return true;
}

static bool read_choice(parser *self, tdmi_value *value) {
    tdmi_value operands[3];
    if (!deeper(self) || !read_binary(self, 1, &operands[0])) return false;
    const char *at = self->now.text;
    if (is_sign(self, "?")) {
        if (!next(self) || !read_choice(self, &operands[1]) || !expect(self, ":") ||
            !read_choice(self, &operands[2]) ||
            !call(self, at, TDM_FUNCTION_WHERE, operands, value))
            return false;
    } else {
        *value = operands[0];
    }
    self->depth--;
    return true;
}

/* ---- statements ---- */

static bool assign(parser *self, tdmi_token name, const tdmi_value *value) {
    tdmi_expression *to = self->reading.to;
    const int parameter = find_parameter(self, name);
    self->now = name;
    int number;
    if (tdmi_find_own_name(&name, &number) >= 0)
        return FAIL(self, "%.*s is a name of the language's own", (int)name.length, name.text);
    if (name.length > TDMI_MOST_NAME)
        return FAIL(self, "a name has %d characters at most", (int)TDMI_MOST_NAME);
    if (find_variable(self, name))
        return FAIL(self, "%.*s has a value already", (int)name.length, name.text);
    if (parameter >= 0 && self->parameters[parameter].kind != TDM_PARAMETER_TENSOR)
        return FAIL(self, "%.*s is a scalar: only a tensor is given values", (int)name.length,
                    name.text);
    if (self->variable_count == MOST_NAMES)
        return FAIL(self, "a text gives values to %d names at most", MOST_NAMES);
    self->variables[self->variable_count++] = (variable){name.text, name.length, *value};
    if (parameter < 0) return true;
    const int tensor = tensor_number(self, parameter);
    int node;
    self->is_used[parameter] = true;
    if (!tdmi_value_for(&self->reading, value, (tdm_dtype)to->dtypes[tensor], &node))
        return fail_at(self, name.text);
    to->is_written[tensor] = true;
    to->outputs[to->output_count++] = (tdmi_output){(uint8_t)tensor, (int16_t)node};
    return true;
}

static bool read_statement(parser *self) {
    char text[32];
    const tdmi_token name = self->now;
    tdmi_value value;
    if (name.kind != TDMI_TOKEN_NAME)
        return FAIL(self, "a statement begins with the name that it gives a value, not with %s",
                    seen(self, text));
    if (!next(self) || !expect(self, "=") || !read_choice(self, &value)) return false;
    if (self->now.kind != TDMI_TOKEN_BREAK && self->now.kind != TDMI_TOKEN_END)
        return FAIL(self, "the statement should end here, not go on with %s", seen(self, text));
    const tdmi_token behind = self->now;
    if (!assign(self, name, &value)) return false;
    self->now = behind;
    return true;
}

static bool read_text(parser *self) {
    if (!next(self)) return false;
    while (self->now.kind != TDMI_TOKEN_END) {
        if (self->now.kind != TDMI_TOKEN_BREAK && !read_statement(self)) return false;
        if (self->now.kind == TDMI_TOKEN_BREAK && !next(self)) return false;
    }
    if (self->reading.to->output_count == 0)
        return FAIL(self, "no tensor is given a value, as y is by \"y = x\"");
    for (int i = 0; i < self->parameter_count; i++)
        if (!self->is_used[i])
            return FAIL(self, "the parameter %s is not used", self->parameters[i].name);
    return true;
}

/* Where it is, counted from 1, in characters. */
static void place_of(const char *start, const char *at, int *line, int *column) {
    *line = *column = 1;
    for (const char *c = start; c < at; c++) {
        if (*c == '\n') {
            ++*line;
            *column = 1;
        } else if ((*c & 0xc0) != 0x80) {
            ++*column;
        }
    }
}

static void begin(parser *self, const char *text, const tdmi_parameter *parameters, int count,
                  tdmi_expression *expression) {
    memset(expression, 0, sizeof *expression);
    expression->arithmetic = TDM_TYPE_F32;
    for (int i = 0; i < count; i++) {
        if (parameters[i].kind != TDM_PARAMETER_TENSOR) continue;
        if (parameters[i].dtype == TDM_F64) expression->arithmetic = TDM_TYPE_F64;
        expression->dtypes[expression->tensor_count++] = (uint8_t)parameters[i].dtype;
    }
    self->reading.to = expression;
    self->scanner.at = text;
    self->parameters = parameters;
    self->parameter_count = count;
}

tdm_status tdmi_expression_read(const char *function, const char *text,
                                const tdmi_parameter *parameters, int count,
                                tdmi_expression *expression, bool *is_typing) {
    parser *self = tdmi_calloc(1, sizeof *self);
    tdm_status status = TDM_OK;
    *is_typing = false;
    if (!self) return tdmi_fail(TDM_ERROR_OUT_OF_MEMORY, "%s: out of host memory", function);
    begin(self, text, parameters, count, expression);
    if (!read_text(self)) {
        int line, column;
        *is_typing = self->reading.is_typing;
        place_of(text, self->fault_at ? self->fault_at : self->now.text, &line, &column);
        status = tdmi_fail(TDM_ERROR_COMPILE, "%s: line %d, column %d: %s", function, line, column,
                           self->reading.fault);
    }
    tdmi_free(self);
    return status;
}

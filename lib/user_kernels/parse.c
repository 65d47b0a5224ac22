/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* Reads a value: operators, calls, names and numbers. */
#include "user_kernels/parser.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/text.h"

enum { MOST_DEPTH = 64 };

bool tdmi_fail_at(tdmi_parser *self, const char *at) {
    if (!self->fault_at) self->fault_at = at;
    return false;
}

bool tdmi_parse_next(tdmi_parser *self) {
    self->now = tdmi_next_token(&self->scanner);
    const char sign = *self->now.text;
    if (self->now.kind == TDMI_TOKEN_BAD_NUMBER)
        return TDMI_PARSE_FAIL(self, strchr("fFlLuU", self->now.text[self->now.length])
                                         ? "this is not a number, as numbers have no suffix"
                                         : "this is not a number");
    if (self->now.kind != TDMI_TOKEN_BAD_SIGN) return true;
    if (sign > ' ' && sign < 0x7f) return TDMI_PARSE_FAIL(self, "'%c' means nothing here", sign);
    return TDMI_PARSE_FAIL(self, "a character that means nothing here");
}

static bool is_sign(const tdmi_parser *self, const char *sign) {
    return self->now.kind == TDMI_TOKEN_OPERATOR && strlen(sign) == self->now.length &&
           memcmp(sign, self->now.text, self->now.length) == 0;
}

const char *tdmi_parse_seen(const tdmi_parser *self, char text[32]) {
    if (self->now.kind == TDMI_TOKEN_END) return "the end of the text";
    if (self->now.kind == TDMI_TOKEN_BREAK) return "the end of the statement";
    const int length = self->now.length < 24 ? (int)self->now.length : 24;
    snprintf(text, 32, "'%.*s'", length, self->now.text);
    return text;
}

bool tdmi_parse_expect(tdmi_parser *self, const char *sign) {
    char text[32];
    if (is_sign(self, sign)) return tdmi_parse_next(self);
    const char *seen = self->now.text;
    const bool updates = *sign == '=' && *seen && strchr("+-*/", *seen) && seen[1] == '=';
    return TDMI_PARSE_FAIL(self, "expected '%s' here, not %s%s", sign, tdmi_parse_seen(self, text),
                           updates ? "; for y += x write y = y + x" : "");
}

/* ---- numbers ---- */

static bool read_integer(tdmi_parser *self, tdmi_value *value) {
    const char *text = self->now.text;
    const bool hex = self->now.length > 1 && (text[1] == 'x' || text[1] == 'X');
    uint64_t number = 0, base = hex ? 16 : 10;
    if (hex && self->now.length == 2) return TDMI_PARSE_FAIL(self, "this is not a number");
    for (size_t i = hex ? 2 : 0; i < self->now.length; i++) {
        const char c = text[i];
        const uint64_t digit =
            c >= '0' && c <= '9' ? (uint64_t)(c - '0') : (uint64_t)((c | 32) - 'a') + 10;
        if (number > (INT64_MAX - digit) / base)
            return TDMI_PARSE_FAIL(
                self, "the number is too large; the largest integer is 9223372036854775807");
        number = number * base + digit;
    }
    *value = (tdmi_value){.kind = TDMI_VALUE_LITERAL, .integer = (int64_t)number};
    return true;
}

static bool read_number(tdmi_parser *self, tdmi_value *value) {
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
    if (isinf(value->number)) return TDMI_PARSE_FAIL(self, "the number is too large for f64");
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
        *integer = b->integer == 0    ? 0
                   : b->integer == -1 ? (int64_t)(0 - (uint64_t)a->integer)
                                      : a->integer / b->integer;
        return true;
    case TDM_FUNCTION_REM:
        *integer = b->integer == 0 || b->integer == -1 ? 0 : a->integer % b->integer;
        return !value->is_float;
    case TDM_FUNCTION_AND:
        *integer = a->integer & b->integer;
        return !value->is_float;
    case TDM_FUNCTION_OR:
        *integer = a->integer | b->integer;
        return !value->is_float;
    case TDM_FUNCTION_XOR:
        *integer = a->integer ^ b->integer;
        return !value->is_float;
    case TDM_FUNCTION_SHL: /* of i64 */
        *integer = (int64_t)((uint64_t)a->integer << (b->integer & 63));
        return !value->is_float;
    case TDM_FUNCTION_SHR:
        *integer = a->integer >> (b->integer & 63);
        return !value->is_float;
    default:
        return false;
    }
}

static bool call(tdmi_parser *self, const char *at, int function, const tdmi_value *operands,
                 tdmi_value *value) {
    tdmi_value given[3] = {{0}};
    memcpy(given, operands, (size_t)tdmi_function_arity((uint8_t)function) * sizeof *given);
    return tdmi_call_value(&self->reading, function, given, value) || tdmi_fail_at(self, at);
}

/* ---- expressions ---- */

static bool deeper(tdmi_parser *self) {
    if (++self->depth <= MOST_DEPTH) return true;
    return TDMI_PARSE_FAIL(self, "this is nested too deep; give a part of it a name");
}

static bool read_arguments(tdmi_parser *self, tdmi_value operands[3], int *count) {
    *count = 0;
    if (!tdmi_parse_expect(self, "(")) return false;
    while (!is_sign(self, ")")) {
        tdmi_value value;
        if (*count > 0 && !tdmi_parse_expect(self, ",")) return false;
        if (!tdmi_parse_value(self, &value)) return false;
        if (*count < 3) operands[*count] = value;
        ++*count;
    }
    return tdmi_parse_next(self);
}

/* min(max(x, low), high) */
static bool read_clamp(tdmi_parser *self, const char *at, const tdmi_value operands[3],
                       tdmi_value *value) {
    const tdmi_value bounded[2] = {operands[0], operands[1]};
    tdmi_value pair[2] = {{0}, operands[2]};
    return call(self, at, TDM_FUNCTION_MAX, bounded, &pair[0]) &&
           call(self, at, TDM_FUNCTION_MIN, pair, value);
}

static bool read_call(tdmi_parser *self, tdmi_token name, int function, tdmi_value *value) {
    tdmi_value operands[3] = {{0}};
    const bool clamps = function < 0;
    int count;
    if (!read_arguments(self, operands, &count)) return false;
    const int wanted = clamps ? 3 : tdmi_function_arity((uint8_t)function);
    if (count != wanted) {
        self->now = name;
        return TDMI_PARSE_FAIL(self, "%.*s takes %d argument%s, not %d", (int)name.length,
                               name.text, wanted, wanted == 1 ? "" : "s", count);
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

static bool read_constant(tdmi_parser *self, int which, tdmi_value *value) {
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
static bool read_place(tdmi_parser *self, tdmi_token name, int which, tdmi_value *value) {
    static const uint8_t functions[] = {TDM_FUNCTION_DIV, TDM_FUNCTION_REM};
    const char *const at = name.text;
    tdmi_value pair[2];
    if (self->stage == TDMI_FINISH) {
        self->now = name;
        return TDMI_PARSE_FAIL(self, "%.*s is of an element: finish has r, n and scalars",
                               (int)name.length, at);
    }
    if (!tdmi_index_value(&self->reading, TDMI_NODE_INDEX, &pair[0]) ||
        !tdmi_index_value(&self->reading, TDMI_NODE_EXTENT, &pair[1]))
        return tdmi_fail_at(self, at);
    *value = pair[0];
    return which == 0 || call(self, at, functions[which - 1], pair, value);
}

/* Spellings for functions that other languages have. */
static const char *advice_on(const char *function) {
    static const char *const combining[] = {"sum",  "mean", "prod", "amax",
                                            "amin", "norm", "var",  "std"};
    for (size_t i = 0; i < sizeof combining / sizeof *combining; i++)
        if (strcmp(function, combining[i]) == 0)
            return "the elements of a row are combined by the texts of tdm_kernel_rows";
    return strcmp(function, "softplus") == 0 ? "write max(x, 0) + log1p(exp(-abs(x)))" : NULL;
}

static bool unknown_name(tdmi_parser *self, tdmi_token name, bool is_call) {
    const char *others[TDMI_MOST_PARAMETERS];
    char word[TDMI_MOST_NAME + 1];
    for (int i = 0; i < self->parameter_count; i++)
        others[i] = self->parameters[i].name;
    const size_t length = name.length < sizeof word ? name.length : sizeof word - 1;
    memcpy(word, name.text, length);
    word[length] = '\0';
    self->now = name;
    const char *advice = is_call ? advice_on(word) : NULL;
    if (advice) return TDMI_PARSE_FAIL(self, "there is no function \"%s\": %s", word, advice);
    return TDMI_PARSE_FAIL(self, "there is no %s \"%s\"%s", is_call ? "function" : "name", word,
                           tdmi_guess_name((char[TDMI_GUESS]){0}, word, is_call, others,
                                           (size_t)self->parameter_count));
}

int tdmi_parse_parameter(const tdmi_parser *self, tdmi_token name) {
    for (int i = 0; i < self->parameter_count; i++)
        if (strlen(self->parameters[i].name) == name.length &&
            memcmp(self->parameters[i].name, name.text, name.length) == 0)
            return i;
    return -1;
}

const tdmi_variable *tdmi_parse_variable(const tdmi_parser *self, tdmi_token name) {
    for (int i = 0; i < self->variable_count; i++)
        if (self->variables[i].length == name.length &&
            memcmp(self->variables[i].name, name.text, name.length) == 0)
            return &self->variables[i];
    return NULL;
}

int tdmi_parse_tensor(const tdmi_parser *self, int parameter) {
    int number = 0;
    for (int i = 0; i < parameter; i++)
        number += self->parameters[i].kind == TDM_PARAMETER_TENSOR;
    return number;
}

/* r, the combined value of a row, and n, its length. */
static bool is_of_rows(const tdmi_parser *self, tdmi_token name) {
    return self->stage != TDMI_STATEMENTS && name.length == 1 &&
           (*name.text == 'r' || *name.text == 'n');
}

static bool read_of_rows(tdmi_parser *self, tdmi_token name, tdmi_value *value) {
    *value = self->combined;
    if (*name.text == 'n')
        *value = (tdmi_value){.kind = TDMI_VALUE_PARAMETER, .node = TDMI_ROW_LENGTH};
    else if (self->stage == TDMI_MAP)
        return self->now = name, TDMI_PARSE_FAIL(self, "r is known in finish and apply alone");
    return true;
}

static bool read_name(tdmi_parser *self, tdmi_value *value) {
    const tdmi_token name = self->now;
    int number;
    if (!tdmi_parse_next(self)) return false;
    const int own = tdmi_find_own_name(&name, &number);
    const bool is_function = own == TDMI_OWN_FUNCTION || own == TDMI_OWN_CLAMP;
    if (is_sign(self, "("))
        return is_function ? read_call(self, name, own == TDMI_OWN_CLAMP ? -1 : number, value)
                           : unknown_name(self, name, true);
    if (is_function) {
        self->now = name;
        return TDMI_PARSE_FAIL(self, "%.*s is a function: its arguments go in parentheses",
                               (int)name.length, name.text);
    }
    if (own == TDMI_OWN_CONSTANT) return read_constant(self, number, value);
    if (own == TDMI_OWN_PLACE) return read_place(self, name, number, value);
    if (is_of_rows(self, name)) return read_of_rows(self, name, value);
    const tdmi_variable *known = tdmi_parse_variable(self, name);
    const int parameter = tdmi_parse_parameter(self, name);
    if (parameter >= 0) self->is_used[parameter] = true;
    if (known) {
        *value = known->value;
        return true;
    }
    if (parameter < 0) return unknown_name(self, name, false);
    const tdm_parameter_kind kind = self->parameters[parameter].kind;
    if (self->stage == TDMI_FINISH && kind == TDM_PARAMETER_TENSOR) {
        self->now = name;
        return TDMI_PARSE_FAIL(self, "%.*s is a tensor: finish has r, n and scalars",
                               (int)name.length, name.text);
    }
    *value = (tdmi_value){
        .kind = TDMI_VALUE_PARAMETER, .is_float = kind == TDM_PARAMETER_NUMBER, .node = parameter};
    return kind != TDM_PARAMETER_TENSOR ||
           tdmi_element_value(&self->reading, tdmi_parse_tensor(self, parameter), value) ||
           tdmi_fail_at(self, name.text);
}

static bool read_operand(tdmi_parser *self, tdmi_value *value) {
    char text[32];
    if (self->now.kind == TDMI_TOKEN_NAME) return read_name(self, value);
    if (self->now.kind == TDMI_TOKEN_NUMBER)
        return read_number(self, value) && tdmi_parse_next(self);
    if (!is_sign(self, "("))
        return TDMI_PARSE_FAIL(self, "expected a value here, not %s%s", tdmi_parse_seen(self, text),
                               is_sign(self, "*") ? "; for x ** y write pow(x, y)" : "");
    return tdmi_parse_next(self) && tdmi_parse_value(self, value) && tdmi_parse_expect(self, ")");
}

static bool read_unary(tdmi_parser *self, tdmi_value *value) {
    const tdmi_token sign = self->now;
    int function = -1;
    if (is_sign(self, "-")) function = TDM_FUNCTION_NEG;
    if (is_sign(self, "~")) function = TDM_FUNCTION_NOT;
    if (is_sign(self, "!")) function = TDM_FUNCTION_TO_BOOL; /* and then not */
    if (function < 0 && !is_sign(self, "+")) return read_operand(self, value);
    tdmi_value operand, truth;
    if (!deeper(self) || !tdmi_parse_next(self) || !read_unary(self, &operand)) return false;
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

static int find_operator(const tdmi_parser *self, int least) {
    for (size_t i = 0; i < TDMI_COUNT(operators); i++)
        if (operators[i].level >= least && is_sign(self, operators[i].sign)) return (int)i;
    return -1;
}

static bool combine(tdmi_parser *self, const char *at, int which, const tdmi_value operands[2],
                    tdmi_value *value) {
    const int function = operators[which].function;
    if (operators[which].level > LEVELS_OF_TRUTH)
        return fold(function, &operands[0], &operands[1], value) ||
               call(self, at, function, operands, value);
    tdmi_value truths[2];
    return call(self, at, TDM_FUNCTION_TO_BOOL, &operands[0], &truths[0]) &&
           call(self, at, TDM_FUNCTION_TO_BOOL, &operands[1], &truths[1]) &&
           call(self, at, function, truths, value);
}

static bool read_binary(tdmi_parser *self, int least, tdmi_value *value) {
    if (!deeper(self) || !read_unary(self, value)) return false;
    for (int which; (which = find_operator(self, least)) >= 0;) {
        const char *at = self->now.text;
        tdmi_value operands[2] = {*value, {0}};
        if (!tdmi_parse_next(self) ||
            !read_binary(self, operators[which].level + 1, &operands[1]) ||
            !combine(self, at, which, operands, value))
            return false;
    }
    self->depth--;
    return true;
}

bool tdmi_parse_value(tdmi_parser *self, tdmi_value *value) {
    tdmi_value operands[3];
    if (!deeper(self) || !read_binary(self, 1, &operands[0])) return false;
    const char *at = self->now.text;
    if (is_sign(self, "?")) {
        if (!tdmi_parse_next(self) || !tdmi_parse_value(self, &operands[1]) ||
            !tdmi_parse_expect(self, ":") || !tdmi_parse_value(self, &operands[2]) ||
            !call(self, at, TDM_FUNCTION_WHERE, operands, value))
            return false;
    } else {
        *value = operands[0];
    }
    self->depth--;
    return true;
}

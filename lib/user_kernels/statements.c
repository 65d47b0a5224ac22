/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* Reads the texts of a kernel: statements, and of rows the values that they end in. */
#include <string.h>

#include "base/memory.h"
#include "user_kernels/parser.h"

static bool assign(tdmi_parser *self, tdmi_token name, const tdmi_value *value) {
    tdmi_expression *to = self->reading.to;
    const int parameter = tdmi_parse_parameter(self, name);
    self->now = name;
    int number;
    if (tdmi_find_own_name(&name, &number) >= 0)
        return TDMI_PARSE_FAIL(self, "%.*s is a name of the language's own", (int)name.length,
                               name.text);
    if (name.length > TDMI_MOST_NAME)
        return TDMI_PARSE_FAIL(self, "a name has %d characters at most", (int)TDMI_MOST_NAME);
    if (tdmi_parse_variable(self, name))
        return TDMI_PARSE_FAIL(self, "%.*s has a value already", (int)name.length, name.text);
    if (self->stage != TDMI_STATEMENTS) {
        if (parameter >= 0)
            return TDMI_PARSE_FAIL(self,
                                   "%.*s is a parameter: only variables are given values here",
                                   (int)name.length, name.text);
        if (name.length == 1 && (*name.text == 'r' || *name.text == 'n'))
            return TDMI_PARSE_FAIL(self, "%c has a value already", *name.text);
    }
    if (parameter >= 0 && self->parameters[parameter].kind != TDM_PARAMETER_TENSOR)
        return TDMI_PARSE_FAIL(self, "%.*s is a scalar: only a tensor is given values",
                               (int)name.length, name.text);
    if (self->variable_count == TDMI_MOST_NAMES)
        return TDMI_PARSE_FAIL(self, "a text gives values to %d names at most", TDMI_MOST_NAMES);
    self->variables[self->variable_count++] = (tdmi_variable){name.text, name.length, *value};
    if (parameter < 0) return true;
    const int tensor = tdmi_parse_tensor(self, parameter);
    int node;
    self->is_used[parameter] = true;
    if (!tdmi_value_for(&self->reading, value, (tdm_dtype)to->dtypes[tensor], &node))
        return tdmi_fail_at(self, name.text);
    to->is_written[tensor] = true;
    to->outputs[to->output_count++] = (tdmi_output){(uint8_t)tensor, (int16_t)node};
    return true;
}

static bool read_statement(tdmi_parser *self) {
    char text[32];
    const tdmi_token name = self->now;
    tdmi_value value;
    if (name.kind != TDMI_TOKEN_NAME)
        return TDMI_PARSE_FAIL(
            self, "a statement begins with the name that it gives a value, not with %s",
            tdmi_parse_seen(self, text));
    if (!tdmi_parse_next(self) || !tdmi_parse_expect(self, "=") || !tdmi_parse_value(self, &value))
        return false;
    if (self->now.kind != TDMI_TOKEN_BREAK && self->now.kind != TDMI_TOKEN_END)
        return TDMI_PARSE_FAIL(self, "the statement should end here, not go on with %s",
                               tdmi_parse_seen(self, text));
    const tdmi_token next = self->now;
    if (!assign(self, name, &value)) return false;
    self->now = next;
    return true;
}

static bool check_used(tdmi_parser *self) {
    for (int i = 0; i < self->parameter_count; i++)
        if (!self->is_used[i])
            return TDMI_PARSE_FAIL(self, "the parameter %s is not used", self->parameters[i].name);
    return true;
}

static bool read_statements(tdmi_parser *self, const char *text) {
    self->scanner.at = text;
    if (!tdmi_parse_next(self)) return false;
    while (self->now.kind != TDMI_TOKEN_END) {
        if (self->now.kind != TDMI_TOKEN_BREAK && !read_statement(self)) return false;
        if (self->now.kind == TDMI_TOKEN_BREAK && !tdmi_parse_next(self)) return false;
    }
    if (self->reading.to->output_count == 0)
        return TDMI_PARSE_FAIL(self, "no statement gives a tensor a value, as \"y = x\" does");
    return check_used(self);
}

/* ---- texts of rows ---- */

/* Is what stands here a statement, not the value at the end? */
static bool is_statement(const tdmi_parser *self) {
    tdmi_scanner ahead = self->scanner;
    const tdmi_token sign = tdmi_next_token(&ahead);
    return self->now.kind == TDMI_TOKEN_NAME && sign.kind == TDMI_TOKEN_OPERATOR &&
           sign.length == 1 && *sign.text == '=';
}

/* Statements that give values to variables, and a value. */
static bool read_text(tdmi_parser *self, tdmi_stage stage, const char *text, tdmi_value *value) {
    char seen[32];
    self->stage = stage;
    self->scanner = (tdmi_scanner){.at = text};
    self->variable_count = self->depth = 0;
    if (!tdmi_parse_next(self)) return false;
    while (self->now.kind == TDMI_TOKEN_BREAK || is_statement(self)) {
        if (self->now.kind != TDMI_TOKEN_BREAK && !read_statement(self)) return false;
        if (self->now.kind == TDMI_TOKEN_BREAK && !tdmi_parse_next(self)) return false;
    }
    if (!tdmi_parse_value(self, value)) return false;
    while (self->now.kind == TDMI_TOKEN_BREAK)
        if (!tdmi_parse_next(self)) return false;
    if (self->now.kind == TDMI_TOKEN_END) return true;
    return TDMI_PARSE_FAIL(self, "the text should end here, after its value, not go on with %s",
                           tdmi_parse_seen(self, seen));
}

/* The one tensor that no text names becomes the output. */
static bool find_output(tdmi_parser *self, int *tensor) {
    int output = -1;
    for (int i = 0; i < self->parameter_count; i++) {
        if (self->parameters[i].kind != TDM_PARAMETER_TENSOR || self->is_used[i]) continue;
        if (output >= 0)
            return tdmi_reading_fail(&self->reading, false,
                                     "no text names %s and %s: only one of them is the output",
                                     self->parameters[output].name, self->parameters[i].name);
        output = i;
    }
    if (output < 0)
        return tdmi_reading_fail(&self->reading, false,
                                 "the texts name each tensor, and so none is the output");
    self->is_used[output] = true;
    *tensor = tdmi_parse_tensor(self, output);
    return check_used(self);
}

static bool read_rows(tdmi_parser *self, const tdmi_texts *texts) {
    tdmi_expression *to = self->reading.to;
    tdmi_value value;
    int tensor = 0, node, reads = 0;
    to->has_rows = true;
    to->has_apply = texts->apply ? true : false;
    if (!read_text(self, TDMI_MAP, texts->map, &value)) return false;
    for (int i = 0; i < to->tensor_count; i++)
        reads += to->is_read[i];
    if (reads == 0) return TDMI_PARSE_FAIL(self, "map reads no tensor, and so there are no rows");
    if (!tdmi_combined_value(&self->reading, &value, texts->combine, &self->combined)) return false;
    value = self->combined;
    if (texts->finish && !read_text(self, TDMI_FINISH, texts->finish, &value)) return false;
    self->combined = value;
    if (texts->apply && !read_text(self, TDMI_APPLY, texts->apply, &value)) return false;
    self->is_past_texts = true;
    if (!find_output(self, &tensor) ||
        !tdmi_value_for(&self->reading, &value, (tdm_dtype)to->dtypes[tensor], &node))
        return false;
    to->is_written[tensor] = true;
    to->outputs[to->output_count++] = (tdmi_output){(uint8_t)tensor, (int16_t)node};
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

static void begin(tdmi_parser *self, const tdmi_parameter *parameters, int count,
                  tdmi_expression *expression) {
    memset(expression, 0, sizeof *expression);
    expression->arithmetic = TDM_TYPE_F32;
    for (int i = 0; i < count; i++) {
        if (parameters[i].kind != TDM_PARAMETER_TENSOR) continue;
        if (parameters[i].dtype == TDM_F64) expression->arithmetic = TDM_TYPE_F64;
        expression->dtypes[expression->tensor_count++] = (uint8_t)parameters[i].dtype;
    }
    self->reading.to = expression;
    self->parameters = parameters;
    self->parameter_count = count;
}

static tdm_status refuse(const tdmi_parser *self, const char *function, const tdmi_texts *texts) {
    const char *const starts[] = {texts->statements, texts->map, texts->finish, texts->apply};
    static const char *const names[] = {"", "map, ", "finish, ", "apply, "};
    int line, column;
    if (self->is_past_texts)
        return tdmi_fail(TDM_ERROR_COMPILE, "%s: %s", function, self->reading.fault);
    place_of(starts[self->stage], self->fault_at ? self->fault_at : self->now.text, &line, &column);
    return tdmi_fail(TDM_ERROR_COMPILE, "%s: %sline %d, column %d: %s", function,
                     names[self->stage], line, column, self->reading.fault);
}

tdm_status tdmi_expression_read(const char *function, const tdmi_texts *texts,
                                const tdmi_parameter *parameters, int count,
                                tdmi_expression *expression, bool *is_typing) {
    tdmi_parser *self = tdmi_calloc(1, sizeof *self);
    tdm_status status = TDM_OK;
    *is_typing = false;
    if (!self) return tdmi_fail(TDM_ERROR_OUT_OF_MEMORY, "%s: out of host memory", function);
    begin(self, parameters, count, expression);
    const bool done =
        texts->statements ? read_statements(self, texts->statements) : read_rows(self, texts);
    if (!done) {
        *is_typing = self->reading.is_typing;
        status = refuse(self, function, texts);
    }
    tdmi_free(self);
    return status;
}

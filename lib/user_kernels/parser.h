/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* Reading under way of the texts of a kernel: parse.c reads values, statements.c what stands around them. */
#ifndef TDMI_PARSER_H
#define TDMI_PARSER_H

#include "user_kernels/expression.h"
#include "user_kernels/tokens.h"

enum { TDMI_MOST_NAMES = 64 };

/* Which text. */
typedef enum tdmi_stage { TDMI_STATEMENTS, TDMI_MAP, TDMI_FINISH, TDMI_APPLY } tdmi_stage;

/* A name that the text has given a value. */
typedef struct tdmi_variable {
    const char *name;
    size_t length;
    tdmi_value value;
} tdmi_variable;

typedef struct tdmi_parser {
    tdmi_reading reading;
    tdmi_scanner scanner;
    tdmi_token now;
    int depth;
    tdmi_stage stage;
    tdmi_value combined; /* the value of r */
    const tdmi_parameter *parameters;
    int parameter_count;
    bool is_used[TDMI_MOST_PARAMETERS];
    tdmi_variable variables[TDMI_MOST_NAMES];
    int variable_count;
    const char *fault_at; /* NULL: at the token */
    bool is_past_texts;   /* the texts: what is wrong is in none of them */
} tdmi_parser;

/* Sets the place of the fault, once. Returns false, as all below do when reading has failed. */
bool tdmi_fail_at(tdmi_parser *self, const char *at);

#define TDMI_PARSE_FAIL(self, ...)                                                                 \
    (tdmi_fail_at(self, (self)->now.text), tdmi_reading_fail(&(self)->reading, false, __VA_ARGS__))

bool tdmi_parse_next(tdmi_parser *self);
bool tdmi_parse_expect(tdmi_parser *self, const char *sign);
bool tdmi_parse_value(tdmi_parser *self, tdmi_value *value);

/* The token, for messages. */
const char *tdmi_parse_seen(const tdmi_parser *self, char text[32]);

/* The number of the parameter of that name, below 0 when there is none; of a tensor among the tensors; the variable. */
int tdmi_parse_parameter(const tdmi_parser *self, tdmi_token name);
int tdmi_parse_tensor(const tdmi_parser *self, int parameter);
const tdmi_variable *tdmi_parse_variable(const tdmi_parser *self, tdmi_token name);

#endif

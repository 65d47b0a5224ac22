/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* The words of expressions. */
#ifndef TDMI_TOKENS_H
#define TDMI_TOKENS_H

#include <stdbool.h>
#include <stddef.h>

#include "base/spelling.h"

#define TDMI_COUNT(list) (sizeof(list) / sizeof *(list))

typedef enum tdmi_token_kind {
    TDMI_TOKEN_NAME,
    TDMI_TOKEN_NUMBER,
    TDMI_TOKEN_OPERATOR, /* or another sign */
    TDMI_TOKEN_BREAK,    /* between statements */
    TDMI_TOKEN_END,
    TDMI_TOKEN_BAD_NUMBER,
    TDMI_TOKEN_BAD_SIGN
} tdmi_token_kind;

typedef struct tdmi_token {
    tdmi_token_kind kind;
    const char *text;
    size_t length;
} tdmi_token;

/* Where in a text. A line ends no statement inside parentheses or after an operator. */
typedef struct tdmi_scanner {
    const char *at;
    int open; /* parentheses */
    bool wants_operand;
} tdmi_scanner;

/* The next token; one that is bad is not stepped over. */
tdmi_token tdmi_next_token(tdmi_scanner *scanner);

/* The language's own names. Any other is below 0. */
typedef enum tdmi_own_name {
    TDMI_OWN_FUNCTION, /* the number is the function's */
    TDMI_OWN_CLAMP,
    TDMI_OWN_CONSTANT, /* 0 pi, 1 inf, 2 nan, 3 true, 4 false */
    TDMI_OWN_PLACE     /* 0 index, 1 row, 2 column */
} tdmi_own_name;
int tdmi_find_own_name(const tdmi_token *name, int *number);

/* tdmi_guess among the own names; `others` are looked at, too, where no function is meant. */
const char *tdmi_guess_name(char text[TDMI_GUESS], const char *word, bool is_function,
                            const char *const *others, size_t count);

#endif

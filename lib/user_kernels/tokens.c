/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* The words of expressions: cutting a text into them, and the language's own names. */
#include "user_kernels/tokens.h"

#include <string.h>

#include "user_kernels/expression.h"

/* ---- names ---- */

static const char *const constant_names[] = {"pi", "inf", "nan", "true", "false"};
static const char *const place_names[] = {"index", "row", "column"};
/* named so in texts, and to_… in the list */
static const char *const conversion_names[] = {
#define CONVERSION_NAME(NAME, name, dtype) #name,
    TDM_TYPE_LIST(CONVERSION_NAME)};
static const char *const clamp_name[] = {"clamp"};

/* Those of the list that are called by name: the others are operators, or conversions. */
enum { FIRST_CALLED = TDM_FUNCTION_WHERE, BEHIND_CALLED = TDM_FUNCTION_TO_BOOL };

static bool is_name(const char *name, const tdmi_token *token) {
    return strlen(name) == token->length && memcmp(name, token->text, token->length) == 0;
}

static bool find(const char *const *names, size_t count, const tdmi_token *name, int *number) {
    for (size_t i = 0; i < count; i++) {
        *number = (int)i;
        if (is_name(names[i], name)) return true;
    }
    return false;
}

int tdmi_find_own_name(const tdmi_token *name, int *number) {
    for (*number = FIRST_CALLED; *number < BEHIND_CALLED; ++*number)
        if (is_name(tdmi_function_name((uint8_t)*number), name)) return TDMI_OWN_FUNCTION;
    if (find(conversion_names, TDMI_COUNT(conversion_names), name, number)) {
        *number += TDM_FUNCTION_TO_BOOL;
        return TDMI_OWN_FUNCTION;
    }
    if (find(clamp_name, 1, name, number)) return TDMI_OWN_CLAMP;
    if (find(constant_names, TDMI_COUNT(constant_names), name, number)) return TDMI_OWN_CONSTANT;
    if (find(place_names, TDMI_COUNT(place_names), name, number)) return TDMI_OWN_PLACE;
    return -1;
}

const char *tdmi_guess_name(char text[TDMI_GUESS], const char *word, bool is_function,
                            const char *const *others, size_t count) {
    const char *candidates[TDM_FUNCTION_COUNT + TDM_TYPE_COUNT + TDMI_MOST_PARAMETERS + 16];
    size_t found = 0;
    if (is_function) {
        for (int i = FIRST_CALLED; i < BEHIND_CALLED; i++)
            candidates[found++] = tdmi_function_name((uint8_t)i);
        for (size_t i = 0; i < TDMI_COUNT(conversion_names); i++)
            candidates[found++] = conversion_names[i];
        candidates[found++] = clamp_name[0];
    } else {
        for (size_t i = 0; i < count; i++)
            candidates[found++] = others[i];
        for (size_t i = 0; i < TDMI_COUNT(place_names); i++)
            candidates[found++] = place_names[i];
    }
    return tdmi_guess(text, word, candidates, found);
}

static bool begins_name(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

static bool is_digit(char c) { return c >= '0' && c <= '9'; }

static size_t name_length(const char *text) {
    size_t length = 0;
    while (begins_name(text[length]) || (length > 0 && is_digit(text[length])))
        length++;
    return length;
}

const char *tdmi_name_fault(const char *name, bool of_rows) {
    int number;
    const tdmi_token token = {TDMI_TOKEN_NAME, name, name_length(name)};
    if (token.length == 0 || name[token.length])
        return "is not a name: a letter or _, then letters, digits and _";
    if (token.length > TDMI_MOST_NAME) return "is longer than 63 characters";
    if (tdmi_find_own_name(&token, &number) >= 0) return "is a name of the language's own";
    if (of_rows && token.length == 1 && (*name == 'r' || *name == 'n'))
        return "is what kernels over rows call the combined value, r, and a row's length, n";
    return NULL;
}

/* ---- tokens ---- */

static void skip_blanks(tdmi_scanner *self) {
    for (;; self->at++) {
        const char c = *self->at;
        const bool joins = self->open > 0 || self->wants_operand;
        if (c == '/' && self->at[1] == '/')
            self->at += strcspn(self->at, "\n") - 1;
        else if (c != ' ' && c != '\t' && c != '\r' && !(c == '\n' && joins))
            return;
    }
}

static size_t digits(const char *text) { return strspn(text, "0123456789"); }

static size_t number_length(const char *text) {
    if (text[0] == '0' && (text[1] == 'x' || text[1] == 'X'))
        return 2 + strspn(text + 2, "0123456789abcdefABCDEF");
    size_t length = digits(text);
    if (text[length] == '.') length += 1 + digits(text + length + 1);
    if (text[length] != 'e' && text[length] != 'E') return length;
    const size_t sign = text[length + 1] == '+' || text[length + 1] == '-';
    const size_t power = digits(text + length + 1 + sign);
    return power > 0 ? length + 1 + sign + power : length;
}

static size_t operator_length(const char *text) {
    static const char *const two[] = {"<<", ">>", "<=", ">=", "==", "!=", "&&", "||"};
    for (size_t i = 0; i < TDMI_COUNT(two); i++)
        if (strncmp(text, two[i], 2) == 0) return 2;
    return strchr("+-*/%~!<>&^|?:=(),", *text) ? 1 : 0;
}

tdmi_token tdmi_next_token(tdmi_scanner *self) {
    skip_blanks(self);
    const char *text = self->at;
    tdmi_token now = {TDMI_TOKEN_END, text, 0};
    if (*text == '\0') return now;
    if (*text == '\n' || *text == ';') {
        now = (tdmi_token){TDMI_TOKEN_BREAK, text, 1};
    } else if (begins_name(*text)) {
        now = (tdmi_token){TDMI_TOKEN_NAME, text, name_length(text)};
    } else if (is_digit(*text) || (*text == '.' && is_digit(text[1]))) {
        now = (tdmi_token){TDMI_TOKEN_NUMBER, text, number_length(text)};
        const char after = text[now.length];
        if (begins_name(after) || after == '.') now.kind = TDMI_TOKEN_BAD_NUMBER;
    } else {
        now = (tdmi_token){TDMI_TOKEN_OPERATOR, text, operator_length(text)};
        if (now.length == 0) now.kind = TDMI_TOKEN_BAD_SIGN;
    }
    if (now.kind == TDMI_TOKEN_BAD_NUMBER || now.kind == TDMI_TOKEN_BAD_SIGN) return now;
    if (*text == '(') self->open++;
    if (*text == ')' && self->open > 0) self->open--;
    self->wants_operand = now.kind == TDMI_TOKEN_OPERATOR && *text != ')';
    self->at = text + now.length;
    return now;
}

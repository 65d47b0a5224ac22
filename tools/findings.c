/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* The list of what was found. */
#include "findings.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tools.h"

static char *copy(const char *text) {
    char *made = copy_text(text ? text : "");
    if (made) return made;
    fputs("tdm: out of memory\n", stderr);
    exit(EXIT_FAILURE);
}

static void free_texts(finding *item) {
    free((char *)item->subject);
    free((char *)item->detail);
    free((char *)item->advice);
}

static finding *find(findings *list, const finding *wanted) {
    for (size_t i = 0; i < list->count; i++)
        if (list->items[i].kind == wanted->kind &&
            strcmp(list->items[i].subject, wanted->subject) == 0)
            return &list->items[i];
    return NULL;
}

void findings_put(findings *list, const finding *item) {
    finding made = {item->kind, item->state, copy(item->subject), copy(item->detail),
                    copy(item->advice)};
    finding *place = find(list, item);
    if (place) {
        free_texts(place);
    } else {
        finding *grown = realloc(list->items, (list->count + 1) * sizeof *grown);
        if (!grown) {
            free_texts(&made);
            return;
        }
        list->items = grown;
        place = &list->items[list->count++];
    }
    *place = made;
}

void findings_free(findings *list) {
    for (size_t i = 0; i < list->count; i++)
        free_texts(&list->items[i]);
    free(list->items);
    *list = (findings){0};
}

bool findings_have(const findings *list, finding_state state) {
    for (size_t i = 0; i < list->count; i++)
        if (list->items[i].state == state) return true;
    return false;
}

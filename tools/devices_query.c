/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
#include "devices_query.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <jansson.h>
#include <report/csv.h>

#include "tools.h"

/* When it was: a field that no device has, but each moment. */
#define TIME "time"

/* --- fields ----------------------------------------------------------------------------------- */

static void add_fields(devices_query *query, json_t *object, const char *before) {
    const char *key;
    json_t *value;
    json_object_foreach(object, key, value) {
        char name[QUERY_LONGEST_FIELD];
        snprintf(name, sizeof name, "%s%s", before, key);
        if (json_is_object(value)) {
            char longer[QUERY_LONGEST_FIELD + 1];
            snprintf(longer, sizeof longer, "%s.", name);
            add_fields(query, value, longer);
        } else if (query->count < QUERY_MOST_FIELDS) {
            memcpy(query->field[query->count++], name, sizeof name);
        }
    }
}

/* The JSON of a device is the list; what stands in it does not matter. */
void query_all(devices_query *query) {
    static const tdm_device_info nothing;
    static device_row row; /* large */
    row.info = &nothing;
    json_t *device = json_device(&row);
    query->count = 0;
    add_fields(query, device, "");
    json_decref(device);
}

void query_begin_with_time(devices_query *query) {
    for (size_t i = 0; i < query->count; i++)
        if (strcmp(query->field[i], TIME) == 0) return;
    if (query->count == QUERY_MOST_FIELDS) return;
    memmove(query->field[1], query->field[0], query->count++ * sizeof query->field[0]);
    strcpy(query->field[0], TIME);
}

/* Every field, and the time. */
static void query_everything(devices_query *query) {
    query_all(query);
    query_begin_with_time(query);
}

/* Their names, up to NULL, with room for one more. */
static const char **name_fields(void) {
    static devices_query all;
    static const char *words[QUERY_MOST_FIELDS + 2];
    query_everything(&all);
    for (size_t i = 0; i < all.count; i++)
        words[i] = all.field[i];
    words[all.count] = NULL;
    return words;
}

const char *const *query_words(void) {
    const char **words = name_fields();
    size_t count = 0;
    while (words[count])
        count++;
    words[count] = "help";
    words[count + 1] = NULL;
    return words;
}

void query_list(void) {
    devices_query all;
    query_everything(&all);
    for (size_t i = 0; i < all.count; i++)
        puts(all.field[i]);
}

static bool is_same_field(const char *a, const char *b) {
    for (; *a && *b; a++, b++)
        if ((*a == '.' ? '_' : *a) != (*b == '.' ? '_' : *b)) return false;
    return *a == *b;
}

int query_parse(const char *text, devices_query *query) {
    static devices_query all;
    query_everything(&all);
    query->count = 0;
    for (const char *end;; text = end + 1) {
        char word[128];
        size_t i = 0;
        end = text + strcspn(text, ",");
        snprintf(word, sizeof word, "%.*s", (int)(end - text), text);
        while (i < all.count && !is_same_field(all.field[i], word))
            i++;
        if (i == all.count)
            return refuse_word("devices", "--query: unknown field", word, name_fields());
        if (query->count == QUERY_MOST_FIELDS) {
            fprintf(stderr, "tdm devices: --query takes %d fields at most\n", QUERY_MOST_FIELDS);
            return EXIT_USAGE;
        }
        memcpy(query->field[query->count++], all.field[i], QUERY_LONGEST_FIELD);
        if (!*end) return EXIT_OK;
    }
}

/* --- printing --------------------------------------------------------------------------------- */

/* The value of a field, borrowed; NULL where the device has none. */
static json_t *find_field(const json_t *device, const char *field) {
    const char *dot = strchr(field, '.');
    if (!dot) return json_object_get(device, field);
    char key[QUERY_LONGEST_FIELD];
    snprintf(key, sizeof key, "%.*s", (int)(dot - field), field);
    return find_field(json_object_get(device, key), dot + 1);
}

static void print_csv(const json_t *device, const devices_query *query) {
    for (size_t f = 0; f < query->count; f++) {
        if (f > 0) putchar(',');
        if (device)
            csv_print_value(stdout, find_field(device, query->field[f]));
        else
            fputs(query->field[f], stdout);
    }
    putchar('\n');
}

/* An object with the fields in the order of the query. */
static json_t *select_fields(const json_t *device, const devices_query *query) {
    json_t *object = json_object();
    for (size_t f = 0; f < query->count; f++)
        json_object_set(object, query->field[f], find_field(device, query->field[f]));
    return object;
}

/* The text of a cell of the table; the caller frees it. Control bytes would move the cursor. */
static char *format_cell(const json_t *value) {
    char *text = json_is_string(value) ? copy_text(json_string_value(value))
                 : json_is_null(value) ? copy_text("-")
                                       : json_dumps(value, JSON_ENCODE_ANY | JSON_COMPACT);
    for (char *c = text; c && *c; c++)
        if ((unsigned char)*c < ' ' || *c > '~') *c = '?';
    return text;
}

/* How wide a column is, and whether it has numbers, which stand on its right. */
static int measure_column(json_t *const *devices, size_t count, const char *field,
                          bool *is_number) {
    int width = (int)strlen(field);
    *is_number = false;
    for (size_t i = 0; i < count; i++) {
        const json_t *value = find_field(devices[i], field);
        char *text = format_cell(value);
        if (text && (int)strlen(text) > width) width = (int)strlen(text);
        *is_number = *is_number || json_is_number(value);
        free(text);
    }
    return width;
}

/* A line of the device; of the names where it is NULL. No blanks at its end. */
static void print_table_line(const json_t *device, const devices_query *query, const int *widths,
                             const bool *are_numbers) {
    for (size_t f = 0; f < query->count; f++) {
        char *text = device ? format_cell(find_field(device, query->field[f])) : NULL;
        const char *shown = !device ? query->field[f] : text ? text : "?";
        const bool is_last = f + 1 == query->count;
        if (f > 0) fputs("  ", stdout);
        if (are_numbers[f])
            printf("%*s", widths[f], shown);
        else
            printf("%-*s", is_last ? 0 : widths[f], shown);
        free(text);
    }
    putchar('\n');
}

static void print_table(json_t *const *devices, size_t count, const devices_query *query) {
    int widths[QUERY_MOST_FIELDS];
    bool are_numbers[QUERY_MOST_FIELDS];
    for (size_t f = 0; f < query->count; f++)
        widths[f] = measure_column(devices, count, query->field[f], &are_numbers[f]);
    print_table_line(NULL, query, widths, are_numbers);
    for (size_t i = 0; i < count; i++)
        print_table_line(devices[i], query, widths, are_numbers);
}

/* The devices with the time as one field more. */
static json_t **describe(const device_snapshot *snapshot) {
    json_t **devices = calloc(snapshot->count + 1, sizeof *devices);
    for (size_t i = 0; devices && i < snapshot->count; i++) {
        devices[i] = json_device(&snapshot->rows[i]);
        json_object_set_new(devices[i], TIME, json_time(snapshot));
    }
    return devices;
}

static void forget(json_t **devices) {
    for (size_t i = 0; devices && devices[i]; i++)
        json_decref(devices[i]);
    free(devices);
}

json_t *query_json(const device_snapshot *snapshot, const devices_query *query) {
    json_t **devices = describe(snapshot), *chosen = json_array();
    for (size_t i = 0; devices && devices[i]; i++)
        json_array_append_new(chosen, select_fields(devices[i], query));
    forget(devices);
    return chosen;
}

void query_print(const device_snapshot *snapshot, const devices_query *query, devices_format format,
                 bool with_head) {
    json_t **devices = describe(snapshot);
    if (devices && format == DEVICES_TABLE) print_table(devices, snapshot->count, query);
    if (format == DEVICES_CSV && with_head) print_csv(NULL, query);
    for (size_t i = 0; devices && devices[i]; i++) {
        if (format == DEVICES_CSV) print_csv(devices[i], query);
        if (format != DEVICES_JSONL) continue;
        json_t *one = select_fields(devices[i], query);
        json_dumpf(one, stdout, 0);
        putchar('\n');
        json_decref(one);
    }
    forget(devices);
}

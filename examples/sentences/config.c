/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* The few numbers that are needed of a model's JSON files. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common.h"
#include "model.h"

config config_minilm(void) {
    return (config){.hidden = 384,
                    .layers = 6,
                    .heads = 12,
                    .intermediate = 1536,
                    .vocabulary = 30522,
                    .positions = 512,
                    .most_tokens = 256,
                    .epsilon = 1e-12};
}

/* The value of "key": in a flat object of JSON; NULL where there is no such key. */
static const char *find_value(const char *json, const char *key) {
    const size_t length = strlen(key);
    for (const char *at = strchr(json, '"'); at; at = strchr(at + 1, '"')) {
        if (strncmp(at + 1, key, length) != 0 || at[length + 1] != '"') continue;
        const char *value = at + length + 2;
        value += strspn(value, " \t\r\n");
        if (*value == ':') return value + 1 + strspn(value + 1, " \t\r\n");
    }
    return NULL;
}

static bool get_number(const char *json, const char *path, const char *key, double least,
                       double most, double *number) {
    const char *const value = find_value(json, key);
    char *end;
    if (!value) return fail("%s: there is no \"%s\"", path, key);
    *number = strtod(value, &end);
    if (end != value && *number >= least && *number <= most) return true;
    return fail("%s: \"%s\" is no number from %g to %g", path, key, least, most);
}

static bool get_size(const char *json, const char *path, const char *key, int64_t *size) {
    enum { MOST = 1 << 24 };
    const char *const value = find_value(json, key);
    if (!value) return fail("%s: there is no \"%s\"", path, key);
    *size = strtoll(value, NULL, 10);
    if (*size >= 1 && *size <= MOST) return true;
    return fail("%s: \"%s\" is no whole number from 1 to %d", path, key, MOST);
}

static bool expect_text(const char *json, const char *path, const char *key, const char *text) {
    const char *const value = find_value(json, key);
    const size_t length = strlen(text);
    if (value && value[0] == '"' && strncmp(value + 1, text, length) == 0 &&
        value[length + 1] == '"')
        return true;
    return fail("%s: \"%s\" is not \"%s\", and this program knows nothing else", path, key, text);
}

static bool parse_config(const char *json, const char *path, config *c) {
    if (!expect_text(json, path, "model_type", "bert") ||
        !expect_text(json, path, "hidden_act", "gelu") ||
        !get_size(json, path, "hidden_size", &c->hidden) ||
        !get_size(json, path, "num_hidden_layers", &c->layers) ||
        !get_size(json, path, "num_attention_heads", &c->heads) ||
        !get_size(json, path, "intermediate_size", &c->intermediate) ||
        !get_size(json, path, "vocab_size", &c->vocabulary) ||
        !get_size(json, path, "max_position_embeddings", &c->positions) ||
        !get_number(json, path, "layer_norm_eps", 0, 1, &c->epsilon))
        return false;
    if (c->hidden % c->heads)
        return fail("%s: %lld heads do not divide %lld", path, (long long)c->heads,
                    (long long)c->hidden);
    c->most_tokens = c->positions;
    return true;
}

bool config_read(const char *folder, config *c) {
    char path[4096];
    size_t size;
    snprintf(path, sizeof path, "%s/config.json", folder);
    char *json = read_file(path, &size);
    bool good = json && parse_config(json, path, c);
    free(json);
    if (!good) return false;

    snprintf(path, sizeof path, "%s/sentence_bert_config.json", folder);
    FILE *const there = fopen(path, "rb");
    if (!there) return true;
    fclose(there);
    json = read_file(path, &size);
    good = json && get_size(json, path, "max_seq_length", &c->most_tokens);
    free(json);
    if (good && (c->most_tokens < 2 || c->most_tokens > c->positions))
        return fail("%s: \"max_seq_length\" is not from 2 to %lld", path, (long long)c->positions);
    return good;
}

/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* A small random model in a folder, read from there and compared with float64, on the default device.
 * Usage: encoder FOLDER, which is there and where the model stays */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cases/encoder_reference.h"
#include "common.h"
#include "encode.h"
#include "vocabulary.h"

static const char *const vocabulary[] = {VOCABULARY};
/* More sentences than one batch has, of which the later ones are the first again. */
enum { WORDS = sizeof vocabulary / sizeof *vocabulary, DISTINCT = 47, SENTENCES = 300, MOST = 40 };

static const config sizes = {.hidden = 48,
                             .layers = 2,
                             .heads = 3,
                             .intermediate = 96,
                             .vocabulary = WORDS,
                             .positions = 64,
                             .most_tokens = MOST,
                             .epsilon = 1e-12};

static FILE *create(const char *folder, const char *name) {
    char path[4096];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *const file = fopen(path, "w");
    if (!file) abort();
    return file;
}

static void write_texts(const char *folder) {
    FILE *file = create(folder, "vocab.txt");
    for (size_t i = 0; i < WORDS; i++)
        fprintf(file, "%s\n", vocabulary[i]);
    fclose(file);
    file = create(folder, "config.json");
    fprintf(file,
            "{\"model_type\": \"bert\", \"hidden_act\" : \"gelu\", \"hidden_size\": %" PRId64
            ", \"num_hidden_layers\": %" PRId64 ",\n \"num_attention_heads\": %" PRId64
            ", \"intermediate_size\": %" PRId64 ", \"vocab_size\":%" PRId64
            ", \"max_position_embeddings\": %" PRId64 ", \"layer_norm_eps\": %g}\n",
            sizes.hidden, sizes.layers, sizes.heads, sizes.intermediate, sizes.vocabulary,
            sizes.positions, sizes.epsilon);
    fclose(file);
    file = create(folder, "sentence_bert_config.json");
    fprintf(file, "{\"max_seq_length\": %d}\n", MOST);
    fclose(file);
}

static bool check(bool right, const char *what) {
    if (!right) printf("wrong: %s\n", what);
    return right;
}

/* Made-up sentences of 2 to MOST tokens, in no order of length, some of which are equal. */
static void make_lists(token_lists *lists, size_t *starts, int32_t *ids) {
    *lists = (token_lists){SENTENCES, starts, ids};
    for (size_t i = 0, at = 0; i <= SENTENCES; i++) {
        const size_t which = i % DISTINCT, length = which == 3 ? MOST : 2 + (which * 13) % 23;
        unsigned state = 7 + (unsigned)which;
        starts[i] = at;
        for (size_t j = 0; i < SENTENCES && j < length; j++) {
            state = state * 1664525 + 1013904223;
            ids[at++] = (int32_t)((state >> 16) % WORDS);
        }
    }
}

static bool compare(tdm_queue *queue, const char *folder, const token_lists *lists,
                    const double *expected, tdm_dtype dtype, double allowed) {
    config c;
    model m;
    tdm_tensor embeddings = {0};
    static float values[SENTENCES * 64];
    if (!config_read(folder, &c) || !model_load(queue, folder, &c, dtype, &m)) return false;
    bool good = check(c.most_tokens == MOST && c.positions == 64 && c.epsilon == 1e-12,
                      "what the folder's JSON says") &&
                ok(encode_all(queue, &m, lists, NULL, &embeddings)) &&
                ok(tdm_to_host(queue, &embeddings, values));
    double largest = 0;
    for (int64_t i = 0; i < SENTENCES * c.hidden; i++) {
        const double error = fabs((double)values[i] - expected[i % (DISTINCT * c.hidden)]);
        if (!(error <= largest)) largest = error;
    }
    printf("%s: largest error %.2e, allowed %.1e\n", tdm_dtype_name(dtype), largest, allowed);
    tdm_tensor_release(&embeddings);
    model_deinit(&m);
    return check(largest <= allowed, "an embedding") && good;
}

static tdm_status run_both(tdm_queue *queue, const model *m, const batch *b, float *calls,
                           float *replayed) {
    tdm_tensor embeddings;
    tdm_graph *graph;
    TRY(tdm_empty(queue, TDM_F32, TDM_SHAPE(b->sentences, m->config.hidden), &embeddings));
    TRY(encode_batch(queue, m, b, &embeddings));
    TRY(tdm_to_host(queue, &embeddings, calls));
    TRY(tdm_graph_create(queue, &graph));
    TRY(tdm_graph_begin(graph));
    TRY(encode_batch(queue, m, b, &embeddings));
    TRY(tdm_graph_end(graph));
    for (int i = 0; i < 3; i++) {
        TRY(tdm_fill(queue, 0, &embeddings));
        TRY(tdm_graph_replay(graph));
    }
    TRY(tdm_to_host(queue, &embeddings, replayed));
    tdm_graph_destroy(graph);
    tdm_tensor_release(&embeddings);
    return TDM_OK;
}

/* A graph of a batch gives the same bits as its calls. */
static bool compare_graph(tdm_queue *queue, const char *folder, const token_lists *lists) {
    static const size_t order[] = {0, 23, 24}; /* two of one length, and one of another */
    static float calls[4 * 64], replayed[4 * 64];
    config c;
    model m;
    batch b;
    if (!config_read(folder, &c) || !model_load(queue, folder, &c, TDM_F32, &m)) return false;
    bool good = ok(batch_init(queue, lists, order, 3, &b));
    if (good) {
        good = ok(run_both(queue, &m, &b, calls, replayed)) &&
               check(memcmp(calls, replayed, 3 * (size_t)c.hidden * sizeof *calls) == 0,
                     "a graph's embeddings");
        batch_deinit(&b);
    }
    model_deinit(&m);
    return good;
}

static bool run(tdm_queue *queue, const char *folder) {
    static size_t starts[SENTENCES + 1];
    static int32_t ids[SENTENCES * MOST];
    static double expected[DISTINCT * 64];
    token_lists lists;
    tdm_state_dict *dict;
    char path[4096];
    make_lists(&lists, starts, ids);
    write_texts(folder);
    snprintf(path, sizeof path, "%s/model.safetensors", folder);
    if (!ok(model_randomize(queue, &sizes, 3, &dict)) || !ok(tdm_save(queue, dict, path, NULL)))
        return false;
    for (size_t i = 0; i < DISTINCT; i++)
        if (!ok(encoder_reference(queue, dict, &sizes, ids + starts[i], starts[i + 1] - starts[i],
                                  expected + i * (size_t)sizes.hidden)))
            return false;
    tdm_state_dict_destroy(dict);
    bool good = compare(queue, folder, &lists, expected, TDM_F32, 1e-6);
    good = compare(queue, folder, &lists, expected, TDM_F16, 2e-3) && good;
    good = compare(queue, folder, &lists, expected, TDM_BF16, 1.5e-2) && good;
    return compare_graph(queue, folder, &lists) && good;
}

int main(int argc, char **argv) {
    tdm_device *device = NULL;
    tdm_queue *queue = NULL;
    bool good = argc == 2 ? true : fail("usage: encoder FOLDER");
    good = good && ok(tdm_device_open(NULL, &device)) && ok(tdm_queue_create(device, 0, &queue)) &&
           run(queue, argv[1]);
    tdm_queue_destroy(queue);
    tdm_device_release(device);
    return good ? 0 : 1;
}

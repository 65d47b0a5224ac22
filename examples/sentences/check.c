/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* Compares with tokens and embeddings that were computed elsewhere. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "common.h"
#include "program.h"

/* A sentence of the file is three lines: the text, its tokens, and its embedding in units of 1e-5. */
enum { LINES = 3 };
static const double unit = 1e-5;

/* How near a cosine has to be to 1, by the digits that a dtype has. */
static double least_cosine(tdm_dtype dtype) {
    return dtype == TDM_F32 ? 0.999999 : dtype == TDM_F16 ? 0.9999 : 0.998;
}

/* How far the tokens are from those of the line: 0 where all are the same. */
static bool same_tokens(const line *l, const int32_t *ids, size_t count) {
    const char *at = l->text;
    for (size_t i = 0; i < count; i++) {
        char *end;
        if (strtol(at, &end, 10) != ids[i] || end == at) return false;
        at = end;
    }
    return at == l->text + l->size;
}

/* The cosine of the angle between the line's numbers and x; NaN where it has another number of them. */
static double cosine(const line *l, const float *x, int64_t count) {
    double dot = 0, mine = 0, theirs = 0;
    const char *at = l->text;
    for (int64_t i = 0; i < count; i++) {
        char *end;
        const double y = unit * (double)strtol(at, &end, 10);
        if (end == at) return NAN;
        dot += (double)x[i] * y;
        mine += (double)x[i] * (double)x[i];
        theirs += y * y;
        at = end;
    }
    return at == l->text + l->size ? dot / sqrt(mine * theirs) : NAN;
}

static bool compare(const options *o, session *s, const corpus *c) {
    const size_t count = c->count / LINES;
    const int64_t hidden = s->config.hidden;
    double least = 1;
    for (size_t i = 0; i < count; i++) {
        const line *const lines = c->lines + LINES * i;
        corpus one = {0};
        tdm_tensor embedding = {0};
        float *const x = malloc((size_t)hidden * sizeof *x);
        bool good = x ? true : fail("out of memory");
        if (good)
            good = corpus_of(lines->text, lines->size, o->files[0], s->tokenizer,
                             (size_t)s->config.most_tokens, &one) &&
                   ok(encode_all(s->queue, &s->model, &one.tokens, NULL, &embedding)) &&
                   ok(tdm_to_host(s->queue, &embedding, x));
        if (good && !same_tokens(lines + 1, one.tokens.ids, one.tokens.starts[1]))
            good = fail("%s: other tokens than those of line %zu", o->files[0], LINES * i + 2);
        if (good) {
            const double near = cosine(lines + 2, x, hidden);
            if (!(near >= least)) least = near;
        }
        tdm_tensor_release(&embedding);
        corpus_deinit(&one);
        free(x);
        if (!good) return false;
    }
    if (!(least >= least_cosine(o->dtype)))
        return fail("%s: an embedding's cosine is %.9f, less than %g", o->files[0], least,
                    least_cosine(o->dtype));
    printf("%s, %s: %zu sentences have the expected tokens, and embeddings of a cosine of %.9f at "
           "least\n",
           tdm_device_get_info(s->device)->id, tdm_dtype_name(o->dtype), count, least);
    return true;
}

bool run_check(const options *o, session *s) {
    corpus c;
    if (!corpus_read(o->files[0], s->tokenizer, (size_t)s->config.most_tokens, &c)) return false;
    const bool good = c.count % LINES == 0
                          ? compare(o, s, &c)
                          : fail("%s: has not three lines for each sentence", o->files[0]);
    corpus_deinit(&c);
    return good;
}

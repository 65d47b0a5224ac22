/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* The objects of a command. */
#ifndef SENTENCES_PROGRAM_H
#define SENTENCES_PROGRAM_H

#include "corpus.h"

typedef struct options {
    const char *device; /* NULL: the default one */
    const char *folder; /* of the model; NULL: none was given */
    const char *out;    /* where embed writes; NULL: standard output */
    tdm_dtype dtype;
    const char *files[2]; /* the command's arguments */
} options;

/* A model on a device, with its vocabulary. */
typedef struct session {
    tdm_device *device;
    tdm_queue *queue;
    config config;
    tokenizer *tokenizer;
    model model;
} session;

/* Commands: each returns whether all went well, after a line on stderr if not. */
bool run_embed(const options *o, session *s);
bool run_search(const options *o, session *s);
bool run_tokens(const options *o, session *s);
bool run_check(const options *o, session *s);
bool run_bench(const options *o, session *s);

#endif

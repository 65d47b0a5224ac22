/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* A transformer's encoder (BERT, Devlin et al. 2019) that makes a sentence a vector, in float64 and plain loops. */
#ifndef REFERENCE_ENCODER_H
#define REFERENCE_ENCODER_H

#include <stdbool.h>
#include <stdint.h>

/* The weight of a linear layer is [out, in], that of a norm one number a column. */
typedef struct ref_pair {
    const double *weight, *bias;
} ref_pair;

/* The parts of a layer, in the order of their work. */
typedef enum ref_encoder_part {
    REF_QUERY,
    REF_KEY,
    REF_VALUE,
    REF_ATTENDED,
    REF_ATTENDED_NORM,
    REF_UP,
    REF_DOWN,
    REF_DOWN_NORM,
    REF_ENCODER_PARTS
} ref_encoder_part;

typedef struct ref_encoder {
    int64_t layers, hidden, heads, intermediate;
    double epsilon; /* of the norms */
    ref_pair norm;  /* of the embedded tokens */
    const ref_pair (*layer)[REF_ENCODER_PARTS];
} ref_encoder;

/* x, [tokens, hidden], is the sum of what a token and its place are embedded as, and is overwritten. The embedding,
 * [hidden], is the mean of the last layer's rows, divided by its length. False when memory is short. */
bool ref_encode(const ref_encoder *encoder, int64_t tokens, double *x, double *embedding);

#endif

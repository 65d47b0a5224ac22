/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
#ifndef BENCH_ENCODER_REFERENCE_H
#define BENCH_ENCODER_REFERENCE_H

#include "examples/sentences/model.h"

/* The embedding of a sentence in float64, of the weights as a file names them, in f32. */
tdm_status encoder_reference(tdm_queue *queue, const tdm_state_dict *dict, const config *c,
                             const int32_t *ids, size_t tokens, double *embedding);

#endif

/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
#ifndef TESTS_SENTENCES_REFERENCE_H
#define TESTS_SENTENCES_REFERENCE_H

#include "model.h"

/* The embedding of a sentence in float64, of the weights as a file names them. */
void reference_encode(tdm_queue *queue, const tdm_state_dict *dict, const config *c,
                      const int32_t *ids, int64_t tokens, double *embedding);

#endif

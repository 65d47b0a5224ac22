/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* The tokens of the tests' model, a list for an array. */
#ifndef TESTS_SENTENCES_VOCABULARY_H
#define TESTS_SENTENCES_VOCABULARY_H

/* clang-format off */
#define VOCABULARY                                                                                 \
    "[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "a", "cat", "dog", "the", "on", "roof", "sat",   \
    "##s", "##ing", "sleep", ".", "!", "cafe", "猫", "ab", "##ab", "1"
/* clang-format on */

#endif

/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* The measurements of tdm_matmul_tune and tdm_rows_tune on a device, kept in the cache directory. */
#ifndef TDMI_TUNED_H
#define TDMI_TUNED_H

#include "backend.h"
#include "lanes.h"

/* A product, compared and hashed by its bytes: what is not used is 0. */
typedef struct tdmi_tuned_product {
    int64_t m, n, k, batch;
    uint8_t dtype, transpose_a, transpose_b, tf32; /* tf32 of f32 alone */
    uint8_t bias, activation;
    uint8_t reserved[2]; /* no padding */
} tdmi_tuned_product;
_Static_assert(sizeof(tdmi_tuned_product) % sizeof(uint64_t) == 0, "it is hashed by whole words");

/* A product and its fastest provider. */
typedef struct tdmi_tuned {
    tdmi_tuned_product product;
    uint64_t library;                   /* tdmi_library_identity of the provider's; 0: builtin */
    uint8_t provider, algorithm, usual; /* provider, usual: tdmi_blas_id, or TDMI_BLAS_builtin */
    uint8_t reserved[5];
    double seconds, usual_seconds; /* of the provider, and of the one that comes first untuned */
} tdmi_tuned;

typedef struct tdmi_tuned_table {
    tdmi_tuned *records;
    size_t count;
} tdmi_tuned_table;

tdmi_tuned_product tdmi_tuned_product_of(const tdmi_gemm *gemm);

/* The measurements kept for a device at the first call in this process, so that a choice never
 * changes in it; NULL when there are none. Never freed. Any thread. */
const tdmi_tuned_table *tdmi_tuned_of(const char *backend, const tdmi_device_facts *facts);

/* The nearest product that was measured, if it is near enough to tell of this one; else NULL. *exact: it is
 * this very one, so that its algorithm is, too. */
const tdmi_tuned *tdmi_tuned_find(const tdmi_tuned_table *table, const tdmi_gemm *gemm,
                                  bool *exact);

/* Keeps a record for processes that start from now on, in place of one of the same product. False when
 * nothing can be kept. */
bool tdmi_tuned_keep(const char *backend, const tdmi_device_facts *facts, const tdmi_tuned *record);

/* The same of rows; NULL where one lane has a row anyway. */
const tdmi_row_choices *tdmi_tuned_rows_of(const char *backend, const tdmi_device_facts *facts);
bool tdmi_tuned_keep_rows(const char *backend, const tdmi_device_facts *facts,
                          const tdmi_row_choice *choice);

/* Settings of a library for a device: a text under a name, such as "CLBlast f32"; `library` is its
 * tdmi_library_identity. The caller frees what was read, which is NULL when there is none. */
char *tdmi_tuned_read_settings(const char *backend, const tdmi_device_facts *facts,
                               const char *name, uint64_t library);
bool tdmi_tuned_write_settings(const char *backend, const tdmi_device_facts *facts,
                               const char *name, uint64_t library, const char *text);

#endif

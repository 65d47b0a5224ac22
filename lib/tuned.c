/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* The measurements of tdm_matmul_tune and tdm_rows_tune on a device, kept in the cache directory: one entry with its
 * products, one with its rows, and one for the settings of each library that has any. */
#include "tuned.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/env.h"
#include "base/hash.h"
#include "blas_table.h"
#include "kernel_list.h"
#include "machine/cache_entry.h"
#include "platform/machine.h"
#include "platform/process.h"

enum { MOST_RECORDS = 4096 };

/* --- entries of the cache ----------------------------------------------------------------------- */

static void hash_text(void *hash, const char *text) {
    *(uint64_t *)hash = tdmi_hash(*(uint64_t *)hash, text, strlen(text));
}

/* Variables that make libraries use other instructions. */
static uint64_t hash_variables(uint64_t hash) {
    static const char *const names[] = {"ONEDNN_MAX_CPU_ISA", "DNNL_MAX_CPU_ISA",
                                        "OPENBLAS_CORETYPE", "MKL_ENABLE_INSTRUCTIONS",
                                        "BLIS_ARCH_TYPE"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        const char *value = tdmi_environment_get(names[i]);
        if (value)
            hash = tdmi_hash(tdmi_hash(hash, names[i], strlen(names[i])), value, strlen(value) + 1);
    }
    return hash;
}

static tdmi_once machine_once = TDMI_ONCE_INIT;
static uint64_t machine_hash;

static void hash_machine(void) {
    machine_hash = TDMI_HASH_START;
    tdmi_machine_instructions(hash_text, &machine_hash);
    machine_hash = hash_variables(machine_hash);
}

/* `about`: what else an entry depends on. */
static tdmi_cache_key key_of(const char *backend, const tdmi_device_facts *facts, const char *name,
                             const char *about) {
    char kernels[TDMI_CACHE_DEVICE], device[TDMI_CACHE_DEVICE], machine[64];
    tdmi_cache_device(facts, kernels);
    tdmi_cache_measured_device(facts, device);
    tdmi_once_run(&machine_once, hash_machine);
    snprintf(machine, sizeof machine, "%016llx, %d threads", (unsigned long long)machine_hash,
             tdmi_worker_count());
    tdmi_cache_key key = tdmi_cache_key_start();
    key = tdmi_cache_key_add(key, name);
    key = tdmi_cache_key_add(key, backend);
    key = tdmi_cache_key_add(key, kernels);
    key = tdmi_cache_key_add(key, device);
    key = tdmi_cache_key_add(key, about);
    return tdmi_cache_key_add(key, machine);
}

static tdmi_cache_result read_entry(const char *backend, const tdmi_device_facts *facts,
                                    const char *name, const char *about, tdmi_blob *blob) {
    return tdmi_cache_read_kernel(key_of(backend, facts, name, about), blob);
}

static bool write_entry(const char *backend, const tdmi_device_facts *facts, const char *name,
                        const char *about, const tdmi_blob *blob) {
    char device[TDMI_CACHE_DEVICE];
    static const char *const options[] = {NULL};
    const tdmi_program_source source = {.entry = name, .options = options};
    tdmi_cache_measured_device(facts, device);
    const tdmi_cache_about of = {backend, device, &source};
    const tdmi_cache_key key = key_of(backend, facts, name, about);
    tdmi_blob kept;
    tdmi_cache_write_kernel(key, blob, &of);
    const bool same = tdmi_cache_read_kernel(key, &kept) == TDMI_CACHE_GOOD &&
                      kept.size == blob->size && memcmp(kept.data, blob->data, blob->size) == 0;
    tdmi_free(kept.data);
    return same;
}

/* --- products ----------------------------------------------------------------------------------- */

tdmi_tuned_product tdmi_tuned_product_of(const tdmi_gemm *gemm) {
    return (tdmi_tuned_product){.m = gemm->m,
                                .n = gemm->n,
                                .k = gemm->k,
                                .batch = gemm->batch,
                                .dtype = (uint8_t)gemm->dtype,
                                .transpose_a = gemm->transpose_a,
                                .transpose_b = gemm->transpose_b,
                                .tf32 = gemm->dtype == TDM_F32 && gemm->tf32,
                                .bias = gemm->bias ? 1 : 0,
                                .activation = (uint8_t)gemm->activation};
}

/* --- tables -------------------------------------------------------------------------------------- */

/* The file is ours alone and has a checksum, and yet nothing in it is used as an index unseen. */
static bool is_sound_product(const void *record) {
    const tdmi_tuned *r = record;
    const tdmi_tuned_product *p = &r->product;
    return p->m > 0 && p->n > 0 && p->k > 0 && p->batch > 0 && r->provider <= TDMI_BLAS_builtin &&
           r->usual <= TDMI_BLAS_builtin;
}

/* Whether a device can take rows so is asked of each row (lanes.c). */
static bool is_sound_choice(const void *record) {
    const tdmi_row_choice *choice = record;
    return choice->kernel < TDMI_KERNEL_COUNT && choice->groups > 0;
}

static int compare_products(const void *left, const void *right) {
    const tdmi_tuned *a = left, *b = right;
    return memcmp(&a->product, &b->product, sizeof a->product);
}

/* Of the layout of records, and of the names in TANDEM_BLAS: what was measured among these is for programs
 * that have the same ones. */
static const char *about_products(char text[256]) {
    const char *names = tdmi_env_values()->blas_text;
    snprintf(text, 256, "layout 1|%.200s", names ? names : "");
    return text;
}

static const char *about_rows(char text[256]) { return strcpy(text, "layout 1"); }

/* A kind of records; an entry has a table of each. compare is 0 for two of the same thing. */
typedef struct tuned_kind {
    const char *name;
    size_t size;
    bool (*is_sound)(const void *record);
    int (*compare)(const void *left, const void *right);
    const char *(*about)(char text[256]);
} tuned_kind;

static const tuned_kind products = {"tuned products", sizeof(tdmi_tuned), is_sound_product,
                                    compare_products, about_products};
static const tuned_kind rows = {"tuned rows", sizeof(tdmi_row_choice), is_sound_choice,
                                tdmi_compare_row_choices, about_rows};

typedef struct kept_records {
    char *records; /* malloc'ed, so aligned */
    size_t count;
} kept_records;

static tdmi_cache_result read_table(const tuned_kind *kind, const char *backend,
                                    const tdmi_device_facts *facts, kept_records *read) {
    tdmi_blob blob;
    char about[256];
    *read = (kept_records){NULL, 0};
    const tdmi_cache_result result =
        read_entry(backend, facts, kind->name, kind->about(about), &blob);
    if (result != TDMI_CACHE_GOOD) return result;
    const size_t count = blob.size / kind->size;
    bool good = blob.size % kind->size == 0 && count <= MOST_RECORDS;
    for (size_t i = 0; good && i < count; i++)
        good = kind->is_sound((char *)blob.data + i * kind->size);
    if (good)
        *read = (kept_records){blob.data, count};
    else
        tdmi_free(blob.data);
    return good ? TDMI_CACHE_GOOD : TDMI_CACHE_BAD;
}

/* The tables that were read, each a part of one of these; each stays until the process ends. */
typedef struct loaded {
    const tdmi_device_facts *facts;
    const tuned_kind *kind;
    tdmi_tuned_table products;
    tdmi_row_choices rows;
    struct loaded *next;
} loaded;

static loaded *tables;
static bool given_up; /* memory was short once: nothing is loaded later, where choices were made */
static tdmi_mutex lock = TDMI_MUTEX_INIT;

static void load(const char *backend, loaded *made) {
    kept_records read;
    if (read_table(made->kind, backend, made->facts, &read) != TDMI_CACHE_GOOD) return;
    if (made->kind == &products) {
        made->products = (tdmi_tuned_table){(void *)read.records, read.count};
    } else {
        qsort(read.records, read.count, rows.size, rows.compare);
        made->rows = (tdmi_row_choices){(void *)read.records, read.count};
    }
}

static const loaded *loaded_of(const tuned_kind *kind, const char *backend,
                               const tdmi_device_facts *facts) {
    tdmi_mutex_lock(&lock);
    loaded *found = tables;
    while (found && (found->facts != facts || found->kind != kind))
        found = found->next;
    if (!found && !given_up) {
        found = tdmi_calloc(1, sizeof *found);
        given_up = !found;
        if (found) {
            found->facts = facts;
            found->kind = kind;
            load(backend, found);
            found->next = tables;
            tables = found;
        }
    }
    tdmi_mutex_unlock(&lock);
    return found;
}

const tdmi_tuned_table *tdmi_tuned_of(const char *backend, const tdmi_device_facts *facts) {
    const loaded *found = loaded_of(&products, backend, facts);
    return found && found->products.count > 0 ? &found->products : NULL;
}

const tdmi_row_choices *tdmi_tuned_rows_of(const char *backend, const tdmi_device_facts *facts) {
    const loaded *found = tdmi_shares_rows(facts) ? loaded_of(&rows, backend, facts) : NULL;
    return found && found->rows.count > 0 ? &found->rows : NULL;
}

/* Of the records of the same thing the last one stays. Others that may be there and cannot be read are not replaced. */
static bool keep(const tuned_kind *kind, const char *backend, const tdmi_device_facts *facts,
                 const void *record) {
    kept_records old;
    char about[256];
    const size_t size = kind->size;
    tdmi_mutex_lock(&lock); /* the threads of this process; another one's record may be lost */
    const bool known = read_table(kind, backend, facts, &old) != TDMI_CACHE_FAILED;
    char *records = known ? tdmi_malloc((old.count + 1) * size) : NULL;
    size_t count = 0;
    bool kept = false;
    if (records) {
        for (size_t i = 0; i < old.count; i++)
            if (kind->compare(old.records + i * size, record) != 0)
                memcpy(records + count++ * size, old.records + i * size, size);
        if (count >= MOST_RECORDS) memmove(records, records + size, --count * size);
        memcpy(records + count++ * size, record, size);
        const tdmi_blob blob = {records, count * size};
        kept = write_entry(backend, facts, kind->name, kind->about(about), &blob);
    }
    tdmi_free(records);
    tdmi_free(old.records);
    tdmi_mutex_unlock(&lock);
    return kept;
}

bool tdmi_tuned_keep(const char *backend, const tdmi_device_facts *facts,
                     const tdmi_tuned *record) {
    return keep(&products, backend, facts, record);
}

bool tdmi_tuned_keep_rows(const char *backend, const tdmi_device_facts *facts,
                          const tdmi_row_choice *choice) {
    return keep(&rows, backend, facts, choice);
}

/* --- the nearest product --------------------------------------------------------------------------- */

/* How many times as large the one is as the other, as a logarithm. */
static double apart(int64_t a, int64_t b) { return fabs(log2((double)a / (double)b)); }

/* Below 0: the one says nothing of the other. 0: they are the same. Each extent may be twice as large, or
 * half, and the batch eight times, but a vector is no matrix, one matrix no batch, and nothing else than a
 * narrow product runs as one. */
static double distance(const tdmi_tuned_product *r, const tdmi_tuned_product *product,
                       bool narrow) {
    if (r->dtype != product->dtype || r->tf32 != product->tf32 ||
        r->transpose_a != product->transpose_a || r->transpose_b != product->transpose_b ||
        (r->m == 1) != (product->m == 1) || (r->n == 1) != (product->n == 1) ||
        (r->batch == 1) != (product->batch == 1))
        return -1.0;
    const tdmi_gemm gemm = {.m = r->m, .n = r->n, .k = r->k, .batch = r->batch};
    if (tdmi_is_narrow(&gemm) != narrow) return -1.0;
    const double m = apart(r->m, product->m), n = apart(r->n, product->n),
                 k = apart(r->k, product->k), batch = apart(r->batch, product->batch);
    if (m > 1.0 || n > 1.0 || k > 1.0 || batch > 3.0) return -1.0;
    const bool other_end = r->bias != product->bias || r->activation != product->activation;
    return m + n + k + 0.25 * batch + (other_end ? 0.125 : 0.0);
}

const tdmi_tuned *tdmi_tuned_find(const tdmi_tuned_table *table, const tdmi_gemm *gemm,
                                  bool *exact) {
    const tdmi_tuned_product product = tdmi_tuned_product_of(gemm);
    const tdmi_tuned *nearest = NULL;
    const bool narrow = tdmi_is_narrow(gemm);
    double least = 0.0;
    for (size_t i = 0; i < table->count; i++) {
        const double d = distance(&table->records[i].product, &product, narrow);
        if (d < 0.0 || (nearest && d >= least)) continue;
        nearest = &table->records[i];
        least = d;
    }
    *exact = nearest && least == 0.0;
    return nearest;
}

/* --- settings ----------------------------------------------------------------------------------- */

static const char *about_library(uint64_t library, char text[32]) {
    snprintf(text, 32, "%016llx", (unsigned long long)library);
    return text;
}

char *tdmi_tuned_read_settings(const char *backend, const tdmi_device_facts *facts,
                               const char *name, uint64_t library) {
    tdmi_blob blob;
    char about[32];
    if (read_entry(backend, facts, name, about_library(library, about), &blob) != TDMI_CACHE_GOOD)
        return NULL;
    char *text = blob.data;
    if (text[blob.size - 1] == '\0') return text;
    tdmi_free(text);
    return NULL;
}

bool tdmi_tuned_write_settings(const char *backend, const tdmi_device_facts *facts,
                               const char *name, uint64_t library, const char *text) {
    char about[32];
    const tdmi_blob blob = {(void *)text, strlen(text) + 1};
    return write_entry(backend, facts, name, about_library(library, about), &blob);
}

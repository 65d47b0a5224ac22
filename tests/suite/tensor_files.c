/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* Safetensors files: saved and loaded tensors are the same to the bit. For failures see
 * tensor_files_refused.c. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/array.h"
#include "support/folder.h"

static void start(void) {
    device_open();
    folder_make();
}

static void end(void) {
    folder_remove();
    device_close();
}

TestSuite(tensor_files, .init = start, .fini = end, TAGS("device"));

#define SHAPE(...) ((int64_t[]){__VA_ARGS__})
enum { SMALL_BUDGET = 64 << 10 };

/* A random bit pattern in every element: NaN with payloads among them. */
static array *array_of_bits(tdm_dtype dtype, int ndim, const int64_t *shape,
                            const int64_t *strides) {
    array *a = array_new(dtype, ndim, shape, strides);
    for (int64_t i = 0; i < a->count; i++)
        random_bytes(a->image + element_offset(&a->t, i), tdm_dtype_size(dtype));
    OK(tdm_buffer_write(queue, a->t.buffer, 0, a->image, a->bytes));
    return a;
}

/* The elements row-major, as a file has them. */
static unsigned char *packed(const array *a) {
    size_t size = tdm_dtype_size(a->t.dtype);
    unsigned char *bytes = malloc((size_t)a->count * size + 1);
    if (!bytes) abort();
    for (int64_t i = 0; i < a->count; i++)
        memcpy(bytes + (size_t)i * size, a->image + element_offset(&a->t, i), size);
    return bytes;
}

/* The arguments of the progress calls. */
typedef struct moves {
    uint64_t done, total;
    int calls, wrong;
} moves;

static tdm_status note_progress(uint64_t done, uint64_t total, void *user) {
    moves *m = user;
    m->wrong += done < m->done || done > total || (m->calls && total != m->total);
    m->done = done;
    m->total = total;
    m->calls++;
    return TDM_OK;
}

static tdm_file_options noting(moves *m, size_t budget) {
    return (tdm_file_options){
        .size = sizeof(tdm_file_options), .budget = budget, .progress = note_progress, .user = m};
}

static void save(const tdm_state_dict *dict, const char *name, size_t budget) {
    moves m = {0};
    const tdm_file_options options = noting(&m, budget);
    OK(tdm_save(queue, dict, folder_path(name), &options));
    CHECK(!m.wrong && m.done == m.total, "progress ended at %llu of %llu",
          (unsigned long long)m.done, (unsigned long long)m.total);
}

static tdm_state_dict *load(const char *name, size_t budget) {
    moves m = {0};
    tdm_state_dict *dict = NULL;
    const tdm_file_options options = noting(&m, budget);
    OK(tdm_load(queue, folder_path(name), &options, &dict));
    CHECK(!m.wrong && m.done == m.total, "progress ended at %llu of %llu",
          (unsigned long long)m.done, (unsigned long long)m.total);
    return dict;
}

/* The tensor is contiguous, as large as its buffer, and holds these bytes. */
static void check_tensor(const tdm_state_dict *dict, const char *name, tdm_dtype dtype, int ndim,
                         const int64_t *shape, const unsigned char *want) {
    tdm_tensor t;
    if (!OK(tdm_state_dict_get(dict, name, &t))) return;
    bool same = t.dtype == dtype && t.ndim == ndim && t.offset == 0;
    same = same && memcmp(t.shape, shape, (size_t)ndim * sizeof *shape) == 0;
    CHECK(same && tdm_tensor_is_contiguous(&t), "'%s' has another dtype or shape", name);
    size_t size = (size_t)tdm_tensor_get_count(&t) * tdm_dtype_size(t.dtype);
    CHECK(tdm_buffer_get_size(t.buffer) == size, "'%s' has a buffer of %zu bytes, not %zu", name,
          tdm_buffer_get_size(t.buffer), size);
    CHECK(tdm_buffer_get_device(t.buffer) == device, "'%s' is on another device", name);
    unsigned char *got = malloc(size + 1);
    if (!got) abort();
    OK(tdm_buffer_read(queue, t.buffer, 0, got, size));
    CHECK(memcmp(got, want, size) == 0, "'%s' has other bytes", name);
    free(got);
}

/* A byte of elements of this machine, in the order of files. */
static unsigned char in_file(const unsigned char *bytes, size_t i, size_t element) {
    const uint16_t one = 1;
    unsigned char low;
    memcpy(&low, &one, 1);
    return bytes[low ? i : i / element * element + (element - 1 - i % element)];
}

/* The file has these elements, little-endian, where it says that the tensor is. */
static void check_file(const char *path, const char *name, const unsigned char *want, size_t size) {
    tdm_file *file = NULL;
    const tdm_file_entry *entry = NULL;
    size_t whole = 0;
    if (!OK(tdm_file_open(path, &file)) || !OK(tdm_file_find(file, name, &entry))) return;
    unsigned char *bytes = file_read(path, &whole);
    size_t element = tdm_dtype_size(entry->dtype), same = 0;
    if ((size_t)entry->count * element == size && entry->offset + size <= whole)
        while (same < size && bytes[entry->offset + same] == in_file(want, same, element))
            same++;
    CHECK(same == size, "the file has other bytes for '%s'", name);
    free(bytes);
    tdm_file_destroy(file);
}

/* Saves arrays under the names "0", "1" …, checks the file, loads it and checks the tensors. */
static void round_trip(array *const *arrays, int count, size_t budget) {
    tdm_state_dict *dict = NULL, *back = NULL;
    char name[16];
    if (!OK(tdm_state_dict_create(&dict))) return;
    for (int i = 0; i < count; i++) {
        snprintf(name, sizeof name, "%d", i);
        OK(tdm_state_dict_set(dict, name, &arrays[i]->t));
    }
    save(dict, "f", budget);
    back = load("f", budget);
    for (int i = 0; i < count && back; i++) {
        const array *a = arrays[i];
        unsigned char *want = packed(a);
        snprintf(name, sizeof name, "%d", i);
        check_file(folder_path("f"), name, want, (size_t)a->count * tdm_dtype_size(a->t.dtype));
        check_tensor(back, name, a->t.dtype, a->t.ndim, a->t.shape, want);
        ARRAY_SAME(a);
        free(want);
    }
    CHECK(tdm_state_dict_get_count(back) == (size_t)count, "%zu tensors of %d came back",
          tdm_state_dict_get_count(back), count);
    CHECK(folder_holds("f"), "a file was left");
    tdm_state_dict_destroy(dict);
    tdm_state_dict_destroy(back);
}

/* Every dtype; empty tensors; one and six dimensions; tensors of many chunks and many tensors in a
 * chunk. */
Test(tensor_files, round_trip) {
    for (int turn = 0; turn < 2; turn++) {
        array *all[TDM_DTYPE_COUNT * 5 + 1];
        int count = 0;
        size_t budget = turn ? 0 : (size_t)SMALL_BUDGET + (size_t)random_integer(0, 3);
        check_case("a budget of %zu bytes", budget);
        for (int d = 0; d < TDM_DTYPE_COUNT; d++) {
            const tdm_dtype dtype = (tdm_dtype)d;
            all[count++] = array_of_bits(dtype, 1, SHAPE(random_integer(20000, 40000)), NULL);
            all[count++] = array_of_bits(dtype, 2, SHAPE(0, 4), NULL);
            all[count++] = array_of_bits(dtype, 6, SHAPE(2, 1, 3, 2, 2, 3), NULL);
            all[count++] = array_of_bits(dtype, 2, SHAPE(3, 5), NULL);
            all[count++] = array_of_bits(dtype, 1, SHAPE(1), NULL);
        }
        /* more than one worker's share */
        all[count++] = array_of_bits(TDM_I32, 1, SHAPE(simulator ? 1000 : 1200007), NULL);
        round_trip(all, count, budget);
        array_free_all();
    }
    round_trip(NULL, 0, 0);
}

/* Views with gaps, transposed, repeated: packed row-major, and to the bit. */
Test(tensor_files, views) {
    for (int d = 0; d < TDM_DTYPE_COUNT; d++) {
        const tdm_dtype dtype = (tdm_dtype)d;
        check_case("views of %s", tdm_dtype_name(dtype));
        array *all[] = {
            array_of_bits(dtype, 2, SHAPE(30, 70), SHAPE(73, 1)),
            array_of_bits(dtype, 2, SHAPE(70, 30), SHAPE(1, 73)),
            array_of_bits(dtype, 1, SHAPE(100), SHAPE(3)),
            array_of_bits(dtype, 3, SHAPE(4, 5, 6), SHAPE(0, 6, 1)),
            array_of_bits(dtype, 1, SHAPE(9), SHAPE(0)),
            array_of_bits(dtype, 2, SHAPE(1, 8), SHAPE(INT64_MAX / 2, 2)),
            array_of_bits(dtype, 6, SHAPE(3, 2, 1, 4, 2, 5), SHAPE(1, 400, 7, 100, 50, 10)),
            array_of_bits(dtype, 2, SHAPE(200, small ? 15 : 150), SHAPE(1, 200)),
            array_of_bits(dtype, 1, SHAPE(5), NULL),
        };
        round_trip(all, (int)(sizeof all / sizeof *all), SMALL_BUDGET);
        array_free_all();
    }
}

/* A scalar is [1] in memory and [] in its file, again and again, until it is replaced. */
Test(tensor_files, scalars) {
    static const char header[] =
        "{\"one\":{\"dtype\":\"F64\",\"shape\":[1],\"data_offsets\":[0,8]},"
        "\"step\":{\"dtype\":\"F64\",\"shape\":[],\"data_offsets\":[8,16]}} ";
    size_t size = 0, again = 0;
    unsigned char *bytes = safetensors_bytes(header, NULL, 16, &size);
    file_write(folder_path("f"), bytes, size);
    tdm_state_dict *dict = load("f", 0);
    if (!dict) return;
    unsigned char step[8];
    for (size_t i = 0; i < 8; i++)
        step[i] = in_file(bytes + size - 8, i, 8);
    check_tensor(dict, "step", TDM_F64, 1, SHAPE(1), step);
    save(dict, "g", 0);
    unsigned char *saved = file_read(folder_path("g"), &again);
    CHECK(saved && strstr((char *)saved + 8, "\"step\":{\"dtype\":\"F64\",\"shape\":[],") &&
              strstr((char *)saved + 8, "\"one\":{\"dtype\":\"F64\",\"shape\":[1],"),
          "saved as %s", saved ? (char *)saved + 8 : "nothing");
    CHECK(saved && (again - 8) % 8 == 0, "the header is not padded");
    tdm_tensor t;
    OK(tdm_state_dict_get(dict, "step", &t));
    OK(tdm_state_dict_set(dict, "step", &t));
    save(dict, "g", 0);
    free(saved);
    saved = file_read(folder_path("g"), &again);
    CHECK(saved && !strstr((char *)saved + 8, "[],"), "a replaced scalar is still a scalar");
    tdm_file *file = NULL;
    const tdm_file_entry *entry = NULL;
    OK(tdm_file_open(folder_path("f"), &file));
    OK(tdm_file_find(file, "step", &entry));
    CHECK(entry && entry->ndim == 0 && entry->count == 1, "the entry of a scalar");
    tdm_file_destroy(file);
    tdm_state_dict_destroy(dict);
    free(saved);
    free(bytes);
}

/* Elements that begin anywhere, as others write them: a piece may end inside of one. */
Test(tensor_files, unaligned) {
    enum { COUNT = 20000, SIZE = 3 + 8 * COUNT };
    static const char header[] =
        "{\"a\":{\"dtype\":\"U8\",\"shape\":[3],\"data_offsets\":[0,3]},"
        "\"b\":{\"dtype\":\"I64\",\"shape\":[20000],\"data_offsets\":[3,160003]}}";
    unsigned char *data = malloc(SIZE), *want = malloc(SIZE);
    if (!data || !want) abort();
    random_bytes(data, SIZE);
    for (size_t i = 3; i < SIZE; i++)
        want[i] = in_file(data + 3, i - 3, 8);
    size_t size = 0;
    unsigned char *bytes = safetensors_bytes(header, data, SIZE, &size);
    file_write(folder_path("f"), bytes, size);
    tdm_state_dict *dict = load("f", SMALL_BUDGET);
    if (dict) {
        check_tensor(dict, "a", TDM_U8, 1, SHAPE(3), data);
        check_tensor(dict, "b", TDM_I64, 1, SHAPE(COUNT), want + 3);
    }
    tdm_state_dict_destroy(dict);
    free(bytes);
    free(data);
    free(want);
}

/* Names and metadata of any text; the order of the file. */
Test(tensor_files, texts) {
    static const char header[] =
        "{\"__metadata__\":{\"a\":\"\",\"format\":\"pt\",\"\xc3\xa9\\n\":\"\xf0\x9f\x99\x82 "
        "\\\"\\\\/\\u0001\\u001f\"},"
        "\"z\":{\"dtype\":\"I64\",\"shape\":[1],\"data_offsets\":[0,8]},"
        "\"b\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[8,12]},"
        "\"e\":{\"dtype\":\"F32\",\"shape\":[0],\"data_offsets\":[12,12]},"
        "\"\\t\xe2\x82\xac\\\"\":{\"dtype\":\"I32\",\"shape\":[1],\"data_offsets\":[12,16]},"
        "\"a\":{\"dtype\":\"U8\",\"shape\":[2,1],\"data_offsets\":[16,18]}}";
    char padded[sizeof header + 8];
    snprintf(padded, sizeof padded, "%-*s", (int)((sizeof header - 1 + 7) / 8 * 8), header);
    size_t size = 0, again = 0;
    unsigned char *bytes = safetensors_bytes(padded, NULL, 18, &size);
    file_write(folder_path("f"), bytes, size);
    tdm_state_dict *dict = load("f", 0);
    if (!dict) return;
    static const char *const names[] = {"z", "b", "e", "\t\xe2\x82\xac\"", "a"};
    for (size_t i = 0; i < 5; i++) {
        const char *name = NULL;
        tdm_tensor t;
        OK(tdm_state_dict_get_item(dict, i, &name, &t));
        CHECK(name && strcmp(name, names[i]) == 0, "item %zu is '%s'", i, name);
    }
    const char *value = tdm_state_dict_get_metadata(dict, "\xc3\xa9\n");
    CHECK(value && strcmp(value, "\xf0\x9f\x99\x82 \"\\/\1\x1f") == 0, "metadata: %s", value);
    CHECK(tdm_state_dict_get_metadata_count(dict) == 3, "not three texts");
    save(dict, "g", 0);
    unsigned char *saved = file_read(folder_path("g"), &again);
    CHECK(saved && again == size && memcmp(saved, bytes, size) == 0,
          "what was written in the canonical order comes back otherwise: %s",
          saved ? (char *)saved + 8 : "");
    tdm_file *file = NULL;
    const tdm_file_entry *entry = NULL;
    OK(tdm_file_open(folder_path("f"), &file));
    CHECK(tdm_file_get_count(file) == 5, "not five entries");
    OK(tdm_file_get_item(file, 4, &entry));
    CHECK(entry && strcmp(entry->name, "a") == 0 && entry->ndim == 2 && entry->shape[0] == 2 &&
              entry->dtype == TDM_U8 && entry->offset == size - 2,
          "the last entry");
    value = tdm_file_get_metadata(file, "format");
    CHECK(value && strcmp(value, "pt") == 0 && !tdm_file_get_metadata(file, "x"), "metadata");
    tdm_file_destroy(file);
    tdm_state_dict_destroy(dict);
    free(saved);
    free(bytes);
}

/* Any part of a tensor into the middle of a buffer: those elements and no byte around them. */
Test(tensor_files, parts) {
    enum { COUNT = 100000 };
    array *x = array_of_bits(TDM_F32, 1, SHAPE(COUNT), NULL);
    array *h = array_of_bits(TDM_U8, 1, SHAPE(COUNT), NULL);
    tdm_state_dict *dict = NULL;
    if (!OK(tdm_state_dict_create(&dict))) return;
    OK(tdm_state_dict_set(dict, "x", &x->t));
    OK(tdm_state_dict_set(dict, "h", &h->t));
    save(dict, "f", 0);
    tdm_state_dict_destroy(dict);
    tdm_file *file = NULL;
    if (!OK(tdm_file_open(folder_path("f"), &file))) return;
    for (int i = 0; i < 20; i++) {
        const array *source = i % 2 ? x : h;
        const size_t element = tdm_dtype_size(source->t.dtype);
        int64_t first = random_integer(0, COUNT), count = random_integer(0, COUNT - first);
        if (i < 2) first = 0, count = COUNT;
        if (i == 2) first = COUNT, count = 0;
        check_case("elements %lld to %lld", (long long)first, (long long)(first + count));
        const tdm_file_entry *entry = NULL;
        OK(tdm_file_find(file, i % 2 ? "x" : "h", &entry));
        array *y = array_new(source->t.dtype, 1, &count, NULL);
        moves m = {0};
        const tdm_file_options options = noting(&m, i % 3 ? SMALL_BUDGET : 0);
        OK(tdm_file_read(queue, file, entry, first, count, &options, &y->t));
        CHECK(!m.wrong && m.done == (uint64_t)count * element, "progress");
        unsigned char *want = packed(source);
        memcpy(y->image + (size_t)y->t.offset * element, want + (size_t)first * element,
               (size_t)count * element);
        ARRAY_SAME(y);
        free(want);
    }
    tdm_file_destroy(file);
}

/* Work queued before is seen by a save, and comes before a read. */
Test(tensor_files, queue_order) {
    const int64_t count = small ? 1 << 14 : 1 << 18;
    array *x = array_1d(TDM_F32, count), *y = array_1d(TDM_F32, count);
    tdm_state_dict *dict = NULL;
    if (!OK(tdm_state_dict_create(&dict))) return;
    OK(tdm_state_dict_set(dict, "x", &x->t));
    OK(tdm_fill(queue, 1.0, &x->t));
    OK(tdm_scale(queue, 3.0, &x->t, &x->t));
    save(dict, "f", SMALL_BUDGET);
    tdm_file *file = NULL;
    const tdm_file_entry *entry = NULL;
    OK(tdm_file_open(folder_path("f"), &file));
    OK(tdm_file_find(file, "x", &entry));
    OK(tdm_fill(queue, 5.0, &y->t));
    OK(tdm_file_read(queue, file, entry, 0, count, NULL, &y->t));
    ARRAY_CHECK(y, numbers_of(count, 3.0), NULL);
    tdm_file_destroy(file);
    tdm_state_dict_destroy(dict);
}

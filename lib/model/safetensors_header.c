/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* The header of a safetensors file, from text that is not trusted. */
#include "safetensors.h"

#include <stdlib.h>
#include <string.h>

#include <jansson.h>

#include "base/memory.h"

/* The format's own limit on the header. */
static const uint64_t MAX_HEADER = 100000000;
/* Tensors are limited so (tdmi_tensor_check), empty ones too. */
static const int64_t MAX_PRODUCT = (int64_t)1 << 58;
/* Root, tensor, array: three levels are all that a valid header needs. */
enum { MAX_DEPTH = 4 };

typedef struct parser {
    const char *path, *text;
    size_t size;
    uint64_t data_size; /* bytes after the header */
} parser;

static bool parse_dtype(const char *text, tdm_dtype *dtype) {
#define TRY(NAME, name, size, kind)                                                                \
    if (strcmp(text, #NAME) == 0) {                                                                \
        *dtype = TDM_##NAME;                                                                       \
        return true;                                                                               \
    }
    TDM_DTYPE_LIST(TRY)
#undef TRY
    return false;
}

/* Walks over the text as far as brackets and strings go, up to the index-th key of the outermost
 * object. Returns where that key begins, or where the nesting becomes deeper than MAX_DEPTH; size
 * when neither comes. */
static size_t scan(const char *text, size_t size, size_t index, int *depth) {
    size_t keys = 0;
    bool expect_key = false;
    *depth = 0;
    for (size_t i = 0; i < size; i++) {
        char c = text[i];
        if (c == '"') {
            if (*depth == 1 && expect_key && keys++ == index) return i;
            expect_key = false;
            for (i++; i < size && text[i] != '"'; i++)
                if (text[i] == '\\') i++;
        } else if (c == '{' || c == '[') {
            if (++*depth > MAX_DEPTH) return i;
            expect_key = *depth == 1;
        } else if (c == '}' || c == ']') {
            --*depth;
        } else if (c == ',' && *depth == 1) {
            expect_key = true;
        }
    }
    return size;
}

/* Where the index-th entry stands in the file. jansson keeps the order of the text. */
static unsigned long long place(const parser *p, size_t index) {
    int depth;
    return TDMI_HEADER_PREFIX + scan(p->text, p->size, index, &depth);
}

/* Fails, naming the file, the entry and where in the file it stands. */
#define REFUSE(p, name, index, format, ...)                                                        \
    tdmi_fail(TDM_ERROR_IO, "%s: header, byte %llu: '%.100s'" format, (p)->path, place(p, index),  \
              name, __VA_ARGS__)

/* jansson recurses; a bomb of brackets is refused before it gets there. */
static tdm_status check_depth(const parser *p) {
    int depth;
    size_t at = scan(p->text, p->size, SIZE_MAX, &depth);
    if (depth > MAX_DEPTH)
        return tdmi_fail(TDM_ERROR_IO, "%s: header, byte %zu: nested deeper than %d levels",
                         p->path, TDMI_HEADER_PREFIX + at, MAX_DEPTH);
    return TDM_OK;
}

static tdm_status parse_shape(const parser *p, size_t index, const json_t *shape,
                              tdm_file_entry *entry) {
    if (!json_is_array(shape))
        return REFUSE(p, entry->name, index, ": %s", "shape is not an array");
    size_t ndim = json_array_size(shape);
    if (ndim > TDM_MAX_DIMS)
        return REFUSE(p, entry->name, index, " has %zu dimensions, allowed are 0 to %d", ndim,
                      TDM_MAX_DIMS);
    entry->ndim = (int)ndim;
    entry->count = 1;
    bool empty = false, overflow = false;
    for (size_t i = 0; i < ndim; i++) {
        const json_t *item = json_array_get(shape, i);
        if (!json_is_integer(item) || json_integer_value(item) < 0)
            return REFUSE(p, entry->name, index, ": shape[%zu] is not a whole number of 0 or more",
                          i);
        entry->shape[i] = (int64_t)json_integer_value(item);
        if (entry->shape[i] == 0)
            empty = true;
        else if (__builtin_mul_overflow(entry->count, entry->shape[i], &entry->count))
            overflow = true;
    }
    if (overflow || entry->count >= MAX_PRODUCT)
        return REFUSE(p, entry->name, index, ": %s",
                      "the product of its shape, zeros left out, is 2^58 or more");
    if (empty) entry->count = 0;
    return TDM_OK;
}

/* offset becomes that from the start of the data; end is kept by count and dtype. */
static tdm_status parse_offsets(const parser *p, size_t index, const json_t *offsets,
                                tdm_file_entry *entry) {
    const json_t *first = json_array_get(offsets, 0), *second = json_array_get(offsets, 1);
    if (json_array_size(offsets) != 2 || !json_is_integer(first) || !json_is_integer(second))
        return REFUSE(p, entry->name, index, ": %s",
                      "data_offsets is not an array of two whole numbers");
    json_int_t begin = json_integer_value(first), end = json_integer_value(second);
    if (begin < 0 || end < begin || (uint64_t)end > p->data_size)
        return REFUSE(p, entry->name, index,
                      ": data_offsets [%lld, %lld] lie outside the data, which has %llu bytes",
                      (long long)begin, (long long)end, (unsigned long long)p->data_size);
    int64_t bytes, element = (int64_t)tdm_dtype_size(entry->dtype);
    if (__builtin_mul_overflow(entry->count, element, &bytes) || bytes != end - begin)
        return REFUSE(p, entry->name, index,
                      " has %lld bytes of data, but its shape has %lld elements of %lld",
                      (long long)(end - begin), (long long)entry->count, (long long)element);
    entry->offset = (uint64_t)begin;
    return TDM_OK;
}

#define SPACE_NAME(NAME, name, bytes, kind) " " #NAME

static tdm_status parse_entry(const parser *p, size_t index, json_t *value, tdm_file_entry *entry) {
    const char *name = entry->name;
    if (!json_is_object(value)) return REFUSE(p, name, index, " is not an %s", "object");
    if (!*name) return REFUSE(p, name, index, " is %s", "an empty name");
    const char *dtype = json_string_value(json_object_get(value, "dtype"));
    if (!dtype) return REFUSE(p, name, index, ": its dtype is %s", "missing or not a string");
    if (!parse_dtype(dtype, &entry->dtype))
        return REFUSE(p, name, index,
                      ": its dtype is %.20s, it must be one of" TDM_DTYPE_LIST(SPACE_NAME), dtype);
    TDMI_TRY(parse_shape(p, index, json_object_get(value, "shape"), entry));
    return parse_offsets(p, index, json_object_get(value, "data_offsets"), entry);
}

static tdm_status check_metadata(const parser *p, size_t index, json_t *metadata) {
    if (json_is_null(metadata)) return TDM_OK;
    if (!json_is_object(metadata))
        return REFUSE(p, "__metadata__", index, " is not an %s", "object");
    const char *key;
    json_t *value;
    json_object_foreach(metadata, key, value) {
        if (!json_is_string(value))
            return REFUSE(p, "__metadata__", index, ": the value of '%.100s' is not a string", key);
    }
    return TDM_OK;
}

static uint64_t bytes_of(const tdm_file_entry *entry) {
    return (uint64_t)entry->count * tdm_dtype_size(entry->dtype);
}

/* By place; of two at one place the empty one comes first, and of two empty ones the first name. */
static int compare_places(const void *left, const void *right) {
    const tdm_file_entry *a = left, *b = right;
    if (a->offset != b->offset) return a->offset < b->offset ? -1 : 1;
    if (bytes_of(a) != bytes_of(b)) return bytes_of(a) < bytes_of(b) ? -1 : 1;
    return strcmp(a->name, b->name);
}

/* Sorted by place, each tensor must begin where the last one ended. Then the offsets are made to
 * count from the start of the file. */
static tdm_status check_cover(const parser *p, tdmi_header *header) {
    if (header->count > 1)
        qsort(header->entries, header->count, sizeof *header->entries, compare_places);
    const uint64_t data = TDMI_HEADER_PREFIX + p->size;
    uint64_t end = 0;
    const char *before = "";
    for (size_t i = 0; i < header->count; i++) {
        tdm_file_entry *entry = &header->entries[i];
        if (entry->offset < end)
            return tdmi_fail(TDM_ERROR_IO,
                             "%s: byte %llu: '%.100s' overlaps '%.100s', which ends at byte %llu",
                             p->path, (unsigned long long)(data + entry->offset), entry->name,
                             before, (unsigned long long)(data + end));
        if (entry->offset > end)
            return tdmi_fail(TDM_ERROR_IO,
                             "%s: bytes %llu to %llu, in front of '%.100s', belong to no tensor",
                             p->path, (unsigned long long)(data + end),
                             (unsigned long long)(data + entry->offset - 1), entry->name);
        end = entry->offset + bytes_of(entry);
        entry->offset += data;
        before = entry->name;
    }
    if (end != p->data_size)
        return tdmi_fail(TDM_ERROR_IO, "%s: byte %llu: the last %llu bytes belong to no tensor",
                         p->path, (unsigned long long)(data + end),
                         (unsigned long long)(p->data_size - end));
    return TDM_OK;
}

static tdm_status parse_entries(const parser *p, tdmi_header *header) {
    json_t *root = header->json;
    if (!json_is_object(root))
        return tdmi_fail(TDM_ERROR_IO, "%s: header, byte %d: no JSON object", p->path,
                         TDMI_HEADER_PREFIX);
    size_t most = json_object_size(root) + 1, index = 0;
    header->entries = tdmi_calloc(most, sizeof *header->entries);
    header->by_name = tdmi_calloc(most, sizeof *header->by_name);
    if (!header->entries || !header->by_name)
        return tdmi_fail(TDM_ERROR_OUT_OF_MEMORY, "%s: out of host memory for %zu tensors", p->path,
                         most - 1);
    const char *name;
    json_t *value;
    json_object_foreach(root, name, value) {
        if (strcmp(name, "__metadata__") == 0) {
            TDMI_TRY(check_metadata(p, index, value));
        } else {
            header->entries[header->count].name = name;
            TDMI_TRY(parse_entry(p, index, value, &header->entries[header->count]));
            header->count++;
        }
        index++;
    }
    TDMI_TRY(check_cover(p, header));
    for (size_t i = 0; i < header->count; i++)
        header->by_name[i] = &header->entries[i];
    if (header->count > 1)
        qsort(header->by_name, header->count, sizeof *header->by_name, tdmi_compare_name_pointers);
    return TDM_OK;
}

/* The other kind of file that begins so: a clause, or "". */
static const char *other_format(const unsigned char prefix[TDMI_HEADER_PREFIX]) {
    static const struct {
        const char *begin, *clause;
    } formats[] = {{"PK\3\4", ": it is a ZIP archive, as torch.save and numpy.savez write"},
                   {"\200\2", ": it is a pickle of Python, as torch.save wrote"},
                   {"GGUF", ": it is of the format GGUF"},
                   {"\211HDF", ": it is of the format HDF5"},
                   {"version ", ": it is a pointer of Git LFS, which 'git lfs pull' replaces"}};
    for (size_t i = 0; i < sizeof formats / sizeof *formats; i++)
        if (memcmp(prefix, formats[i].begin, strlen(formats[i].begin)) == 0)
            return formats[i].clause;
    return "";
}

tdm_status tdmi_header_size(const char *path, const unsigned char prefix[TDMI_HEADER_PREFIX],
                            uint64_t file_size, uint64_t *size) {
    uint64_t stated = 0;
    for (int i = TDMI_HEADER_PREFIX - 1; i >= 0; i--)
        stated = stated << 8 | prefix[i];
    if (stated > file_size - TDMI_HEADER_PREFIX)
        return tdmi_fail(
            TDM_ERROR_IO,
            "%s is not a safetensors file, or was cut short%s (byte 0: the header is said "
            "to have %llu bytes, but %llu follow)",
            path, other_format(prefix), (unsigned long long)stated,
            (unsigned long long)(file_size - TDMI_HEADER_PREFIX));
    if (stated > MAX_HEADER)
        return tdmi_fail(TDM_ERROR_IO,
                         "%s: byte 0: the header has %llu bytes, allowed are at most %llu", path,
                         (unsigned long long)stated, (unsigned long long)MAX_HEADER);
    *size = stated;
    return TDM_OK;
}

tdm_status tdmi_header_parse(const char *path, const char *text, size_t size, uint64_t file_size,
                             tdmi_header *header) {
    *header = (tdmi_header){.size = size};
    const parser p = {path, text, size, file_size - TDMI_HEADER_PREFIX - size};
    if (size == 0 || text[0] != '{')
        return tdmi_fail(TDM_ERROR_IO,
                         "%s is not a safetensors file: header, byte %d: does not begin with '{'",
                         path, TDMI_HEADER_PREFIX);
    TDMI_TRY(check_depth(&p));
    const char *const nul =
        memchr(text, 0, size); /* jansson takes one after a number for the end of that */
    if (nul)
        return tdmi_fail(TDM_ERROR_IO, "%s: header, byte %zu: a NUL byte", path,
                         TDMI_HEADER_PREFIX + (size_t)(nul - text));
    json_error_t why;
    header->json = json_loadb(text, size, JSON_REJECT_DUPLICATES, &why);
    tdm_status status = header->json
                            ? parse_entries(&p, header)
                            : tdmi_fail(TDM_ERROR_IO, "%s: header, byte %lld: %s", path,
                                        (long long)TDMI_HEADER_PREFIX + why.position, why.text);
    if (status != TDM_OK) tdmi_header_free(header);
    return status;
}

void tdmi_header_free(tdmi_header *header) {
    tdmi_free(header->entries);
    tdmi_free(header->by_name);
    json_decref(header->json);
    *header = (tdmi_header){0};
}

const char *tdmi_header_metadata(const tdmi_header *header, const char *key) {
    const json_t *metadata = json_object_get(header->json, "__metadata__");
    return json_string_value(json_object_get(metadata, key));
}

tdm_status tdmi_header_copy_metadata(const tdmi_header *header, tdm_state_dict *dict) {
    json_t *metadata = json_object_get(header->json, "__metadata__"), *value;
    const char *key;
    json_object_foreach(metadata, key, value) {
        TDMI_TRY(tdm_state_dict_set_metadata(dict, key, json_string_value(value)));
    }
    return TDM_OK;
}

/* ---- building ---- */

/* The order of dtypes in safetensors' Rust enum; the writer puts the last one first. */
static int dtype_rank(tdm_dtype dtype) {
    static const tdm_dtype ascending[] = {TDM_BOOL, TDM_U8,   TDM_I8,  TDM_I16, TDM_U16,
                                          TDM_F16,  TDM_BF16, TDM_I32, TDM_U32, TDM_F32,
                                          TDM_F64,  TDM_I64,  TDM_U64};
    _Static_assert(sizeof ascending / sizeof *ascending == TDM_DTYPE_COUNT, "a dtype has no rank");
    int rank = 0;
    while (ascending[rank] != dtype)
        rank++;
    return rank;
}

static int compare_placed(const void *left, const void *right) {
    const tdmi_dict_item *a = ((const tdmi_placed *)left)->item;
    const tdmi_dict_item *b = ((const tdmi_placed *)right)->item;
    int difference = dtype_rank(b->tensor.dtype) - dtype_rank(a->tensor.dtype);
    return difference ? difference : strcmp(a->node.name, b->node.name);
}

tdm_status tdmi_place_tensors(const tdm_state_dict *dict, tdmi_placed *placed, uint64_t *total) {
    size_t count = tdm_state_dict_get_count(dict);
    for (size_t i = 0; i < count; i++)
        placed[i].item = tdmi_state_dict_at(dict, i);
    if (count > 1) qsort(placed, count, sizeof *placed, compare_placed);
    uint64_t end = 0;
    for (size_t i = 0; i < count; i++) {
        const tdm_tensor *tensor = &placed[i].item->tensor;
        /* Repeated elements (strides of 0) may be more than any memory holds. */
        uint64_t elements = (uint64_t)tdm_tensor_get_count(tensor);
        if (__builtin_mul_overflow(elements, tdm_dtype_size(tensor->dtype), &placed[i].size) ||
            __builtin_add_overflow(end, placed[i].size, &end) || end > INT64_MAX / 2)
            return tdmi_fail(TDM_ERROR_OUT_OF_RANGE, "'%.200s' is too large for a file",
                             placed[i].item->node.name);
        placed[i].begin = end - placed[i].size;
    }
    *total = end;
    return TDM_OK;
}

static json_t *entry_of(const tdmi_placed *placed) {
    static const char *const names[] = {
#define NAME(NAME, name, bytes, kind) #NAME,
        TDM_DTYPE_LIST(NAME)
#undef NAME
    };
    const tdm_tensor *tensor = &placed->item->tensor;
    json_t *shape = json_array();
    for (int i = 0; i < (placed->item->scalar ? 0 : tensor->ndim); i++)
        json_array_append_new(shape, json_integer((json_int_t)tensor->shape[i]));
    return json_pack("{s:s, s:o, s:[I, I]}", "dtype", names[tensor->dtype], "shape", shape,
                     "data_offsets", (json_int_t)placed->begin,
                     (json_int_t)(placed->begin + placed->size));
}

/* Sorted by key, because Python's own order is that of a hash table and differs from run to run. */
static json_t *metadata_of(const tdm_state_dict *dict) {
    size_t count = dict->metadata.count;
    void **sorted = tdmi_malloc(count * sizeof *sorted);
    json_t *object = sorted ? json_object() : NULL;
    if (object) {
        memcpy(sorted, dict->metadata.at, count * sizeof *sorted);
        qsort(sorted, count, sizeof *sorted, tdmi_compare_name_pointers);
        for (size_t i = 0; i < count && object; i++) {
            const tdmi_dict_text *text = sorted[i];
            if (json_object_set_new(object, text->node.name, json_string(text->value)) != 0) {
                json_decref(object);
                object = NULL;
            }
        }
    }
    tdmi_free(sorted);
    return object;
}

/* jansson writes \u001F where serde_json, and so Python's safetensors, writes \u001f. */
static void lower_escapes(char *text, size_t size) {
    for (size_t i = 0; i + 1 < size; i++) {
        if (text[i] != '\\') continue;
        i++;
        for (size_t k = i + 1; text[i] == 'u' && k <= i + 4; k++)
            if (text[k] >= 'A' && text[k] <= 'F') text[k] = (char)(text[k] + ('a' - 'A'));
    }
}

static char *build_text(const json_t *root, size_t *size) {
    size_t length = json_dumpb(root, NULL, 0, JSON_COMPACT);
    /* Padded, so that the data begins at a multiple of 8. */
    size_t padded = (length + 7) / 8 * 8;
    char *text = tdmi_malloc(TDMI_HEADER_PREFIX + padded);
    if (!text || length == 0) {
        tdmi_free(text);
        return NULL;
    }
    for (int i = 0; i < TDMI_HEADER_PREFIX; i++)
        text[i] = (char)(unsigned char)((uint64_t)padded >> (8 * i));
    char *body = text + TDMI_HEADER_PREFIX;
    json_dumpb(root, body, length, JSON_COMPACT);
    lower_escapes(body, length);
    memset(body + length, ' ', padded - length);
    *size = TDMI_HEADER_PREFIX + padded;
    return text;
}

tdm_status tdmi_header_build(const tdm_state_dict *dict, const tdmi_placed *placed, char **text,
                             size_t *size) {
    json_t *root = json_object();
    bool good = root;
    if (good && dict->metadata.count > 0)
        good = json_object_set_new(root, "__metadata__", metadata_of(dict)) == 0;
    for (size_t i = 0; good && i < tdm_state_dict_get_count(dict); i++)
        good = json_object_set_new(root, placed[i].item->node.name, entry_of(&placed[i])) == 0;
    *text = good ? build_text(root, size) : NULL;
    json_decref(root);
    if (!*text) return tdmi_fail(TDM_ERROR_OUT_OF_MEMORY, "out of host memory for the header");
    if (*size - TDMI_HEADER_PREFIX > MAX_HEADER) {
        tdmi_free(*text);
        *text = NULL;
        return tdmi_fail(TDM_ERROR_OUT_OF_RANGE,
                         "the header would have %zu bytes, allowed are at most %llu",
                         *size - TDMI_HEADER_PREFIX, (unsigned long long)MAX_HEADER);
    }
    return TDM_OK;
}

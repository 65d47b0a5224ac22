/* Reading safetensors files: a hostile file must end in a message, never in a read out of bounds.
 */
#include "safetensors.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include <jansson.h>

/* The format's own limit on the header. */
#define MAX_HEADER 100000000u
/* Root, tensor, array: three levels are all that a valid header needs. */
#define MAX_DEPTH 4

typedef struct reader {
    const char *path;
    const unsigned char *data; /* after the header */
    size_t data_size;
    char *error;
    size_t error_size;
} reader;

__attribute__((format(printf, 2, 3))) static bool refuse(const reader *r, const char *format, ...) {
    if (r->error_size == 0) return false;
    int used = snprintf(r->error, r->error_size, "%s: ", r->path);
    if (used < 0 || (size_t)used >= r->error_size) return false;
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(r->error + used, r->error_size - (size_t)used, format, arguments);
    va_end(arguments);
    return false;
}

static const char *const dtype_names = "F32, F64, F16, BF16, I32, I64 and U8";

static bool parse_dtype(const char *text, tdm_dtype *dtype, size_t *bytes) {
#define TRY(NAME, name, size)                                                                      \
    if (strcmp(text, #NAME) == 0) {                                                                \
        *dtype = TDM_##NAME;                                                                       \
        *bytes = size;                                                                             \
        return true;                                                                               \
    }
    TDM_DTYPE_LIST(TRY)
#undef TRY
    return false;
}

/* jansson recurses; a bomb of brackets is refused before it gets there. */
static bool check_depth(const reader *r, const char *header, size_t size) {
    int depth = 0;
    bool in_string = false;
    for (size_t i = 0; i < size; i++) {
        char c = header[i];
        if (in_string) {
            if (c == '\\')
                i++;
            else if (c == '"')
                in_string = false;
        } else if (c == '"') {
            in_string = true;
        } else if (c == '{' || c == '[') {
            if (++depth > MAX_DEPTH)
                return refuse(r, "header: nested deeper than %d levels at byte %zu", MAX_DEPTH, i);
        } else if (c == '}' || c == ']') {
            depth--;
        }
    }
    return true;
}

static bool parse_shape(const reader *r, const char *name, const json_t *shape,
                        safetensors_tensor *tensor) {
    if (!json_is_array(shape)) return refuse(r, "tensor '%s': 'shape' is not an array", name);
    size_t ndim = json_array_size(shape);
    if (ndim > TDM_MAX_DIMS)
        return refuse(r, "tensor '%s': %zu dimensions; at most %d are supported", name, ndim,
                      TDM_MAX_DIMS);
    tensor->ndim = (int)ndim;
    tensor->count = 1;
    bool empty = false, overflow = false;
    for (size_t i = 0; i < ndim; i++) {
        const json_t *item = json_array_get(shape, i);
        if (!json_is_integer(item) || json_integer_value(item) < 0)
            return refuse(r, "tensor '%s': shape[%zu] is not a whole number of 0 or more", name, i);
        tensor->shape[i] = (int64_t)json_integer_value(item);
        if (tensor->shape[i] == 0)
            empty = true;
        else if (tensor->count > INT64_MAX / tensor->shape[i])
            overflow = true;
        else
            tensor->count *= tensor->shape[i];
    }
    if (overflow)
        return refuse(r, "tensor '%s': the product of the shape does not fit 64 bits", name);
    if (empty) tensor->count = 0;
    return true;
}

static bool parse_offsets(const reader *r, const char *name, const json_t *offsets,
                          size_t element_size, safetensors_tensor *tensor) {
    if (!json_is_array(offsets) || json_array_size(offsets) != 2 ||
        !json_is_integer(json_array_get(offsets, 0)) ||
        !json_is_integer(json_array_get(offsets, 1)))
        return refuse(r, "tensor '%s': 'data_offsets' is not an array of two whole numbers", name);
    json_int_t begin = json_integer_value(json_array_get(offsets, 0));
    json_int_t end = json_integer_value(json_array_get(offsets, 1));
    if (begin < 0 || end < begin || (uintmax_t)end > r->data_size)
        return refuse(r,
                      "tensor '%s': data_offsets [%" JSON_INTEGER_FORMAT ", %" JSON_INTEGER_FORMAT
                      "] lie outside the data, which has %zu bytes",
                      name, begin, end, r->data_size);
    tensor->size = (size_t)(end - begin);
    tensor->data = r->data + (size_t)begin;
    if ((uint64_t)tensor->count > SIZE_MAX / element_size ||
        (size_t)tensor->count * element_size != tensor->size)
        return refuse(
            r, "tensor '%s': %zu bytes of data, but its shape has %lld elements of %zu bytes", name,
            tensor->size, (long long)tensor->count, element_size);
    return true;
}

static bool parse_tensor(const reader *r, const char *name, json_t *entry,
                         safetensors_tensor *tensor) {
    if (!json_is_object(entry)) return refuse(r, "tensor '%s' is not an object", name);
    const char *key;
    json_t *value;
    json_object_foreach(entry, key, value) {
        if (strcmp(key, "dtype") != 0 && strcmp(key, "shape") != 0 &&
            strcmp(key, "data_offsets") != 0)
            return refuse(r, "tensor '%s': unknown key '%s'", name, key);
    }
    const char *dtype = json_string_value(json_object_get(entry, "dtype"));
    if (!dtype) return refuse(r, "tensor '%s': 'dtype' is missing or not a string", name);
    size_t element_size = 0;
    if (!parse_dtype(dtype, &tensor->dtype, &element_size))
        return refuse(r, "tensor '%s': dtype '%s' is not supported; %s are", name, dtype,
                      dtype_names);
    tensor->name = name;
    return parse_shape(r, name, json_object_get(entry, "shape"), tensor) &&
           parse_offsets(r, name, json_object_get(entry, "data_offsets"), element_size, tensor);
}

static bool check_metadata(const reader *r, json_t *metadata) {
    if (!json_is_object(metadata)) return refuse(r, "'__metadata__' is not an object");
    const char *key;
    json_t *value;
    json_object_foreach(metadata, key, value) {
        if (!json_is_string(value))
            return refuse(r, "'__metadata__': the value of '%s' is not a string", key);
    }
    return true;
}

static int compare_places(const void *left, const void *right) {
    const safetensors_tensor *a = left, *b = right;
    if (a->data != b->data) return (uintptr_t)a->data < (uintptr_t)b->data ? -1 : 1;
    return a->size < b->size ? -1 : a->size > b->size;
}

/* Sorted by place, each tensor must begin where the last one ended. */
static bool check_cover(const reader *r, safetensors *file) {
    if (file->count > 1) qsort(file->tensors, file->count, sizeof *file->tensors, compare_places);
    size_t end = 0;
    const char *before = NULL;
    for (size_t i = 0; i < file->count; i++) {
        const safetensors_tensor *t = &file->tensors[i];
        size_t begin = (size_t)((const unsigned char *)t->data - r->data);
        if (begin < end)
            return refuse(r, "tensor '%s' at byte %zu overlaps tensor '%s', which ends at %zu",
                          t->name, begin, before, end);
        if (begin > end)
            return refuse(r,
                          "bytes %zu to %zu of the data, before tensor '%s', belong to no tensor",
                          end, begin, t->name);
        end = begin + t->size;
        before = t->name;
    }
    if (end != r->data_size)
        return refuse(r, "the last %zu of %zu data bytes belong to no tensor", r->data_size - end,
                      r->data_size);
    return true;
}

static bool parse_entries(const reader *r, safetensors *file) {
    json_t *root = file->json;
    if (!json_is_object(root)) return refuse(r, "header: not a JSON object");
    size_t entries = json_object_size(root);
    if (entries == 0) return check_cover(r, file);
    file->tensors = calloc(entries, sizeof *file->tensors);
    if (!file->tensors) return refuse(r, "out of memory for %zu tensors", entries);
    const char *name;
    json_t *entry;
    json_object_foreach(root, name, entry) {
        if (strcmp(name, "__metadata__") == 0) {
            if (!check_metadata(r, entry)) return false;
        } else if (!parse_tensor(r, name, entry, &file->tensors[file->count])) {
            return false;
        } else {
            file->count++;
        }
    }
    return check_cover(r, file);
}

static bool parse_all(reader *r, const unsigned char *bytes, size_t size, safetensors *file) {
    if (size < 8)
        return refuse(r, "%zu bytes are too short: a file begins with 8 bytes of header length",
                      size);
    uint64_t header_size = 0;
    for (int i = 7; i >= 0; i--)
        header_size = header_size << 8 | bytes[i];
    if (header_size > size - 8)
        return refuse(r, "the header is said to have %llu bytes, but only %zu follow",
                      (unsigned long long)header_size, size - 8);
    if (header_size > MAX_HEADER)
        return refuse(r, "the header has %llu bytes; at most %u are allowed",
                      (unsigned long long)header_size, MAX_HEADER);
    const char *header = (const char *)bytes + 8;
    if (header_size == 0 || header[0] != '{') return refuse(r, "header: does not begin with '{'");
    r->data = bytes + 8 + header_size;
    r->data_size = size - 8 - (size_t)header_size;
    if (!check_depth(r, header, (size_t)header_size)) return false;
    json_error_t why;
    file->json = json_loadb(header, (size_t)header_size, JSON_REJECT_DUPLICATES, &why);
    if (!file->json) return refuse(r, "header, byte %d: %s", why.position, why.text);
    return parse_entries(r, file);
}

bool safetensors_parse(const void *bytes, size_t size, const char *path, safetensors *file,
                       char *error, size_t error_size) {
    *file = (safetensors){0};
    reader r = {.path = path, .error = error, .error_size = error_size};
    if (error_size > 0) error[0] = '\0';
    if (parse_all(&r, bytes, size, file)) return true;
    safetensors_close(file);
    return false;
}

static void *read_file(const reader *r, size_t *size) {
    FILE *stream = fopen(r->path, "rb");
    if (!stream) {
        refuse(r, "cannot be opened: %s", strerror(errno));
        return NULL;
    }
    struct stat status;
    unsigned char *bytes = NULL;
    if (fstat(fileno(stream), &status) != 0 || !S_ISREG(status.st_mode)) {
        refuse(r, "is not a regular file");
    } else if (!(bytes = malloc((size_t)status.st_size + 1))) {
        refuse(r, "out of memory for %lld bytes", (long long)status.st_size);
    } else {
        *size = fread(bytes, 1, (size_t)status.st_size, stream);
        if (*size != (size_t)status.st_size) {
            refuse(r, "only %zu of %lld bytes could be read", *size, (long long)status.st_size);
            free(bytes);
            bytes = NULL;
        }
    }
    fclose(stream);
    return bytes;
}

bool safetensors_open(const char *path, safetensors *file, char *error, size_t error_size) {
    *file = (safetensors){0};
    reader r = {.path = path, .error = error, .error_size = error_size};
    size_t size = 0;
    void *bytes = read_file(&r, &size);
    if (!bytes) return false;
    if (!safetensors_parse(bytes, size, path, file, error, error_size)) {
        free(bytes);
        return false;
    }
    file->bytes = bytes;
    return true;
}

const safetensors_tensor *safetensors_find(const safetensors *file, const char *name) {
    for (size_t i = 0; i < file->count; i++) {
        if (strcmp(file->tensors[i].name, name) == 0) return &file->tensors[i];
    }
    return NULL;
}

void safetensors_close(safetensors *file) {
    free(file->tensors);
    free(file->bytes);
    json_decref(file->json);
    *file = (safetensors){0};
}

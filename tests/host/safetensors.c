/* The safetensors reader against files that lie. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../examples/digits/safetensors.h"
#include "paths.h"
#include "support/check.h"
#include "support/random.h"

TestSuite(safetensors, .init = random_start);

/* A file in memory: header length (or a lie), header, then `data` bytes. */
static unsigned char *make(uint64_t stated, const char *header, size_t data, size_t *size) {
    size_t length = strlen(header);
    *size = 8 + length + data;
    unsigned char *bytes = calloc(1, *size);
    if (!bytes) abort();
    if (stated == UINT64_MAX - 1) stated = length;
    for (int i = 0; i < 8; i++) {
        bytes[i] = (unsigned char)(stated >> (8 * i));
    }
    memcpy(bytes + 8, header, length);
    for (size_t i = 0; i < data; i++) {
        bytes[8 + length + i] = (unsigned char)i;
    }
    return bytes;
}
enum { HONEST = -2 };

static bool parses(uint64_t stated, const char *header, size_t data, char *error) {
    size_t size = 0;
    unsigned char *bytes = make(stated, header, data, &size);
    safetensors file;
    memset(&file, 0xa5, sizeof file);
    error[0] = '\0';
    bool ok = safetensors_parse(bytes, size, "f.safetensors", &file, error, 512);
    if (!ok) {
        CHECK(error[0] && contains_words(error, "f.safetensors"), "message '%s'", error);
        CHECK(file.count == 0 && !file.tensors, "a refused file is not empty");
    }
    safetensors_close(&file);
    free(bytes);
    return ok;
}

#define T(name, dtype, shape, offsets)                                                             \
    "\"" name "\":{\"dtype\":\"" dtype "\",\"shape\":[" shape "],\"data_offsets\":[" offsets "]}"

/* What is right is accepted, and read as it stands. */
Test(safetensors, accepted) {
    char error[512];
    static const struct {
        const char *header;
        size_t data;
    } good[] = {{"{}", 0},
                {"{" T("a", "F32", "2,3", "0,24") "}", 24},
                {"{" T("a", "F32", "2", "0,8") "," T("b", "U8", "3", "8,11") "}", 11},
                {"{" T("b", "U8", "3", "8,11") "," T("a", "F32", "2", "0,8") "}   ", 11},
                {"{\"__metadata__\":{\"by\":\"a test\"}," T("a", "F64", "", "0,8") "}", 8},
                {"{" T("a", "F16", "0,7", "0,0") "}", 0},
                {"{" T("a", "BF16", "1,1,1,1,1,1", "0,2") "}", 2}};
    for (size_t i = 0; i < sizeof good / sizeof good[0]; i++) {
        check_case("%s", good[i].header);
        CHECK(parses((uint64_t)HONEST, good[i].header, good[i].data, error), "refused: %s", error);
    }
    size_t size = 0;
    unsigned char *bytes = make((uint64_t)HONEST, good[2].header, 11, &size);
    safetensors file;
    CHECK(safetensors_parse(bytes, size, "f", &file, error, sizeof error), "%s", error);
    const safetensors_tensor *b = safetensors_find(&file, "b");
    CHECK(b && b->dtype == TDM_U8 && b->ndim == 1 && b->shape[0] == 3 && b->count == 3 &&
              b->size == 3 && memcmp(b->data, "\10\11\12", 3) == 0,
          "tensor b");
    CHECK(!safetensors_find(&file, "c"), "a tensor that is not there");
    safetensors_close(&file);
    safetensors_close(&file);
    free(bytes);
}

/* Every way in which a file may be malformed: refused, with the file and what is wrong. */
Test(safetensors, refused) {
    char error[512];
    static const struct {
        const char *what, *header;
        size_t data;
        uint64_t stated;
    } bad[] = {
        {"header longer than the file", "{}", 0, 3},
        {"header length of all ones", "{}", 0, UINT64_MAX},
        {"header length that overflows with 8", "{}", 0, UINT64_MAX - 8},
        {"header length 0", "{}", 0, 0},
        {"header cut in the middle", "{" T("a", "F32", "2", "0,8") "}", 8, 20},
        {"no JSON", "hello", 0, (uint64_t)HONEST},
        {"an array", "[]", 0, (uint64_t)HONEST},
        {"text behind the object", "{}x", 0, (uint64_t)HONEST},
        {"a tensor that is a number", "{\"a\":1}", 0, (uint64_t)HONEST},
        {"no dtype", "{\"a\":{\"shape\":[1],\"data_offsets\":[0,4]}}", 4, (uint64_t)HONEST},
        {"no shape", "{\"a\":{\"dtype\":\"F32\",\"data_offsets\":[0,4]}}", 4, (uint64_t)HONEST},
        {"no offsets", "{\"a\":{\"dtype\":\"F32\",\"shape\":[1]}}", 4, (uint64_t)HONEST},
        {"unknown dtype", "{" T("a", "F8_E4M3", "4", "0,4") "}", 4, (uint64_t)HONEST},
        {"dtype of another case", "{" T("a", "f32", "1", "0,4") "}", 4, (uint64_t)HONEST},
        {"dtype that is a number", "{\"a\":{\"dtype\":3,\"shape\":[1],\"data_offsets\":[0,4]}}", 4,
         (uint64_t)HONEST},
        {"offsets behind the file", "{" T("a", "F32", "2", "0,8") "}", 4, (uint64_t)HONEST},
        {"offsets far behind the file",
         "{" T("a", "U8", "1", "9223372036854775806,9223372036854775807") "}", 4, (uint64_t)HONEST},
        {"offsets in reverse", "{" T("a", "F32", "1", "4,0") "}", 4, (uint64_t)HONEST},
        {"negative offsets", "{" T("a", "F32", "1", "-4,0") "}", 4, (uint64_t)HONEST},
        {"fractional offsets", "{" T("a", "F32", "1", "0.0,4.0") "}", 4, (uint64_t)HONEST},
        {"three offsets", "{" T("a", "F32", "1", "0,4,8") "}", 8, (uint64_t)HONEST},
        {"size unlike the shape", "{" T("a", "F32", "3", "0,8") "}", 8, (uint64_t)HONEST},
        {"overlapping tensors", "{" T("a", "F32", "2", "0,8") "," T("b", "F32", "2", "4,12") "}",
         12, (uint64_t)HONEST},
        {"the same bytes twice", "{" T("a", "F32", "2", "0,8") "," T("b", "F32", "2", "0,8") "}", 8,
         (uint64_t)HONEST},
        {"a hole", "{" T("a", "F32", "1", "0,4") "," T("b", "F32", "1", "8,12") "}", 12,
         (uint64_t)HONEST},
        {"bytes that belong to no tensor", "{" T("a", "F32", "1", "0,4") "}", 8, (uint64_t)HONEST},
        {"duplicate names", "{" T("a", "F32", "1", "0,4") "," T("a", "F32", "1", "4,8") "}", 8,
         (uint64_t)HONEST},
        {"duplicate keys",
         "{\"a\":{\"dtype\":\"U8\",\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0,4]}}", 4,
         (uint64_t)HONEST},
        {"negative shape", "{" T("a", "F32", "-1,-1", "0,4") "}", 4, (uint64_t)HONEST},
        {"shape whose product overflows", "{" T("a", "F32", "4294967296,4294967296,4", "0,0") "}",
         0, (uint64_t)HONEST},
        {"shape whose bytes overflow", "{" T("a", "F64", "2305843009213693952", "0,0") "}", 0,
         (uint64_t)HONEST},
        {"too many dimensions", "{" T("a", "U8", "1,1,1,1,1,1,1", "0,1") "}", 1, (uint64_t)HONEST},
        {"shape of text", "{" T("a", "U8", "\"1\"", "0,1") "}", 1, (uint64_t)HONEST},
    };
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        check_case("%s", bad[i].what);
        CHECK(!parses(bad[i].stated, bad[i].header, bad[i].data, error), "accepted");
    }
}

/* Nesting far deeper than any tensor needs: an error, no crash. */
Test(safetensors, depth_bombs) {
    enum { DEPTH = 2000000 };
    char error[512], *header = malloc(2 * DEPTH + 16);
    if (!header) abort();
    for (int kind = 0; kind < 3; kind++) {
        check_case("depth bomb %d", kind);
        if (kind == 0) {
            memset(header, '[', DEPTH);
            header[DEPTH] = '\0';
        } else {
            memcpy(header, "{\"a\":", 6);
            memset(header + 5, '[', DEPTH);
            memset(header + 5 + DEPTH, ']', DEPTH);
            strcpy(header + 5 + 2 * DEPTH, kind == 1 ? "}" : "");
        }
        CHECK(!parses((uint64_t)HONEST, header, 0, error), "accepted");
    }
    free(header);
}

/* Every prefix of a good file is refused, and random damage never crashes. */
Test(safetensors, truncated_and_damaged) {
    char error[512];
    size_t size = 0;
    const char *header =
        "{" T("fc.weight", "F32", "2,3", "0,24") "," T("b", "I64", "1", "24,32") "}";
    unsigned char *bytes = make((uint64_t)HONEST, header, 32, &size), *copy = malloc(size);
    if (!copy) abort();
    safetensors file;
    for (size_t n = 0; n < size; n++) {
        check_case("the first %zu of %zu bytes", n, size);
        /* Exactly n bytes, so that a sanitizer sees a read behind them. */
        unsigned char *part = malloc(n ? n : 1);
        if (!part) abort();
        memcpy(part, bytes, n);
        bool ok = safetensors_parse(part, n, "f", &file, error, sizeof error);
        CHECK(!ok, "accepted");
        safetensors_close(&file);
        free(part);
    }
    for (int i = 0; i < 20000; i++) {
        memcpy(copy, bytes, size);
        for (int k = (int)random_integer(1, 3); k > 0; k--) {
            copy[random_integer(0, (int64_t)size - 1)] = (unsigned char)random_bits();
        }
        check_case("damage %d", i);
        if (safetensors_parse(copy, size, "f", &file, error, sizeof error)) {
            for (size_t t = 0; t < file.count; t++) {
                const unsigned char *data = file.tensors[t].data;
                CHECK(data >= copy && data + file.tensors[t].size <= copy + size,
                      "a tensor outside the file");
            }
        }
        safetensors_close(&file);
    }
    free(bytes);
    free(copy);
}

/* Files that cannot be read; the real ones. */
Test(safetensors, files) {
    char error[512] = "";
    safetensors file;
    CHECK(!safetensors_open("/nonexistent/x.safetensors", &file, error, sizeof error), "opened");
    CHECK(contains_words(error, "/nonexistent/x.safetensors"), "%s", error);
    CHECK(!safetensors_open("/", &file, error, sizeof error), "a folder was opened");
    CHECK(!safetensors_open("/dev/null", &file, error, sizeof error), "an empty file was accepted");
    CHECK(safetensors_open(TEST_SOURCE "/examples/digits/model.safetensors", &file, error,
                           sizeof error),
          "%s", error);
    const safetensors_tensor *w = safetensors_find(&file, "fc1.weight");
    CHECK(w && w->dtype == TDM_F32 && w->ndim == 2 && w->shape[0] == 128 && w->shape[1] == 64,
          "fc1.weight is not 128 x 64 f32");
    safetensors_close(&file);
}

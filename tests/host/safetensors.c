/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* Safetensors files that lie: refused by the library with the file, the byte and what is wrong. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <tandem/tandem.h>

#include "paths.h"
#include "support/check.h"
#include "support/folder.h"
#include "support/random.h"

/* The file under test lies in memory and is opened through /proc, as quick as 20000 of them need.
 */
static int memory;
static char path[64];
static tdm_device *cpu;
static tdm_queue *queue;

static void start(void) {
    random_start();
    memory = memfd_create("f.safetensors", 0);
    if (memory < 0) abort();
    snprintf(path, sizeof path, "/proc/self/fd/%d", memory);
    if (OK(tdm_device_open("cpu", &cpu))) OK(tdm_queue_create(cpu, 0, &queue));
}

static void end(void) {
    tdm_queue_destroy(queue);
    tdm_device_release(cpu);
    close(memory);
}

TestSuite(safetensors, .init = start, .fini = end);

static void fill(const void *bytes, size_t size) {
    if (ftruncate(memory, 0) != 0 || pwrite(memory, bytes, size, 0) != (ssize_t)size) abort();
}

/* Opens what fill wrote; NULL when it is refused, which must name the file and a byte of it. */
static tdm_file *open_filled(void) {
    tdm_file *file = (tdm_file *)(void *)path;
    tdm_status status = tdm_file_open(path, &file);
    if (status == TDM_OK) return file;
    CHECK(status == TDM_ERROR_IO && contains_words(tdm_last_error(), path) &&
              contains_words(tdm_last_error(), "byte"),
          "%s: '%s'", tdm_status_name(status), tdm_last_error());
    CHECK(!file, "the output of a refused call");
    return NULL;
}

enum { HONEST = -2 };

/* A file of this header, whose length is stated so, and `data` bytes. */
static tdm_file *try(uint64_t stated, const char *header, size_t data) {
    size_t size = 0;
    unsigned char *bytes = safetensors_bytes(header, NULL, data, &size);
    for (int i = 0; i < 8 && stated != (uint64_t)HONEST; i++)
        bytes[i] = (unsigned char)(stated >> (8 * i));
    fill(bytes, size);
    free(bytes);
    return open_filled();
}

#define BAD(what, words, header, data)                                                             \
    { what, words, header, data, (uint64_t)HONEST }
#define T(name, dtype, shape, offsets)                                                             \
    "\"" name "\":{\"dtype\":\"" dtype "\",\"shape\":[" shape "],\"data_offsets\":[" offsets "]}"

/* Valid files are accepted, and read as they stand. */
Test(safetensors, accepted) {
    static const struct {
        const char *header;
        size_t data;
    } good[] = {
        {"{}", 0},
        {"{" T("a", "F32", "2,3", "0,24") "}", 24},
        {"{" T("a", "F32", "2", "0,8") "," T("b", "U8", "3", "8,11") "}", 11},
        {"{" T("b", "U8", "3", "8,11") "," T("a", "F32", "2", "0,8") "}   ", 11},
        {"{\"__metadata__\":{\"by\":\"a test\"}," T("a", "F64", "", "0,8") "}", 8},
        {"{" T("a", "F16", "0,7", "0,0") "}", 0},
        {"{" T("a", "F16", "0,288230376151711743", "0,0") "}", 0},
        {"{" T("e", "F16", "0", "8,8") "," T("a", "F32", "2", "0,8") "}", 8},
        {"{" T("a", "BF16", "1,1,1,1,1,1", "0,2") "}", 2},
        {"{\"__metadata__\":{}}", 0},
        {"{\"__metadata__\":null," T("a", "U8", "1", "0,1") "}", 1},
        {"{\"a\":{\"dtype\":\"U8\",\"layout\":{\"x\":[1]},\"shape\":[1],\"data_offsets\":[0,1]}}",
         1}};
    for (size_t i = 0; i < sizeof good / sizeof good[0]; i++) {
        check_case("%s", good[i].header);
        tdm_file *file = try((uint64_t)HONEST, good[i].header, good[i].data);
        CHECK(file, "refused: %s", tdm_last_error());
        tdm_state_dict *dict = NULL;
        OK(tdm_load(queue, path, NULL, &dict));
        CHECK(tdm_state_dict_get_count(dict) == tdm_file_get_count(file),
              "not all tensors were loaded");
        tdm_state_dict_destroy(dict);
        tdm_file_destroy(file);
    }
    tdm_file *file = try((uint64_t)HONEST, good[2].header, 11);
    const tdm_file_entry *b = NULL;
    OK(tdm_file_find(file, "b", &b));
    CHECK(b && b->dtype == TDM_U8 && b->ndim == 1 && b->shape[0] == 3 && b->count == 3 &&
              b->offset == 8 + strlen(good[2].header) + 8,
          "tensor b");
    REFUSED(tdm_file_find(file, "c", &b), TDM_ERROR_NOT_FOUND, "'c'");
    tdm_file_destroy(file);
}

/* The reader of JSON takes a NUL byte after a number for nothing. */
Test(safetensors, nul_byte) {
    size_t size = 0;
    unsigned char *bytes = safetensors_bytes("{" T("a", "U8", "1", "0,1@") "}", NULL, 1, &size);
    unsigned char *const at = memchr(bytes, '@', size);
    char words[64];
    snprintf(words, sizeof words, "header, byte %d: a NUL byte", (int)(at - bytes));
    *at = 0;
    fill(bytes, size);
    tdm_file *file = open_filled();
    CHECK(!file && contains_words(tdm_last_error(), words), "'%s'", file ? "" : tdm_last_error());
    tdm_file_destroy(file);
    free(bytes);
}

/* Every way in which a file may be malformed: refused, with the file and what is wrong. */
Test(safetensors, refused) {
    static const struct {
        const char *what, *words, *header;
        size_t data;
        uint64_t stated;
    } bad[] = {
        {"header longer than the file", "byte 0|3 bytes|2 follow", "{}", 0, 3},
        {"header length of all ones", "byte 0|18446744073709551615", "{}", 0, UINT64_MAX},
        {"header length that overflows with 8", "byte 0", "{}", 0, UINT64_MAX - 8},
        {"header length 0", "byte 8|'{'", "{}", 0, 0},
        {"a ZIP archive", "not a safetensors file|ZIP|torch.save", "{}", 0, 0x04034b50},
        {"a GGUF file", "not a safetensors file|GGUF", "{}", 0, 0x46554747},
        {"header cut in the middle", "header, byte", "{" T("a", "F32", "2", "0,8") "}", 8, 20},
        BAD("no JSON", "byte 8|'{'", "hello", 0),
        BAD("an array", "byte 8|'{'", "[]", 0),
        BAD("text after the object", "byte", "{}x", 0),
        BAD("two objects", "byte", "{}{}", 0),
        BAD("a tensor that is a number", "byte 9|'a'|object", "{\"a\":1}", 0),
        BAD("an empty name", "byte 9|name", "{" T("", "U8", "1", "0,1") "}", 1),
        BAD("no dtype", "'a'|dtype", "{\"a\":{\"shape\":[1],\"data_offsets\":[0,4]}}", 4),
        BAD("no shape", "'a'|shape", "{\"a\":{\"dtype\":\"F32\",\"data_offsets\":[0,4]}}", 4),
        BAD("no offsets", "'a'|data_offsets", "{\"a\":{\"dtype\":\"F32\",\"shape\":[1]}}", 4),
        BAD("unknown dtype", "'a'|F8_E4M3|it must be one of|BF16",
            "{" T("a", "F8_E4M3", "4", "0,4") "}", 4),
        BAD("dtype of another case", "'a'|f32", "{" T("a", "f32", "1", "0,4") "}", 4),
        BAD("dtype that is a number", "'a'|dtype",
            "{\"a\":{\"dtype\":3,\"shape\":[1],\"data_offsets\":[0,4]}}", 4),
        BAD("offsets past the file", "'a'|[0, 8]|4 bytes", "{" T("a", "F32", "2", "0,8") "}", 4),
        BAD("offsets far past the file", "'a'|9223372036854775807",
            "{" T("a", "U8", "1", "9223372036854775806,9223372036854775807") "}", 4),
        BAD("offsets past 64 bits", "byte|integer",
            "{" T("a", "U8", "1", "0,18446744073709551616") "}", 4),
        BAD("offsets just past 63 bits", "byte|integer",
            "{" T("a", "U8", "1", "0,9223372036854775808") "}", 4),
        BAD("offsets in reverse", "'a'|[4, 0]", "{" T("a", "F32", "1", "4,0") "}", 4),
        BAD("negative offsets", "'a'|-4", "{" T("a", "F32", "1", "-4,0") "}", 4),
        BAD("fractional offsets", "'a'|whole", "{" T("a", "F32", "1", "0.0,4.0") "}", 4),
        BAD("offsets with an exponent", "'a'|whole", "{" T("a", "F32", "1", "0,4e0") "}", 4),
        BAD("an offset that no number holds", "byte", "{" T("a", "F32", "1", "0,1e999") "}", 4),
        BAD("three offsets", "'a'|two", "{" T("a", "F32", "1", "0,4,8") "}", 8),
        BAD("one offset", "'a'|two", "{" T("a", "F32", "1", "4") "}", 4),
        BAD("size unlike the shape", "'a'|8 bytes|3 elements of 4",
            "{" T("a", "F32", "3", "0,8") "}", 8),
        BAD("overlapping tensors", "byte 120|'b' overlaps 'a'|ends at byte 124",
            "{" T("a", "F32", "2", "0,8") "," T("b", "F32", "2", "4,12") "}", 12),
        BAD("the same bytes twice", "overlaps",
            "{" T("a", "F32", "2", "0,8") "," T("b", "F32", "2", "0,8") "}", 8),
        BAD("an empty tensor inside another", "'b'|'a'",
            "{" T("a", "F32", "2", "0,8") "," T("b", "F32", "0", "4,4") "}", 8),
        BAD("a hole", "bytes 120 to 123|'b'|no tensor",
            "{" T("a", "F32", "1", "0,4") "," T("b", "F32", "1", "8,12") "}", 12),
        BAD("a hole at the beginning", "'a'|no tensor", "{" T("a", "F32", "1", "4,8") "}", 8),
        BAD("bytes that belong to no tensor", "last 4 bytes", "{" T("a", "F32", "1", "0,4") "}", 8),
        BAD("data without tensors", "last 1 bytes", "{}", 1),
        BAD("duplicate names", "duplicate",
            "{" T("a", "F32", "1", "0,4") "," T("a", "F32", "1", "4,8") "}", 8),
        BAD("duplicate names, one escaped", "duplicate",
            "{" T("a", "F32", "1", "0,4") "," T("\\u0061", "F32", "1", "4,8") "}", 8),
        BAD("duplicate keys", "duplicate",
            "{\"a\":{\"dtype\":\"U8\",\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0,4]}}", 4),
        BAD("a NUL in a name", "NUL", "{" T("a\\u0000b", "U8", "1", "0,1") "}", 1),
        BAD("a NUL in metadata", "u0000", "{\"__metadata__\":{\"a\":\"\\u0000\"}}", 0),
        BAD("a control character in a name", "byte", "{" T("a\x01", "U8", "1", "0,1") "}", 1),
        BAD("a name that is no UTF-8", "byte 11|0xff", "{" T("a\xff", "U8", "1", "0,1") "}", 1),
        BAD("a surrogate alone", "byte", "{" T("\\ud800", "U8", "1", "0,1") "}", 1),
        BAD("negative shape", "'a'|shape[0]", "{" T("a", "F32", "-1,-1", "0,4") "}", 4),
        BAD("fractional shape", "'a'|shape[1]", "{" T("a", "F32", "1,1.0", "0,4") "}", 4),
        BAD("shape whose product overflows", "'a'|2^58",
            "{" T("a", "F32", "4294967296,4294967296,4", "0,0") "}", 0),
        BAD("the same with a 0", "'a'|2^58",
            "{" T("a", "F16", "0,9223372036854775807,9223372036854775807", "0,0") "}", 0),
        BAD("shape whose bytes overflow", "'a'|2^58",
            "{" T("a", "F64", "2305843009213693952", "0,0") "}", 0),
        BAD("an empty tensor of a huge extent", "'a'|2^58",
            "{" T("a", "U8", "0,288230376151711744", "0,0") "}", 0),
        BAD("too many dimensions", "'a'|7 dimensions|6",
            "{" T("a", "U8", "1,1,1,1,1,1,1", "0,1") "}", 1),
        BAD("shape of text", "'a'|shape[0]", "{" T("a", "U8", "\"1\"", "0,1") "}", 1),
        BAD("shape that is a number", "'a'|shape",
            "{\"a\":{\"dtype\":\"U8\",\"shape\":1,\"data_offsets\":[0,1]}}", 1),
        BAD("metadata that is no object", "__metadata__", "{\"__metadata__\":[]}", 0),
        BAD("metadata that is a number", "__metadata__|'n'",
            "{" T("a", "U8", "1", "0,1") ",\"__metadata__\":{\"n\":1}}", 1),
        BAD("a fault after brackets in names", "byte 46|'z'",
            "{\"__metadata__\":{\"{[\\\"\":\",\\\\\",\"z\":\"\"},\"z\":1}", 0),
    };
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        check_case("%s", bad[i].what);
        tdm_file *file = try(bad[i].stated, bad[i].header, bad[i].data);
        CHECK(!file, "accepted");
        CHECK(contains_words(tdm_last_error(), bad[i].words), "'%s' lacks one of '%s'",
              tdm_last_error(), bad[i].words);
        tdm_file_destroy(file);
    }
}

/* Files with a length that is stated beyond what the format allows, or with no end: nothing of that
 * size is read. */
Test(safetensors, lying_sizes) {
    static const unsigned char start_of_header[9] = {0x01, 0xe1, 0xf5, 0x05, 0, 0, 0, 0, '{'};
    fill(start_of_header, sizeof start_of_header);
    if (ftruncate(memory, 200000000) != 0) abort();
    tdm_file *file = open_filled();
    CHECK(!file && contains_words(tdm_last_error(), "100000001|100000000"), "%s", tdm_last_error());
    tdm_file_destroy(file);
    check_case("a sparse file of 8 TB, whole on paper: the device has no such memory");
    size_t size = 0;
    unsigned char *bytes =
        safetensors_bytes("{" T("a", "U8", "8796093022208", "0,8796093022208") "}", NULL, 0, &size);
    fill(bytes, size);
    free(bytes);
    if (ftruncate(memory, (off_t)(size + 8796093022208)) != 0) abort();
    file = open_filled();
    CHECK(file, "%s", tdm_last_error());
    tdm_file_destroy(file);
    tdm_state_dict *dict = NULL;
    REFUSED(tdm_load(queue, path, NULL, &dict), TDM_ERROR_OUT_OF_MEMORY, "'a'|8796093022208");
}

/* Nesting far deeper than any tensor needs: an error, no crash. */
Test(safetensors, depth_bombs) {
    enum { DEPTH = 2000000 };
    char *header = malloc(2 * DEPTH + 16);
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
        tdm_file *file = try((uint64_t)HONEST, header, 0);
        CHECK(!file, "accepted");
        CHECK(kind == 0 || contains_words(tdm_last_error(), "byte 16|nested"), "%s",
              tdm_last_error());
        tdm_file_destroy(file);
    }
    free(header);
}

/* Every prefix of a good file is refused, and random damage never crashes: it is refused, or is a
 * file again, whose tensors lie in it and can be loaded. */
Test(safetensors, truncated_and_damaged) {
    size_t size = 0;
    const char *header = "{\"__metadata__\":{\"k\":\"v\"}," T(
        "fc.weight", "F32", "2,3", "0,24") "," T("b", "I64", "1", "24,32") "}";
    unsigned char *bytes = safetensors_bytes(header, NULL, 32, &size), *copy = malloc(size);
    if (!copy) abort();
    for (size_t n = 0; n < size; n++) {
        check_case("the first %zu of %zu bytes", n, size);
        fill(bytes, n);
        tdm_file *file = open_filled();
        CHECK(!file, "accepted");
        tdm_file_destroy(file);
    }
    int accepted = 0;
    for (int i = 0; i < 20000; i++) {
        memcpy(copy, bytes, size);
        for (int k = (int)random_integer(1, 3); k > 0; k--)
            copy[random_integer(0, (int64_t)size - 1)] = (unsigned char)random_bits();
        check_case("damage %d", i);
        fill(copy, size);
        tdm_file *file = open_filled();
        for (size_t t = 0; t < tdm_file_get_count(file); t++) {
            const tdm_file_entry *entry = NULL;
            OK(tdm_file_get_item(file, t, &entry));
            CHECK(entry->offset + (uint64_t)entry->count * tdm_dtype_size(entry->dtype) <= size,
                  "a tensor outside the file");
        }
        tdm_state_dict *dict = NULL;
        CHECK((tdm_load(queue, path, NULL, &dict) != TDM_OK) == !file,
              "opened or loaded, but not both: %s", tdm_last_error());
        accepted += file ? 1 : 0;
        tdm_state_dict_destroy(dict);
        tdm_file_destroy(file);
    }
    CHECK(accepted > 100 && accepted < 19900, "%d of 20000 accepted: the damage is blind",
          accepted);
    free(bytes);
    free(copy);
}

/* Files that cannot be read; a real one. */
Test(safetensors, files) {
    tdm_file *file = NULL;
    REFUSED(tdm_file_open("/nonexistent/x.safetensors", &file), TDM_ERROR_IO,
            "/nonexistent/x.safetensors|No such file");
    REFUSED(tdm_file_open("/", &file), TDM_ERROR_IO, "/|regular file");
    REFUSED(tdm_file_open("/dev/null", &file), TDM_ERROR_IO, "/dev/null|regular file");
    if (!OK(tdm_file_open(TEST_SOURCE "/examples/digits/model.safetensors", &file))) return;
    const tdm_file_entry *w = NULL;
    OK(tdm_file_find(file, "fc1.weight", &w));
    CHECK(w && w->dtype == TDM_F32 && w->ndim == 2 && w->shape[0] == 128 && w->shape[1] == 64,
          "fc1.weight is not 128 x 64 f32");
    tdm_file_destroy(file);
}

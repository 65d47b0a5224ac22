/* Reader of safetensors files (https://github.com/huggingface/safetensors, "Format"): 8 bytes of
 * header length (little endian), a JSON header, then the tensors' bytes.
 *
 * The whole file is checked before anything is handed out, so that a tensor's bytes always lie
 * inside the file: header length, JSON (no duplicate names, bounded depth), dtype, shape, offsets
 * inside the data, neither overlapping nor leaving holes, size = product of the shape.
 *
 * Threads: an open file is read-only and may be read from any thread. */
#ifndef SAFETENSORS_H
#define SAFETENSORS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <tandem/tensor.h>

/* One tensor; everything it points to belongs to the file. */
typedef struct safetensors_tensor {
    const char *name;
    tdm_dtype dtype;             /* F32 F64 F16 BF16 I32 I64 U8; other dtypes are refused */
    int ndim;                    /* 0 (a scalar) .. TDM_MAX_DIMS */
    int64_t shape[TDM_MAX_DIMS]; /* row-major */
    int64_t count;               /* elements; 1 for a scalar */
    const void *data;            /* size bytes, little endian, of any alignment */
    size_t size;
} safetensors_tensor;

typedef struct safetensors {
    safetensors_tensor *tensors; /* in the order of their data */
    size_t count;
    void *bytes; /* the file's content, when this struct owns it */
    void *json;  /* the parsed header, which owns the names */
} safetensors;

/* Reads and checks a file. On failure returns false, *file is empty, and `error` (at least a few
 * hundred bytes are useful) says what is wrong and where: "model.safetensors: tensor 'fc1.bias':
 * …". Close with safetensors_close. */
bool safetensors_open(const char *path, safetensors *file, char *error, size_t error_size);

/* The same for `size` bytes in memory, which must stay alive and unchanged until the close; `path`
 * is used in messages only. */
bool safetensors_parse(const void *bytes, size_t size, const char *path, safetensors *file,
                       char *error, size_t error_size);

/* The tensor of that name, or NULL. */
const safetensors_tensor *safetensors_find(const safetensors *file, const char *name);

/* Frees what open or parse took, and empties *file. An empty file is allowed. */
void safetensors_close(safetensors *file);

#endif

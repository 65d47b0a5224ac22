/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* The device under test, and tensors on it that notice a stray write.
 *
 * An array is a tensor inside a larger buffer: before, after and between its elements (the gaps of
 * a strided view) lie guards, filled like the unwritten elements with a NaN pattern, so that a read
 * outside poisons the result and a write outside is found by comparing every byte. */
#ifndef TEST_ARRAY_H
#define TEST_ARRAY_H

#include <stdbool.h>
#include <stdint.h>

#include <tandem/tandem.h>

#include "check.h"
#include "random.h"
#include "reference/values.h"
#include "tags.h"

/* Opened by device_open: the device that TDM_TEST_DEVICE names, and a queue on it. */
extern tdm_device *device;
extern tdm_queue *queue;

/* TDM_TEST_SMALL is set: a slow simulator or sanitizer; cases with much work shrink. */
extern bool small;

/* TDM_TEST_SIMULATOR is set: the device is Oclgrind, whose own faults are named where they matter.
 */
extern bool simulator;

/* Whether a test runs case `number`: with TDM_TEST_SHARE=5 one of five, which ones the seed says; else each. And of
 * those that take long, one of 19. */
bool in_turn(int number);
bool in_long_turn(int number);

/* Fixtures of every suite: they seed the generator, print seed and device, and fail the test when
 * the device is missing. */
void device_open(void);
void device_close(void);

/* Opens all other listed devices, `most` at most. Returns how many; the test fails where there is none. */
int device_others(tdm_device **others, int most);

/* Its memory at this moment. */
tdm_memory_stats memory_now(tdm_device *of);

typedef struct array {
    tdm_tensor t;
    unsigned char *image; /* the whole buffer as it was uploaded */
    size_t bytes;         /* of the whole buffer */
    double *v;            /* the elements' values, row-major */
    int64_t count;
} array;

/* A tensor of a dtype, its elements undefined (NaN pattern). strides NULL: contiguous. Owned by the
 * list that array_free_all empties. */
array *array_new(tdm_dtype dtype, int ndim, const int64_t *shape, const int64_t *strides);

/* The same in two dimensions with a row stride; and in one. */
array *array_2d(tdm_dtype dtype, int64_t rows, int64_t cols, int64_t stride);

/* With its dimensions in any order in memory, perhaps with gaps, or with elements that repeat where they may. */
array *array_any_strides(tdm_dtype dtype, int ndim, const int64_t *shape, bool may_repeat);
array *array_1d(tdm_dtype dtype, int64_t n);

/* Ways to set the elements, rounded to the dtype; v has the rounded values. Each uploads. */
void array_uniform(array *a, double lo, double hi);
void array_integers(array *a, int64_t lo, int64_t hi);
void array_constant(array *a, double x);
void array_set(array *a, const double *values);

/* Sets indices of n rows, which name the first `named` of them; some none, just outside or as far as the dtype goes. */
void array_indices(array *a, int64_t n, int64_t named);

/* Reads the whole buffer; and its elements as numbers, row-major. array_free_all frees both. */
unsigned char *array_bytes(const array *a);
double *array_values(const array *a);

/* The output holds `want` within `bound` (NULL: exactly), and nothing around it changed. False, and
 * a failure reported, when not. */
bool array_check(const char *file, int line, const char *name, const array *a, const double *want,
                 const double *bound);
#define ARRAY_CHECK(a, want, bound) array_check(__FILE__, __LINE__, #a, a, want, bound)

/* Not one byte of the buffer changed. */
bool array_check_same(const char *file, int line, const char *name, const array *a);
#define ARRAY_SAME(a) array_check_same(__FILE__, __LINE__, #a, a)

/* Memory for references, of zeros or of x, freed by array_free_all. */
double *numbers(int64_t count);
double *numbers_of(int64_t count, double x);

/* Releases every array, every numbers() and all that was read so far. */
void array_free_all(void);

/* The values of a, repeated to this shape as operations broadcast it; of numbers(). */
double *array_repeated(const array *a, int ndim, const int64_t *shape);

/* Byte offset of element `index` (row-major) of a tensor in its buffer. */
size_t element_offset(const tdm_tensor *t, int64_t index);

/* The dtypes that the device computes with, set by device_open: the first float_dtype_count of
 * float_dtypes, and of all dtypes the first dtype_count of dtypes. f64, which some OpenCL devices only
 * store, is the last of each. Every device stores, copies and moves every dtype. TDM_TEST_DTYPES=f32,f16,i32
 * leaves out all others. */
extern tdm_dtype float_dtypes[4];
extern tdm_dtype dtypes[TDM_DTYPE_COUNT];
extern int float_dtype_count, dtype_count;
bool computes_with(tdm_dtype dtype);

/* Whether TDM_TEST_DTYPES, a list with commas, names a dtype or is not set, which is enough where elements are only
 * compared or moved; and whether the device computes with it, too. */
bool is_wanted(tdm_dtype dtype);
bool is_chosen(tdm_dtype dtype);

#endif

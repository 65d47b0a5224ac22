/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* The bits of what is added: the same on every rank, the same again, and those that adding in the order of ranks gives,
 * worked out here of all ranks' inputs. Magnitudes are so different that another order gives other bits. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "reference/random.h"
#include "reference/values.h"
#include "test.h"

static uint64_t seed;
enum { PERIOD = 8191 }; /* elements, which then come again */

/* Repeats the first elements. */
static void *repeat(char *bytes, size_t size, int64_t count) {
    for (int64_t i = PERIOD; bytes && i < count; i += PERIOD)
        memcpy(bytes + (size_t)i * size, bytes,
               (size_t)(count - i < PERIOD ? count - i : PERIOD) * size);
    return bytes;
}

/* `count` elements of a rank's input, from 2^-60 to 2^60, of f16 from 2^-20 to 2^12; some are 0. */
static void *input(tdm_dtype dtype, int of, int64_t count) {
    const size_t size = tdm_dtype_size(dtype);
    const int low = dtype == TDM_F16 ? -20 : -60, span = dtype == TDM_F16 ? 32 : 120;
    char *bytes = malloc((size_t)count * size);
    random_stream stream = random_stream_start(seed * 64 + (uint64_t)of);
    for (int64_t i = 0; bytes && i < count && i < PERIOD; i++) {
        const uint64_t bits = random_stream_next(&stream);
        const double fraction = 1 + (double)(bits >> 12) * 0x1p-52;
        const double value = ldexp(fraction, low + (int)(bits % 64) * span / 64);
        encode(dtype, bits >> 6 & 1 ? -(long double)value : (long double)value,
               bytes + (size_t)i * size);
        if ((bits >> 7 & 15) == 0) encode(dtype, 0, bytes + (size_t)i * size);
    }
    return repeat(bytes, size, count);
}

/* Of the rows of all ranks; 16-bit floats in f32. */
static void *added(tdm_dtype dtype, tdm_comm_op op, int64_t count, void *const *rows) {
    const size_t size = tdm_dtype_size(dtype);
    char *bytes = malloc((size_t)count * size);
    for (int64_t i = 0; bytes && i < count && i < PERIOD; i++) {
        double wide = 0;
        float narrow = 0;
        for (int r = 0; r < ranks; r++) {
            const double value = (double)decode(dtype, (const char *)rows[r] + (size_t)i * size);
            wide = r == 0 ? value : wide + value;
            narrow = r == 0 ? (float)value : narrow + (float)value;
        }
        if (op == TDM_COMM_MEAN) {
            wide /= ranks;
            narrow /= (float)ranks;
        }
        encode(dtype, dtype == TDM_F64 ? (long double)wide : (long double)narrow,
               bytes + (size_t)i * size);
    }
    return repeat(bytes, size, count);
}

/* Whether y has these bytes, and rank 0 has the same. */
static void expect(const char *what, const tdm_tensor *y, const void *bytes) {
    const size_t size = (size_t)tdm_tensor_get_count(y) * tdm_dtype_size(y->dtype);
    char *own = malloc(size + 1), *first = malloc(size + 1);
    OK(tdm_to_host(queue, y, own));
    memcpy(first, own, size);
    MPI_Bcast(first, (int)size, MPI_BYTE, 0, MPI_COMM_WORLD);
    const char *dtype = tdm_dtype_name(y->dtype);
    const long long n = (long long)tdm_tensor_get_count(y);
    CHECK(memcmp(own, first, size) == 0, "%s of %s [%lld], seed %llu: other bits than on rank 0",
          what, dtype, n, (unsigned long long)seed);
    CHECK(!bytes || memcmp(own, bytes, size) == 0,
          "%s of %s [%lld], seed %llu: not the bits of the ranks' order", what, dtype, n,
          (unsigned long long)seed);
    free(own);
    free(first);
}

static void one(tdm_dtype dtype, tdm_comm_op op, int64_t count) {
    const size_t size = tdm_dtype_size(dtype);
    const bool ordered = !getenv("TDM_TEST_NCCL"); /* whose order is its own */
    void *rows[16] = {0};
    for (int r = 0; r < ranks; r++)
        rows[r] = input(dtype, r, count);
    char *bytes = added(dtype, op, count, rows), *before = malloc((size_t)count * size);
    tdm_tensor x = {0}, y = {0};
    OK(tdm_from_host(queue, rows[rank], dtype, 1, &count, &x));
    OK(tdm_full(queue, NAN, dtype, 1, &count, &y));
    OK(tdm_comm_all_reduce(comm, queue, op, &x, &y));
    expect("all_reduce", &y, ordered ? bytes : NULL);
    OK(tdm_to_host(queue, &y, before));
    OK(tdm_fill(queue, NAN, &y));
    OK(tdm_comm_reduce(comm, queue, op, ranks - 1, &x, &y)); /* that has no path for few elements */
    if (rank == ranks - 1 && ordered) {
        char *reduced = malloc((size_t)count * size);
        OK(tdm_to_host(queue, &y, reduced));
        CHECK(memcmp(reduced, before, (size_t)count * size) == 0, "reduce of %s [%lld], seed %llu",
              tdm_dtype_name(dtype), (long long)count, (unsigned long long)seed);
        free(reduced);
    }
    OK(tdm_comm_all_reduce(comm, queue, op, &x, &x)); /* in place, and again */
    expect("all_reduce again", &x, before);
    tdm_tensor_release(&x);
    tdm_tensor_release(&y);
    for (int r = 0; r < ranks; r++)
        free(rows[r]);
    free(bytes);
    free(before);
}

void test_bits(void) {
    static const tdm_dtype dtypes[] = {TDM_F32, TDM_F64, TDM_F16, TDM_BF16};
    const char *given = getenv("TDM_TEST_SEED");
    seed = given ? strtoull(given, NULL, 10) : (uint64_t)time(NULL);
    MPI_Bcast(&seed, 1, MPI_UINT64_T, 0, MPI_COMM_WORLD);
    if (rank == 0) printf("seed %llu\n", (unsigned long long)seed);
    for (int i = 0; i < 4; i++) {
        const int64_t size = (int64_t)tdm_dtype_size(dtypes[i]);
        const int64_t counts[] = {
            1,
            1000,
            4096 / size,                               /* to all ranks at once */
            4096 / size + 1,                           /* parts that some ranks have none of */
            70001,                                     /* unequal parts */
            5 * (256 << 10) / (2 * size) * ranks + 77, /* three rounds */
        };
        for (size_t n = 0; n < sizeof counts / sizeof *counts; n++)
            one(dtypes[i], n % 2 ? TDM_COMM_MEAN : TDM_COMM_SUM, counts[n]);
        one(dtypes[i], TDM_COMM_MEAN, 70001);
    }
}

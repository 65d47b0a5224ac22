/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* Tensors moved from the device under test to every other device and back: to, to_async. */
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "support/array.h"

TestSuite(move, .init = device_open, .fini = device_close, TAGS("device driver"));

enum { DEVICES_MOST = 8 };
static tdm_device *others[DEVICES_MOST];
static tdm_queue *queues[DEVICES_MOST];
static int other_count;

static void open_others(void) {
    other_count = device_others(others, DEVICES_MOST);
    for (int i = 0; i < other_count; i++)
        OK(tdm_queue_create(others[i], 0, &queues[i]));
}

static void close_others(void) {
    for (int i = 0; i < other_count; i++) {
        tdm_queue_destroy(queues[i]);
        tdm_device_release(others[i]);
    }
}

/* Does y, on the queue's device, hold x's elements, row-major? */
static void check_equal(tdm_queue *of, const tdm_tensor *y, const array *x) {
    const size_t size = tdm_dtype_size(x->t.dtype), bytes = (size_t)x->count * size;
    bool same = true;
    unsigned char *got = malloc(bytes + 1);
    if (!got) abort();
    memset(got, 0xa5, bytes + 1);
    OK(tdm_to_host(of, y, got));
    for (int64_t i = 0; i < x->count && same; i++)
        same = memcmp(got + (size_t)i * size, x->image + element_offset(&x->t, i), size) == 0;
    CHECK(same, "other bytes arrived");
    CHECK(got[bytes] == 0xa5, "a byte past the array was written");
    CHECK(tdm_tensor_is_contiguous(y) && y->dtype == x->t.dtype && y->ndim == x->t.ndim &&
              memcmp(y->shape, x->t.shape, (size_t)y->ndim * sizeof *y->shape) == 0,
          "not x's shape, contiguous");
    free(got);
}

/* There and back between the device under test and every other, each dtype, contiguous, with gaps,
 * transposed, empty, and larger than several chunks. */
Test(move, there_and_back) {
    open_others();
    for (int o = 0; o < other_count; o++) {
        for (int d = 0; d < TDM_DTYPE_COUNT + 4; d++) {
            tdm_dtype dtype = (tdm_dtype)(d < TDM_DTYPE_COUNT ? d : 0);
            array *x = d < TDM_DTYPE_COUNT        ? array_2d(dtype, 37, 53, 53 + d % 3)
                       : d == TDM_DTYPE_COUNT     ? array_1d(dtype, 0)
                       : d == TDM_DTYPE_COUNT + 1 ? array_1d(dtype, 1)
                       : d == TDM_DTYPE_COUNT + 2
                           ? array_new(dtype, 3, (int64_t[]){7, 11, 13}, (int64_t[]){1, 200, 10})
                           : array_1d(dtype, small ? 300000 : 5000000);
            array_integers(x, 0, 100);
            check_case("%s of %lld to %s", tdm_dtype_name(dtype), (long long)x->count,
                       tdm_device_get_info(others[o])->id);
            tdm_tensor there, back;
            if (OK(tdm_to(queue, &x->t, others[o], &there))) {
                CHECK(tdm_tensor_get_device(&there) == others[o], "it is elsewhere");
                check_equal(queues[o], &there, x);
                if (OK(tdm_to(queues[o], &there, device, &back))) check_equal(queue, &back, x);
                tdm_tensor_release(&there);
                tdm_tensor_release(&back);
            }
            array_free_all();
        }
    }
    close_others();
}

/* Work queued before the move is seen by it, without a finish. */
Test(move, after_queued_work) {
    open_others();
    const int64_t n = small ? 20000 : 400000;
    array *x = array_1d(TDM_F32, n);
    array_integers(x, -8, 8);
    for (int o = 0; o < other_count; o++) {
        for (int async = 0; async < 2; async++) {
            tdm_tensor sum, there;
            tdm_transfer *transfer = NULL;
            check_case("to %s%s", tdm_device_get_info(others[o])->id, async ? ", async" : "");
            OK(tdm_zeros(queue, TDM_F32, 1, &n, &sum));
            for (int i = 0; i < 6; i++)
                OK(tdm_add(queue, &sum, &x->t, &sum));
            if (!OK(async ? tdm_to_async(queue, &sum, others[o], &there, &transfer)
                          : tdm_to(queue, &sum, others[o], &there)))
                continue;
            tdm_tensor_release(&sum); /* the move keeps what it needs */
            if (async) {
                bool done = false;
                uint64_t arrived = 0, total = 0;
                OK(tdm_transfer_wait(transfer));
                OK(tdm_transfer_wait(transfer));
                OK(tdm_transfer_query(transfer, &done));
                tdm_transfer_get_progress(transfer, &arrived, &total);
                CHECK(done && arrived == total && total == (uint64_t)n * 4, "%d, %llu of %llu",
                      done, (unsigned long long)arrived, (unsigned long long)total);
                tdm_transfer_destroy(transfer);
            }
            float *got = malloc((size_t)n * sizeof *got);
            if (!got) abort();
            OK(tdm_to_host(queues[o], &there, got));
            int64_t wrong = 0;
            for (int64_t i = 0; i < n; i++)
                wrong += (double)got[i] != 6 * x->v[i];
            CHECK(wrong == 0, "%lld of %lld elements are wrong", (long long)wrong, (long long)n);
            free(got);
            tdm_tensor_release(&there);
        }
    }
    close_others();
}

/* Several transfers at once, destroyed without a wait; progress never falls or passes the total. */
Test(move, transfers_at_once) {
    open_others();
    enum { TRANSFERS = 4 };
    const int count = simulator ? 1 : TRANSFERS; /* Oclgrind aborts under two threads */
    array *x = array_1d(TDM_F32, small ? 100000 : 6000000);
    array_integers(x, 0, 1000);
    for (int o = 0; o < other_count; o++) {
        tdm_tensor there[TRANSFERS];
        tdm_transfer *transfers[TRANSFERS];
        check_case("to %s", tdm_device_get_info(others[o])->id);
        for (int i = 0; i < count; i++)
            OK(tdm_to_async(queue, &x->t, others[o], &there[i], &transfers[i]));
        uint64_t before = 0;
        for (bool done = false; !done;) {
            uint64_t arrived, total;
            OK(tdm_transfer_query(transfers[0], &done));
            tdm_transfer_get_progress(transfers[0], &arrived, &total);
            CHECK(arrived >= before && arrived <= total, "progress from %llu to %llu",
                  (unsigned long long)before, (unsigned long long)arrived);
            before = arrived;
        }
        for (int i = 0; i < count; i++)
            tdm_transfer_destroy(transfers[i]);
        for (int i = 0; i < count; i++) {
            check_equal(queues[o], &there[i], x);
            tdm_tensor_release(&there[i]);
        }
    }
    close_others();
}

/* To where it is: the same buffer with one more reference, no copy, no allocation, even of a view
 * with gaps. The benchmark has its time. */
Test(move, to_own_device) {
    array *x = array_2d(TDM_F32, 10, 10, 12);
    array_integers(x, 0, 9);
    tdm_tensor y;
    tdm_transfer *transfer;
    const tdm_memory_stats before = memory_now(device);
    if (!OK(tdm_to(queue, &x->t, device, &y))) return;
    CHECK(memcmp(&y, &x->t, sizeof y) == 0, "another view");
    tdm_tensor_release(&y);
    CHECK(!y.buffer, "released, yet it has a buffer");
    OK(tdm_to_async(queue, &x->t, device, &y, &transfer));
    bool done = false;
    OK(tdm_transfer_query(transfer, &done));
    CHECK(done, "it is there already");
    tdm_transfer_destroy(transfer);
    tdm_tensor_release(&y);
    const tdm_memory_stats after = memory_now(device);
    CHECK(before.in_use == after.in_use && before.allocations == after.allocations,
          "memory was taken");
    ARRAY_SAME(x); /* the array's own reference is left */
}

/* Either end of an asynchronous copy may be given back at once: the other device's pool must not
 * hand its memory out before the copy is done. */
Test(move, released_after_copy) {
    open_others();
    const size_t size = small ? 1 << 20 : 32 << 20;
    unsigned char *in = malloc(size), *out = malloc(size);
    if (!in || !out) abort();
    for (int o = 0; o < other_count; o++) {
        for (int turn = 0; turn < 4; turn++) {
            bool there = turn % 2 == 0; /* from the device under test to the other, or back */
            tdm_queue *of = there ? queue : queues[o], *to = there ? queues[o] : queue;
            tdm_device *source = there ? device : others[o], *target = there ? others[o] : device;
            tdm_buffer *a = NULL, *b = NULL, *c = NULL;
            check_case("%s to %s, queue of %s", tdm_device_get_info(source)->id,
                       tdm_device_get_info(target)->id,
                       turn < 2 ? "the source" : "the destination");
            random_bytes(in, size);
            OK(tdm_buffer_create(source, size, &a));
            OK(tdm_buffer_create(target, size, &b));
            OK(tdm_buffer_write(of, a, 0, in, size));
            OK(tdm_buffer_copy_async(turn < 2 ? of : to, a, 0, b, 0, size));
            tdm_buffer_release(a);
            OK(tdm_buffer_create(source, size, &c)); /* very likely the same memory */
            OK(tdm_buffer_fill(of, c, 0, size, "\xff", 1));
            OK(tdm_queue_finish(turn < 2 ? of : to));
            OK(tdm_buffer_read(to, b, 0, out, size));
            CHECK(memcmp(in, out, size) == 0, "the copy holds what was written after it");
            tdm_buffer_release(b);
            tdm_buffer_release(c);
        }
    }
    free(in);
    free(out);
    close_others();
}

Test(move, refusals) {
    open_others();
    array *x = array_1d(TDM_F32, 4);
    tdm_tensor y, far = x->t;
    tdm_transfer *transfer = (tdm_transfer *)&y;
    const tdm_status argument = TDM_ERROR_INVALID_ARGUMENT;
    memset(&y, 1, sizeof y);
    REFUSED(tdm_to(queue, NULL, others[0], &y), argument, "tdm_to|x is NULL");
    CHECK(!y.buffer, "y is not zero after a failure");
    REFUSED(tdm_to(NULL, &x->t, others[0], &y), argument, "queue is NULL");
    REFUSED(tdm_to(queue, &x->t, NULL, &y), argument, "device is NULL");
    REFUSED(tdm_to(queue, &x->t, others[0], NULL), argument, "y is NULL");
    REFUSED(tdm_to(queue, &x->t, others[0], &x->t), argument, "y is x");
    REFUSED(tdm_to(queues[0], &x->t, others[0], &y), TDM_ERROR_DEVICE_MISMATCH, "x|queue");
    far.shape[0] = 5000;
    REFUSED(tdm_to(queue, &far, others[0], &y), TDM_ERROR_OUT_OF_RANGE, "x");
    REFUSED(tdm_to_async(queue, &x->t, others[0], &y, NULL), argument, "transfer is NULL");
    REFUSED(tdm_to_async(queue, &x->t, NULL, &y, &transfer), argument, "device is NULL");
    CHECK(!transfer, "the transfer is not NULL after a failure");
    REFUSED(tdm_transfer_wait(NULL), argument, "transfer is NULL");
    tdm_transfer_destroy(NULL);
    tdm_tensor_release(NULL);
    close_others();
}

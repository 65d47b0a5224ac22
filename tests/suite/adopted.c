/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* Memory with another owner. Here the owner is another buffer, whose handle is taken the way a program takes it: so
 * this works on every device, without its driver. */
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "operations/list.h"
#include "platform/threads.h"
#include "support/product.h"

TestSuite(adopted, .init = device_open, .fini = device_close, TAGS("device driver"));

/* How often an owner was notified. */
static void count(void *context) { __atomic_add_fetch((int *)context, 1, __ATOMIC_SEQ_CST); }
static int notified(const int *counter) { return __atomic_load_n(counter, __ATOMIC_SEQ_CST); }

typedef struct owner {
    tdm_buffer *buffer; /* NULL on a cpu device, whose memory is malloc's */
    void *memory;
    int notified;
} owner;

static tdm_backend backend(void) { return tdm_device_get_info(device)->backend; }

static bool own(owner *o, size_t size) {
    *o = (owner){0};
    if (backend() == TDM_CPU) {
        o->memory = malloc(size);
        if (!o->memory) abort();
        return true;
    }
    return OK(tdm_buffer_create(device, size, &o->buffer));
}

static void disown(owner *o) {
    tdm_buffer_release(o->buffer);
    free(o->memory);
    *o = (owner){0};
}

static tdm_status adopt_with(const owner *o, size_t size, void (*notify)(void *), void *context,
                             tdm_buffer **buffer) {
    struct _cl_mem *memory = NULL;
    void *pointer = NULL;
    switch (backend()) {
    case TDM_OPENCL:
        OK(tdm_opencl_get_memory(o->buffer, &memory));
        return tdm_opencl_adopt_memory(device, memory, size, notify, context, buffer);
    case TDM_CUDA:
        OK(tdm_cuda_get_pointer(o->buffer, &pointer));
        return tdm_cuda_adopt_memory(device, pointer, size, notify, context, buffer);
    default:
        return tdm_buffer_adopt_host(device, o->memory, size, notify, context, buffer);
    }
}

static tdm_status adopt(owner *o, size_t size, tdm_buffer **buffer) {
    return adopt_with(o, size, count, &o->notified, buffer);
}

/* Reads the owner's memory. */
static void look(const owner *o, size_t size, void *bytes) {
    if (o->memory)
        memcpy(bytes, o->memory, size);
    else
        OK(tdm_buffer_read(queue, o->buffer, 0, bytes, size));
}

static void put(const owner *o, size_t size, const void *bytes) {
    if (o->memory)
        memcpy(o->memory, bytes, size);
    else
        OK(tdm_buffer_write(queue, o->buffer, 0, bytes, size));
}

enum { ROWS = 7, COLS = 96, INNER = 33, CANARIES = 64 };

/* Both write and see each other's bytes; nothing is written past the adopted part. */
Test(adopted, same_bytes) {
    enum { SIZE = 4096 };
    owner o;
    tdm_buffer *buffer = NULL;
    unsigned char image[SIZE + CANARIES], now[SIZE + CANARIES], part[100];
    void *mapped = NULL;
    if (!own(&o, sizeof image)) return;
    random_bytes(image, sizeof image);
    put(&o, sizeof image, image);
    if (!OK(adopt(&o, SIZE, &buffer))) return;
    CHECK(tdm_buffer_get_size(buffer) == SIZE, "size is %zu", tdm_buffer_get_size(buffer));
    CHECK(tdm_buffer_get_device(buffer) == device, "another device");
    OK(tdm_buffer_read(queue, buffer, 0, now, SIZE));
    CHECK(memcmp(now, image, SIZE) == 0, "the owner's bytes are not seen");

    random_bytes(part, sizeof part);
    OK(tdm_buffer_write(queue, buffer, 33, part, sizeof part));
    memcpy(image + 33, part, sizeof part);
    OK(tdm_buffer_fill(queue, buffer, 1024, SIZE - 1024, "\5\6\7\10", 4));
    for (size_t i = 1024; i < SIZE; i++)
        image[i] = (unsigned char)(5 + i % 4);
    if (OK(tdm_buffer_map(queue, buffer, 512, 16, TDM_MAP_READ | TDM_MAP_WRITE, &mapped))) {
        CHECK(memcmp(mapped, image + 512, 16) == 0, "a mapping shows other bytes");
        memset(mapped, 0x3c, 16);
        memset(image + 512, 0x3c, 16);
        OK(tdm_buffer_unmap(queue, buffer, mapped));
    }
    OK(tdm_buffer_copy(queue, buffer, 512, buffer, 600, 16));
    memset(image + 600, 0x3c, 16);
    look(&o, sizeof now, now);
    CHECK(memcmp(now, image, sizeof now) == 0, "the owner sees other bytes");
    REFUSED(tdm_buffer_write(queue, buffer, SIZE, part, 1), TDM_ERROR_OUT_OF_RANGE, "4096");

    CHECK(notified(&o.notified) == 0, "the owner was notified while the buffer lives");
    tdm_buffer_release(buffer);
    OK(tdm_queue_finish(queue));
    CHECK(notified(&o.notified) == 1, "notified %d times", notified(&o.notified));
    look(&o, sizeof now, now);
    CHECK(memcmp(now, image, sizeof now) == 0, "the release changed the bytes");
    disown(&o);
}

/* A tensor over adopted memory, at an offset that no row of vectors begins at. */
static bool tensor_over(owner *o, int64_t rows, int64_t cols, int64_t offset, tdm_tensor *t) {
    const size_t size = (size_t)(offset + rows * cols) * sizeof(float);
    tdm_buffer *buffer = NULL;
    if (!own(o, size) || !OK(adopt(o, size, &buffer))) return false;
    *t = tdm_tensor_2d(buffer, TDM_F32, rows, cols);
    t->offset = offset;
    return true;
}

/* Operations and products, with some and with all of their memory adopted. */
Test(adopted, operations) {
    for (int all = 0; all < 2; all++) {
        for (int64_t offset = 0; offset < 2; offset++) {
            check_case("%s adopted, offset %lld", all ? "all" : "the input", (long long)offset);
            owner from, to, product;
            tdm_tensor x, y, c;
            array *a = array_2d(TDM_F32, ROWS, COLS, COLS),
                  *b = array_2d(TDM_F32, COLS, INNER, INNER);
            array *y_own = array_2d(TDM_F32, ROWS, COLS, COLS);
            array *c_own = array_2d(TDM_F32, ROWS, INNER, INNER);
            array_uniform(a, -1.0, 3.0);
            array_uniform(b, -1.0, 1.0);
            if (!tensor_over(&from, ROWS, COLS, offset, &x) ||
                !tensor_over(&to, ROWS, COLS, offset, &y) ||
                !tensor_over(&product, ROWS, INNER, offset, &c))
                return;
            OK(tdm_cast(queue, &a->t, &x));
            OK(tdm_layer_norm(queue, &x, NULL, NULL, 1e-5, all ? &y : &y_own->t));
            if (all) OK(tdm_cast(queue, &y, &y_own->t));
            OK(tdm_matmul(queue, NULL, &x, &b->t, all ? &c : &c_own->t));
            if (all) OK(tdm_cast(queue, &c, &c_own->t));

            double *want = numbers(y_own->count), *bound = numbers(y_own->count);
            const double *const inputs[OP_OPERANDS] = {a->v};
            op_refer(op_named("layer_norm"), TDM_F32, ROWS, COLS, 1e-5, inputs, 5, want, bound);
            ARRAY_CHECK(y_own, want, bound);
            product_refer(NULL, a, b, NULL, c_own, &want, &bound);
            ARRAY_CHECK(c_own, want, bound);
            tdm_tensor_release(&x);
            tdm_tensor_release(&y);
            tdm_tensor_release(&c);
            OK(tdm_queue_finish(queue));
            CHECK(notified(&from.notified) == 1 && notified(&to.notified) == 1 &&
                      notified(&product.notified) == 1,
                  "notified %d, %d and %d times", notified(&from.notified), notified(&to.notified),
                  notified(&product.notified));
            disown(&from);
            disown(&to);
            disown(&product);
            array_free_all();
        }
    }
}

static void *release_it(void *buffer) {
    tdm_buffer_release(buffer);
    return NULL;
}

/* Two references, given back in any order and by another thread. */
Test(adopted, references) {
    owner o;
    tdm_buffer *buffer = NULL;
    tdmi_thread thread;
    if (!own(&o, 256) || !OK(adopt(&o, 256, &buffer))) return;
    OK(tdm_buffer_fill_async(queue, buffer, 0, 256, "x", 1));
    CHECK(tdm_buffer_retain(buffer) == buffer, "retain");
    tdm_buffer_release(buffer);
    OK(tdm_queue_finish(queue));
    CHECK(notified(&o.notified) == 0, "notified while there is a reference");
    if (tdmi_thread_start(&thread, release_it, buffer)) tdmi_thread_join(thread);
    CHECK(notified(&o.notified) == 1, "notified %d times", notified(&o.notified));
    disown(&o);

    check_case("the same memory twice");
    tdm_buffer *again = NULL;
    int others = 0;
    if (!own(&o, 256) || !OK(adopt(&o, 256, &buffer)) || !OK(adopt(&o, 128, &again))) return;
    tdm_buffer_release(buffer);
    others = notified(&o.notified);
    OK(tdm_buffer_fill(queue, again, 0, 128, "y", 1));
    tdm_buffer_release(again);
    CHECK(others == 1 && notified(&o.notified) == 2, "notified %d, then %d times", others,
          notified(&o.notified));
    disown(&o);
}

/* Released while queued work uses it: the owner is notified when that is over, whichever call
 * notices it. */
Test(adopted, pending) {
    static const char *const ways[] = {"a finish", "the queue's end", "a trim", "several queues"};
    for (int way = 0; way < 4; way++) {
        check_case("%s", ways[way]);
        enum { SIZE = 1 << 20 };
        owner o;
        tdm_queue *other = NULL, *second = NULL;
        tdm_buffer *buffer = NULL;
        static unsigned char bytes[SIZE];
        if (!own(&o, SIZE) || !OK(adopt(&o, SIZE, &buffer))) return;
        OK(tdm_queue_create(device, 0, &other));
        OK(tdm_queue_create(device, 0, &second));
        for (int i = 0; i < 20; i++)
            OK(tdm_buffer_fill_async(other, buffer, 0, SIZE, i < 19 ? "no" : "yes!",
                                     i < 19 ? 2 : 4));
        if (way == 3) OK(tdm_buffer_fill_async(second, buffer, SIZE / 2, SIZE / 2, "yes!", 4));
        tdm_buffer_release(buffer);
        CHECK(notified(&o.notified) <= 1, "notified %d times", notified(&o.notified));
        if (way == 0) OK(tdm_queue_finish(other));
        if (way == 1) tdm_queue_destroy(other);
        if (way == 2) OK(tdm_device_trim(device));
        if (way == 3) OK(tdm_queue_finish(other));
        if (way == 3) OK(tdm_queue_finish(second));
        CHECK(notified(&o.notified) == 1, "notified %d times", notified(&o.notified));
        look(&o, SIZE, bytes);
        size_t wrong = 0;
        for (size_t i = 0; i < SIZE / (way == 3 ? 2 : 1); i++)
            wrong += bytes[i] != (unsigned char)"yes!"[i % 4];
        CHECK(wrong == 0, "%zu bytes were not written before the owner was notified", wrong);
        if (way != 1) tdm_queue_destroy(other);
        tdm_queue_destroy(second);
        CHECK(notified(&o.notified) == 1, "notified %d times in the end", notified(&o.notified));
        disown(&o);
    }
}

/* The pool neither counts such memory nor hands it out. */
Test(adopted, not_the_pools) {
    enum { SIZE = 1 << 16 };
    owner o;
    tdm_buffer *buffer = NULL, *others[8] = {NULL};
    unsigned char bytes[16], zero[16] = {0};
    if (!own(&o, SIZE)) return;
    const tdm_memory_stats before = memory_now(device);
    if (!OK(adopt(&o, SIZE, &buffer))) return;
    const tdm_memory_stats now = memory_now(device);
    CHECK(now.in_use == before.in_use && now.reserved == before.reserved, "it is counted");
    OK(tdm_buffer_fill(queue, buffer, 0, SIZE, zero, 16));
    tdm_buffer_release(buffer);
    OK(tdm_queue_finish(queue));
    CHECK(memory_now(device).cached == before.cached, "it is cached");
    for (int i = 0; i < 8; i++) {
        OK(tdm_buffer_create(device, SIZE, &others[i]));
        OK(tdm_buffer_fill(queue, others[i], 0, SIZE, "abcdefghijklmnop", 16));
    }
    look(&o, sizeof bytes, bytes);
    CHECK(memcmp(bytes, zero, sizeof bytes) == 0, "it was handed out");
    for (int i = 0; i < 8; i++)
        tdm_buffer_release(others[i]);
    disown(&o);
}

/* An owner that calls the library when it is notified. */
typedef struct caller {
    tdm_buffer *held;
    int notified;
} caller;

static void call_back(void *context) {
    caller *c = context;
    tdm_buffer *made = NULL;
    c->notified++;
    tdm_buffer_release(c->held);
    OK(tdm_buffer_create(device, 100, &made));
    tdm_buffer_release(made);
}

Test(adopted, owner_calls_the_library) {
    owner o;
    caller c = {0};
    tdm_buffer *buffer = NULL;
    if (!own(&o, 512) || !OK(adopt(&o, 512, &c.held)) ||
        !OK(adopt_with(&o, 512, call_back, &c, &buffer)))
        return;
    OK(tdm_buffer_fill_async(queue, buffer, 0, 512, "z", 1));
    tdm_buffer_release(buffer);
    OK(tdm_queue_finish(queue));
    CHECK(c.notified == 1 && notified(&o.notified) == 1, "notified %d and %d times", c.notified,
          notified(&o.notified));
    disown(&o);
}

/* A graph that was recorded holds it. */
Test(adopted, recorded) {
    enum { COUNT = 256 };
    owner o;
    tdm_buffer *buffer = NULL;
    tdm_graph *graph = NULL;
    float values[COUNT] = {0};
    if (!own(&o, sizeof values)) return;
    put(&o, sizeof values, values);
    if (!OK(adopt(&o, sizeof values, &buffer))) return;
    tdm_tensor x = tdm_tensor_1d(buffer, TDM_F32, COUNT);
    array *ones = array_1d(TDM_F32, COUNT);
    array_constant(ones, 1.0);
    OK(tdm_graph_create(queue, &graph));
    OK(tdm_graph_begin(graph));
    OK(tdm_axpy(queue, 1.0, &ones->t, &x));
    OK(tdm_graph_end(graph));
    tdm_buffer_release(buffer);
    for (int i = 0; i < 3; i++)
        OK(tdm_graph_replay(graph));
    CHECK(notified(&o.notified) == 0, "notified while a graph has it");
    tdm_graph_destroy(graph);
    OK(tdm_queue_finish(queue));
    CHECK(notified(&o.notified) == 1, "notified %d times", notified(&o.notified));
    look(&o, sizeof values, values);
    CHECK(values[0] == 3.0f && values[COUNT - 1] == 3.0f, "%g, not 3", (double)values[0]);
    disown(&o);
    array_free_all();
}

/* Ten thousand exchanges with work, without a wait for any: every owner is notified. */
Test(adopted, many) {
    const int turns = small ? 300 : 10000;
    owner o;
    if (!own(&o, 1024)) return;
    for (int i = 0; i < turns; i++) {
        tdm_buffer *buffer = NULL;
        if (!OK(adopt(&o, 1024, &buffer))) return;
        OK(tdm_buffer_fill_async(queue, buffer, 0, 1024, "1234", 4));
        tdm_buffer_release(buffer);
    }
    OK(tdm_queue_finish(queue));
    CHECK(notified(&o.notified) == turns, "notified %d times of %d", notified(&o.notified), turns);
    disown(&o);
}

/* ---- what is refused ---- */

Test(adopted, refused) {
    const tdm_status invalid = TDM_ERROR_INVALID_ARGUMENT;
    tdm_buffer *got = (tdm_buffer *)(void *)&got;
    int counter = 0;
    _Alignas(64) static char memory[128];
    REFUSED(tdm_buffer_adopt_host(NULL, memory, 64, count, &counter, &got), invalid,
            "tdm_buffer_adopt_host|device is NULL");
    CHECK(!got, "a failure left a buffer");
    REFUSED(tdm_buffer_adopt_host(device, memory, 64, count, &counter, NULL),
            backend() == TDM_CPU ? invalid : TDM_ERROR_UNSUPPORTED, "tdm_buffer_adopt_host");
    if (backend() == TDM_CPU) {
        REFUSED(tdm_buffer_adopt_host(device, NULL, 64, count, &counter, &got), invalid,
                "pointer is NULL");
        REFUSED(tdm_buffer_adopt_host(device, memory, 0, count, &counter, &got), invalid,
                "size is 0");
        REFUSED(tdm_buffer_adopt_host(device, memory + 4, 64, count, &counter, &got), invalid,
                "tdm_buffer_adopt_host|multiple of 16");
        REFUSED(tdm_buffer_adopt_host(device, memory, SIZE_MAX, count, &counter, &got),
                TDM_ERROR_OUT_OF_RANGE, "tdm_buffer_adopt_host|memory of|the end of all addresses");
        CHECK(!strstr(tdm_last_error(), "multiple"), "%s", tdm_last_error());
    } else {
        REFUSED(tdm_buffer_adopt_host(device, memory, 64, count, &counter, &got),
                TDM_ERROR_UNSUPPORTED, "host memory|cpu");
    }
    CHECK(counter == 0, "notified of what was not taken");
}

/* A backend refuses requests for the handles of another. */
Test(adopted, other_backends) {
    const tdm_status invalid = TDM_ERROR_INVALID_ARGUMENT;
    struct _cl_context *context;
    struct _cl_device_id *id;
    struct _cl_command_queue *handle;
    struct _cl_mem *memory;
    struct _cl_event *event;
    struct CUctx_st *cuda_context;
    struct CUstream_st *stream;
    int ordinal, counter = 0;
    bool entered = true;
    void *pointer;
    tdm_buffer *buffer = NULL, *got;
    OK(tdm_buffer_create(device, 64, &buffer));
    const char *const here = tdm_device_get_info(device)->id;
    if (backend() != TDM_OPENCL) {
        REFUSED(tdm_opencl_get_context(device, &context), invalid, "tdm_opencl_get_context|opencl");
        CHECK(contains_words(tdm_last_error(), here), "the device is not named");
        REFUSED(tdm_opencl_get_device_id(device, &id), invalid, "tdm_opencl_get_device_id|opencl");
        REFUSED(tdm_opencl_get_queue(queue, &handle), invalid, "tdm_opencl_get_queue|opencl");
        REFUSED(tdm_opencl_get_memory(buffer, &memory), invalid, "tdm_opencl_get_memory|opencl");
        REFUSED(tdm_opencl_adopt_memory(device, (struct _cl_mem *)(void *)&got, 1, count, &counter,
                                        &got),
                invalid, "tdm_opencl_adopt_memory|opencl");
        REFUSED(tdm_opencl_wait(queue, (struct _cl_event *)(void *)&got), invalid,
                "tdm_opencl_wait|opencl");
        REFUSED(tdm_opencl_record(queue, &event), invalid, "tdm_opencl_record|opencl");
        CHECK(!context && !id && !handle && !memory && !event && !got, "something was given");
    } else {
        OK(tdm_opencl_get_context(device, &context));
        OK(tdm_opencl_get_device_id(device, &id));
        OK(tdm_opencl_get_queue(queue, &handle));
        OK(tdm_opencl_get_memory(buffer, &memory));
        CHECK(context && id && handle && memory, "a handle is NULL");
    }
    if (backend() != TDM_CUDA) {
        REFUSED(tdm_cuda_get_context(device, &cuda_context), invalid, "tdm_cuda_get_context|cuda");
        REFUSED(tdm_cuda_enter(device, &entered), invalid, "tdm_cuda_enter|cuda");
        tdm_cuda_leave(device, entered);
        REFUSED(tdm_cuda_get_ordinal(device, &ordinal), invalid, "tdm_cuda_get_ordinal|cuda");
        REFUSED(tdm_cuda_get_stream(queue, &stream), invalid, "tdm_cuda_get_stream|cuda");
        REFUSED(tdm_cuda_get_pointer(buffer, &pointer), invalid, "tdm_cuda_get_pointer|cuda");
        REFUSED(tdm_cuda_adopt_memory(device, &got, 1, count, &counter, &got), invalid,
                "tdm_cuda_adopt_memory|cuda");
        REFUSED(tdm_cuda_wait(queue, (struct CUevent_st *)(void *)&got), invalid,
                "tdm_cuda_wait|cuda");
        REFUSED(tdm_cuda_record(queue, (struct CUevent_st *)(void *)&got), invalid,
                "tdm_cuda_record|cuda");
        CHECK(!cuda_context && ordinal == -1 && !stream && !pointer, "something was given");
    } else {
        OK(tdm_cuda_get_context(device, &cuda_context));
        OK(tdm_cuda_get_ordinal(device, &ordinal));
        OK(tdm_cuda_get_stream(queue, &stream));
        OK(tdm_cuda_get_pointer(buffer, &pointer));
        CHECK(cuda_context && ordinal >= 0 && stream && pointer, "a handle is missing");
    }
    CHECK(counter == 0, "notified of what was not taken");
    tdm_buffer_release(buffer);
}

/* NULL everywhere, in the words of the argument. */
Test(adopted, nulls) {
    const tdm_status invalid = TDM_ERROR_INVALID_ARGUMENT;
    struct _cl_context *context;
    struct _cl_command_queue *handle;
    struct _cl_mem *memory;
    struct CUstream_st *stream;
    void *pointer;
    int ordinal;
    tdm_buffer *got;
    REFUSED(tdm_opencl_get_context(NULL, &context), invalid, "device is NULL");
    REFUSED(tdm_opencl_get_context(device, NULL), invalid, "context is NULL");
    REFUSED(tdm_opencl_get_device_id(device, NULL), invalid, "id is NULL");
    REFUSED(tdm_opencl_get_queue(NULL, &handle), invalid, "queue is NULL");
    REFUSED(tdm_opencl_get_queue(queue, NULL), invalid, "handle is NULL");
    REFUSED(tdm_opencl_get_memory(NULL, &memory), invalid, "buffer is NULL");
    REFUSED(tdm_opencl_get_memory(NULL, NULL), invalid, "memory is NULL");
    REFUSED(tdm_opencl_wait(NULL, NULL), invalid, "queue is NULL");
    REFUSED(tdm_opencl_record(NULL, NULL), invalid, "queue is NULL");
    REFUSED(tdm_cuda_get_ordinal(NULL, &ordinal), invalid, "device is NULL");
    REFUSED(tdm_cuda_get_ordinal(device, NULL), invalid, "ordinal is NULL");
    REFUSED(tdm_cuda_get_stream(NULL, &stream), invalid, "queue is NULL");
    REFUSED(tdm_cuda_get_pointer(NULL, &pointer), invalid, "buffer is NULL");
    REFUSED(tdm_cuda_wait(NULL, NULL), invalid, "queue is NULL");
    REFUSED(tdm_cuda_record(NULL, NULL), invalid, "queue is NULL");
    if (backend() == TDM_OPENCL) {
        REFUSED(tdm_opencl_adopt_memory(device, NULL, 1, NULL, NULL, &got), invalid,
                "tdm_opencl_adopt_memory|memory is NULL");
        REFUSED(tdm_opencl_wait(queue, NULL), invalid, "event is NULL");
        REFUSED(tdm_opencl_record(queue, NULL), invalid, "event is NULL");
    }
    if (backend() == TDM_CUDA) {
        REFUSED(tdm_cuda_adopt_memory(device, NULL, 1, NULL, NULL, &got), invalid,
                "tdm_cuda_adopt_memory|pointer is NULL");
        REFUSED(tdm_cuda_wait(queue, NULL), invalid, "event is NULL");
        REFUSED(tdm_cuda_record(queue, NULL), invalid, "event is NULL");
    }
}

/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* Tensors given away and taken by DLPack. Both ends are Tandem here, or a struct that a test writes; other
 * libraries are in tests/python. */
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "lib/tensors/dlpack_structs.h"
#include "platform/threads.h"
#include "support/array.h"

TestSuite(dlpack, .init = device_open, .fini = device_close, TAGS("device"));

static tdm_backend backend(void) { return tdm_device_get_info(device)->backend; }

/* The struct as a program reads it, in its two forms. */
typedef union managed {
    DLManagedTensor *legacy;
    DLManagedTensorVersioned *versioned;
} managed;

static tdm_status give(bool legacy, tdm_queue *after, const tdm_tensor *tensor, managed *given) {
    return legacy ? tdm_tensor_to_dlpack_legacy(after, tensor, &given->legacy)
                  : tdm_tensor_to_dlpack(after, tensor, &given->versioned);
}

static tdm_status take(bool legacy, managed given, tdm_tensor *tensor) {
    return legacy ? tdm_tensor_from_dlpack_legacy(device, given.legacy, tensor)
                  : tdm_tensor_from_dlpack(device, given.versioned, tensor);
}

static DLTensor *tensor_of(bool legacy, managed given) {
    return legacy ? &given.legacy->dl_tensor : &given.versioned->dl_tensor;
}

static void drop(bool legacy, managed given) {
    if (legacy)
        given.legacy->deleter(given.legacy);
    else
        given.versioned->deleter(given.versioned);
}

/* Every dtype, views too, there and back in both forms: the same memory. */
Test(dlpack, there_and_back) {
    static const int codes[][2] = {
        [TDM_F32] = {kDLFloat, 32}, [TDM_F64] = {kDLFloat, 64},   [TDM_F16] = {kDLFloat, 16},
        [TDM_I32] = {kDLInt, 32},   [TDM_BF16] = {kDLBfloat, 16}, [TDM_I64] = {kDLInt, 64},
        [TDM_U8] = {kDLUInt, 8},    [TDM_I8] = {kDLInt, 8},       [TDM_I16] = {kDLInt, 16},
        [TDM_U16] = {kDLUInt, 16},  [TDM_U32] = {kDLUInt, 32},    [TDM_U64] = {kDLUInt, 64},
        [TDM_BOOL] = {kDLBool, 8}};
    for (int d = 0; d < TDM_DTYPE_COUNT; d++) {
        for (int form = 0; form < 4; form++) {
            const bool legacy = form % 2, view = form / 2;
            check_case("%s, %s, %s", tdm_dtype_name((tdm_dtype)d), legacy ? "legacy" : "versioned",
                       view ? "a view" : "contiguous");
            tdm_tensor x, y, back;
            managed given;
            if (!OK(tdm_zeros(queue, (tdm_dtype)d, TDM_SHAPE(5, 4, 6), &x))) return;
            tdm_tensor shown = x;
            if (view) {
                OK(tdm_tensor_transpose(&x, 0, 2, &shown));
                OK(tdm_tensor_slice(&shown, 0, 1, 2, 3, &shown));
            }
            if (!OK(give(legacy, queue, &shown, &given))) return;
            const DLTensor *dl = tensor_of(legacy, given);
            CHECK(dl->dtype.code == codes[d][0] && dl->dtype.bits == codes[d][1] &&
                      dl->dtype.lanes == 1,
                  "code %d, %d bits, %d lanes", dl->dtype.code, dl->dtype.bits, dl->dtype.lanes);
            CHECK(dl->device.device_type == (int)backend(), "device type %d",
                  dl->device.device_type);
            CHECK(dl->ndim == 3 && dl->data, "%d dimensions", dl->ndim);
            CHECK(memcmp(dl->shape, shown.shape, 3 * sizeof *dl->shape) == 0 &&
                      memcmp(dl->strides, shown.strides, 3 * sizeof *dl->strides) == 0,
                  "another shape, or other strides");
            CHECK(backend() == TDM_OPENCL || dl->byte_offset == 0, "an offset is left");
            if (!legacy)
                CHECK(given.versioned->version.major == 1 && given.versioned->flags == 0,
                      "version %u, flags %llu", given.versioned->version.major,
                      (unsigned long long)given.versioned->flags);

            if (!OK(take(legacy, given, &back))) return;
            CHECK(back.dtype == (tdm_dtype)d && back.ndim == 3, "another dtype or ndim");
            CHECK(memcmp(back.shape, shown.shape, sizeof back.shape) == 0, "another shape");
            CHECK(memcmp(back.strides, shown.strides, sizeof back.strides) == 0, "other strides");
            OK(tdm_fill(queue, 1.0, &back));
            OK(tdm_queue_finish(queue));
            OK(tdm_empty(queue, (tdm_dtype)d, 3, shown.shape, &y));
            OK(tdm_cast(queue, &shown, &y));
            unsigned char seen[120 * 8];
            const size_t size = tdm_dtype_size((tdm_dtype)d);
            const size_t count = (size_t)tdm_tensor_get_count(&y);
            if (!OK(tdm_to_host(queue, &y, seen))) return;
            for (size_t i = 0; i < count; i++)
                CHECK(decode((tdm_dtype)d, seen + i * size) == 1.0L, "element %zu is not 1", i);
            tdm_tensor_release(&x); /* the one that was taken holds the memory */
            OK(tdm_fill(queue, 0.0, &back));
            tdm_tensor_release(&back);
            tdm_tensor_release(&y);
            array_free_all();
        }
    }
}

static void *delete_it(void *given) {
    DLManagedTensorVersioned *versioned = given;
    versioned->deleter(versioned);
    return NULL;
}

/* Given away, and deleted unused: by another thread, after all else is gone. */
Test(dlpack, deleted_by_another_thread) {
    tdm_device *own = NULL;
    tdm_queue *work = NULL;
    tdm_tensor x;
    tdmi_thread thread;
    DLManagedTensorVersioned *given = NULL;
    OK(tdm_device_open(tdm_device_get_info(device)->id, &own));
    OK(tdm_queue_create(own, 0, &work));
    OK(tdm_ones(work, TDM_F32, TDM_SHAPE(100), &x));
    OK(tdm_tensor_to_dlpack(work, &x, &given));
    tdm_tensor_release(&x);
    tdm_queue_destroy(work);
    tdm_device_release(own);
    if (tdmi_thread_start(&thread, delete_it, given)) tdmi_thread_join(thread);
}

/* ---- tensors of a producer that a test plays ---- */

typedef struct producer {
    tdm_buffer *buffer; /* its memory */
    DLManagedTensor legacy;
    DLManagedTensorVersioned versioned;
    int64_t shape[8], strides[8];
    int deleted;
} producer;

static void count_versioned(DLManagedTensorVersioned *self) {
    __atomic_add_fetch(&((producer *)self->manager_ctx)->deleted, 1, __ATOMIC_SEQ_CST);
}

static void count_legacy(DLManagedTensor *self) {
    __atomic_add_fetch(&((producer *)self->manager_ctx)->deleted, 1, __ATOMIC_SEQ_CST);
}

/* 4096 bytes of zeros, as f32 of the shape [8, 16] without strides. */
static void produce(producer *p) {
    DLManagedTensorVersioned *given;
    tdm_tensor x;
    *p = (producer){.shape = {8, 16}, .strides = {16, 1}};
    OK(tdm_buffer_create(device, 4096, &p->buffer));
    OK(tdm_buffer_fill(queue, p->buffer, 0, 4096, "\0", 1));
    x = tdm_tensor_2d(p->buffer, TDM_F32, 8, 16);
    OK(tdm_tensor_to_dlpack(queue, &x, &given));
    p->versioned = *given;
    given->deleter(given);
    p->versioned.manager_ctx = p;
    p->versioned.deleter = count_versioned;
    p->versioned.dl_tensor.shape = p->shape;
    p->versioned.dl_tensor.strides = NULL;
    p->legacy = (DLManagedTensor){p->versioned.dl_tensor, p, count_legacy};
}

static void end(producer *p) { tdm_buffer_release(p->buffer); }

/* The elements of a taken tensor are filled with `value`; those are the only bytes that changed. */
static void check_elements(const producer *p, tdm_tensor *x, size_t first, size_t count) {
    float seen[1024];
    OK(tdm_fill(queue, 3.0, x));
    OK(tdm_buffer_read(queue, p->buffer, 0, seen, sizeof seen));
    for (size_t i = 0; i < 1024; i++)
        CHECK(seen[i] == (i >= first && i < first + count ? 3.0f : 0.0f), "element %zu is %g", i,
              (double)seen[i]);
}

Test(dlpack, taken) {
    for (int legacy = 0; legacy < 2; legacy++) {
        producer p;
        tdm_tensor x;
        produce(&p);
        managed given = {.versioned = &p.versioned};
        if (legacy) given.legacy = &p.legacy;
        DLTensor *dl = tensor_of(legacy, given);

        check_case("no strides, form %d", legacy);
        OK(take(legacy, given, &x));
        CHECK(x.ndim == 2 && x.strides[0] == 16 && x.strides[1] == 1 && x.offset == 0, "strides");
        check_elements(&p, &x, 0, 128);
        tdm_tensor_release(&x);
        OK(tdm_queue_finish(queue));
        CHECK(p.deleted == 1, "deleted %d times", p.deleted);

        check_case("an offset, form %d", legacy);
        OK(tdm_buffer_fill(queue, p.buffer, 0, 4096, "\0", 1));
        dl->byte_offset = 44;
        OK(take(legacy, given, &x));
        check_elements(&p, &x, 11, 128);
        tdm_tensor_release(&x);

        check_case("no dimensions, form %d", legacy);
        OK(tdm_buffer_fill(queue, p.buffer, 0, 4096, "\0", 1));
        dl->ndim = 0;
        dl->shape = NULL;
        OK(take(legacy, given, &x));
        CHECK(x.ndim == 1 && x.shape[0] == 1, "%d dimensions", x.ndim);
        check_elements(&p, &x, 11, 1);
        tdm_tensor_release(&x);

        check_case("nothing, form %d", legacy);
        void *const data = dl->data;
        dl->ndim = 2;
        dl->shape = p.shape;
        dl->data = NULL;
        p.shape[0] = 0;
        OK(take(legacy, given, &x));
        CHECK(x.shape[0] == 0 && x.shape[1] == 16, "another shape");
        OK(tdm_fill(queue, 1.0, &x));
        tdm_tensor_release(&x);

        check_case("one row, whose stride is anything, form %d", legacy);
        OK(tdm_buffer_fill(queue, p.buffer, 0, 4096, "\0", 1));
        dl->data = data;
        dl->byte_offset = 0;
        p.shape[0] = 1;
        dl->strides = p.strides;
        p.strides[0] = INT64_MIN;
        OK(take(legacy, given, &x));
        check_elements(&p, &x, 0, 16);
        tdm_tensor_release(&x);

        check_case("no deleter, form %d", legacy);
        p.legacy.deleter = NULL;
        p.versioned.deleter = NULL;
        OK(take(legacy, given, &x));
        tdm_tensor_release(&x);
        OK(tdm_queue_finish(queue));
        CHECK(p.deleted == 5, "deleted %d times of 5", p.deleted);
        end(&p);
    }
}

/* Read-only, both ways. */
Test(dlpack, read_only) {
    producer p;
    tdm_tensor x, y;
    DLManagedTensorVersioned *given = NULL;
    DLManagedTensor *legacy = NULL;
    produce(&p);
    p.versioned.flags = 1;
    OK(tdm_tensor_from_dlpack(device, &p.versioned, &x));
    REFUSED(tdm_fill(queue, 1.0, &x), TDM_ERROR_READ_ONLY, "read-only");
    OK(tdm_tensor_to_dlpack(queue, &x, &given));
    CHECK(given->flags == 1, "flags %llu", (unsigned long long)given->flags);
    REFUSED(tdm_tensor_to_dlpack_legacy(queue, &x, &legacy), TDM_ERROR_READ_ONLY,
            "tdm_tensor_to_dlpack_legacy|read-only|1.0");
    CHECK(!legacy, "a failure left a tensor");
    OK(tdm_tensor_from_dlpack(device, given, &y));
    tdm_tensor_release(&x);
    REFUSED(tdm_fill(queue, 1.0, &y), TDM_ERROR_READ_ONLY, "read-only");
    CHECK(p.deleted == 0, "deleted while it is used");
    tdm_tensor_release(&y);
    OK(tdm_queue_finish(queue));
    CHECK(p.deleted == 1, "deleted %d times", p.deleted);
    end(&p);
}

/* The struct is refused with a message that names the fault, and stays the caller's. */
Test(dlpack, refused_from) {
    const tdm_status invalid = TDM_ERROR_INVALID_ARGUMENT;
    producer p;
    tdm_tensor x;
    produce(&p);
    DLTensor *dl = &p.versioned.dl_tensor;
    const DLTensor good = *dl;
#define FROM(words, status)                                                                        \
    do {                                                                                           \
        memset(&x, 1, sizeof x);                                                                   \
        REFUSED(tdm_tensor_from_dlpack(device, &p.versioned, &x), status,                          \
                "tdm_tensor_from_dlpack|" words);                                                  \
        CHECK(!x.buffer && p.deleted == 0, "a failure left something");                            \
        *dl = good;                                                                                \
    } while (0)
    dl->dtype = (DLDataType){kDLFloat, 32, 4};
    FROM("4 lanes", TDM_ERROR_INVALID_DTYPE);
    dl->dtype = (DLDataType){5, 64, 1}; /* complex */
    FROM("code 5|64 bits", TDM_ERROR_INVALID_DTYPE);
    dl->dtype = (DLDataType){kDLBool, 1, 1};
    FROM("code 6|1 bits", TDM_ERROR_INVALID_DTYPE);
    dl->ndim = 7;
    FROM("ndim is 7|0 to 6", TDM_ERROR_INVALID_SHAPE);
    dl->ndim = -1;
    FROM("ndim is -1", TDM_ERROR_INVALID_SHAPE);
    p.shape[1] = -1;
    FROM("dimension 1|-1", TDM_ERROR_INVALID_SHAPE);
    p.shape[1] = INT64_MAX;
    FROM("overflow", TDM_ERROR_OUT_OF_RANGE);
    p.shape[1] = 16;
    dl->shape = NULL;
    FROM("shape is NULL", invalid);
    dl->data = NULL;
    FROM("data is NULL", invalid);
    dl->byte_offset = 2;
    FROM("4 bytes|multiple", invalid);
    if (backend() != TDM_OPENCL) {
        dl->byte_offset = UINT64_MAX - 3;
        FROM("byte_offset|past", TDM_ERROR_OUT_OF_RANGE);
    }
    dl->strides = p.strides;
    p.strides[0] = -16;
    FROM("stride 0 is -16|copy", TDM_ERROR_INVALID_SHAPE);
    dl->strides = p.strides;
    p.strides[0] = INT64_MAX;
    FROM("strides overflow", TDM_ERROR_OUT_OF_RANGE);
    dl->strides = p.strides;
    p.strides[0] = INT64_MAX / 7 - 100;
    FROM("", TDM_ERROR_OUT_OF_RANGE);
    dl->device.device_type = 8; /* Metal */
    FROM("device type 8", TDM_ERROR_DEVICE_MISMATCH);
    dl->device.device_type = backend() == TDM_CPU ? kDLCUDA : kDLCPU;
    FROM("device type", TDM_ERROR_DEVICE_MISMATCH);
    p.versioned.version.major = 2;
    FROM("DLPack 2", TDM_ERROR_UNSUPPORTED);
    p.versioned.version.major = 1;
    REFUSED(tdm_tensor_from_dlpack(NULL, &p.versioned, &x), invalid, "device is NULL");
    REFUSED(tdm_tensor_from_dlpack(device, NULL, &x), invalid, "managed is NULL");
    REFUSED(tdm_tensor_from_dlpack(device, &p.versioned, NULL), invalid, "tensor is NULL");
    REFUSED(tdm_tensor_from_dlpack_legacy(device, NULL, &x), invalid,
            "tdm_tensor_from_dlpack_legacy|managed is NULL");
    CHECK(p.deleted == 0, "deleted %d times", p.deleted);
    p.versioned.version.minor = 9;
    OK(tdm_tensor_from_dlpack(device, &p.versioned, &x));
    tdm_tensor_release(&x);
    CHECK(p.deleted == 1, "deleted %d times", p.deleted);
    end(&p);
}

Test(dlpack, refused_to) {
    const tdm_status invalid = TDM_ERROR_INVALID_ARGUMENT;
    tdm_tensor x, none = {0};
    tdm_graph *graph = NULL;
    DLManagedTensorVersioned *given = (DLManagedTensorVersioned *)(void *)&x;
    OK(tdm_zeros(queue, TDM_F32, TDM_SHAPE(4), &x));
    REFUSED(tdm_tensor_to_dlpack(queue, NULL, &given), invalid, "tensor is NULL");
    CHECK(!given, "a failure left a tensor");
    REFUSED(tdm_tensor_to_dlpack(queue, &none, &given), invalid, "tensor has no buffer");
    REFUSED(tdm_tensor_to_dlpack(queue, &x, NULL), invalid, "managed is NULL");
    tdm_tensor far = x;
    far.offset = 1;
    REFUSED(tdm_tensor_to_dlpack(queue, &far, &given), TDM_ERROR_OUT_OF_RANGE, "tensor");
    OK(tdm_graph_create(queue, &graph));
    OK(tdm_graph_begin(graph));
    REFUSED(tdm_tensor_to_dlpack(queue, &x, &given), invalid, "tdm_tensor_to_dlpack|graph");
    OK(tdm_graph_end(graph));
    tdm_graph_destroy(graph);
    if (backend() != TDM_CPU) {
        tdm_device *cpu = NULL;
        tdm_queue *elsewhere = NULL;
        OK(tdm_device_open("cpu", &cpu));
        OK(tdm_queue_create(cpu, 0, &elsewhere));
        REFUSED(tdm_tensor_to_dlpack(elsewhere, &x, &given), TDM_ERROR_DEVICE_MISMATCH, "cpu:0");
        tdm_queue_destroy(elsewhere);
        tdm_device_release(cpu);
    }
    tdm_tensor_release(&x);
}

/* Exchanges with work in between, and all of it comes back. */
Test(dlpack, many) {
    const int turns = small ? 300 : 10000;
    tdm_tensor x;
    OK(tdm_zeros(queue, TDM_F32, TDM_SHAPE(64), &x));
    const uint64_t before = memory_now(device).in_use;
    for (int i = 0; i < turns; i++) {
        managed given;
        tdm_tensor y;
        if (!OK(give(i % 2, NULL, &x, &given)) || !OK(take(i % 2, given, &y))) return;
        OK(tdm_add(queue, &y, &y, &y));
        tdm_tensor_release(&y);
        if (!OK(give(i % 2, NULL, &x, &given))) return;
        drop(i % 2, given);
    }
    OK(tdm_queue_finish(queue));
    const uint64_t after = memory_now(device).in_use;
    CHECK(after == before, "%llu bytes more", (unsigned long long)after);
    tdm_tensor_release(&x);
    CHECK(memory_now(device).in_use == before - 256, "a reference was kept");
}

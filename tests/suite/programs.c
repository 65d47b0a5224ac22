/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* Random programs over two devices with two queues each: tensors and views are made, written, moved, computed with,
 * recorded, replayed and released in any order, and what they hold is compared with a model in f64 that knows each
 * element and how far it may be off. A program that fails is shortened for as long as it fails, and printed. */
#include <criterion/criterion.h>

#include "programs.h"

TestSuite(programs, .init = device_open, .fini = device_close);

enum { STEPS = 48 };

/* ---- steps that move and make ---- */

static void run_create(const step *st, int where) {
    static const tdm_dtype choice[] = {TDM_F32, TDM_F16, TDM_I32, TDM_BF16,
                                       TDM_F32, TDM_I64, TDM_F64};
    tdm_dtype dtype = choice[st->r[2] % 7];
    if (dtype == TDM_F64 && !tdm_device_get_info(s.devices[where])->has_f64) dtype = TDM_F32;
    unsigned char bytes[MOST * 8];
    int64_t shape[3], count = 1;
    const int ndim = 1 + (int)(st->r[3] % 3);
    for (int i = 0; i < ndim; i++)
        count *= shape[i] = 1 + (int64_t)(st->r[4] >> (8 * i)) % 6;
    slot *const x = new_slot(st->r[0], where, NULL, NULL);
    for (int64_t i = 0; i < count; i++) {
        x->m->v[i] = (double)((st->r[5] >> (i % 27)) % 9) - 4;
        encode(dtype, x->m->v[i], bytes + (size_t)i * dtype_size(dtype));
    }
    const int q = (int)(st->r[1] % QUEUES);
    tell("  %s = from_host(%s, %d dimensions, %lld elements) on %d.%d\n", name_of(x),
         tdm_dtype_name(dtype), ndim, (long long)count, where, q);
    MUST(tdm_from_host(s.queues[where][q], bytes, dtype, ndim, shape, &x->t));
}

/* Of the same buffer: turned, or some of the elements of a dimension. */
static void run_view(const step *st, slot *a) {
    tdm_tensor t;
    const int dim = (int)(st->r[2] % (uint32_t)a->t.ndim),
              other = (int)(st->r[3] % (uint32_t)a->t.ndim);
    const int64_t extent = a->t.shape[dim], start = st->r[4] % extent, by = 1 + st->r[5] % 2;
    if (st->r[1] % 2)
        MUST(tdm_tensor_transpose(&a->t, dim, other, &t));
    else
        MUST(tdm_tensor_slice(&a->t, dim, start, (extent - start + by - 1) / by, by, &t));
    if (s.failed) return;
    slot *const x = new_slot(st->r[0], a->m->device, a, a);
    free(x->m);
    x->m = a->m;
    x->m->users++;
    x->t = t;
    (void)tdm_buffer_retain(t.buffer);
    tell("  %s = a view of %s: %s\n", name_of(x), name_of(a), st->r[1] % 2 ? "turned" : "a slice");
}

/* To another dtype; of what may be off no integer, as that may be another. */
static void run_cast(const step *st, slot *a, int q) {
    static const tdm_dtype choice[] = {TDM_F32, TDM_F16, TDM_BF16, TDM_I32, TDM_I64};
    const tdm_dtype dtype = choice[st->r[2] % 5];
    if (!tdm_dtype_is_float(dtype) && !is_exact(a, false)) return;
    slot *const y = new_tensor(st->r[3], a->m->device, dtype, a->t.ndim, a->t.shape, a, a);
    tell("  %s = cast(%s, %s) on queue %d\n", name_of(y), name_of(a), tdm_dtype_name(dtype), q);
    tdm_queue *const on = use(a, q, st->r[5], false);
    (void)use(y, q, 0, true);
    MUST(tdm_cast(on, &a->t, &y->t));
    elements n = get(a);
    for (int64_t i = 0; i < MOST && !tdm_dtype_is_float(dtype); i++)
        n.v[i] = trunc(n.v[i]);
    put(y, &n);
}

static void run_copy(const step *st, slot *a, int q) {
    slot *const y = find_alike(st->r[2], a);
    tell("  %s = copy of %s on queue %d\n", name_of(y), name_of(a), q);
    (void)use(a, q, st->r[5], false);
    tdm_queue *const on = use(y, q, st->r[5] / 2, true);
    const elements n = get(a);
    if (!ok(tdm_cast(on, &a->t, &y->t))) return;
    for (int64_t i = 0; i < tdm_tensor_get_count(&y->t); i++) {
        y->m->v[place_of(&y->t, i)] = n.v[i];
        y->m->e[place_of(&y->t, i)] = n.e[i];
    }
}

static void run_move(const step *st, slot *a, int q) {
    const int where = 1 - a->m->device;
    if (a->t.dtype == TDM_F64 && !tdm_device_get_info(s.devices[where])->has_f64) return;
    const elements n = get(a);
    slot *const y = new_slot(st->r[2], where, a, a);
    const bool waits = st->r[3] % 2;
    tell("  %s = %s to device %d by queue %d%s\n", name_of(y), name_of(a), where, q,
         waits ? "" : ", asynchronously");
    tdm_queue *const on = use(a, q, st->r[5], false);
    if (waits)
        MUST(tdm_to(on, &a->t, s.devices[where], &y->t));
    else
        MUST(tdm_to_async(on, &a->t, s.devices[where], &y->t, &y->transfer));
    y->source = a->m;
    memcpy(y->m->v, n.v, sizeof n.v);
    memcpy(y->m->e, n.e, sizeof n.e);
}

static void run_write(const step *st, slot *y, int q) {
    unsigned char bytes[MOST * 8];
    elements n = {{0}, {0}};
    for (int64_t i = 0; i < tdm_tensor_get_count(&y->t); i++) {
        n.v[i] = (double)((st->r[2] >> (i % 29)) % 7) - 3;
        encode(y->t.dtype, n.v[i], bytes + (size_t)i * dtype_size(y->t.dtype));
    }
    tell("  write %s on queue %d\n", name_of(y), q);
    MUST(tdm_write(use(y, q, st->r[5], true), bytes, &y->t));
    put(y, &n);
}

static void run_fill(const step *st, slot *y, int q) {
    elements n = {{0}, {0}};
    for (int64_t i = 0; i < MOST; i++)
        n.v[i] = (double)(st->r[2] % 5) - 2;
    tell("  fill %s with %g on queue %d\n", name_of(y), n.v[0], q);
    MUST(tdm_fill(use(y, q, st->r[5], true), n.v[0], &y->t));
    put(y, &n);
}

static void make_queue(const step *st, int where, int q) {
    tell("  a new queue %d of device %d\n", q, where);
    tdm_queue_destroy(s.queues[where][q]);
    for (int i = 0; i < TENSORS; i++) /* the work of the old one is over */
        if (s.slots[i].m && s.slots[i].m->device == where && s.slots[i].m->queue == q)
            s.slots[i].m->queue = -1;
    MUST(tdm_queue_create(s.devices[where], st->r[2] % 2 ? TDM_QUEUE_TIMING : 0,
                          &s.queues[where][q]));
}

/* ---- programs ---- */

static void run_step(const step *st) {
    const int where = (int)(st->r[0] % DEVICES), q = (int)(st->r[1] % QUEUES);
    slot *const x = pick(st->r[0]);
    if (st->kind == CREATE || st->kind == CREATE_2 || !x) {
        run_create(st, where);
        return;
    }
    switch (st->kind) {
    case VIEW:
        run_view(st, x);
        break;
    case BINARY:
    case BINARY_2:
        run_binary(st, x, q);
        break;
    case UNARY:
        run_unary(st, x, q);
        break;
    case ROWS:
        run_rows(st, x, q);
        break;
    case REDUCE:
        run_reduce(st, x, q);
        break;
    case PRODUCT:
        run_product(st, x, q);
        break;
    case CAST:
        run_cast(st, x, q);
        break;
    case COPY:
        run_copy(st, x, q);
        break;
    case MOVE:
        run_move(st, x, q);
        break;
    case WRITE:
        run_write(st, x, q);
        break;
    case FILL:
        run_fill(st, x, q);
        break;
    case READ:
        compare(x, q, st->r[5]);
        break;
    case RELEASE:
        tell("  release %s\n", name_of(x));
        release(x);
        break;
    case FINISH:
        tell("  finish queue %d of device %d\n", q, where);
        MUST(tdm_queue_finish(s.queues[where][q]));
        break;
    case NEW_QUEUE:
        make_queue(st, where, q);
        break;
    case TRIM:
        tell("  trim device %d\n", where);
        MUST(tdm_device_trim(s.devices[where]));
        break;
    case GRAPH:
        run_graph(st, x, q);
        break;
    case KERNEL:
        run_kernel(st, x, q);
        break;
    default:
        break;
    }
}

/* Whether it went wrong. */
static bool goes_wrong(const step *steps, int count, bool prints) {
    s.prints = prints;
    s.failed = false;
    for (int d = 0; d < DEVICES; d++)
        for (int q = 0; q < QUEUES; q++)
            MUST(tdm_queue_create(s.devices[d], 0, &s.queues[d][q]));
    for (int i = 0; i < count && !s.failed; i++)
        run_step(&steps[i]);
    for (int i = 0; i < TENSORS && !s.failed; i++)
        if (s.slots[i].m) compare(&s.slots[i], i % QUEUES, 1);
    for (int i = 0; i < TENSORS; i++)
        if (s.slots[i].m) release(&s.slots[i]);
    for (int d = 0; d < DEVICES; d++)
        for (int q = 0; q < QUEUES; q++)
            tdm_queue_destroy(s.queues[d][q]);
    return s.failed;
}

/* Leaves steps out for as long as the program goes wrong without them; how many are left. */
static int shorten(step *steps, int count) {
    for (int size = count / 2; size > 0; size /= 2)
        for (int first = 0; first < count;) {
            step fewer[STEPS];
            const int past = first + size < count ? first + size : count;
            memcpy(fewer, steps, (size_t)first * sizeof *steps);
            memcpy(fewer + first, steps + past, (size_t)(count - past) * sizeof *steps);
            if (goes_wrong(fewer, count - (past - first), false)) {
                count -= past - first;
                memcpy(steps, fewer, (size_t)count * sizeof *steps);
            } else {
                first = past;
            }
        }
    return count;
}

/* The device under test, and another of its backend or, where there is none, any other. */
static void open_devices(void) {
    const tdm_device_info *const own = tdm_device_get_info(device), *info, *found = NULL;
    size_t count = 0;
    OK(tdm_get_device_count(&count));
    for (size_t i = 0; i < count; i++) {
        if (!OK(tdm_get_listed_device(i, &info)) || info == own) continue;
        if (!found || (found->backend != own->backend && info->backend == own->backend))
            found = info;
    }
    s.devices[0] = tdm_device_retain(device);
    if (found)
        OK(tdm_device_open(found->id, &s.devices[1]));
    else
        s.devices[1] = tdm_device_retain(device);
}

Test(programs, random) {
    const char *const asked = getenv("TDM_TEST_PROGRAMS");
    const int programs = asked ? atoi(asked) : small ? 20 : 100;
    open_devices();
    for (int i = 0; i < programs; i++) {
        step steps[STEPS];
        for (int j = 0; j < STEPS; j++) {
            steps[j].kind = (kind)(random_bits() % KIND_COUNT);
            for (int k = 0; k < NUMBERS; k++)
                steps[j].r[k] = (uint32_t)(random_bits() >> 32);
        }
        if (!goes_wrong(steps, STEPS, false)) continue;
        const int count = shorten(steps, STEPS);
        fprintf(stderr, "program %d, shortened to %d steps:\n", i, count);
        const bool again = goes_wrong(steps, count, true);
        CHECK(false, "program %d, %d steps, on %s and %s: %s", i, count,
              tdm_device_get_info(s.devices[0])->id, tdm_device_get_info(s.devices[1])->id,
              again ? s.why : "not every time");
        break;
    }
    fprintf(stderr,
            "programs: %d of %d steps, %ld calls, %ld of them refused, %ld elements compared\n",
            programs, STEPS, calls, refused, compared);
    CHECK(refused * 4 < calls && compared > programs, "hardly anything was compared");
    for (int d = 0; d < DEVICES; d++)
        tdm_device_release(s.devices[d]);
}

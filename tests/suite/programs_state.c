/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* The state of a random program, and its model. */
#include "programs.h"

#include <stdarg.h>

state s;
long calls, refused, compared;

void tell(const char *format, ...) {
    va_list values;
    if (!s.prints) return;
    va_start(values, format);
    vfprintf(stderr, format, values);
    va_end(values);
}

void fail(const char *format, ...) {
    va_list values;
    if (s.failed) return;
    s.failed = true;
    va_start(values, format);
    vsnprintf(s.why, sizeof s.why, format, values);
    va_end(values);
    tell("    %s\n", s.why);
}

/* A call that must succeed, or may be refused for where its operands lie, and then changes nothing. */
bool ok(tdm_status status) {
    calls++;
    if (status == TDM_OK) return true;
    if (status == TDM_ERROR_OVERLAP || status == TDM_ERROR_UNSUPPORTED)
        refused++;
    else
        fail("%s: %s", tdm_status_name(status), tdm_last_error());
    tell("    refused: %s\n", tdm_last_error());
    return false;
}

/* ---- elements ---- */

int64_t place_of(const tdm_tensor *t, int64_t n) {
    int64_t place = t->offset;
    for (int i = t->ndim - 1; i >= 0; n /= t->shape[i], i--)
        place += n % t->shape[i] * t->strides[i];
    return place;
}

elements get(const slot *x) {
    elements n = {{0}, {0}};
    for (int64_t i = 0; i < tdm_tensor_get_count(&x->t); i++) {
        n.v[i] = x->m->v[place_of(&x->t, i)];
        n.e[i] = x->m->e[place_of(&x->t, i)];
    }
    return n;
}

/* Results of arithmetic, stored: exact ones are rounded as the device does, others may be off by a rounding more. */
void put(const slot *y, const elements *n) {
    const tdm_dtype dtype = y->t.dtype;
    for (int64_t i = 0; i < tdm_tensor_get_count(&y->t); i++) {
        double v = n->v[i], e = n->e[i];
        if (isfinite(e) && e > 0 && tdm_dtype_is_float(dtype))
            e = stored(dtype, fabs(v) + e, e + compute_eps(dtype) * (fabs(v) + e));
        else if (e == 0 && tdm_dtype_is_float(dtype))
            v = rounded(dtype, dtype == TDM_F64 ? v : (double)(float)v);
        y->m->v[place_of(&y->t, i)] = v;
        y->m->e[place_of(&y->t, i)] = e;
    }
}

bool is_exact(const slot *x, bool whole) {
    const elements n = get(x);
    for (int64_t i = 0; i < tdm_tensor_get_count(&x->t); i++)
        if (n.e[i] != 0 || (whole && n.v[i] != trunc(n.v[i]))) return false;
    return true;
}

/* ---- tensors and queues ---- */

const char *name_of(const slot *x) {
    static char names[4][8];
    static int turn;
    char *const name = names[turn++ % 4];
    snprintf(name, sizeof names[0], "t%d", (int)(x - s.slots));
    return name;
}

void await(slot *x) {
    if (!x->transfer) return;
    tell("    %s has arrived\n", name_of(x));
    MUST(tdm_transfer_wait(x->transfer));
    tdm_transfer_destroy(x->transfer);
    x->transfer = NULL;
}

void release(slot *x) {
    await(x);
    for (int i = 0; i < TENSORS; i++) /* the model's memory may go, and another take its place */
        if (s.slots[i].m && s.slots[i].transfer && s.slots[i].source == x->m && x->m->users == 1)
            await(&s.slots[i]);
    tdm_tensor_release(&x->t);
    if (--x->m->users == 0) free(x->m);
    *x = (slot){.m = NULL};
    s.live--;
}

slot *pick(uint32_t r) {
    uint32_t n = s.live > 0 ? r % (uint32_t)s.live : 0;
    for (int i = 0; i < TENSORS; i++)
        if (s.slots[i].m && n-- == 0) {
            await(&s.slots[i]);
            return &s.slots[i];
        }
    return NULL;
}

static slot *take_slot(uint32_t r, const slot *not_a, const slot *not_b) {
    while (s.live == TENSORS) {
        slot *const old = &s.slots[r++ % TENSORS];
        if (old == not_a || old == not_b) continue;
        tell("    release %s\n", name_of(old));
        release(old);
    }
    for (int i = 0; i < TENSORS; i++)
        if (!s.slots[i].m) return &s.slots[i];
    return NULL;
}

/* A place for a new tensor, which has no buffer yet. */
slot *new_slot(uint32_t r, int where, const slot *not_a, const slot *not_b) {
    slot *const x = take_slot(r, not_a, not_b);
    x->m = calloc(1, sizeof *x->m);
    if (!x->m) abort();
    x->m->users = 1;
    x->m->device = where;
    x->m->queue = -1;
    s.live++;
    return x;
}

slot *new_tensor(uint32_t r, int where, tdm_dtype dtype, int ndim, const int64_t *shape,
                 const slot *not_a, const slot *not_b) {
    slot *const x = new_slot(r, where, not_a, not_b);
    MUST(tdm_empty(s.queues[where][r % QUEUES], dtype, ndim, shape, &x->t));
    for (int i = 0; i < MOST; i++)
        x->m->e[i] = INFINITY; /* anything */
    return x;
}

/* The queue comes after what another one did with the memory. */
tdm_queue *use(const slot *x, int on, uint32_t r, bool writes) {
    tdm_queue *const *const queues = s.queues[x->m->device];
    for (int i = 0; writes && i < TENSORS; i++)
        if (s.slots[i].m && s.slots[i].transfer && s.slots[i].source == x->m) await(&s.slots[i]);
    if (x->m->queue >= 0 && x->m->queue != on) {
        tdm_event *event = NULL;
        tell("    queue %d comes after queue %d by %s\n", on, x->m->queue,
             r % 2 ? "an event" : "finish");
        if (r % 2) {
            MUST(tdm_event_create(s.devices[x->m->device], &event));
            MUST(tdm_queue_record_event(queues[x->m->queue], event));
            MUST(tdm_queue_wait_event(queues[on], event));
            tdm_event_destroy(event);
        } else {
            MUST(tdm_queue_finish(queues[x->m->queue]));
        }
    }
    x->m->queue = on;
    return queues[on];
}

void compare(slot *x, int on, uint32_t r) {
    unsigned char got[MOST * 8];
    const tdm_dtype dtype = x->t.dtype;
    await(x);
    if (s.failed) return;
    tell("  read %s on queue %d\n", name_of(x), on);
    MUST(tdm_to_host(use(x, on, r, false), &x->t, got));
    const elements want = get(x);
    for (int64_t i = 0; i < tdm_tensor_get_count(&x->t) && !s.failed; i++, compared++) {
        const double v = (double)decode(dtype, got + (size_t)i * dtype_size(dtype));
        if (isinf(want.e[i]) || fabs(v - want.v[i]) <= want.e[i]) continue;
        fail("%s[%lld] of %s is %.17g, not %.17g +- %.3g", name_of(x), (long long)i,
             tdm_dtype_name(dtype), v, want.v[i], want.e[i]);
    }
}

/* Keeps what is computed small: y = clamp(y, -limit, limit), where it may be larger. */
void limit(slot *y, tdm_queue *on) {
    enum { LIMIT = 60 };
    elements n = get(y);
    const int64_t count = tdm_tensor_get_count(&y->t);
    bool large = false;
    for (int64_t i = 0; i < count; i++)
        large = large || !(fabs(n.v[i]) + n.e[i] <= (double)LIMIT);
    if (!large || s.failed) return;
    tell("    clamp %s\n", name_of(y));
    if (!ok(tdm_clamp(on, &y->t, -LIMIT, LIMIT, &y->t))) fail("refused in place");
    for (int64_t i = 0; i < count; i++)
        n.v[i] = fmax(-LIMIT, fmin(LIMIT, n.v[i]));
    put(y, &n);
}

/* One of a's shape, dtype and device. */
slot *find_alike(uint32_t r, slot *a) {
    for (uint32_t i = 0; i < TENSORS; i++) {
        slot *const b = &s.slots[(r + i) % TENSORS];
        if (b == a || !b->m || b->m->device != a->m->device || b->t.dtype != a->t.dtype ||
            b->t.ndim != a->t.ndim ||
            memcmp(b->t.shape, a->t.shape, (size_t)a->t.ndim * sizeof *a->t.shape) != 0)
            continue;
        await(b);
        return b;
    }
    return a;
}

/* Where the result goes: a new tensor, or one that is there. */
slot *find_output(uint32_t r, slot *a, const slot *b) {
    if (r % 3 == 0) return a;
    if (r % 3 == 1) return find_alike(r / 3, a);
    return new_tensor(r / 3, a->m->device, a->t.dtype, a->t.ndim, a->t.shape, a, b);
}

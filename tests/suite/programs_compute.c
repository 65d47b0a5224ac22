/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* Steps of random programs that compute. */
#include "programs.h"

#include "operations/list.h"

/* ---- the operations that compute ---- */

typedef tdm_status binary(tdm_queue *on, const tdm_tensor *a, const tdm_tensor *b, tdm_tensor *y);
static binary *const binaries[] = {tdm_add, tdm_sub, tdm_mul, tdm_minimum, tdm_maximum};
static const char *const binary_names[] = {"add", "sub", "mul", "minimum", "maximum"};

elements combine(int op, const slot *a, const slot *b) {
    elements x = get(a), y = get(b);
    for (int64_t i = 0; i < tdm_tensor_get_count(&a->t); i++) {
        const double v[] = {x.v[i] + y.v[i], x.v[i] - y.v[i], x.v[i] * y.v[i], fmin(x.v[i], y.v[i]),
                            fmax(x.v[i], y.v[i])};
        const double sum = x.e[i] + y.e[i];
        const double product = x.e[i] != 0 || y.e[i] != 0
                                   ? fabs(x.v[i]) * y.e[i] + fabs(y.v[i]) * x.e[i] + x.e[i] * y.e[i]
                                   : 0;
        x.v[i] = v[op];
        x.e[i] = op == 2 ? product : op < 2 ? sum : fmax(x.e[i], y.e[i]);
        if (isnan(x.e[i])) x.e[i] = INFINITY; /* 0 of anything */
    }
    return x;
}

void run_binary(const step *st, slot *a, int q) {
    slot *const b = find_alike(st->r[2], a), *const y = find_output(st->r[3], a, b);
    const int op = (int)(st->r[4] % 5);
    tell("  %s = %s(%s, %s) on queue %d\n", name_of(y), binary_names[op], name_of(a), name_of(b),
         q);
    (void)use(a, q, st->r[5], false);
    (void)use(b, q, st->r[5] / 2, false);
    tdm_queue *const on = use(y, q, st->r[5] / 4, true);
    if (!ok(binaries[op](on, &a->t, &b->t, &y->t))) return;
    const elements n = combine(op, a, b);
    put(y, &n);
    limit(y, on);
}

void run_unary(const step *st, slot *a, int q) {
    static const char *const names[] = {"neg", "abs", "relu", "sigmoid", "tanh", "scale"};
    const bool floats = tdm_dtype_is_float(a->t.dtype);
    const int op = (int)(st->r[4] % (floats ? 6 : 3));
    if (op >= 3 && op < 5 && !is_exact(a, false)) return;
    slot *const y = find_output(st->r[3], a, a);
    tell("  %s = %s(%s) on queue %d\n", name_of(y), names[op], name_of(a), q);
    (void)use(a, q, st->r[5], false);
    tdm_queue *const on = use(y, q, st->r[5] / 2, true);
    const tdm_status status = op == 0   ? tdm_neg(on, &a->t, &y->t)
                              : op == 1 ? tdm_abs(on, &a->t, &y->t)
                              : op == 2 ? tdm_relu(on, &a->t, &y->t)
                              : op == 3 ? tdm_sigmoid(on, &a->t, &y->t)
                              : op == 4 ? tdm_tanh(on, &a->t, &y->t)
                                        : tdm_scale(on, 0.5, &a->t, &y->t);
    if (!ok(status)) return;
    elements n = get(a);
    for (int64_t i = 0; i < tdm_tensor_get_count(&a->t); i++) {
        const double x = n.v[i];
        const double v[] = {-x, fabs(x), fmax(x, 0), 1 / (1 + exp(-x)), tanh(x), 0.5 * x};
        n.v[i] = v[op];
        if (op == 3 || op == 4) n.e[i] = 8 * compute_eps(a->t.dtype) * fabs(v[op]);
    }
    put(y, &n);
}

/* softmax or layer_norm of rows */
void run_rows(const step *st, slot *a, int q) {
    if (!tdm_dtype_is_float(a->t.dtype) || !is_exact(a, false)) return;
    slot *const y = find_output(st->r[3], a, a);
    const bool softmax = st->r[4] % 2;
    const double epsilon = 0.01;
    const int64_t cols = a->t.shape[a->t.ndim - 1];
    tell("  %s = %s(%s) on queue %d\n", name_of(y), softmax ? "softmax" : "layer_norm", name_of(a),
         q);
    (void)use(a, q, st->r[5], false);
    tdm_queue *const on = use(y, q, st->r[5] / 2, true);
    if (!ok(softmax ? tdm_softmax(on, &a->t, &y->t)
                    : tdm_layer_norm(on, &a->t, NULL, NULL, epsilon, &y->t)))
        return;
    const elements x = get(a);
    elements n = {{0}, {0}};
    const double *const inputs[OP_OPERANDS] = {x.v};
    op_refer(op_named(softmax ? "softmax" : "layer_norm"), a->t.dtype,
             tdm_tensor_get_count(&a->t) / cols, cols, epsilon, inputs, softmax ? 2 : 5, n.v, n.e);
    /* put() would add the rounding to y's dtype, which these bounds have */
    for (int64_t i = 0; i < tdm_tensor_get_count(&y->t); i++) {
        y->m->v[place_of(&y->t, i)] = n.v[i];
        y->m->e[place_of(&y->t, i)] = n.e[i];
    }
}

/* The sum or the largest over one dimension, which becomes 1. */
void run_reduce(const step *st, slot *a, int q) {
    const int dim = (int)(st->r[2] % (uint32_t)a->t.ndim);
    const bool floats = tdm_dtype_is_float(a->t.dtype), largest = st->r[3] % 2 || !floats;
    const bool whole = is_exact(a, true);
    int64_t shape[TDM_MAX_DIMS];
    memcpy(shape, a->t.shape, sizeof shape);
    shape[dim] = 1;
    slot *const y = new_tensor(st->r[4], a->m->device, a->t.dtype, a->t.ndim, shape, a, a);
    tell("  %s = %s(%s, dim %d) on queue %d\n", name_of(y), largest ? "max" : "sum", name_of(a),
         dim, q);
    tdm_queue *const on = use(a, q, st->r[5], false);
    (void)use(y, q, 0, true);
    if (!ok(largest ? tdm_max(on, &a->t, &dim, 1, &y->t) : tdm_sum(on, &a->t, &dim, 1, &y->t)))
        return;
    elements n = {{0}, {0}};
    for (int64_t i = 0; i < tdm_tensor_get_count(&y->t); i++) {
        double sizes = 0;
        tdm_tensor line = a->t; /* begins where element i of y does */
        line.shape[dim] = 1;
        const int64_t first = place_of(&line, i);
        n.v[i] = largest ? -INFINITY : 0;
        for (int64_t j = 0; j < a->t.shape[dim]; j++) {
            const double v = a->m->v[first + j * a->t.strides[dim]];
            const double e = a->m->e[first + j * a->t.strides[dim]];
            n.v[i] = largest ? fmax(n.v[i], v) : n.v[i] + v;
            n.e[i] = largest ? fmax(n.e[i], e) : n.e[i] + e;
            sizes += fabs(v) + e;
        }
        if (!largest && !whole)
            n.e[i] += sum_factor(a->t.shape[dim]) * compute_eps(a->t.dtype) * sizes;
    }
    put(y, &n);
    limit(y, on);
}

/* c = a · aᵀ of floats */
void run_product(const step *st, slot *a, int q) {
    tdm_matmul_options options = TDM_MATMUL_OPTIONS_DEFAULTS;
    const int last = a->t.ndim - 1;
    const bool whole = is_exact(a, true);
    if (last < 1 || !tdm_dtype_is_float(a->t.dtype)) return;
    const int64_t rows = a->t.shape[last - 1], depth = a->t.shape[last];
    int64_t shape[TDM_MAX_DIMS];
    memcpy(shape, a->t.shape, sizeof shape);
    shape[last] = rows;
    if (tdm_tensor_get_count(&a->t) / depth * rows > MOST) return;
    slot *const c = new_tensor(st->r[2], a->m->device, a->t.dtype, a->t.ndim, shape, a, a);
    tell("  %s = %s times itself transposed on queue %d\n", name_of(c), name_of(a), q);
    options.transpose_b = true;
    tdm_queue *const on = use(a, q, st->r[5], false);
    (void)use(c, q, 0, true);
    if (!ok(tdm_matmul(on, &options, &a->t, &a->t, &c->t))) return;
    const elements x = get(a);
    elements n = {{0}, {0}};
    for (int64_t i = 0; i < tdm_tensor_get_count(&c->t); i++) {
        const double *const l = x.v + i / rows * depth, *const le = x.e + i / rows * depth;
        const int64_t of_b = (i / rows / rows * rows + i % rows) * depth;
        double sizes = 0;
        for (int64_t k = 0; k < depth; k++) {
            const double v = x.v[of_b + k], e = x.e[of_b + k];
            n.v[i] += l[k] * v;
            sizes += (fabs(l[k]) + le[k]) * (fabs(v) + e);
            if (le[k] > 0 || e > 0) n.e[i] += fabs(l[k]) * e + fabs(v) * le[k] + le[k] * e;
        }
        if (isnan(n.e[i])) n.e[i] = INFINITY;
        if (!whole) n.e[i] += 16 * compute_eps(c->t.dtype) * sizes;
    }
    put(c, &n);
    limit(c, on);
}

/* y = max(a, -b) - 1 by a kernel of the program's */
void run_kernel(const step *st, slot *a, int q) {
    static const tdm_parameter parameters[] = {TDM_TENSOR("a"), TDM_TENSOR("b"), TDM_TENSOR("y")};
    slot *const b = find_alike(st->r[2], a), *const y = find_output(st->r[3], a, b);
    tdm_kernel *kernel = NULL;
    tell("  %s = max(%s, -%s) - 1 on queue %d\n", name_of(y), name_of(a), name_of(b), q);
    MUST(tdm_kernel_elementwise(s.devices[a->m->device], "y = max(a, -b) - 1", parameters, 3,
                                &kernel));
    (void)use(a, q, st->r[5], false);
    (void)use(b, q, st->r[5] / 2, false);
    tdm_queue *const on = use(y, q, st->r[5] / 4, true);
    const tdm_argument arguments[] = {TDM_WITH_TENSOR("a", &a->t), TDM_WITH_TENSOR("b", &b->t),
                                      TDM_WITH_TENSOR("y", &y->t)};
    const bool right = ok(tdm_kernel_run(on, kernel, arguments, 3));
    tdm_kernel_release(kernel);
    if (!right) return;
    elements n = get(a);
    const elements other = get(b);
    for (int64_t i = 0; i < tdm_tensor_get_count(&a->t); i++) {
        n.v[i] = fmax(n.v[i], -other.v[i]) - 1;
        n.e[i] = fmax(n.e[i], other.e[i]);
    }
    put(y, &n);
}

/* y = y op b and y = -y, recorded, and replayed up to three times; each replay keeps y small. */
void run_graph(const step *st, slot *a, int q) {
    slot *const b = find_alike(st->r[2], a);
    const int replays = (int)(st->r[3] % 4), op = (int)(st->r[4] % 2) * 3;
    tdm_graph *graph = NULL;
    tell("  a graph on queue %d: %s = clamp(-%s(%s, %s), -60, 60), %d times\n", q, name_of(a),
         binary_names[op], name_of(a), name_of(b), replays);
    (void)use(b, q, st->r[5] / 2, false);
    tdm_queue *const on = use(a, q, st->r[5], true);
    MUST(tdm_graph_create(on, &graph));
    MUST(tdm_graph_begin(graph));
    const bool right = ok(binaries[op](on, &a->t, &b->t, &a->t));
    if (right) MUST(tdm_neg(on, &a->t, &a->t));
    if (right) MUST(tdm_clamp(on, &a->t, -60, 60, &a->t));
    MUST(tdm_graph_end(graph));
    for (int i = 0; i < replays && !s.failed; i++) {
        MUST(tdm_graph_replay(graph));
        if (!right) continue;
        elements n = combine(op, a, b);
        put(a, &n);
        n = get(a);
        for (int64_t j = 0; j < tdm_tensor_get_count(&a->t); j++)
            n.v[j] = fmax(-60, fmin(60, -n.v[j]));
        put(a, &n);
    }
    tdm_graph_destroy(graph);
}

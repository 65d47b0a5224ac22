/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* The calls that TANDEM_VERIFY makes again, and their comparison. Operands are copied to the host before a call, as it
 * may write over them. The reference's are contiguous, floats as f64. */
#include "verify.h"

#include <float.h>
#include <math.h>

#include "base/dtype.h"
#include "base/log.h"
#include "base/memory.h"
#include "verify_report.h"

#include <tandem/buffer.h>
#include <tandem/queue.h>

/* Operands of attention. */
enum { QUERIES, KEYS, VALUES };

typedef struct verification {
    tdmi_verification call; /* first: it is what operations see */
    tdm_queue *user;
    const char *function;
    const tdmi_arg *args;
    int count, round;
    tdmi_verify_rule rule;
    bool exact, done; /* dtypes stay as they are; there is something to compare with */
    tdm_dtype arithmetic;
    double eps, terms;
    tdm_tensor given[TDMI_VERIFY_MOST], made[TDMI_VERIFY_MOST];
    void *before[TDMI_VERIFY_MOST];   /* as the program's tensors had it, contiguous */
    void *expected[TDMI_VERIFY_MOST]; /* of an output: the reference's */
    void *sizes[TDMI_VERIFY_MOST];    /* of an output: M of its rule (verify.h) */
} verification;

static bool is_output(const verification *v, int i) {
    return v->args[i].tensor && (v->args[i].flags & TDMI_ARG_OUTPUT);
}

static size_t count_of(const tdm_tensor *tensor) { return (size_t)tdm_tensor_get_count(tensor); }

/* The elements of a tensor that is the reference's, on cpu; NULL of an empty one. */
static void *host_of(const tdm_tensor *made) {
    return made->buffer->block ? made->buffer->block->mem.host : NULL;
}

/* ---- contents ---- */

/* Elements of a view, one after another, of which `from` has the first and all up to the last. */
static void pack(const tdm_tensor *view, const char *from, char *to) {
    const size_t size = tdm_dtype_size(view->dtype), count = count_of(view);
    int64_t at[TDM_MAX_DIMS] = {0};
    for (size_t n = 0; n < count; n++, to += size) {
        memcpy(to, from, size);
        for (int i = view->ndim - 1; i >= 0; i--) {
            from += view->strides[i] * (int64_t)size;
            if (++at[i] < view->shape[i]) break;
            from -= view->strides[i] * view->shape[i] * (int64_t)size;
            at[i] = 0;
        }
    }
}

/* The elements of the program's tensor, contiguous; NULL with v->call.status. Waits for the queue. */
static void *contents(verification *v, const tdm_tensor *x) {
    int64_t span = 1;
    const size_t size = tdm_dtype_size(x->dtype), count = count_of(x);
    for (int i = 0; i < x->ndim; i++)
        span += count > 0 ? (x->shape[i] - 1) * x->strides[i] : 0;
    char *bytes = tdmi_malloc((size_t)span * size);
    void *packed = count < SIZE_MAX / 16 ? tdmi_malloc(count * size + 1) : NULL;
    v->call.status = bytes && packed ? tdmi_order(v->user, x->buffer, false)
                                     : tdmi_fail(TDM_ERROR_OUT_OF_MEMORY,
                                                 "%s: no host memory to verify", v->function);
    if (v->call.status == TDM_OK && count > 0)
        v->call.status = tdmi_queue_submitted(
            v->user,
            v->user->device->backend->read(v->user->impl, &x->buffer->block->mem,
                                           (size_t)x->offset * size, bytes, (size_t)span * size));
    if (v->call.status == TDM_OK) v->call.status = tdm_queue_finish(v->user);
    if (v->call.status == TDM_OK) pack(x, bytes, packed);
    tdmi_queue_let_go(v->user, tdmi_free, bytes);
    if (v->call.status == TDM_OK) return packed;
    tdmi_free(packed);
    return NULL;
}

static double number_at(tdm_dtype dtype, const void *elements, size_t i) {
    const char *const element = (const char *)elements + i * tdm_dtype_size(dtype);
    return tdm_dtype_is_float(dtype) ? tdmi_element_float(dtype, element)
                                     : (double)tdmi_element_integer(dtype, element);
}

/* x + residual as the device rounds it: in f32 arithmetic, then to the dtype. */
static double rounded_sum(tdm_dtype dtype, double x, double residual) {
    if (dtype == TDM_F64) return x + residual;
    const uint64_t bits = tdmi_element_bits(dtype, (double)((float)x + (float)residual));
    return tdmi_element_float(dtype, &bits);
}

/* An element of an operand, which the operation computes with. */
static double operand(const verification *v, int i, size_t n) {
    const tdm_dtype dtype = v->given[i].dtype;
    const double x = number_at(dtype, v->before[i], n);
    if (i != 0 || !v->rule.adds_residual || !v->before[1]) return x;
    /* a residual may lack the first dimensions */
    return rounded_sum(dtype, x, number_at(dtype, v->before[1], n % count_of(&v->given[1])));
}

static bool has_subnormals(tdm_dtype dtype, const void *elements, size_t count) {
    if (dtype != TDM_F32 && dtype != TDM_BF16) return false;
    for (size_t i = 0; i < count; i++) {
        const double x = fabs(number_at(dtype, elements, i));
        if (x > 0 && x < (double)FLT_MIN) return true;
    }
    return false;
}

/* ---- the calls ---- */

/* Whether the device may take subnormal numbers for 0; products of bf16 may on any. */
static bool may_flush(const verification *v) {
    if (v->rule.kind == TDMI_VERIFY_MOVED) return false;
    return v->user->device != v->user->reference->device ||
           (v->rule.rounds_twice && v->given[0].dtype == TDM_BF16);
}

/* The queue that the references of this one are computed by. */
static tdm_status find_reference(tdm_queue *queue) {
    tdm_device *device = NULL;
    if (queue->reference) return TDM_OK;
    tdm_status status = tdm_device_open("cpu", &device);
    if (status == TDM_OK) status = tdm_queue_create(device, 0, &queue->reference);
    tdm_device_release(device);
    if (status != TDM_OK)
        return tdmi_fail_in(status,
                            "TANDEM_VERIFY computes on cpu, which TANDEM_BACKEND must list");
    queue->reference->verifies = false;
    queue->reference->is_reference = true;
    return TDM_OK;
}

/* Every n-th call in the mean, at no regular distance: a program's loop has one, too. */
static bool is_chosen(void) {
    static atomic_uint_fast64_t calls;
    const uint64_t golden = UINT64_C(0x9e3779b97f4a7c15); /* its multiples are spread evenly */
    const uint64_t fraction = (atomic_fetch_add(&calls, 1) + 1) * golden;
    return (double)(fraction >> 11) * 0x1p-53 < tdmi_env_values()->verify;
}

/* Whether the arguments are right and of a kind that has a reference, so that a copy can be made. */
static bool is_covered(verification *v) {
    int floats = 0, others = 0, outputs = 0;
    const tdm_tensor *const first = v->args[0].tensor;
    const tdm_tensor *last = NULL;
    bool wide = false;
    for (int i = 0; i < v->count; i++) {
        const tdm_tensor *const x = v->args[i].tensor;
        if (!x) continue;
        if (tdmi_tensor_check_packed(v->function, v->args[i].name, x) != TDM_OK ||
            x->buffer->packing != TDMI_NOT_PACKED || x->buffer->device != v->user->device)
            return false;
        tdm_dtype_is_float(x->dtype) ? floats++ : others++;
        if (!is_output(v, i)) wide = wide || x->dtype == TDM_F64;
        if (is_output(v, i)) last = x;
        outputs += is_output(v, i) && tdm_tensor_get_count(x) > 0;
    }
    if (!first || !last || outputs == 0) return false;
    const tdmi_verify_kind kind = v->rule.kind;
    v->exact = kind == TDMI_VERIFY_EXACT || kind == TDMI_VERIFY_MOVED ||
               (kind == TDMI_VERIFY_SUMS && floats == 0);
    v->arithmetic = wide && last->dtype == TDM_F64 ? TDM_F64 : TDM_F32;
    v->eps = v->arithmetic == TDM_F64 ? DBL_EPSILON : (double)FLT_EPSILON;
    const double ratio = (double)tdm_tensor_get_count(first) / (double)tdm_tensor_get_count(last);
    v->terms = ratio > 1 ? ratio : (double)first->shape[first->ndim - 1];
    return v->exact || others == 0 || kind == TDMI_VERIFY_ATTENTION;
}

tdmi_verification *tdmi_verify_begin(const char *function, tdm_queue *queue, const tdmi_arg *args,
                                     int count, tdmi_verify_rule rule) {
    if (queue->recording || !is_chosen()) return NULL;
    verification *v = tdmi_calloc(1, sizeof *v);
    if (!v) return NULL;
    *v = (verification){.call = {.queue = queue},
                        .user = queue,
                        .function = function,
                        .args = args,
                        .count = count,
                        .rule = rule};
    if (!is_covered(v)) {
        tdmi_free(v);
        return NULL;
    }
    queue->verifies = false; /* calls within the operation are a part of it */
    v->call.status = find_reference(queue);
    bool covered = v->call.status == TDM_OK;
    for (int i = 0; i < count && covered; i++) {
        const tdm_tensor *const x = args[i].tensor;
        if (!x) continue;
        v->given[i] = *x;
        v->call.t[i] = &v->given[i];
        v->before[i] = contents(v, x);
        /* many times as much as what is taken for 0 is 0, too */
        covered = v->before[i] && (is_output(v, i) || !may_flush(v) ||
                                   !has_subnormals(x->dtype, v->before[i], count_of(x)));
    }
    if (covered || v->call.status != TDM_OK) return &v->call;
    (void)!tdmi_verify_end(&v->call);
    return NULL;
}

/* A tensor of the reference with the contents of the program's: as they are, as f64, or as absolute values of that. */
static tdm_status make(verification *v, int i, bool sizes) {
    tdm_tensor *const made = &v->made[i];
    const tdm_tensor *const x = &v->given[i];
    const size_t count = count_of(x);
    const bool same = v->exact || !tdm_dtype_is_float(x->dtype); /* masks and lengths, too */
    const bool positive = sizes && (v->rule.kind != TDMI_VERIFY_ATTENTION || i == VALUES);
    tdm_tensor_release(made);
    TDMI_TRY(tdmi_empty(v->function, v->user->reference->device, same ? x->dtype : TDM_F64, x->ndim,
                        x->shape, made));
    void *const pointer = host_of(made);
    if (same && count > 0) memcpy(pointer, v->before[i], count * tdm_dtype_size(x->dtype));
    double *const numbers = pointer;
    for (size_t n = 0; !same && n < count; n++) {
        numbers[n] = operand(v, i, n);
        if (positive) numbers[n] = fabs(numbers[n]);
    }
    v->call.t[i] = made;
    return TDM_OK;
}

static tdm_status make_all(verification *v, bool sizes) {
    v->call.sizes = sizes;
    v->call.queue = v->user->reference;
    for (int i = 0; i < v->count; i++)
        if (v->args[i].tensor) TDMI_TRY(make(v, i, sizes));
    if (v->rule.adds_residual && !v->exact) v->call.t[1] = v->call.t[4] = NULL;
    return TDM_OK;
}

/* Copies of the reference's results; where the residual was added before, the sum is its operand 0. */
static tdm_status keep_outputs(verification *v, void *kept[TDMI_VERIFY_MOST]) {
    TDMI_TRY(tdm_queue_finish(v->user->reference));
    for (int i = 0; i < v->count; i++) {
        const bool is_sum = i == 4 && v->rule.adds_residual;
        const tdm_tensor *const from = &v->made[is_sum ? 0 : i];
        if (!is_output(v, i)) continue;
        const size_t bytes = count_of(from) * tdm_dtype_size(from->dtype);
        kept[i] = tdmi_malloc(bytes + 1);
        if (!kept[i]) return tdmi_fail(TDM_ERROR_OUT_OF_MEMORY, "out of host memory");
        if (bytes > 0) memcpy(kept[i], host_of(from), bytes);
    }
    return TDM_OK;
}

bool tdmi_verify_next(tdmi_verification *call) {
    verification *const v = (verification *)(void *)call;
    if (call->status != TDM_OK && v->round < 2)
        return false; /* of the program's call, or before it */
    const tdmi_verify_kind kind = v->rule.kind;
    const bool wants_sizes =
        kind == TDMI_VERIFY_SIZES || kind == TDMI_VERIFY_SUMS || kind == TDMI_VERIFY_ATTENTION;
    tdm_status status = call->status;
    switch (v->round++) {
    case 0:
        return true;
    case 1:
        status = make_all(v, false);
        if (status == TDM_OK) return true;
        break;
    case 2:
        if (status == TDM_OK) status = keep_outputs(v, v->expected);
        v->done = status == TDM_OK && (v->exact || !wants_sizes);
        if (v->done || status != TDM_OK) break;
        status = make_all(v, true);
        if (status == TDM_OK) return true;
        break;
    default:
        if (status == TDM_OK) status = keep_outputs(v, v->sizes);
        v->done = status == TDM_OK;
    }
    call->status = TDM_OK; /* the program's call was right */
    if (status != TDM_OK)
        tdmi_log(TDM_LOG_WARNING, "TANDEM_VERIFY: %s is not compared: %s", v->function,
                 tdm_last_error());
    return false;
}

/* ---- the comparison ---- */

/* Half a unit in the last place of a number of that size. */
static double half_ulp(tdm_dtype dtype, double x) {
    static const struct {
        int digits, least;
    } formats[] = {[TDM_F32] = {24, -125},
                   [TDM_F64] = {53, -1021},
                   [TDM_F16] = {11, -13},
                   [TDM_BF16] = {8, -125}};
    int exponent = formats[dtype].least, least = exponent;
    if (x != 0) (void)frexp(x, &exponent);
    return ldexp(0.5, (exponent > least ? exponent : least) - formats[dtype].digits);
}

static double normal_of(tdm_dtype type) { return type == TDM_F64 ? DBL_MIN : (double)FLT_MIN; }

static double largest_of(tdm_dtype dtype) {
    return dtype == TDM_F64 ? DBL_MAX : dtype == TDM_F16 ? 65504.0 : (double)FLT_MAX;
}

/* The numbers that bounds of a whole row, or of all, are made of. */
typedef struct row_size {
    size_t row;
    bool known;
    double size; /* of the largest score; layer_norm: of the largest element by the deviation */
    double k, v; /* attention: of the largest elements */
} row_size;

static double largest_operand(const verification *v, int i) {
    double most = 0;
    for (size_t n = 0; v->before[i] && n < count_of(&v->given[i]); n++) {
        const double x = fabs(operand(v, i, n));
        if (isfinite(x) && x > most) most = x;
    }
    return most;
}

/* The largest element by the deviation; negative where all are equal. Of a row scaled to 1, so that no square
 * overflows. */
static double layer_norm_size(const verification *v, size_t row, size_t cols) {
    const size_t first = row * cols;
    double sum = 0, squares = 0, most = 0;
    bool equal = true;
    for (size_t j = 0; j < cols; j++) {
        const double x = operand(v, 0, first + j);
        equal = equal && x == operand(v, 0, first);
        most = fmax(most, fabs(x));
    }
    if (equal) return -1;
    for (size_t j = 0; j < cols; j++)
        sum += operand(v, 0, first + j) / most;
    for (size_t j = 0; j < cols; j++) {
        const double d = operand(v, 0, first + j) / most - sum / (double)cols;
        squares += d * d;
    }
    return most / hypot(most * sqrt(squares / (double)cols), sqrt(v->rule.number));
}

/* Each weight is off by a factor of at most exp(error) either way. M is Σ w |v|. Weights below the normal numbers may
 * be lost. Infinite where the scores may overflow, or the sum of powers times v. */
static double attention_error(const verification *v, size_t row, double m, double y,
                              row_size *known) {
    const tdm_tensor *const keys = &v->given[KEYS];
    const double n = (double)keys->shape[keys->ndim - 2], e = v->eps, given = v->rule.number;
    const size_t size = (size_t)keys->shape[keys->ndim - 1];
    const double scale = given != 0 ? fabs(given) : size > 0 ? 1 / sqrt((double)size) : 0;
    if (!known->known) known->k = largest_operand(v, KEYS), known->v = largest_operand(v, VALUES);
    if (!known->known || known->row != row) {
        double sum = 0;
        for (size_t d = 0; d < size; d++) {
            const double x = fabs(operand(v, QUERIES, row * size + d));
            if (isfinite(x)) sum += x;
        }
        *known = (row_size){row, true, sum * known->k, known->k, known->v};
    }
    if (fmax(known->size * fmax(scale, 1), m * n) > largest_of(v->arithmetic) / 2) return INFINITY;
    const double scores = scale * known->size;
    const double error = e * (((double)size / 2 + 4) * scores + fmin(2 * scores, 800) + n / 2 + 8);
    return expm1(error) * exp(error) * (m + y) + normal_of(v->arithmetic) * n * known->v;
}

/* The bound of element n of an output, whose value is y, without its rounding to the dtype. */
static double error_of(const verification *v, int out, size_t n, double y, row_size *known) {
    const tdmi_verify_rule *const rule = &v->rule;
    const double k = tdmi_sum_factor(v->terms), e = v->eps, size = fabs(y);
    const double m = v->sizes[out] ? ((const double *)v->sizes[out])[n] : 0;
    const size_t cols = (size_t)v->given[out].shape[v->given[out].ndim - 1], row = n / cols;
    switch (rule->kind) {
    case TDMI_VERIFY_EXACT:
    case TDMI_VERIFY_MOVED:
        break;
    case TDMI_VERIFY_ULPS:
        return e * (rule->factor * size + rule->number);
    case TDMI_VERIFY_TERMS:
        return k * e * size;
    case TDMI_VERIFY_SIZES:
        return rule->factor * e * fmax(m, size);
    case TDMI_VERIFY_SUMS:
        return (k + rule->factor) * e * m;
    case TDMI_VERIFY_SOFTMAX:
        /* the largest score is -ln y above this one, or less */
        if (!known->known && rule->factor != 0)
            known->size = fabs(rule->number) * largest_operand(v, 0) + largest_operand(v, 1);
        known->known = true;
        return (e * (k - log(size + DBL_MIN)) + expm1(e * rule->factor * known->size)) *
               (size + DBL_MIN);
    case TDMI_VERIFY_VARIANCE: {
        /* no element is further from the mean than √n deviations */
        const double left = v->terms - rule->number, d = sqrt(size * left / v->terms);
        const double f = d * (1 + sqrt(v->terms));
        return e * (2 * k * size + 4 * f * (d + e * f) * v->terms / left) +
               (may_flush(v) ? normal_of(v->arithmetic) : half_ulp(v->arithmetic, 0)) * v->terms /
                   left;
    }
    case TDMI_VERIFY_LAYER_NORM: {
        const double w = v->before[2] ? fabs(operand(v, 2, n % cols)) : 1;
        const double b = v->before[3] ? operand(v, 3, n % cols) : 0;
        if (!known->known || known->row != row)
            *known = (row_size){.row = row, .known = true, .size = layer_norm_size(v, row, cols)};
        return known->size < 0 ? 0 : e * (16 * known->size * w + k * fabs(y - b) + 2 * fabs(b));
    }
    case TDMI_VERIFY_ATTENTION:
        return attention_error(v, row, m, size, known);
    }
    return 0;
}

static bool are_same(tdm_dtype dtype, const void *got, const void *y, size_t n, bool flushes) {
    const size_t size = tdm_dtype_size(dtype);
    if (memcmp((const char *)got + n * size, (const char *)y + n * size, size) == 0) return true;
    if (!tdm_dtype_is_float(dtype)) return false;
    const double a = number_at(dtype, got, n), b = number_at(dtype, y, n);
    return (isnan(a) && isnan(b)) || a == b || /* zeros of either sign */
           (flushes && fabs(a) <= (double)FLT_MIN && fabs(b) <= (double)FLT_MIN);
}

static bool is_right(const verification *v, int out, const void *results, size_t n, row_size *known,
                     tdmi_wrong_result *wrong) {
    const tdm_dtype dtype = v->given[out].dtype;
    const bool flushes = may_flush(v);
    wrong->got = number_at(dtype, results, n);
    wrong->expected = number_at(v->exact ? dtype : TDM_F64, v->expected[out], n);
    if (v->exact) return are_same(dtype, results, v->expected[out], n, flushes);
    const double got = wrong->got, y = wrong->expected;
    const double m = v->sizes[out] ? ((const double *)v->sizes[out])[n] : 0;
    const double most = largest_of(dtype), size = fabs(y);
    /* a weight of 0 makes NaN of Inf in v, one that is merely small does not */
    if (v->rule.kind == TDMI_VERIFY_ATTENTION && !isfinite(y)) return !isfinite(got);
    if (isnan(y)) return isnan(got);
    if (isinf(y)) return got == y;
    /* intermediate overflow has no bound */
    if (m > largest_of(v->arithmetic) / 2) return true;
    double error = out == 4 && v->rule.adds_residual ? 0 : error_of(v, out, n, y, known);
    if (isinf(error)) return true;
    if (v->rule.rounds_twice && tdm_dtype_size(dtype) == 2)
        error += 1.2 * half_ulp(dtype, fmax(m, size));
    error += v->rule.products * (flushes ? normal_of(v->arithmetic) : half_ulp(v->arithmetic, 0));
    if (v->arithmetic == TDM_F64) error *= 2; /* the reference's is as large */
    if (v->arithmetic == TDM_F32)
        error += (dtype == TDM_F32 ? 1e-3 : 1.001) * half_ulp(dtype, size + error);
    error += flushes ? normal_of(v->arithmetic) : 4 * half_ulp(dtype, 0);
    wrong->allowed = error;
    if (isinf(got)) return (got > 0) == (y > 0) && size + error + half_ulp(dtype, most) >= most;
    return fabs(got - y) <= error;
}

/* The first wrong element of an output, which is reported with all operands. */
static tdm_status compare(verification *v, int out, void *results) {
    row_size known = {0};
    tdmi_wrong_result wrong = {.function = v->function,
                               .device = &v->user->device->facts->info,
                               .name = v->args[out].name,
                               .tensor = &v->given[out]};
    const size_t count = count_of(&v->given[out]);
    for (wrong.element = 0; wrong.element < count; wrong.element++)
        if (!is_right(v, out, results, wrong.element, &known, &wrong)) break;
    if (wrong.element == count) return TDM_OK;
    tdmi_saved_tensor saved[TDMI_VERIFY_MOST + 2];
    int kept = 0;
    for (int i = 0; i < v->count; i++)
        if (v->before[i])
            saved[kept++] = (tdmi_saved_tensor){v->args[i].name, is_output(v, i) ? "before" : NULL,
                                                v->given[i].dtype, &v->given[i], v->before[i]};
    saved[kept++] =
        (tdmi_saved_tensor){wrong.name, "computed", wrong.tensor->dtype, wrong.tensor, results};
    saved[kept++] =
        (tdmi_saved_tensor){wrong.name, "expected", v->exact ? wrong.tensor->dtype : TDM_F64,
                            wrong.tensor, v->expected[out]};
    return tdmi_report_wrong(&wrong, saved, kept);
}

tdm_status tdmi_verify_end(tdmi_verification *call) {
    verification *const v = (verification *)(void *)call;
    for (int i = 0; v->done && i < v->count && call->status == TDM_OK; i++) {
        void *results = is_output(v, i) ? contents(v, &v->given[i]) : NULL;
        if (results) call->status = compare(v, i, results);
        tdmi_free(results);
    }
    const tdm_status status = call->status;
    v->user->verified += v->done;
    v->user->verifies = true;
    for (int i = 0; i < TDMI_VERIFY_MOST; i++) {
        tdm_tensor_release(&v->made[i]);
        tdmi_free(v->before[i]);
        tdmi_free(v->expected[i]);
        tdmi_free(v->sizes[i]);
    }
    tdmi_free(v);
    return status;
}

/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* Measuring how many lanes share a row, how many vectors of it each has, and how many groups are launched. */
#include <tandem/tune.h>

#include <math.h>
#include <stdio.h>
#include <string.h>

#include <tandem/create.h>

#include "base/dtype.h"
#include "base/log.h"
#include "lanes.h"
#include "launch.h"
#include "tune/samples.h"

enum { MOST_WAYS = 32 };

/* Large enough to pass the cache by, and not so large that a sample takes long. */
static const uint64_t LEAST_BYTES = 32 << 20, MOST_BYTES = 512 << 20;

typedef struct tuner tuner;

/* An operation that can be measured, in its usual form. */
typedef struct row_operation {
    const char *name;
    tdmi_kernel_id kernel;
    unsigned op;
    bool reduces; /* y has an element for each row */
    tdm_status (*run)(tuner *t);
} row_operation;

/* A way to run it; the first of a tuner's is the usual one, whose choice.lanes is 0. */
typedef struct way {
    tdmi_row_choice choice;
    tdmi_variant variant; /* the resulting variant */
    bool out;             /* wrong, failed or hopeless */
    double samples[TDMI_SAMPLES];
    int count;
} way;

struct tuner {
    tdm_queue *queue;
    const row_operation *operation;
    tdmi_variant wanted;
    int64_t rows, cols;
    tdm_tensor x, y, right, weight, bias, largest;
    unsigned char element[sizeof(double)]; /* is read into: kept where a wait fails */
    double scale; /* the largest element of `right`, which is what y should be */
    double until; /* on the clock */
    way ways[MOST_WAYS];
    int count;
    unsigned wrong;
};

static tdm_status run_layer_norm(tuner *t) {
    return tdm_layer_norm(t->queue, &t->x, &t->weight, &t->bias, 1e-5, &t->y);
}

static tdm_status run_rms_norm(tuner *t) {
    return tdm_rms_norm(t->queue, &t->x, &t->weight, 1e-5, NULL, NULL, &t->y);
}

static tdm_status run_softmax(tuner *t) { return tdm_softmax(t->queue, &t->x, &t->y); }

static tdm_status run_l2_normalize(tuner *t) {
    return tdm_l2_normalize(t->queue, &t->x, 1e-12, &t->y);
}

static tdm_status run_norm(tuner *t) { return tdm_row_norm(t->queue, TDM_NORM_L2, &t->x, &t->y); }

static const row_operation operations[] = {
    {"layer_norm", TDMI_KERNEL_LAYER_NORM, TDM_OP_ROW_WEIGHT | TDM_OP_ROW_BIAS, false,
     run_layer_norm},
    {"rms_norm", TDMI_KERNEL_RMS_NORM, TDM_OP_ROW_WEIGHT, false, run_rms_norm},
    {"softmax", TDMI_KERNEL_SOFTMAX, 0, false, run_softmax},
    {"l2_normalize", TDMI_KERNEL_L2_NORMALIZE, 0, false, run_l2_normalize},
    {"norm", TDMI_KERNEL_NORM, TDM_NORM_L2, true, run_norm},
};

/* --- ways ---------------------------------------------------------------------------------------- */

static bool add_way(tuner *t, unsigned lanes, unsigned vectors, unsigned groups) {
    const tdmi_device_facts *facts = t->queue->device->facts;
    const tdmi_row_choice choice = {.kernel = t->wanted.kernel,
                                    .t = t->wanted.t,
                                    .u = t->wanted.u,
                                    .size = tdmi_row_size(t->wanted, t->cols),
                                    .lanes = (uint16_t)lanes,
                                    .vectors = (uint8_t)vectors,
                                    .groups = (uint8_t)groups};
    const tdmi_variant variant = tdmi_variant_for(facts, t->wanted, t->cols, &choice);
    const unsigned parts = TDMI_HOLDS | TDMI_VECTOR_COUNT;
    if (t->count == MOST_WAYS) return false;
    /* not one that the device takes in the usual way */
    if (lanes > 0 && (variant.lanes != lanes || (variant.vectors & parts) != vectors)) return false;
    for (int i = 0; i < t->count; i++)
        if (tdmi_variant_key(t->ways[i].variant) == tdmi_variant_key(variant) &&
            t->ways[i].choice.groups == choice.groups)
            return false;
    t->ways[t->count++] = (way){.choice = choice, .variant = variant};
    return true;
}

/* All that hold the row without much room to spare; those that do not hold it with about as many lanes as usual, and
 * of rows too long to be held with any number of them that leaves each some vectors. */
static void list_ways(tuner *t) {
    const tdmi_device_facts *facts = t->queue->device->facts;
    (void)add_way(t, 0, 0, 1);
    const tdmi_variant usual = t->ways[0].variant;
    const int64_t bytes = t->cols * (int64_t)tdm_dtype_size((tdm_dtype)t->wanted.t);
    const int64_t size = tdmi_vector_bytes(usual.vectors);
    for (uint32_t lanes = facts->min_team; lanes <= facts->max_team; lanes *= 2)
        for (uint32_t vectors = 2; vectors <= TDMI_VECTOR_COUNT; vectors *= 2)
            if (lanes * vectors * size < (vectors == 2 ? 4 : 2) * bytes)
                (void)add_way(t, lanes, TDMI_HOLDS | vectors, 1);
    const bool is_long = bytes > TDMI_MOST_HELD_BYTES;
    const uint32_t least = is_long ? facts->min_team : usual.lanes / 2u;
    const uint32_t most = is_long ? facts->max_team : usual.lanes * 2u;
    for (uint32_t lanes = least; lanes <= most; lanes *= 2)
        for (uint32_t vectors = 1; vectors <= 4; vectors *= 2)
            if (lanes * vectors * size < 2 * bytes) (void)add_way(t, lanes, vectors, 1);
}

/* More groups, as long as there are rows for them. */
static void list_groups(tuner *t, tdmi_variant best) {
    const tdmi_device_facts *facts = t->queue->device->facts;
    const int64_t most = tdmi_most_groups(facts, best, NULL) * tdmi_teams(facts, best);
    const unsigned vectors = best.vectors & (TDMI_HOLDS | TDMI_VECTOR_COUNT);
    for (unsigned groups = 2; groups <= 8 && t->rows > most * groups / 2; groups *= 2)
        (void)add_way(t, best.lanes, vectors, groups);
}

static const char *way_text(const way *w, char text[96]) {
    const unsigned vectors = w->variant.vectors & TDMI_VECTOR_COUNT;
    char groups[24] = "";
    if (w->choice.groups > 1) snprintf(groups, sizeof groups, ", %u x groups", w->choice.groups);
    snprintf(text, 96, "%u lanes of %u vector%s%s%s", w->variant.lanes, vectors,
             vectors == 1 ? "" : "s", w->variant.vectors & TDMI_HOLDS ? ", held" : "", groups);
    return text;
}

/* --- results ------------------------------------------------------------------------------------- */

/* How far apart two right results may be, as a part of the largest element: sums in another order, and the last
 * rounding. */
static double tolerance(tdm_dtype dtype) {
    return dtype == TDM_BF16  ? 0x1p-6
           : dtype == TDM_F16 ? 0x1p-9
           : dtype == TDM_F32 ? 0x1p-18
                              : 0x1p-47;
}

static tdm_status largest(tuner *t, const tdm_tensor *of, double *result) {
    TDMI_TRY(tdm_norm(t->queue, TDM_NORM_INF, of, &t->largest));
    TDMI_TRY(tdm_to_host(t->queue, &t->largest, t->element));
    *result = tdmi_element_float(t->largest.dtype, t->element);
    return TDM_OK;
}

/* The kernels that look at the results run in the usual way. */
static tdm_status run(tuner *t, way *w) {
    const tdmi_row_choices trying = {&w->choice, 1};
    t->queue->row_choices = &trying;
    const tdm_status status = t->operation->run(t);
    t->queue->row_choices = NULL;
    return status;
}

/* Runs it over a y of NaN. */
static tdm_status run_once(tuner *t, way *w) {
    TDMI_TRY(tdm_fill(t->queue, (double)NAN, &t->y));
    return run(t, w);
}

static tdm_status agrees(tuner *t, bool *right) {
    double difference;
    TDMI_TRY(tdm_axpy(t->queue, -1.0, &t->right, &t->y));
    TDMI_TRY(largest(t, &t->y, &difference));
    *right = difference <= tolerance((tdm_dtype)t->wanted.t) * t->scale; /* NaN is not */
    return TDM_OK;
}

/* --- times --------------------------------------------------------------------------------------- */

static tdm_status time_runs(tuner *t, way *w, int runs, double *seconds) {
    TDMI_TRY(tdm_queue_finish(t->queue));
    const double start = tdmi_samples_now();
    for (int i = 0; i < runs; i++)
        TDMI_TRY(run(t, w));
    TDMI_TRY(tdm_queue_finish(t->queue));
    *seconds = (tdmi_samples_now() - start) / runs;
    return TDM_OK;
}

static double median(const way *w) { return tdmi_samples_median(w->samples, w->count); }

/* Runs it, which compiles it, looks at the result, and runs it again for its time. */
static tdm_status try_way(tuner *t, way *w) {
    char text[96];
    bool right = false;
    tdm_status status = run_once(t, w);
    if (status == TDM_OK) status = agrees(t, &right);
    if (status == TDM_OK && right) status = time_runs(t, w, 1, &w->samples[0]);
    if (status == TDM_ERROR_DEVICE_LOST) return status;
    w->count = 1;
    w->out = status != TDM_OK || !right;
    t->wrong += w->out;
    if (w->out)
        tdmi_log(TDM_LOG_WARNING, "%s of %s %s with %s", t->operation->name,
                 tdm_dtype_name((tdm_dtype)t->wanted.t),
                 status != TDM_OK ? "fails" : "gives a wrong result", way_text(w, text));
    return TDM_OK;
}

/* In turn, so that what disturbs the machine disturbs all of them, until a time on the clock. */
static tdm_status time_ways(tuner *t, way *const *list, int count, double until) {
    int runs[MOST_WAYS];
    for (int i = 0; i < count; i++) {
        runs[i] = tdmi_samples_runs(median(list[i]));
        list[i]->count = 0;
    }
    for (int round = 0; round < TDMI_SAMPLES; round++) {
        if (round >= TDMI_LEAST_SAMPLES && tdmi_samples_now() >= until) break;
        for (int i = 0; i < count; i++)
            TDMI_TRY(time_runs(t, list[i], runs[i], &list[i]->samples[list[i]->count++]));
    }
    return TDM_OK;
}

/* Tries the ways from `first` on, and times these, the usual one and `best`; the fastest in *best. */
static tdm_status race(tuner *t, int first, double share, way **best) {
    way *list[MOST_WAYS] = {&t->ways[0]};
    int count = 1;
    char text[96];
    double least = *best ? median(*best) : HUGE_VAL;
    if (*best && *best != list[0]) list[count++] = *best;
    for (int i = first; i < t->count; i++) {
        TDMI_TRY(try_way(t, &t->ways[i]));
        if (!t->ways[i].out && t->ways[i].samples[0] < least) least = t->ways[i].samples[0];
    }
    for (int i = first; i < t->count; i++) {
        if (i == 0 || t->ways[i].out) continue;
        if (t->ways[i].samples[0] <= TDMI_HOPELESS * least)
            list[count++] = &t->ways[i];
        else
            t->ways[i].out = true;
    }
    const double now = tdmi_samples_now();
    TDMI_TRY(time_ways(t, list, count, now + share * (t->until - now)));
    *best = list[0];
    for (int i = 0; i < count; i++) {
        if (median(list[i]) < median(*best)) *best = list[i];
        tdmi_log(TDM_LOG_INFO, "%s of %s, %lld x %lld: %s: %.1f us", t->operation->name,
                 tdm_dtype_name((tdm_dtype)t->wanted.t), (long long)t->rows, (long long)t->cols,
                 way_text(list[i], text), 1e6 * median(list[i]));
    }
    return TDM_OK;
}

/* All at the same time: a driver's compiler takes a quarter of a second for each. */
static void compile_ways(const tuner *t) {
    tdmi_variant variants[MOST_WAYS];
    for (int i = 0; i < t->count; i++)
        variants[i] = t->ways[i].variant;
    tdmi_compile_all(t->queue->device, variants, (size_t)t->count);
}

/* --- one measurement ----------------------------------------------------------------------------- */

/* Lanes and vectors first, then groups; what is faster must be so twice. */
static tdm_status find_fastest(tuner *t, way **fastest) {
    way *best = NULL, *again = NULL;
    list_ways(t);
    compile_ways(t);
    TDMI_TRY(run_once(t, &t->ways[0]));
    TDMI_TRY(tdm_cast(t->queue, &t->y, &t->right));
    TDMI_TRY(largest(t, &t->right, &t->scale));
    TDMI_TRY(race(t, 0, 0.5, &best));
    const int first = t->count;
    list_groups(t, best->variant);
    TDMI_TRY(race(t, first, 0.6, &best));
    *fastest = &t->ways[0];
    if (!(median(best) < TDMI_WORTH * median(*fastest))) return TDM_OK;
    again = best;
    TDMI_TRY(race(t, t->count, 1.0, &again));
    if (median(best) < TDMI_WORTH * median(*fastest)) *fastest = best;
    return TDM_OK;
}

static tdm_status make_tensors(tuner *t) {
    tdm_queue *queue = t->queue;
    const tdm_dtype dtype = (tdm_dtype)t->wanted.t;
    tdm_generator generator = {.seed = 34};
    TDMI_TRY(tdm_empty(queue, dtype, TDM_SHAPE(t->rows, t->cols), &t->x));
    const int64_t shape[] = {t->rows, t->cols};
    TDMI_TRY(tdm_empty(queue, dtype, t->operation->reduces ? 1 : 2, shape, &t->y));
    TDMI_TRY(tdm_empty(queue, dtype, t->operation->reduces ? 1 : 2, shape, &t->right));
    TDMI_TRY(tdm_empty(queue, dtype, TDM_SHAPE(t->cols), &t->weight));
    TDMI_TRY(tdm_empty(queue, dtype, TDM_SHAPE(t->cols), &t->bias));
    TDMI_TRY(tdm_empty(queue, dtype, TDM_SHAPE(1), &t->largest));
    TDMI_TRY(tdm_fill_uniform(t->queue, &generator, -1.0, 1.0, &t->x));
    TDMI_TRY(tdm_fill_uniform(t->queue, &generator, 0.5, 1.0, &t->weight));
    return tdm_fill_uniform(t->queue, &generator, -1.0, 1.0, &t->bias);
}

static tdm_status tune(tuner *t, double *speedup, char *text, size_t size) {
    char best_text[96], usual_text[96];
    way *best;
    TDMI_TRY(make_tensors(t));
    TDMI_TRY(find_fastest(t, &best));
    const way *usual = &t->ways[0];
    const double moved = t->operation->reduces ? 1.0 : 2.0,
                 bytes = moved * (double)(t->rows * t->cols) * (double)tdm_dtype_size(t->x.dtype);
    *speedup = median(usual) / median(best);
    int n = snprintf(text, size, "%s: %.1f us for %lld rows, %.0f GB/s", way_text(best, best_text),
                     1e6 * median(best), (long long)t->rows, 1e-9 * bytes / median(best));
    if (best != usual && n > 0 && (size_t)n < size)
        n += snprintf(text + n, size - (size_t)n, ", %.2f times as fast as %s", *speedup,
                      way_text(usual, usual_text));
    if (t->wrong > 0 && n > 0 && (size_t)n < size)
        snprintf(text + n, size - (size_t)n, "; %u of %d ways failed or were wrong", t->wrong,
                 t->count);
    const tdm_device *device = t->queue->device;
    if (!tdmi_tuned_keep_rows(device->backend->name, device->facts, &best->choice))
        return tdmi_fail(TDM_ERROR_IO, "tdm_rows_tune: nothing could be kept in the cache "
                                       "directory");
    return TDM_OK;
}

/* --- the call ------------------------------------------------------------------------------------ */

static const row_operation *find_operation(const char *name) {
    for (size_t i = 0; name && i < sizeof operations / sizeof *operations; i++)
        if (strcmp(operations[i].name, name) == 0) return &operations[i];
    return NULL;
}

static int64_t rows_past_the_cache(const tdmi_device_facts *facts, int64_t cols, tdm_dtype dtype) {
    uint64_t bytes = 4 * facts->cache_bytes;
    if (bytes < LEAST_BYTES) bytes = LEAST_BYTES;
    if (bytes > MOST_BYTES) bytes = MOST_BYTES;
    if (bytes > facts->info.memory_total / 16) bytes = facts->info.memory_total / 16;
    const uint64_t rows = bytes / ((uint64_t)cols * tdm_dtype_size(dtype));
    return rows > 0 ? (int64_t)rows : 1;
}

static tdm_status check_call(const char *function, tdm_queue *queue, const char *operation,
                             tdm_dtype dtype, int64_t rows, int64_t cols, double seconds) {
    TDMI_NOT_NULL(function, queue);
    TDMI_TRY(tdmi_device_usable(queue->device));
    TDMI_TRY(tdmi_check_not_recording(function, queue));
    if (!find_operation(operation))
        return tdmi_fail(TDM_ERROR_INVALID_ARGUMENT,
                         "%s: operation is %s, allowed are layer_norm, rms_norm, softmax, "
                         "l2_normalize and norm",
                         function, operation ? operation : "NULL");
    if (!tdm_dtype_is_float(dtype))
        return tdmi_fail(TDM_ERROR_INVALID_DTYPE, "%s: dtype is %s, it must be one of %s", function,
                         tdm_dtype_name(dtype), tdmi_float_dtypes());
    TDMI_TRY(tdmi_check_computes(function, queue->device, "dtype", dtype));
    if (rows < 0 || cols < 1 || cols > INT32_MAX || rows > INT64_MAX / 64 / cols)
        return tdmi_fail(TDM_ERROR_INVALID_SHAPE, "%s: %lld rows of %lld columns", function,
                         (long long)rows, (long long)cols);
    if (!(seconds >= 0.0 && seconds <= 86400.0))
        return tdmi_fail(TDM_ERROR_INVALID_ARGUMENT, "%s: seconds is %g, allowed are 0 to 86400",
                         function, seconds);
    if (!tdmi_shares_rows(queue->device->facts))
        return tdmi_fail(TDM_ERROR_UNSUPPORTED,
                         "%s: a row has one lane on %s: there is nothing to choose", function,
                         queue->device->facts->info.id);
    return TDM_OK;
}

tdm_status tdm_rows_tune(tdm_queue *queue, const char *operation, tdm_dtype dtype, int64_t rows,
                         int64_t cols, double seconds, double *speedup, char *text, size_t size) {
    TDMI_UNCANCELLED();
    TDMI_NOT_NULL(__func__, speedup);
    if (!text || size == 0)
        return tdmi_fail(TDM_ERROR_INVALID_ARGUMENT, "%s: %s", __func__,
                         text ? "size is 0" : "text is NULL");
    TDMI_TRY(check_call(__func__, queue, operation, dtype, rows, cols, seconds));
    text[0] = '\0';
    tuner *t = tdmi_calloc(1, sizeof *t);
    if (!t) return tdmi_fail(TDM_ERROR_OUT_OF_MEMORY, "out of host memory");
    t->queue = queue;
    t->operation = find_operation(operation);
    t->rows = rows > 0 ? rows : rows_past_the_cache(queue->device->facts, cols, dtype);
    t->cols = cols;
    t->wanted = (tdmi_variant){
        .kernel = (uint8_t)t->operation->kernel,
        .t = (uint8_t)dtype,
        .u = (uint8_t)dtype,
        .op = (uint8_t)t->operation->op,
        .stream = tdmi_stores(queue, t->rows, cols, tdm_dtype_size(dtype), false),
        .vectors = tdmi_reduced_vectors(t->rows > 1 ? cols : 0, tdm_dtype_size(dtype))};
    t->until = tdmi_samples_now() + seconds;
    const tdmi_row_choices *const kept = queue->row_choices;
    const bool verifies = queue->verifies;
    queue->row_choices = NULL;
    queue->verifies = false; /* the calls that TANDEM_VERIFY adds would be measured, too */
    const tdm_status status = tune(t, speedup, text, size);
    queue->row_choices = kept;
    queue->verifies = verifies;
    tdm_tensor *const tensors[] = {&t->x, &t->y, &t->right, &t->weight, &t->bias, &t->largest};
    for (size_t i = 0; i < sizeof tensors / sizeof *tensors; i++)
        tdm_tensor_release(tensors[i]);
    tdmi_queue_let_go(queue, tdmi_free, t);
    return status;
}

/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* Measuring the ways to run a matmul, and keeping the fastest. */
#include <tandem/tune.h>

#include <math.h>
#include <stdlib.h>

#include <tandem/create.h>

#include "base/dtype.h"
#include "base/log.h"
#include "base/sized.h"
#include "ops/matmul.h"
#include "ops/matmul_builtin.h"
#include "ops/matmul_trace.h"
#include "tune/samples.h"

enum { MOST_CANDIDATES = 24 };

typedef struct candidate {
    tdmi_blas_choice choice;
    bool out; /* wrong, failed or hopeless */
    double samples[TDMI_SAMPLES];
    int count;
} candidate;

typedef struct tuner {
    tdm_queue *queue;
    tdmi_product product;
    tdm_tensor *c;
    size_t count;       /* elements of C */
    unsigned char *got; /* C on the host */
    double *right;      /* the expected result; NULL until it is known */
    double scale;       /* the largest of these */
    double until;       /* on the clock */
    bool hurries;       /* products without time for them are left out */
    const tdmi_blas_choice *trying;
    candidate list[MOST_CANDIDATES];
    int candidates;
} tuner;

static bool time_is_up(void *context) {
    return tdmi_samples_now() >= ((const tuner *)context)->until;
}

/* Long measurements are not begun any more. */
static bool is_late(const tuner *t) { return t->hurries && tdmi_samples_now() >= t->until; }

/* --- results ------------------------------------------------------------------------------------ */

/* How far apart two right results may be, as a part of the largest element: the sums of k products in
 * another order, and the last rounding. */
static double tolerance(const tdmi_gemm *gemm) {
    const double sum = gemm->dtype == TDM_F64 ? 0x1p-52 : 0x1p-23;
    const double last = gemm->dtype == TDM_BF16 ? 0x1p-7 : gemm->dtype == TDM_F16 ? 0x1p-10 : 0.0;
    const double tf32 = gemm->dtype == TDM_F32 && gemm->tf32 ? 0x1p-10 : 0.0;
    return 2.0 * last + 4.0 * tf32 + sum * (double)(gemm->k + 8);
}

static double element(const tuner *t, size_t i) {
    const tdm_dtype dtype = t->product.gemm.dtype;
    return tdmi_element_float(dtype, t->got + i * tdm_dtype_size(dtype));
}

static bool agrees(const tuner *t) {
    const double most = tolerance(&t->product.gemm) * t->scale;
    for (size_t i = 0; i < t->count; i++) {
        const double got = element(t, i), right = t->right[i];
        const bool same = isnan(right) ? isnan(got) : got == right;
        if (!same && !(fabs(got - right) <= most)) return false;
    }
    return true;
}

static void remember(tuner *t) {
    t->scale = 0.0;
    for (size_t i = 0; i < t->count; i++) {
        t->right[i] = element(t, i);
        if (isfinite(t->right[i]) && fabs(t->right[i]) > t->scale) t->scale = fabs(t->right[i]);
    }
}

/* Runs each product once over a C of NaN, and reads C. */
static tdm_status run_once(tuner *t, const tdmi_blas_choice *choice) {
    tdmi_product one;
    TDMI_TRY(tdm_fill(t->queue, (double)NAN, t->c));
    for (int64_t number = 0; tdmi_product_of(&t->product, number, &one); number++)
        TDMI_TRY(tdmi_run_product(t->queue, &one, choice));
    return tdm_to_host(t->queue, t->c, t->got);
}

/* --- times -------------------------------------------------------------------------------------- */

/* Seconds of a run of the first product. */
static tdm_status time_runs(const tuner *t, const tdmi_blas_choice *choice, int runs,
                            double *seconds) {
    TDMI_TRY(tdm_queue_finish(t->queue));
    const double start = tdmi_samples_now();
    for (int i = 0; i < runs; i++)
        TDMI_TRY(tdmi_run_product(t->queue, &t->product, choice));
    TDMI_TRY(tdm_queue_finish(t->queue));
    *seconds = (tdmi_samples_now() - start) / runs;
    return TDM_OK;
}

static double median(const candidate *c) { return tdmi_samples_median(c->samples, c->count); }

/* In turn, so that what disturbs the machine disturbs all of them, for a part of the time that is left. */
static tdm_status time_candidates(tuner *t, double part) {
    candidate *list = t->list;
    const int count = t->candidates;
    const double now = tdmi_samples_now(), until = now + part * (t->until - now);
    int runs[MOST_CANDIDATES];
    for (int i = 0; i < count; i++) {
        runs[i] = list[i].out ? 0 : tdmi_samples_runs(list[i].samples[0]);
        list[i].count = 0;
    }
    for (int round = 0; round < TDMI_SAMPLES; round++) {
        if (round >= TDMI_LEAST_SAMPLES && tdmi_samples_now() >= until) break;
        if (round > 0 && is_late(t)) break;
        for (int i = 0; i < count; i++) {
            double seconds;
            if (list[i].out) continue;
            const tdm_status status = time_runs(t, &list[i].choice, runs[i], &seconds);
            if (status == TDM_ERROR_DEVICE_LOST) return status;
            if (status == TDM_OK)
                list[i].samples[list[i].count++] = seconds;
            else
                list[i].out = true;
        }
    }
    return TDM_OK;
}

/* --- candidates --------------------------------------------------------------------------------- */

static void log_rejection(const tuner *t, const candidate *c, bool fails) {
    char text[TDMI_PRODUCT_TEXT];
    tdmi_log(TDM_LOG_WARNING, "%s %s for %s", tdmi_blas_name(&c->choice),
             fails ? "fails" : "gives a wrong result", tdmi_gemm_text(&t->product.gemm, text));
}

/* Runs each once, which compiles what it needs, then once more for its time. */
static tdm_status try_candidates(tuner *t, int usual, uint32_t *wrong) {
    candidate *list = t->list;
    const int count = t->candidates;
    double best = HUGE_VAL;
    for (int i = 0; i < count; i++) {
        if (best < HUGE_VAL && is_late(t)) {
            list[i].out = true;
            continue;
        }
        tdm_status status = run_once(t, &list[i].choice);
        const bool right = status == TDM_OK && agrees(t);
        if (right) status = time_runs(t, &list[i].choice, 1, &list[i].samples[0]);
        if (status == TDM_ERROR_DEVICE_LOST) return status;
        list[i].out = status != TDM_OK || !right;
        if (list[i].out) {
            ++*wrong;
            log_rejection(t, &list[i], status != TDM_OK);
        } else if (list[i].samples[0] < best) {
            best = list[i].samples[0];
        }
    }
    for (int i = 0; i < count; i++)
        if (i != usual && !list[i].out && list[i].samples[0] > TDMI_HOPELESS * best)
            list[i].out = true;
    return TDM_OK;
}

/* The median of some runs with the settings as they are now. */
static double try_settings(void *context) {
    tuner *t = context;
    double samples[TDMI_SAMPLES], total = 0.0;
    int count = 0;
    if (run_once(t, t->trying) != TDM_OK || !agrees(t)) return -1.0;
    /* one run of a slow one is enough */
    while (count < TDMI_SAMPLES && total < 0.25 &&
           (count < TDMI_LEAST_SAMPLES || total < TDMI_SAMPLE_SECONDS)) {
        if (time_runs(t, t->trying, 1, &samples[count]) != TDM_OK) return -1.0;
        total += samples[count++];
    }
    return tdmi_samples_median(samples, count);
}

static void keep_settings(void *context, const char *name, const char *text) {
    const tuner *t = context;
    const tdm_device *device = t->queue->device;
    (void)tdmi_tuned_write_settings(device->backend->name, device->facts, name,
                                    t->trying->provider->library, text);
}

/* Of the library that runs this product, if it has any. How long the product took before, which cannot be measured
 * again, so it is the shorter of two looks; below 0 where there is nothing to search. */
static double search_settings(tuner *t, const tdmi_blas_choice *usual) {
    const tdmi_attached_blas *provider = usual->provider;
    const tdmi_trial trial = {try_settings, time_is_up, keep_settings, t};
    if (!provider || !provider->blas->search) return -1.0;
    t->trying = usual;
    const double first = try_settings(t), second = first < 0.0 ? first : try_settings(t);
    const double before = second >= 0.0 && second < first ? second : first;
    provider->blas->search(provider->state, &t->product.gemm, &trial);
    return before;
}

/* Puts the usual one first, where it is among them: 0, or -1. */
static int begin_with_usual(tuner *t, const tdmi_blas_choice *usual) {
    for (int i = 0; i < t->candidates; i++) {
        const tdmi_blas_choice choice = t->list[i].choice;
        if (choice.provider != usual->provider || choice.algorithm != 0) continue;
        t->list[i].choice = t->list[0].choice;
        t->list[0].choice = choice;
        return 0;
    }
    return -1;
}

/* The fastest, and the usual one wherever that is nearly as fast, or there was no time to know; -1 when none is
 * right. */
static int find_fastest(const tuner *t, int usual) {
    const candidate *list = t->list;
    int fastest = -1;
    for (int i = 0; i < t->candidates; i++)
        if (!list[i].out && (fastest < 0 || median(&list[i]) < median(&list[fastest]))) fastest = i;
    if (usual < 0 || fastest < 0 || list[usual].out) return fastest;
    const bool is_known = list[fastest].count >= TDMI_LEAST_SAMPLES;
    return is_known && median(&list[fastest]) < TDMI_WORTH * median(&list[usual]) ? fastest : usual;
}

/* Another one takes the place of the usual one when it is faster at a second look, too, which is at these two alone. */
static tdm_status choose_fastest(tuner *t, int usual, int *fastest) {
    candidate *list = t->list;
    TDMI_TRY(time_candidates(t, 0.6));
    *fastest = find_fastest(t, usual);
    if (usual < 0 || *fastest == usual || list[usual].out) return TDM_OK;
    for (int i = 0; i < t->candidates; i++)
        list[i].out = i != usual && i != *fastest;
    TDMI_TRY(time_candidates(t, 1.0));
    *fastest = find_fastest(t, usual);
    return TDM_OK;
}

static bool keep(const tuner *t, const candidate *fastest, const tdm_matmul_tuning *found,
                 const tdmi_blas_choice *usual) {
    const tdmi_gemm gemm = tdmi_product_offered(&t->product); /* as choices are made for it */
    tdmi_tuned record = {.product = tdmi_tuned_product_of(&gemm)};
    record.library = fastest->choice.provider ? fastest->choice.provider->library : 0;
    record.provider = (uint8_t)tdmi_blas_id_of(&fastest->choice);
    record.algorithm = (uint8_t)fastest->choice.algorithm;
    record.usual = (uint8_t)tdmi_blas_id_of(usual);
    record.seconds = found->seconds;
    record.usual_seconds = found->usual_seconds;
    return tdmi_tuned_keep(t->queue->device->backend->name, t->queue->device->facts, &record);
}

static tdm_status list_candidates(tuner *t, const tdmi_gemm *gemm) {
    tdmi_blas_choice choices[MOST_CANDIDATES];
    TDMI_TRY(tdmi_blas_candidates(t->queue, gemm, choices, MOST_CANDIDATES, &t->candidates));
    for (int i = 0; i < t->candidates; i++)
        t->list[i].choice = choices[i];
    return TDM_OK;
}

static tdm_status tune(tuner *t, tdm_matmul_tuning *found) {
    const tdmi_gemm gemm = tdmi_product_offered(&t->product);
    tdmi_blas_choice usual;
    TDMI_TRY(tdmi_blas_choose_usual(t->queue, &gemm, &usual));
    TDMI_TRY(list_candidates(t, &gemm));
    /* The builtin kernels' result is the one to compare with, as no library has computed that. */
    const tdmi_blas_choice builtin = {.index = -1};
    const bool possible = tdmi_check_builtin("tdm_matmul_tune", &gemm) == TDM_OK;
    TDMI_TRY(run_once(t, possible ? &builtin : &usual));
    remember(t);
    if (!(t->scale > 0.0))
        return tdmi_fail(TDM_ERROR_INVALID_ARGUMENT,
                         "tdm_matmul_tune: C has no number but 0, which results could be "
                         "compared by; give A and B other numbers");
    const double before = search_settings(t, &usual);
    const int first = begin_with_usual(t, &usual);
    int fastest;
    TDMI_TRY(try_candidates(t, first, &found->wrong));
    TDMI_TRY(choose_fastest(t, first, &fastest));
    if (fastest < 0)
        return tdmi_fail(
            TDM_ERROR_BACKEND,
            "tdm_matmul_tune: no library gives the result that the builtin kernel gives");
    const candidate *best = &t->list[fastest];
    found->candidates = (uint32_t)t->candidates;
    found->provider = tdmi_blas_name(&best->choice);
    found->usual = tdmi_blas_name(&usual);
    found->algorithm = (uint32_t)best->choice.algorithm;
    found->seconds = median(best);
    found->usual_seconds = before > 0.0                        ? before
                           : first >= 0 && !t->list[first].out ? median(&t->list[first])
                                                               : found->seconds;
    found->kept = keep(t, best, found, &usual);
    return run_once(t, &best->choice);
}

/* --- the calls ---------------------------------------------------------------------------------- */

TDMI_SIZED(tdm_matmul_tuning, TDM_MATMUL_TUNING_DEFAULTS, kept)

/* In host memory: C as it comes, and as it should be. */
static tdm_status tune_product(tuner *t, tdm_matmul_tuning *found) {
    t->count = (size_t)tdm_tensor_get_count(t->c);
    t->got = tdmi_malloc(t->count * tdm_dtype_size(t->c->dtype));
    t->right = tdmi_malloc(t->count * sizeof *t->right);
    const tdm_status status = t->got && t->right
                                  ? tune(t, found)
                                  : tdmi_fail(TDM_ERROR_OUT_OF_MEMORY, "out of host memory");
    /* a read whose wait failed may write there yet */
    if (t->got) tdmi_queue_let_go(t->queue, tdmi_free, t->got);
    tdmi_free(t->right);
    return status;
}

tdm_status tdm_matmul_tune(tdm_queue *queue, const tdm_matmul_options *options, const tdm_tensor *a,
                           const tdm_tensor *b, tdm_tensor *c, double seconds,
                           tdm_matmul_tuning *tuning) {
    TDMI_UNCANCELLED();
    tdmi_product product;
    tdm_matmul_tuning found = tdm_matmul_tuning_defaults;
    TDMI_TRY(tdmi_sized_check(__func__, "tuning", &tdm_matmul_tuning_sized, tuning));
    if (!(seconds >= 0.0 && seconds <= 86400.0))
        return tdmi_fail(TDM_ERROR_INVALID_ARGUMENT, "%s: seconds is %g, allowed are 0 to 86400",
                         __func__, seconds);
    TDMI_TRY(tdmi_check_not_recording(__func__, queue));
    TDMI_TRY(tdmi_describe_product(__func__, queue, options, a, b, c, &product));
    if (product.gemm.panels)
        return tdmi_fail(TDM_ERROR_UNSUPPORTED, "%s: b is packed (tdm_pack_weight)", __func__);
    product.gemm.beta = 0.0;
    if (!tdmi_product_multiplies(&product))
        return tdmi_fail(TDM_ERROR_INVALID_SHAPE, "%s: nothing is multiplied", __func__);
    tuner *t = tdmi_calloc(1, sizeof *t);
    if (!t) return tdmi_fail(TDM_ERROR_OUT_OF_MEMORY, "out of host memory");
    t->queue = queue;
    t->product = product;
    t->c = c;
    t->until = tdmi_samples_now() + seconds;
    t->hurries = seconds > 0.0;
    const tdm_status status = TDMI_ATTEMPT(tune_product(t, &found));
    tdmi_free(t);
    if (status == TDM_OK) tdmi_sized_write(&tdm_matmul_tuning_sized, &found, tuning);
    return status;
}

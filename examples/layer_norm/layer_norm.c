/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* LayerNorm in seven steps, from a plain kernel to the library's: each compared with float64 and timed next to a copy
 * of as many bytes. docs/layer-norm-in-seven-steps.md explains them. The kernels, step1.cl to step6.cl, are read from
 * this folder, or from LAYER_NORM_DIR of the compiler's command line.
 *
 *     layer_norm [ROWS COLUMNS [ROUNDS]]
 *
 *     cc -std=c11 layer_norm.c $(pkg-config --cflags --libs tandem) -lm -o layer_norm */
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include <tandem/tandem.h>

#ifndef LAYER_NORM_DIR
#define LAYER_NORM_DIR "."
#endif

enum { STEPS = 7, ROUNDS = 15, ONE_PASS = 5 };
static const double mean = 100, epsilon = 1e-5, half_ulp = 5.9604644775390625e-8;

static const char *const names[STEPS + 1] = {
    "copy",          "a lane for each row", "a group for each row", "several sums at once",
    "fetched ahead", "one pass, wrong",     "blocks, merged",       "`tdm_layer_norm`",
};

typedef struct ladder {
    int64_t rows, cols;
    float *numbers, *weights, *results; /* of the host: x, weight and bias one after the other, y */
    bool casts; /* tdm_cast is the faster copy, which on cpu does not read what it overwrites */
    tdm_queue *queue;
    tdm_kernel *kernels[STEPS];
    tdm_tensor x, weight, bias, y, means; /* [rows, cols], [cols], [cols], [rows, cols], [rows] */
} ladder;

static void check(tdm_status status) {
    if (status == TDM_OK) return;
    fprintf(stderr, "layer_norm: %s\n%s", tdm_last_error(),
            status == TDM_ERROR_COMPILE ? tdm_last_compile_log() : "");
    exit(1);
}

static void *allocate(size_t size) {
    void *memory = malloc(size);
    if (memory) return memory;
    fprintf(stderr, "layer_norm: no memory\n");
    exit(1);
}

/* The text of a step's kernel, to be freed. */
static char *read_text(const char *path) {
    enum { MOST = 4096 };
    char *text = allocate(MOST);
    FILE *file = fopen(path, "r");
    if (!file) {
        fprintf(stderr, "layer_norm: %s is missing: run it in the folder of its kernels\n", path);
        exit(1);
    }
    text[fread(text, 1, MOST - 1, file)] = 0;
    fclose(file);
    return text;
}

/* The first step's first tensor has an element for each row, as its lanes share these. */
static const tdm_parameter parameters[] = {TDM_OUTPUT("means"),  TDM_TENSOR("x"),
                                           TDM_TENSOR("weight"), TDM_TENSOR("bias"),
                                           TDM_OUTPUT("y"),      TDM_NUMBER("epsilon")};

static void run(ladder *l, int step) {
    const tdm_argument arguments[] = {
        TDM_WITH_TENSOR("means", &l->means),   TDM_WITH_TENSOR("x", &l->x),
        TDM_WITH_TENSOR("weight", &l->weight), TDM_WITH_TENSOR("bias", &l->bias),
        TDM_WITH_TENSOR("y", &l->y),           TDM_WITH_NUMBER("epsilon", epsilon)};
    const size_t size = (size_t)(l->rows * l->cols) * sizeof(float);
    if (step == 0 && l->casts)
        check(tdm_cast(l->queue, &l->x, &l->y));
    else if (step == 0)
        check(tdm_buffer_copy_async(l->queue, l->x.buffer, 0, l->y.buffer, 0, size));
    else if (step == 1)
        check(tdm_kernel_run(l->queue, l->kernels[step - 1], arguments, 6));
    else if (step < STEPS)
        check(tdm_kernel_run(l->queue, l->kernels[step - 1], arguments + 1, 5));
    else
        check(tdm_layer_norm(l->queue, &l->x, &l->weight, &l->bias, epsilon, &l->y));
}

/* Numbers around 100 that differ by about 1: what makes the variance lose digits when it is taken from the squares. */
static void make(ladder *l) {
    tdm_device *device = tdm_queue_get_device(l->queue);
    tdm_generator generator = {.seed = 37};
    l->numbers = allocate((size_t)(l->rows * l->cols) * sizeof(float));
    l->results = allocate((size_t)(l->rows * l->cols) * sizeof(float));
    l->weights = allocate((size_t)l->cols * 2 * sizeof(float));
    check(tdm_empty(l->queue, TDM_F32, TDM_SHAPE(l->rows, l->cols), &l->x));
    check(tdm_empty(l->queue, TDM_F32, TDM_SHAPE(l->rows, l->cols), &l->y));
    check(tdm_empty(l->queue, TDM_F32, TDM_SHAPE(l->rows), &l->means));
    check(tdm_fill_normal(l->queue, &generator, mean, 1, &l->x));
    check(tdm_fill(l->queue, 0, &l->y));
    check(tdm_to_host(l->queue, &l->x, l->numbers));
    for (int64_t j = 0; j < 2 * l->cols; j++)
        l->weights[j] = (float)(0.5 + (double)j / (double)l->cols / 2);
    check(tdm_from_host(l->queue, l->weights, TDM_F32, TDM_SHAPE(l->cols), &l->weight));
    check(tdm_from_host(l->queue, l->weights + l->cols, TDM_F32, TDM_SHAPE(l->cols), &l->bias));
    for (int step = 1; step < STEPS; step++) {
        char path[512], entry[8];
        snprintf(path, sizeof path, "%s/step%d.cl", LAYER_NORM_DIR, step);
        snprintf(entry, sizeof entry, "step%d", step);
        char *text = read_text(path);
        const int first = step > 1;
        check(tdm_kernel_source(device, text, path, entry, parameters + first, (size_t)(6 - first),
                                &l->kernels[step - 1]));
        free(text);
    }
}

/* The largest difference between y and LayerNorm in float64. */
static double largest_error(ladder *l) {
    double worst = 0;
    check(tdm_to_host(l->queue, &l->y, l->results));
    for (int64_t i = 0; i < l->rows; i++) {
        const float *x = l->numbers + i * l->cols, *y = l->results + i * l->cols;
        double sum = 0, squares = 0;
        for (int64_t j = 0; j < l->cols; j++)
            sum += (double)x[j];
        const double m = sum / (double)l->cols;
        for (int64_t j = 0; j < l->cols; j++)
            squares += ((double)x[j] - m) * ((double)x[j] - m);
        const double scale = 1 / sqrt(squares / (double)l->cols + epsilon);
        for (int64_t j = 0; j < l->cols; j++) {
            const double right = ((double)x[j] - m) * scale * (double)l->weights[j] +
                                 (double)l->weights[l->cols + j];
            const double error = fabs((double)y[j] - right);
            if (!(error <= worst)) worst = error; /* NaN, too */
        }
    }
    return worst;
}

/* The error by rounding of a mean of n numbers near `mean` that are added one after the other, as the first two steps
 * do on one lane, and twice that for the rest. Blocks and partial sums add far fewer. */
static double bound(const ladder *l, int step) {
    const double terms = step <= 2 ? (double)l->cols : 64 + (double)l->cols / 64;
    return 2 * (terms + 8) * half_ulp * mean;
}

static double now(void) {
    struct timespec t;
    (void)timespec_get(&t, TIME_UTC);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* Seconds of one of `count` runs. */
static double time_of(ladder *l, int step, int count) {
    check(tdm_queue_finish(l->queue));
    const double start = now();
    for (int i = 0; i < count; i++)
        run(l, step);
    check(tdm_queue_finish(l->queue));
    return (now() - start) / count;
}

static int ascending(const void *a, const void *b) {
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* The copy is the faster of two. The steps take turns, so that a slow moment of the machine meets them all. */
static void measure(ladder *l, int rounds, double median[STEPS + 1]) {
    double *times = allocate((size_t)(rounds * (STEPS + 1)) * sizeof *times);
    double copies[2] = {HUGE_VAL, HUGE_VAL};
    for (int i = 0; i < 6; i++) {
        l->casts = i % 2;
        copies[i % 2] = fmin(copies[i % 2], time_of(l, 0, 1));
    }
    l->casts = copies[1] < copies[0];
    const double once = copies[l->casts];
    const int count = rounds == 1 || once > 0.01 ? 1 : (int)(0.01 / once) + 1;
    for (int round = 0; round < rounds; round++)
        for (int step = 0; step <= STEPS; step++)
            times[step * rounds + round] = time_of(l, step, count);
    for (int step = 0; step <= STEPS; step++) {
        qsort(times + step * rounds, (size_t)rounds, sizeof *times, ascending);
        median[step] = times[step * rounds + rounds / 2];
    }
    free(times);
}

static void release(ladder *l) {
    tdm_tensor *const tensors[] = {&l->x, &l->weight, &l->bias, &l->y, &l->means};
    for (int i = 0; i < STEPS - 1; i++)
        tdm_kernel_release(l->kernels[i]);
    for (size_t i = 0; i < sizeof tensors / sizeof *tensors; i++)
        tdm_tensor_release(tensors[i]);
    tdm_queue_destroy(l->queue);
    free(l->numbers);
    free(l->weights);
    free(l->results);
}

int main(int argc, char **argv) {
    ladder l = {.rows = argc > 2 ? atoll(argv[1]) : 64, .cols = argc > 2 ? atoll(argv[2]) : 1000};
    const int rounds = argc > 3 ? atoi(argv[3]) : argc > 2 ? ROUNDS : 1;
    double median[STEPS + 1], errors[STEPS + 1] = {0};
    bool right = true;
    tdm_device *device;
    if (l.rows < 1 || l.cols < 2 || rounds < 1 || argc == 2) {
        fprintf(stderr, "usage: layer_norm [ROWS COLUMNS [ROUNDS]]\n");
        return 2;
    }
    check(tdm_device_open(NULL, &device));
    check(tdm_queue_create(device, 0, &l.queue));
    make(&l);
    for (int step = 1; step <= STEPS; step++) {
        check(tdm_fill(l.queue, 0, &l.y));
        run(&l, step); /* compiles the kernel, too */
        errors[step] = largest_error(&l);
        if (step != ONE_PASS && !(errors[step] <= bound(&l, step))) right = false;
    }
    measure(&l, rounds, median);

    char date[16];
    const time_t today = time(NULL);
    strftime(date, sizeof date, "%Y-%m-%d", gmtime(&today));
    const tdm_device_info *info = tdm_device_get_info(device);
    printf("LayerNorm of %lld x %lld in f32 on %s, %s, %s: medians of %d\n\n", (long long)l.rows,
           (long long)l.cols, info->id, info->name, date, rounds);
    printf("| step | | ms | GB/s | of a copy | largest error |\n");
    printf("| --- | --- | --- | --- | --- | --- |\n");
    for (int step = 0; step <= STEPS; step++) {
        const double bytes = 2.0 * (double)(l.rows * l.cols) * sizeof(float);
        printf("| %d | %s | %.3f | %.1f | %.2f | %.0e |\n", step, names[step], 1e3 * median[step],
               bytes / median[step] / 1e9, median[0] / median[step], errors[step]);
    }
    printf("\nsteps that are right within rounding: %s\n", right ? "all but step 5" : "not all");
    release(&l);
    tdm_device_release(device);
    return right ? 0 : 1;
}

/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
#include "judge.h"

#include <float.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "answer.h"

enum { N = 1024, WIDTH = 24, NORM_SIZE = NORM_ROWS * NORM_COLUMNS, COPY_SIZE = 8 << 20 };
enum { MOST_TENSORS = 16 };

static struct {
    tdm_device *device;
    tdm_queue *queue;
    tdm_tensor tensors[MOST_TENSORS];
    int count;
    double seconds;
    char wrong[3000], right[256], speed[512];
} the;

static void append(char *text, size_t size, const char *format, ...) {
    const size_t length = strlen(text);
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text + length, size - length, format, arguments);
    va_end(arguments);
}

#define WRONG(...) append(the.wrong, sizeof the.wrong, "\nwrong: " __VA_ARGS__)
#define RIGHT(...) append(the.right, sizeof the.right, ", " __VA_ARGS__)

static void failed(const char *what, tdm_status status) {
    WRONG("%s: %s: %.600s", what, tdm_status_name(status), tdm_last_error());
    for (size_t n = strlen(the.wrong); the.wrong[n - 1] == '\n'; n--)
        the.wrong[n - 1] = '\0';
}

/* Kept until the end. */
static tdm_status make(tdm_dtype dtype, int64_t rows, int64_t columns, tdm_tensor **made) {
    *made = &the.tensors[the.count];
    tdm_status status = tdm_empty(the.queue, dtype, TDM_SHAPE(rows, columns), *made);
    the.count += status == TDM_OK;
    return status;
}

/* --- a kernel ---------------------------------------------------------------------------------- */

/* One, as compiling is what takes long. Of `args` it reads only what it reports, so that a struct that arrives
 * otherwise spoils nothing else. */
static const char source[] =
    "KERNEL(judge)\n"
    "{\n"
    "    GROUP_ARRAY(ACC, sums);\n"
    "    GROUP_ARRAY(KEY, keys);\n"
    "    FOR_ROWS(row, 1)\n"
    "    {\n"
    "        const ACC sum = GROUP_SUM(sums, (ACC)(LANE + 1));\n"
    "        const ACC largest = VALUE_OF(GROUP_MAX(keys, ORDER_KEY((ACC)(LANE + 1))));\n"
    "        FOR_LANES(j, 0, 1024)\n"
    "        {\n"
    "            products[j] = x[j] * y[j];\n"
    "            ratios[j] = x[j] / y[j];\n"
    "            STORE(quotients, j, LOAD(a, j) / LOAD(b, j));\n"
    "            STORE(roots, j, SQRT(LOAD(a, j)));\n"
    "        }\n"
    "        if (LANE == 0) {\n"
    "            fields[0] = args.x.cols;\n"
    "            fields[1] = args.roots.stride;\n"
    "            fields[2] = args.n;\n"
    "            fields[3] = (tdm_i64)SCALAR(args.s);\n"
    "            fields[4] = args.m;\n"
    "            fields[5] = LANES;\n"
    "            fields[6] = (tdm_i64)sum;\n"
    "            fields[7] = (tdm_i64)largest;\n"
    "        }\n"
    "    }\n"
    "}\n";
enum { GIVEN = 5, LANES = 5, SUM, LARGEST, FIELDS };
static const char *const field_names[] = {"x.cols", "roots.stride", "n", "s", "m"};
static const int64_t given[] = {N, N, 0x0123456789abcdef, 12345, -3};

static const tdm_parameter parameters[] = {TDM_TENSOR_OF("x", TDM_F32),
                                           TDM_TENSOR_OF("y", TDM_F32),
                                           TDM_OUTPUT_OF("products", TDM_F32),
                                           TDM_OUTPUT_OF("ratios", TDM_F32),
                                           TDM_TENSOR("a"),
                                           TDM_TENSOR("b"),
                                           TDM_OUTPUT("quotients"),
                                           TDM_OUTPUT("roots"),
                                           TDM_OUTPUT_OF("fields", TDM_I64),
                                           TDM_INTEGER("n"),
                                           TDM_NUMBER("s"),
                                           TDM_INTEGER("m")};
enum { PARAMETERS = sizeof parameters / sizeof *parameters, OPERANDS = 8, TENSORS };

static double multiplied(double a, double b) { return a * b; }
static double divided(double a, double b) { return a / b; }
static double rooted(double a, double b) { return (void)b, sqrt(a); }

/* Of f32 and, where it is that of `a`, of f64: results that may be off by so many units in the last place. */
static const struct {
    const char *name;
    double (*compute)(double, double);
    double allowed[2];
    int from, to; /* parameters: the first of two operands, the result */
} operations[] = {{"multiplication", multiplied, {0, 0}, 0, 2},
                  {"division", divided, {3, 1}, 0, 3},
                  {"division", divided, {3, 1}, 4, 6},
                  {"square root", rooted, {3, 1}, 4, 7}};
enum { OPERATIONS = sizeof operations / sizeof *operations };

/* Numbers of all sizes, of which every 64th of x and a is subnormal. Each is one of its dtype. */
static void fill(int operand, bool wide, double *values) {
    uint64_t seed = (uint64_t)operand + 1;
    for (int i = 0; i < N; i++) {
        seed = seed * 6364136223846793005u + 1442695040888963407u;
        const double unit = 1.0 + (double)(seed >> 12) * 0x1p-52;
        const int size = operand % 2 == 0 && i % 64 == 0 ? (wide ? -1040 : -132)
                                                         : (i % 21 - 10) * (wide ? 30 : 1);
        values[i] = wide ? ldexp(unit, size) : (double)(float)ldexp(unit, size);
    }
}

/* N numbers to or from the device, where they are f32 or f64. */
static tdm_status move(const tdm_tensor *t, double *values, bool writes) {
    static float narrow[N]; /* static: after a wait that failed a driver may use it yet */
    const bool wide = t->dtype == TDM_F64;
    void *const host = wide ? (void *)values : narrow;
    const size_t size = N * (wide ? sizeof *values : sizeof *narrow);
    for (int i = 0; writes && !wide && i < N; i++)
        narrow[i] = (float)values[i];
    tdm_status status = writes ? tdm_buffer_write(the.queue, t->buffer, 0, host, size)
                               : tdm_buffer_read(the.queue, t->buffer, 0, host, size);
    for (int i = 0; status == TDM_OK && !writes && !wide && i < N; i++)
        values[i] = (double)narrow[i];
    return status;
}

static tdm_status run_source(double values[][N], tdm_tensor **t, int64_t *got) {
    tdm_argument arguments[PARAMETERS];
    tdm_kernel *kernel = NULL;
    const tdm_dtype wide = tdm_device_get_info(the.device)->has_f64 ? TDM_F64 : TDM_F32;
    tdm_status status = TDM_OK;
    for (int i = 0; i < PARAMETERS && status == TDM_OK; i++) {
        const int dtype = parameters[i].dtype;
        const bool reads = parameters[i].kind == TDM_PARAMETER_TENSOR;
        if (i < TENSORS)
            status = make(dtype == TDM_ANY_DTYPE ? wide : (tdm_dtype)dtype, 1, N, &t[i]);
        if (reads) fill(i, t[i]->dtype == TDM_F64, values[i]);
        if (reads && status == TDM_OK) status = move(t[i], values[i], true);
        arguments[i] = (tdm_argument){parameters[i].name, i < TENSORS ? t[i] : NULL,
                                      (double)given[3], given[i == TENSORS ? 2 : 4]};
    }
    answer_step("compiling a kernel");
    if (status == TDM_OK)
        status = tdm_kernel_source(the.device, source, "judge.cl", "judge", parameters, PARAMETERS,
                                   &kernel);
    if (status == TDM_OK) status = tdm_kernel_warm(the.queue, kernel, arguments, PARAMETERS);
    answer_step("running a kernel");
    if (status == TDM_OK) status = tdm_kernel_run(the.queue, kernel, arguments, PARAMETERS);
    for (int i = 0; i < OPERANDS && status == TDM_OK; i++)
        if (parameters[i].kind == TDM_PARAMETER_OUTPUT) status = move(t[i], values[i], false);
    if (status == TDM_OK)
        status = tdm_buffer_read(the.queue, t[OPERANDS]->buffer, 0, got, FIELDS * sizeof *got);
    tdm_kernel_release(kernel);
    return status;
}

/* False where subnormals are taken for 0, which OpenCL allows in f32. */
static bool compare(int operation, bool wide, double values[][N]) {
    const double *a = values[operations[operation].from], *b = a + N;
    const double *got = values[operations[operation].to];
    const double unit = wide ? DBL_EPSILON : (double)FLT_EPSILON;
    const double normal = wide ? DBL_MIN : (double)FLT_MIN;
    const char *name = operations[operation].name, *dtype = wide ? "f64" : "f32";
    double wanted[N];
    int count = 0, first = 0;
    bool keeps = true;
    for (int i = 0; i < N; i++) {
        wanted[i] = operations[operation].compute(a[i], b[i]);
        if (!wide) wanted[i] = (double)(float)wanted[i];
        const double allowed =
            operations[operation].allowed[wide] * unit * fmax(fabs(wanted[i]), normal);
        if (fabs(got[i] - wanted[i]) <= allowed) continue; /* so that a NaN is wrong */
        const bool flushed = !wide && got[i] == 0 && (fabs(wanted[i]) < normal || a[i] < normal);
        if (flushed) keeps = false;
        if (!flushed && count++ == 0) first = i;
    }
    if (count > 0)
        WRONG("%s %s: of %.17g and %.17g it gives %.17g, not %.17g, and %d of %d are off; norms, "
              "expressions and kernels of %s depend on it: %s",
              dtype, name, a[first], b[first], got[first], wanted[first], count, (int)N, dtype,
              wide ? "compute in f32 there" : "use nothing of it");
    else
        RIGHT("%s %s", dtype, name);
    return keeps;
}

static void compare_fields(const int64_t *got) {
    const int64_t lanes = got[LANES];
    int i = 0;
    while (i < GIVEN && got[i] == given[i])
        i++;
    if (i < GIVEN)
        WRONG("kernel arguments: %s arrives as %lld, not %lld: the driver lays a struct out in "
              "another way than C; all kernels get their shapes and numbers so: use nothing of it",
              field_names[i], (long long)got[i], (long long)given[i]);
    else
        RIGHT("kernel arguments");
    if (lanes < 1 || got[SUM] != lanes * (lanes + 1) / 2 || got[LARGEST] != lanes)
        WRONG("sums over a group of %lld lanes: of 1, 2, ... it gives %lld, and for the largest "
              "%lld (local memory, barriers or sub-groups); all sums, norms and softmax depend on "
              "it: use nothing of it",
              (long long)lanes, (long long)got[SUM], (long long)got[LARGEST]);
    else
        RIGHT("sums over %lld lane%s", (long long)lanes, lanes == 1 ? "" : "s");
}

void judge_kernel(void) {
    static double values[OPERANDS][N];
    static int64_t got[FIELDS]; /* as above */
    memset(got, 0, sizeof got);
    tdm_tensor *t[TENSORS];
    bool keeps = true;
    const double start = child_now();
    const tdm_status status = run_source(values, t, got);
    const tdm_backend backend = tdm_device_get_info(the.device)->backend;
    if (status == TDM_ERROR_UNSUPPORTED &&
        backend == TDM_CPU) /* doctor's list of libraries has it */
        append(the.speed, sizeof the.speed, "\narithmetic is not judged without a C compiler");
    else if (status != TDM_OK)
        failed("a kernel in the dialect", status);
    else
        compare_fields(got);
    for (int i = 0; i < OPERATIONS && status == TDM_OK; i++)
        if (i != 2 || t[operations[i].to]->dtype == TDM_F64) /* else there is one division */
            keeps = compare(i, t[operations[i].to]->dtype == TDM_F64, values) && keeps;
    if (status == TDM_OK) RIGHT("f32 subnormals %s", keeps ? "kept" : "flushed to 0");
    the.seconds = child_now() - start;
}

/* --- LayerNorm, mapped memory, a product ------------------------------------------------------ */

void norm_values(int seed, float *x) {
    for (int i = 0; i < NORM_SIZE; i++)
        x[i] = (float)((i * 37 + seed * 11) % 101 - 50) / 16.0f;
}

bool norm_find_wrong(const float *x, const float *y, int *row, int *column, double *wanted) {
    for (*row = 0; *row < NORM_ROWS; ++*row) {
        const float *xr = x + *row * NORM_COLUMNS, *yr = y + *row * NORM_COLUMNS;
        double mean = 0.0, variance = 0.0;
        for (int i = 0; i < NORM_COLUMNS; i++)
            mean += (double)xr[i] / NORM_COLUMNS;
        for (int i = 0; i < NORM_COLUMNS; i++)
            variance += ((double)xr[i] - mean) * ((double)xr[i] - mean) / NORM_COLUMNS;
        for (*column = 0; *column < NORM_COLUMNS; ++*column) {
            *wanted = ((double)xr[*column] - mean) / sqrt(variance + NORM_EPSILON);
            /* some ulps of the largest; written so that a NaN is wrong */
            if (!(fabs((double)yr[*column] - *wanted) <= 2e-6)) return true;
        }
    }
    return false;
}

/* The rounding error of such numbers is about one unit in the last place of the sum of their sizes, in any order;
 * TF32 or a sum in f16 is off by 50 and more. */
static void compare_product(const float *y, const float *w, const float *c) {
    for (int i = 0; i < NORM_ROWS * WIDTH; i++) {
        double sum = 0.0, sizes = 0.0;
        for (int n = 0; n < NORM_COLUMNS; n++) {
            const double part =
                (double)y[i / WIDTH * NORM_COLUMNS + n] * (double)w[n * WIDTH + i % WIDTH];
            sum += part;
            sizes += fabs(part);
        }
        if (fabs((double)c[i] - sum) <= 16 * (double)FLT_EPSILON * sizes) continue;
        WRONG("a product of f32: row %d, column %d is %.9g, not %.9g; linear layers and attention "
              "depend on it: choose another library (TANDEM_BLAS=builtin)",
              i / WIDTH, i % WIDTH, (double)c[i], sum);
        return;
    }
    RIGHT("a product");
}

/* Bytes through a mapping, which has other ways than a copy where memory is the host's. */
static tdm_status map(const tdm_tensor *t, void *host, size_t size, bool writes) {
    void *mapped = NULL;
    tdm_status status = tdm_buffer_map(the.queue, t->buffer, 0, size,
                                       writes ? TDM_MAP_WRITE : TDM_MAP_READ, &mapped);
    if (status != TDM_OK) return status;
    memcpy(writes ? mapped : host, writes ? host : mapped, size);
    return tdm_buffer_unmap(the.queue, t->buffer, mapped);
}

static tdm_status norm(tdm_tensor **t) {
    return tdm_layer_norm(the.queue, t[0], NULL, NULL, NORM_EPSILON, t[1]);
}

/* t: x, y = LayerNorm(x), w and y w, which follows in the queue, as what computes it may be the host's library. x and
 * y are used before, so that a copy that is not renewed shows. */
static void judge_memory(tdm_tensor **t) {
    static float x[NORM_SIZE], y[NORM_SIZE], mapped[NORM_SIZE];
    static float w[NORM_COLUMNS * WIDTH], c[NORM_ROWS * WIDTH];
    tdm_matmul_options options = TDM_MATMUL_OPTIONS_DEFAULTS;
    int row, column;
    double wanted;
    options.math = TDM_MATH_IEEE;
    norm_values(1, x);
    for (int i = 0; i < NORM_COLUMNS * WIDTH; i++)
        w[i] = (float)((i * 29) % 61 - 30) / 7.0f;
    tdm_status status = tdm_buffer_write(the.queue, t[0]->buffer, 0, y, sizeof y);
    if (status == TDM_OK) status = norm(t);
    if (status == TDM_OK) status = map(t[1], mapped, sizeof mapped, false);
    if (status == TDM_OK) status = tdm_buffer_write(the.queue, t[2]->buffer, 0, w, sizeof w);
    if (status == TDM_OK) status = map(t[0], x, sizeof x, true);
    if (status == TDM_OK) status = norm(t);
    answer_step("multiplying matrices");
    if (status == TDM_OK) status = tdm_matmul(the.queue, &options, t[1], t[2], t[3]);
    if (status == TDM_OK) status = map(t[1], mapped, sizeof mapped, false);
    if (status == TDM_OK) status = tdm_buffer_read(the.queue, t[1]->buffer, 0, y, sizeof y);
    if (status == TDM_OK) status = tdm_buffer_read(the.queue, t[3]->buffer, 0, c, sizeof c);
    if (status != TDM_OK) {
        failed("a LayerNorm and a product", status);
        return;
    }
    if (norm_find_wrong(x, mapped, &row, &column, &wanted))
        WRONG("mapped memory: a LayerNorm has %.9g through a mapping, %.9g by a copy, not %.9g; "
              "tdm_buffer_map depends on it: use tdm_buffer_read and tdm_buffer_write",
              (double)mapped[row * NORM_COLUMNS + column], (double)y[row * NORM_COLUMNS + column],
              wanted);
    else
        RIGHT("mapped memory");
    compare_product(y, w, c);
}

/* --- speed ------------------------------------------------------------------------------------- */

/* Far from what any device should need: a launch takes 5 to 50 us, a card on PCIe copies 6 to 50 GB/s. */
#define SLOW_LAUNCH 1e-3
#define SLOW_COPY 1e9
#define SECONDS_TO_MEASURE 0.1

/* The measurements: 0 a launch until its end, 1 a copy to the device, 2 one from it. Seconds of the fastest of
 * several, HUGE_VAL when one fails. */
static double fastest(int what, tdm_tensor **t, void *host) {
    double best = HUGE_VAL;
    const double start = child_now();
    for (int i = 0; i < 100 && (i < 3 || child_now() - start < SECONDS_TO_MEASURE); i++) {
        const double before = child_now();
        tdm_status status = what == 0 ? norm(t)
                            : what == 1
                                ? tdm_buffer_write(the.queue, t[4]->buffer, 0, host, COPY_SIZE)
                                : tdm_buffer_read(the.queue, t[4]->buffer, 0, host, COPY_SIZE);
        if (status == TDM_OK) status = tdm_queue_finish(the.queue);
        if (status != TDM_OK) return HUGE_VAL;
        best = fmin(best, child_now() - before);
    }
    return best;
}

static void measure(tdm_tensor **t) {
    void *memory = NULL;
    if (tdm_host_alloc(the.device, COPY_SIZE, &memory) != TDM_OK) return;
    unsigned char *const host = memory;
    int i = 0;
    for (; i < COPY_SIZE; i++)
        host[i] = (unsigned char)(i % 251);
    const double launch = fastest(0, t, NULL), to = fastest(1, t, host);
    memset(host, 0, COPY_SIZE);
    const double from = fastest(2, t, host);
    for (i = 0; i < COPY_SIZE && host[i] == i % 251; i++)
        continue;
    if (!isfinite(launch + to + from))
        failed("launches and copies", TDM_ERROR_BACKEND);
    else if (i < COPY_SIZE)
        WRONG("copies: of 8 MiB to the device and back, byte %d is another: use nothing of it", i);
    else
        append(the.speed, sizeof the.speed,
               "\na launch takes %.0f us%s; copies: %.1f GB/s to the device, %.1f GB/s from it%s",
               launch * 1e6, launch > SLOW_LAUNCH ? ", which is slow: 5 to 50 are usual" : "",
               COPY_SIZE / to * 1e-9, COPY_SIZE / from * 1e-9,
               COPY_SIZE / fmax(to, from) < SLOW_COPY
                   ? ", which is slow: 6 to 50 are usual of a card on PCIe, and more of memory"
                   : "");
    tdm_host_free(the.device, memory);
}

void judge_operations(void) {
    static const struct {
        tdm_dtype dtype;
        int rows, columns;
    } shapes[] = {{TDM_F32, NORM_ROWS, NORM_COLUMNS},
                  {TDM_F32, NORM_ROWS, NORM_COLUMNS},
                  {TDM_F32, NORM_COLUMNS, WIDTH},
                  {TDM_F32, NORM_ROWS, WIDTH},
                  {TDM_U8, 1, COPY_SIZE}};
    enum { BUFFERS = sizeof shapes / sizeof *shapes };
    tdm_tensor *t[BUFFERS];
    tdm_status status = TDM_OK;
    const double start = child_now();
    answer_step("mapping its memory");
    for (int i = 0; i < BUFFERS && status == TDM_OK; i++)
        status = make(shapes[i].dtype, shapes[i].rows, shapes[i].columns, &t[i]);
    if (status == TDM_OK) {
        judge_memory(t);
        answer_step("measuring launches and copies");
        measure(t);
    } else {
        failed("allocating 8 MiB", status);
    }
    the.seconds += child_now() - start;
}

void judge_begin(tdm_device *device, tdm_queue *queue) {
    the.device = device;
    the.queue = queue;
}

bool judge_report(char *text, size_t size) {
    append(text, size, "%s\njudged in %.2f s, right: %s%s", the.wrong, the.seconds,
           the.right[0] ? the.right + 2 : "nothing", the.speed);
    return !the.wrong[0];
}

void judge_end(void) {
    while (the.count > 0)
        tdm_tensor_release(&the.tensors[--the.count]);
}

/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* A user kernel, as a text in the kernel dialect: a Gaussian blur of a picture, along its rows and then along
 * its columns, on whatever device there is. docs/kernels.md is the guide. On cpu it takes a C compiler.
 *
 *     cc -std=c11 blur.c $(pkg-config --cflags --libs tandem) -lm -o blur */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include <tandem/tandem.h>

enum { HEIGHT = 480, WIDTH = 640, RADIUS = 6 };

static const double deviation = 2.5;

/* Pixels beyond an edge are those of the edge. `across` is 1 along the rows and 0 along the columns. */
static const char text[] =
    "INLINE tdm_i64 inside(tdm_i64 at, tdm_i64 n)\n"
    "{\n"
    "    return at < 0 ? 0 : at < n ? at : n - 1;\n"
    "}\n"
    "\n"
    "KERNEL(blur)\n"
    "{\n"
    "    const tdm_i32 radius = (tdm_i32)args.weights.cols / 2;\n"
    "    GLOBAL const T *const w = ROW(weights, 0);\n"
    "    FOR_PIECES(row, begin, end)\n"
    "    {\n"
    "        GLOBAL T *const yr = ROW(y, row);\n"
    "        FOR_LANES(j, begin, end)\n"
    "        {\n"
    "            ACC sum = 0;\n"
    "            for (tdm_i32 k = -radius; k <= radius; k++) {\n"
    "                const tdm_i64 i = inside(row + (args.across ? 0 : k), ROWS);\n"
    "                const tdm_i64 c = inside(j + (args.across ? k : 0), COLS);\n"
    "                sum += LOAD(w, radius + k) * LOAD(ROW(x, i), c);\n"
    "            }\n"
    "            STORE(yr, j, sum);\n"
    "        }\n"
    "    }\n"
    "}\n";

static void check(tdm_status status) {
    if (status == TDM_OK) return;
    fprintf(stderr, "blur: %s\n", tdm_last_error());
    exit(1);
}

static float picture[HEIGHT][WIDTH], blurred[HEIGHT][WIDTH];
static double rows_only[HEIGHT][WIDTH];
static float weights[2 * RADIUS + 1];

/* Rings, and a dark square in the middle. */
static void draw(void) {
    for (int i = 0; i < HEIGHT; i++)
        for (int j = 0; j < WIDTH; j++) {
            const double distance = hypot((2 * i - HEIGHT) / 2.0, (2 * j - WIDTH) / 2.0);
            picture[i][j] =
                distance < 40 ? 0.0f : (float)(0.5 + 0.5 * sin(distance * distance / 900));
        }
}

static void find_weights(void) {
    double sum = 0;
    for (int k = -RADIUS; k <= RADIUS; k++)
        sum += exp(-k * k / (2 * deviation * deviation));
    for (int k = -RADIUS; k <= RADIUS; k++)
        weights[RADIUS + k] = (float)(exp(-k * k / (2 * deviation * deviation)) / sum);
}

static int inside(int at, int n) { return at < 0 ? 0 : at < n ? at : n - 1; }

/* The same in plain C, in double precision. */
static double largest_error(void) {
    double worst = 0;
    for (int i = 0; i < HEIGHT; i++)
        for (int j = 0; j < WIDTH; j++) {
            rows_only[i][j] = 0;
            for (int k = -RADIUS; k <= RADIUS; k++)
                rows_only[i][j] +=
                    (double)weights[RADIUS + k] * (double)picture[i][inside(j + k, WIDTH)];
        }
    for (int i = 0; i < HEIGHT; i++)
        for (int j = 0; j < WIDTH; j++) {
            double sum = 0;
            for (int k = -RADIUS; k <= RADIUS; k++)
                sum += (double)weights[RADIUS + k] * rows_only[inside(i + k, HEIGHT)][j];
            const double error = fabs((double)blurred[i][j] - sum);
            if (!(error <= worst)) worst = error; /* NaN, too */
        }
    return worst;
}

int main(void) {
    tdm_device *device;
    tdm_queue *queue;
    tdm_kernel *kernel;
    tdm_tensor x, half, y, w;
    draw();
    find_weights();
    check(tdm_device_open(NULL, &device));
    check(tdm_queue_create(device, 0, &queue));
    check(tdm_from_host(queue, picture, TDM_F32, TDM_SHAPE(HEIGHT, WIDTH), &x));
    check(tdm_from_host(queue, weights, TDM_F32, TDM_SHAPE(2 * RADIUS + 1), &w));
    check(tdm_zeros(queue, TDM_F32, TDM_SHAPE(HEIGHT, WIDTH), &half));
    check(tdm_zeros(queue, TDM_F32, TDM_SHAPE(HEIGHT, WIDTH), &y));

    /* The first tensor is the one whose rows are shared out. */
    const tdm_parameter parameters[] = {TDM_OUTPUT("y"), TDM_TENSOR("x"), TDM_TENSOR("weights"),
                                        TDM_INTEGER("across")};
    check(tdm_kernel_source(device, text, "blur.cl", "blur", parameters, 4, &kernel));
    const tdm_argument along_rows[] = {TDM_WITH_TENSOR("y", &half), TDM_WITH_TENSOR("x", &x),
                                       TDM_WITH_TENSOR("weights", &w),
                                       TDM_WITH_INTEGER("across", 1)};
    const tdm_argument along_columns[] = {TDM_WITH_TENSOR("y", &y), TDM_WITH_TENSOR("x", &half),
                                          TDM_WITH_TENSOR("weights", &w),
                                          TDM_WITH_INTEGER("across", 0)};
    check(tdm_kernel_run(queue, kernel, along_rows, 4));
    check(tdm_kernel_run(queue, kernel, along_columns, 4));
    check(tdm_to_host(queue, &y, blurred));
    const double error = largest_error();
    printf("%d x %d pixels blurred on %s: right within %.0e: %s\n", WIDTH, HEIGHT,
           tdm_device_get_info(device)->id, 2e-6, error < 2e-6 ? "yes" : "no");

    /* A compiler's errors name the file and the lines of the text. */
    tdm_kernel *wrong;
    check(tdm_kernel_source(device, "KERNEL(wrong)\n{\n    y[0] = nowhere;\n}\n", "wrong.cl",
                            "wrong", parameters, 4, &wrong));
    if (tdm_kernel_run(queue, wrong, along_rows, 4) == TDM_ERROR_COMPILE)
        printf("what the compiler says of wrong.cl:\n%s\n", tdm_last_compile_log());

    tdm_kernel_release(wrong);
    tdm_kernel_release(kernel);
    tdm_tensor_release(&x);
    tdm_tensor_release(&half);
    tdm_tensor_release(&y);
    tdm_tensor_release(&w);
    tdm_queue_destroy(queue);
    tdm_device_release(device);
    return error < 2e-6 ? 0 : 1;
}

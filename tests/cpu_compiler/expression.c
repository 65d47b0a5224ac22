/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* Runs expressions on cpu twice, compares them with double precision, and says what the log says and whether they were
 * kept: for compiled.sh. Exit status 0 if the results are right and the same twice. With an argument a second of this
 * process's clock is 200, so that time limits of minutes are over soon. */
#define _GNU_SOURCE
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <tandem/tandem.h>

enum { ROWS = 7, COLS = 333, COUNT = ROWS * COLS };

static bool is_hurried;

/* The library's clock, too, which is linked into this program. */
int clock_gettime(clockid_t id, struct timespec *time) {
    const int result = (int)syscall(SYS_clock_gettime, id, time);
    if (result == 0 && is_hurried && id == CLOCK_MONOTONIC) { /* since the machine started */
        const int64_t faster = ((int64_t)time->tv_sec * 1000000000 + time->tv_nsec) * 200;
        time->tv_sec = (time_t)(faster / 1000000000);
        time->tv_nsec = (long)(faster % 1000000000);
    }
    return result;
}

static void check(tdm_status status) {
    if (status == TDM_OK) return;
    printf("%s: %s\n", tdm_status_name(status), tdm_last_error());
    exit(1);
}

static void say(tdm_log_level level, const char *line, void *user) {
    (void)user;
    printf("log %d: %s\n", (int)level, line);
}

static double x_of(int i) { return (double)((i * 37) % 101) / 64 - 0.75; }

/* gelu's error is that of erf in f32, the row's that of a sum of 333 terms: both far below this. */
static int compare(const float *y, const float *again, const float *r) {
    int wrong = memcmp(y, again, COUNT * sizeof *y) != 0;
    for (int row = 0; row < ROWS; row++) {
        double sum = 0;
        for (int i = row * COLS; i < (row + 1) * COLS; i++) {
            const double x = x_of(i), want = 0.5 * x * (1 + erf(x / sqrt(2))) * 3 + 0.5;
            wrong += !(fabs(y[i] - want) <= 4e-6 * (1 + fabs(want)));
            sum += x * x;
        }
        wrong += !(fabs(r[row] - sum) <= 1e-6 * sum);
    }
    return wrong;
}

int main(int argc, char **argv) {
    (void)argv;
    is_hurried = argc > 1;
    static float from[COUNT], y[COUNT], again[COUNT], r[ROWS];
    tdm_device *device;
    tdm_queue *queue;
    tdm_kernel *kernel, *squares;
    tdm_tensor tx, ty, tr;
    bool is_cached;
    const tdm_parameter parameters[] = {TDM_TENSOR("x"), TDM_TENSOR("y"), TDM_NUMBER("s")};
    const tdm_row_kernel texts = TDM_ROW_KERNEL(.map = "x * x");
    tdm_set_log(TDM_LOG_WARNING, say, NULL);
    for (int i = 0; i < COUNT; i++)
        from[i] = (float)x_of(i);
    check(tdm_device_open("cpu", &device));
    check(tdm_queue_create(device, 0, &queue));
    check(tdm_zeros(queue, TDM_F32, TDM_SHAPE(ROWS, COLS), &ty));
    check(tdm_zeros(queue, TDM_F32, TDM_SHAPE(ROWS), &tr));
    check(tdm_from_host(queue, from, TDM_F32, TDM_SHAPE(ROWS, COLS), &tx));
    check(tdm_kernel_elementwise(device, "y = gelu(x) * s + 0.5", parameters, 3, &kernel));
    check(tdm_kernel_rows(device, &texts, parameters, 2, &squares));
    const tdm_argument arguments[] = {TDM_WITH_TENSOR("x", &tx), TDM_WITH_TENSOR("y", &ty),
                                      TDM_WITH_NUMBER("s", 3)};
    const tdm_argument of_rows[] = {TDM_WITH_TENSOR("x", &tx), TDM_WITH_TENSOR("y", &tr)};
    check(tdm_kernel_is_cached(queue, kernel, arguments, 3, &is_cached));
    printf("at first: %s\n", is_cached ? "cached" : "not cached");
    check(tdm_kernel_warm(queue, kernel, arguments, 3));
    check(tdm_kernel_is_cached(queue, kernel, arguments, 3, &is_cached));
    printf("warmed: %s\n", is_cached ? "cached" : "not cached");
    check(tdm_kernel_run(queue, kernel, arguments, 3));
    check(tdm_to_host(queue, &ty, y));
    check(tdm_kernel_run(queue, kernel, arguments, 3));
    check(tdm_to_host(queue, &ty, again));
    check(tdm_kernel_run(queue, squares, of_rows, 2));
    check(tdm_to_host(queue, &tr, r));
    const int wrong = compare(y, again, r);
    printf("wrong: %d\n", wrong);
    tdm_kernel_release(kernel);
    tdm_kernel_release(squares);
    tdm_tensor_release(&tx);
    tdm_tensor_release(&ty);
    tdm_tensor_release(&tr);
    tdm_queue_destroy(queue);
    tdm_device_release(device);
    return wrong != 0;
}

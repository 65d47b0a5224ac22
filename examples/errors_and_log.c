/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* Errors: statuses, the message that goes with the last one, settings from the program, and the
 * log, which is silent unless a program asks for it.
 *
 *     cc -std=c11 errors_and_log.c $(pkg-config --cflags --libs tandem) -o errors_and_log */
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

#include <tandem/tandem.h>

static void check(tdm_status status) {
    if (status == TDM_OK) return;
    fprintf(stderr, "errors_and_log: %s\n", tdm_last_error());
    exit(1);
}

/* Called by any thread, several at once, and must not call the library. */
static void keep_log(tdm_log_level level, const char *line, void *user) {
    atomic_int *lines = user;
    atomic_fetch_add(lines, 1);
    fprintf(stderr, "[%d] %s\n", (int)level, line);
}

static int surprises;

/* A status says what kind of failure it is, the message what exactly was wrong. */
static void expect(tdm_status got, tdm_status wanted) {
    printf("%s (%s)\n    %s\n", tdm_status_name(got), tdm_status_text(got), tdm_last_error());
    surprises += got != wanted;
}

int main(void) {
    /* Before anything else of the library: what users set by TANDEM_... variables. A value that is
     * not allowed is refused at once, and nothing has changed then. */
    expect(tdm_configure("TANDEM_CPU_THREADS", "many"), TDM_ERROR_ENVIRONMENT);
    expect(tdm_configure("TANDEM_CPU_THREAD", "2"), TDM_ERROR_NOT_FOUND);
    check(tdm_configure("TANDEM_CPU_THREADS", "2"));

    atomic_int lines = 0;
    tdm_set_log(TDM_LOG_DEBUG, keep_log, &lines);

    tdm_device *device;
    tdm_queue *queue;
    tdm_tensor a, b, y;
    expect(tdm_device_open("gpu:99", &device), TDM_ERROR_NOT_FOUND);
    check(tdm_device_open(NULL, &device));
    check(tdm_queue_create(device, 0, &queue));
    check(tdm_ones(queue, TDM_F32, TDM_SHAPE(2, 3), &a));
    check(tdm_ones(queue, TDM_F32, TDM_SHAPE(2, 3), &b));
    check(tdm_zeros(queue, TDM_F32, TDM_SHAPE(2, 2), &y));

    /* All arguments are checked before anything runs: a refused call changes nothing. */
    expect(tdm_matmul(queue, NULL, &a, &b, &y), TDM_ERROR_INVALID_SHAPE);
    tdm_matmul_options by_hand = {.alpha = 1}; /* without TDM_MATMUL_OPTIONS_DEFAULTS */
    expect(tdm_matmul(queue, &by_hand, &a, &b, &y), TDM_ERROR_INVALID_ARGUMENT);

    /* Repaired by what the message says. */
    tdm_matmul_options options = TDM_MATMUL_OPTIONS_DEFAULTS;
    options.transpose_b = true;
    float result[2][2];
    check(tdm_matmul(queue, &options, &a, &b, &y));
    check(tdm_to_host(queue, &y, result));
    printf("repaired: %g\n", (double)result[1][1]);

    tdm_set_log(TDM_LOG_OFF, NULL, NULL);
    printf("the log had lines: %s\n", lines > 0 ? "yes" : "no");
    tdm_tensor_release(&a);
    tdm_tensor_release(&b);
    tdm_tensor_release(&y);
    tdm_queue_destroy(queue);
    tdm_device_release(device);
    return surprises || result[1][1] != 3 || lines == 0 ? 1 : 0;
}

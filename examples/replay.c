/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* A layer recorded once and replayed for every input. On small tensors most of a call's time is what it takes
 * on the host, which a replay spares.
 *
 *     cc -std=c11 replay.c $(pkg-config --cflags --libs tandem) -o replay */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include <tandem/tandem.h>

enum { ROWS = 4, COLS = 16, TURNS = 2000 };

static void check(tdm_status status) {
    if (status == TDM_OK) return;
    fprintf(stderr, "replay: %s\n", tdm_last_error());
    exit(1);
}

/* y = softmax(gelu(x + bias) + x) */
static void layer(tdm_queue *queue, const tdm_tensor *x, const tdm_tensor *bias, tdm_tensor *y) {
    check(tdm_bias_add(queue, x, bias, TDM_ACTIVATION_GELU, x, y));
    check(tdm_softmax(queue, y, y));
}

static double now(void) {
    struct timespec time;
    timespec_get(&time, TIME_UTC);
    return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

int main(void) {
    tdm_device *device;
    tdm_queue *queue;
    tdm_graph *graph;
    tdm_tensor x, bias, y;
    float input[ROWS * COLS], called[ROWS * COLS], replayed[ROWS * COLS];
    check(tdm_device_open(NULL, &device));
    check(tdm_queue_create(device, 0, &queue));
    check(tdm_zeros(queue, TDM_F32, TDM_SHAPE(ROWS, COLS), &x));
    check(tdm_ones(queue, TDM_F32, TDM_SHAPE(COLS), &bias));
    check(tdm_zeros(queue, TDM_F32, TDM_SHAPE(ROWS, COLS), &y));

    /* Between begin and end the queue runs nothing: it takes down what it is given. */
    check(tdm_graph_create(queue, &graph));
    check(tdm_graph_begin(graph));
    layer(queue, &x, &bias, &y);
    check(tdm_graph_end(graph));
    printf("recorded: %zu launches\n", tdm_graph_get_length(graph));

    /* Each replay takes x as it is then. */
    for (int turn = 0; turn < 3; turn++) {
        for (int i = 0; i < ROWS * COLS; i++)
            input[i] = (float)((i + turn) % 7 - 3);
        check(tdm_buffer_write(queue, x.buffer, 0, input, sizeof input));
        layer(queue, &x, &bias, &y);
        check(tdm_buffer_read(queue, y.buffer, 0, called, sizeof called));
        check(tdm_fill(queue, 0, &y));
        check(tdm_graph_replay(graph));
        check(tdm_buffer_read(queue, y.buffer, 0, replayed, sizeof replayed));
        int same = 1;
        for (int i = 0; i < ROWS * COLS; i++)
            same = same && called[i] == replayed[i];
        printf("input %d: y[0] = %.4f, the same by calls and by a replay: %s\n", turn,
               (double)replayed[0], same ? "yes" : "NO");
        if (!same) return 1;
    }

    const double start = now();
    for (int turn = 0; turn < TURNS; turn++)
        layer(queue, &x, &bias, &y);
    check(tdm_queue_finish(queue));
    const double middle = now();
    for (int turn = 0; turn < TURNS; turn++)
        check(tdm_graph_replay(graph));
    check(tdm_queue_finish(queue));
    const double end = now();
    printf("on %s: %.2f us by calls, %.2f us by a replay\n", tdm_device_get_info(device)->id,
           1e6 * (middle - start) / (double)TURNS, 1e6 * (end - middle) / (double)TURNS);

    tdm_graph_destroy(graph);
    tdm_tensor_release(&x);
    tdm_tensor_release(&bias);
    tdm_tensor_release(&y);
    tdm_queue_destroy(queue);
    tdm_device_release(device);
    return 0;
}

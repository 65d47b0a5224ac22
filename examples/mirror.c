/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* One network on all devices at once: each has a copy of the parameters and works on its part of
 * the batch, and the parts come back as one tensor.
 *
 *     cc -std=c11 mirror.c $(pkg-config --cflags --libs tandem) -o mirror */
#include <stdio.h>
#include <stdlib.h>

#include <tandem/tandem.h>

enum { BATCH = 10, MOST = 8 };

static void check(tdm_status status) {
    if (status == TDM_OK) return;
    fprintf(stderr, "mirror: %s\n", tdm_last_error());
    exit(1);
}

/* Runs once per device, in a separate thread: its statuses go back to tdm_mirror_run. */
static tdm_status forward(const tdm_replica *replica, void *user) {
    int64_t *rows = user; /* one place for each device, so that no two threads share one */
    rows[replica->index] = replica->output->shape[0];
    return tdm_linear_apply(replica->queue, replica->parameters, "", &replica->inputs[0],
                            TDM_ACTIVATION_RELU, replica->output);
}

/* All devices but those that are another name of one that is there already. */
static size_t open_all(tdm_device **devices) {
    size_t listed, count = 0;
    check(tdm_get_device_count(&listed));
    for (size_t i = 0; i < listed && count < MOST; i++) {
        const tdm_device_info *info;
        check(tdm_get_listed_device(i, &info));
        if (info->same_as[0] == '\0') check(tdm_device_open(info->id, &devices[count++]));
    }
    return count;
}

int main(void) {
    /* relu(x W' + b) of x = (i, 1) is (i, 0, 2 i + 1). */
    const float weights[3][2] = {{1, 0}, {-1, 0}, {2, 1}}, biases[3] = {0, 0, 0};
    float inputs[BATCH][2], outputs[BATCH][3];
    for (int i = 0; i < BATCH; i++) {
        inputs[i][0] = (float)i;
        inputs[i][1] = 1;
    }
    check(tdm_configure("TANDEM_CPU_DEVICES", "2")); /* so that there are several everywhere */
    tdm_device *devices[MOST];
    tdm_queue *queue;
    tdm_tensor weight, bias, x, y;
    tdm_state_dict *net;
    tdm_mirror *mirror;
    size_t count = open_all(devices);
    check(tdm_queue_create(devices[0], 0, &queue));
    check(tdm_from_host(queue, weights, TDM_F32, TDM_SHAPE(3, 2), &weight));
    check(tdm_from_host(queue, biases, TDM_F32, TDM_SHAPE(3), &bias));
    check(tdm_from_host(queue, inputs, TDM_F32, TDM_SHAPE(BATCH, 2), &x));
    check(tdm_empty(queue, TDM_F32, TDM_SHAPE(BATCH, 3), &y));
    check(tdm_state_dict_create(&net));
    check(tdm_state_dict_set(net, "weight", &weight));
    check(tdm_state_dict_set(net, "bias", &bias));

    int64_t rows[MOST] = {0};
    check(tdm_mirror_create(queue, net, count, devices, &mirror)); /* copies the parameters */
    check(tdm_mirror_run(queue, mirror, forward, rows, 1, &x, &y));
    check(tdm_to_host(queue, &y, outputs));
    for (size_t i = 0; i < count; i++)
        printf("%s: %d rows\n", tdm_device_get_info(devices[i])->id, (int)rows[i]);

    int wrong = 0;
    for (int i = 0; i < BATCH; i++)
        wrong +=
            outputs[i][0] != (float)i || outputs[i][1] != 0 || outputs[i][2] != 2 * (float)i + 1;
    printf("the last of %d rows: %g %g %g; wrong: %d\n", BATCH, (double)outputs[BATCH - 1][0],
           (double)outputs[BATCH - 1][1], (double)outputs[BATCH - 1][2], wrong);

    tdm_mirror_destroy(mirror);
    tdm_state_dict_destroy(net);
    tdm_tensor_release(&weight);
    tdm_tensor_release(&bias);
    tdm_tensor_release(&x);
    tdm_tensor_release(&y);
    tdm_queue_destroy(queue);
    for (size_t i = 0; i < count; i++)
        tdm_device_release(devices[i]);
    return wrong ? 1 : 0;
}

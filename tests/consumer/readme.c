/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* The C of README.md and of docs/lesson.md as it stands there, in files that consumer.sh takes out of these pages.
 * Leaves block.safetensors. */
#include "block.h"

static void lesson(tdm_queue *queue) {
    tdm_state_dict *w;
    tdm_tensor x, y, h, gain, shift;
    float result[ROWS * COLS];
    check(tdm_from_host(queue, x_numbers, TDM_F32, TDM_SHAPE(ROWS, COLS), &x));
#include "lesson.inc"
    check(tdm_to_host(queue, &y, result));
    check_block("docs/lesson.md", result);
    tdm_tensor_release(&x);
    tdm_tensor_release(&y);
    tdm_tensor_release(&h);
    tdm_state_dict_destroy(w);
}

static void save(tdm_queue *queue) {
    tdm_state_dict *dict;
    check(tdm_state_dict_create(&dict));
    for (int i = 0; i < PARAMETERS; i++) {
        tdm_tensor t;
        const int64_t shape[] = {sizes[i][0], sizes[i][1]};
        const int ndim = sizes[i][0] == 1 ? 1 : 2;
        check(tdm_from_host(queue, parameters[i], TDM_F32, ndim, shape + 2 - ndim, &t));
        check(tdm_state_dict_set(dict, names[i], &t));
        tdm_tensor_release(&t);
    }
    check(tdm_save(queue, dict, "block.safetensors", NULL));
    tdm_state_dict_destroy(dict);
}

int main(void) {
    const float numbers[6] = {1, 2, 3, -1, 0, 1}, weights[6] = {1, 0, 0, 1, 1, 1};
    float result[4] = {NAN, NAN, NAN, NAN};
#include "readme.inc"
    /* the product is [4 5; 0 1], whose rows differ by 1 each */
    for (int i = 0; i < 4; i++)
        if (!(fabs((double)result[i] - 1 / (1 + exp(i % 2 ? -1.0 : 1.0))) < 1e-6))
            return fprintf(stderr, "README.md: element %d is %g\n", i, (double)result[i]), 1;
    make_numbers();
    save(queue);
    lesson(queue);
    printf("%s, Tandem %s\n", tdm_device_get_info(device)->id, tdm_version());
    tdm_tensor_release(&a);
    tdm_tensor_release(&b);
    tdm_tensor_release(&y);
    tdm_queue_destroy(queue);
    tdm_device_release(device);
    return 0;
}

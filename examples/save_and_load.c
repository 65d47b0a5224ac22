/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* Model files: a state dict is saved as safetensors with progress, loaded onto the device again, and
 * a part of one tensor is read alone. Python's safetensors reads the same file.
 *
 *     cc -std=c11 save_and_load.c $(pkg-config --cflags --libs tandem) -o save_and_load
 *     ./save_and_load [FILE] */
#include <stdio.h>
#include <stdlib.h>

#include <tandem/tandem.h>

enum { ROWS = 1000, COLS = 500 };

static void check(tdm_status status) {
    if (status == TDM_OK) return;
    fprintf(stderr, "save_and_load: %s\n", tdm_last_error());
    exit(1);
}

/* Anything but TDM_OK would end the call, and leave an old file as it was. */
static tdm_status show_progress(uint64_t done, uint64_t total, void *user) {
    int *last = user, percent = (int)(100 * done / total);
    if (percent / 50 > *last / 50) printf("%d%%\n", percent);
    *last = percent;
    return TDM_OK;
}

static void save(tdm_queue *queue, const char *path) {
    tdm_state_dict *dict;
    tdm_tensor weight, bias;
    check(tdm_arange(queue, 0, ROWS * COLS, 1, TDM_F32, &weight));
    check(tdm_tensor_reshape(&weight, TDM_SHAPE(ROWS, COLS), &weight)); /* no data moves */
    check(tdm_full(queue, 0.5, TDM_F16, TDM_SHAPE(COLS), &bias));
    check(tdm_state_dict_create(&dict));
    check(tdm_state_dict_set(dict, "layer.weight", &weight));
    check(tdm_state_dict_set(dict, "layer.bias", &bias));
    check(tdm_state_dict_set_metadata(dict, "epoch", "12"));
    tdm_tensor_release(&weight); /* the dict has its own references */
    tdm_tensor_release(&bias);

    int percent = 0;
    tdm_file_options options = TDM_FILE_OPTIONS_DEFAULTS;
    options.budget = 64 << 10; /* small, to see some progress; the default is 16 MiB */
    options.progress = show_progress;
    options.user = &percent;
    check(tdm_save(queue, dict, path, &options));
    tdm_state_dict_destroy(dict);
}

int main(int argc, char **argv) {
    const char *path = argc > 1 ? argv[1] : "save_and_load.safetensors";
    tdm_device *device;
    tdm_queue *queue;
    check(tdm_device_open(NULL, &device));
    check(tdm_queue_create(device, 0, &queue));
    save(queue, path);

    tdm_state_dict *dict;
    check(tdm_load(queue, path, NULL, &dict));
    for (size_t i = 0; i < tdm_state_dict_get_count(dict); i++) {
        const char *name;
        tdm_tensor x; /* its buffer belongs to the dict */
        check(tdm_state_dict_get_item(dict, i, &name, &x));
        printf("%s: %s, %.0f elements\n", name, tdm_dtype_name(x.dtype),
               (double)tdm_tensor_get_count(&x));
    }
    const char *epoch = tdm_state_dict_get_metadata(dict, "epoch");
    printf("epoch %s\n", epoch ? epoch : "unknown");
    tdm_state_dict_destroy(dict);

    /* The last row of the weights, and nothing else of a file that may be large. */
    tdm_file *file;
    const tdm_file_entry *entry;
    tdm_tensor row;
    static float last[COLS];
    check(tdm_file_open(path, &file));
    check(tdm_file_find(file, "layer.weight", &entry));
    check(tdm_empty(queue, TDM_F32, TDM_SHAPE(COLS), &row));
    check(tdm_file_read(queue, file, entry, entry->count - COLS, COLS, NULL, &row));
    check(tdm_to_host(queue, &row, last));
    tdm_file_destroy(file);
    printf("the last row: %.0f to %.0f\n", (double)last[0], (double)last[COLS - 1]);

    tdm_tensor_release(&row);
    tdm_queue_destroy(queue);
    tdm_device_release(device);
    return last[0] == (ROWS - 1) * COLS && last[COLS - 1] == ROWS * COLS - 1 ? 0 : 1;
}

/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* Loads a safetensors file onto a device and saves it again: resave DEVICE IN OUT */
#include <stdio.h>

#include <tandem/tandem.h>

int main(int argc, char **argv) {
    if (argc != 4) {
        fprintf(stderr, "usage: resave DEVICE IN OUT\n");
        return 2;
    }
    tdm_device *device = NULL;
    tdm_queue *queue = NULL;
    tdm_state_dict *dict = NULL;
    tdm_status status = tdm_device_open(argv[1], &device);
    if (status == TDM_OK) status = tdm_queue_create(device, 0, &queue);
    if (status == TDM_OK) status = tdm_load(queue, argv[2], NULL, &dict);
    if (status == TDM_OK) status = tdm_save(queue, dict, argv[3], NULL);
    if (status != TDM_OK) fprintf(stderr, "resave: %s\n", tdm_last_error());
    tdm_state_dict_destroy(dict);
    tdm_queue_destroy(queue);
    tdm_device_release(device);
    return status == TDM_OK ? 0 : 1;
}

/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* A consumer of an installed Tandem: prints the default device. Compiled as C and as C++. */
#include <stdio.h>
#include <tandem/tandem.h>

int main(void) {
    tdm_device *device = NULL;
    if (tdm_device_open(NULL, &device) != TDM_OK)
        return fprintf(stderr, "%s\n", tdm_last_error()), 1;
    /* Reaches the JSON library, which a static Tandem must bring along. */
    tdm_file *file = NULL;
    if (tdm_file_open("/dev/null", &file) == TDM_OK) return fprintf(stderr, "no file\n"), 1;
    printf("%s, Tandem %s\n", tdm_device_get_info(device)->id, tdm_version());
    tdm_device_release(device);
    return 0;
}

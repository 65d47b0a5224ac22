/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* A consumer of an installed libtandem-comm: prints the default device. Compiled as C and as C++. */
#include <stdio.h>
#ifdef __cplusplus
#include <tandem/comm.hpp>
#endif
#include <tandem/parallel.h>
#include <tandem/tandem.h>

int main(void) {
    tdm_device *device = NULL;
    int64_t begin, count;
    if (tdm_part(7, 2, 1, &begin, &count) != TDM_OK || begin != 4 || count != 3 ||
        tdm_comm_get_size(NULL) != -1 || tdm_device_open(NULL, &device) != TDM_OK)
        return fprintf(stderr, "%s\n", tdm_last_error()), 1;
    printf("%s, Tandem %s\n", tdm_device_get_info(device)->id, tdm_version());
    tdm_device_release(device);
    return 0;
}

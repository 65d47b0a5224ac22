/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* The list of users' kernels of a device. It only grows, and what is in it stays as it is: its lock is held while
 * it is looked through. */
#include "user_kernels.h"

static const tdmi_user_kernel *find(const tdm_device *device, const void *key, size_t size) {
    const tdmi_user_kernel *kernel = device->user_kernels;
    while (kernel && (kernel->key_size != size || memcmp(kernel->key, key, size) != 0))
        kernel = kernel->next;
    return kernel;
}

const tdmi_user_kernel *tdmi_find_user_kernel(tdm_device *device, const void *key,
                                              size_t key_size) {
    TDMI_LOCKED(&device->user_lock);
    return find(device, key, key_size);
}

static void free_kernel(tdmi_user_kernel *kernel) {
    tdmi_free(kernel->text);
    tdmi_free(kernel->bytecode);
}

tdm_status tdmi_add_user_kernel(tdm_device *device, const tdmi_user_kernel *kernel, const void *key,
                                size_t key_size, const tdmi_user_kernel **added) {
    tdmi_user_kernel *made = tdmi_malloc(sizeof *made + key_size);
    tdmi_user_kernel given = *kernel;
    if (!made) {
        free_kernel(&given);
        return tdmi_fail(TDM_ERROR_OUT_OF_MEMORY, "out of host memory for a kernel");
    }
    *made = given;
    made->key_size = key_size;
    memcpy(made->key, key, key_size);
    tdmi_mutex_lock(&device->user_lock);
    *added = find(device, key, key_size);
    if (!*added) {
        made->next = device->user_kernels;
        made->number = made->next ? made->next->number + 1 : 1;
        *added = device->user_kernels = made;
        made = NULL;
    }
    tdmi_mutex_unlock(&device->user_lock);
    if (made) free_kernel(made);
    tdmi_free(made);
    return TDM_OK;
}

const tdmi_user_kernel *tdmi_user_kernel_of(tdm_device *device, uint32_t number) {
    if (number == 0) return NULL;
    TDMI_LOCKED(&device->user_lock);
    const tdmi_user_kernel *kernel = device->user_kernels;
    while (kernel->number != number)
        kernel = kernel->next;
    return kernel;
}

void tdmi_device_free_user_kernels(tdm_device *device) {
    while (device->user_kernels) {
        tdmi_user_kernel *kernel = device->user_kernels;
        device->user_kernels = kernel->next;
        free_kernel(kernel);
        tdmi_free(kernel);
    }
}

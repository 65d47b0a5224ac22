/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* Users' kernels as programs: what is compiled, or run in blocks, of one text for certain dtypes and strides. They
 * live as long as their device, as all compiled programs do; the same key gives the same one, so that a kernel that
 * is made again and again leaves one program. */
#ifndef TDMI_USER_KERNELS_H
#define TDMI_USER_KERNELS_H

#include "core.h"

typedef struct tdmi_user_kernel {
    uint32_t number;  /* tdmi_variant.user */
    uint8_t t, u;     /* tdmi_variant.t and u */
    uint8_t vectors;  /* tdmi_variant.op: how many vectors of a row a lane takes, 0 for none */
    bool is_source;   /* of tdm_kernel_source: it comes after more headers … */
    bool has_rows;    /* … as one does that combines rows */
    bool is_function; /* of functions.h: in blocks, where these run */
    const char *entry, *file; /* they last as long as the text, or are constant */
    char *text;               /* without the dialect's */
    tdmi_bytecode *bytecode;  /* of an expression */
    int buffers;
    size_t args_size;
    size_t key_size;
    struct tdmi_user_kernel *next;
    char key[]; /* text, options and dtypes it was made of */
} tdmi_user_kernel;

/* The kernel of that key; NULL when there is none. */
const tdmi_user_kernel *tdmi_find_user_kernel(tdm_device *device, const void *key, size_t key_size);

/* Adds a kernel: text and blocks, allocated, become the device's, also on failure. Another thread may have added
 * the same, which is then *added. */
tdm_status tdmi_add_user_kernel(tdm_device *device, const tdmi_user_kernel *kernel, const void *key,
                                size_t key_size, const tdmi_user_kernel **added) TDM_MUST_USE;

/* program.c: compiles a kernel without a device, where the backend can, and drops it. */
tdm_status tdmi_check_source(const tdmi_backend *backend,
                             const tdmi_user_kernel *kernel) TDM_MUST_USE;

/* The kernel of a number; NULL for 0. */
const tdmi_user_kernel *tdmi_user_kernel_of(tdm_device *device, uint32_t number);

void tdmi_device_free_user_kernels(tdm_device *device);

#endif

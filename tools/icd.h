/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* The OpenCL drivers that are installed, as the ICD loaders look for them, without opening any. */
#ifndef ICD_H
#define ICD_H

#include <stdbool.h>
#include <stddef.h>

typedef struct icd {
    char file[1024];   /* the .icd file; the variable's name where one names the library itself */
    char library[512]; /* the name in it, in printable ASCII; "" when it has none */
    char text[512];    /* of a file, as it is */
    char fault[256];   /* why it can be no driver, or "" */
    bool is_file;
} icd;

typedef struct icd_list {
    icd *items;
    size_t count;
} icd_list;

/* Reads $OCL_ICD_VENDORS (a folder, an .icd file or a library) or the system's folder, and the
 * libraries of $OCL_ICD_FILENAMES. False when memory is short. Free with icd_free. */
bool icd_read(icd_list *list);
void icd_free(icd_list *list);

/* Puts a driver into a folder, where $OCL_ICD_VENDORS makes it the only one; false with errno. */
bool icd_link(const icd *driver, const char *folder, size_t number);

#endif

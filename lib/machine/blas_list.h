/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* The one list of BLAS providers, whose names TANDEM_BLAS takes. Of the library and of the program tdm. */
#ifndef TDMI_BLAS_LIST_H
#define TDMI_BLAS_LIST_H

/* X(name): libraries for the host's own cores, in the order in which every device that is the host's CPU
 * prefers them, whatever its backend. Each is one file of lib/host, which defines tdmi_host_blas_<name>
 * (backend.h). */
#define TDMI_HOST_BLAS_LIST(X) X(cblas)

/* X(name): all of them. Those behind the host's belong to a backend. "builtin" is none: it is the kernel
 * that every device has. */
#define TDMI_BLAS_LIST(X) TDMI_HOST_BLAS_LIST(X) X(clblast) X(cublas)

typedef enum tdmi_blas_id {
#define TDMI_BLAS_ID(name) TDMI_BLAS_##name,
    TDMI_BLAS_LIST(TDMI_BLAS_ID)
#undef TDMI_BLAS_ID
        TDMI_BLAS_COUNT
} tdmi_blas_id;

#endif

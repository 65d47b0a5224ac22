/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* The one list of BLAS providers, whose names TANDEM_BLAS takes. Of the library and of the program tdm. */
#ifndef TDMI_BLAS_LIST_H
#define TDMI_BLAS_LIST_H

/* X(name): libraries for the host's own cores that have the CBLAS interface; the last is whichever the
 * system calls its CBLAS. TANDEM_BLAS=cblas means any of them. */
#define TDMI_CBLAS_LIST(X) X(openblas) X(mkl) X(blis) X(cblas)

/* X(name): libraries for the host's own cores, in the order in which every device that is the host's CPU
 * prefers them, whatever its backend; panels is none, but kernels for weights that are packed. A file of lib/host
 * defines tdmi_host_blas_<name> (backend.h). */
#define TDMI_HOST_BLAS_LIST(X) X(onednn) TDMI_CBLAS_LIST(X) X(panels)

/* X(name): all of them. Those after the host's belong to a backend. */
#define TDMI_BLAS_LIST(X) TDMI_HOST_BLAS_LIST(X) X(clblast) X(cublas)

/* "builtin" is none: it stands for the kernels that every device has. */
typedef enum tdmi_blas_id {
#define TDMI_BLAS_ID(name) TDMI_BLAS_##name,
    TDMI_BLAS_LIST(TDMI_BLAS_ID)
#undef TDMI_BLAS_ID
        TDMI_BLAS_COUNT,
#define TDMI_BLAS_ONE(name) +1
    TDMI_HOST_BLAS_COUNT = TDMI_HOST_BLAS_LIST(TDMI_BLAS_ONE),
#undef TDMI_BLAS_ONE
    TDMI_BLAS_builtin = TDMI_BLAS_COUNT
} tdmi_blas_id;

#endif

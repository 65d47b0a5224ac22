/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/** @file
 * The folder of compiled kernels: TANDEM_CACHE_DIR, else $XDG_CACHE_HOME/tandem, else
 * ~/.cache/tandem. It also holds what tdm_matmul_tune and tdm_rows_tune measured: for each device an entry "tuned
 * products" and an entry "tuned rows", and one for a library's settings. No program needs this header: kernels are kept
 * and found again without it, corrupt ones are built again, and nothing is ever removed for its age. It is for
 * inspecting the folder and tidying it up.
 *
 * Threads: any. Other processes may use the folder meanwhile: a kernel that is removed while they
 * need it is compiled again. */
#ifndef TANDEM_CACHE_H
#define TANDEM_CACHE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <tandem/status.h>

#if defined(__cplusplus)
extern "C" {
#endif

/** A file of the folder that holds a kernel or what was measured, or should; or what a process that was killed left of
 * a C compiler's work, a folder. A text is "" where the file does not have it. */
typedef struct tdm_cache_entry {
    char file[80];     /**< its name in the folder */
    char fault[96];    /**< why it will not be used, "" for a good one */
    char version[32];  /**< of the Tandem that kept it */
    char backend[16];  /**< "opencl", "cuda" */
    char device[512];  /**< its device and driver; a kernel of CUDA: architecture and NVRTC */
    char kernel[64];   /**< "tdm_layer_norm"; "tuned products" or "tuned rows" */
    char options[192]; /**< of its compilation: dtype, lanes, activation */
    uint64_t size;     /**< bytes of the file */
    uint64_t age;      /**< seconds since it was written */
} tdm_cache_entry;

/** The entries of the folder, as they were when the listing was made. */
typedef struct tdm_cache_listing tdm_cache_listing;

/** Reads every entry whole and checks it. A folder that does not exist is empty.
 * TDM_ERROR_UNAVAILABLE when there is no such folder of this user alone, which is then not used for
 * kernels either. *listing is NULL on failure. */
TDM_API TDM_MUST_USE tdm_status tdm_cache_listing_create(tdm_cache_listing **listing);

/** Frees the listing and its entries. NULL is allowed. */
TDM_API void tdm_cache_listing_destroy(tdm_cache_listing *listing);

/** How many entries. NULL has none. */
TDM_API size_t tdm_cache_listing_get_count(const tdm_cache_listing *listing);

/** The index-th entry, the oldest first; borrowed from the listing. TDM_ERROR_OUT_OF_RANGE past the
 * end. */
TDM_API TDM_MUST_USE tdm_status tdm_cache_listing_get_item(const tdm_cache_listing *listing,
                                                           size_t index,
                                                           const tdm_cache_entry **entry);

/** Would this Tandem use the entry on a device that is listed now, or may it on one that TANDEM_BACKEND hides? False
 * for entries that are faulty, and for those that another Tandem, driver or device left.
 * Lists the devices if that was not done yet. */
TDM_API TDM_MUST_USE tdm_status tdm_cache_is_current(const tdm_cache_entry *entry, bool *current);

/** Removes an entry from the folder. One that is not there any more is no failure;
 * TDM_ERROR_INVALID_ARGUMENT for a name that is no entry's. */
TDM_API TDM_MUST_USE tdm_status tdm_cache_remove(const char *file);

#if defined(__cplusplus)
}
#endif
#endif

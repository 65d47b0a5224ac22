/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* How files are read and written: the caller's options. Also built without files. */

#include "base/sized.h"
#include "file_job.h"

TDMI_SIZED(tdm_file_options, TDM_FILE_OPTIONS_DEFAULTS, user)

tdm_status tdmi_file_options_read(const char *function, const tdm_file_options *given,
                                  tdm_file_options *own) {
    *own = tdm_file_options_defaults;
    return given ? tdmi_sized_read(function, "options", &tdm_file_options_sized, given, own)
                 : TDM_OK;
}

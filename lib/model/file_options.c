/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* How files are read and written: the caller's options. Also built without files. */
#include <stddef.h>

#include "file_job.h"
#include "sized.h"

static const tdmi_sized options_type = {
    .type = "tdm_file_options",
    .initialiser = "TDM_FILE_OPTIONS_DEFAULTS",
    .first = offsetof(tdm_file_options, user) + sizeof(void *),
    .size = sizeof(tdm_file_options),
};
static const tdm_file_options defaults = TDM_FILE_OPTIONS_DEFAULTS;

void tdm_file_options_init(tdm_file_options *options, size_t size) {
    tdmi_sized_init(&options_type, &defaults, options, size);
}

tdm_status tdmi_file_options_read(const char *function, const tdm_file_options *given,
                                  tdm_file_options *own) {
    *own = defaults;
    return given ? tdmi_sized_read(function, "options", &options_type, given, own) : TDM_OK;
}

/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* Lines for the log that a program may ask for (tandem/setup.h). */
#ifndef TDMI_LOG_H
#define TDMI_LOG_H

#include <tandem/setup.h>

/* One line. */
void tdmi_log(tdm_log_level level, const char *format, ...) __attribute__((format(printf, 2, 3)));

#endif

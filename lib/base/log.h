/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* Lines for the log that a program may ask for (tandem/setup.h). */
#ifndef TDMI_LOG_H
#define TDMI_LOG_H

#include <stdbool.h>

#include <tandem/setup.h>

/* Whether lines of the level are wanted: where they are made on a path that runs at every call. */
bool tdmi_logs(tdm_log_level level);

/* Lines up to the level go to the file, or stderr (NULL), from now on, unless the program has called tdm_set_log. False
 * with errno where the file cannot be opened. */
bool tdmi_log_to(tdm_log_level level, const char *path);

/* One line. */
void tdmi_log(tdm_log_level level, const char *format, ...) __attribute__((format(printf, 2, 3)));

#endif

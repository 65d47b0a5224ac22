/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* Shared by all parts of the program. */
#ifndef SENTENCES_COMMON_H
#define SENTENCES_COMMON_H

#include <stdbool.h>
#include <stddef.h>

#include <tandem/tandem.h>

/* Writes a line on stderr, "sentences: " and the message, and returns false. */
#if defined(__GNUC__)
__attribute__((format(printf, 1, 2)))
#endif
bool fail(const char *format, ...);

/* Was the call successful? If not, what Tandem says of it has been written on stderr. */
bool ok(tdm_status status);

/* Passes on the status of a call that failed. */
#define TRY(call)                                                                                  \
    do {                                                                                           \
        const tdm_status try_status = (call);                                                      \
        if (try_status != TDM_OK) return try_status;                                               \
    } while (0)

/* The whole file ("-": standard input) and a 0 after it; the caller frees it. NULL after a line on stderr. */
char *read_file(const char *path, size_t *size);

/* Seconds since some moment. */
double seconds_now(void);

#endif

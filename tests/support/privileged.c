/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* Makes a program believe that it has more rights than its caller: linked into a second probe,
 * whose answers come before the C library's. */
#include <elf.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/auxv.h>
#include <unistd.h>

#define EXPORTED __attribute__((visibility("default")))

EXPORTED unsigned long getauxval(unsigned long type) {
    unsigned long pair[2], value = 0;
    if (type == AT_SECURE) return 1;
    int file = open("/proc/self/auxv", O_RDONLY | O_CLOEXEC);
    while (file >= 0 && read(file, pair, sizeof pair) == (ssize_t)sizeof pair && pair[0] != AT_NULL)
        if (pair[0] == type) value = pair[1];
    if (file >= 0) close(file);
    return value;
}

EXPORTED char *secure_getenv(const char *name) {
    (void)name;
    return NULL;
}

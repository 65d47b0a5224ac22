/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* A library that reports when it is opened: a privileged program must not open a library of its caller's. */
#include <unistd.h>

__attribute__((constructor)) static void say(void) {
    static const char text[] = "EVIL\n";
    (void)!write(STDOUT_FILENO, text, sizeof text - 1);
}

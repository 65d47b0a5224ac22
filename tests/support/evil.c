/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* A library that says when it is opened: what nobody should open for somebody else. */
#include <unistd.h>

__attribute__((constructor)) static void say(void) {
    static const char text[] = "EVIL\n";
    (void)!write(STDOUT_FILENO, text, sizeof text - 1);
}

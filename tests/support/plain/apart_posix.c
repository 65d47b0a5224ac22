/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "apart.h"

int plain_run_apart(int (*run)(const plain_test *test), const plain_test *test) {
    fflush(NULL);
    pid_t child = fork();
    if (child == 0) exit(run(test));
    int status = 0;
    if (child < 0 || waitpid(child, &status, 0) != child) return -1;
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

_Noreturn void plain_end_process(int status) { _exit(status); }

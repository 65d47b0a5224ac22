/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* Python, which measures other libraries, is not run on Windows. */
#include "machine/child.h"

static void refuse(const char *program, char *why) {
    snprintf(why, BENCH_CHILD_WHY_SIZE, "%s is not run on Windows", program);
}

char *bench_run_child(const char *const *arguments, char *why) {
    refuse(arguments[0], why);
    return NULL;
}

bool bench_server_start(bench_server *server, const char *const *arguments, char *why) {
    *server = (bench_server){0};
    refuse(arguments[0], why);
    return false;
}

char *bench_server_ask(bench_server *server, const char *program, const char *request,
                       double seconds, char *why) {
    (void)server, (void)request, (void)seconds;
    refuse(program, why);
    return NULL;
}

void bench_server_end(bench_server *server) { (void)server; }

/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
#include "base/threads.h"

#include <signal.h>

/* A fault of the thread's own is delivered to it alone: blocked, it would end the process past
 * the handler that a program has for it. */
static const int faults[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGSYS};

bool tdmi_thread_start(pthread_t *thread, void *(*run)(void *), void *context) {
    pthread_attr_t attributes;
    pthread_t unjoined;
    sigset_t blocked, before;
    if (pthread_attr_init(&attributes) != 0) return false;
    (void)pthread_attr_setdetachstate(&attributes,
                                      thread ? PTHREAD_CREATE_JOINABLE : PTHREAD_CREATE_DETACHED);
    sigfillset(&blocked);
    for (unsigned i = 0; i < sizeof faults / sizeof *faults; i++)
        sigdelset(&blocked, faults[i]);
    /* A thread begins with the mask of the one that makes it. */
    bool masked = pthread_sigmask(SIG_BLOCK, &blocked, &before) == 0;
    bool made =
        masked && pthread_create(thread ? thread : &unjoined, &attributes, run, context) == 0;
    if (masked) (void)pthread_sigmask(SIG_SETMASK, &before, NULL);
    pthread_attr_destroy(&attributes);
    return made;
}

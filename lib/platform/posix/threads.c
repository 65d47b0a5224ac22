/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* Making threads; system_threads.h has what is inline. */
#define _GNU_SOURCE
#include "platform/threads.h"

#include <sched.h>
#include <signal.h>

bool tdmi_key_create(tdmi_key *key, void (*destroy)(void *pointer)) {
    return pthread_key_create(key, destroy) == 0;
}

/* A fault of the thread's own is delivered to it alone: blocked, it would end the process past
 * the handler that a program has for it. */
static const int faults[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGSYS};

bool tdmi_thread_start(tdmi_thread *thread, void *(*run)(void *context), void *context) {
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

void tdmi_thread_join(tdmi_thread thread) { (void)pthread_join(thread, NULL); }

void tdmi_thread_yield(void) { (void)sched_yield(); }

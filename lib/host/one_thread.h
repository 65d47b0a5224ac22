/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* Holding a library to the calling thread, by settings that each thread has for itself. */
#ifndef TDMI_ONE_THREAD_H
#define TDMI_ONE_THREAD_H

/* Of OpenMP, or of MKL; NULL where the library has none of them. */
typedef struct tdmi_one_thread {
    int (*get)(void);
    void (*set)(int);
    int (*exchange)(int); /* sets, and returns what was set before */
} tdmi_one_thread;

/* Returns what tdmi_one_thread_end puts back. */
static inline int tdmi_one_thread_begin(const tdmi_one_thread *threads) {
    if (threads->exchange) return threads->exchange(1);
    if (!threads->get || !threads->set) return 1;
    const int before = threads->get();
    if (before != 1) threads->set(1);
    return before;
}

static inline void tdmi_one_thread_end(const tdmi_one_thread *threads, int before) {
    if (threads->exchange)
        (void)threads->exchange(before);
    else if (before != 1)
        threads->set(before);
}

#endif

/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* For a profile (TANDEM_PROFILE): when the device of a queue ran what it was given. */
#ifndef TDMI_TIMELINE_H
#define TDMI_TIMELINE_H

#include "core.h"

/* Of a queue that measures time. NULL when memory is short: the profile then lacks what the device did. */
tdmi_timeline *tdmi_timeline_make(const tdm_queue *queue);

/* Writes what is over, and frees the events. The queue is not destroyed yet. */
void tdmi_timeline_end(tdm_queue *queue);

/* Writes the spans of work that is over by now. Any thread. */
void tdmi_timeline_write(tdm_queue *queue);

/* A span of the device's begins and ends with what the queue is given in between; it has the name and the arguments of
 * the thread's innermost span. NULL where there is none: in the replay of a graph, which is one span. */
tdmi_timed *tdmi_timed_begin(tdm_queue *queue);
void tdmi_timed_end(tdmi_timed *const *timed);

/* A span of this thread to the end of the block, and one of the device's, of which queue is. */
#define TDMI_WORK_SPAN(queue, category, name, ...)                                                 \
    TDMI_SPAN(category, name, __VA_ARGS__);                                                        \
    __attribute__((cleanup(tdmi_timed_end), unused)) tdmi_timed *const tdmi_timed_ =               \
        (queue)->timeline ? tdmi_timed_begin(queue) : NULL

#endif

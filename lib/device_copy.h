/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* Copies between two devices, of any backends. */
#ifndef TDMI_DEVICE_COPY_H
#define TDMI_DEVICE_COPY_H

#include "core.h"

/* The route from one device to another, for any number of copies. Its queues and pinned memory are made when it is
 * opened or first used. One thread at a time. */
typedef struct tdmi_route {
    tdm_queue *from, *to; /* of the source's and of the destination's device; NULL: not needed */
    bool owns_from, owns_to;
    struct tdmi_cargo *cargo;   /* the memory that the copies use */
    int turn;                   /* which of them is next */
    uint64_t queued;            /* bytes on their way */
    atomic_uint_fast64_t *done; /* bytes that have arrived are added here; or NULL */
} tdmi_route;

/* `queue` is of either device, or NULL; its earlier work is seen. */
tdm_status tdmi_route_open(tdmi_route *route, tdm_queue *queue, tdm_device *source,
                           tdm_device *destination, atomic_uint_fast64_t *done) TDM_MUST_USE;

/* Queues a copy, or does it: it has ended after tdmi_route_close. The ranges have been checked, size
 * > 0. */
tdm_status tdmi_route_copy(tdmi_route *route, const tdm_buffer *source, size_t source_offset,
                           const tdm_buffer *destination, size_t destination_offset,
                           size_t size) TDM_MUST_USE;

/* Waits for the copies, frees what the route holds and returns the first failure: `status` when that
 * is one. */
tdm_status tdmi_route_close(tdmi_route *route, tdm_status status) TDM_MUST_USE;

#endif

/* What Tandem holds on the devices, told by each process to the others of the same user, so that
 * `tandem devices` can show what every process holds.
 *
 * A process that has a device open keeps a file <cache directory>/held/<pid>, mapped and shared:
 * who it is (pid, start time, boot and pid namespace), and for each of its first 64 listed devices
 * the bytes its pool has taken from the driver. The pool writes them with one relaxed addition, and
 * only when it talks to the driver anyway. The file goes when the last device is closed; that of a
 * process that ended otherwise is removed by the next reader, which knows it by the pid that is
 * gone or has another start time. Files of another machine, of a container that shares the
 * directory, or that are not whole, are left alone (after a month they go). Where no file can be
 * made, the process still tells its own numbers, to itself.
 *
 * Ids differ in meaning between processes with different environments, so that devices are matched
 * by a key: backend, then UUID, else PCI address, else name, then which one of several devices with
 * the same of these it is ("opencl|GPU-8e2a…|0", "cpu|Intel …|1").
 *
 * Any thread. Nothing here is called in a forked child. */
#ifndef TDMI_HELD_H
#define TDMI_HELD_H

#include <stdatomic.h>

#include "registry.h"

/* Bytes held on one device; in the file of this process. */
typedef atomic_uint_fast64_t tdmi_held;

/* A process that has the device open, and what it holds there. */
typedef struct tdmi_holder {
    uint64_t pid, bytes;
} tdmi_holder;

/* Tells that this process opens the index-th listed device. NULL past the 64th device: what is
 * opened there is not told. */
tdmi_held *tdmi_held_open(const tdmi_listed_device *devices, size_t index);

/* Tells that it has closed it: once for each open, when nothing is held any more. */
void tdmi_held_close(size_t index);

/* Every process that has the index-th device open, this one among them, in no order. *holders is
 * the caller's to free, NULL for none. */
size_t tdmi_held_list(const tdmi_listed_device *devices, size_t index, tdmi_holder **holders);

#endif

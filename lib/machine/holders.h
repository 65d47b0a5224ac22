/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* The memory that each process holds on the devices, reported to the other processes of the same user, so that `tdm
 * devices` can show it.
 *
 * A process that has a device open keeps a file <cache directory>/holders/<pid>: who it is (pid, start
 * time, boot and pid namespace), and for each of its first 64 listed devices the bytes its pool has
 * taken from the driver. A second copy of the library in the process has <pid>.1, and so on. The
 * pool reports them when it calls the driver, which takes longer than the write; nothing is
 * mapped, so that a file that is cut short does no harm. The file goes when the last device
 * is closed; that of a process that ended otherwise is removed by the next one that opens a device
 * or reads them all, which knows it by the pid that is gone or has another start time or stack (an
 * exec). Files of another machine, of a container that shares the directory, or that are not whole,
 * are left alone (after a month they go). Where no file can be made, the process still reports its
 * own numbers, to itself.
 *
 * Ids differ in meaning between processes with different environments, so that devices are matched
 * by a key: backend, then UUID, else PCI address, else name, then which one of several devices with
 * the same of these it is ("opencl|GPU-8e2a…|0", "cpu|Intel …|1").
 *
 * Any thread. Nothing here is called in a forked child. */
#ifndef TDMI_HOLDERS_H
#define TDMI_HOLDERS_H

#include "backend.h"

/* The memory that this process holds on one device. */
typedef struct tdmi_holding tdmi_holding;

/* A process that has the device open, and what it holds there. */
typedef struct tdmi_holder {
    uint64_t pid, bytes;
} tdmi_holder;

/* Reports that this process opens the index-th listed device. NULL past the 64th device: what is
 * opened there is not reported. */
tdmi_holding *tdmi_holding_open(const tdmi_listed_device *devices, size_t index);

/* Reports that `bytes` more are held, or fewer: the negative number modulo 2^64. NULL is
 * allowed and reports nothing. Devices that are open twice (one of them being closed) add up. */
void tdmi_holding_add(tdmi_holding *holding, uint64_t bytes);

/* Reports that it has closed it: once for each open, when nothing is held any more. */
void tdmi_holding_close(size_t index);

/* Every process that has the index-th device open, this one among them, in no order. *holders is
 * the caller's to free, NULL for none. */
size_t tdmi_holders_list(const tdmi_listed_device *devices, size_t index, tdmi_holder **holders);

#endif

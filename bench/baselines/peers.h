/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* Times of other libraries in rows, where a Python that has them was given. */
#ifndef BENCH_PEERS_H
#define BENCH_PEERS_H

#include <stdbool.h>

#include "baselines/baseline.h"
#include "rows/peer_list.h"

/* Which of them this Python has, or whether it has PyTorch, of PyTorch alone. None: why (of 256 bytes) has its
 * answer. */
bool bench_find_peers(const char *python, bool pytorch_alone, bool has[BENCH_PEERS], char *why);

/* name: version, of those that were found. */
json_t *bench_describe_peers(void);

/* Seconds of the work, as peers.py names it, with as many threads as the device has cores, or on the card that the
 * device is. A process for each library has all rows. NaN with a why of "" where the library has no such work, else
 * with why it failed. */
double bench_time_peer(const char *python, bench_peer peer, const bench_request *request,
                       const char *work, char *why);

/* Ends the processes. */
void bench_end_peers(void);

#endif

/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* A transport between threads of one process, each of which is a rank. */
#ifndef TESTS_COMM_LOCAL_H
#define TESTS_COMM_LOCAL_H

#include <tandem/transport.h>

/* Shared by the ranks of a communicator. */
typedef struct local_group local_group;

/* A group of so many; the seconds that each message of one byte or more than `small` takes. It lives until the last of
 * its ranks' transports is destroyed. */
local_group *local_group_make(int ranks, double seconds, size_t small);

/* A rank's end, to be given to tdm_comm_create. */
tdm_transport local_transport(local_group *group, int rank);

enum { LOCAL_HEADERS, LOCAL_DATA, LOCAL_NOTES, LOCAL_PAIRS }; /* the uses of the channels */

/* How this thread's ends behave, and their counts. */
typedef struct local_record {
    unsigned no_sends, no_receives; /* bit i: those of channel i fail when they begin */
    int lost;                       /* a rank: headers to it are lost, their tests fail; 0: none */
    bool keeps;                     /* abandoned messages stay, and are yet written */
    int open;                       /* messages that have begun, and have not come to an end */
    int whole, broken;              /* ends that were destroyed so */
} local_record;
#ifdef __cplusplus
extern thread_local local_record local;
#else
extern _Thread_local local_record local;
#endif

double local_now(void);

#endif

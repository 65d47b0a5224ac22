/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* Giving up a message, which both the code that waits and the code that reports faults do. */
#include "comm.h"

bool tdmi_comm_drop(tdm_comm *comm, tdmi_message *message) {
    bool in_use = false;
    if (message->active) comm->transport.abandon(comm->transport.state, &message->message, &in_use);
    message->active = false;
    comm->kept = comm->kept || in_use;
    return in_use;
}

/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/* A message, given up: below those who wait and those who tell of faults, which both do so. */
#include "comm.h"

bool tdmi_comm_drop(tdm_comm *comm, tdmi_message *message) {
    bool in_use = false;
    if (message->active) comm->transport.abandon(comm->transport.state, &message->message, &in_use);
    message->active = false;
    return in_use;
}

/* Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0 */
/** @file
 * The transport of a communicator: messages of bytes between ranks. libtandem-mpi is one; a program may have its own.
 * tandem.h does not include this header.
 *
 * The collectives of comm.h are made of these messages, and the time limits, the checks and the order of additions
 * are the library's. A transport moves bytes and reports what failed.
 *
 * Order: of messages from one rank to another on one channel, the first that is sent meets the first that is
 * received. Channels are independent, 0 to TDM_TRANSPORT_CHANNELS - 1. A send may wait for its receive.
 *
 * No function is called in a forked child.
 *
 * Threads: the library calls the functions of one communicator from one thread at a time, not always the
 * same. Whether different communicators may be used in parallel is the transport's to say to the program. */
#ifndef TANDEM_TRANSPORT_H
#define TANDEM_TRANSPORT_H

#include <tandem/comm.h>

#if defined(__cplusplus)
extern "C" {
#endif

enum { TDM_TRANSPORT_CHANNELS = 4 };

/** A send or receive under way. The library owns the struct, the transport what is in it. */
typedef struct tdm_message {
    void *handle[4]; /**< the transport's */
} tdm_message;

/** A transport, as seen by one rank. Every function but destroy returns TDM_OK or another status: the library
 * then takes what tdm_transport_fail was given as the reason. Begins with its size: see status.h. */
typedef struct tdm_transport {
    size_t size; /**< sizeof(tdm_transport) */
    void *state; /**< given to each function */
    int rank;    /**< this process */
    int ranks;   /**< how many there are, at least 1 */

    /** Begins to send. `bytes` stay as they are until the message is done. to: any other rank. */
    tdm_status (*send)(void *state, int to, int channel, const void *bytes, size_t size,
                       tdm_message *message);
    /** Begins to receive `size` bytes, at least 1. A message of another size, which only a rank that calls something
     * else sends, fails the receive, or is reported by *received, or the receive is never done. It writes nothing past
     * `size` bytes. from: any other rank. */
    tdm_status (*receive)(void *state, int from, int channel, void *bytes, size_t size,
                          tdm_message *message);
    /** Makes progress, without waiting, and reports whether the message is done; of a receive, *received how large it
     * was. A message that is done is not used again; one whose test failed is abandoned. *failed, -1 before, is the
     * rank that is known to have ended, if the transport can tell. */
    tdm_status (*test)(void *state, tdm_message *message, bool *done, size_t *received,
                       int *failed);
    /** Gives up a message that is not done: after a fault, or when its test failed. If the transport may still read or
     * write its bytes afterwards, *in_use is true, and the library keeps them for ever. */
    void (*abandon)(void *state, tdm_message *message, bool *in_use);
    /** Collective, as tdm_comm_split: *part is filled with a separate transport. color is not negative: ranks that
     * take no part give -1, and get a part with ranks 0. */
    tdm_status (*split)(void *state, int color, int key, struct tdm_transport *part);
    /** Frees the state. Not collective. broken: after a fault, so that messages may still be on their way to this rank,
     * which must not become those of another communicator. */
    void (*destroy)(void *state, bool broken);
    /** Whether send and receive also take addresses in the memory of CUDA devices. The device is then current in the
     * calling thread, and nothing on it uses the bytes any more that are sent or received. */
    bool device_memory;
} tdm_transport;

/** Sets what tdm_last_error returns, for a transport: one sentence, without a full stop. Returns status. */
TDM_API tdm_status tdm_transport_fail(tdm_status status, const char *sentence);

/** A communicator over a transport, on a device, to which it takes a reference. Not collective. On success the
 * communicator owns transport->state and destroys it in the end; on failure the caller still does, and *comm is
 * NULL. */
TDM_API TDM_MUST_USE tdm_status tdm_comm_create(const tdm_transport *transport, tdm_device *device,
                                                tdm_comm **comm);

#if defined(__cplusplus)
}
#endif
#endif

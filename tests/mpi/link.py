# Copyright The Tandem authors. SPDX-License-Identifier: Apache-2.0
"""A switch between network interfaces that delays each frame and loses some, where the kernel has no netem.

Usage: link.py MILLISECONDS PERCENT SEED INTERFACE...   (the seed of what is lost)
"""

import heapq
import random
import selectors
import socket
import sys
import time

SOL_PACKET, PACKET_VNET_HDR = 263, 15  # of Linux's headers, which Python does not name
HEADER = 10  # bytes before a frame that say which of the kernel's offloads it still needs


def main() -> None:
    delay, loss, seed = float(sys.argv[1]) / 1e3, float(sys.argv[2]) / 100, int(sys.argv[3])
    chance = random.Random(seed)
    ready = selectors.DefaultSelector()
    ports = []
    for name in sys.argv[4:]:
        port = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, 0)
        port.setsockopt(SOL_PACKET, PACKET_VNET_HDR, 1)
        port.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 8 << 20)
        port.bind((name, 3))  # ETH_P_ALL
        port.setblocking(False)
        ready.register(port, selectors.EVENT_READ)
        ports.append(port)
    place = {}  # of a station's address: its port
    late = []  # (time, number, frame, ports), the first to send at [0]
    number = 0
    print("ready", flush=True)
    while True:
        wait = max(0.0, late[0][0] - time.monotonic()) if late else None
        for key, _ in ready.select(wait):
            port = key.fileobj
            for _ in range(64):
                try:
                    frame, (_, _, kind, _, _) = port.recvfrom(1 << 17)
                except OSError:  # there is no more, or the link is down
                    break
                if kind == socket.PACKET_OUTGOING:  # sent by this socket
                    continue
                to, origin = frame[HEADER:HEADER + 6], frame[HEADER + 6:HEADER + 12]
                place[origin] = port
                if chance.random() < loss:
                    continue
                out = [place[to]] if to in place else [other for other in ports if other is not port]
                number += 1
                heapq.heappush(late, (time.monotonic() + delay, number, frame, out))
        now = time.monotonic()
        while late and late[0][0] <= now:
            _, _, frame, out = heapq.heappop(late)
            for port in out:
                try:
                    port.send(frame)
                except OSError:  # lost: the link is down, or its queue is full
                    pass


main()

#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Foreign traffic on a lab: UDP at a given rate, from one host to another on the next leaf.

    background.py ADDRESS BITS_PER_S        sends until it is ended

Ranks of a second job would take the processors from the first one; a paced sender takes the links
alone (Kandalla, Subramoni, Panda 2010, section 5, had foreign ranks exchange between switches only).
"""
import socket
import sys
import time

PORT = 9  # discard
DATAGRAM_BYTES = 1400
WIRE_BYTES = DATAGRAM_BYTES + 42  # IP, UDP, Ethernet
BURST_SECONDS = 0.01


def send(address, bits_per_s):
    """In bursts that a switch's queue holds; who has slept too long sends no more for it."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as out:
        out.connect((address, PORT))
        payload = bytes(DATAGRAM_BYTES)
        owed, before = 0.0, time.monotonic()
        while True:
            time.sleep(BURST_SECONDS)
            now = time.monotonic()
            owed += min(now - before, 3 * BURST_SECONDS) * bits_per_s / 8 / WIRE_BYTES
            before = now
            while owed >= 1:
                owed -= 1
                try:
                    out.send(payload)
                except OSError:
                    pass  # nobody listens there, which comes back as an error now and then


if __name__ == "__main__":
    send(sys.argv[1], int(sys.argv[2]))

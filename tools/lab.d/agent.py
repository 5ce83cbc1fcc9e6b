# SPDX-License-Identifier: BSD-3-Clause
"""What a launcher starts in place of ssh: agent.py SOCKET [ssh options] HOST COMMAND...

A host cannot enter another one (its process numbers are its own), so the command, with this
process's standard streams, goes to `tools/lab run`, which can.
"""
import json
import socket
import sys

# Options of ssh that have a value.
PAIRS = "bcDEeFIiJLlmOopQRSWw"
SSH_FAILED = 255


def parse(words):
    """(host, command) as ssh reads them."""
    while words and words[0].startswith("-"):
        option = words.pop(0)
        if option == "--":
            break
        if len(option) == 2 and option[1] in PAIRS and words:
            words.pop(0)
    if len(words) < 2:
        return None, None
    return words[0].rsplit("@", 1)[-1], " ".join(words[1:])


def main():
    place, words = sys.argv[1], sys.argv[2:]
    host, command = parse(words)
    if host is None:
        print("lab: the launcher names no host and command", file=sys.stderr)
        return SSH_FAILED
    try:
        with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as line:
            line.connect(place)
            socket.send_fds(line, [json.dumps({"host": host, "command": command}).encode()],
                            [0, 1, 2])
            answer = line.recv(64)
    except OSError as error:
        print(f"lab: the run has ended ({error.strerror})", file=sys.stderr)
        return SSH_FAILED
    return int(answer) if answer else SSH_FAILED


if __name__ == "__main__":
    sys.exit(main())

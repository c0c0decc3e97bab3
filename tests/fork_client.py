"""Ask the server of forks: ``python -I -S fork_client.py DOOR MODULE [ARGUMENT...]`` is ``python -m MODULE`` in a fork.

It imports next to nothing, and stands for the fork: it has its streams, hands on Ctrl-C and ``kill``, and ends with its
status. Only ``kill -9`` ends it alone.
"""

from __future__ import annotations

import json
import os
import signal
import socket
import struct
import sys
from collections.abc import Mapping, Sequence


def ask(
    door: str, line: Sequence[str], cwd: str, environment: Mapping[str, str], streams: Sequence[int]
) -> socket.socket:
    """Begin ``python -m`` *line* with *streams* for its input, output and errors.

    The connection says its process id, and at its end its status and how many microseconds of CPU it took.
    """
    connection = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    connection.connect(door)
    request = json.dumps({"line": [*line], "cwd": cwd, "environment": dict(environment)})
    socket.send_fds(connection, [request.encode()], streams)
    return connection


def numbers_from(connection: socket.socket) -> tuple[int, ...]:
    """Receive what :func:`send_numbers` sent."""
    data = connection.recv(1024)
    assert data, "the server of forks has ended: see its traceback above"
    return struct.unpack(f"{len(data) // 8}q", data)


def send_numbers(connection: socket.socket, *numbers: int) -> None:
    """Send numbers, all at once."""
    connection.send(struct.pack(f"{len(numbers)}q", *numbers))


def main() -> int:
    """Stand for the fork; its status, as shells have it."""
    door, *line = sys.argv[1:]
    with ask(door, line, os.getcwd(), os.environ, (0, 1, 2)) as connection:  # noqa: PTH109 - pathlib takes long to import
        (pid,) = numbers_from(connection)
        for number in (signal.SIGINT, signal.SIGTERM):
            if signal.getsignal(number) is not signal.SIG_IGN:
                signal.signal(number, lambda number, _: os.kill(pid, number))
        status, _ = numbers_from(connection)
    return status if status >= 0 else 128 - status


if __name__ == "__main__":
    sys.exit(main())

"""Ask the server of forks: ``python -I -S fork_client.py DOOR MODULE [ARGUMENT...]`` is ``python -m MODULE`` in a fork.

It imports next to nothing, and stands for the fork: it has its streams, hands on Ctrl-C and ``kill``, and ends with its
status. Only ``kill -9`` ends it alone.
"""

from __future__ import annotations

import json
import os
import signal
import socket
import sys
from collections.abc import Mapping, Sequence

_ENDED = 8  # bytes of a number


def ask(
    door: str, line: Sequence[str], cwd: str, environment: Mapping[str, str], streams: Sequence[int]
) -> socket.socket:
    """Begin ``python -m`` *line* with *streams* for input, output and errors; hear its process id, then its status."""
    connection = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    connection.connect(door)
    request = json.dumps({"line": [*line], "cwd": cwd, "environment": dict(environment)})
    socket.send_fds(connection, [request.encode()], streams)
    return connection


def number_from(connection: socket.socket) -> int:
    """Receive a process id, or a status."""
    data = connection.recv(_ENDED)
    assert data, "the server of forks has ended: see its traceback above"
    return int.from_bytes(data, "little", signed=True)


def send_number(connection: socket.socket, number: int) -> None:
    """Send a process id, or a status."""
    connection.send(number.to_bytes(_ENDED, "little", signed=True))


def main() -> int:
    """Stand for the fork; its status, as shells have it."""
    door, *line = sys.argv[1:]
    with ask(door, line, os.getcwd(), os.environ, (0, 1, 2)) as connection:  # noqa: PTH109 - pathlib takes long to import
        pid = number_from(connection)
        for number in (signal.SIGINT, signal.SIGTERM):
            if signal.getsignal(number) is not signal.SIG_IGN:
                signal.signal(number, lambda number, _: os.kill(pid, number))
        status = number_from(connection)
    return status if status >= 0 else 128 - status


if __name__ == "__main__":
    sys.exit(main())

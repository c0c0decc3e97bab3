"""Client of the fork server: ``python -I -S fork_client.py DOOR MODULE [ARGUMENT...]``: ``python -m MODULE`` in a fork.

It imports hardly anything, and represents the fork: it shares its streams, passes on Ctrl-C and ``kill``, and ends with
its status. Only ``kill -9`` ends the client alone.
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
    """Start ``python -m`` *line* with *streams* for its input, output and errors.

    The connection sends its process id, and at the end its status and its microseconds of CPU time.
    """
    connection = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    connection.connect(door)
    request = json.dumps({"line": [*line], "cwd": cwd, "environment": dict(environment)})
    socket.send_fds(connection, [request.encode()], streams)
    return connection


def numbers_from(connection: socket.socket) -> tuple[int, ...]:
    """Receive the output of :func:`send_numbers`."""
    data = connection.recv(1024)
    assert data, "the server of forks has ended: see its traceback above"
    return struct.unpack(f"{len(data) // 8}q", data)


def send_numbers(connection: socket.socket, *numbers: int) -> None:
    """Send numbers, all at once."""
    connection.send(struct.pack(f"{len(numbers)}q", *numbers))


def pass_on(pid: int, number: int) -> None:
    """Send a signal to the fork; if it has just ended, its status is on its way."""
    try:  # noqa: SIM105 - importing contextlib is slow
        os.kill(pid, number)
    except ProcessLookupError:
        pass


def main() -> int:
    """Represent the fork; return its status, as shells give it."""
    door, *line = sys.argv[1:]
    with ask(door, line, os.getcwd(), os.environ, (0, 1, 2)) as connection:  # noqa: PTH109 - importing pathlib is slow
        (pid,) = numbers_from(connection)
        for number in (signal.SIGINT, signal.SIGTERM):
            if signal.getsignal(number) is not signal.SIG_IGN:
                signal.signal(number, lambda number, _: pass_on(pid, number))
        status, _ = numbers_from(connection)
        for number in (signal.SIGINT, signal.SIGTERM):  # too late for the fork, so they must not change its status
            signal.signal(number, signal.SIG_IGN)
    return status if status >= 0 else 128 - status


if __name__ == "__main__":
    sys.exit(main())

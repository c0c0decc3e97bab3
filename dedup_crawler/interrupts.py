"""Ctrl-C while a command is still being loaded: there is nothing to keep yet, so it ends at once.

An exception does not do there: Python drops one that is raised in a callback of its own import system, and some
libraries turn it into an ImportError.
"""

from __future__ import annotations

import os
import signal
from typing import NoReturn

INTERRUPTED = 130
"""Exit status after Ctrl-C, as shells have it."""


def end_at_once() -> None:
    """Let Ctrl-C end the process without a word, unless it is ignored or somebody else's."""
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, _end)


def interrupt_again() -> None:
    """Let Ctrl-C raise KeyboardInterrupt again, if it was :func:`end_at_once` that changed it."""
    if signal.getsignal(signal.SIGINT) is _end:
        signal.signal(signal.SIGINT, signal.default_int_handler)


def _end(signum: int, frame: object) -> NoReturn:
    os._exit(INTERRUPTED)

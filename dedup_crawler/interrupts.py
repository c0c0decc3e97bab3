"""Ctrl-C while a command is still being loaded ends the process at once, because there is nothing to keep yet.

KeyboardInterrupt is no help there: Python ignores it in callbacks of its import system, and some libraries turn it into
an ImportError.
"""

from __future__ import annotations

import os
import signal
from typing import NoReturn

INTERRUPTED = 130
"""Exit status after Ctrl-C, as in shells."""


def end_at_once() -> None:
    """Make Ctrl-C end the process silently, unless it is ignored or has another handler."""
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, _end)


def interrupt_again() -> None:
    """Make Ctrl-C raise KeyboardInterrupt again if :func:`end_at_once` changed it."""
    if signal.getsignal(signal.SIGINT) is _end:
        signal.signal(signal.SIGINT, signal.default_int_handler)


def _end(signum: int, frame: object) -> NoReturn:
    os._exit(INTERRUPTED)

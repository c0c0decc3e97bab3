"""The tree of all errors that this package raises on purpose.

DedupError
├── NotFittedError       (also ValueError)          a method was used before it was fitted
├── BadInputError        (also ValueError)          a value given by the user cannot be used
├── MissingExtraError    (also ImportError)         an optional dependency is not installed
├── StoreError           (also OSError)             the crawl database cannot be opened, read or written
│   ├── ForeignDatabaseError                        the file was written by another program
│   └── SchemaVersionError                          the file was written by another version of this one
├── SeenError            (also OSError)             a seen set cannot be opened or used
│   └── SeenUnavailableError                        it is unavailable at present; the crawl goes on
├── ModelError           (also OSError)             a model folder cannot be used
│   └── DamagedModelError                           a file is missing, altered or unreadable
├── EvidenceError        (also OSError)             the evidence file of a model cannot be read or written
└── ServeError           (also OSError)             a recorded site cannot be served

The command line prints such an error as one line on stderr and exits with status 1. Any other error is a bug and shows
its traceback. Ctrl-C while a command is still being loaded ends the process at once, because there is nothing to keep
yet. KeyboardInterrupt is no help there: Python ignores it in callbacks of its import system, and some libraries turn it
into an ImportError.
"""

from __future__ import annotations

import difflib
import os
import signal
from collections.abc import Iterable
from typing import NoReturn

INTERRUPTED = 130
"""Exit status after Ctrl-C, as in shells."""


def nearest(given: str, known: Iterable[str]) -> str | None:
    """Return the known name that *given* was probably meant to be, or None if none is similar."""
    close = difflib.get_close_matches(given, list(known), n=1)
    return close[0] if close else None


def did_you_mean(given: str, known: Iterable[str]) -> str:
    """Return the end of an error about an unknown name: the most similar name, or nothing.

    >>> did_you_mean("verfied", ["verified", "keep-all"]), did_you_mean("xyz", ["verified"])
    (" Did you mean 'verified'?", '')
    """
    name = nearest(given, known)
    return f" Did you mean {name!r}?" if name is not None else ""


class DedupError(Exception):
    """Error that the user can fix: the message names the problem, its place and the way out."""


class NotFittedError(DedupError, ValueError):
    """A method was asked for a canonical form before :meth:`fit` or :meth:`load`."""


class BadInputError(DedupError, ValueError):
    """A value given by the user (URL, option, file, column) cannot be used."""


class MissingExtraError(DedupError, ImportError):
    """An optional dependency is needed here and is not installed."""

    def __init__(self, feature: str, package: str, extra: str) -> None:
        super().__init__(f"{feature} needs {package}, which is not installed: pip install 'dedup-crawler[{extra}]'")


class StoreError(DedupError, OSError):
    """The crawl database cannot be opened, read or written; committed data is not lost."""


class ForeignDatabaseError(StoreError):
    """The database exists but was not written by this program; it was left untouched."""


class SchemaVersionError(StoreError):
    """The database was written by a version of this program whose tables differ; it was left untouched."""


class SeenError(DedupError, OSError):
    """The seen set cannot be opened or used."""


class SeenUnavailableError(SeenError):
    """The seen set is unavailable at present: nothing may be dropped."""


class ModelError(DedupError, OSError):
    """A model folder cannot be used."""


class DamagedModelError(ModelError):
    """A file of a model folder is missing, altered or unreadable: train again, or restore the folder."""


class EvidenceError(DedupError, OSError):
    """The evidence file of a model cannot be read or written; the model itself is intact."""


class ServeError(DedupError, OSError):
    """A recorded site cannot be served (no response in the recording, port taken)."""


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

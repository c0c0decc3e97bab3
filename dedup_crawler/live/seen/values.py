"""Who has a form, as one integer of 47 bits: the run that claimed it, the rules, the owner."""

from __future__ import annotations

N_RUNS = (1 << 15) - 1
"""Runs are numbered from 1 to this, and then again: SQLite stores 47 bits in 6 bytes."""

OWNER_MASK = 0xFFFF
"""The bits of a URL's tag that are kept of an owner: a seen form is to take little room."""


def pack(run: int, rules: int, owner: int) -> int:
    """The three as one integer; of *owner* the bits of :data:`OWNER_MASK`.

    >>> unpack(pack(3, 65535, 17))
    (3, 65535, 17)
    """
    return run << 32 | rules << 16 | owner & OWNER_MASK


def unpack(value: int) -> tuple[int, int, int]:
    """Run, rules and owner of a packed integer."""
    return value >> 32, value >> 16 & 0xFFFF, value & OWNER_MASK

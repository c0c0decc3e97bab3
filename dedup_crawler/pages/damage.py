"""What could not be read of an import: where it was, and why."""

from __future__ import annotations

from dataclasses import dataclass

_N_KEPT = 100


@dataclass(frozen=True, slots=True)
class DamagedRecord:
    """One place of a file that could not be read and was skipped."""

    path: str
    offset: int
    """Bytes from the start of the *uncompressed* file."""
    reason: str

    def __str__(self) -> str:
        return f"{self.path}, byte {self.offset}: {self.reason}"


class Damages:
    """Counts every damaged record, keeps the first 100."""

    def __init__(self) -> None:
        self.n = 0
        self.records: list[DamagedRecord] = []

    def add(self, path: str, offset: int, reason: str) -> None:
        """Note that the record at *offset* of *path* was skipped."""
        self.n += 1
        if len(self.records) < _N_KEPT:
            self.records.append(DamagedRecord(path, offset, reason))

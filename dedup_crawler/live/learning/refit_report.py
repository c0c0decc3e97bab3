"""Report of a background job to the crawl that started it."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field


@dataclass(slots=True)
class RefitReport:
    """Outcome for the models of a crawl."""

    n_pages: int
    """Number of pages that were learnt from."""
    learnt: list[str] = field(default_factory=list)
    """Folders with a new model."""
    kept: list[str] = field(default_factory=list)
    """Folders whose old model stays, because it was learnt from more pages."""
    refused: list[str] = field(default_factory=list)
    """One line for each old model that stays because the new one was refused."""

    def to_text(self) -> str:
        """Return the report as one line of JSON."""
        return json.dumps(asdict(self))

    @classmethod
    def from_text(cls, text: str) -> RefitReport:
        """Read what :meth:`to_text` wrote.

        Raises
        ------
        ValueError, TypeError
            If *text* is anything else.
        """
        return cls(**json.loads(text))

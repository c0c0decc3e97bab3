"""Report of a background job to the crawl that started it."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field


@dataclass(slots=True)
class RefitReport:
    """Outcome for the models of a crawl."""

    n_pages: int
    """Pages that were learnt from."""
    learnt: list[str] = field(default_factory=list)
    """Folders that hold a new model."""
    kept: list[str] = field(default_factory=list)
    """Folders whose model had been learnt from more pages, and stays."""
    refused: list[str] = field(default_factory=list)
    """A line for each model that stays because the new one was not to be trusted."""

    def to_text(self) -> str:
        """Return the report as one line of JSON."""
        return json.dumps(asdict(self))

    @classmethod
    def from_text(cls, text: str) -> RefitReport:
        """Read what :meth:`to_text` wrote.

        Raises
        ------
        ValueError, TypeError
            If it is something else.
        """
        return cls(**json.loads(text))

"""Rules as a plain table: a line each, its columns separated by tabs."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from dedup_crawler.rules.export.model_rules import Export

COLUMNS = ("rule", "groups", "wrong", "switched_off", "sentence")


def to_table(
    sentences: Mapping[str, str], evidence: Mapping[str, tuple[int, int]], switched_off: Collection[str] = ()
) -> Export:
    """Write every rule of a model of any method: its identifier, what was counted of it, and what it does."""
    lines = ["\t".join(COLUMNS)]
    for known, sentence in sentences.items():
        n_groups, n_wrong = evidence.get(known, (0, 0))
        cells = (known, str(n_groups), str(n_wrong), "yes" if known in switched_off else "", " ".join(sentence.split()))
        lines.append("\t".join(cells))
    return Export("\n".join(lines) + "\n", len(sentences))

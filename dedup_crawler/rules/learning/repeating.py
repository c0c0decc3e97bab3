"""Shapes of URLs that mostly repeat pages which other URLs show.

Nothing is dropped for that. A crawl that learns fetches such URLs last, when it knows most about them: until then a
rule may be believed that spares their fetches. So similar pages are enough here, where rules must be proved.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

from dedup_crawler.rules.language.site_rules import Shape
from dedup_crawler.rules.learning.belief import UNKNOWN

MIN_FORMS = 5
"""Smallest number of fetched forms of a shape that is judged."""
MAX_ALONE = 1 / 3
"""Largest share (0-1) of pages that no other shape shows, among the forms of a shape that repeats."""


def repeating_shapes(forms: Sequence[str], shapes: Sequence[Shape], alike: Sequence[int]) -> frozenset[Shape]:
    """Find the shapes that repeat, of most URLs first; a page that only repeating shapes show is no repetition.

    Parameters
    ----------
    forms, shapes, alike
        Canonical form and shape of each URL, and a number for pages that are probably the same; UNKNOWN for none.
    """
    forms_of: dict[Shape, set[str]] = defaultdict(set)
    pages_of: dict[Shape, set[int]] = defaultdict(set)
    shapes_of: dict[int, set[Shape]] = defaultdict(set)
    for form, shape, page in zip(forms, shapes, alike, strict=True):
        if page != UNKNOWN:
            forms_of[shape].add(form)
            pages_of[shape].add(page)
            shapes_of[page].add(shape)
    found: set[Shape] = set()
    for shape in sorted(forms_of, key=lambda shape: (-len(forms_of[shape]), shape)):
        n_forms = len(forms_of[shape])
        if n_forms >= MIN_FORMS:
            n_alone = sum(shapes_of[page] <= found | {shape} for page in pages_of[shape])
            if n_alone <= MAX_ALONE * n_forms:
                found.add(shape)
    return frozenset(found)

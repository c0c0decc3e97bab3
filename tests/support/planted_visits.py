"""Small sites with a planted truth, for tests of what ``verified`` learns and refuses."""

from __future__ import annotations

import random

from dedup_crawler.rules.applying.engine import RuleEngine
from dedup_crawler.rules.language.rule import Rule
from dedup_crawler.rules.learning.belief import RISKS, Belief
from dedup_crawler.rules.learning.columns import UrlColumns
from dedup_crawler.rules.learning.verified_rules import RuleLearner
from dedup_crawler.urls.normal import normal_form

HOST = "site.example"
Visits = list[tuple[object, str]]
"""Page and path of each visit; any object may name a page."""


def shuffled(visits: Visits, seed: int = 0) -> Visits:
    """Return the visits in random order."""
    visits = list(visits)
    random.Random(seed).shuffle(visits)
    return visits


def numbered(visits: Visits) -> tuple[list[str], list[int]]:
    """Return URLs, and the page of each as a number."""
    numbers: dict[object, int] = {}
    return [normal_form(f"http://{HOST}{rest}") for _, rest in visits], [
        numbers.setdefault(page, len(numbers)) for page, _ in visits
    ]


def rules_of(visits: Visits, risk: str = "balanced") -> list[Rule]:
    """Return the rules that a crawl in this order teaches."""
    return RuleLearner(UrlColumns(HOST, *numbered(visits)), Belief(RISKS[risk]), "verified").learn()


class Forms:
    """Return the forms of paths under some rules."""

    def __init__(self, rules: list[Rule]) -> None:
        self._engine = RuleEngine(rules)

    def __call__(self, rest: str) -> str:
        """Return path and query of the form."""
        return self._engine.form(normal_form(f"http://{HOST}{rest}")).removeprefix(f"http://{HOST}")


def forms_after(visits: Visits, risk: str = "balanced") -> Forms:
    """Return the forms of paths under the rules that a crawl in this order teaches."""
    return Forms(rules_of(visits, risk))


def question_site(n_questions: int, seed: int, *, first: int = 1, with_new: bool = False) -> Visits:
    """Return a site of questions, users and tags; *with_new* adds templates that training did not see.

    A question has up to five kinds of URLs, a user two; other pages share words with them.
    """
    draw = random.Random(seed)
    words = ["".join(draw.choices("bcdfghklmnprstvwz", k=6)) for _ in range(500)]
    visits: Visits = []
    for n in range(first, first + n_questions):
        slug = "-".join(draw.sample(words, 3))
        kinds = [f"/questions/{n}/{slug}", f"/questions/{n}", f"/q/{n}", f"/questions/{n}/{slug}?sort=votes"]
        visits += [(f"question {n}", url) for url in draw.sample(kinds, draw.randint(1, 4))]
        user = [f"/users/{n}/{draw.choice(words)}", f"/users/{n}"]
        visits += [(f"user {n}", url) for url in draw.sample(user, draw.randint(1, 2))]
        visits.append((f"comments {n}", f"/posts/{n}/comments?page={n % 2 + 1}"))
        visits.append((f"revisions {n}", f"/posts/{n}/revisions"))
        if with_new:
            visits.append((f"history {n}", f"/questions/{n}/history"))
            visits.append((f"activity {n}", f"/users/{n}?tab=activity"))
            visits.append((f"timeline {n}", f"/posts/{n}/timeline"))
    visits += [(f"tag {word}", f"/questions/tagged/{word}") for word in words[: n_questions // 4]]
    return shuffled(visits, seed)

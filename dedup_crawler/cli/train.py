"""Commands that train: one for each method, built from its options."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from dedup_crawler.cli.group import main
from dedup_crawler.cli.output import AS_JSON, DATABASE, MAX_LINES, print_json, progress, say
from dedup_crawler.methods import METHODS, Canonicalizer
from dedup_crawler.methods.model.folder import check_place
from dedup_crawler.methods.model.saved_model import Option, options_of
from dedup_crawler.methods.pairs.classifier import PairClassifier
from dedup_crawler.methods.pairs.url_pairs import read_pairs


@main.group()
def train() -> None:
    """Fit one method on a labelled crawl and write its model folder.

    Example: dedup-crawler train verified --db crawl.db --model models/forum
    """


def _add_train_command(method: type[Canonicalizer]) -> None:
    known = options_of(method)

    def command(db: str, model: Path | None, as_json: bool, pairs: Path | None = None, **values: Any) -> None:
        from dedup_crawler.methods.model.training_data import default_model_folder, training_data
        from dedup_crawler.pages.store import PageStore

        learner = method(**values)
        if model is not None:
            check_place(model)
        if pairs is not None and isinstance(learner, PairClassifier):
            labelled = read_pairs(pairs)
            urls = list(dict.fromkeys(url for pair in labelled for url in (pair.left, pair.right)))
        else:
            with PageStore(db, create=False) as store:
                data = training_data(store)
            urls = data.urls
        with progress(f"train {method.name}") as advance:
            learner.progress = lambda step, steps, fit: advance(f"exact {fit:.1%}", step, steps)
            if pairs is not None and isinstance(learner, PairClassifier):
                learner.fit_pairs(labelled)
            else:
                learner.fit(data.urls, data.clusters, data.referrers, data.redirects, data.evidence)
        folder = learner.save(model or default_model_folder(urls))
        if as_json:
            print_json(model=str(folder), method=method.name, **learner.quality_)
            return
        say(f"{method.name}: learnt from {len(urls)} URLs of {', '.join(sorted(learner.hosts))}; {folder}")
        for name, value in learner.quality_.items():
            say(f"  {name.replace('_', ' ')}: {value}")
        if learner.n_learnt() == 0:
            say(f"  no rules were learnt: {learner.n_urls_} URLs show {learner.n_clusters_} pages")
        lines = learner.learnt()
        for line in lines[:MAX_LINES]:
            say(f"  {line}")
        if len(lines) > MAX_LINES:
            say(f"  ... and {len(lines) - MAX_LINES} more")

    for option in reversed(known):
        command = _as_flag(option)(command)
    command = AS_JSON(command)
    command = click.option("--model", type=click.Path(path_type=Path), help="Folder to write; default: models/<host>.")(
        command
    )
    if issubclass(method, PairClassifier):
        command = click.option(
            "--pairs", type=click.Path(path_type=Path), help="Learn from a CSV (url1,url2,score) instead of --db."
        )(command)
    summary = (method.__doc__ or "").partition("\n")[0]
    command.__doc__ = f"{summary}\n\nExample: dedup-crawler train {method.name} --db crawl.db"
    train.command(method.name)(DATABASE(command))


def _as_flag(option: Option) -> Callable[[Any], Any]:
    flag = option.name.replace("_", "-")
    names = f"--{flag}/--no-{flag}" if option.kind is bool else f"--{flag}"
    return click.option(
        names, option.name, type=option.kind, default=option.default, show_default=True, help=option.help
    )


for _method in METHODS.values():
    _add_train_command(_method)

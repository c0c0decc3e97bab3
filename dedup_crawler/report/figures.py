"""The figures of the report: small SVGs drawn by matplotlib, without any strings of strangers in markup.

Each figure is an image of its own (a ``data:`` URI), so nothing in it can run, and figures do not affect each other.
The same numbers give the same bytes.
"""

from __future__ import annotations

import base64
import io
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast

from dedup_crawler.errors import MissingExtraError
from dedup_crawler.methods.model.explanations import Curve, HeldOut

if TYPE_CHECKING:
    from matplotlib.axes import Axes

SAME, DIFFERENT, MUTED = "#2563a8", "#d97706", "#6b7280"
"""Blue and orange, which colour-blind people can tell apart, and grey."""
_SIZE = (4.4, 2.9)  # inches of 96 pixels: fits the width of a phone
_STYLE: dict[str, Any] = {
    "svg.fonttype": "none",  # text stays text
    "svg.hashsalt": "dedup-crawler",
    "font.family": ["sans-serif"],
    "font.sans-serif": ["DejaVu Sans", "Verdana", "Arial", "Helvetica"],
    "font.size": 9,
    "text.parse_math": False,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.edgecolor": "#9ca3af",
    "axes.grid": True,
    "axes.axisbelow": True,
    "grid.color": "#e5e7eb",
    "legend.frameon": False,
}
_METADATA = dict.fromkeys(("Creator", "Date", "Format", "Type"))
_N_NAMED = 24  # characters of a method's name


@dataclass(frozen=True)
class Figure:
    """One image."""

    uri: str
    """The SVG as a ``data:`` URL."""
    alt: str
    """Description of the figure in words."""


def growth_figure(growth: Sequence[tuple[int, int]]) -> Figure:
    """Curve of the number of different pages over the number of fetches."""
    n_urls, n_pages = growth[-1]
    fetches = [fetched for fetched, _ in growth]
    with _drawing() as (axes, figure):
        from matplotlib.ticker import FuncFormatter

        axes.fill_between(fetches, [seen for _, seen in growth], fetches, color=DIFFERENT, alpha=0.25, linewidth=0)
        axes.plot(fetches, fetches, color=DIFFERENT, linewidth=1, label="fetches")
        axes.plot(fetches, [seen for _, seen in growth], color=SAME, label="different pages")
        axes.set(xlabel="URLs fetched, in crawl order", xlim=(0, max(1, n_urls)), ylim=(0, max(1, n_urls)))
        axes.legend(loc="upper left")
        for axis in (axes.xaxis, axes.yaxis):
            axis.set_major_formatter(FuncFormatter(lambda number, _: f"{number:,.0f}"))
        return figure(f"After {n_urls:,} fetches {n_pages:,} different pages had been seen; the area between is waste.")


def promise_figure(promised_and_found: Sequence[tuple[float, float]]) -> Figure:
    """Promised and found share (0-1) of wrong drops of each rule."""
    with _drawing() as (axes, figure):
        for place, (promised, found) in enumerate(promised_and_found):
            axes.plot([0, promised * 100], [place, place], color=SAME, linewidth=5, alpha=0.35, solid_capstyle="butt")
            color = SAME if found <= promised else DIFFERENT
            axes.plot([found * 100], [place], marker="o", color=color, markersize=5, linestyle="none")
        axes.set(xlabel="wrong drops, %: promised at most (bar), found (dot)", ylabel="rule, as in the list")
        axes.set_yticks(range(len(promised_and_found)), [str(i + 1) for i in range(len(promised_and_found))])
        axes.invert_yaxis()
        n_kept = sum(found <= promised for promised, found in promised_and_found)
        return figure(f"{n_kept} of {len(promised_and_found)} rules were wrong no more often than promised.")


def curve_figure(curves: Sequence[Curve]) -> Figure:
    """Training curves of one value, one line for each network."""
    value = curves[0].value
    with _drawing() as (axes, figure):
        from matplotlib.ticker import MaxNLocator

        for place, each in enumerate(curves):
            shade = 1 - 0.7 * place / len(curves)
            epochs, numbers = zip(*each.points, strict=True)
            marker = "o" if len(epochs) < 20 else None
            axes.plot(epochs, numbers, color=SAME, alpha=shade, marker=marker, markersize=3, label=_named(each.network))
        axes.set(xlabel="epoch", ylabel="loss" if value == "loss" else "share (0-1)")
        axes.xaxis.set_major_locator(MaxNLocator(integer=True))
        if value != "loss":
            axes.set_ylim(top=1)
        else:
            axes.set_ylim(bottom=0)
        axes.legend()
        ends = ", ".join(f"{_named(each.network)} {each.points[-1][1]:.3g}" for each in curves)
        return figure(f"{_named(value, 48)} by epoch; at the end: {ends}.")


def calibration_figure(held_out: HeldOut) -> Figure:
    """Answers about held-out pairs, against the share of them that show the same page."""
    with _drawing() as (axes, figure):
        axes.plot([0, 1], [0, 1], color=MUTED, linewidth=1, linestyle="--", label="as often as said")
        largest = max((each.n_pairs for each in held_out.bins), default=1)
        for each in held_out.bins:
            area = 8 + 90 * each.n_pairs / largest
            axes.scatter([each.mean_probability], [each.n_same / each.n_pairs], s=area, color=SAME, alpha=0.8)
        axes.axvline(held_out.threshold, color=DIFFERENT, linewidth=1, label=f"threshold {held_out.threshold:g}")
        axes.set(xlabel="probability that was answered", ylabel="share that is one page", xlim=(-0.03, 1.03))
        axes.set_ylim(-0.03, 1.03)
        axes.legend(loc="upper left")
        return figure(f"Answers about {held_out.n_pairs:,} held-out pairs, and how often they were right, by tenths.")


def saved_figure(methods: Sequence[tuple[str, float, int]]) -> Figure:
    """Share (0-1) of the avoidable fetches that each method saved, and the pages that it lost."""
    with _drawing(height=max(1.6, 0.24 * len(methods) + 0.9)) as (axes, figure):
        for place, (_, saved, n_lost) in enumerate(methods):
            axes.barh(place, saved * 100, color=DIFFERENT if n_lost else SAME, height=0.7)
            axes.text(max(0.0, saved * 100) + 1, place, f"{n_lost:,} lost" if n_lost else "", va="center", fontsize=8)
        axes.set_yticks(range(len(methods)), [_named(name) for name, _, _ in methods])
        axes.invert_yaxis()
        axes.set(xlabel="avoidable fetches saved, %", xlim=(0, 115))
        axes.grid(visible=False, axis="y")
        lines = ", ".join(f"{_named(name)} {saved:.0%}, {n_lost:,} lost" for name, saved, n_lost in methods)
        return figure(f"Avoidable fetches saved, and pages lost, by method: {lines}.")


def _named(name: str, limit: int = _N_NAMED) -> str:
    """A name from a file, cut and in printable ASCII, which every font has."""
    text = "".join(
        character if character.isprintable() else "?" for character in name.encode("ascii", "replace").decode()
    )
    return text if len(text) <= limit else f"{text[: limit - 3]}..."


@contextmanager
def _drawing(height: float = _SIZE[1]) -> Iterator[tuple[Axes, Callable[[str], Figure]]]:
    """Axes to draw on, and a function that makes an image of them, given its description."""
    try:
        import matplotlib as mpl
        from matplotlib.backends.backend_svg import FigureCanvasSVG
        from matplotlib.figure import Figure as Canvas
    except ImportError as error:
        raise MissingExtraError("the report", "matplotlib", "report") from error
    with mpl.rc_context(cast("Any", _STYLE)):  # its keys are literals since 3.11
        canvas = Canvas(figsize=(_SIZE[0], height), layout="constrained")
        FigureCanvasSVG(canvas)

        def finished(alt: str) -> Figure:
            svg = io.BytesIO()
            canvas.savefig(svg, format="svg", metadata=_METADATA)
            data = base64.b64encode(svg.getvalue()).decode("ascii")
            return Figure(f"data:image/svg+xml;base64,{data}", alt)

        yield canvas.add_subplot(), finished

"""Whether the model can make data like the data, and whether its predictions come true."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from luce._types import FloatArray, IntArray, Label, Labels, SeedLike
from luce.answers.held_out import reliability as reliability_of
from luce.answers.prediction import posterior_predictive
from luce.answers.scales import shares as shares_of
from luce.answers.view import BLOCK, DrawsView, tail_of
from luce.counts.counts import ConditionalCounts
from luce.counts.labels import plural
from luce.errors import DataError
from luce.plots.canvas import (
    BLUE,
    GREY,
    VERMILION,
    drawing,
    height_of,
    name_rows,
    require_matplotlib,
)
from luce.plots.dots import Spread, draw_intervals, interval_words, spread_of, whole
from luce.plots.excerpt import evenly, of_draws
from luce.plots.names import names_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from xarray import DataArray, Dataset

    from luce.answers.view import DrawsLike

_REPLICATES = 1000  # at most; more do not make the picture any better
_WORK = 5e7  # cells of all replicates together
_FEWEST = 100
_SCORES = {"log_score": "log score", "brier_score": "Brier score"}


_Heading = tuple[str, dict[str, Any]]  # a text and its properties


class _Rows(NamedTuple):
    """Rows of a check: categories, observed shares, replicated ones, and where headings stand."""

    numbers: list[int]
    observed: FloatArray
    replicated: DataArray
    at: FloatArray
    headings: dict[int, _Heading]


def predictive_check(
    draws: DrawsLike,
    counts: ConditionalCounts | Iterable[tuple[Label, Labels | None, float]],
    *,
    ci_prob: float = 0.9,
    most: int = 40,
    seed: SeedLike = 0,
    ax: Axes | None = None,
) -> Axes:
    """Draw observed shares over those of data replicated from the draws.

    Lines are intervals of the replicates, thick 50 %, diamonds what was observed: filled where it
    lies outside the thin line.

    Parameters
    ----------
    draws
        What `Posterior.sample` returned, or an array of shape (chain, draw, category).
    counts
        The data.

        - `ConditionalCounts`: a row for each category, the share of times it was the outcome among
          those it could have been.  Which set an outcome was recorded in is not kept by them.
        - Triples (label, within, count), as for `calibration`: a row for each category of each
          set, the sets with the most outcomes first.
    ci_prob
        The probability of the thin line.
    most
        How many rows: of those that could have been the outcome most often.
    seed
        The same seed gives the same replicates.
    ax
        Axes to draw into.

    Examples
    --------
    >>> import luce
    >>> counts = luce.ConditionalCounts("abc").observe({"b": 4}).observe({"a": 3}, within="ac")
    >>> draws = luce.Posterior(counts).sample(500, seed=1, progress=False)
    >>> ax = luce.plots.predictive_check(draws, counts)
    >>> [label.get_text() for label in ax.get_yticklabels()]
    ['b', 'a', 'c']
    """
    require_matplotlib()
    tail_of(ci_prob)
    whole(most)
    x = DrawsView.of(draws)
    if isinstance(counts, ConditionalCounts):
        rows = _by_category(x, counts, most, seed)
    else:
        rows = _by_set(x, draws, counts, most, seed)
    spread = spread_of(rows.replicated, ci_prob)
    names = names_of(list(x.categories), rows.numbers)
    places = len(rows.numbers) + len(rows.headings)
    height = height_of(places)
    wide = 5.6 + 0.07 * max(map(len, names.texts))
    with drawing(ax, wide, height + 1.05) as axes:
        axes.set_ylim(places - 0.4, -0.6)
        name_rows(axes, rows.at.tolist(), names, height if ax is None else None)
        draw_intervals(axes, rows.at, spread)
        _draw_observed(axes, rows, spread)
        beside = axes.get_yaxis_transform()
        for y, (text, look) in rows.headings.items():
            axes.text(0.01, y, text, transform=beside, va="center", fontsize=8.5, **look)
        axes.set_xlabel("share of outcomes in %")
        # Diamonds at 0 must not lie on the names.
        axes.set_xlim(left=-0.04 * axes.get_xlim()[1])
        axes.plot([], [], color=BLUE, linewidth=3, label=f"replicated: {interval_words(ci_prob)}")
        axes.legend(
            loc="lower left", bbox_to_anchor=(-0.02, 1.0), ncols=3, borderpad=0,
            columnspacing=1.2, handletextpad=0.5,
        )  # fmt: skip
    return axes


def reliability(checked: Dataset, *, ax: Axes | None = None) -> Axes:
    """Draw observed against predicted shares, bin by bin: a reliability diagram.

    Where predictions are right the dots lie on the diagonal, and within the grey bars 19 times out
    of 20.  The area of a dot grows with the number of predictions.

    Parameters
    ----------
    checked
        What `luce.answers.reliability` returned.
    ax
        Axes to draw into.

    Examples
    --------
    >>> import luce
    >>> checked = luce.answers.reliability([[[0.6, 0.2, 0.2]]], [(0, [0, 1], 3), (2, None, 1)], bins=2)
    >>> ax = luce.plots.reliability(checked)
    >>> ax.collections[-1].get_offsets().data.round(2)
    array([[0.23, 0.2 ],
           [0.71, 0.75]])
    """
    require_matplotlib()
    needed = ("bin_predicted", "bin_observed", "bin_number", "bin_error")
    if any(name not in getattr(checked, "data_vars", ()) for name in needed):
        raise DataError(
            f"what luce.answers.reliability returned is needed; {type(checked).__name__} was given."
        )
    predicted, observed, number, error = (checked[name].values for name in needed)
    filled = number > 0
    predicted, observed, number, error = (
        column[filled] for column in (predicted, observed, number, error)
    )
    low, high = (np.clip(predicted + side * 1.96 * error, 0, 1) for side in (-1, 1))
    with drawing(ax, 4.6, 4.5) as axes:
        axes.plot([0, 1], [0, 1], color=GREY, linewidth=1.0, zorder=1)
        axes.vlines(predicted, low, high, color=GREY, alpha=0.4, linewidth=7, zorder=2)
        axes.scatter(
            predicted, observed, s=18 + 110 * number / number.max(), color=BLUE, zorder=3,
            linewidths=0,
        )  # fmt: skip
        axes.set(xlim=(-0.03, 1.03), ylim=(-0.03, 1.03), aspect="equal")
        axes.set(xlabel="predicted probability", ylabel="observed share")
        scores = [f"{words} {float(checked[name]):.3f}" for name, words in _SCORES.items()]
        axes.set_title(", ".join(scores).replace("-", "−"), fontsize=9, loc="right")
    return axes


def _draw_observed(ax: Axes, rows: _Rows, spread: Spread) -> None:
    low, high = spread.outer
    outside = (rows.observed < low) | (rows.observed > high)
    for which, fill, words in (
        (~outside, "none", "observed"),
        (outside, VERMILION, "observed, outside"),
    ):
        if which.any():
            ax.plot(
                rows.observed[which], rows.at[which], "D", markersize=6, color=VERMILION,
                markerfacecolor=fill, markeredgewidth=1.4, label=words, zorder=4, clip_on=False,
            )  # fmt: skip


def _by_category(x: DrawsView, counts: ConditionalCounts, most: int, seed: SeedLike) -> _Rows:
    """How often each category was the outcome, over all sets together."""
    from scipy.sparse import csr_array

    cells = int(counts.sets.sizes.sum()) + counts.n_categories
    kept = _replicating(x, cells)
    seeds = seed if isinstance(seed, np.random.SeedSequence) else np.random.SeedSequence(seed)
    # Replicates of one part at a time, since each takes the sets' expanded size.
    parts = np.array_split(kept, min(len(kept), 1 + len(kept) * cells // BLOCK))
    sums = []
    for rows, own in zip(parts, seeds.spawn(len(parts)), strict=True):
        part = posterior_predictive(of_draws(x, rows), counts, own)
        numbers = np.array([x.categories.index[c] for c in part["category"].values.tolist()])
        here = (np.arange(len(numbers)), numbers)
        adding = csr_array((np.ones(len(numbers)), here), (len(numbers), x.n_categories))
        chances = np.bincount(numbers, part["total"].values, x.n_categories)
        sums.append(part.values[0] @ adding)
    place = [x.categories.index[c] for c in counts.categories]
    seen = np.empty(x.n_categories)
    seen[place] = counts.category_counts
    often = np.argsort(-chances, kind="stable")[:most]
    often = often[chances[often] > 0]
    order = often[np.argsort(-seen[often] / chances[often], kind="stable")]
    shares = 100 * np.concatenate(sums)[:, order] / chances[order]
    at = np.arange(len(order), dtype=np.float64)
    observed = 100 * seen[order] / chances[order]
    return _Rows(order.tolist(), observed, _replicates(shares), at, {})


def _by_set(
    x: DrawsView,
    draws: DrawsLike,
    outcomes: Iterable[tuple[Label, Labels | None, float]],
    most: int,
    seed: SeedLike,
) -> _Rows:
    """How often each category was the outcome, set by set."""
    cells = reliability_of(draws, outcomes)
    number = cells["number"].values
    if (number % 1 != 0).any():
        broken = float(number[number % 1 != 0][0])
        raise DataError(f"a set has {broken:g} outcomes; whole numbers can be replicated.")
    rng = np.random.default_rng(seed)
    kept = of_draws(x, _replicating(x, int(cells.sizes["cell"])))
    sets = cells["set"].values
    first = np.flatnonzero(np.diff(sets, prepend=-1))
    found: list[tuple[FloatArray, FloatArray]] = []
    numbers: list[int] = []
    at: list[int] = []
    headings: dict[int, _Heading] = {}
    for s in np.argsort(-number[first], kind="stable"):
        here = np.flatnonzero(sets == s)
        left = most - len(numbers)
        if len(here) > left and numbers:
            break
        labels = cells["category"].values[here].tolist()
        order = np.argsort(-cells["predicted"].values[here], kind="stable")[:left]
        total = int(number[here[0]])
        p = shares_of(kept, labels).values[0][:, order]
        found.append(
            (100 * cells["observed"].values[here][order], 100 * rng.binomial(total, p) / total)
        )
        members = [x.categories.index[label] for label in labels]
        headings[len(numbers) + len(headings)] = _heading(x, members, total)
        at += [len(numbers) + len(headings) + k for k in range(len(order))]
        numbers += [members[k] for k in order]
    observed, replicated = (np.concatenate(column, axis=-1) for column in zip(*found, strict=True))
    return _Rows(numbers, observed, _replicates(replicated), np.array(at, np.float64), headings)


def _heading(x: DrawsView, members: list[int], total: int) -> _Heading:
    words = plural(total, "outcome")
    if len(members) == x.n_categories:
        return f"{words}, all possible:", {}
    names = names_of(list(x.categories), members[:3], 14)
    more = f" and {len(members) - 3:,} more" if len(members) > 3 else ""
    return f"{words} among {', '.join(names.texts)}{more}:", names.look


def _replicating(x: DrawsView, cells: int) -> IntArray:
    """Draws to replicate data from: as many as the work allows."""
    return evenly(x, int(np.clip(_WORK / cells, _FEWEST, _REPLICATES)))


def _replicates(values: FloatArray) -> DataArray:
    import xarray as xr

    return xr.DataArray(values[None], dims=("chain", "draw", "row"))

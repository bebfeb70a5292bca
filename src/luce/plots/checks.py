"""Checks of a model against its data, of predictions, and of ranks that should be uniform."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from luce._types import BoolArray, FloatArray, IntArray, Label, Labels, SeedLike
from luce.answers.held_out import reliability as reliability_of
from luce.answers.prediction import contests_of_draws, posterior_predictive, tally_results
from luce.answers.rank_uniformity import band_of
from luce.answers.scales import shares as shares_of
from luce.answers.view import DrawsView, tail_of
from luce.counts.counts import ConditionalCounts
from luce.counts.labels import plural
from luce.errors import DataError
from luce.plots.canvas import (
    BLUE,
    CHAINS,
    GREY,
    VERMILION,
    drawing,
    height_of,
    legend_above,
    name_rows,
    require_matplotlib,
)
from luce.plots.findings import outside_intervals, write_title
from luce.plots.intervals import Spread, draw_intervals, interval_words, most_rows, spread_of
from luce.plots.label_text import names_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from xarray import DataArray, Dataset

    from luce.answers.view import DrawsLike

_MOST_REPLICATES = 1000  # more do not make the picture any better
_FEWEST_REPLICATES = 100
_MOST_CELLS = 5e7  # cells of all replicates together
_NAMED_CURVES = 4  # curves outside the band that the legend names
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
    title: str | bool | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Draw observed shares over those of data replicated from the draws.

    Lines are intervals of the replicates, the thick ones of 50 %.  Diamonds are observed shares,
    filled where they lie outside the thin line.

    Parameters
    ----------
    draws
        What `Posterior.sample` returned, or an array of shape (chain, draw, category).
    counts
        The data.

        - `ConditionalCounts`: a row for each category, the share of times it was the outcome among
          those it could have been.  Which set an outcome was recorded in is not kept by them.
          Of contests: rows for the share of its meetings that each side won, and tied.
        - Triples (label, within, count), as for `luce.answers.reliability`: a row for
          each category of each set, the sets with the most outcomes first.
    ci_prob
        Probability of the interval drawn as a thin line.
    most
        Largest number of rows; those that could have been the outcome most often are drawn.
    seed
        The same seed gives the same replicates.
    title
        A title, or False for none; unless given, a new figure says how many of the shares
        drawn lie outside their intervals.
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
    most_rows(most)
    x = DrawsView.of(draws)
    if isinstance(counts, ConditionalCounts) and counts.events is not None:
        rows = _of_contests(x, counts, most, seed)
    elif isinstance(counts, ConditionalCounts):
        rows = _by_category(x, counts, most, seed)
    else:
        rows = _by_set(x, counts, most, seed)
    spread = spread_of(rows.replicated, ci_prob)
    names = names_of(list(x.categories), rows.numbers)
    places = len(rows.numbers) + len(rows.headings)
    height = height_of(places)
    wide = 5.0 + 0.07 * max(map(len, names.texts))
    with drawing(ax, wide, height + 1.05) as axes:
        axes.set_ylim(places - 0.4, -0.6)
        name_rows(axes, rows.at.tolist(), names, height if ax is None else None)
        draw_intervals(axes, rows.at, spread)
        outside = _draw_observed(axes, rows, spread)
        beside = axes.get_yaxis_transform()
        for y, (text, look) in rows.headings.items():
            axes.text(0.01, y, text, transform=beside, va="center", fontsize=8.5, **look)
        contested = isinstance(counts, ConditionalCounts) and counts.events is not None
        axes.set_xlabel(f"share of {'meetings' if contested else 'outcomes'} in %")
        # Diamonds at 0 must not lie on the names.
        axes.set_xlim(left=-0.04 * axes.get_xlim()[1])
        axes.plot([], [], color=BLUE, linewidth=3, label=f"replicated: {interval_words(ci_prob)}")
        legend_above(axes, 3, handle=2.0)
        write_title(axes, title, lambda: outside_intervals(outside, ci_prob), own=ax is None)
    return axes


def reliability(checked: Dataset, *, ax: Axes | None = None) -> Axes:
    """Draw observed against predicted shares, bin by bin: a reliability diagram.

    Where predictions are right the dots lie on the diagonal, and within the grey bars 19 times out
    of 20.  The area of a dot grows with the number of predictions.

    Parameters
    ----------
    checked
        The result of `luce.answers.reliability`.
    ax
        Axes to draw into.

    Examples
    --------
    >>> import luce
    >>> outcomes = [(0, [0, 1], 3), (2, None, 1)]
    >>> checked = luce.answers.reliability([[[0.6, 0.2, 0.2]]], outcomes, bins=2)
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
        area = 18 + 110 * number / number.max()
        axes.scatter(predicted, observed, s=area, color=BLUE, zorder=3, linewidths=0)
        axes.set(xlim=(-0.03, 1.03), ylim=(-0.03, 1.03), aspect="equal")
        axes.set(xlabel="predicted probability", ylabel="observed share")
        scores = [f"{words} {float(checked[name]):.3f}" for name, words in _SCORES.items()]
        axes.set_title(", ".join(scores).replace("-", "−"), fontsize=9, loc="right")
    return axes


def rank_curves(
    ranks: IntArray, names: list[str], draws: int, level: float, *, ax: Axes | None = None
) -> Axes:
    """Draw how far the distribution functions of ranks stray from that of uniform ranks.

    Curves of quantities that stay in the band are blue; those that leave it are red, and the
    farthest are named.  If all ranks are uniform, all curves stay in the band with probability
    1 - level at least.

    Parameters
    ----------
    ranks
        Ranks of shape (replication, quantity), from 0 to `draws`.
    names
        Names of the quantities.
    draws
        Number of draws that each rank is among.
    level
        Probability of a false alarm, of all quantities together.
    ax
        Axes to draw into.
    """
    n, m = ranks.shape
    least, most = band_of(n, draws, level / m)
    share = np.arange(1, draws + 1) / (draws + 1)
    at = np.r_[0.0, share, 1.0]
    below = np.array([(ranks <= k).sum(axis=0) for k in range(draws)])
    outside = (below < least[:, None]) | (below > most[:, None])
    leaves = np.asarray(outside.any(axis=0), np.bool_).reshape(m)
    far = np.abs(below / n - share[:, None]).max(axis=0)
    named = [j for j in np.argsort(-far, kind="stable") if leaves[j]][:_NAMED_CURVES]
    with drawing(ax, 5.2, 3.0) as axes:
        low, high = (np.r_[0.0, ends / n - share, 0.0] for ends in (least, most))
        axes.fill_between(at, low, high, color=GREY, alpha=0.25, linewidth=0, zorder=1)
        axes.axhline(0.0, color=GREY, linewidth=0.8, zorder=1)
        for j in range(m):
            colour = VERMILION if leaves[j] else BLUE
            if j in named:
                colour = (VERMILION, *CHAINS[1:4])[named.index(j)]
            curve = np.r_[0.0, below[:, j] / n - share, 0.0]
            label = names[j] if j in named else None
            order = 3 if leaves[j] else 2
            axes.plot(at, curve, color=colour, linewidth=1.1, label=label, zorder=order)
        axes.set(xlim=(0, 1), xlabel="rank / draws", ylabel="share below − uniform")
        if named:
            axes.legend(loc="best")
    return axes


def _draw_observed(ax: Axes, rows: _Rows, spread: Spread) -> BoolArray:
    """Draw diamonds; return which of them lie outside the outer intervals."""
    low, high = spread.outer
    outside = (rows.observed < low) | (rows.observed > high)
    for which, fill, words in (
        (~outside, "none", "observed"),
        (outside, VERMILION, "observed, outside"),
    ):
        if which.any():
            look: dict[str, Any] = {
                "color": VERMILION,
                "markerfacecolor": fill,
                "markeredgewidth": 1.4,
            }
            x, y = rows.observed[which], rows.at[which]
            ax.plot(x, y, "D", markersize=6, label=words, zorder=4, clip_on=False, **look)
    return np.asarray(outside, np.bool_)


def _by_category(x: DrawsView, counts: ConditionalCounts, most: int, seed: SeedLike) -> _Rows:
    """Replicate the share of times each category was the outcome, over all sets together."""
    from scipy.sparse import csr_array

    cells = int(counts.sets.sizes.sum()) + counts.n_categories
    kept = _replicating(x, cells)
    seeds = seed if isinstance(seed, np.random.SeedSequence) else np.random.SeedSequence(seed)
    # Replicates of one part at a time, since each takes the sets' expanded size.
    parts = np.array_split(kept, min(len(kept), 1 + len(kept) * cells // x.block))
    sums = []
    for rows, own in zip(parts, seeds.spawn(len(parts)), strict=True):
        part = posterior_predictive(x.one_chain(rows), counts, own)
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


def _of_contests(x: DrawsView, counts: ConditionalCounts, most: int, seed: SeedLike) -> _Rows:
    """Replicate the share of its meetings that each category won, and of those that it tied."""
    contests = contests_of_draws(x, counts, "counts")
    kept = x.one_chain(_replicating(x, 8 * len(contests.members)))
    replicates = posterior_predictive(kept, counts, seed).values[0]
    games = contests.games()
    often = np.argsort(-games, kind="stable")
    kinds = ["won"] if contests.ties is None else ["won", "tied"]
    often = often[: max(1, most // len(kinds))]
    often = often[games[often] > 0]
    seen, again = (tally_results(contests, each) for each in (contests.results, replicates))
    order = often[np.argsort(-seen[0][often] / games[often], kind="stable")]
    observed = [100 * own[order] / games[order] for own in seen[: len(kinds)]]
    replicated = [100 * own[:, order] / games[order] for own in again[: len(kinds)]]
    headings: dict[int, _Heading] = {
        k * (len(order) + 1): (f"{word}:", {}) for k, word in enumerate(kinds)
    }
    at = np.concatenate(
        [k * (len(order) + 1) + 1.0 + np.arange(len(order)) for k in range(len(kinds))]
    )
    return _Rows(
        order.tolist() * len(kinds),
        np.concatenate(observed),
        _replicates(np.concatenate(replicated, axis=1)),
        at,
        headings,
    )


def _by_set(
    x: DrawsView,
    outcomes: Iterable[tuple[Label, Labels | None, float]],
    most: int,
    seed: SeedLike,
) -> _Rows:
    """Replicate the share of times each category was the outcome, set by set."""
    cells = reliability_of(x, outcomes)
    number = cells["number"].values
    if (number % 1 != 0).any():
        broken = float(number[number % 1 != 0][0])
        raise DataError(f"a set has {broken:g} outcomes; whole numbers can be replicated.")
    rng = np.random.default_rng(seed)
    kept = x.one_chain(_replicating(x, int(cells.sizes["cell"])))
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
        grouped = next((each for each in labels if each not in x.categories.index), None)
        if grouped is not None:
            raise DataError(
                f"a grouped outcome, {grouped!r}, has no row of its own in this picture. Draw "
                "predicted and observed shares: plots.reliability(luce.answers.reliability(...))."
            )
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
    """Choose the draws to replicate data from, fewer where the data has many cells."""
    return x.evenly(int(np.clip(_MOST_CELLS / cells, _FEWEST_REPLICATES, _MOST_REPLICATES)))


def _replicates(values: FloatArray) -> DataArray:
    import xarray as xr

    return xr.DataArray(values[None], dims=("chain", "draw", "row"))

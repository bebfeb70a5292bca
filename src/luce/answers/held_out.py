"""Check predictions on held-out data: predicted against observed shares, and scores."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias

import numpy as np

from luce._types import FloatArray, IntArray, Label, Labels
from luce.answers.fixtures import places_of
from luce.answers.results import Meetings, ResultModel
from luce.answers.view import DrawsView
from luce.counts.contests import FIRST, SECOND, TIE, Contests
from luce.counts.counts import ConditionalCounts
from luce.counts.labels import describe, is_hashable, label_array, plural, read_count, some
from luce.errors import DataError, EvidenceWarning, warn_user
from luce.estimates.weights import basis, is_trusted, log_mean
from luce.model.contents import model_of

if TYPE_CHECKING:
    from xarray import Dataset

    from luce.answers.view import DrawsLike

# An outcome, the set it was recorded in, and how often.
Outcome: TypeAlias = tuple[Any, Labels | None, float]


def reliability(
    draws: DrawsLike, outcomes: Iterable[Outcome] | ConditionalCounts, bins: int = 10
) -> Dataset:
    """Compare predicted with observed shares of held-out outcomes.

    Each set S that outcomes were recorded in and each category i in S make a cell, with the
    predicted probability q_Si, the posterior mean of p_i / p(S), and the observed share.  A grouped
    outcome, of which only a set W around it is known, makes one cell with p(W) / p(S); a meeting of
    contests makes three, a win of either side and a tie.  Cells are then put into bins by their
    prediction.

    Parameters
    ----------
    draws
        A run of `Posterior.sample`, or an array of shape (chain, draw, category).
    outcomes
        Triples (label, within, count): `count` outcomes `label`, given that they lay in `within`,
        a list of labels, or None for all.  Equal sets are put together.  A tuple, list or set of
        labels in place of a label is a grouped outcome.  Groups of one set that do not overlap are
        cells beside the categories in none of them; where some overlap, each is a set of its own
        with two cells, the group and the rest.  Or counts with contests, as for `scores`.
    bins
        Number of bins of equal width between 0 and 1.

    Returns
    -------
    Dataset
        - `predicted`, `observed`, `number`, dimension (cell), with coordinates `set` (counted from
          0 in the order given) and `category`: `number` is that of the set's outcomes.  Cells of
          groups have a tuple of labels there, and those of meetings the winning side or "tie";
        - `bin_predicted`, `bin_observed`, `bin_number`, dimension (bin), with coordinates
          `bin_lower` and `bin_upper`: means over a bin's cells, weighted by `number`, and the sum
          of these; nan where a bin is empty.  A prediction on an edge is in the upper bin;
        - `bin_error`: standard deviation of `bin_observed` were all predictions right, outcomes
          being independent of each other;
        - `log_score`: mean of log q over outcomes, and `brier_score`: mean of
          Σ_i (q_Si - [i is the outcome])²;
        - `log_score_error`: Monte Carlo standard error of `log_score`, to first order.

    Warns
    -----
    EvidenceWarning
        Where the log score rests on so few draws that its error is not known; it is nan then.

    Examples
    --------
    >>> import luce, xarray as xr
    >>> held_out = [("a", "ab", 3), ("b", "ab", 1), ("c", None, 1)]
    >>> index = {"category": list("abc")}
    >>> draws = xr.DataArray([[[0.6, 0.2, 0.2]]], index, ("chain", "draw", "category"))
    >>> table = luce.answers.reliability(draws, held_out, bins=2)
    >>> table["predicted"].values.round(2), table["observed"].values
    (array([0.75, 0.25, 0.6 , 0.2 , 0.2 ]), array([0.75, 0.25, 0.  , 0.  , 1.  ]))
    >>> table["bin_predicted"].values.round(2), table["bin_observed"].values.round(2)
    (array([0.23, 0.72]), array([0.33, 0.6 ]))
    """
    import xarray as xr

    if not isinstance(bins, (int, np.integer)) or isinstance(bins, bool) or bins < 1:
        raise DataError(f"bins = {bins!r} was given; a whole number from 1 on is needed.")
    x = DrawsView.of(draws)
    if isinstance(outcomes, ConditionalCounts):
        model, contests = _held_out_contests(x, outcomes, "outcomes")
        cells = _cells_of_meetings(model, contests)
    else:
        cells = _cells_of_sets(x, _read_outcomes(x, outcomes))
    q, k, number = cells.predicted, cells.counts, cells.totals[cells.set]
    columns = {
        "predicted": ("cell", q),
        "observed": ("cell", k / number),
        "number": ("cell", number),
        **_binned(q, k, number, cells.set, cells.totals, int(bins)),
        **_scores(q, k, number, cells.totals.sum()),
        "log_score_error": _error_of_log_score(x, cells),
    }
    edges = np.arange(bins + 1) / bins
    index = {
        "set": ("cell", cells.set),
        "category": ("cell", label_array(cells.labels)),
        "bin_lower": ("bin", edges[:-1]),
        "bin_upper": ("bin", edges[1:]),
    }
    return xr.Dataset(columns, index)


def scores(
    draws: DrawsLike, held_out: ConditionalCounts, training: ConditionalCounts | None = None
) -> Dataset:
    """Score predictions of held-out meetings, beside base rates.

    Parameters
    ----------
    draws
        A run of `Posterior.sample`: of contests, of data with ties and advantages as categories, or
        of pairs without either.
    held_out
        Counts with contests (``ties="davidson"`` or another model), of the draws' competitors.
        Their meetings and results are scored by the draws' own model, whatever model they were
        read for.
    training
        Counts with the contests that base rates are taken from: the shares of wins at home, of ties
        and of wins away among meetings with a side at home, and of ties among the others.  The
        run's own data unless given; without contests there, base rates are left out.

    Returns
    -------
    Dataset
        Along `forecast`, "model" and "base rates", means over the meetings' results of

        - `log_score`: log q of the result, q being the posterior mean of its probability; larger is
          better;
        - `brier_score`: Σ_k (q_k - [k is the result])², smaller is better;
        - `ranked_probability_score`: half the sum of squares of the differences between the
          cumulative probabilities of win, tie, loss and those of the result; smaller is better;

        each with a standard error `..._se` over results, taken as independent.  `gain` is the mean
        difference of the two log scores, result by result, and `gain_se` its standard error; nan
        without base rates.  `number` is that of the results.

    Examples
    --------
    >>> import luce, numpy as np
    >>> from luce.counts.contests import contests_of_pairs
    >>> met = contests_of_pairs(2, np.array([0]), np.array([1]), np.array([1]),
    ...                         np.array([[6.0, 2.0, 2.0]]), "davidson", True)
    >>> games = luce.ConditionalCounts("ab").with_events(met)
    >>> run = luce.Posterior(games).sample(1000, seed=1, progress=False)
    >>> found = luce.answers.scores(run, games)
    >>> found["log_score"].sel(forecast="base rates").round(2).item(), found["number"].item()
    (-0.95, 10.0)
    """
    import xarray as xr

    x = DrawsView.of(draws)
    model, contests = _held_out_contests(x, held_out, "held_out")
    forecasts = {"model": model.mean_probabilities(Meetings.of_contests(contests))}
    known = _training_contests(draws, training)
    if training is None and known is not None and model.home == "entity":
        known = None  # these contests do not keep who was at home
    if known is not None:
        forecasts["base rates"] = _base_rates(known, contests)
    results = contests.results
    found = {name: _pointwise(q) for name, q in forecasts.items()}
    columns: dict[str, Any] = {}
    for score in ("log_score", "brier_score", "ranked_probability_score"):
        told = [_mean_and_error(own[score], results) for own in found.values()]
        columns[score] = "forecast", np.array([mean for mean, _ in told])
        columns[f"{score}_se"] = "forecast", np.array([error for _, error in told])
    columns["gain"] = columns["gain_se"] = float("nan")
    if known is not None:
        with np.errstate(invalid="ignore"):
            gains = found["model"]["log_score"] - found["base rates"]["log_score"]
        columns["gain"], columns["gain_se"] = _mean_and_error(gains, results)
    columns["number"] = float(results.sum())
    return xr.Dataset(columns, {"forecast": list(forecasts)}, {"model": model.words})


def _held_out_contests(
    x: DrawsView, held_out: ConditionalCounts, what: str
) -> tuple[ResultModel, Contests]:
    """Read meetings with results, numbered as the draws' categories; and the draws' model."""
    model = ResultModel.of(x)
    contests = getattr(held_out, "events", None)
    if not isinstance(contests, Contests):
        raise DataError(
            f"{what} must be counts of contests, which keep meetings and results; "
            f"{describe(held_out)} was given. Read them with ties='davidson' or home=, or give "
            "triples (label, within, count) to luce.answers.reliability."
        )
    if held_out.n_outcomes > contests.n_outcomes:
        raise DataError(
            f"{what} has {plural(held_out.n_outcomes - contests.n_outcomes, 'outcome')} beside its "
            "contests; the sets that they were recorded in are not kept. Give contests alone."
        )
    if len(contests) == 0:
        raise DataError(f"{what} has no meetings; one is needed at least.")
    if model.home is not None and not contests.home:
        raise DataError(
            f"the model of the draws has {model.words}, but {what} does not tell who was at home. "
            "Read it with home=, and with home_effect='multiplicative', which keeps who that was."
        )
    if model.ties is not None and contests.ties is None:
        raise DataError(
            f"the model of the draws has {model.words}, but {what} was read without ties. Read it "
            "with ties='davidson', even where no meeting was tied."
        )
    if model.ties is None and contests.results[:, TIE].any():
        raise DataError(
            f"{plural(float(contests.results[:, TIE].sum()), 'tie')} in {what}, and the model of "
            "the draws has none: their probability is 0. Read both data with the same ties=."
        )
    seen = np.unique(contests.members)
    place = np.full(held_out.n_categories, -1)
    place[seen] = places_of(x, [held_out.categories[int(i)] for i in seen], what)
    return model, contests.renumbered(place, x.n_categories)


def _training_contests(draws: DrawsLike, given: ConditionalCounts | None) -> Contests | None:
    """Find the contests that base rates are taken from; None where there are none."""
    import xarray as xr

    if given is not None:
        if not isinstance(getattr(given, "events", None), Contests):
            raise DataError(f"training must be counts of contests; {describe(given)} was given.")
        contests = given.events
    elif isinstance(draws, xr.DataTree) and "observed_data" in draws.children:
        contests = model_of(draws).counts.events
    else:
        return None
    return contests if isinstance(contests, Contests) and contests.results.any() else None


def _base_rates(training: Contests, contests: Contests) -> FloatArray:
    """Predict each meeting by shares of results, shape (meeting, 3)."""
    tied = float(training.results[:, TIE].sum() / training.results.sum())
    rates = np.empty((len(contests), 3))
    rates[:] = (1 - tied) / 2, (1 - tied) / 2, tied
    at_home = training.results[training.at_home].sum(axis=0)
    away = training.results[~training.at_home].sum(axis=0)
    if away.any() and at_home.any():
        tied = float(away[TIE] / away.sum())
        rates[:] = (1 - tied) / 2, (1 - tied) / 2, tied
    if at_home.any():
        rates[contests.at_home] = at_home / at_home.sum()
    return rates


def _pointwise(q: FloatArray) -> dict[str, FloatArray]:
    """Compute the scores of each possible result of each meeting, shape (meeting, 3)."""
    with np.errstate(divide="ignore"):
        log_score = np.log(q)
    happened = np.eye(3)  # result, by the results of q
    brier = ((q[:, None, :] - happened) ** 2).sum(axis=-1)
    order = [FIRST, TIE, SECOND]
    cumulative = np.cumsum(q[:, order], axis=-1)[:, None, :2]
    steps = np.cumsum(happened[:, order], axis=-1)[:, :2]
    ranked = ((cumulative - steps) ** 2).sum(axis=-1) / 2
    return {"log_score": log_score, "brier_score": brier, "ranked_probability_score": ranked}


def _mean_and_error(values: FloatArray, results: FloatArray) -> tuple[float, float]:
    """Compute the mean over results, and its standard error."""
    seen, n = results > 0, results.sum()
    numbers, scored = results[seen], values[seen]
    mean = float((numbers * scored).sum() / n)
    if not np.isfinite(mean) or n < 2:
        return mean, float("nan")
    variance = (numbers * (scored - mean) ** 2).sum() / (n - 1)
    return mean, float(np.sqrt(variance / n))


def _binned(
    q: FloatArray,
    k: FloatArray,
    number: FloatArray,
    cell_set: IntArray,
    totals: FloatArray,
    bins: int,
) -> dict[str, tuple[str, FloatArray]]:
    place = np.searchsorted(np.arange(1, bins) / bins, q, side="right")
    weight = np.bincount(place, number, bins)
    # Outcomes of one set fall into a bin as a binomial with the bin's total probability there.
    pairs, which = np.unique(cell_set * bins + place, return_inverse=True)
    inside = np.bincount(which, q)
    spread = totals[pairs // bins] * np.maximum(inside * (1 - inside), 0.0)
    variance = np.bincount(pairs % bins, spread, bins)
    with np.errstate(invalid="ignore"):  # nothing by nothing is nan: an empty bin
        return {
            "bin_predicted": ("bin", np.bincount(place, number * q, bins) / weight),
            "bin_observed": ("bin", np.bincount(place, k, bins) / weight),
            "bin_number": ("bin", weight.astype(np.float64)),
            "bin_error": ("bin", np.sqrt(variance) / weight),
        }


def _scores(q: FloatArray, k: FloatArray, number: FloatArray, total: float) -> dict[str, float]:
    seen = k > 0
    with np.errstate(divide="ignore"):
        log_score = float((k[seen] * np.log(q[seen])).sum() / total)
    # Over the outcomes of a set: Σ_i m q_i² - 2 Σ_i k_i q_i + m.
    brier = ((number * q**2).sum() - 2 * (k * q).sum() + total) / total
    return {"log_score": log_score, "brier_score": float(brier)}


@dataclass(frozen=True, eq=False)
class _Cells:
    """Cells of held-out data: what was predicted, and what was seen.

    Attributes
    ----------
    predicted, counts, set, labels
        Of each cell: its predicted probability, its outcomes, its set, and its name.
    totals
        Outcomes of each set.
    shares
        Computes the probabilities of cells draw by draw.
    """

    predicted: FloatArray
    counts: FloatArray
    set: IntArray
    labels: list[Label]
    totals: FloatArray
    shares: _Shares


class _Shares(Protocol):
    """Computes probabilities of cells draw by draw, some cells at a time."""

    def add_weighted(self, out: FloatArray, weights: FloatArray) -> None:
        """Add Σ weight × probability over all cells to `out`, shape (chain, draw)."""


def _error_of_log_score(x: DrawsView, cells: _Cells) -> float:
    """Compute the standard error of Σ k log q / Σ k, with q the means of shares over draws.

    To first order it is that of the mean over draws of Σ k (share / q) / Σ k, which is 1.
    """
    seen = cells.counts > 0
    if (cells.predicted[seen] == 0).any():  # a log score of -inf
        return float("nan")
    each = np.zeros(len(seen))
    each[seen] = cells.counts[seen] / cells.predicted[seen]
    weights = np.zeros(x.values.shape[:2])
    cells.shares.add_weighted(weights, each)
    with np.errstate(divide="ignore"):
        mean = log_mean(np.log(weights / weights.mean()), "draws")
    if is_trusted(mean, x.n_draws):
        return float(mean.standard_error)
    message = (
        f"the log score {basis(mean)}, so its error is not known: some outcomes had next to no "
        "probability in most draws. Take more draws."
    )
    warn_user(EvidenceWarning(message, {"draws": mean}))
    return float("nan")


# -- meetings --------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class _MeetingShares:
    """Probabilities of results; cells are the possible results of all meetings, in a row."""

    model: ResultModel
    meetings: Meetings
    columns: list[int]

    def add_weighted(self, out: FloatArray, weights: FloatArray) -> None:
        by_meeting = weights.reshape(len(self.meetings), -1)
        for part, chain, rows in self.model.blocks(self.meetings):
            piece = self.meetings.part(part.start, part.stop)
            logs = self.model.log_probabilities(piece, chain, rows)[..., self.columns]
            out[chain, rows] += np.einsum("dmk,mk->d", np.exp(logs), by_meeting[part])


def _cells_of_meetings(model: ResultModel, contests: Contests) -> _Cells:
    """Make a cell of each possible result of each meeting: a win, a tie where possible, a loss."""
    columns = [FIRST, SECOND] if model.ties is None else [FIRST, TIE, SECOND]
    meetings = Meetings.of_contests(contests)
    labels: list[Label] = []
    for t in range(len(contests)):
        ends = contests.start[2 * t : 2 * t + 3]
        first, second = (
            [model.draws.categories[int(i)] for i in contests.members[a:b]]
            for a, b in pairwise(ends.tolist())
        )
        named: dict[int, Label] = {FIRST: _named(first), SECOND: _named(second), TIE: "tie"}
        labels += [named[k] for k in columns]
    return _Cells(
        model.mean_probabilities(meetings)[:, columns].ravel(),
        contests.results[:, columns].ravel(),
        np.repeat(np.arange(len(contests)), len(columns)),
        labels,
        contests.results.sum(axis=1),
        _MeetingShares(model, meetings, columns),
    )


def _named(labels: list[Label]) -> Label:
    return labels[0] if len(labels) == 1 else tuple(labels)


# -- sets ------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class _RecordedSet:
    """A set that outcomes were recorded in.

    Attributes
    ----------
    members
        Its categories in stored order.
    cell
        The cell of each member: its own, or that of its group.
    counts
        Outcomes of each cell.
    """

    members: IntArray
    cell: IntArray
    counts: FloatArray

    def shares(self, x: DrawsView, chain: int, rows: slice) -> FloatArray:
        """Compute the probability of each cell in some draws of a chain, shape (draw, cell)."""
        own = x.shares(chain, rows, self.members)
        if len(self.counts) == len(self.members):
            return own
        into = np.zeros((len(self.members), len(self.counts)))
        into[np.arange(len(self.members)), self.cell] = 1.0
        return np.asarray(own @ into)

    def labels(self, x: DrawsView) -> list[Label]:
        """Name the cells: by a label, or by the labels of a group."""
        inside: list[list[Label]] = [[] for _ in self.counts]
        for i, k in zip(self.members.tolist(), self.cell.tolist(), strict=True):
            inside[k].append(x.categories[i])
        return [_named(own) for own in inside]


@dataclass(frozen=True, eq=False)
class _SetShares:
    """Probabilities of the cells of sets, set after set."""

    x: DrawsView
    sets: list[_RecordedSet]

    def add_weighted(self, out: FloatArray, weights: FloatArray) -> None:
        start = 0
        for each in self.sets:
            own = weights[start : start + len(each.counts)]
            start += len(each.counts)
            for chain, rows in self.x.blocks(len(each.members)):
                out[chain, rows] += each.shares(self.x, chain, rows) @ own


def _cells_of_sets(x: DrawsView, sets: list[_RecordedSet]) -> _Cells:
    sizes = [len(each.counts) for each in sets]
    return _Cells(
        np.concatenate([_mean_shares(x, each) for each in sets]),
        np.concatenate([each.counts for each in sets]),
        np.repeat(np.arange(len(sets)), sizes),
        [label for each in sets for label in each.labels(x)],
        np.array([each.counts.sum() for each in sets]),
        _SetShares(x, sets),
    )


def _mean_shares(x: DrawsView, each: _RecordedSet) -> FloatArray:
    total = np.zeros(len(each.counts))
    for chain, rows in x.blocks(len(each.members)):
        total += each.shares(x, chain, rows).sum(axis=0)
    return np.asarray(total / x.n_draws)


def _read_outcomes(x: DrawsView, outcomes: Iterable[Outcome]) -> list[_RecordedSet]:
    """Read the sets, and how often each category or group was the outcome."""
    found: dict[bytes, tuple[IntArray, dict[tuple[int, ...], float]]] = {}
    for row, triple in enumerate(outcomes, 1):
        try:
            label, within, count = triple
        except (TypeError, ValueError):
            raise DataError(
                f"outcome {row} is {describe(triple)}; a triple (label, within, count) is needed."
            ) from None
        group = _read_group(x, label, f"outcome {row}")
        members = np.sort(x.numbers(within, f"within of outcome {row}"))
        if not set(group) <= set(members.tolist()):
            raise DataError(
                f"outcome {row} is {label!r}, which lies outside the set it was recorded in: "
                f"{some([x.categories[int(i)] for i in members])}."
            )
        if 1 < len(group) == len(members):
            raise DataError(
                f"outcome {row} is the whole set it was recorded in, which says nothing. "
                "Leave it out."
            )
        _, counts = found.setdefault(members.tobytes(), (members, {}))
        counts[group] = counts.get(group, 0.0) + read_count(count, label)
    sets = [each for given in found.values() for each in _recorded(*given) if each.counts.any()]
    if not sets:
        raise DataError("no outcomes were given; reliability needs one at least.")
    return sets


def _read_group(x: DrawsView, label: Any, what: str) -> tuple[int, ...]:
    """Read an outcome: a label, or several of which one was the outcome."""
    known = is_hashable(label) and label in x.categories.index
    if known or not isinstance(label, tuple | list | set | frozenset):
        return (x.number(label, what),)
    return tuple(np.sort(x.numbers(list(label), what)).tolist())


def _recorded(members: IntArray, counts: dict[tuple[int, ...], float]) -> list[_RecordedSet]:
    """Divide a set into cells; groups that overlap make sets of their own."""
    listed = [i for group in counts for i in group]
    apart = len(set(listed)) == len(listed)
    singles: dict[tuple[int, ...], float] = {g: k for g, k in counts.items() if len(g) == 1}
    together = counts if apart else singles
    found = [_divided(members, together)] if together else []
    if not apart:
        for group, k in counts.items():
            if len(group) > 1:
                rest = tuple(i for i in members.tolist() if i not in group)
                found.append(_divided(members, {group: k, rest: 0.0}))
    return found


def _divided(members: IntArray, counts: dict[tuple[int, ...], float]) -> _RecordedSet:
    """Make a cell of each group, and one of each category that is in none."""
    groups = {i: group for group in counts for i in group}
    each = [groups.get(i, (i,)) for i in members.tolist()]
    number = {group: k for k, group in enumerate(dict.fromkeys(each))}
    cell = np.array([number[group] for group in each], np.int64)
    return _RecordedSet(members, cell, np.array([counts.get(group, 0.0) for group in number]))

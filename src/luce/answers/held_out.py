"""Check predictions on held-out data: predicted against observed shares, and scores."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

import numpy as np

from luce._types import FloatArray, IntArray, Label, Labels
from luce.answers.view import DrawsView
from luce.counts.labels import describe, read_count, some
from luce.errors import DataError, EvidenceWarning, warn_user
from luce.estimates.weights import basis, is_trusted, log_mean

if TYPE_CHECKING:
    from xarray import Dataset

    from luce.answers.view import DrawsLike


def reliability(
    draws: DrawsLike, outcomes: Iterable[tuple[Label, Labels | None, float]], bins: int = 10
) -> Dataset:
    """Compare predicted with observed shares of held-out outcomes.

    Each set S that outcomes were recorded in and each category i in S make a cell, with the
    predicted probability q_Si, the posterior mean of p_i / p(S), and the observed share.  Cells are
    then put into bins by their prediction.

    Parameters
    ----------
    draws
        A run of `Posterior.sample`, or an array of shape (chain, draw, category).
    outcomes
        Triples (label, within, count): `count` outcomes `label`, given that they lay in `within`,
        a list of labels, or None for all.  Equal sets are put together.
    bins
        Number of bins of equal width between 0 and 1.

    Returns
    -------
    Dataset
        - `predicted`, `observed`, `number`, dimension (cell), with coordinates `set` (counted from
          0 in the order given) and `category`: `number` is that of the set's outcomes;
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
    sets = _read_outcomes(x, outcomes)
    predicted = [_mean_shares(x, members) for members, _ in sets]
    counts = [counted for _, counted in sets]
    totals = np.array([counted.sum() for counted in counts])
    sizes = [len(members) for members, _ in sets]
    cell_set = np.repeat(np.arange(len(sets)), sizes)
    q, k = np.concatenate(predicted), np.concatenate(counts)
    number = totals[cell_set]
    columns = {
        "predicted": ("cell", q),
        "observed": ("cell", k / number),
        "number": ("cell", number),
        **_binned(q, k, number, cell_set, totals, int(bins)),
        **_scores(q, k, number, totals.sum()),
        "log_score_error": _error_of_log_score(x, sets, predicted),
    }
    labels = x.index["category"][np.concatenate([members for members, _ in sets])]
    edges = np.arange(bins + 1) / bins
    index = {
        "set": ("cell", cell_set),
        "category": ("cell", labels),
        "bin_lower": ("bin", edges[:-1]),
        "bin_upper": ("bin", edges[1:]),
    }
    return xr.Dataset(columns, index)


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


def _error_of_log_score(
    x: DrawsView, sets: list[tuple[IntArray, FloatArray]], predicted: list[FloatArray]
) -> float:
    """Compute the standard error of Σ k log q / Σ k, with q the means of shares over draws.

    To first order it is that of the mean over draws of Σ k (share / q) / Σ k, which is 1.
    """
    weights = np.zeros(x.values.shape[:2])
    for (members, counted), q in zip(sets, predicted, strict=True):
        seen = np.flatnonzero(counted)
        if (q[seen] == 0).any():  # a log score of -inf
            return float("nan")
        for chain, rows in x.blocks(len(members)):
            shares = x.shares(chain, rows, members)[:, seen]
            weights[chain, rows] += shares @ (counted[seen] / q[seen])
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


def _mean_shares(x: DrawsView, members: IntArray) -> FloatArray:
    total = np.zeros(len(members))
    for chain, rows in x.blocks(len(members)):
        total += x.shares(chain, rows, members).sum(axis=0)
    return np.asarray(total / x.n_draws)


def _read_outcomes(
    x: DrawsView, outcomes: Iterable[tuple[Label, Labels | None, float]]
) -> list[tuple[IntArray, FloatArray]]:
    """Members of each set in stored order, and how often each was the outcome."""
    found: dict[bytes, tuple[IntArray, FloatArray]] = {}
    for row, triple in enumerate(outcomes, 1):
        try:
            label, within, count = triple
        except (TypeError, ValueError):
            raise DataError(
                f"outcome {row} is {describe(triple)}; a triple (label, within, count) is needed."
            ) from None
        number = x.number(label, f"outcome {row}")
        members = np.sort(x.numbers(within, f"within of outcome {row}"))
        if number not in members:
            raise DataError(
                f"outcome {row} is {label!r}, which lies outside the set it was recorded in: "
                f"{some([x.categories[int(i)] for i in members])}."
            )
        _, counts = found.setdefault(members.tobytes(), (members, np.zeros(len(members))))
        counts[np.searchsorted(members, number)] += read_count(count, label)
    kept = [(members, counts) for members, counts in found.values() if counts.any()]
    if not kept:
        raise DataError("no outcomes were given; reliability needs one at least.")
    return kept

"""Compare categories in pairs: how often each would be chosen over the other."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from luce._types import FloatArray, Label, Labels
from luce.answers.view import DrawsView
from luce.errors import DataError

if TYPE_CHECKING:
    from xarray import DataArray

    from luce.answers.view import DrawsLike

# Strengths above this, relative to the largest, have ratios right to the last digits.
_SMALLEST = 1e-290


def beats(draws: DrawsLike, a: Label, b: Label) -> DataArray:
    """Compute the probability that a is chosen over b, p_a / (p_a + p_b), draw by draw.

    In contests it is the probability that a wins if they do not tie, on neutral ground; with Rao
    and Kupper's ties this depends on θ, too.  `luce.predict` has wins, ties and home advantages.

    Parameters
    ----------
    draws
        A run of `Posterior.sample`, or an array of shape (chain, draw, category).
    a, b
        Two labels.

    Returns
    -------
    DataArray
        Dimensions (chain, draw).

    Examples
    --------
    >>> import luce
    >>> luce.beats([[[0.6, 0.2, 0.2], [0.4, 0.4, 0.2]]], 0, 1).values
    array([[0.75, 0.5 ]])
    """
    x = DrawsView.of(draws)
    pair = np.array([x.number(a, "a"), x.number(b, "b")])
    if pair[0] == pair[1]:
        raise DataError(f"a and b are both {a!r}; name two categories.")
    values = np.empty(x.values.shape[:2])
    for chain, rows in x.blocks(2):
        values[chain, rows] = x.shares(chain, rows, pair)[:, 0]
    if _has_margin(x):
        values = _without_ties(values, _margins(x))
    return x.labelled(values, ("chain", "draw"), "beats")


def win_matrix(draws: DrawsLike, among: Labels | None = None) -> DataArray:
    """Compute posterior means of p_i / (p_i + p_j) for all pairs, dimensions (category, opponent).

    Row i, column j is the probability that i is chosen over j.  Opposite entries add up to 1; the
    diagonal is 1/2.  In contests it is the probability that i wins if they do not tie, on neutral
    ground, as for `beats`.

    Parameters
    ----------
    draws
        As for `beats`.
    among
        Compare these only, each with each; all but effects unless given, as for
        `rank_probabilities`.

    Examples
    --------
    >>> import luce
    >>> luce.answers.win_matrix([[[0.6, 0.2, 0.2], [0.4, 0.4, 0.2]]]).values.round(3)
    array([[0.5  , 0.625, 0.708],
           [0.375, 0.5  , 0.583],
           [0.292, 0.417, 0.5  ]])
    """
    x = DrawsView.ranked(draws, among)
    n = x.n_categories
    sums = np.zeros((n, n))
    # Each block is read n times: small ones stay in a processor's cache.
    for chain, rows in x.blocks(16 * n):
        logs = x.logs(chain, rows)
        logs -= logs.max(axis=1, keepdims=True)
        nothing = np.isneginf(logs)
        two = nothing.sum(axis=1) > 1
        x.refuse_zeros(two, np.flatnonzero(nothing.any(axis=0)), "who wins between the smallest")
        if _has_margin(x):
            _add_wins_by_margin(sums, logs, _margins(x)[chain, rows])
            continue
        strengths = np.exp(logs)
        wide = strengths.min(axis=1) < _SMALLEST
        _add_wins(sums, np.ascontiguousarray(strengths[~wide].T))
        _add_wide_wins(sums, logs[wide])
    wins = np.triu(sums / x.n_draws, 1)
    matrix = wins + (np.tri(n, k=-1) - wins.T) + np.diag(np.full(n, 0.5))
    labels = x.index["category"]
    return x.labelled(matrix, ("category", "opponent"), "win_probability", opponent=labels)


def _add_wins(sums: FloatArray, strengths: FloatArray) -> None:
    """Add p_i / (p_i + p_j) over draws for i < j; `strengths` has shape (category, draw)."""
    room = np.empty_like(strengths)
    for i, own in enumerate(strengths[:-1]):
        both = room[i + 1 :]
        np.add(strengths[i + 1 :], own, out=both)
        np.reciprocal(both, out=both)
        sums[i, i + 1 :] += both @ own


def _has_margin(x: DrawsView) -> bool:
    """Do wins need a margin θ, so that without ties they are no ratio of probabilities?"""
    return x.events is not None and x.events.ties == "rao-kupper"


def _margins(x: DrawsView) -> FloatArray:
    """Return draws of θ, shape (chain, draw)."""
    margins = x.parameter("tie")
    if margins is None:
        raise DataError(
            "the data has Rao-Kupper ties, but these draws do not hold their parameter 'tie'. Give "
            "the whole DataTree that Posterior.sample returned."
        )
    return margins


def _without_ties(share: FloatArray, theta: FloatArray) -> FloatArray:
    """Compute P(win) / (P(win) + P(loss)) of Rao and Kupper, from shares p_a / (p_a + p_b)."""
    won = share * (theta * share + (1 - share))
    lost = (1 - share) * (share + theta * (1 - share))
    return np.asarray(won / (won + lost))


def _add_wins_by_margin(sums: FloatArray, logs: FloatArray, theta: FloatArray) -> None:
    """Add P(win | no tie) of Rao and Kupper over draws for i < j, from log probabilities."""
    from scipy.special import expit

    for i in range(logs.shape[1] - 1):
        share = expit(logs[:, i, None] - logs[:, i + 1 :])
        sums[i, i + 1 :] += _without_ties(share, theta[:, None]).sum(axis=0)


def _add_wide_wins(sums: FloatArray, logs: FloatArray) -> None:
    """Add p_i / (p_i + p_j) from logarithms, where strengths lie too far apart for doubles."""
    from scipy.special import expit

    for i in range(logs.shape[1] - 1):
        sums[i, i + 1 :] += expit(logs[:, i, None] - logs[:, i + 1 :]).sum(axis=0)

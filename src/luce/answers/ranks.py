"""Rank categories draw by draw: probabilities of ranks, of being best, and of ties.

Rank 1 is the largest probability.  Categories whose probabilities are equal in a draw, as may
happen when both were stored as 0, share the ranks they take: each has each of them with the same
weight.  Logarithms are compared where the draws have them, because these do not underflow.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from luce._types import FloatArray, IntArray, Label, Labels
from luce.answers.view import DrawsView, tail_of
from luce.errors import DataError
from luce.sampling.mixing import ranking

if TYPE_CHECKING:
    from xarray import DataArray, Dataset

    from luce.answers.view import DrawsLike

# Draws times pairs of categories that are compared unasked.
_MOST_COMPARISONS = 2e9


class RankMoments(NamedTuple):
    """Moments of the ranks of each category, each of shape (category,).

    `lower` and `upper` are the ends of an interval, `best` the probability of rank 1.
    """

    mean: FloatArray
    sd: FloatArray
    lower: IntArray
    upper: IntArray
    best: FloatArray


def rank_probabilities(draws: DrawsLike, among: Labels | None = None) -> DataArray:
    """Compute the probability of each category to have each rank, dimensions (category, rank).

    Every row and every column adds up to 1.  Takes a table of n² numbers besides the draws.

    Parameters
    ----------
    draws
        A run of `Posterior.sample`, or an array of shape (chain, draw, category).
    among
        Rank these only, as if the others did not take part.  Unless given, all are ranked but the
        effects of the data (`ConditionalCounts.effects`: a tie, a home advantage).

    Examples
    --------
    >>> import luce
    >>> luce.rank_probabilities([[[0.5, 0.3, 0.2], [0.6, 0.2, 0.2]]]).values
    array([[1.  , 0.  , 0.  ],
           [0.  , 0.75, 0.25],
           [0.  , 0.25, 0.75]])
    """
    x = DrawsView.ranked(draws, among)
    n = x.n_categories
    alone = np.zeros(n * n, np.int64)
    # A tie over ranks s+1..e is stored as a step of 1/(e-s) at s and of -1/(e-s) at e: cumulative
    # sums along the ranks give its weights, at the cost of two entries for a tie of any length.
    steps = np.zeros(n * (n + 1))
    tied = np.zeros(n * (n + 1), np.int64)
    for chain, rows in x.blocks(n):
        places, first, last = _sorted(x.values[chain, rows])
        order = places - n * np.arange(len(places))[:, None]
        single = last == first
        place = np.broadcast_to(np.arange(n), order.shape)
        alone += np.bincount((order * n + place)[single], minlength=n * n)
        if not single.all():
            shared = ~single
            who, begin, end = order[shared], first[shared], last[shared] + 1
            for at, sign in ((begin, 1), (end, -1)):
                cells = who * (n + 1) + at
                steps += np.bincount(cells, sign / (end - begin), n * (n + 1))
                tied += sign * np.bincount(cells, minlength=n * (n + 1))
    weights = steps.reshape(n, n + 1).cumsum(axis=1)[:, :n]
    taken = tied.reshape(n, n + 1).cumsum(axis=1)[:, :n] > 0  # elsewhere is rounding error only
    table = (alone.reshape(n, n) + np.where(taken, weights, 0.0)) / x.n_draws
    ranks = np.arange(1, n + 1)
    return x.labelled(table, ("category", "rank"), "rank_probability", rank=ranks)


def probability_best(draws: DrawsLike, k: int = 1, among: Labels | None = None) -> DataArray:
    """Compute the probability of each category to be among the best k, dimension (category).

    These probabilities add up to k.

    Parameters
    ----------
    draws
        As for `rank_probabilities`.
    k
        Number of places: 1 to the number of categories.
    among
        As for `rank_probabilities`.

    Examples
    --------
    >>> import luce
    >>> luce.probability_best([[[0.5, 0.3, 0.2], [0.6, 0.2, 0.2]]], k=2).values
    array([1.  , 0.75, 0.25])
    """
    x = DrawsView.ranked(draws, among)
    n = x.n_categories
    if not isinstance(k, (int, np.integer)) or isinstance(k, bool) or not 1 <= k <= n:
        raise DataError(f"k = {k!r} was given; a whole number from 1 to {n} is needed.")
    return x.labelled(best(x, int(k)), ("category",), "probability_best")


def expected_ranks(draws: DrawsLike, ci_prob: float = 0.9, among: Labels | None = None) -> Dataset:
    """Compute the mean rank of each category, its standard deviation and a central interval.

    The interval's ends are ranks.  At most (1 - ci_prob)/2 of the draws lie below `lower`, at
    most as many above `upper`; a tie counts by its best rank below and by its worst above.

    Parameters
    ----------
    draws
        As for `rank_probabilities`.
    ci_prob
        Probability that the interval holds at least.
    among
        As for `rank_probabilities`.

    Returns
    -------
    Dataset
        `mean`, `sd`, `lower` and `upper`, dimension (category).

    Examples
    --------
    >>> import luce
    >>> ranks = luce.answers.expected_ranks([[[0.5, 0.3, 0.2], [0.6, 0.2, 0.2]]])
    >>> ranks["mean"].values, ranks["lower"].values, ranks["upper"].values
    (array([1.  , 2.25, 2.75]), array([1, 2, 2]), array([1, 3, 3]))
    """
    import xarray as xr

    tail = tail_of(ci_prob)
    x = DrawsView.ranked(draws, among)
    found = rank_moments(x, tail)
    columns = {
        name: x.labelled(getattr(found, name), ("category",), name)
        for name in ("mean", "sd", "lower", "upper")
    }
    return xr.Dataset(columns, attrs={"ci_prob": float(ci_prob)})


def expected_order(draws: DrawsLike, among: Labels | None = None) -> list[Label]:
    """List labels by their expected rank, best first.

    Parameters
    ----------
    draws
        As for `rank_probabilities`.
    among
        Rank these only, as if the others did not take part.  Equal expected ranks keep the order
        in which the labels are stored.

    Examples
    --------
    >>> import luce
    >>> luce.answers.expected_order([[[0.2, 0.3, 0.5], [0.2, 0.2, 0.6]]])
    [2, 1, 0]
    >>> luce.answers.expected_order([[[0.2, 0.3, 0.5], [0.2, 0.2, 0.6]]], among=[0, 1])
    [1, 0]
    """
    x = DrawsView.ranked(draws, among)
    return [x.categories[int(i)] for i in order_of(x)]


def probability_larger(draws: DrawsLike, among: Labels | None = None) -> DataArray:
    """Compute P(p_i > p_j) + P(p_i = p_j) / 2 for all pairs, dimensions (category, opponent).

    Opposite entries add up to 1; the diagonal is 1/2.  Compare `luce.answers.win_matrix`, the
    probability that i is *chosen* over j: it stays near 1/2 where i is surely the larger, but a
    little only.

    Parameters
    ----------
    draws
        As for `rank_probabilities`.
    among
        As for `rank_probabilities`.

    Examples
    --------
    >>> import luce
    >>> luce.answers.probability_larger([[[0.5, 0.3, 0.2], [0.6, 0.2, 0.2]]]).values
    array([[0.5 , 1.  , 1.  ],
           [0.  , 0.5 , 0.75],
           [0.  , 0.25, 0.5 ]])
    """
    x = DrawsView.ranked(draws, among)
    labels = x.index["category"]
    return x.labelled(larger(x), ("category", "opponent"), "probability_larger", opponent=labels)


def tie_groups(
    draws: DrawsLike, probability: float = 0.95, among: Labels | None = None
) -> list[list[Label]]:
    """Cut the expected order into groups, so that any two of different groups are told apart.

    The order is that of `expected_order`.  It is cut between two neighbours where every category
    i above is told from every category j below:

        P(p_i > p_j) + P(p_i = p_j) / 2  >=  probability,

    and nowhere else.  So any category of an earlier group is told from any of a later one.  Within
    a group some pairs may be told apart, too, but no line between two of its members separates all
    above from all below; `not_told_from` goes through the single pairs.

    The probability is that of each pair by itself.  That all pairs of different groups are in this
    order *at once* has a smaller one, which reports tell.

    Parameters
    ----------
    draws
        As for `rank_probabilities`.
    probability
        Probability required of each pair, above 1/2 and at most 1.
    among
        As for `rank_probabilities`.

    Examples
    --------
    >>> import luce
    >>> draws = [[[0.5, 0.1, 0.4], [0.4, 0.1, 0.5], [0.5, 0.1, 0.4], [0.5, 0.2, 0.3]]]
    >>> luce.tie_groups(draws)
    [[0, 2], [1]]
    >>> luce.tie_groups(draws, probability=0.7)
    [[0], [2], [1]]
    """
    _check_level(probability)
    x = DrawsView.ranked(draws, among)
    order = order_of(x)
    low, high = _surely_between(x, float(probability))
    groups: list[list[Label]] = [[]]
    reach = 0  # the last place that is not told from some place up to here
    for place, i in enumerate(order):
        groups[-1].append(x.categories[int(i)])
        # Categories whose draws lie below those of i, but for a few, are told from it unseen.
        doubtful = reach + 1 + np.flatnonzero(high[order[reach + 1 :]] >= low[i])
        reach = _last_not_told(x, int(i), order, doubtful, float(probability), reach)
        if reach == place < len(order) - 1:
            groups.append([])
            reach += 1
    return groups


def not_told_from(
    draws: DrawsLike, probability: float = 0.95, among: Labels | None = None
) -> dict[Label, list[Label]]:
    """List for each category the others that it cannot be told from, by expected rank.

    Two are told apart where one of them is the larger with at least the probability, as in
    `probability_larger`: each pair by itself.

    Parameters
    ----------
    draws
        As for `rank_probabilities`.
    probability
        Probability from which on two are told apart, above 1/2 and at most 1.
    among
        As for `rank_probabilities`.

    Examples
    --------
    >>> import luce
    >>> draws = [[[0.5, 0.1, 0.4], [0.4, 0.1, 0.5], [0.5, 0.1, 0.4], [0.5, 0.2, 0.3]]]
    >>> luce.answers.not_told_from(draws)
    {0: [2], 2: [0], 1: []}
    """
    _check_level(probability)
    x = DrawsView.ranked(draws, among)
    above = larger(x)
    told = np.maximum(above, above.T) >= probability
    np.fill_diagonal(told, val=True)
    order = order_of(x)
    labels = [x.categories[int(i)] for i in order]
    told = told[np.ix_(order, order)]
    return {label: [labels[j] for j in np.flatnonzero(~told[k])] for k, label in enumerate(labels)}


def larger(x: DrawsView) -> FloatArray:
    """Compute P(p_i > p_j) + P(p_i = p_j) / 2 for all pairs of categories."""
    n = x.n_categories
    halves = np.zeros((n, n), np.int64)  # draws in which i is larger count 2, ties 1
    for chain, rows in x.blocks(4 * n):
        values = np.ascontiguousarray(x.values[chain, rows].T)
        for i, own in enumerate(values[:-1]):
            rest = values[i + 1 :]
            above, below = (rest < own).sum(axis=1), (rest > own).sum(axis=1)
            halves[i, i + 1 :] += values.shape[1] + above - below
    upper = halves / (2 * x.n_draws)
    return np.triu(upper, 1) + np.tril(1 - upper.T, -1) + np.diag(np.full(n, 0.5))


def can_compare_pairs(x: DrawsView) -> bool:
    """Tell whether all pairs of categories can be compared within some seconds."""
    return x.n_categories**2 / 2 * x.n_draws <= _MOST_COMPARISONS


def in_order(x: DrawsView, groups: list[list[Label]]) -> float:
    """Compute the share of draws in which every category is larger than all of later groups."""
    numbers = [x.numbers(group, "a group") for group in groups]
    held = 0
    for chain, rows in x.blocks(x.n_categories):
        values = x.values[chain, rows]
        least = np.stack([values[:, own].min(axis=1) for own in numbers], axis=1)
        most = np.stack([values[:, own].max(axis=1) for own in numbers], axis=1)
        held += int((least[:, :-1] > most[:, 1:]).all(axis=1).sum())
    return held / x.n_draws


def _check_level(probability: float) -> None:
    """Refuse a level at which two cannot be told apart, or both ways."""
    if not isinstance(probability, (int, float, np.number)) or not 0.5 < probability <= 1:
        raise DataError(
            f"probability = {probability!r} was given; a number above 0.5 and at most 1 is needed."
        )


def _surely_between(x: DrawsView, probability: float) -> tuple[FloatArray, FloatArray]:
    """Find bounds with so few draws beyond each that two pairs of bounds apart tell two apart."""
    total = x.n_draws
    beyond = int((1 - probability) * total / 2)
    while beyond and (total - 2 * beyond) / total < probability:
        beyond -= 1
    low, high = np.empty((2, x.n_categories))
    for some_categories in x.category_blocks(2):
        columns = x.values[:, :, some_categories].reshape(total, -1)
        ends = np.partition(columns, [beyond, total - 1 - beyond], axis=0)
        low[some_categories], high[some_categories] = ends[beyond], ends[total - 1 - beyond]
    return low, high


def _last_not_told(
    x: DrawsView, i: int, order: IntArray, places: IntArray, probability: float, otherwise: int
) -> int:
    """Find the last of some places whose category is not told from category i."""
    own = np.ascontiguousarray(x.values[:, :, i])[:, :, None]
    width = max(1, x.block // (4 * x.n_draws))
    for stop in range(len(places), 0, -width):
        some_places = places[max(0, stop - width) : stop]
        rest = x.values[:, :, order[some_places]]
        score = (own > rest).sum(axis=(0, 1)) + (own == rest).sum(axis=(0, 1)) / 2
        missed = np.flatnonzero(score / x.n_draws < probability)
        if len(missed):
            return int(some_places[missed[-1]])
    return otherwise


def best(x: DrawsView, k: int) -> FloatArray:
    """Compute the probability of each category to be among the best k."""
    n = x.n_categories
    total = np.zeros(n)
    for chain, rows in x.blocks(n):
        values = x.values[chain, rows]
        last = np.partition(values, n - k, axis=1)[:, [n - k]]
        above, level = values > last, values == last
        # Those level with the last of the best share the places that are left.
        left = (k - above.sum(axis=1)) / level.sum(axis=1)
        total += above.sum(axis=0) + left @ level
    return total / x.n_draws


def best_in_draws(x: DrawsView, k: int, i: int) -> FloatArray:
    """Compute the probability that category i is among the best k in each draw, (chain, draw).

    It is 0 or 1 but for ties for the last place, which is then given by lot.
    """
    out = np.empty(x.values.shape[:2])
    for chain, rows in x.blocks(x.n_categories):
        values = x.values[chain, rows]
        own = values[:, [i]]
        above, level = (values > own).sum(axis=1), (values == own).sum(axis=1)
        out[chain, rows] = np.clip((k - above) / level, 0.0, 1.0)
    return out


def rank_moments(x: DrawsView, tail: float) -> RankMoments:
    """Compute moments of the ranks; needs a quarter of the draws' memory.

    Parameters
    ----------
    x
        The draws.
    tail
        Probability that may lie beyond each end of the interval.
    """
    bests, worsts = _rank_tables(x)
    n = x.n_categories
    lower, upper = np.empty((2, n), np.int64)
    found = RankMoments(np.empty(n), np.empty(n), lower, upper, np.empty(n))
    for some in x.category_blocks(4):  # four arrays of a block's size at once
        low = np.ascontiguousarray(bests[:, some].T)
        high = low if worsts is bests else np.ascontiguousarray(worsts[:, some].T)
        for column, values in zip(found, _moments(low, high, tail), strict=True):
            column[some] = values
    return found


def _rank_tables(x: DrawsView) -> tuple[IntArray, IntArray]:
    """Rank the categories of all draws, shape (draw, category).

    Ties have a best and a worst rank; both tables are the same where there are none.
    """
    n, total = x.n_categories, x.n_draws
    kind = np.uint16 if n < 1 << 16 else np.uint32
    bests = np.empty((total, n), kind)
    worsts = bests
    start = 0
    for chain, rows in x.blocks(8 * n):  # eight arrays of a block's size at once
        places, first, last = _sorted(x.values[chain, rows])
        here = slice(start, start + len(places))
        start += len(places)
        if worsts is bests and first is not last:
            worsts = bests.copy()
        bests[here].reshape(-1)[places] = (first + 1).astype(kind)
        if worsts is not bests:
            worsts[here].reshape(-1)[places] = (last + 1).astype(kind)
    return bests, worsts


def _moments(low: IntArray, high: IntArray, tail: float) -> RankMoments:
    """Compute moments of ranks of shape (category, draw), those of ties being from low to high."""
    total = low.shape[1]
    beyond = min(int(tail * total + 1e-9), (total - 1) // 2)
    rising = falling = np.sort(low, axis=1, kind="stable")  # a radix sort, where ranks are short
    middle = low.astype(np.float64)
    spread, first_places = np.zeros(len(low)), np.count_nonzero(low == 1, axis=1) / total
    if low is not high:
        falling = np.sort(high, axis=1, kind="stable")
        level = high - middle + 1
        middle = (middle + high) / 2
        # A tie over `level` ranks has the variance (level² - 1) / 12 of a uniform rank.
        spread = (level**2 - 1).mean(axis=1) / 12
        first_places = ((low == 1) / level).mean(axis=1)
    mean = middle.mean(axis=1)
    variance = np.vecdot(middle, middle) / total + spread - mean**2
    sd = np.sqrt(np.maximum(variance, 0.0))
    return RankMoments(mean, sd, rising[:, beyond], falling[:, -1 - beyond], first_places)


def order_of(x: DrawsView) -> IntArray:
    """Sort category numbers by expected rank, best first."""
    sums = np.zeros(x.n_categories)
    for chain, rows in x.blocks(x.n_categories):
        places, first, last = _sorted(x.values[chain, rows])
        middles = np.empty(places.shape)
        middles.reshape(-1)[places] = (first + last) / 2
        sums += middles.sum(axis=0)
    return np.asarray(np.argsort(sums, kind="stable"))


def _sorted(values: FloatArray) -> tuple[IntArray, IntArray, IntArray]:
    """Sort categories, largest value first: their places in the flat array of values.

    Also give the first and last rank (from 0) of ties: the same array where there are none.
    """
    rising = ranking(values)
    places, ordered = rising.places[:, ::-1], rising.rising[:, ::-1]
    n = values.shape[1]
    rank = np.broadcast_to(np.arange(n), places.shape)
    new = np.ones(places.shape, np.bool_)
    new[:, 1:] = ordered[:, 1:] != ordered[:, :-1]
    if new.all():
        return places, rank, rank
    first = np.maximum.accumulate(np.where(new, rank, 0), axis=1)
    closes = np.ones(places.shape, np.bool_)
    closes[:, :-1] = new[:, 1:]
    ends = np.where(closes, rank, n)[:, ::-1]
    last = np.minimum.accumulate(ends, axis=1)[:, ::-1]
    return places, first, last

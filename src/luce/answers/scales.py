"""Put draws on other scales: shares, log odds, Elo; and summarise them by intervals.

All are computed from logarithms where the draws have them, so that probabilities too small for a
double are no trouble.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from luce._types import FloatArray, IntArray, Label, Labels
from luce.answers.view import DrawsView, tail_of
from luce.counts.labels import as_mapping, label_array, some
from luce.errors import DataError, MethodError

if TYPE_CHECKING:
    from xarray import DataArray, Dataset, DataTree

    from luce.answers.view import DrawsLike

_SAMPLE = ("chain", "draw")
SCALES = ("probability", "log-odds", "elo")
# Elo points by which odds grow e-fold: 400 points are odds of 10 to 1.
_ELO = 400 / np.log(10)


def shares(
    draws: DrawsLike,
    among: Labels | None = None,
    groups: Mapping[str, Labels] | None = None,
) -> DataArray:
    """Compute shares of choice among the categories on offer, p_i / p(among), draw by draw.

    In contests they are shares of strength, and no probabilities of results: `luce.predict` has
    those.

    Parameters
    ----------
    draws
        A run of `Posterior.sample`, or an array of shape (chain, draw, category).
    among
        The labels on offer; all but effects unless given, as for `luce.rank_probabilities`.
    groups
        Maps names of groups to labels on offer: the shares within each group are then added up.

    Returns
    -------
    DataArray
        Dimensions (chain, draw, category), in the order of `among`; or (chain, draw, group).

    Examples
    --------
    >>> import luce
    >>> draws = [[[0.5, 0.3, 0.2], [0.2, 0.6, 0.2]]]
    >>> luce.shares(draws, among=[0, 1]).values
    array([[[0.625, 0.375],
            [0.25 , 0.75 ]]])
    >>> luce.shares(draws, groups={"even": [0, 2], "odd": [1]}).values
    array([[[0.7, 0.3],
            [0.4, 0.6]]])
    """
    x = DrawsView.ranked(draws) if among is None else DrawsView.of(draws)
    offered = x.numbers(among, "among")
    values = np.empty((*x.values.shape[:2], len(offered)))
    for chain, rows in x.blocks(len(offered)):
        values[chain, rows] = x.shares(chain, rows, offered)
    if groups is None:
        labels = x.index["category"][offered]
        return x.labelled(values, (*_SAMPLE, "category"), "shares", category=labels)
    names, weights = _read_groups(x, offered, groups)
    return x.labelled(values @ weights, (*_SAMPLE, "group"), "shares", group=names)


def log_odds(
    draws: DrawsLike, reference: Label | None = None, among: Labels | None = None
) -> DataArray:
    """Compute log odds of each category against a reference, log(p_i / p_ref), draw by draw.

    In contests with Davidson's ties, or none, they are log odds of a win against a loss on neutral
    ground; with Rao and Kupper's they are log ratios of strengths, from which `luce.beats` differs.

    Parameters
    ----------
    draws
        As for `shares`.
    reference
        A label; or None to subtract the mean of all log p_i that are kept.
    among
        Keep these categories only, the mean being theirs; all but effects unless given, as for
        `luce.rank_probabilities`.

    Returns
    -------
    DataArray
        Dimensions (chain, draw, category).

    Examples
    --------
    >>> import luce
    >>> luce.log_odds([[[0.25, 0.25, 0.5]]], reference=0).values.round(3)
    array([[[0.   , 0.   , 0.693]]])
    """
    x = DrawsView.ranked(draws, among)
    return x.labelled(log_odds_values(x, reference), (*_SAMPLE, "category"), "log_odds")


def elo(
    draws: DrawsLike,
    reference: Label | None = None,
    at: float = 1500.0,
    among: Labels | None = None,
) -> DataArray:
    """Compute Elo ratings, at + 400 / ln(10) · log(p_i / p_ref), draw by draw.

    A difference of 400 points is odds of 10 to 1; for contests see `log_odds`.

    Parameters
    ----------
    draws
        As for `shares`.
    reference
        As for `log_odds`.
    at
        The rating of the reference.
    among
        As for `log_odds`.

    Returns
    -------
    DataArray
        Dimensions (chain, draw, category).

    Examples
    --------
    >>> import luce
    >>> luce.elo([[[0.05, 0.45, 0.5]]], reference=0, at=1000).values.round(1)
    array([[[1000. , 1381.7, 1400. ]]])
    """
    if not isinstance(at, (int, float, np.number)) or not np.isfinite(at):
        raise DataError(f"at = {at!r} was given; a finite number is needed.")
    x = DrawsView.ranked(draws, among)
    return x.labelled(
        float(at) + _ELO * log_odds_values(x, reference), (*_SAMPLE, "category"), "elo"
    )


def scaled(x: DrawsView, scale: str, reference: Label | None, at: float) -> DataArray:
    """Put draws on one of `SCALES`, dimensions (chain, draw, category).

    `reference` and `at` are those of `elo`.
    """
    if scale not in SCALES:
        raise MethodError(f"scale = {scale!r} was given; {some(SCALES)} are possible.")
    if scale == "elo":
        return elo(x, reference, at)
    if scale == "log-odds":
        return log_odds(x, reference)
    if reference is not None:
        raise MethodError(
            f"reference = {reference!r} was given, but probabilities are against nothing; "
            'choose scale="log-odds" or scale="elo".'
        )
    return x.labelled(x.probabilities, (*_SAMPLE, "category"), "probabilities")


def odds_in_words(x: DrawsView) -> str:
    """Say of what log odds and Elo tell odds: choices, or wins where ties and home are apart.

    `x` holds all categories, effects among them.
    """
    events = x.events
    if events is None or events.kind != "contests":
        return "odds"
    if events.ties == "rao-kupper":
        return "a ratio of strengths"
    home = events.home or "home" in x.effects.values()
    return f"odds of a win against a loss{' on neutral ground' if home else ''}"


def intervals(array: DataArray | DataTree | DrawsView, ci_prob: float = 0.9) -> Dataset:
    """Compute mean, standard deviation and central interval over all chains and draws.

    Parameters
    ----------
    array
        A DataArray with dimensions chain and draw, among any others, such as `shares` and `elo`
        return; or draws themselves.
    ci_prob
        Probability of the interval, between 0 and 1.

    Returns
    -------
    Dataset
        `mean`, `sd`, `lower` and `upper`, with the array's other dimensions.

    Examples
    --------
    >>> import luce
    >>> import numpy as np
    >>> draws = np.random.default_rng(1).dirichlet([3.0, 1.0], size=(4, 5000))
    >>> found = luce.answers.intervals(luce.beats(draws, 0, 1))
    >>> round(float(found["mean"]), 2), round(float(found["lower"]), 1)
    (0.75, 0.4)
    """
    import xarray as xr

    tail = tail_of(ci_prob)
    if isinstance(array, (xr.DataTree, DrawsView)):
        view = DrawsView.of(array)
        array = view.labelled(view.probabilities, (*_SAMPLE, "category"), "probabilities")
    if not isinstance(array, xr.DataArray) or not set(_SAMPLE) <= set(array.dims):
        given = getattr(array, "dims", type(array).__name__)
        raise DataError(f"a DataArray with dimensions chain and draw is needed; {given} was given.")
    rest = [dim for dim in array.dims if dim not in _SAMPLE]
    values = array.transpose(*_SAMPLE, *rest).to_numpy()
    if values.shape[0] * values.shape[1] == 0:
        raise DataError(f"no draws: sizes {dict(array.sizes)} were given.")
    if values.size == 0:
        raise DataError(
            f"there is nothing to summarise: sizes {dict(array.sizes)} were given. A difference of "
            "arrays keeps the labels that both have; luce.compare_groups compares groups of data "
            "whose labels differ, and says what becomes of these."
        )
    lower, upper = np.quantile(values, [tail, 1 - tail], axis=(0, 1))
    found = {
        "mean": values.mean(axis=(0, 1)),
        "sd": values.std(axis=(0, 1)),
        "lower": lower,
        "upper": upper,
    }
    coords = {k: v for k, v in array.coords.items() if not set(v.dims) & set(_SAMPLE)}
    return xr.Dataset(
        {name: (rest, v) for name, v in found.items()}, coords, {"ci_prob": float(ci_prob)}
    )


def log_odds_values(x: DrawsView, reference: Label | None) -> FloatArray:
    """Subtract the reference's log probability, or the mean one, from all; (chain, draw, i)."""
    number = None if reference is None else x.number(reference, "reference")
    out = np.empty(x.values.shape)
    for chain, rows in x.blocks(x.n_categories):
        logs = x.logs(chain, rows)
        nothing = np.isneginf(logs)
        x.refuse_zeros(nothing, np.flatnonzero(nothing.any(axis=0)), "log odds")
        centre = logs.mean(axis=1) if number is None else logs[:, number]
        np.subtract(logs, centre[:, None], out=out[chain, rows])
    return out


def _read_groups(
    x: DrawsView, offered: IntArray, groups: Mapping[str, Labels]
) -> tuple[Any, FloatArray]:
    """Read names of groups, and a 0/1 matrix of the offered categories that each holds."""
    groups = as_mapping(groups, "groups")
    if not isinstance(groups, Mapping) or not groups:
        raise DataError(f"groups must map names to labels; {groups!r} was given.")
    place = np.full(x.n_categories, -1)
    place[offered] = np.arange(len(offered))
    weights = np.zeros((len(offered), len(groups)))
    for g, (name, labels) in enumerate(groups.items()):
        numbers = x.numbers(labels, f"groups[{name!r}]")
        if (place[numbers] < 0).any():
            stranger = x.categories[int(numbers[place[numbers] < 0][0])]
            on_offer = some([x.categories[int(i)] for i in offered])
            raise DataError(
                f"{stranger!r} in groups[{name!r}] is not on offer; `among` holds {on_offer}."
            )
        weights[place[numbers], g] = 1.0
    return label_array(list(groups)), weights

"""Put rows of a transition matrix together that were drawn one by one."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from luce._types import Label
from luce.answers.view import DrawsView
from luce.counts.labels import label_array, some
from luce.errors import DataError

if TYPE_CHECKING:
    from xarray import DataArray

    from luce.answers.view import DrawsLike


def transition_matrix(runs: Mapping[Label, DrawsLike]) -> DataArray:
    """Put draws of separate rows together, with exact zeros for moves that cannot occur.

    Parameters
    ----------
    runs
        Maps each state to draws of where it moves to, as for
        ``from_transitions(..., rows="separate")``; all with as many chains and draws.

    Returns
    -------
    DataArray
        Dimensions (chain, draw, source, target); each row adds up to 1.

    Examples
    --------
    >>> import luce
    >>> rows = luce.from_transitions("abcabcacb", rows="separate")
    >>> runs = {
    ...     state: luce.Posterior(row).sample(500, seed=k)
    ...     for k, (state, row) in enumerate(rows.items())
    ... }
    >>> luce.answers.transition_matrix(runs).mean(("chain", "draw")).values.round(1)
    array([[0. , 0.6, 0.4],
           [0.3, 0. , 0.7],
           [0.6, 0.4, 0. ]])
    """
    import xarray as xr

    if not isinstance(runs, Mapping) or not runs:
        raise DataError("a mapping from states to draws of their rows is needed.")
    states = list(runs)
    seeds = [
        (run.attrs["seed"], tuple(run.attrs.get("seed_spawn_key", ())))
        for run in runs.values()
        if isinstance(run, xr.DataTree) and "seed" in run.attrs
    ]
    if len(set(seeds)) < len(seeds):
        raise DataError(
            "some rows were drawn with the same seed, so that they depend on each other; give each "
            "a seed of its own."
        )
    drawn = [DrawsView.of(run) for run in runs.values()]
    shapes = {row.probabilities.shape[:2] for row in drawn}
    if len(shapes) > 1:
        raise DataError(f"the rows differ in chains and draws: {sorted(shapes)}.")
    labels = dict.fromkeys(states)
    for row in drawn:
        labels.update(dict.fromkeys(row.categories))
    targets = list(labels)
    unknown = [label for label in targets if label not in runs]
    if unknown:
        raise DataError(f"some rows lead to {some(unknown)}, for which there are no draws.")
    place = {label: j for j, label in enumerate(targets)}
    matrix = np.zeros((*shapes.pop(), len(states), len(targets)))
    for i, row in enumerate(drawn):
        matrix[:, :, i, [place[label] for label in row.categories]] = row.probabilities
    names = label_array(states)
    coords = {"source": ("source", names), "target": ("target", names)}
    return xr.DataArray(matrix, coords, ("chain", "draw", "source", "target"), "transitions")

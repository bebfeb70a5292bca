"""Transition matrices of draws: rows that were drawn together, one by one, or as one vector."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from luce._types import BoolArray, FloatArray, Label
from luce.answers.view import DrawsView
from luce.counts.labels import Categories, label_array, plural, some
from luce.errors import DataError
from luce.model.contents import model_of, refuse_sequences
from luce.reading.transitions import forbidden_moves

if TYPE_CHECKING:
    from xarray import DataArray, DataTree

    from luce.answers.view import DrawsLike

_DIMS = ("chain", "draw", "source", "target")
_LOOPS = ("removed", "kept")


def transition_matrix(
    draws: DrawsLike | Mapping[Label, DrawsLike],
    *,
    forbidden: Any = None,
    self_loops: str | None = None,
) -> DataArray:
    """Lay draws of transition probabilities out as a matrix, exactly 0 for impossible moves.

    Parameters
    ----------
    draws
        A run that has rows, of `SeparateRows.sample` or `HDPTransitions.fit`; a mapping from each
        state to draws of where it moves to, all with as many chains and draws; a matrix that this
        function returned.  Or draws of one vector p for all states, as `Posterior` makes them of
        ``from_transitions(..., rows="shared")``: the row of state i is then p_j / (1 - p(F_i)),
        with F_i the states that cannot follow i.
    forbidden
        For draws of one vector alone: further transitions that cannot occur, as they were given to
        `from_transitions`.
    self_loops
        For draws of one vector alone: "removed", unless given, or "kept", as there.

    Returns
    -------
    DataArray
        Dimensions (chain, draw, source, target); each row adds up to 1.  The coordinate `forbidden`
        marks the transitions that cannot occur.

    Examples
    --------
    >>> import luce
    >>> rows = luce.from_transitions("abcabcacb", rows="separate")
    >>> run = luce.sequences.SeparateRows(rows).sample(500, seed=1)
    >>> luce.answers.transition_matrix(run).mean(("chain", "draw")).values.round(1)
    array([[0. , 0.6, 0.4],
           [0.3, 0. , 0.7],
           [0.6, 0.4, 0. ]])

    One vector for all states:

    >>> counts = luce.from_transitions("abcabcacb")
    >>> run = luce.Posterior(counts).sample(500, seed=1, progress=False)
    >>> luce.answers.transition_matrix(run).mean(("chain", "draw")).values.round(1)
    array([[0. , 0.5, 0.5],
           [0.4, 0. , 0.6],
           [0.4, 0.6, 0. ]])
    """
    import xarray as xr

    if self_loops not in (None, *_LOOPS):
        raise DataError(f"self_loops = {self_loops!r}; 'removed' or 'kept' is needed.")
    rows: DataArray | None = None
    if isinstance(draws, xr.DataTree):
        rows = _rows_of_run(draws)
    elif isinstance(draws, Mapping):
        rows = _rows_one_by_one(draws)  # type: ignore[arg-type]
    elif isinstance(draws, xr.DataArray) and draws.ndim == len(_DIMS):
        rows = _rows_of_array(draws)
    if rows is None:
        return _rows_of_vector(draws, forbidden, self_loops)  # type: ignore[arg-type]
    return _without_options(rows, forbidden, self_loops)


def _without_options(rows: DataArray, forbidden: Any, self_loops: str | None) -> DataArray:
    """Refuse options that draws of rows have no use for."""
    if forbidden is not None or self_loops is not None:
        raise DataError(
            "forbidden and self_loops are for draws of one vector; these draws have rows, which "
            "tell what cannot occur. Leave them out."
        )
    return rows


def _labelled(
    matrix: FloatArray, sources: Any, targets: Any, forbidden: BoolArray | None
) -> DataArray:
    """Label a matrix; where it is not known what cannot occur, that is what never did."""
    import xarray as xr

    if forbidden is None:
        forbidden = (matrix == 0).all(axis=(0, 1))
    coords = {
        "source": ("source", sources),
        "target": ("target", targets),
        "forbidden": (("source", "target"), forbidden),
    }
    return xr.DataArray(matrix, coords, _DIMS, "transitions")


def _rows_of_run(run: DataTree) -> DataArray | None:
    """Read the rows of a run; None where it has none."""
    if run.attrs.get("model") == "semi-markov":
        refuse_sequences(run)
    posterior = run["posterior"].to_dataset() if "posterior" in run.children else {}
    if "rows" not in posterior:
        if run.attrs.get("model") == "transitions":
            raise DataError(
                "transition probabilities were not kept with this run; fit again with rows=True."
            )
        return None
    rows = posterior["rows"].transpose("chain", "draw", "source", "state")
    constant = run["constant_data"].to_dataset() if "constant_data" in run.children else {}
    mask = constant["forbidden"].values.astype(np.bool_) if "forbidden" in constant else None
    return _labelled(rows.values, rows["source"].values, rows["state"].values, mask)


def _rows_of_array(matrix: DataArray) -> DataArray:
    """Read a matrix of draws: dimensions chain, draw, source, and target or state."""
    if "state" in matrix.dims and "target" not in matrix.dims:
        matrix = matrix.rename(state="target")
    if set(matrix.dims) != set(_DIMS):
        raise DataError(
            f"a matrix with dimensions {matrix.dims} was given; {_DIMS} are needed, each row "
            "adding up to 1."
        )
    matrix = matrix.transpose(*_DIMS)
    values = matrix.values.astype(np.float64)
    if values.size == 0 or not np.isfinite(values).all() or values.min() < 0:
        raise DataError("the matrix holds no draws, or numbers that are no probabilities.")
    off = float(np.abs(values.sum(axis=3) - 1).max())
    if off > 1e-6:
        raise DataError(f"each row of a draw must add up to 1; one is off by {off:.3g}.")
    sources, targets = (
        matrix[dim].values if dim in matrix.coords else np.arange(matrix.sizes[dim])
        for dim in ("source", "target")
    )
    mask = matrix["forbidden"].values if "forbidden" in matrix.coords else None
    return _labelled(values, sources, targets, mask)


def _rows_one_by_one(runs: Mapping[Label, DrawsLike]) -> DataArray:
    """Put together rows that were drawn one by one."""
    import xarray as xr

    if not runs:
        raise DataError(
            "a mapping from states to draws of their rows is needed; an empty one was given."
        )
    states = list(runs)
    seeds = [
        (run.attrs["seed"], tuple(run.attrs.get("seed_spawn_key", ())))
        for run in runs.values()
        if isinstance(run, xr.DataTree) and "seed" in run.attrs
    ]
    if len(set(seeds)) < len(seeds):
        raise DataError(
            "some rows were drawn with the same seed, so that they depend on each other; give each "
            "a seed of its own, or draw them together by luce.sequences.SeparateRows."
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
    forbidden = np.ones(matrix.shape[2:], np.bool_)
    for i, row in enumerate(drawn):
        own = [place[label] for label in row.categories]
        matrix[:, :, i, own] = row.probabilities
        forbidden[i, own] = False
    return _labelled(matrix, label_array(states), label_array(targets), forbidden)


def _rows_of_vector(draws: DrawsLike, forbidden: Any, self_loops: str | None) -> DataArray:
    """Divide one vector of probabilities, for each state, by the total of what can follow it."""
    x = DrawsView.of(draws)
    if "kept_categories" in getattr(draws, "attrs", {}):
        raise DataError("only some probabilities were kept with this run; a matrix needs all.")
    mask = forbidden_moves(forbidden, x.categories)
    if self_loops != "kept":
        np.fill_diagonal(mask, True)
    nowhere = np.flatnonzero(mask.all(axis=1))
    if len(nowhere):
        raise DataError(
            f"from {some([x.categories[int(i)] for i in nowhere])} nothing is allowed: every state "
            "needs somewhere to go."
        )
    _check_data(draws, x.categories, mask)
    matrix = np.zeros((*x.probabilities.shape, x.n_categories))
    for i, row in enumerate(mask):
        place = np.flatnonzero(~row)
        for chain, some_draws in x.blocks(len(place)):
            matrix[chain, some_draws, i, place] = x.shares(chain, some_draws, place).T
    labels = x.index["category"]
    return _labelled(matrix, labels, labels, mask)


def _check_data(draws: DrawsLike, states: Categories, forbidden: BoolArray) -> None:
    """Refuse a run whose data was not recorded under the rows of this mask."""
    import xarray as xr

    if not isinstance(draws, xr.DataTree):
        return
    if "observed_data" not in draws.children or "data_pieces" in draws.attrs:
        return
    counts = model_of(draws).counts
    if counts.events is not None:
        raise DataError(f"the data of this run has {counts.events.kind}; it is no transitions.")
    allowed = {frozenset(states[int(j)] for j in np.flatnonzero(~row)) for row in forbidden}
    given = [term for term in counts.terms() if term.exponent < 0]
    odd = [t for t in given if t.weights is not None or frozenset(t.members) not in allowed]
    among_all = counts.n_outcomes + sum(term.exponent for term in given)
    if not odd and (among_all <= 1e-9 * counts.n_outcomes or frozenset(states) in allowed):
        return
    what = str(odd[0]) if odd else f"{plural(among_all, 'outcome')} given all states"
    raise DataError(
        f"the data of this run has {what}, and no state has these as the states that can follow "
        "it. Give forbidden= and self_loops= as they were given to from_transitions; other data "
        "than transitions has no transition matrix."
    )

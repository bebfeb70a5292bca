"""The kernel's problem of an HDP over transitions: checked counts, mask and priors."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from luce._types import BoolArray, FloatArray, WordArray
from luce.counts.labels import Categories, read_number, some
from luce.errors import DataError
from luce.model.priors import Gamma

if TYPE_CHECKING:
    from luce.kernels.hdp import Transitions


@dataclass(frozen=True)
class Sweeps:
    """Draws of some sweeps; `tables` and `log_hidden` are those of the last sweep.

    `log_base` has shape (sweep, column), `concentrations` (sweep, 2), `rows` (sweep, row, column).
    """

    log_base: FloatArray
    concentrations: FloatArray
    rows: FloatArray
    tables: FloatArray
    log_hidden: FloatArray


@dataclass(frozen=True)
class TransitionProblem:
    """Transition counts, mask of forbidden transitions and priors, in the kernel's layout."""

    data: Transitions

    def advance(
        self, bits: WordArray, log_base: FloatArray, scales: FloatArray, sweeps: int, rows: bool
    ) -> Sweeps:
        """Make sweeps; the state `log_base` and `scales`, (log α, log γ), is overwritten."""
        from luce.kernels.hdp import advance

        n_rows, n_columns = self.data.counts.shape
        out = Sweeps(
            np.empty((sweeps, n_columns)),
            np.empty((sweeps, 2)),
            np.empty((sweeps if rows else 0, n_rows, n_columns)),
            np.empty(n_columns),
            np.empty(n_rows),
        )
        last, every = (out.tables, out.log_hidden), (out.log_base, out.concentrations, out.rows)
        advance(bits, self.data, log_base, scales, *last, *every)
        return out


def make_problem(
    counts: FloatArray,
    starts: FloatArray,
    forbidden: BoolArray | None,
    self_loops: bool,
    priors: tuple[float | Gamma, float | Gamma],
    labels: Categories | None,
) -> TransitionProblem:
    """Check counts against the mask, and combine them with the priors.

    Without a mask the problem is nonparametric, with one column more than rows for the remainder.
    """
    from luce.kernels.hdp import Transitions

    n = len(counts)
    share = np.full(n, 1.0 / max(n, 1))
    mask = np.eye(n, dtype=np.bool_) & (not self_loops) if forbidden is None else forbidden.copy()
    wrong = np.argwhere(mask & (counts > 0))
    if len(wrong):
        i, j = wrong[0].tolist()
        raise DataError(
            f"{counts[i, j]:g} transitions from {_name(labels, i)} to {_name(labels, j)} were "
            "counted, but they are forbidden."
        )
    if forbidden is None:
        unseen = np.flatnonzero((counts.sum(axis=0) == 0) & (starts == 0))
        if len(unseen):
            raise DataError(
                f"{_name(labels, int(unseen[0]))} was left but never entered. In the "
                "nonparametric form every state is there because the base produced it: count the "
                "first states of sequences in starts."
            )
        counts = np.hstack([counts, np.zeros((n, 1))])
        mask = np.hstack([mask, np.zeros((n, 1), np.bool_)])
        starts, share = np.r_[starts, 0.0], np.r_[np.zeros(n), 1.0]
    pairs = [(p.shape, p.rate) if isinstance(p, Gamma) else (0.0, 1.0) for p in priors]
    totals = counts.sum(axis=1)
    data = Transitions(counts, totals, mask, share, starts, np.array(pairs).ravel())
    return TransitionProblem(data)


def read_scale(given: float | Gamma, what: str) -> float | Gamma:
    """Read a concentration: a positive number, or the prior of one."""
    if isinstance(given, Gamma):
        return given
    number = read_number(given, what)
    if not 1e-200 < number < 1e200:
        raise DataError(f"{what} = {given!r}; a positive number or a luce.Gamma is needed.")
    return number


def whole_counts(given: ArrayLike, shape: tuple[int, ...], what: str) -> FloatArray:
    """Read counts into a new array; refuse counts that are not whole, finite and non-negative."""
    try:
        counts = np.array(given, np.float64, order="C")
    except (TypeError, ValueError):
        raise DataError(f"{what} must be numbers; {type(given).__name__} was given.") from None
    if counts.shape != shape:
        raise DataError(
            f"{what} has shape {counts.shape}; {shape} is needed, one for each of the state's "
            f"{shape[0]} states."
        )
    if not (
        np.isfinite(counts).all() and (counts >= 0).all() and (np.rint(counts) == counts).all()
    ):
        raise DataError(f"{what} must be whole numbers, finite and not negative.")
    return counts


def check_row_left(forbidden: BoolArray, states: Categories) -> None:
    """Refuse a mask that leaves some state nowhere to go."""
    nowhere = np.flatnonzero(forbidden.all(axis=1))
    if len(nowhere):
        raise DataError(
            f"from {some([states[int(i)] for i in nowhere])} nothing is allowed: every state "
            "needs somewhere to go."
        )


def _name(labels: Categories | None, i: int) -> str:
    return f"state {i}" if labels is None else repr(labels[i])

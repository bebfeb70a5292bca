"""The hierarchical Dirichlet process over transitions: model, one Gibbs sweep, and the fit."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from luce._types import FloatArray, Label, Labels, SeedLike
from luce.counts.labels import Categories
from luce.errors import DataError
from luce.model.priors import Gamma
from luce.reading.transitions import forbidden_moves
from luce.sampling.settings import check_whole
from luce.sequences.hdp_problem import (
    TransitionProblem,
    check_row_left,
    make_problem,
    read_scale,
    whole_counts,
)
from luce.sequences.hdp_state import HDPState, ResampleInfo, broken_off, log_dirichlet

if TYPE_CHECKING:
    from xarray import DataTree

    from luce.cluster.connect import ClusterLike


class HDPTransitions:
    """Transition probabilities whose rows share a base, some transitions being forbidden.

        β ~ Dir(γ/L, ..., γ/L),     π_i ~ Dir(α β),     next state | i  ~  π_i given not in F_i

        β      base: popularity of each state as a destination
        γ      base_concentration: large, all states are equally popular; small, few are
        π_i    rows
        α      concentration: large, rows resemble the base and each other; small, they do not
        F_i    forbidden from i

    The nonparametric form is its limit of L to infinity: β is a Dirichlet process, the states
    that occur have names, and the remainder holds all others.

    Parameters
    ----------
    n_states
        Number L of states, or their labels; or "nonparametric".
    concentration, base_concentration
        α and γ: positive numbers; or `Gamma` priors, and then the concentrations are drawn too.
    forbidden
        Transitions that cannot occur, besides self-loops: a mapping from a state to the states it
        cannot move to, a list of (from, to), or a square array of True and False.
    self_loops
        "removed": no state follows itself.  "kept": staying is a transition like any other.

    Examples
    --------
    >>> model = HDPTransitions(3, concentration=6.0, base_concentration=6.0)
    >>> rng = np.random.default_rng(1)
    >>> state = model.initial_state(rng)
    >>> counts = np.array([[0, 50, 50], [90, 0, 10], [90, 10, 0]])
    >>> state, info = model.resample(rng, counts, state)
    >>> state.rows.diagonal()
    array([0., 0., 0.])
    """

    def __init__(
        self,
        n_states: int | Labels | str,
        concentration: float | Gamma = 1.0,
        base_concentration: float | Gamma = 1.0,
        forbidden: Any = None,
        self_loops: str = "removed",
    ) -> None:
        if self_loops not in ("removed", "kept"):
            raise DataError(f"self_loops = {self_loops!r}; 'removed' or 'kept' is needed.")
        self.self_loops = self_loops == "kept"
        self.concentration = read_scale(concentration, "concentration")
        self.base_concentration = read_scale(base_concentration, "base_concentration")
        self.states: Categories | None = None
        if isinstance(n_states, str):
            if n_states != "nonparametric":
                raise DataError(
                    f"n_states = {n_states!r}; a number of states, their labels, or "
                    "'nonparametric' is needed."
                )
            if forbidden is not None:
                raise DataError(
                    "the nonparametric form forbids self-loops or nothing: states that have no "
                    "name yet cannot be told apart. Give a number of states for other masks."
                )
        else:
            self.states = Categories(n_states)
            self.forbidden = forbidden_moves(forbidden, self.states)
            if not self.self_loops:
                np.fill_diagonal(self.forbidden, True)
            check_row_left(self.forbidden, self.states)
            self.forbidden.setflags(write=False)

    @property
    def is_nonparametric(self) -> bool:
        """Is the number of states left open?"""
        return self.states is None

    def __repr__(self) -> str:
        size = "nonparametric" if self.states is None else f"{len(self.states)} states"
        return (
            f"HDPTransitions({size}, concentration {_in_words(self.concentration)}, "
            f"base_concentration {_in_words(self.base_concentration)})"
        )

    def initial_state(self, rng: np.random.Generator, n_states: int = 0) -> HDPState:
        """Draw a state from the prior.

        Parameters
        ----------
        rng
            Generator.
        n_states
            Nonparametric form: number of states to break off the remainder at once.

        Examples
        --------
        >>> model = HDPTransitions("nonparametric", 2.0, 3.0)
        >>> model.initial_state(np.random.default_rng(1), 4).states
        (0, 1, 2, 3)
        """
        check_generator(rng)
        check_whole("n_states", n_states, 0)
        alpha, gamma = (
            max(rng.gamma(x.shape) / x.rate, 1e-200) if isinstance(x, Gamma) else x
            for x in (self.concentration, self.base_concentration)
        )
        if self.states is None:
            state = HDPState(np.zeros(1), np.empty((0, 1)), alpha, gamma, ())
            for _ in range(n_states):
                state = broken_off(rng, state, self.self_loops)
            return state
        n = len(self.states)
        log_base = log_dirichlet(rng, np.full(n, gamma / n))
        shape = np.broadcast_to(alpha * np.exp(log_base), (n, n))
        rows = np.exp(log_dirichlet(rng, shape, self.forbidden))
        return HDPState(log_base, rows, alpha, gamma, tuple(range(n)))

    def break_off(self, rng: np.random.Generator, state: HDPState) -> HDPState:
        """Name one more state of the nonparametric form, after those that have names.

        The name is the least number above all present ones; the name of a state that was dropped
        may be used again.

        The draw is exact, and made on demand: call this method when a transition falls on the
        remainder.  That transition need not go to the new state: look the same uniform number up
        again in the longer row, and break off once more if it is still on the remainder.

        Examples
        --------
        >>> model, rng = HDPTransitions("nonparametric", 2.0, 3.0), np.random.default_rng(1)
        >>> state = model.break_off(rng, model.initial_state(rng))
        >>> state.rows
        array([[0., 1.]])
        """
        if self.states is not None or not state.is_nonparametric:
            raise DataError(
                "a weak limit has all its states from the start; only the nonparametric form "
                "breaks new ones off."
            )
        return broken_off(rng, state, self.self_loops)

    def resample(
        self,
        rng: np.random.Generator,
        transition_counts: ArrayLike,
        state: HDPState,
        starts: ArrayLike | None = None,
    ) -> tuple[HDPState, ResampleInfo]:
        """Make one Gibbs sweep given transition counts; of the arguments only `rng` changes.

        The sweep draws hidden counts, tables, concentrations, base, and rows last: base and rows
        returned are a joint draw.

        Parameters
        ----------
        rng
            Generator; 256 random bits are taken from it.
        transition_counts
            Shape (states, states), whole numbers, 0 where forbidden; in the order of
            ``state.states``.
        state
            Present state of the sampler.
        starts
            Number of times each state was drawn from the base itself, as the first state of a
            sequence may be; 0 unless given.

        Returns
        -------
        state, info
            In the nonparametric form states without any count are dropped from the new state;
            ``info.kept`` lists those left.
        """
        check_generator(rng)
        if not isinstance(state, HDPState) or state.is_nonparametric != (self.states is None):
            raise DataError("state must be an HDPState of this model; see initial_state.")
        n = len(state.states)
        if self.states is not None and n != len(self.states):
            raise DataError(f"the state has {n} states, and the model {len(self.states)}.")
        counts = whole_counts(transition_counts, (n, n), "transition_counts")
        begun = np.zeros(n) if starts is None else whole_counts(starts, (n,), "starts")
        kept, log_base, names = np.arange(n), state.log_base, state.states
        if self.states is None:
            kept = np.flatnonzero(counts.any(axis=0) | counts.any(axis=1) | (begun > 0))
            if len(kept) < n:
                lost = np.delete(log_base, kept)  # the remainder too, which is always kept
                log_base = np.r_[log_base[kept], np.logaddexp.reduce(lost)]
                counts, begun = counts[np.ix_(kept, kept)], begun[kept]
                names = tuple(names[i] for i in kept)
        problem = self.problem(counts, begun)
        scales = np.log([state.concentration, state.base_concentration])
        bits = rng.integers(0, 2**64 - 1, 4, np.uint64, endpoint=True)
        sweep = problem.advance(bits, log_base.copy(), scales, 1, True)
        alpha, gamma = sweep.concentrations[0].tolist()
        new = HDPState(sweep.log_base[0], sweep.rows[0], alpha, gamma, names)
        return new, ResampleInfo(sweep.tables, sweep.log_hidden, kept)

    def problem(
        self, counts: FloatArray, starts: FloatArray, labels: Categories | None = None
    ) -> TransitionProblem:
        """Combine counts with mask and priors for the kernel; `labels` are for error messages."""
        mask = None if self.states is None else self.forbidden
        priors = self.concentration, self.base_concentration
        names = labels or self.states
        return make_problem(counts, starts, mask, self.self_loops, priors, names)

    def fit(
        self,
        data: Any,
        draws: int = 1000,
        *,
        chains: int = 4,
        warmup: int | None = None,
        seed: SeedLike = None,
        threads: int | None = None,
        progress: bool = True,
        rows: bool = True,
        starts: Mapping[Label, float] | None = None,
        to: str | os.PathLike[str] | None = None,
        quantiles: Sequence[float] | None = None,
        cluster: ClusterLike = None,
    ) -> DataTree:
        """Draw base, concentrations and rows given observed transitions.

        Parameters
        ----------
        data
            As `luce.from_transitions` takes them: a sequence of states, a list of sequences, a
            square table of counts, or a frame.  Self-loops are dropped where they are removed.
        draws, chains, warmup, seed, threads, progress, to, quantiles, cluster
            As in `Posterior.sample`.
        rows
            Store the rows too?
        starts
            States drawn from the base itself, with their numbers of draws.  Unless given, the
            nonparametric form takes the first state of each sequence; a table of counts does not
            tell first states, so a state that is left but never entered must be named here.

        Returns
        -------
        DataTree
            ``posterior`` holds "base" (chain, draw, state), "rows" (chain, draw, source, state),
            and those of "concentration" and "base_concentration" (chain, draw) that are drawn.

        Examples
        --------
        >>> model = HDPTransitions(["a", "b", "c"], Gamma(2, 1), 3.0)
        >>> run = model.fit([list("aabbbac"), list("cbab")], 2000, seed=1, progress=False)
        >>> dict(run.posterior.sizes)
        {'chain': 4, 'draw': 2000, 'state': 3, 'source': 3}
        """
        from luce.cluster.execution import carry_out, check_destination
        from luce.sampling.settings import Settings
        from luce.sequences.hdp_runs import TransitionsPlan, read_data

        settings = Settings(
            draws=draws,
            chains=chains,
            warmup=warmup,
            seed=seed,
            threads=threads,
            progress=progress,
            thin=1,
            quantiles=quantiles,
        )
        check_destination(settings, to, cluster)
        data_read = read_data(self, data, starts)
        return carry_out(TransitionsPlan(self, data_read, settings, rows), to, cluster)


def _in_words(scale: float | Gamma) -> str:
    return repr(scale) if isinstance(scale, Gamma) else f"{scale:g}"


def check_generator(rng: object) -> None:
    """Refuse an object that is not a NumPy generator."""
    if not isinstance(rng, np.random.Generator):
        raise DataError(
            f"rng must be a NumPy Generator, as from np.random.default_rng; {rng!r} was given."
        )

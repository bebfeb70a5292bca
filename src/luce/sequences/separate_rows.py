"""Transitions whose rows have nothing in common: a posterior for each state that is left."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from luce._types import BoolArray, FloatArray, Label, SeedLike
from luce.counts.counts import ConditionalCounts
from luce.counts.labels import Categories, as_mapping, plural, some
from luce.errors import DataError
from luce.model.model import Model
from luce.model.priors import Dirichlet, PriorLike
from luce.posterior import Posterior

if TYPE_CHECKING:
    from xarray import DataTree

    from luce.cluster.connect import ClusterLike


class SeparateRows:
    """The posterior of a transition matrix whose rows are independent of each other.

        π_i ~ Dir(a),     next state | i  ~  π_i,     for each state i

    Row i has the states that can follow i; all others have probability 0.  Rows without any other
    condition are Dirichlet distributions, and their draws are exact.  In `HDPTransitions` rows
    learn from each other, and one vector serves all of them in `Posterior` of
    ``from_transitions(..., rows="shared")``.

    Parameters
    ----------
    rows
        Maps each state to the counts of the states that followed it, as
        ``from_transitions(..., rows="separate")`` returns.  The categories of a row are the states
        that can follow.
    concentration
        The prior's a, as `Posterior` takes it but fixed: one for all rows, or a mapping from each
        state to that of its row.

    Attributes
    ----------
    sources
        The states that are left, one for each row.
    states
        All states: those that are left, and behind them those that are only entered.
    forbidden
        Marks of the transitions that cannot occur, shape (source, state).
    posteriors
        Maps each state to the posterior of its row.

    Examples
    --------
    >>> import luce
    >>> model = SeparateRows(luce.from_transitions("abcabcacb", rows="separate"))
    >>> model
    SeparateRows(3 rows, 8 outcomes)
    >>> run = model.sample(1000, seed=1)
    >>> run.posterior["rows"].mean(("chain", "draw")).values.round(1)
    array([[0. , 0.6, 0.4],
           [0.3, 0. , 0.7],
           [0.6, 0.4, 0. ]])
    """

    def __init__(
        self,
        rows: Mapping[Label, ConditionalCounts],
        concentration: PriorLike | Mapping[Label, PriorLike] = 1.0,
    ) -> None:
        if not isinstance(rows, Mapping) or not rows:
            raise DataError(
                "a mapping from states to the counts of what followed them is needed, as "
                f"luce.from_transitions(..., rows='separate') returns; {_kind_of(rows)} was given."
            )
        for state, counts in rows.items():
            _check_row(state, counts)
        entered = (label for counts in rows.values() for label in counts.categories)
        self.sources = Categories(list(rows))
        self.states = Categories(list(dict.fromkeys([*rows, *entered])))
        self.forbidden: BoolArray = np.ones((len(self.sources), len(self.states)), np.bool_)
        priors = _prior_of_each(concentration, self.sources)
        self.posteriors: dict[Label, Posterior] = {}
        for i, (state, counts) in enumerate(rows.items()):
            place = self.states.numbers(counts.categories, "a row")
            self.forbidden[i, place] = False
            if (np.diff(place) < 0).any():
                counts = ConditionalCounts([self.states[k] for k in np.sort(place)]) + counts
            self.posteriors[state] = _posterior_of_row(state, counts, priors[state])
        self.forbidden.setflags(write=False)

    @property
    def models(self) -> list[Model]:
        """Data and prior of each row."""
        return [posterior.model for posterior in self.posteriors.values()]

    @cached_property
    def counts(self) -> FloatArray:
        """Transitions seen between single states, shape (source, state)."""
        return self._matrix([model.counts.category_counts for model in self.models])

    @cached_property
    def concentration(self) -> FloatArray:
        """Parameters of the priors, shape (source, state); 0 for transitions that cannot occur."""
        return self._matrix([model.concentration for model in self.models])

    @property
    def n_outcomes(self) -> float:
        """Transitions of all rows."""
        return float(sum(model.counts.n_outcomes for model in self.models))

    def _matrix(self, rows: Sequence[FloatArray]) -> FloatArray:
        """Put one number for each transition that can occur into a matrix of zeros."""
        found = np.zeros(self.forbidden.shape)
        found[~self.forbidden] = np.concatenate(rows)
        return found

    def sample(
        self,
        draws: int = 1000,
        *,
        chains: int = 4,
        warmup: int | None = None,
        seed: SeedLike = None,
        method: str = "auto",
        threads: int | None = None,
        progress: bool = True,
        log_probabilities: bool | None = None,
        until: float | str | None = None,
        to: str | os.PathLike[str] | None = None,
        quantiles: Sequence[float] | None = None,
        cluster: ClusterLike = None,
    ) -> DataTree:
        """Draw all rows, as one run.

        The rows have seeds of their own, spawned from the seed in their order, so that row k has
        the draws of ``posterior.sample(seed=np.random.SeedSequence(seed).spawn(n)[k])``.

        Parameters
        ----------
        draws, chains, warmup, seed, method, threads, progress, log_probabilities, until, to
            As in `Posterior.sample`, for every row.
        quantiles, cluster
            As in `Posterior.sample`.

        Returns
        -------
        DataTree
            ``posterior["rows"]`` with dimensions (chain, draw, source, state), exactly 0 for
            transitions that cannot occur; counts and priors of all rows in the other groups.

        Examples
        --------
        >>> import luce
        >>> rows = luce.from_transitions("abcabcacb", rows="separate")
        >>> run = SeparateRows(rows).sample(100, seed=1)
        >>> dict(run.posterior.sizes), run.attrs["method"]
        ({'chain': 4, 'draw': 100, 'source': 3, 'state': 3}, 'exact')
        """
        from luce.cluster.execution import carry_out, check_destination
        from luce.sampling.settings import Settings
        from luce.sequences.separate_rows_runs import SeparateRowsPlan

        settings = Settings(
            draws=draws,
            chains=chains,
            warmup=warmup,
            seed=seed,
            method=method,
            threads=threads,
            progress=progress,
            log_probabilities=log_probabilities,
            until=until,
            quantiles=quantiles,
        )
        check_destination(settings, to, cluster)
        return carry_out(SeparateRowsPlan.of(self, settings), to, cluster)

    @classmethod
    def of_run(cls, run: DataTree) -> SeparateRows:
        """Rebuild the rows that a run was drawn from: their counts and their priors.

        Parameters
        ----------
        run
            A run from `sample` or `luce.load`.

        Raises
        ------
        DataError
            When the run does not hold its data, or not the data it was drawn from.

        Examples
        --------
        >>> import luce
        >>> model = SeparateRows(luce.from_transitions("abcabcacb", rows="separate"), 2.0)
        >>> SeparateRows.of_run(model.sample(10, seed=1)).posteriors["a"]
        Posterior(ConditionalCounts(2 categories, 3 outcomes, 0 sets), Dirichlet(2))
        """
        from luce.sequences.separate_rows_runs import separate_rows_of

        return separate_rows_of(run)

    def __repr__(self) -> str:
        size = plural(len(self.sources), "row")
        return f"SeparateRows({size}, {plural(self.n_outcomes, 'outcome')})"


def _kind_of(rows: object) -> str:
    """Name what was given in place of rows."""
    if isinstance(rows, ConditionalCounts):
        return "one ConditionalCounts, for a single vector of probabilities,"
    return "an empty mapping" if isinstance(rows, Mapping) else type(rows).__name__


def _check_row(state: Label, counts: object) -> None:
    """Refuse a row that is no plain counts of categories."""
    if not isinstance(counts, ConditionalCounts):
        raise DataError(
            f"the row of {state!r} is {type(counts).__name__}; ConditionalCounts are needed."
        )
    if counts.events is not None:
        raise DataError(
            f"the row of {state!r} has {counts.events.kind}; rows of a transition matrix have "
            "outcomes of single states, or of groups of states."
        )


def _prior_of_each(
    given: PriorLike | Mapping[Label, PriorLike], sources: Categories
) -> dict[Label, Any]:
    """Read one prior for all rows, or one for each."""
    given = as_mapping(given, "concentration")
    if not isinstance(given, Mapping):
        return dict.fromkeys(sources, given)
    missing = [state for state in sources if state not in given]
    extra = [state for state in given if state not in sources.index]
    if missing or extra:
        raise DataError(
            "concentration must be one prior for all rows, or map each state that is left to its "
            f"row's; missing: {some(missing) or 'none'}; no such rows: {some(extra) or 'none'}."
        )
    return {state: given[state] for state in sources}


def _posterior_of_row(state: Label, counts: ConditionalCounts, prior: PriorLike) -> Posterior:
    """Make the posterior of a row, and name the row in whatever is wrong with it."""
    try:
        posterior = Posterior(counts, prior)
    except DataError as error:
        raise DataError(f"the row of {state!r}: {error}") from error
    if not (isinstance(posterior.prior, Dirichlet) and posterior.prior.is_fixed):
        raise DataError(
            f"the prior of separate rows is a Dirichlet distribution of known concentration; "
            f"{posterior.prior!r} was given. HDPTransitions draws concentrations."
        )
    return posterior

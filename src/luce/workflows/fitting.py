"""From data to draws in one call: read, join with a prior, draw until the check is met."""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from luce._types import Labels, SeedLike
from luce.cluster.connect import ClusterLike
from luce.counts.counts import ConditionalCounts
from luce.errors import DataError
from luce.model.priors import ParameterPrior, PriorLike
from luce.posterior import Posterior
from luce.reading.files import TextOptions, keep_only, understand
from luce.reading.kind import Counts
from luce.sequences.separate_rows import SeparateRows

if TYPE_CHECKING:
    from xarray import DataTree


def fit(
    data: Any,
    kind: str | None = None,
    *,
    concentration: PriorLike | None = None,
    home_prior: ParameterPrior | None = None,
    tie_prior: ParameterPrior | None = None,
    draws: int = 1000,
    until: float | str | None = "auto",
    chains: int = 4,
    seed: SeedLike = None,
    method: str = "auto",
    to: str | os.PathLike[str] | None = None,
    cluster: ClusterLike = None,
    threads: int | None = None,
    progress: bool = True,
    encoding: str | None = None,
    delimiter: str | None = None,
    missing: Iterable[str] | None = None,
    only: Labels | None = None,
    **options: Any,
) -> DataTree:
    r"""Read data and draw from their posterior, until the check of convergence is met.

    ``luce fit FILE`` does the same in a shell: the same seed gives the same draws.

    Parameters
    ----------
    data
        A file, as for `luce.read`; a frame, a mapping of columns or a list of records; counts; or a
        `Posterior` or `SeparateRows`, which have priors of their own.
    kind
        Kind of data: "pairs", "rankings", "choices", "transitions", "table", "teams" or
        "groups"; found where the columns leave no doubt, else asked for.
    concentration
        The prior, as for `Posterior`; 1 for all categories unless given.
    home_prior, tie_prior
        Priors of the parameters of contests: `home` and `tie` of `Posterior`.
    draws, chains, seed, method, to, cluster, threads, progress
        As in `Posterior.sample`.
    until
        As in `Posterior.sample`: "converged", a number of effective draws, or None.  "auto" stands
        for "converged", and for None with `to` or `cluster`, whose draws are counted beforehand.
    encoding, delimiter, missing, only
        As in `luce.read`.
    options
        Options of the reader of that kind: columns, ties, home, unranked, skip_bad and so on.

    Returns
    -------
    DataTree
        The run, with data and prior: `luce.summary`, `luce.report` and `luce.save` take it, and
        `luce.posterior_of` gives the posterior.  Of transitions with ``rows="separate"`` it is the
        run of `SeparateRows`.

    Examples
    --------
    >>> import luce
    >>> games = {"winner": ["ann", "bo", "ann"], "loser": ["bo", "cy", "cy"]}
    >>> run = luce.fit(games, seed=1)
    >>> luce.answers.expected_order(run)
    ['ann', 'bo', 'cy']
    """
    if not isinstance(kind, str | None):
        raise DataError(f"kind = {kind!r}; the number of draws is named: draws=1000.")
    reading = {"encoding": encoding, "delimiter": delimiter, "missing": missing, **options}
    priors = {"concentration": concentration, "home_prior": home_prior, "tie_prior": tie_prior}
    if isinstance(data, Posterior | SeparateRows):
        _refuse({**reading, **priors, "kind": kind, "only": only}, "a posterior is")
        model = data
    else:
        text = TextOptions(encoding, delimiter, missing)
        counts = _counts(data, kind, text, only, options)
        model = posterior_with(counts, concentration, home_prior, tie_prior)
    if until == "auto":
        until = None if to is not None or cluster is not None else "converged"
    return model.sample(
        draws,
        until=until,
        chains=chains,
        seed=seed,
        method=method,
        to=to,
        cluster=cluster,
        threads=threads,
        progress=progress,
    )


def posterior_with(
    counts: Counts,
    concentration: PriorLike | None,
    home_prior: ParameterPrior | None,
    tie_prior: ParameterPrior | None,
) -> Posterior | SeparateRows:
    """Join counts with a prior; separate rows of transitions are drawn together."""
    prior = 1.0 if concentration is None else concentration
    if isinstance(counts, ConditionalCounts):
        return Posterior(counts, prior, home=home_prior, tie=tie_prior)
    for name, given in (("home", home_prior), ("tie", tie_prior)):
        if given is not None:
            raise DataError(
                f"{name}_prior, --{name}-prior: transitions have no such parameter; leave it out."
            )
    return SeparateRows(counts, prior)


def _counts(
    data: Any, kind: str | None, text: TextOptions, only: Labels | None, options: dict[str, Any]
) -> Counts:
    """Read data as counts, unless they are counts already."""
    if isinstance(data, ConditionalCounts):
        _refuse({**text._asdict(), **options, "kind": kind}, "counts are")
        return data if only is None else data.restrict(only)
    _, reading = understand(data, kind, text, **options)
    return (reading if only is None else keep_only(reading, only)).counts


def _refuse(given: dict[str, Any], what: str) -> None:
    """Refuse arguments that have no meaning for data which were read already."""
    for name, value in given.items():
        if value is not None:
            raise DataError(f"{name} = {value!r} has no meaning where {what} given.")

"""Leave-one-out cross-validation: predict each piece of data from all the others.

A piece is left out as a whole: a match, a ballot, a shopping trip.  Counts do not say which
outcomes came together, so pieces are given one by one, each as counts of its own.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterable
from typing import TYPE_CHECKING

import numpy as np

from luce._types import SeedLike
from luce.answers.prediction import (
    aligned,
    log_likelihood_of_events,
    log_predictive,
    set_logarithms,
    with_group,
)
from luce.answers.view import DrawsView
from luce.cluster.execution import carry_out
from luce.counts.canonical import concatenate
from luce.counts.counts import ConditionalCounts
from luce.counts.labels import some
from luce.errors import DataError, EvidenceWarning, warn_user
from luce.model.contents import model_of, require_run
from luce.sampling.plan import PosteriorPlan
from luce.sampling.settings import Settings, check_whole

if TYPE_CHECKING:
    from arviz_stats import ELPDData
    from xarray import DataArray, DataTree

    from luce.answers.view import DrawsLike


# Fewest draws of each chain from a posterior without a piece.
_FEWEST = 1000


def log_likelihood(draws: DrawsLike, pieces: Iterable[ConditionalCounts]) -> DataArray:
    """Compute log likelihoods of pieces of data under each draw, without multinomial coefficients.

    Parameters
    ----------
    draws
        A run of `Posterior.sample`, or an array of shape (chain, draw, category).
    pieces
        The data piece by piece, each over the draws' categories, in any order.

    Returns
    -------
    DataArray
        Dimensions (chain, draw, piece).

    Examples
    --------
    >>> import luce
    >>> match = luce.ConditionalCounts(3).observe({0: 1}, within=[0, 1])
    >>> luce.answers.log_likelihood([[[0.25, 0.25, 0.5]]], [match, match + match]).values.round(3)
    array([[[-0.693, -1.386]]])
    """
    x = DrawsView.of(draws)
    if not isinstance(pieces, Iterable):
        raise DataError(f"pieces must be a list of counts; {type(pieces).__name__} was given.")
    pieces = list(pieces)
    given = [aligned(x, piece, f"piece {k}") for k, piece in enumerate(pieces)]
    if not given:
        raise DataError("no pieces of data were given; one is needed at least.")
    family = concatenate(x.n_categories, [sets for _, sets in given])
    counts = np.array([single for single, _ in given])
    # Sets of all pieces stand in a row; `begin` is where those of each piece begin.
    n_sets = np.array([sets.n_sets for _, sets in given])
    begin = np.r_[0, np.cumsum(n_sets)[:-1]][n_sets > 0]
    seen = np.flatnonzero(counts.any(axis=0))
    out = np.zeros((*x.values.shape[:2], len(given)))
    for chain, rows in x.blocks(x.n_categories + len(family.members) + family.n_sets + len(given)):
        logs = x.logs(chain, rows)
        out[chain, rows] = logs[:, seen] @ counts[:, seen].T
        if len(begin):
            terms = set_logarithms(x, logs, family) * family.exponent
            out[chain, rows][:, n_sets > 0] += np.add.reduceat(terms, begin, axis=1)
    for k, piece in enumerate(pieces):
        if piece.events is not None:
            out[:, :, k] += log_likelihood_of_events(x, piece, f"piece {k}")
    return x.labelled(out, ("chain", "draw", "piece"), "outcomes", piece=np.arange(len(given)))


def attach_log_likelihood(run: DataTree, pieces: Iterable[ConditionalCounts]) -> DataTree:
    """Add a group `log_likelihood` to a run, which ArviZ's `loo` and `compare` read.

    Parameters
    ----------
    run
        A run of `Posterior.sample` for all pieces together; it is not changed.
    pieces
        As for `log_likelihood`.

    Returns
    -------
    DataTree
        The run with the new group: `outcomes`, dimensions (chain, draw, piece).

    Examples
    --------
    >>> import arviz_stats, luce
    >>> won = [("a", "b"), ("a", "b"), ("b", "c"), ("c", "a")]
    >>> pieces = [luce.from_pairs([match], categories="abc") for match in won]
    >>> run = luce.Posterior(sum(pieces)).sample(seed=1)
    >>> run = luce.answers.attach_log_likelihood(run, pieces)
    >>> round(float(arviz_stats.loo(run).elpd), 1)
    -4.1
    """
    require_run(run)
    return with_group(run, "log_likelihood", log_likelihood(run, pieces))


def loo(
    draws: DrawsLike, pieces: Iterable[ConditionalCounts], *, refit: int = 10, seed: SeedLike = 0
) -> ELPDData:
    """Estimate how well each piece of data would be predicted by the others (PSIS-LOO).

    arviz-stats makes the estimate, and its `compare` puts several side by side.  The larger the
    `elpd`, the better the model predicts; the pieces must be the same ones, described as each model
    describes them.

    Importance sampling cannot leave out a piece that moves the posterior far: its Pareto k is above
    `good_k`, 0.7 or less.  The posterior without such a piece is drawn from, and the piece is
    predicted by `log_predictive`.

    Parameters
    ----------
    draws
        A run of `Posterior.sample` for all pieces together.
    pieces
        As for `log_likelihood`.
    refit
        The largest number of pieces that are left out by draws of their own, those with the
        largest Pareto k first.  This needs the run, and pieces that make up all of its data.
    seed
        The seed of these draws.

    Returns
    -------
    ELPDData
        ``elpd_i.attrs["refitted"]`` lists the places of pieces that were left out by draws of their
        own; their `pareto_k` is 0, as in ArviZ's `reloo`.

    Warns
    -----
    EvidenceWarning
        Where pieces with a large Pareto k remain.

    Examples
    --------
    >>> import luce
    >>> won = [("a", "b"), ("a", "b"), ("b", "c"), ("c", "a")]
    >>> pieces = [luce.from_pairs([match], categories="abc") for match in won]
    >>> draws = luce.Posterior(sum(pieces)).sample(seed=1)
    >>> round(float(luce.loo(draws, pieces).elpd), 1)
    -4.1
    """
    check_whole("refit", refit, least=0)
    given = list(pieces)
    found = _importance_sampled(draws, given)
    k = found.pareto_k.to_numpy()
    bad = [int(i) for i in np.argsort(-k, kind="stable") if not k[i] <= found.good_k]
    chosen = sorted(bad[:refit])
    found.elpd_i.attrs["refitted"] = []
    why = f"refit = {refit} of them are left out by draws of their own; allow more."
    if chosen:
        try:
            _replace(found, _left_out(draws, given, chosen, seed))
        except DataError as error:
            chosen, why = [], f"they cannot be left out by draws of their own: {error}"
    left = sorted(set(bad) - set(chosen))
    found.warning = bool(left)
    if left:
        warn_user(
            EvidenceWarning(
                f"importance sampling cannot leave out {len(left):,} of {len(given):,} pieces: "
                f"{some(left)}, with Pareto k up to {k[left].max():.2f} (at most "
                f"{found.good_k:.2f} is wanted). Do not trust elpd: {why}"
            )
        )
    return found


def _importance_sampled(draws: DrawsLike, pieces: list[ConditionalCounts]) -> ELPDData:
    """Run arviz-stats' PSIS-LOO without its warning about Pareto k."""
    import xarray as xr
    from arviz_stats import loo as psis_loo  # type: ignore[attr-defined]

    if isinstance(draws, xr.DataTree):
        run = draws
    else:  # arviz-stats takes the effective sample size from a group of draws
        draws = view = DrawsView.of(draws)
        p = view.labelled(view.probabilities, ("chain", "draw", "category"), "probabilities")
        run = xr.DataTree.from_dict({"/posterior": p.to_dataset()})
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Estimated shape parameter of Pareto")
        found: ELPDData = psis_loo(
            with_group(run, "log_likelihood", log_likelihood(draws, pieces)), pointwise=True
        )
    return found


def _left_out(
    draws: DrawsLike, pieces: list[ConditionalCounts], chosen: list[int], seed: SeedLike
) -> dict[int, float]:
    """Predict chosen pieces, each from draws of the posterior of all others."""
    model = model_of(draws)  # type: ignore[arg-type]
    nothing = ConditionalCounts(model.counts.categories)
    if sum(pieces, start=nothing) != model.counts:
        raise DataError("the pieces together are not the data of the run.")
    size = DrawsView.of(draws).values.shape
    settings = Settings(draws=max(size[1], _FEWEST), chains=size[0], seed=seed)
    seeds = settings.seed_sequence().spawn(len(chosen))
    found = {}
    for i, own in zip(chosen, seeds, strict=True):
        others = sum(pieces[:i] + pieces[i + 1 :], start=nothing)
        plan = PosteriorPlan.of(model.with_counts(others), settings.reseeded(own))
        found[i] = float(log_predictive(carry_out(plan), pieces[i], seed=own.spawn(1)[0]))
    return found


def _replace(found: ELPDData, values: dict[int, float]) -> None:
    """Put exact values of some pieces into a result, and sum up again."""
    places = list(values)
    before = found.elpd_i.values.copy()
    found.elpd_i.values[places] = list(values.values())
    found.elpd_i.attrs["refitted"] = places
    found.pareto_k.values[places] = 0.0
    found.p -= float((found.elpd_i.values - before).sum())
    found.elpd = float(found.elpd_i.values.sum())
    found.se = float(np.sqrt(len(before) * found.elpd_i.values.var()))

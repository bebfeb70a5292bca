"""Leave-one-out cross-validation: predict each piece of data from all the others.

A piece is left out as a whole: a match, a ballot, a shopping trip.  Counts do not say which
outcomes came together, so pieces are given one by one, each as counts of its own.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

import numpy as np

from luce.answers.prediction import aligned, set_logarithms, with_group
from luce.answers.view import DrawsView
from luce.counts.canonical import concatenate
from luce.counts.counts import ConditionalCounts
from luce.errors import DataError
from luce.model.contents import require_run

if TYPE_CHECKING:
    from arviz_stats import ELPDData
    from xarray import DataArray, DataTree

    from luce.answers.view import DrawsLike


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
    -4.0
    """
    require_run(run)
    return with_group(run, "log_likelihood", log_likelihood(run, pieces))


def loo(draws: DrawsLike, pieces: Iterable[ConditionalCounts]) -> ELPDData:
    """Estimate how well each piece of data would be predicted by the others (PSIS-LOO).

    arviz-stats makes the estimate, and its `compare` puts several side by side.  The larger the
    `elpd`, the better the model predicts; the pieces must be the same ones, described as each model
    describes them.

    Parameters
    ----------
    draws
        A run of `Posterior.sample` for all pieces together.
    pieces
        As for `log_likelihood`.

    Examples
    --------
    >>> import luce
    >>> won = [("a", "b"), ("a", "b"), ("b", "c"), ("c", "a")]
    >>> pieces = [luce.from_pairs([match], categories="abc") for match in won]
    >>> draws = luce.Posterior(sum(pieces)).sample(seed=1)
    >>> round(float(luce.loo(draws, pieces).elpd), 1)
    -4.0
    """
    import xarray as xr
    from arviz_stats import loo as psis_loo  # type: ignore[attr-defined]

    if isinstance(draws, xr.DataTree):
        run = draws
    else:  # arviz-stats takes the effective sample size from a group of draws
        draws = view = DrawsView.of(draws)
        p = view.labelled(view.probabilities, ("chain", "draw", "category"), "probabilities")
        run = xr.DataTree.from_dict({"/posterior": p.to_dataset()})
    found: ELPDData = psis_loo(
        with_group(run, "log_likelihood", log_likelihood(draws, pieces)), pointwise=True
    )
    return found

"""The numbers behind the figures, as columns of CSV files."""

from __future__ import annotations

import csv
from collections.abc import Iterable, Mapping
from math import isnan
from pathlib import Path
from typing import Any

import numpy as np

from luce._types import FloatArray
from luce.paper.claims import Claim
from luce.paper.densities import Densities
from luce.paper.experiments import Comparison

Columns = Mapping[str, Iterable[Any]]


def densities_table(found: Densities) -> Columns:
    """List the triangles of the mesh: their centres and their masses under each density."""
    centre = found.corners.mean(axis=1).T
    return {
        **{f"pi_{k + 1}": x for k, x in enumerate(centre)},
        "prior": found.prior,
        "posterior_plain": found.plain,
        "posterior_truncated": found.truncated,
        "draws": found.draws,
    }


def autocorrelation_table(ten: Comparison) -> Columns:
    """List mean and percentiles of the autocorrelation by sampler, component and lag."""
    rows = [
        (run.sampler.key, component + 1, lag, *_spread(run.autocorrelation[:, lag, component]))
        for run in ten
        for component in range(2)
        for lag in range(run.autocorrelation.shape[1])
    ]
    return _columns(("sampler", "component", "lag", "mean", "percentile_10", "percentile_90"), rows)


def mpsrf_table(found: Comparison) -> Columns:
    """List R-hat by sampler and index."""
    rows = [
        (run.sampler.key, int(t), t * run.seconds, r)
        for run in found
        for t, r in zip(run.index, run.rhat, strict=True)
    ]
    return _columns(("sampler", "draws", "seconds", "rhat"), rows)


def convergence_table(ten: Comparison) -> Columns:
    """List mean and percentiles of the error by sampler, statistic and index."""
    rows = [
        (run.sampler.key, name, int(t), t * run.seconds, *_spread(error[:, k]))
        for run in ten
        for name, error in (("mean", run.mean_error), ("variance", run.variance_error))
        for k, t in enumerate(run.index)
    ]
    head = ("sampler", "statistic", "draws", "seconds", "mean", "percentile_10", "percentile_90")
    return _columns(head, rows)


def rates_table(comparisons: Iterable[Comparison]) -> Columns:
    """List seconds a draw and effective draws a second by number of categories and sampler."""
    rows = [
        (
            found.n,
            run.sampler.key,
            run.seconds,
            run.effective,
            run.rate,
            *("" if isnan(x) else x for x in (run.proposal, run.accepted)),
        )
        for found in comparisons
        for run in found
    ]
    head = ("n", "sampler", "seconds_a_draw", "effective_share", "effective_draws_a_second")
    return _columns((*head, "proposal_concentration", "accepted"), rows)


def claims_table(claims: Mapping[str, list[Claim]]) -> Columns:
    """List the claims with their verdicts."""
    rows = [
        (
            figure,
            "luce" if claim.ours else "paper",
            claim.statement,
            str(claim.verdict),
            claim.value,
            claim.measured,
            claim.criterion,
            claim.remark,
        )
        for figure, listed in claims.items()
        for claim in listed
    ]
    head = ("figure", "source", "claim", "verdict", "value", "measured", "holds_if", "remark")
    return _columns(head, rows)


def write_csv(path: Path, columns: Columns) -> None:
    """Write columns of equal length as CSV; numbers with all their digits."""
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(columns)
        writer.writerows(zip(*columns.values(), strict=True))


def _spread(values: FloatArray) -> tuple[float, ...]:
    """Return mean, 10th and 90th percentile."""
    return (float(values.mean()), *np.percentile(values, [10, 90]).tolist())


def _columns(head: tuple[str, ...], rows: list[tuple[Any, ...]]) -> Columns:
    """Turn rows into named columns."""
    return dict(zip(head, zip(*rows, strict=True), strict=True))

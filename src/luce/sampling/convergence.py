"""One verdict on convergence for every sink: split R-hat, effective sample size, acceptance.

R-hat and effective sample size are those of arviz-stats, on ranks scaled to (0, 1) instead of
normal scores, for many columns at once.  They are computed here because importing arviz-stats takes
longer than most runs; `luce.summary` reports arviz-stats' own.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

import numpy as np

from luce._types import FloatArray, IntArray
from luce.errors import ConvergenceWarning, warn_user

if TYPE_CHECKING:
    from luce.sampling.plan import Plan

# Largest numbers of draws of a chain, and of entries of a parameter, that are checked: more would
# cost time and tell little.
_CHECKED_DRAWS = 2000
_CHECKED_ENTRIES = 100

# Vehtari, Gelman, Simpson, Carpenter and Bürkner (2021) ask for an effective sample size of 400.
# R-hat of four chains that agree stays below 1.05 at that size; more means they have not met.
ENOUGH_ESS = 400.0
LARGEST_RHAT = 1.05

# Smallest share of accepted proposals.  A chain below it stands still for hundreds of draws, which
# exact splits around its core, since they keep moving, would hide from the two figures above.
LEAST_ACCEPTANCE = 0.005


class DrawsToCheck(Protocol):
    """Draws that can be read by column, from memory or from a disk."""

    @property
    def draws(self) -> int:
        """Draws of each chain."""

    def columns(self, path: str, numbers: IntArray, every: int) -> FloatArray:
        """Read some entries of every `every`-th draw, shape (chain, draw, entry)."""


@dataclass(frozen=True)
class Verdict:
    """Result of the check; `problem` is None where the draws can be trusted."""

    problem: str | None = None
    rhat: float = float("nan")
    ess: float = float("nan")


def check(plan: Plan, sink: DrawsToCheck) -> Verdict:
    """Judge a run by all parameters that its plan declares, and warn where it cannot be trusted."""
    verdict = judge(plan, sink)
    if verdict.problem is not None:
        warn_user(ConvergenceWarning(verdict.problem, verdict.rhat, verdict.ess))
    return verdict


def judge(plan: Plan, sink: DrawsToCheck) -> Verdict:
    """Judge a run by all parameters that its plan declares."""
    if plan.independent:
        return Verdict()
    accepted = _least_acceptance(plan, sink)
    if accepted < LEAST_ACCEPTANCE:
        return Verdict(
            f"do not trust these draws: a chain accepted {accepted:.2%} of its proposals, so it "
            "hardly moved. Use another method, or another proposal_concentration."
        )
    every = -(-sink.draws // _CHECKED_DRAWS)
    columns = []
    for parameter in plan.parameters:
        path = f"posterior/{parameter.name}"
        if parameter.role != "latent" and any(o.path == path for o in plan.outputs):
            columns.append(sink.columns(path, _looked_at(plan, path), every))
    return judge_columns(np.concatenate(columns, axis=2), sink.draws, every)


def judge_columns(few: FloatArray, draws: int, every: int = 1) -> Verdict:
    """Judge columns of draws, shape (chain, draw, column), of which every `every`-th is given."""
    if not np.isfinite(few).all():
        return Verdict("do not trust these draws: some of them are not finite numbers.")
    # A constant column (a single category, say) has no R-hat and is left out.
    few = few[:, :, np.ptp(few, axis=(0, 1)) > 0]
    if few.size == 0:
        return Verdict()
    rhat = ess = float("nan")
    if draws < 4:
        problem = f"{draws} draws a chain are too few to judge"
    else:
        rhat, ess = worst_rhat_and_ess(few)
        if rhat <= LARGEST_RHAT and ess >= ENOUGH_ESS:
            return Verdict(None, rhat, ess)
        thinned = f" among every {every}th draw" if every > 1 else ""
        problem = (
            f"the largest R-hat is {rhat:.3f} (at most {LARGEST_RHAT} is wanted) and the smallest "
            f"effective sample size {ess:.0f}{thinned} (at least {ENOUGH_ESS:.0f})"
        )
    message = f"do not trust these draws yet: {problem}. Take more draws, or another method."
    return Verdict(message, rhat, ess)


def _looked_at(plan: Plan, path: str) -> IntArray:
    """Choose evenly spaced entries of a parameter."""
    size = int(np.prod(plan.output(path).stored_shape, dtype=np.int64))
    return np.unique(np.linspace(0, size - 1, min(size, _CHECKED_ENTRIES)).astype(np.int64))


def _least_acceptance(plan: Plan, sink: DrawsToCheck) -> float:
    """Return the smallest share of proposals that a chain accepted; 1 without proposals."""
    path = "sample_stats/accepted"
    if not any(output.path == path for output in plan.outputs):
        return 1.0
    numbers = np.arange(plan.output(path).shape[-1])
    accepted = sink.columns(path, numbers, 1).mean(axis=1)
    return float(np.nanmin(accepted))  # nan for cores whose method proposes nothing


def worst_rhat_and_ess(x: FloatArray) -> tuple[float, float]:
    """Compute the largest split R-hat and the smallest effective sample size over the last axis.

    With chains split in halves, W the mean variance within and B the variance of the means,

        R-hat^2 = (N - 1) / N + B / W,     ESS = M N / (1 + 2 sum of autocorrelations),

    the sum cut where pairs of autocorrelations stop being positive and decreasing (Geyer 1992).
    Ranks are of |x - median| too, so that unequal spreads show in R-hat.

    Parameters
    ----------
    x
        Shape (chain, draw, variable), at least 4 draws.
    """
    half = x.shape[1] // 2
    halves = np.concatenate([x[:, :half], x[:, -half:]])
    folded = np.abs(halves - np.median(halves, axis=(0, 1)))
    ranks, folded_ranks = _ranks(halves), _ranks(folded)
    rhat = max(_rhat(ranks).max(), _rhat(folded_ranks).max())
    return float(rhat), float(effective_sizes(ranks).min())


def worst_ess(x: FloatArray) -> float:
    """Compute the smallest effective sample size of ranks; x has shape (chain, draw, variable).

    Constant variables are left out; if all are constant, the number of draws is returned.
    """
    half = x.shape[1] // 2
    moving = x[:, :, np.ptp(x, axis=(0, 1)) > 0]
    if half < 2 or moving.size == 0:
        return float(x.shape[0] * x.shape[1])
    halves = np.concatenate([moving[:, :half], moving[:, -half:]])
    return float(effective_sizes(_ranks(halves)).min())


def ess_of_mean(x: FloatArray) -> float:
    """Compute the effective sample size of the mean of x, shape (chain, draw)."""
    half = x.shape[1] // 2
    if half < 2 or np.ptp(x) == 0:
        return float(x.size)
    halves = np.concatenate([x[:, :half], x[:, -half:]])
    return float(effective_sizes(halves[:, :, None])[0])


def _ranks(x: FloatArray) -> FloatArray:
    """Rank over the first two axes, ties sharing their mean rank, scaled to (0, 1)."""
    flat = x.reshape(-1, x.shape[2])
    order = flat.argsort(axis=0)
    ranks = np.empty_like(flat)
    np.put_along_axis(ranks, order, np.arange(1.0, len(flat) + 1)[:, None], axis=0)
    rising = np.take_along_axis(flat, order, axis=0)
    for j in np.flatnonzero((rising[1:] == rising[:-1]).any(axis=0)):  # rejected proposals
        _, place, count = np.unique(flat[:, j], return_inverse=True, return_counts=True)
        ranks[:, j] = (np.cumsum(count) - (count - 1) / 2)[place]
    return ((ranks - 0.5) / len(flat)).reshape(x.shape)


def _rhat(x: FloatArray) -> FloatArray:
    n = x.shape[1]
    within = x.var(axis=1, ddof=1).mean(axis=0)
    between = x.mean(axis=1).var(axis=0, ddof=1)
    # R-hat of chains that stand still in different places is infinite.
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.asarray(np.sqrt((n - 1) / n + between / within))


def effective_sizes(x: FloatArray) -> FloatArray:
    """Compute the effective sample size of each variable of (chain, draw, variable), unsplit."""
    m, n, _ = x.shape
    centred = x - x.mean(axis=1, keepdims=True)
    power = np.abs(np.fft.rfft(centred, 2 * n, axis=1)) ** 2
    covariance = np.fft.irfft(power, axis=1)[:, :n].mean(axis=0) / n
    within = covariance[0] * n / (n - 1)
    total = within * (n - 1) / n + x.mean(axis=1).var(axis=0, ddof=1)
    correlation = 1 - (within - covariance * n / (n - 1)) / total
    pairs = correlation[: n // 2 * 2].reshape(n // 2, 2, -1).sum(axis=1)
    positive = np.cumprod(pairs > 0, axis=0)
    decreasing = np.minimum.accumulate(np.where(positive, pairs, 0.0), axis=0)
    time = np.maximum(2 * decreasing.sum(axis=0) - 1, 1 / np.log10(m * n))
    return np.asarray(m * n / time)

"""What the paper says, what was measured here, and whether it holds."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

import numpy as np
from scipy.special import stdtrit

from luce._types import FloatArray
from luce.paper.densities import Densities
from luce.paper.experiments import (
    AUTO,
    FLOOR,
    HIDDEN,
    METROPOLIS,
    PAPER_PROPOSAL,
    TUNED,
    WAITING,
    Comparison,
    Run,
    Size,
)

FALSE_ALARM = 1e-4  # chance that a claim of agreement is refused although it holds

_NEAR_ONE = 1.05  # of an R-hat
_FAR_FASTER = 5.0  # times


class Verdict(StrEnum):
    """Whether a claim holds."""

    HOLDS = "holds"
    IN_PART = "holds in part"
    FAILS = "does not hold"


@dataclass(frozen=True)
class Claim:
    """A statement of the paper, the number measured for it, the verdict, and what it means."""

    statement: str
    measured: str
    verdict: Verdict
    remark: str = ""


def about_densities(found: Densities) -> list[Claim]:
    """Check the mesh against the sampler, and the formula for one truncated term."""
    agrees = found.p_value >= FALSE_ALARM
    printed, mesh, closed = (m[0] for m in (found.printed_mean, found.mesh_mean, found.closed_mean))
    return [
        Claim(
            "With three categories the posterior can be summed over a mesh; the sampler draws "
            "from the same distribution.",
            f"χ² = {found.chi_square:,.0f} on {found.freedom:,} degrees of freedom "
            f"(p = {found.p_value:.2g}) for {found.n_draws:,} draws of the sampler",
            _verdict(agrees),
        ),
        Claim(
            "With one truncated term the posterior is a product of two Dirichlets, over the "
            "truncated categories and over the kept ones.",
            f"mean of the truncated probability: {printed:.3f} by the formula as printed, "
            f"{mesh:.4f} by the mesh, {closed:.4f} with a Beta factor for the truncated mass",
            _verdict(abs(printed - mesh) < 1e-3),
            "A slip: the Beta factor is missing, and the truncated part is divided by the wrong "
            "total. Put right, the posterior is still conjugate and drawn exactly.",
        ),
    ]


def about_models(found: Densities) -> list[Claim]:
    """Check that the hidden counts sum out."""
    return [
        Claim(
            "Summed over its hidden counts, the augmented model is the posterior.",
            f"largest relative error of the sum over the mesh: {found.largest_sum_error:.1e}",
            _verdict(found.largest_sum_error < 1e-12),
        )
    ]


def about_autocorrelation(ten: Comparison) -> list[Claim]:
    """Check how fast the samplers forget, and the Metropolis proposal."""
    lags = {run.sampler.key: _lags_to_forget(run) for run in ten}
    ours, theirs = lags[HIDDEN.key], lags[METROPOLIS.key]
    ratio = min(b / a for a, b in zip(ours, theirs, strict=True))
    accepted = ten[METROPOLIS].accepted
    shift = _mode_shift(ten)
    return [
        Claim(
            "The autocorrelation of the auxiliary variable sampler falls far faster than that of "
            "Metropolis–Hastings.",
            f"first lag with a mean autocorrelation below 0.1, first and second component: "
            f"{_pair(ours)} against {_pair(theirs)} (waiting times {_pair(lags[WAITING.key])}, "
            f"auto {_pair(lags[AUTO.key])}, independent draws {_pair(lags[FLOOR.key])})",
            _verdict(ratio >= _FAR_FASTER),
        ),
        Claim(
            f"At β = {PAPER_PROPOSAL:.0f} and n = 10 about 0.24 of the proposals are accepted.",
            f"{accepted:.3f} of {ten[METROPOLIS].label} were accepted, on the raw ten categories",
            _verdict(abs(accepted - 0.24) < 0.03),
        ),
        Claim(
            "Mean and mode of a proposal are both the current state.",
            f"the mean is; the mode is {shift:.2f} standard deviations of the proposal away, in "
            "the component where they differ most, when the state is the posterior mean",
            Verdict.HOLDS if shift < 1e-9 else Verdict.IN_PART,
            "A slip: the mode of Dir(βπ) is (βπ − 1)/(β − n), where that is positive. Nothing in "
            "the algorithm rests on it: the Hastings ratio is right for any proposal.",
        ),
    ]


def about_mpsrf_10(ten: Comparison) -> list[Claim]:
    """Check convergence of ten categories, and the formula for it."""
    ours, theirs = ten[HIDDEN], ten[METROPOLIS]
    excess = (theirs.rhat - 1) / (ours.rhat - 1)
    first = int(np.argmax(ours.rhat < _NEAR_ONE))
    near = ours.rhat[first] < _NEAR_ONE
    return [
        Claim(
            "At n = 10 the auxiliary variable sampler's R̂ is near 1 while that of "
            "Metropolis–Hastings is still far above.",
            f"{ours.rhat[first]:.3f} against {theirs.rhat[first]:.2f} after {ours.index[first]:,} "
            f"draws, {ours.rhat[-1]:.4f} against {theirs.rhat[-1]:.3f} after {ours.index[-1]:,}; "
            f"the excess over 1 is {excess.min():.0f} to {excess.max():.0f} times as large (at the "
            f"end waiting times {ten[WAITING].rhat[-1]:.4f}, auto {ten[AUTO].rhat[-1]:.4f}, "
            f"independent draws {ten[FLOOR].rhat[-1]:.4f})",
            _verdict(near and theirs.rhat[first] > 1.2 and excess.min() > _FAR_FASTER),
        ),
        Claim(
            "R̂ is the largest eigenvalue of W^(−½) V W^(½).",
            f"that matrix gives {ours.printed_rhat:.4f} where the largest eigenvalue of W⁻¹V is "
            f"{ours.rhat[-1]:.4f}",
            _verdict(abs(ours.printed_rhat - ours.rhat[-1]) < 1e-6),
            "A slip: as printed the matrix is similar to V, not to W⁻¹V, and its eigenvalue has "
            "the scale of a variance. W^(−½) V W^(−½) is meant; the first two forms are right.",
        ),
        _fast(ten),
    ]


def about_mpsrf_20(ten: Comparison, twenty: Comparison, sizes: list[Size]) -> list[Claim]:
    """Check whether the advantage grows, with the baseline as it was and tuned again."""
    small = _advantage(ten, METROPOLIS.key)
    large, fair = (_advantage(twenty, s.key) for s in (METROPOLIS, TUNED))
    grows = Verdict.HOLDS if fair > small else Verdict.IN_PART if large > small else Verdict.FAILS
    tuned = twenty[TUNED]
    least = min(s.effective for s in sizes)
    per_category = [s.seconds / s.n for s in sizes]
    return [
        Claim(
            "The advantage over Metropolis–Hastings is even greater at n = 20.",
            f"excess of R̂ over 1, Metropolis over hidden counts: {small:.0f} × at n = 10, "
            f"{large:,.0f} × at n = 20 with β = {PAPER_PROPOSAL:.0f}, {fair:.0f} × at n = 20 with "
            f"β tuned to {tuned.proposal:.0f}",
            grows,
            f"At n = 20, β = {PAPER_PROPOSAL:.0f} accepts only "
            f"{twenty[METROPOLIS].accepted:.3f} of its proposals, so much of the growth is "
            f"detuning; tuned, it accepts {tuned.accepted:.3f}.",
        ),
        Claim(
            "The auxiliary variable sampler scales easily to high dimensions.",
            "; ".join(
                f"n = {s.n:,}: {1e6 * s.seconds:.1f} µs a draw, {s.effective:.2f} effective draws "
                "a draw"
                for s in sizes
            ),
            _verdict(least > 0.1 and per_category[-1] <= 2 * per_category[0]),
        ),
        _agreement(twenty),
    ]


def about_convergence(ten: Comparison) -> list[Claim]:
    """Check the errors of means and variances, by index and by seconds."""
    ours, theirs = ten[HIDDEN], ten[METROPOLIS]
    claims = []
    for name, mine, other in (
        ("mean", ours.mean_error.mean(axis=0), theirs.mean_error.mean(axis=0)),
        ("variance", ours.variance_error.mean(axis=0), theirs.variance_error.mean(axis=0)),
    ):
        by_index = other / mine
        by_seconds = _at_equal_seconds(ours, theirs, mine, other)
        worst = min(by_index.min(), by_seconds.min())
        claims.append(
            Claim(
                f"The error of the {name} is smaller at every index and at every second.",
                f"error of Metropolis over that of hidden counts: {by_index.min():.1f} to "
                f"{by_index.max():.1f} over the {len(by_index)} indices, {by_seconds.min():.1f} "
                f"to {by_seconds.max():.1f} over the seconds that both ran",
                _verdict(worst > 1),
            )
        )
    return [*claims, _agreement(ten)]


def _fast(found: Comparison) -> Claim:
    ours, theirs = found[HIDDEN], found[METROPOLIS]
    return Claim(
        "The auxiliary variable sampler is fast to mix and fast to execute.",
        "; ".join(
            f"{run.label}: {1e6 * run.seconds:.2f} µs a draw, {run.effective:.3f} effective draws "
            "a draw"
            for run in found
        ),
        _verdict(_rate(ours) > _rate(theirs)),
        f"In effective draws a second it is {_rate(ours) / _rate(theirs):.0f} × Metropolis here.",
    )


def _agreement(found: Comparison) -> Claim:
    """Compare the pooled means of all samplers, chain against chain."""
    z, bound = disagreement([run.chain_means for run in found])
    return Claim(
        f"All samplers have the same posterior mean (n = {found.n}).",
        f"largest difference between any sampler and the rest: {z:.2f} standard errors; "
        f"{bound:.2f} are allowed for a false alarm in {1 / FALSE_ALARM:,.0f}",
        _verdict(z <= bound),
    )


def disagreement(chain_means: list[FloatArray]) -> tuple[float, float]:
    """Compare each sampler's mean with that of all others; the largest |z|, and its bound.

    Chains are independent, so their means give the standard errors; the bound is Student's, with
    the degrees of freedom of one sampler's chains, over all comparisons at once.

    Parameters
    ----------
    chain_means
        One array for each sampler, shape (chain, category).
    """
    means = np.stack([m.mean(axis=0) for m in chain_means])
    variances = np.stack([m.var(axis=0, ddof=1) / len(m) for m in chain_means])
    largest = 0.0
    for k in range(len(means)):
        weights = np.delete(1 / variances, k, axis=0)
        rest = (weights * np.delete(means, k, axis=0)).sum(axis=0) / weights.sum(axis=0)
        z = (means[k] - rest) / np.sqrt(variances[k] + 1 / weights.sum(axis=0))
        largest = max(largest, float(np.abs(z).max()))
    freedom = min(len(m) for m in chain_means) - 1
    return largest, float(-stdtrit(freedom, FALSE_ALARM / 2 / means.size))


def _verdict(holds: bool | np.bool_) -> Verdict:
    return Verdict.HOLDS if holds else Verdict.FAILS


def _pair(lags: tuple[int, ...]) -> str:
    return " and ".join(str(lag) for lag in lags)


def _lags_to_forget(run: Run, level: float = 0.1) -> tuple[int, ...]:
    """First lag at which the mean autocorrelation of each component is below a level."""
    mean = run.autocorrelation.mean(axis=0)
    below = mean < level
    return tuple(int(np.argmax(b)) if b.any() else len(mean) for b in below.T)


def _advantage(found: Comparison, key: str) -> float:
    return float((found.runs[key].rhat[-1] - 1) / (found[HIDDEN].rhat[-1] - 1))


def _rate(run: Run) -> float:
    return run.effective / run.seconds


def _mode_shift(ten: Comparison) -> float:
    """Distance of the mode of a proposal from its mean, in standard deviations of it."""
    p = ten[HIDDEN].chain_means.mean(axis=0)
    mode = (PAPER_PROPOSAL * p - 1) / (PAPER_PROPOSAL - len(p))
    return float((np.abs(mode - p) / np.sqrt(p * (1 - p) / (PAPER_PROPOSAL + 1))).max())


def _at_equal_seconds(ours: Run, theirs: Run, mine: FloatArray, other: FloatArray) -> FloatArray:
    """Ratio of errors at our seconds, within those that both samplers ran."""
    mine_at, other_at = ours.index * ours.seconds, theirs.index * theirs.seconds
    both = np.concatenate([mine_at, other_at])
    both = np.sort(both[(both >= max(mine_at[0], other_at[0]))
                        & (both <= min(mine_at[-1], other_at[-1]))])  # fmt: skip
    return np.asarray(
        np.exp(
            np.interp(np.log(both), np.log(other_at), np.log(other))
            - np.interp(np.log(both), np.log(mine_at), np.log(mine))
        )
    )

"""Verdicts on the claims of each figure, from its measurements.

Each `about_...` function judges one figure of the paper; the order is that of the report.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.special import stdtrit

from luce._types import FloatArray
from luce.paper.augmented import CUT, LARGEST, SummedOut
from luce.paper.claims import Claim, graded, unless_it_holds
from luce.paper.densities import Densities
from luce.paper.experiments import Comparison, Run, Size
from luce.paper.samplers import (
    AUTO,
    FLOOR,
    HIDDEN,
    METROPOLIS,
    PAPER_PROPOSAL,
    TUNED,
    WAITING,
    WANTED_ACCEPTANCE,
)

FALSE_ALARM = 1e-4  # probability that a right sampler fails a check of agreement

_FAR_FASTER = 5.0  # least ratio of lags, errors or effective shares that counts as far faster
_FORGOTTEN = 0.1  # autocorrelation below which a chain has forgotten its past
_NEAR_ONE, _FAR_ABOVE = 1.05, 1.2  # R-hat that counts as near 1, and as far above
_NEAR_WANTED = 0.03  # largest distance of an acceptance rate from the one aimed at
_LARGEST_POWER = 1.1  # power of n in the seconds of a draw up to which a sampler scales easily


# -- densities and graphical models ----------------------------------------------------------------


def about_densities(found: Densities) -> list[Claim]:
    """Judge the formula for one truncated term, and the sampler's draws against the mesh."""
    printed, mesh, closed = (m[0] for m in (found.printed_mean, found.mesh_mean, found.closed_mean))
    conjugate = graded([abs(printed - mesh) < 1e-3])
    return [
        Claim(
            "With one truncated term the posterior is a product of two Dirichlets, over the "
            "truncated categories and over the kept ones.",
            f"mean of the truncated probability: {printed:.3f} by the formula as printed, "
            f"{mesh:.4f} by the mesh, {closed:.4f} with a Beta factor for the truncated mass",
            "the formula as printed and the mesh agree within 0.001",
            conjugate,
            printed,
            unless_it_holds(
                conjugate,
                "A slip: the Beta factor is missing, and the truncated part is divided by the "
                "wrong total, so that it does not add up to 1 (Dir(x | α) is read as Π x^(α−1) "
                "there). Put right, the posterior is still conjugate and drawn exactly.",
            ),
        ),
        Claim(
            "The sampler draws from the density that is summed over the mesh.",
            f"χ² = {found.chi_square:,.0f} on {found.freedom:,} degrees of freedom "
            f"(p = {found.p_value:.2g}) for {found.n_draws:,} draws of the sampler",
            f"p is at least {FALSE_ALARM:g}",
            graded([found.p_value >= FALSE_ALARM]),
            found.p_value,
            ours=True,
        ),
    ]


def about_models(found: SummedOut) -> list[Claim]:
    """Judge whether the augmented model, summed over its hidden counts, is the posterior."""
    return [
        Claim(
            "Summed over its hidden counts, the augmented model is the posterior.",
            f"largest relative error of a ratio of densities, over {found.points} points of a "
            "posterior of four categories with two different truncated terms: "
            f"{found.largest_error:.1e}; hidden counts summed up to {CUT} a term, truncated "
            f"probabilities up to {LARGEST}",
            "the error is below 1e-9",
            graded([found.largest_error < 1e-9]),
            found.largest_error,
        )
    ]


# -- autocorrelation -------------------------------------------------------------------------------


def about_autocorrelation(ten: Comparison) -> list[Claim]:
    """Judge how fast autocorrelations fall, and the statement on the Metropolis proposal."""
    lags = {run.sampler.key: lags_to_forget(run) for run in ten}
    words = {key: _lags_in_words(lags[key], ten.runs[key]) for key in lags}
    # A chain that never forgets does so after the last lag that was computed, at the earliest.
    ratio = min(b / a for a, b in zip(lags[HIDDEN.key], lags[METROPOLIS.key], strict=True))
    never = max(lags[HIDDEN.key]) >= ten[HIDDEN].autocorrelation.shape[1]
    shift = _mode_shift(ten)
    mode = graded([True, shift < 1e-9])  # the mean is right by definition
    return [
        Claim(
            "The autocorrelation of the auxiliary variable sampler falls far faster than that of "
            "Metropolis–Hastings.",
            f"first lag with a mean autocorrelation below {_FORGOTTEN}, first and second "
            f"component: {words[HIDDEN.key]} against {words[METROPOLIS.key]} (waiting times "
            f"{words[WAITING.key]}, auto {words[AUTO.key]}, independent draws "
            f"{words[FLOOR.key]}); Metropolis accepts {ten[METROPOLIS].accepted:.3f} of its "
            f"proposals at β = {PAPER_PROPOSAL:.0f}",
            f"Metropolis needs at least {_FAR_FASTER:.0f} times as many lags in both components",
            graded([ratio >= _FAR_FASTER and not never]),
            ratio,
        ),
        Claim(
            "Mean and mode of a proposal are both the current state.",
            f"the mean is; the mode is {shift:.2f} standard deviations of the proposal away, in "
            "the component where they differ most, when the state is the posterior mean",
            "both are",
            mode,
            shift,
            unless_it_holds(
                mode,
                "A slip: the mode of Dir(βπ) is (βπ − 1)/(β − n), where that is positive. Nothing "
                "in the algorithm rests on it: the Hastings ratio is right for any proposal.",
            ),
        ),
    ]


def lags_to_forget(run: Run) -> tuple[int, ...]:
    """Return the first lag at which the mean autocorrelation of each component is below 0.1.

    Lags 0, ..., L were computed; L + 1 stands for more than L.
    """
    mean = run.autocorrelation.mean(axis=0)
    return tuple(int(np.argmax(low)) if low.any() else len(low) for low in (mean < _FORGOTTEN).T)


def _lags_in_words(lags: tuple[int, ...], run: Run) -> str:
    """Say the lags, those beyond the last one computed as more than it."""
    last = run.autocorrelation.shape[1] - 1
    return " and ".join(str(lag) if lag <= last else f"more than {last}" for lag in lags)


def _mode_shift(ten: Comparison) -> float:
    """Return the largest distance of a proposal's mode from its mean, in standard deviations."""
    p = ten[HIDDEN].chain_means.mean(axis=0)
    mode = (PAPER_PROPOSAL * p - 1) / (PAPER_PROPOSAL - len(p))
    return float((np.abs(mode - p) / np.sqrt(p * (1 - p) / (PAPER_PROPOSAL + 1))).max())


# -- R-hat -----------------------------------------------------------------------------------------


def about_mpsrf_10(ten: Comparison) -> list[Claim]:
    """Judge R-hat at ten categories, the printed formula for it, and the speed of the sampler."""
    ours = ten[HIDDEN]
    formula = graded([abs(ours.printed_rhat - ours.rhat[-1]) < 1e-6])
    return [
        *_nearness(ten, [ten[METROPOLIS]]),
        Claim(
            "R̂ is the largest eigenvalue of W^(−½) V W^(½).",
            f"that matrix gives {ours.printed_rhat:.4f} where the largest eigenvalue of W⁻¹V is "
            f"{ours.rhat[-1]:.4f}",
            "the two agree within 1e-6",
            formula,
            ours.printed_rhat,
            unless_it_holds(
                formula,
                "A slip: as printed the matrix is similar to V, not to W⁻¹V, and its eigenvalue "
                "has the scale of a variance. W^(−½) V W^(−½) is meant; the first two forms are "
                "right.",
            ),
        ),
        _fast(ten),
    ]


def about_mpsrf_20(ten: Comparison, twenty: Comparison, sizes: list[Size]) -> list[Claim]:
    """Judge whether the advantage grows with n, over the baseline as it was and tuned again."""
    return [
        *_nearness(twenty, [twenty[METROPOLIS], twenty[TUNED]]),
        _growth(ten, twenty),
        _acceptance(ten, twenty),
        _scaling(sizes),
        agreement(twenty),
    ]


def _nearness(found: Comparison, baselines: list[Run]) -> list[Claim]:
    """Judge whether R-hat is near 1 while baselines are far above, by index and by seconds."""
    ours = found[HIDDEN]
    first = int(np.argmax(ours.rhat < _NEAR_ONE)) if ours.rhat.min() < _NEAR_ONE else -1
    near = bool(ours.rhat[first] < _NEAR_ONE)
    by_index = [_excess(theirs) / _excess(ours) for theirs in baselines]
    by_seconds = [
        ratio_at_equal_seconds(ours, theirs, _excess(ours), _excess(theirs)) for theirs in baselines
    ]
    others = ", ".join(f"{s.label} {found[s].rhat[-1]:.4f}" for s in (WAITING, AUTO, FLOOR))
    return [
        Claim(
            f"At n = {found.n} the auxiliary variable sampler's R̂ is near 1 while that of "
            "Metropolis–Hastings is still far above.",
            f"{_rhats(ours, baselines, first)}, {_rhats(ours, baselines, -1)}; at the end {others}"
            "; excess over 1, Metropolis's over that of hidden counts: "
            f"{_each(by_index, baselines)}",
            f"at the first index with R̂ below {_NEAR_ONE} that of Metropolis is above "
            f"{_FAR_ABOVE}, and its excess over 1 is at least {_FAR_FASTER:.0f} times as large at "
            "every index",
            graded(
                near and theirs.rhat[first] > _FAR_ABOVE and ratio.min() >= _FAR_FASTER
                for theirs, ratio in zip(baselines, by_index, strict=True)
            ),
            min(float(ratio.min()) for ratio in by_index),
        ),
        Claim(
            f"At n = {found.n} the same is seen against elapsed time.",
            "excess of R̂ over 1 at equal seconds, Metropolis's over that of hidden counts: "
            f"{_each(by_seconds, baselines)}",
            f"it is at least {_FAR_FASTER:.0f} times as large at every second that both ran",
            graded(ratio.min() >= _FAR_FASTER for ratio in by_seconds),
            min(float(ratio.min()) for ratio in by_seconds),
        ),
    ]


def _fast(found: Comparison) -> Claim:
    """Judge effective share and seconds a draw, against Metropolis."""
    ours, theirs = found[HIDDEN], found[METROPOLIS]
    return Claim(
        "The auxiliary variable sampler is fast to mix and fast to execute.",
        "; ".join(
            f"{run.label}: effective share {run.effective:.3f}, {1e6 * run.seconds:.2f} µs a draw"
            for run in found
        ),
        f"its effective share is at least {_FAR_FASTER:.0f} times that of Metropolis, and a draw "
        "takes no longer",
        graded(
            [ours.effective >= _FAR_FASTER * theirs.effective, ours.seconds <= theirs.seconds],
        ),
        ours.rate / theirs.rate,
        f"In effective draws a second it is {ours.rate / theirs.rate:.0f} × Metropolis here.",
    )


def _growth(ten: Comparison, twenty: Comparison) -> Claim:
    """Judge whether the ratio of excesses of R-hat over 1 is larger at n = 20 than at n = 10."""
    small = _advantage(ten[HIDDEN], ten[METROPOLIS])
    large, fair = (_advantage(twenty[HIDDEN], twenty[s]) for s in (METROPOLIS, TUNED))
    shares = [
        found[HIDDEN].effective / found[sampler].effective
        for found, sampler in ((ten, METROPOLIS), (twenty, METROPOLIS), (twenty, TUNED))
    ]
    grows = graded([large > small, fair > small])
    return Claim(
        "The advantage over Metropolis–Hastings is even greater at n = 20.",
        f"excess of R̂ over 1, Metropolis over hidden counts, median over the indices: "
        f"{small:,.0f} × at n = 10, {large:,.0f} × at n = 20 with β = {PAPER_PROPOSAL:.0f}, "
        f"{fair:,.0f} × at n = 20 with β tuned to {twenty[TUNED].proposal:.0f}; effective share, "
        f"hidden counts over Metropolis: {shares[0]:,.0f} ×, {shares[1]:,.0f} × and "
        f"{shares[2]:,.0f} ×",
        f"the median at n = 20 is larger than at n = 10, with β = {PAPER_PROPOSAL:.0f} and tuned",
        grows,
        fair / small,
        f"At n = 20, β = {PAPER_PROPOSAL:.0f} accepts {twenty[METROPOLIS].accepted:.3f} of its "
        f"proposals; tuned, {twenty[TUNED].accepted:.3f}. Tuning wins back the loss by detuning, "
        "not that by the dimension.",
    )


def _acceptance(ten: Comparison, twenty: Comparison) -> Claim:
    """Judge whether the paper's proposal accepts the share of proposals aimed at."""
    rates = [found[METROPOLIS].accepted for found in (ten, twenty)]
    return Claim(
        f"In the experiments β is tuned so that about {WANTED_ACCEPTANCE} of the proposals are "
        f"accepted; it is {PAPER_PROPOSAL:.0f} at n = 10 and at n = 20.",
        f"at β = {PAPER_PROPOSAL:.0f} {rates[0]:.3f} are accepted at n = 10 and {rates[1]:.3f} at "
        f"n = 20, on the raw categories; tuned to {WANTED_ACCEPTANCE}, β is "
        f"{twenty[TUNED].proposal:.0f} at n = 20",
        f"the rate is within {_NEAR_WANTED} of {WANTED_ACCEPTANCE} at both",
        graded(abs(rate - WANTED_ACCEPTANCE) < _NEAR_WANTED for rate in rates),
        rates[1],
    )


def _scaling(sizes: list[Size]) -> Claim:
    """Judge how seconds a draw and effective share change with the number of categories."""
    logs = np.log([[s.n, s.seconds] for s in sizes])
    power = float(np.polyfit(logs[:, 0], logs[:, 1], 1)[0])
    least = min(s.effective for s in sizes)
    return Claim(
        "The auxiliary variable sampler scales easily to high dimensions.",
        "; ".join(
            f"n = {s.n:,}: {1e6 * s.seconds:.1f} µs a draw, effective share {s.effective:.2f}"
            for s in sizes
        )
        + f", the smallest of ten categories; seconds grow as n to the power {power:.2f}",
        f"the fitted power is at most {_LARGEST_POWER}, and no effective share is below half that "
        f"at n = {sizes[0].n}",
        graded([power <= _LARGEST_POWER, least >= sizes[0].effective / 2]),
        power,
    )


def _excess(run: Run) -> FloatArray:
    """Return R-hat minus 1."""
    return np.asarray(run.rhat - 1)


def _advantage(ours: Run, theirs: Run) -> float:
    """Return the median ratio of the excesses of R-hat over 1."""
    return float(np.median(_excess(theirs) / _excess(ours)))


def _rhats(ours: Run, baselines: list[Run], k: int) -> str:
    """Say R-hat of a sampler and of its baselines at one index."""
    others = [f"{run.rhat[k]:.4g} (β = {run.proposal:.0f})" for run in baselines]
    return f"after {ours.index[k]:,} draws {ours.rhat[k]:.4f} against {' and '.join(others)}"


def _each(ratios: list[FloatArray], baselines: list[Run]) -> str:
    """Say the least and largest ratio to each baseline."""
    named = zip(ratios, baselines, strict=True)
    return " and ".join(f"{spread(ratio)} (β = {run.proposal:.0f})" for ratio, run in named)


# -- errors of means and variances -----------------------------------------------------------------


def about_convergence(ten: Comparison) -> list[Claim]:
    """Judge errors of means and variances, by index and by seconds, and the samplers' agreement."""
    ours, theirs = ten[HIDDEN], ten[METROPOLIS]
    claims = []
    for name, mine, other in (
        ("mean", ours.mean_error.mean(axis=0), theirs.mean_error.mean(axis=0)),
        ("variance", ours.variance_error.mean(axis=0), theirs.variance_error.mean(axis=0)),
    ):
        for along, ratio in (
            ("index", other / mine),
            ("second", ratio_at_equal_seconds(ours, theirs, mine, other)),
        ):
            claims.append(
                Claim(
                    f"The error of the {name} is smaller at every {along}.",
                    f"error of Metropolis over that of hidden counts: {spread(ratio)}",
                    f"the ratio is above 1 at every {along}, of those that both have",
                    graded([ratio.min() > 1]),
                    float(ratio.min()),
                )
            )
    return [*claims, agreement(ten)]


def ratio_at_equal_seconds(
    ours: Run, theirs: Run, mine: FloatArray, other: FloatArray
) -> FloatArray:
    """Return the ratio `other / mine` at equal seconds, interpolated on logarithmic scales.

    It is evaluated where either sampler was, between the later of their first evaluations and the
    earlier of their last ones; nan where one sampler ends before the other begins.
    """
    mine_at, other_at = ours.index * ours.seconds, theirs.index * theirs.seconds
    start, end = max(mine_at[0], other_at[0]), min(mine_at[-1], other_at[-1])
    if start > end:
        return np.array([np.nan])
    both = np.unique(np.concatenate([mine_at, other_at]))
    at = np.log(both[(both >= start) & (both <= end)])
    log_other = np.interp(at, np.log(other_at), np.log(other))
    return np.asarray(np.exp(log_other - np.interp(at, np.log(mine_at), np.log(mine))))


def spread(ratio: FloatArray) -> str:
    """Say the least and the largest ratio in words."""
    if np.isnan(ratio).any():
        return "unknown, there is no second in common"
    digits = 0 if ratio.min() >= 20 else 1
    return f"{ratio.min():,.{digits}f} to {ratio.max():,.{digits}f}"


# -- agreement of the samplers with each other -----------------------------------------------------


class Disagreement(NamedTuple):
    """The largest difference between a sampler and the others, and the largest allowed.

    In standard errors: `z` and `bound`; in units of the statistic: `difference` and `allowed`.
    """

    z: float
    bound: float
    difference: float
    allowed: float


def agreement(found: Comparison) -> Claim:
    """Judge whether all samplers have the same posterior means and variances."""
    means = disagreement([run.chain_means for run in found], FALSE_ALARM / 2)
    variances = disagreement([run.chain_variances for run in found], FALSE_ALARM / 2)
    return Claim(
        f"All samplers have the same posterior mean and variance (n = {found.n}).",
        f"largest difference between any sampler and the rest: {means.z:.2f} standard errors of a "
        f"mean and {variances.z:.2f} of a variance; in probability the largest difference of a "
        f"mean is {means.difference:.5f}, where {means.allowed:.5f} are allowed",
        f"both are below {means.bound:.2f} standard errors, a false alarm in {1 / FALSE_ALARM:,.0f}"
        " for all categories and samplers together",
        graded([means.z <= means.bound and variances.z <= variances.bound]),
        max(means.z, variances.z),
        ours=True,
    )


def disagreement(chains: list[FloatArray], chance: float = FALSE_ALARM) -> Disagreement:
    """Compare each sampler's mean over chains with that of all others.

    Chains are independent, so their statistics give the standard errors; the bound is Student's,
    with the degrees of freedom of one sampler's chains, over all comparisons at once.

    Parameters
    ----------
    chains
        A statistic of each chain, one array for each sampler, shape (chain, category).
    chance
        Probability of a false alarm over all comparisons.
    """
    means = np.stack([m.mean(axis=0) for m in chains])
    variances = np.stack([m.var(axis=0, ddof=1) / len(m) for m in chains])
    freedom = min(len(m) for m in chains) - 1
    bound = float(-stdtrit(freedom, chance / 2 / means.size))
    apart, errors = np.empty_like(means), np.empty_like(means)
    for k in range(len(means)):
        weights = np.delete(1 / variances, k, axis=0)
        rest = (weights * np.delete(means, k, axis=0)).sum(axis=0) / weights.sum(axis=0)
        apart[k] = np.abs(means[k] - rest)
        errors[k] = np.sqrt(variances[k] + 1 / weights.sum(axis=0))
    largest = apart.argmax()
    return Disagreement(
        float((apart / errors).max()),
        bound,
        float(apart.flat[largest]),
        float(bound * errors.flat[largest]),
    )

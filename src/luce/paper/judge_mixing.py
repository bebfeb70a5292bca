"""Claims on one chain: how fast it forgets, what it proposes, how fast its statistics converge."""

from __future__ import annotations

import numpy as np

from luce._types import FloatArray
from luce.paper.agreement import agreement
from luce.paper.claims import Claim, graded, unless_it_holds
from luce.paper.experiments import Comparison, Run
from luce.paper.samplers import AUTO, FLOOR, HIDDEN, METROPOLIS, PAPER_PROPOSAL, WAITING

FAR_FASTER = 5.0  # times

_FORGOTTEN = 0.1  # autocorrelation


def about_autocorrelation(ten: Comparison) -> list[Claim]:
    """Check how fast the samplers forget, and the Metropolis proposal."""
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
            f"Metropolis needs at least {FAR_FASTER:.0f} times as many lags in both components",
            graded([ratio >= FAR_FASTER and not never]),
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


def about_convergence(ten: Comparison) -> list[Claim]:
    """Check the errors of means and variances, by index and by seconds."""
    ours, theirs = ten[HIDDEN], ten[METROPOLIS]
    claims = []
    for name, mine, other in (
        ("mean", ours.mean_error.mean(axis=0), theirs.mean_error.mean(axis=0)),
        ("variance", ours.variance_error.mean(axis=0), theirs.variance_error.mean(axis=0)),
    ):
        for what, ratio in (
            ("index", other / mine),
            ("second", ratio_at_equal_seconds(ours, theirs, mine, other)),
        ):
            claims.append(
                Claim(
                    f"The error of the {name} is smaller at every {what}.",
                    f"error of Metropolis over that of hidden counts: {spread(ratio)}",
                    f"the ratio is above 1 at every {what}, of those that both have",
                    graded([ratio.min() > 1]),
                    float(ratio.min()),
                )
            )
    return [*claims, agreement(ten)]


def lags_to_forget(run: Run) -> tuple[int, ...]:
    """First lag at which the mean autocorrelation of each component is low; one too many if none.

    Lags 0, ..., L were computed; L + 1 stands for more than L.
    """
    mean = run.autocorrelation.mean(axis=0)
    return tuple(int(np.argmax(low)) if low.any() else len(low) for low in (mean < _FORGOTTEN).T)


def ratio_at_equal_seconds(
    ours: Run, theirs: Run, mine: FloatArray, other: FloatArray
) -> FloatArray:
    """Ratio of the others' errors to ours at equal seconds, interpolated on logarithmic scales.

    It is taken at every evaluation of either sampler, from the later of their first ones to the
    earlier of their last ones; nan where one ends before the other begins.
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
    """Say what the least and the largest of some ratios are."""
    if np.isnan(ratio).any():
        return "unknown, there is no second in common"
    digits = 0 if ratio.min() >= 20 else 1
    return f"{ratio.min():,.{digits}f} to {ratio.max():,.{digits}f}"


def _lags_in_words(lags: tuple[int, ...], run: Run) -> str:
    last = run.autocorrelation.shape[1] - 1
    return " and ".join(str(lag) if lag <= last else f"more than {last}" for lag in lags)


def _mode_shift(ten: Comparison) -> float:
    """Distance of the mode of a proposal from its mean, in standard deviations of it."""
    p = ten[HIDDEN].chain_means.mean(axis=0)
    mode = (PAPER_PROPOSAL * p - 1) / (PAPER_PROPOSAL - len(p))
    return float((np.abs(mode - p) / np.sqrt(p * (1 - p) / (PAPER_PROPOSAL + 1))).max())

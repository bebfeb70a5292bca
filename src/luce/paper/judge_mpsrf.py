"""Claims on many chains: how near R-hat comes to 1, at ten categories, at twenty and beyond."""

from __future__ import annotations

import numpy as np

from luce._types import FloatArray
from luce.paper.agreement import agreement
from luce.paper.claims import Claim, graded, unless_it_holds
from luce.paper.experiments import Comparison, Run, Size
from luce.paper.judge_mixing import FAR_FASTER, ratio_at_equal_seconds, spread
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

_NEAR_ONE, _FAR_ABOVE = 1.05, 1.2  # of an R-hat
_NEAR_WANTED = 0.03  # of an acceptance rate
_LARGEST_POWER = 1.1  # of n in the seconds of a draw that still scales easily


def about_mpsrf_10(ten: Comparison) -> list[Claim]:
    """Check convergence of ten categories, and the formula for it."""
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
    """Check whether the advantage grows, with the baseline as it was and tuned again."""
    return [
        *_nearness(twenty, [twenty[METROPOLIS], twenty[TUNED]]),
        _growth(ten, twenty),
        _acceptance(ten, twenty),
        _scaling(sizes),
        agreement(twenty),
    ]


def _nearness(found: Comparison, baselines: list[Run]) -> list[Claim]:
    """R-hat near 1 while that of the baselines is far above, by index and by seconds."""
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
            f"{_FAR_ABOVE}, and its excess over 1 is at least {FAR_FASTER:.0f} times as large at "
            "every index",
            graded(
                near and theirs.rhat[first] > _FAR_ABOVE and ratio.min() >= FAR_FASTER
                for theirs, ratio in zip(baselines, by_index, strict=True)
            ),
            min(float(ratio.min()) for ratio in by_index),
        ),
        Claim(
            f"At n = {found.n} the same is seen against elapsed time.",
            "excess of R̂ over 1 at equal seconds, Metropolis's over that of hidden counts: "
            f"{_each(by_seconds, baselines)}",
            f"it is at least {FAR_FASTER:.0f} times as large at every second that both ran",
            graded(ratio.min() >= FAR_FASTER for ratio in by_seconds),
            min(float(ratio.min()) for ratio in by_seconds),
        ),
    ]


def _fast(found: Comparison) -> Claim:
    ours, theirs = found[HIDDEN], found[METROPOLIS]
    return Claim(
        "The auxiliary variable sampler is fast to mix and fast to execute.",
        "; ".join(
            f"{run.label}: effective share {run.effective:.3f}, {1e6 * run.seconds:.2f} µs a draw"
            for run in found
        ),
        f"its effective share is at least {FAR_FASTER:.0f} times that of Metropolis, and a draw "
        "takes no longer",
        graded(
            [ours.effective >= FAR_FASTER * theirs.effective, ours.seconds <= theirs.seconds],
        ),
        ours.rate / theirs.rate,
        f"In effective draws a second it is {ours.rate / theirs.rate:.0f} × Metropolis here.",
    )


def _growth(ten: Comparison, twenty: Comparison) -> Claim:
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
        f"proposals; tuned, {twenty[TUNED].accepted:.3f}. What tuning wins back is detuning, not "
        "the dimension.",
    )


def _acceptance(ten: Comparison, twenty: Comparison) -> Claim:
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
    return np.asarray(run.rhat - 1)


def _advantage(ours: Run, theirs: Run) -> float:
    return float(np.median(_excess(theirs) / _excess(ours)))


def _rhats(ours: Run, baselines: list[Run], k: int) -> str:
    others = [f"{run.rhat[k]:.4g} (β = {run.proposal:.0f})" for run in baselines]
    return f"after {ours.index[k]:,} draws {ours.rhat[k]:.4f} against {' and '.join(others)}"


def _each(ratios: list[FloatArray], baselines: list[Run]) -> str:
    named = zip(ratios, baselines, strict=True)
    return " and ".join(f"{spread(ratio)} (β = {run.proposal:.0f})" for ratio, run in named)

"""How well the best is known, and what more comparisons would change: when to stop.

For each of many draws, taken as the truth, the outcomes of more comparisons are simulated, and all
other draws are weighted by their likelihood.  The weights give the probability of being best after
these outcomes.  That probability is today's on average, P; no outcomes whatever can be expected to
move it by more than 2 P (1 - P), which they would if they told the best for certain.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil, sqrt

import numpy as np

from luce._types import FloatArray, IntArray, Label
from luce.answers.view import DrawsView
from luce.counts.labels import plural, printable
from luce.decide.candidates import Candidate, Candidates
from luce.estimates.estimate import Estimate
from luce.page.words import probability
from luce.sampling.convergence import Verdict
from luce.sampling.mixing import errors_of_means

# Truths from which outcomes are simulated.
_TRUTHS = 1000

# Standard errors within which a number that is said to be less than another one lies.
_SURE = 4.0

# Effective draws that simulated outcomes must leave in the middle, and effective draws in which the
# leader is best, and is not, for a forecast.
_LEAST_LEFT, _LEAST_EITHER = 100.0, 20.0

# A change that needs no forecast, since there cannot be a larger one.
_LITTLE = 0.01

_TINY = 1e-300


@dataclass(frozen=True, eq=False)
class Outlook:
    """How well the best is known now, and what more comparisons would change.

    Attributes
    ----------
    leader
        Who is best with the largest probability.
    probability
        That probability.
    more
        Number of further comparisons that the forecast is for.
    plan
        These comparisons: candidates, and how often each is made.
    change
        Expected absolute change of the leader's probability by them; None where the draws are too
        few to tell.
    after
        Expected probability of whoever will be the most probable best then; None likewise.
    less_than
        A number that the expected change is less than, allowing for Monte Carlo error; without a
        forecast it holds for any number of comparisons.  nan where the draws are not to be trusted.
    sentences
        All this in words.
    """

    leader: Label
    probability: Estimate
    more: int
    plan: list[tuple[Candidate, int]]
    change: Estimate | None
    after: Estimate | None
    less_than: float
    sentences: tuple[str, ...]

    def __str__(self) -> str:
        return "\n".join(self.sentences)


def look_ahead(
    x: DrawsView,
    labels: Sequence[Label],
    shares: FloatArray,
    candidates: Candidates,
    plan: IntArray,
    bundles: IntArray,
    independent: float,
    trust: Verdict,
    rng: np.random.Generator,
    of: str = "",
) -> Outlook:
    """Forecast what more comparisons would change.

    Parameters
    ----------
    x
        The draws.
    labels, shares
        Who is best in any draw, and the share of each in each draw, shape (draw, label).
    candidates, plan, bundles
        The candidates, the numbers of those that are taken in turn, and how often each is.
    independent
        Number of independent draws that the draws are worth.
    trust
        The verdict on the draws.
    rng
        Draws truths and outcomes.
    of
        Of whom the leader is the best, in words such as " of these 3"; nothing if of all.
    """
    means = shares.mean(axis=0)
    first = int(np.argmax(means))
    p = float(means[first])
    error, worth = _error_of_share(shares[:, first].reshape(x.values.shape[:2]), independent)
    now = Estimate(p, error, "draws")
    more = int(bundles.sum())
    numbers, which = np.unique(plan, return_inverse=True)
    times = np.bincount(which, bundles, len(numbers)).astype(np.int64)
    named = [(candidates.name(int(n)), int(t)) for n, t in zip(numbers, times, strict=True)]
    who = printable(labels[first])
    if trust.kind == "bad":
        warned = (
            f"No word on when to stop: {trust.problem}",
            f"{who} is best{of} in {probability(p)} of these draws.",
        )
        return Outlook(labels[first], now, more, named, None, None, float("nan"), warned)
    known = f"{who} is best{of} with probability {probability(p)}"
    if p == 1:
        known = f"{who} is best{of} in all {plural(x.n_draws, 'draw')}"
    limit = _limit(p, worth)
    at_most = (
        f"{known}; no further comparisons would change that by more than {_above(limit)} on "
        "average, however many."
    )
    if more == 0:
        return Outlook(labels[first], now, 0, [], None, None, limit, (at_most,))
    either = min(p, 1 - p) * worth
    change = after = None
    if either >= _LEAST_EITHER:
        change, after = _forecast(
            candidates, numbers, times, shares, first, now, independent / x.n_draws, rng
        )
    if change is None or after is None:
        few = f"These draws are too few to say what {plural(more, 'comparison')} would change."
        told = (at_most, few) if limit > _LITTLE else (at_most,)
        return Outlook(labels[first], now, more, named, None, None, limit, told)
    bound = min(float(change) + _SURE * float(change.standard_error), limit)
    sentences = (
        f"{known}; {plural(more, 'more comparison', 'more comparisons')} would change that by less "
        f"than {_above(bound)} on average.",
        f"After them the best would be known with probability {probability(float(after))} on "
        f"average; they are spread over {plural(len(named), 'candidate')}.",
    )
    return Outlook(labels[first], now, more, named, change, after, bound, sentences)


def _error_of_share(share: FloatArray, independent: float) -> tuple[float, float]:
    """Compute the Monte Carlo error of a mean, and the independent draws that it is worth."""
    p = float(share.mean())
    plain = sqrt(p * (1 - p) / independent)
    if share.shape[1] < 8 or np.ptp(share) == 0:
        return plain, independent
    error = float(errors_of_means(share[None])[0])
    return error, min(independent, p * (1 - p) / error**2) if error > 0 else independent


def _limit(p: float, worth: float) -> float:
    """Compute the largest 2 P (1 - P) for probabilities P that the draws leave possible.

    These are those of Wilson's interval, which has a width where the draws all agree.
    """
    z = _SURE**2 / worth
    centre, half = (p + z / 2) / (1 + z), sqrt(z * p * (1 - p) + z**2 / 4) / (1 + z)
    closest = min(max(0.5, centre - half), centre + half)
    return 2 * closest * (1 - closest)


def _above(number: float) -> str:
    """Round a number up to three decimals."""
    return f"{max(ceil(number * 1000 - 1e-9), 1) / 1000:.3f}"


def _forecast(
    candidates: Candidates,
    numbers: IntArray,
    times: IntArray,
    shares: FloatArray,
    first: int,
    now: Estimate,
    worth: float,
    rng: np.random.Generator,
) -> tuple[Estimate | None, Estimate | None]:
    """Estimate the expected change of a probability, and of the largest, by simulated outcomes.

    Returns None where most outcomes would leave too few effective draws.
    """
    q = candidates.probabilities(numbers)
    draws = len(shares)
    truths = ((rng.random() + np.arange(_TRUTHS)) * draws / _TRUTHS).astype(np.int64) % draws
    logs = np.zeros((_TRUTHS, draws))
    for own, number in zip(q, times, strict=True):
        outcomes = rng.multinomial(number, (own / own.sum(axis=0)).T[truths])
        logs += outcomes @ np.log(np.maximum(own, _TINY))
    logs[np.arange(_TRUTHS), truths] = -np.inf  # the truth is no draw given the outcomes
    weights = np.exp(logs - logs.max(axis=1, keepdims=True))
    weights /= weights.sum(axis=1, keepdims=True)
    if np.median(1 / (weights**2).sum(axis=1)) * worth < _LEAST_LEFT:
        return None, None
    then = weights @ shares
    p = float(now)
    change, after = np.abs(then[:, first] - p), then.max(axis=1)
    value = float(change.mean())
    # Where P itself is off, so is the change, in proportion to P (1 - P).
    by_draws = value * abs(1 - 2 * p) / (p * (1 - p)) * float(now.standard_error)
    error = float(np.hypot(change.std(ddof=1) / sqrt(_TRUTHS), by_draws))
    later = float(np.hypot(after.std(ddof=1) / sqrt(_TRUTHS), now.standard_error))
    return Estimate(value, error, "simulation"), Estimate(float(after.mean()), later, "simulation")

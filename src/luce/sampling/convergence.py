"""One verdict on convergence, whatever the sink: all entries of all parameters are checked.

R-hat and effective sample size are those of `luce.sampling.mixing`, of ranks as normal scores.  All
entries are screened by one pass over the draws, and the worst of them are ranked (`screen`).
`Posterior.sample` warns by this verdict, and `luce fit`, `luce report` and `until=` go by it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal

import numpy as np

from luce._types import FloatArray
from luce.counts.labels import plural, some
from luce.errors import ConvergenceWarning, warn_user
from luce.sampling import mixing
from luce.sampling.screen import DrawsToCheck, Quantity, columns, judged_columns, screen

if TYPE_CHECKING:
    from luce.sampling.plan import Plan

# Vehtari et al. ask for an effective sample size of 400.  R-hat of four chains that agree stays
# below 1.05 at that size; more means they have not met.  They ask for 1.01, which the largest of
# thousands of entries reaches only with many more draws: above it, the draws are taken with care.
ENOUGH_ESS = 400.0
LARGEST_RHAT = 1.05
GOOD_RHAT = 1.01

# Monte Carlo error of the mean, as a share of the standard deviation: 400 effective draws give a
# twentieth.
GOOD_MCSE, LARGEST_MCSE = 0.05, 0.1

# Smallest share of accepted proposals.  A chain below it stands still for hundreds of draws, which
# exact splits around its core, since they keep moving, would hide from the figures above.
LEAST_ACCEPTANCE = 0.005

# Draws of all chains that are looked at, for each effective draw that is wanted.  Chains that just
# reach what is wanted are correlated over 20 of the draws looked at, so thinning hides nothing.
# At least a few hundred draws of each chain are looked at.
_LOOKED_AT, _LEAST_LOOKED_AT = 20, 500

# Numbers that are ranked at once, few enough for a core's own cache.
_SLAB = 1 << 16

# Halves of chains with fewer draws have no pairs of correlations to sum.
_SHORT = 5

Kind = Literal["good", "mixed", "bad"]
HEADLINES: dict[Kind, str] = {
    "good": "The draws can be trusted",
    "mixed": "Trust the draws with care",
    "bad": "Do not trust these draws yet",
}


@dataclass(frozen=True)
class Worst:
    """The worst value of a figure, and the entry it belongs to; nan where it is unknown."""

    value: float = float("nan")
    entry: str = ""


@dataclass(frozen=True)
class Verdict:
    """Result of the check.

    Parameters
    ----------
    kind
        "good"; "mixed" for draws to be taken with care; "bad" for draws that cannot be trusted.
    problem
        A sentence that says what is wrong with "bad" draws, else None.
    care
        Reasons for care in words, where the draws are "mixed".
    largest_rhat, smallest_ess, largest_mcse
        Worst figures and their entries; the last is a share of the standard deviation.
    still
        Entries that never moved in a chain, by name.
    acceptance
        Smallest share of proposals that a chain accepted; None without proposals.
    every
        Every so many-th draw was looked at.
    limits
        Sentences about limits of the model that the draws reach: they are warned of, whatever the
        draws are worth.
    unmet
        A sentence that says that `until` was not met by all draws that may be made, else empty.
    """

    kind: Kind = "good"
    problem: str | None = None
    care: tuple[str, ...] = ()
    largest_rhat: Worst = Worst()
    smallest_ess: Worst = Worst()
    largest_mcse: Worst = Worst()
    still: tuple[str, ...] = ()
    acceptance: float | None = None
    every: int = 1
    limits: tuple[str, ...] = ()
    unmet: str = ""

    @property
    def rhat(self) -> float:
        """Largest R-hat."""
        return self.largest_rhat.value

    @property
    def ess(self) -> float:
        """Smallest effective sample size."""
        return self.smallest_ess.value

    @property
    def headline(self) -> str:
        """The verdict in a few words."""
        return HEADLINES[self.kind]

    def with_care(self, reasons: tuple[str, ...]) -> Verdict:
        """Add reasons for care; draws that were good are mixed then."""
        kind: Kind = "mixed" if reasons and self.kind == "good" else self.kind
        return replace(self, kind=kind, care=(*self.care, *reasons))

    def __str__(self) -> str:
        if self.problem is not None:
            return self.problem[0].upper() + self.problem[1:]
        return f"{self.headline}{': ' + '; '.join(self.care) if self.care else ''}."


def check(plan: Plan, sink: DrawsToCheck) -> Verdict:
    """Judge a run by all parameters that its plan declares, and warn where it cannot be trusted."""
    verdict = judge(plan, sink)
    warn(verdict)
    return verdict


def warn(verdict: Verdict) -> None:
    """Warn about draws that cannot be trusted, reach a limit, or are fewer than `until` wants."""
    sentences = [words for words in (verdict.problem, *verdict.limits, verdict.unmet) if words]
    if sentences:
        warn_user(ConvergenceWarning(" ".join(sentences), verdict.rhat, verdict.ess))


def judge(plan: Plan, sink: DrawsToCheck, wanted: float = ENOUGH_ESS) -> Verdict:
    """Judge a run by all parameters that its plan declares, and by what the plan adds."""
    chains = plan.settings.chains
    if plan.independent:
        return plan.judged(sink, judge_independent(chains * sink.draws, wanted))
    proposals = any(output.path == "sample_stats/accepted" for output in plan.outputs)
    found = judge_draws(sink, chains, list(_quantities(plan)), proposals, wanted)
    return plan.judged(sink, found)


def _quantities(plan: Plan) -> Iterable[Quantity]:
    outputs = {output.path: output for output in plan.outputs}
    for p in plan.parameters:
        output = outputs.get(f"posterior/{p.name}")
        if output is None or output.every > 1 or p.role == "latent":
            continue
        labels = [p.coords[dim] for dim in p.dims]
        if output.kept is not None:
            labels[-1] = labels[-1][output.kept]
        yield Quantity(
            name=p.name,
            labels=labels,
            competitor=p.role == "competitor",
            logs=f"posterior/log_{p.name}" in outputs,
            simplex=p.support == "simplex" and output.kept is None,
        )


def judge_independent(draws: int, wanted: float = ENOUGH_ESS) -> Verdict:
    """Judge draws that are independent by construction: only their number counts."""
    if draws >= wanted:
        return Verdict()
    few = f"{plural(draws, 'draw')} in all; at least {wanted:,.0f} are wanted"
    return Verdict("mixed", care=(few,))


def judge_draws(
    sink: DrawsToCheck,
    chains: int,
    quantities: Sequence[Quantity],
    proposals: bool = False,
    wanted: float = ENOUGH_ESS,
) -> Verdict:
    """Judge draws of Markov chains.

    Parameters
    ----------
    sink
        The draws.
    chains
        Number of chains.
    quantities
        Parameters to judge.
    proposals
        Does the sink hold the shares of accepted proposals?
    wanted
        Smallest effective sample size that is enough.
    """
    accepted = _least_acceptance(sink, chains) if proposals else None
    if accepted is not None and accepted < LEAST_ACCEPTANCE:
        words = (
            f"do not trust these draws: a chain accepted {accepted:.2%} of its proposals, so it "
            "hardly moved. Use another method, or another proposal_concentration."
        )
        return Verdict("bad", words, acceptance=accepted)
    if sink.draws < 4:
        return Verdict(
            "bad",
            f"do not trust these draws yet: {plural(sink.draws, 'draw')} a chain "
            f"{'is' if sink.draws == 1 else 'are'} too few to judge. Take more draws.",
            acceptance=accepted,
        )
    looked_at = max(_LOOKED_AT * round(wanted), _LEAST_LOOKED_AT * chains)
    every = -(-sink.draws * chains // looked_at)
    found = [_examine(sink, chains, quantity, every) for quantity in quantities]
    return replace(_verdict(found, chains, every, wanted), acceptance=accepted)


@dataclass(frozen=True)
class _Examined:
    """Worst figures of one parameter, and the entries of it that never moved."""

    finite: bool
    still: tuple[str, ...] = ()
    rhat: Worst = Worst()
    ess: Worst = Worst()
    mcse: Worst = Worst()


def _examine(sink: DrawsToCheck, chains: int, quantity: Quantity, every: int) -> _Examined:
    """Screen all entries of a parameter, and rank the draws of the worst."""
    screened = screen(sink, chains, quantity, every)
    if not screened.finite:
        return _Examined(finite=False)
    still = np.flatnonzero(screened.still)
    if len(still):
        names = tuple(quantity.entry(int(i)) for i in still)
        return _Examined(True, names, Worst(float("inf"), names[0]), Worst(float(chains), names[0]))
    numbers = screened.worst
    if not len(numbers):
        return _Examined(finite=True)
    entries = slice(None) if len(numbers) == quantity.size else numbers
    x = judged_columns(sink, chains, quantity, entries, every)
    rhat, ess = rhat_and_ess(x)
    values = columns(sink, chains, quantity.path, entries, every) if quantity.logs else x
    mcse = relative_mcse(values)

    def worst(figures: FloatArray, sign: float) -> Worst:
        if np.isnan(figures).all():
            return Worst()
        k = int(np.nanargmax(sign * figures))
        return Worst(float(figures[k]), quantity.entry(int(numbers[k])))

    return _Examined(True, (), worst(rhat, 1), worst(ess, -1), worst(mcse, 1))


def _verdict(found: Sequence[_Examined], chains: int, every: int, wanted: float) -> Verdict:
    """Sum the findings on all parameters up."""
    if not all(one.finite for one in found):
        return Verdict("bad", "do not trust these draws: some of them are not finite numbers.")
    still = tuple(name for one in found for name in one.still)
    rhat = max((one.rhat for one in found), key=lambda w: _value_or(-np.inf, w), default=Worst())
    ess = min((one.ess for one in found), key=lambda w: _value_or(np.inf, w), default=Worst())
    mcse = max((one.mcse for one in found), key=lambda w: _value_or(-np.inf, w), default=Worst())
    problem = _problem(still, rhat, ess, mcse, every, wanted)
    care = _reasons_for_care(rhat, mcse, chains)
    kind: Kind = "bad" if problem is not None else "mixed" if care else "good"
    return Verdict(kind, problem, care, rhat, ess, mcse, still, every=every)


def _value_or(missing: float, worst: Worst) -> float:
    """Return the value of a figure, or another number where it has none."""
    return missing if np.isnan(worst.value) else worst.value


def _problem(
    still: tuple[str, ...], rhat: Worst, ess: Worst, mcse: Worst, every: int, wanted: float
) -> str | None:
    if still:
        return (
            f"do not trust these draws: these never moved: {some(still, quote=False)}, though the "
            "posterior says that they must; their draws say nothing. Start elsewhere "
            "(initial=...), or use another method."
        )
    thinned = f" among every {every}th draw" if every > 1 else ""
    if rhat.value > LARGEST_RHAT or ess.value < wanted:
        return (
            f"do not trust these draws yet: the largest R-hat is {rhat.value:.3f}, of {rhat.entry} "
            f"(at most {LARGEST_RHAT} is wanted), and the smallest effective sample size "
            f"{ess.value:.0f}{thinned}, of {ess.entry} (at least {wanted:.0f}). Take more draws, "
            "or another method."
        )
    if mcse.value > LARGEST_MCSE:
        return (
            f"do not trust these draws yet: the Monte Carlo error of the mean of {mcse.entry} is "
            f"{mcse.value:.0%} of its standard deviation (at most {LARGEST_MCSE:.0%} is wanted). "
            "Take more draws, or another method."
        )
    return None


def _reasons_for_care(rhat: Worst, mcse: Worst, chains: int) -> tuple[str, ...]:
    reasons = []
    if chains == 1:
        reasons.append("one chain has no other to agree with")
    if rhat.value > GOOD_RHAT:
        reasons.append(f"the largest R-hat is {rhat.value:.3f}, of {rhat.entry}")
    if mcse.value > GOOD_MCSE:
        reasons.append(
            f"the Monte Carlo error of the mean of {mcse.entry} is {mcse.value:.0%} of its "
            "standard deviation"
        )
    return tuple(reasons)


def _least_acceptance(sink: DrawsToCheck, chains: int) -> float:
    """Return the smallest share of proposals that a chain accepted."""
    accepted = columns(sink, chains, "sample_stats/accepted", slice(None)).mean(axis=1)
    return float(np.nanmin(accepted))  # nan for cores whose method proposes nothing


def rhat_and_ess(x: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Compute split R-hat and bulk effective sample size of each variable.

    Both are of ranks, as normal scores; R-hat is that of ranks of |x - median| too, if larger, so
    that unequal spreads show.

    Parameters
    ----------
    x
        Shape (chain, draw, variable), at least 4 draws.
    """
    found = [_rhat_and_ess(variables) for variables in _slabs(x)]
    return np.concatenate([r for r, _ in found]), np.concatenate([e for _, e in found])


def _rhat_and_ess(x: FloatArray) -> tuple[FloatArray, FloatArray]:
    ranked = mixing.ranking(mixing.flat(x))
    scores = mixing.normal_scores(ranked, x.shape)
    rhat = mixing.larger_rhat(scores, mixing.folded_scores(ranked, x.shape))
    return rhat, _sizes(scores)


def _slabs(x: FloatArray) -> Iterable[FloatArray]:
    """Turn (chain, draw, variable) into blocks of (variable, chain, draw)."""
    width = max(1, _SLAB // (x.shape[0] * x.shape[1]))
    for k in range(0, x.shape[2], width):
        yield np.ascontiguousarray(np.moveaxis(x[:, :, k : k + width], 2, 0))


def _sizes(halves: mixing.Chains) -> FloatArray:
    """Compute effective sample sizes, of very short chains by their first correlation."""
    short = halves.deviations.shape[2] < _SHORT
    return (mixing.sizes_by_neighbours if short else mixing.effective_sizes)(halves)


def _sizes_of_means(x: FloatArray) -> FloatArray:
    halves = (mixing.halves(mixing.in_units(own)[0]) for own in _slabs(x))
    return np.concatenate([_sizes(mixing.chains_of(own)) for own in halves])


def relative_mcse(x: FloatArray) -> FloatArray:
    """Compute the Monte Carlo error of each mean, as a share of the standard deviation.

    x has shape (chain, draw, variable); the error is nan where a variable never varies.
    """
    varies = np.ptp(x, axis=(0, 1)) > 0
    found = np.full(x.shape[2], np.nan)
    if varies.any():
        found[varies] = 1 / np.sqrt(_sizes_of_means(x[:, :, varies]))
    return found


def worst_ess(x: FloatArray) -> float:
    """Compute the smallest effective sample size of ranks; x has shape (chain, draw, variable).

    A variable that is always 0, such as the log likelihood of no data, is left out.  Any other that
    never varies is worth one draw a chain.
    """
    moving = x[:, :, (x != 0).any(axis=(0, 1))]
    if moving.size == 0:
        return float(x.shape[0] * x.shape[1])
    if x.shape[1] < 4 or (np.ptp(moving, axis=(0, 1)) == 0).any():
        return float(x.shape[0])
    return float(rhat_and_ess(moving)[1].min())


def ess_of_mean(x: FloatArray) -> float:
    """Compute the effective sample size of the mean of x, shape (chain, draw).

    Draws that never vary are worth one draw a chain.
    """
    if np.ptp(x) == 0:
        return float(len(x))
    if x.shape[1] < 4:
        return float(x.size)
    return float(_sizes_of_means(x[:, :, None])[0])

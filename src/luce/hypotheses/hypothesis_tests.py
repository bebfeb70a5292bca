"""Tests of hypotheses about probabilities: posterior probability, Bayes factor, classical test.

An inequality, such as a > b > c or "a is among the best k", has a posterior and a prior
probability.  Its Bayes factor against the contrary is the ratio of posterior to prior odds.

A point, such as "a, b and c are equal" or p_a = x, has a Bayes factor against the posterior's own
model: the posterior density of the quantity it fixes over its prior density there (Savage and
Dickey).  "a, b and c are equal" fixes the shares of a, b and c in their total; the prior of the
total and of all other categories stays.  Posterior densities are averages, over draws, of the
density of the next sweep of waiting times.

A parameter of contests, `home` or `tie`, is asked for in the same two ways: its probability to be
above a number is counted in draws; that it has one value is a model of its own, whose evidence is
compared with that of the posterior's model.  All strengths being equal leaves the parameters alone,
whose prior is summed over.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from math import exp, factorial, inf, isclose, log, log1p
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from luce._types import FloatArray, IntArray, Label, Labels, SeedLike
from luce.answers.ranks import best_in_draws
from luce.answers.view import DrawsView
from luce.counts.counts import ConditionalCounts
from luce.counts.labels import Categories, plural, printable, read_number, some
from luce.errors import DataError, EvidenceWarning, MethodError, warn_user
from luce.estimates.densities import log_scaled_dirichlet, next_gammas
from luce.estimates.estimate import Estimate
from luce.estimates.event_evidence import log_evidence_if_equal
from luce.estimates.weights import basis, is_trusted, log_mean
from luce.hypotheses.bayes_factors import BayesFactor, bayes_factor, savage_dickey
from luce.hypotheses.gamma_orders import beta_tails, chance_of_best, chance_of_order
from luce.hypotheses.likelihood_ratio import (
    LikelihoodRatio,
    ratio_of_equal,
    ratio_of_order,
    ratio_of_parameter,
    ratio_of_shares,
)
from luce.model.priors import Dirichlet, Gamma
from luce.model.shapes import raw_problem
from luce.posterior import Posterior
from luce.sampling.convergence import ess_of_mean

if TYPE_CHECKING:
    from xarray import DataTree

# Means of probabilities below this may rest on few draws; others cannot, since none exceeds 1.
_RARE = 0.01


@dataclass(frozen=True)
class HypothesisTest:
    """The answer to a hypothesis: its probability, its Bayes factor and the classical test.

    Attributes
    ----------
    statement
        The hypothesis in words.
    probability, standard_error
        The posterior probability, and its Monte Carlo standard error; 1 over the number of draws
        where all are on one side.
    prior_probability
        The prior probability; 1/2 by convention for a point hypothesis.
    bayes_factor
        The Bayes factor against the contrary; for a point, against the model without it.
    likelihood_ratio
        The classical test, or None.
    why_none
        Why there is no classical test.
    """

    statement: str
    probability: float
    standard_error: float
    prior_probability: float
    bayes_factor: BayesFactor
    likelihood_ratio: LikelihoodRatio | None
    why_none: str = ""

    def __str__(self) -> str:
        ratio, factor = self.likelihood_ratio, self.bayes_factor
        lines = [
            self.statement,
            f"  probability       {self.probability:.4g} ± {self.standard_error:.1g}, "
            f"before the data {self.prior_probability:.4g}",
            f"  Bayes factor      {factor:.4g} "
            f"(log {factor.log:.2f} ± {factor.log.standard_error:.1g})",
        ]
        if ratio is None:
            lines.append(f"  likelihood ratio  none: {self.why_none}")
        else:
            freedom = ratio.degrees_of_freedom
            lines.append(
                f"  likelihood ratio  {ratio.statistic:.4g} on {freedom} "
                f"degree{'s' if freedom > 1 else ''} of freedom, p = {ratio.p_value:.3g}"
            )
        return "\n".join(lines)


def hypothesis(
    posterior: Posterior,
    *,
    all_equal: bool = False,
    equal: Labels | None = None,
    share: Mapping[Label, float] | None = None,
    among: Labels | None = None,
    larger: Sequence[Label] | None = None,
    best: Label | None = None,
    k: int = 1,
    parameter: Mapping[str, float] | None = None,
    above: Mapping[str, float] | None = None,
    draws: int | DataTree = 1000,
    chains: int = 4,
    seed: SeedLike = None,
    progress: bool = True,
) -> HypothesisTest:
    """Test one hypothesis: its posterior probability, its Bayes factor, and the classical test.

    Parameters
    ----------
    posterior
        Data and prior.
    all_equal
        All categories have the same probability.
    equal
        These categories have the same probability.
    share, among
        Labels and their probabilities, as {"a": 0.3} or {"a": 0.3, "b": 0.2}; or their shares in
        the total probability of the categories `among`.  Shares of all of these must add up to 1.
    larger
        Labels from the most to the least probable: ("a", "b") says that a's is the larger.
    best, k
        This category is among the k most probable; effects of the data (ties, an advantage) are
        no rivals of competitors.
    parameter
        One parameter of contests and its value, as {"home": 1.0}: no home advantage.
    above
        One parameter of contests and a number that it exceeds, as {"home": 1.0}.
    draws
        The number of draws from each chain; or the run that `posterior.sample` returned.
    chains, seed, progress
        As in `Posterior.sample`.

    Examples
    --------
    >>> import luce
    >>> counts = luce.ConditionalCounts("abc").observe({"a": 9, "b": 3}, within="ab")
    >>> counts = counts.observe({"b": 4, "c": 3}, within="bc")
    >>> print(luce.hypothesis(luce.Posterior(counts), larger="ab", seed=1))
    a > b
      probability       0.9443 ± 0.0008, before the data 0.5
      Bayes factor      16.96 (log 2.83 ± 0.02)
      likelihood ratio  0 on 1 degree of freedom, p = 1
    """
    _require_posterior(posterior)
    others = (equal, share, larger, best, parameter, above)
    wanted = [all_equal is not False, *(x is not None for x in others)]
    if sum(wanted) != 1:
        raise MethodError(
            "one hypothesis is asked at a time: give one of all_equal=True, equal=[labels], "
            "share={label: number}, larger=[labels], best=label, parameter={name: number} and "
            "above={name: number}."
        )
    if among is not None and share is None:
        raise MethodError("among goes with share={label: number}.")
    asked = _Asked(posterior, draws, chains, seed, progress)
    categories = asked.categories
    if all_equal is not False:
        return _all_equal(asked)
    if equal is not None:
        return _equal(asked, categories.numbers(equal, "equal"))
    if share is not None:
        return _shares(asked, *_read_shares(categories, share, among))
    if larger is not None:
        return _larger(asked, categories.numbers(larger, "larger"))
    if parameter is not None:
        return _parameter(asked, *_read_parameter(posterior, "parameter", parameter))
    if above is not None:
        return _above(asked, *_read_parameter(posterior, "above", above))
    return _best(asked, int(categories.numbers([best], "best")[0]), k)


@dataclass(frozen=True)
class _Asked:
    """A posterior, and the draws that answer questions about it."""

    posterior: Posterior
    draws: int | DataTree
    chains: int
    seed: SeedLike
    progress: bool

    @property
    def counts(self) -> ConditionalCounts:
        return self.posterior.counts

    @property
    def prior(self) -> FloatArray:
        return self.posterior.concentration

    @cached_property
    def categories(self) -> Categories:
        return Categories(self.counts.categories)

    @cached_property
    def view(self) -> DrawsView:
        """The draws, made now if only their number was given."""
        if isinstance(self.draws, int | np.integer):
            return DrawsView.of(
                self.posterior.sample(
                    int(self.draws), chains=self.chains, seed=self.seed, progress=self.progress
                )
            )
        given = getattr(self.draws, "attrs", {}).get("data_digest")
        if given != self.counts.digest:
            raise DataError(
                "these draws are not of this posterior: they are of other data. Give what "
                "posterior.sample returned, or a number of draws."
            )
        return DrawsView.of(self.draws)

    @property
    def size(self) -> tuple[int, int]:
        """The numbers of chains and of draws."""
        chains, draws, _ = self.view.values.shape
        return chains, draws

    @property
    def evidence_options(self) -> dict[str, Any]:
        """Options of `Posterior.log_evidence`, which takes draws of its own."""
        by_number = isinstance(self.draws, int | np.integer)
        chains, draws = (self.chains, self.draws) if by_number else self.size
        return {"draws": draws, "chains": chains, "seed": self.seed, "progress": self.progress}

    def next_sweep(self) -> _Sweep:
        """Return the gammas that the next sweep of waiting times draws, from each draw."""
        events = self.counts.events
        if events is not None:
            raise MethodError(
                f"the Bayes factor of such a point is not offered for data with {events.model}. "
                "Ask for all_equal, larger, best, parameter or above."
            )
        view = self.view
        logs = np.concatenate([view.logs(c, slice(None)) for c in range(self.size[0])])
        rng = np.random.default_rng(_entropy(self.seed))
        seed = np.random.SeedSequence(int(rng.integers(2**63)))
        shape, log_rate = next_gammas(raw_problem(self.counts, self.prior), logs, seed)
        return _Sweep(logs.reshape(-1, view.n_categories), shape, log_rate)


class _Sweep(NamedTuple):
    """Log probabilities, and shapes and log rates of the next gammas, each (draw, category)."""

    logs: FloatArray
    shape: FloatArray
    log_rate: FloatArray


def _all_equal(asked: _Asked) -> HypothesisTest:
    """Test that all are equal: the Bayes factor is L(1/n) / evidence."""
    n = len(asked.categories)
    if asked.counts.events is None:
        here = float(asked.counts.log_likelihood(np.full(n, 1 / n)))
    else:
        here = log_evidence_if_equal(asked.posterior.model)
    evidence = asked.posterior.log_evidence(**asked.evidence_options)
    factor = BayesFactor.of_log(
        Estimate(here - float(evidence), evidence.standard_error, evidence.method)
    )
    return of_point("all are equal", factor, *ratio_of_equal(asked.counts, np.arange(n)))


def _equal(asked: _Asked, numbers: IntArray) -> HypothesisTest:
    """Test that some are equal, by the density of their shares in their total."""
    if len(numbers) < 2:
        raise DataError("equal needs two labels at least.")
    sweep = asked.next_sweep()
    even = np.full(len(numbers), -log(len(numbers)))
    after = log_scaled_dirichlet(even, sweep.shape[:, numbers], sweep.log_rate[:, numbers])
    prior = asked.prior[None, numbers]
    before = log_scaled_dirichlet(even, prior, np.zeros(prior.shape))[0]
    factor = savage_dickey(after.reshape(asked.size), float(before))
    names = some([asked.categories[int(i)] for i in numbers], quote=False)
    return of_point(f"{names} are equal", factor, *ratio_of_equal(asked.counts, numbers))


def _read_shares(
    categories: Categories, given: Mapping[Label, float], among: Labels | None
) -> tuple[IntArray, FloatArray, IntArray]:
    """Read labels and their shares, and the categories that these are shares of."""
    if not isinstance(given, Mapping) or not given:
        raise DataError(
            f"share = {given!r}; labels and their numbers are needed, as {{'a': 0.3, 'b': 0.2}}."
        )
    numbers = categories.numbers(given, "share")
    shares = np.array([read_number(number, label) for label, number in given.items()])
    whole = np.arange(len(categories)) if among is None else categories.numbers(among, "among")
    outside = np.setdiff1d(numbers, whole)
    if len(outside):
        raise DataError(f"share names {categories[int(outside[0])]!r}, which is not in among.")
    if not ((shares > 0) & (shares < 1)).all():
        raise DataError(f"share = {given!r}; each number must lie between 0 and 1.")
    left = len(whole) - len(numbers)
    total = float(shares.sum())
    if left == 0 and not isclose(total, 1.0, rel_tol=1e-9):
        raise DataError(
            f"share = {given!r}; these are all the categories{' among' * (among is not None)}, so "
            f"the numbers must add up to 1, and they add up to {total:g}."
        )
    if left and total >= 1:
        raise DataError(
            f"share = {given!r}; the numbers add up to {total:g}, which leaves nothing for the "
            f"other {plural(left, 'category', 'categories')}."
        )
    return numbers, shares / total if left == 0 else shares, np.sort(whole)


def _shares(
    asked: _Asked, numbers: IntArray, shares: FloatArray, among: IntArray
) -> HypothesisTest:
    """Test that some probabilities, or shares in the total of `among`, have given values."""
    names = [printable(asked.categories[int(i)]) for i in numbers]
    everything = len(among) == len(asked.categories)
    if not everything:
        of = f" given {{{some((asked.categories[int(i)] for i in among), quote=False)}}}"
        names = [name + of for name in names]
    pairs = zip(names, shares.tolist(), strict=True)
    words = ", ".join(f"p[{name}] = {value:g}" for name, value in pairs)
    if everything and len(among) - len(numbers) < 2 and asked.counts.events is None:
        factor = _factor_of_all(asked, numbers, shares)
    else:
        sweep = asked.next_sweep()
        after = _log_densities_of_shares(sweep, numbers, shares, among)
        before = _log_dirichlet_density(asked.prior, numbers, shares, among)
        factor = savage_dickey(after.reshape(asked.size), before)
    given = dict(zip(numbers.tolist(), shares.tolist(), strict=True))
    return of_point(words, factor, *ratio_of_shares(asked.counts, given, among))


def _factor_of_all(asked: _Asked, numbers: IntArray, shares: FloatArray) -> BayesFactor:
    """Compare all probabilities being given with the model: L(p) / evidence."""
    p = np.full(len(asked.categories), 1 - shares.sum())
    p[numbers] = shares
    evidence = asked.posterior.log_evidence(**asked.evidence_options)
    log_factor = float(asked.counts.log_likelihood(p / p.sum())) - float(evidence)
    return BayesFactor.of_log(Estimate(log_factor, evidence.standard_error, evidence.method))


def _log_densities_of_shares(
    sweep: _Sweep, numbers: IntArray, shares: FloatArray, among: IntArray
) -> FloatArray:
    """Compute log densities of v_i = λ_i / (Σ λ + T), the λ_i independent gammas.

    T is the sum of the other λ among them.  With V = Σ v_i, λ_i = v_i T / (1 - V), and the density
    of v is that of λ times Π λ_i / v_i / (1 - V).
    """
    from scipy.special import gammaln

    shape, rate = sweep.shape[:, numbers], sweep.log_rate[:, numbers]
    others = np.setdiff1d(among, numbers)
    if len(others) == 0:
        return log_scaled_dirichlet(np.log(shares), shape, rate)
    log_rest = np.logaddexp.reduce(sweep.logs[:, others], axis=1)
    left = log1p(-float(shares.sum()))
    log_gamma = log_rest[:, None] + np.log(shares) - left
    densities = shape * (rate + log_gamma) - np.exp(rate + log_gamma) - gammaln(shape)
    return np.asarray(densities.sum(axis=1) - np.log(shares).sum() - left)


def _log_dirichlet_density(
    prior: FloatArray, numbers: IntArray, shares: FloatArray, among: IntArray
) -> float:
    """Compute the log density of some shares under a Dirichlet prior, the others added up."""
    a, v = prior[numbers], shares
    rest = prior[np.setdiff1d(among, numbers)].sum()
    if len(numbers) < len(among):
        a, v = np.r_[a, rest], np.r_[v, 1 - v.sum()]
    return float(log_scaled_dirichlet(np.log(v), a[None], np.zeros((1, len(a))))[0])


def _larger(asked: _Asked, numbers: IntArray) -> HypothesisTest:
    """Test an order, from the most to the least probable."""
    if len(numbers) < 2:
        raise DataError("larger needs two labels at least, the larger first.")
    names = " > ".join(printable(asked.categories[int(i)]) for i in numbers)
    if len(numbers) == 2:
        i, j = numbers.tolist()
        ratio = ratio_of_order(asked.counts, i, j)
        if asked.counts.events is None:
            return of_inequality(names, *_pair_in_order(asked, i, j), *ratio)
    else:
        ratio = None, "it is offered for two categories only"
    values = asked.view.values[:, :, numbers]
    in_order: FloatArray = np.asarray((np.diff(values, axis=2) < 0).all(axis=2), np.float64)
    own = asked.prior[numbers]
    before = 1 / factorial(len(own)) if (own == own[0]).all() else chance_of_order(own)
    return of_inequality(names, in_order, 1 - in_order, before, *ratio)


def _pair_in_order(asked: _Asked, i: int, j: int) -> tuple[FloatArray, FloatArray, float]:
    """Compute P(p_i > p_j) and P(p_i < p_j) from each draw, and P(p_i > p_j) of the prior.

    G_i / r_i > G_j / r_j is an inequality of the Beta G_j / (G_i + G_j), whose odds are G_j / G_i.
    """
    from scipy.special import betainc

    _, shape, log_rate = asked.next_sweep()
    odds = log_rate[:, j] - log_rate[:, i]
    holds, fails = beta_tails(shape[:, j], shape[:, i], odds)
    before = float(betainc(asked.prior[j], asked.prior[i], 0.5))
    return holds.reshape(asked.size), fails.reshape(asked.size), before


def _best(asked: _Asked, i: int, k: int) -> HypothesisTest:
    """Test that a category is among the k most probable."""
    apart = asked.counts.effects if asked.categories[i] not in asked.counts.effects else {}
    rivals = np.array([j for j, label in enumerate(asked.categories) if label not in apart])
    n, own = len(rivals), int(np.flatnonzero(rivals == i)[0])
    if not isinstance(k, int | np.integer) or isinstance(k, bool) or not 1 <= k < n:
        raise DataError(f"k = {k!r}; a whole number from 1 to {n - 1} is needed.")
    holds = best_in_draws(asked.view.take(rivals), int(k), own)
    prior = asked.prior[rivals]
    before = k / n if (prior == prior[0]).all() else chance_of_best(prior, own, int(k))
    place = "the best" if k == 1 else f"among the best {k}"
    words = f"{printable(asked.categories[i])} is {place}"
    none = "it has no restricted maximum of one form"
    return of_inequality(words, holds, 1 - holds, before, None, none)


def _read_parameter(
    posterior: Posterior, argument: str, given: Mapping[str, float]
) -> tuple[str, float]:
    """Read the name of a drawn parameter and a number that it may have."""
    drawn = posterior.model.drawn_parameters
    if not isinstance(given, Mapping) or len(given) != 1:
        raise DataError(
            f"{argument} = {given!r}; one parameter and its number are needed, as {{'home': 1.0}}."
        )
    ((name, number),) = given.items()
    if name not in drawn:
        have = f"those drawn here are {some(drawn)}" if drawn else "none is drawn here"
        raise DataError(f"{argument} names {name!r}, which is no drawn parameter: {have}.")
    events = posterior.counts.events
    assert events is not None
    value, least = read_number(number, name), events.least(name)
    if not value > least:
        raise DataError(f"{argument} = {given!r}; the number must be above {least:g}.")
    return name, value


def _parameter(asked: _Asked, name: str, value: float) -> HypothesisTest:
    """Test that a parameter has a value: the evidence of that model over the posterior's own."""
    model = asked.posterior.model
    held = Posterior.of_model(model.with_counts(asked.counts, {name: value}))
    factor = bayes_factor(held, asked.posterior, **asked.evidence_options)
    ratio = ratio_of_parameter(asked.counts, name, value, above=False)
    return of_point(f"{name} = {value:g}", factor, *ratio)


def _above(asked: _Asked, name: str, value: float) -> HypothesisTest:
    """Test that a parameter is above a number."""
    from scipy.special import gammaincc

    events, prior = asked.counts.events, asked.posterior.model.parameter_priors[name]
    assert events is not None
    assert isinstance(prior, Gamma)
    drawn = asked.view.parameter_values([name], "the data")[name]
    holds: FloatArray = np.asarray(drawn > value, np.float64)
    before = float(gammaincc(prior.shape, prior.rate * (value - events.least(name))))
    ratio = ratio_of_parameter(asked.counts, name, value, above=True)
    return of_inequality(f"{name} > {value:g}", holds, 1 - holds, before, *ratio)


def _require_posterior(posterior: object) -> None:
    if not isinstance(posterior, Posterior):
        raise DataError(
            f"a hypothesis is asked of a Posterior; {type(posterior).__name__} was given."
        )
    if not isinstance(posterior.prior, Dirichlet) or not posterior.prior.is_fixed:
        raise DataError(
            "hypotheses need a Dirichlet prior with a concentration that is a number. Give one, or "
            "look at the draws."
        )


def _entropy(seed: SeedLike) -> Any:
    """Return the entropy of a stream of its own, next to the one that draws."""
    return None if seed is None else [seed.entropy if hasattr(seed, "entropy") else int(seed), 1]


def of_inequality(
    words: str,
    holds: FloatArray,
    fails: FloatArray,
    before: float,
    ratio: LikelihoodRatio | None,
    why_none: str,
) -> HypothesisTest:
    """Answer an inequality.

    Parameters
    ----------
    words
        The hypothesis.
    holds, fails
        The probabilities that it holds and that it fails, given each draw, shape (chain, draw).
    before
        Its prior probability.
    ratio, why_none
        The classical test, or the reason why there is none.
    """
    after, against = float(holds.mean()), float(fails.mean())
    # The rarer side has all its digits.  Where no draw is on it, one could have been.
    rarer = holds if after < against else fails
    error = float(rarer.std() / np.sqrt(ess_of_mean(rarer))) if rarer.any() else 1 / rarer.size
    odds = _log_odds(after, against) - _log_odds(before, 1 - before)
    log_factor = Estimate(odds, _error_of_odds(error, after, against), "odds")
    if 0 < rarer.mean() < _RARE and rarer.max() < 1:  # not outcomes counted
        log_factor = _checked(log_factor, rarer)
    factor = BayesFactor.of_log(log_factor)
    return HypothesisTest(words, after, error, before, factor, ratio, why_none)


def _checked(log_odds: Estimate, rarer: FloatArray) -> Estimate:
    """Warn where the mean of tiny probabilities rests on few draws, and drop its error."""
    with np.errstate(divide="ignore"):
        mean = log_mean(np.log(rarer), "odds")
    if is_trusted(mean, rarer.size):
        return log_odds
    found = replace(log_odds, standard_error=float("nan"), details=mean.details)
    message = (
        f"the probability of the rarer side {basis(mean)}, so the error of the Bayes factor is not "
        "known. Take more draws, or only conclude that the factor is extreme."
    )
    warn_user(EvidenceWarning(message, {"odds": found}))
    return found


def _log_odds(p: float, q: float) -> float:
    return inf if q <= 0 else -inf if p <= 0 else log(p) - log(q)


def _error_of_odds(error: float, after: float, against: float) -> float:
    """Return the error of log odds to first order; nan where all draws are on one side."""
    return error / (after * against) if after > 0 and against > 0 else float("nan")


def of_point(
    words: str, factor: BayesFactor, ratio: LikelihoodRatio | None, why_none: str
) -> HypothesisTest:
    """Answer a point hypothesis by its Bayes factor, with prior probability 1/2."""
    log_factor = float(factor.log)
    probability = 1 / (1 + exp(-log_factor)) if log_factor > -700 else 0.0
    error = float(factor.log.standard_error) * probability * (1 - probability)
    return HypothesisTest(words, probability, error, 0.5, factor, ratio, why_none)

"""Hypotheses as people say them, and what data and prior make of them.

Some leave room: a > b > c, a among the best k.  They have a posterior probability, and a prior one;
posterior odds over prior odds are the Bayes factor against the contrary.

Some are points: these are equal, p_a = x.  Their Bayes factor, against the posterior's own model,
is the posterior density of what they fix over its prior density, at the point (Savage and Dickey).
What "a, b, c are equal" fixes is how a, b and c share their total: the prior of the total and of
the rest stays as it is.  Densities are averages, over draws, of those of the next sweep of waiting
times.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import factorial, log
from typing import TYPE_CHECKING, Any

import numpy as np

from luce._types import FloatArray, IntArray, Label, Labels, SeedLike
from luce.answers.ranks import best_in_draws
from luce.answers.view import DrawsView
from luce.counts.labels import Categories, read_number, some
from luce.errors import DataError, MethodError
from luce.estimates.ordinates import log_scaled_dirichlet, next_gammas
from luce.hypotheses.bayes_factors import BayesFactor
from luce.hypotheses.gamma_orders import chance_of_best, chance_of_order
from luce.hypotheses.likelihood_ratio import ratio_of_equal, ratio_of_order, ratio_of_share
from luce.hypotheses.verdict import HypothesisTest, of_point, savage_dickey, with_room
from luce.model.priors import Dirichlet
from luce.model.shapes import raw_problem
from luce.posterior import Posterior

if TYPE_CHECKING:
    from xarray import DataTree


def hypothesis(
    posterior: Posterior,
    *,
    all_equal: bool = False,
    equal: Labels | None = None,
    share: Mapping[Label, float] | None = None,
    larger: Sequence[Label] | None = None,
    best: Label | None = None,
    k: int = 1,
    draws: int | DataTree = 1000,
    chains: int = 4,
    seed: SeedLike = None,
    progress: bool = True,
) -> HypothesisTest:
    """Ask one thing of a posterior: how probable it is, its Bayes factor, and the classical test.

    Parameters
    ----------
    posterior
        Data and prior.
    all_equal
        All categories have the same probability.
    equal
        These categories have the same probability.
    share
        One label and its probability, as {"a": 0.3}.
    larger
        Labels from the most to the least probable: ("a", "b") says that a's is the larger.
    best, k
        This category is among the k most probable.
    draws
        How many draws a chain; or what `posterior.sample` returned.
    chains, seed, progress
        As in `Posterior.sample`.

    Examples
    --------
    >>> import luce
    >>> counts = luce.ConditionalCounts("abc").observe({"a": 9, "b": 3}, within="ab")
    >>> counts = counts.observe({"b": 4, "c": 3}, within="bc")
    >>> print(luce.hypothesis(luce.Posterior(counts), larger="ab", seed=1))
    a > b
      probability       0.9441 ± 0.001, before the data 0.5
      Bayes factor      16.9 (log 2.83 ± 0.02)
      likelihood ratio  0 on 1 degree of freedom, p = 1
    """
    _require_posterior(posterior)
    wanted = [all_equal is not False, *(x is not None for x in (equal, share, larger, best))]
    if sum(wanted) != 1:
        raise MethodError(
            "one hypothesis is asked at a time: give one of all_equal=True, equal=[labels], "
            "share={label: number}, larger=[labels] and best=label."
        )
    asked = _Asked(posterior, draws, chains, seed, progress)
    categories = asked.categories
    if all_equal is not False:
        return _all_equal(asked)
    if equal is not None:
        return _equal(asked, categories.numbers(equal, "equal"))
    if share is not None:
        return _share(asked, share)
    if larger is not None:
        return _larger(asked, categories.numbers(larger, "larger"))
    return _best(asked, int(categories.numbers([best], "best")[0]), k)


@dataclass
class _Asked:
    """Who is asked, and the draws that answer."""

    posterior: Posterior
    draws: int | DataTree
    chains: int
    seed: SeedLike
    progress: bool

    def __post_init__(self) -> None:
        self.counts = self.posterior.counts
        self.categories = Categories(self.counts.categories)
        self.prior = self.posterior.concentration
        self.rng = np.random.default_rng(_entropy(self.seed))

    def x(self) -> DrawsView:
        if isinstance(self.draws, int | np.integer):
            options = {"chains": self.chains, "seed": self.seed, "progress": self.progress}
            return DrawsView.of(self.posterior.sample(int(self.draws), **options))  # type: ignore[arg-type]
        given = getattr(self.draws, "attrs", {}).get("data_digest")
        if given != self.counts.digest:
            raise DataError(
                "these draws are not of this posterior: they are of other data. Give what "
                "posterior.sample returned, or a number of draws."
            )
        return DrawsView.of(self.draws)

    def gammas(self, x: DrawsView) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Log probabilities, and shapes and log rates of the next sweep, (draws, category)."""
        n = x.n_categories
        logs = np.concatenate([x.logs(c, slice(None)) for c in range(x.values.shape[0])])
        problem = raw_problem(self.counts, self.prior)
        seed = np.random.SeedSequence(int(self.rng.integers(2**63)))
        return logs.reshape(-1, n), *next_gammas(problem, logs, seed)


def _all_equal(asked: _Asked) -> HypothesisTest:
    """Bayes factor L(1/n) / evidence."""
    from luce.model.density import log_likelihood

    n = len(asked.categories)
    here = float(log_likelihood(np.full(n, 1 / n), asked.counts))
    chains, draws = asked.chains, asked.draws
    if not isinstance(draws, int | np.integer):  # their number: the evidence takes draws of its own
        chains, draws = asked.x().values.shape[:2]
    evidence = asked.posterior.log_evidence(
        int(draws), chains=chains, seed=asked.seed, progress=asked.progress
    )
    factor = BayesFactor(here - evidence.value, evidence.standard_error)
    return of_point("all are equal", factor, *ratio_of_equal(asked.counts, np.arange(n)))


def _equal(asked: _Asked, numbers: IntArray) -> HypothesisTest:
    if len(numbers) < 2:
        raise DataError("equal needs two labels at least.")
    x = asked.x()
    _, shape, log_rate = asked.gammas(x)
    prior = asked.prior[numbers]
    even = np.full(len(numbers), -log(len(numbers)))
    ordinates = log_scaled_dirichlet(even, shape[:, numbers], log_rate[:, numbers])
    before = log_scaled_dirichlet(even, prior[None], np.zeros((1, len(numbers))))[0]
    factor = savage_dickey(ordinates.reshape(x.values.shape[:2]), float(before))
    names = some([asked.categories[int(i)] for i in numbers], quote=False)
    return of_point(f"{names} are equal", factor, *ratio_of_equal(asked.counts, numbers))


def _share(asked: _Asked, given: Mapping[Label, float]) -> HypothesisTest:
    from scipy.special import betaln, gammaln

    if not isinstance(given, Mapping) or len(given) != 1:
        raise DataError(f"share = {given!r}; one label and its number are needed, as {{'a': 0.3}}.")
    ((label, number),) = given.items()
    value, i = read_number(number, label), int(asked.categories.numbers([label], "share")[0])
    if not 0 < value < 1:
        raise DataError(f"share = {given!r}; the number must lie between 0 and 1.")
    x = asked.x()
    logs, shape, log_rate = asked.gammas(x)
    # Given all other λ, λ_i is a gamma; with T the sum of the others p_i = λ_i / (λ_i + T).
    others = np.delete(logs, i, axis=1)
    log_rest = np.logaddexp.reduce(others, axis=1)
    log_gamma = log_rest + log(value) - log(1 - value)
    a, rate = shape[:, i], log_rate[:, i]
    ordinates = a * (rate + log_gamma) - np.exp(rate + log_gamma) - gammaln(a)
    ordinates -= log(value) + log(1 - value)
    own, rest = asked.prior[i], asked.prior.sum() - asked.prior[i]
    before = (own - 1) * log(value) + (rest - 1) * log(1 - value) - float(betaln(own, rest))
    factor = savage_dickey(ordinates.reshape(x.values.shape[:2]), before)
    return of_point(f"p[{label}] = {value:g}", factor, *ratio_of_share(asked.counts, i, value))


def _larger(asked: _Asked, numbers: IntArray) -> HypothesisTest:
    from scipy.special import betainc

    if len(numbers) < 2:
        raise DataError("larger needs two labels at least, the larger first.")
    x = asked.x()
    names = " > ".join(str(asked.categories[int(i)]) for i in numbers)
    if len(numbers) == 2:
        # Of two gammas G_a / r_a > G_b / r_b where the Beta G_b / (G_a + G_b) < r_b / (r_a + r_b).
        i, j = numbers.tolist()
        _, shape, log_rate = asked.gammas(x)
        split = 1 / (1 + np.exp(log_rate[:, i] - log_rate[:, j]))
        size = x.values.shape[:2]
        holds = np.asarray(betainc(shape[:, j], shape[:, i], split), np.float64).reshape(size)
        fails = np.asarray(betainc(shape[:, i], shape[:, j], 1 - split), np.float64).reshape(size)
        before = float(betainc(asked.prior[j], asked.prior[i], 0.5))
        return with_room(names, holds, fails, before, *ratio_of_order(asked.counts, i, j))
    values = x.values[:, :, numbers]
    in_order: FloatArray = np.asarray((np.diff(values, axis=2) < 0).all(axis=2), np.float64)
    own = asked.prior[numbers]
    before = 1 / factorial(len(own)) if (own == own[0]).all() else chance_of_order(own)
    return with_room(
        names, in_order, 1 - in_order, before, None, "it is offered for two categories only"
    )


def _best(asked: _Asked, i: int, k: int) -> HypothesisTest:
    n = len(asked.categories)
    if not isinstance(k, int | np.integer) or isinstance(k, bool) or not 1 <= k < n:
        raise DataError(f"k = {k!r}; a whole number from 1 to {n - 1} is needed.")
    holds = best_in_draws(asked.x(), int(k), i)
    even = (asked.prior == asked.prior[0]).all()
    before = k / n if even else chance_of_best(asked.prior, i, int(k))
    place = "the best" if k == 1 else f"among the best {k}"
    words = f"{asked.categories[i]} is {place}"
    return with_room(
        words, holds, 1 - holds, before, None, "it has no restricted maximum of one form"
    )


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
    return None if seed is None else [seed.entropy if hasattr(seed, "entropy") else int(seed), 1]

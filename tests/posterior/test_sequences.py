"""Random sequences of calls on posteriors, against the formula of their density."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule
from lib.bounds import FALSE_ALARM, SEED
from lib.random_data import Term, entered, nested_terms_over, priors_over, terms_over
from lib.size import PLAIN_PYTHON
from lib.state_machines import run_sequences
from scipy import stats
from scipy.special import gammaln

from luce import ConditionalCounts, Posterior

pytestmark = [  # runs are short here
    pytest.mark.filterwarnings("ignore::luce.ConvergenceWarning"),
    pytest.mark.filterwarnings("ignore::luce.errors.EvidenceWarning"),
]

# Student's quantile for a thousand comparisons whose errors come from eight chains.
LARGEST_T = float(stats.t(7).isf(FALSE_ALARM / 1000 / 2))

METHODS = ("auto", "waiting-times", "hidden-counts", "metropolis")


class CallsOnPosteriors(RuleBasedStateMachine):
    """Data grows term by term; after each step the posterior is asked, and must be right."""

    nested = False

    @initialize(data=st.data())
    def begin(self, data: st.DataObject) -> None:
        n = data.draw(st.integers(2, 6))
        self.prior = data.draw(priors_over(n))
        first = nested_terms_over(n) if self.nested else terms_over(n, 3)
        self.terms: list[Term] = data.draw(first)
        self.rng = np.random.default_rng(data.draw(st.integers(0, 2**32)))
        self.posterior = Posterior(entered(n, self.terms), self.prior)

    def naive(self, p: np.ndarray) -> float:
        """Evaluate the log density term by term."""
        a = np.array(self.prior)
        total = gammaln(a.sum()) - gammaln(a).sum() + (a - 1) @ np.log(p)
        for inside, seen, group, times in self.terms:
            whole = math.log(p[list(inside)].sum())
            total += sum(count * (math.log(p[i]) - whole) for i, count in seen.items())
            if group:
                total += times * (math.log(p[list(group)].sum()) - whole)
        return float(total)

    @invariant()
    def the_density_is_the_formula(self) -> None:
        if not hasattr(self, "posterior"):
            return
        p = self.rng.dirichlet(np.ones(len(self.prior)), 3)
        expected = [self.naive(row) for row in p]
        np.testing.assert_allclose(self.posterior.log_density(p), expected, rtol=1e-9, atol=1e-8)

    @rule(data=st.data())
    def observe(self, data: st.DataObject) -> None:
        """Add terms, by `+` and by one call after the other."""
        n = len(self.prior)
        new = data.draw(terms_over(n, 1)) if not self.nested else data.draw(self.outcomes(n))
        counts = self.posterior.counts + entered(n, new)
        self.terms = self.terms + new
        assert counts == entered(n, self.terms)
        self.posterior = Posterior(counts, self.prior)

    @staticmethod
    def outcomes(n: int) -> st.SearchStrategy[list[Term]]:
        every = tuple(range(n))
        return st.integers(0, n - 1).map(lambda i: [Term(every, {i: 1.0})])

    @rule(data=st.data())
    def change_the_prior(self, data: st.DataObject) -> None:
        self.prior = data.draw(priors_over(len(self.prior)))
        self.posterior = Posterior(self.posterior.counts, self.prior)

    @rule(method=st.sampled_from(METHODS), reduce=st.booleans(), seed=st.integers(0, 99))
    def sample(self, method: str, reduce: bool, seed: int) -> None:
        how: dict[str, Any] = {"method": method, "reduce": reduce, "seed": seed, "chains": 2}
        how |= {"warmup": 10, "progress": False}
        draws = self.drawn(12, **how)
        assert draws.shape == (2, 12, len(self.prior))
        assert (draws >= 0).all()
        np.testing.assert_allclose(draws.sum(2), 1.0, rtol=1e-12)
        np.testing.assert_array_equal(self.drawn(12, threads=2, **how), draws)
        np.testing.assert_array_equal(self.drawn(7, **how), draws[:, :7])
        kept = self.drawn(12, keep=[len(self.prior) - 1], **how)
        np.testing.assert_array_equal(kept[..., 0], draws[..., -1])
        if not reduce:  # exact parts are drawn only for draws that are kept
            np.testing.assert_array_equal(self.drawn(6, thin=2, **how), draws[:, 1::2])

    def drawn(self, draws: int, **how: Any) -> np.ndarray:
        found: np.ndarray = self.posterior.sample(draws, **how).posterior["probabilities"].values
        return found

    @rule(data=st.data())
    @precondition(lambda self: self.posterior.structure.is_exact)
    def the_evidence_grows_by_the_mean(self, data: st.DataObject) -> None:
        """P(data and one more outcome i) = P(data) · E[p_i | data]."""
        n = len(self.prior)
        i = data.draw(st.integers(0, n - 1))
        more = Posterior(self.posterior.counts.observe({i: 1}), self.prior)
        gain = float(more.log_evidence()) - float(self.posterior.log_evidence())
        assert gain == pytest.approx(math.log(float(self.posterior.mean()[i])), abs=1e-9)

    @rule(i=st.integers(0, 1))
    @precondition(lambda self: not PLAIN_PYTHON and not self.posterior.structure.is_exact)
    def the_evidence_grows_by_the_mean_of_draws(self, i: int) -> None:
        """The same where evidence and mean are estimates, within their errors together."""
        more = Posterior(self.posterior.counts.observe({i: 1}), self.prior)
        one, other = (
            x.log_evidence(1000, chains=8, seed=SEED, progress=False)
            for x in (self.posterior, more)
        )
        p = self.drawn(1000, chains=8, seed=SEED + 1, progress=False)[..., i]
        mean, error = p.mean(), p.mean(1).std(ddof=1) / math.sqrt(8)
        gap = float(other) - float(one) - math.log(mean)
        errors = one.standard_error, other.standard_error, error / mean
        assert abs(gap) < LARGEST_T * math.hypot(*errors) + 1e-9


class CallsOnExactPosteriors(CallsOnPosteriors):
    """The same where the sets nest."""

    nested = True


class ForgetsAnOutcome(CallsOnPosteriors):
    """A control: the formula forgets the first outcome."""

    def naive(self, p: np.ndarray) -> float:
        return super().naive(p) - sum(self.terms[0].seen.values()) * math.log(p[0])


@pytest.mark.parametrize("machine", [CallsOnPosteriors, CallsOnExactPosteriors])
def test_calls_on_posteriors(machine: type[CallsOnPosteriors]) -> None:
    run_sequences(machine, 6, steps=8)


@pytest.mark.slow
@pytest.mark.compiled
@pytest.mark.parametrize("machine", [CallsOnPosteriors, CallsOnExactPosteriors])
def test_many_more_calls_on_posteriors(machine: type[CallsOnPosteriors]) -> None:
    run_sequences(machine, 200, steps=20, salt=1)


def test_control_a_wrong_formula_is_found() -> None:
    with pytest.raises(AssertionError):
        run_sequences(ForgetsAnOutcome, 10, shrink=False)


def test_no_data_is_the_prior() -> None:
    empty = Posterior(ConditionalCounts(3), [0.5, 1.0, 2.0])
    assert float(empty.log_evidence()) == 0.0

"""The evidence of contests: against sums over a grid, and what rests on it."""

from dataclasses import replace
from itertools import product

import numpy as np
import pytest
from lib.bounds import SEED, z_limit
from lib.season_oracles import MODELS, Meeting, Season, by_grid, league
from lib.size import draws
from scipy.integrate import simpson
from scipy.stats import gamma

import luce
from luce import Gamma, Posterior
from luce.errors import MethodError, NotExactError
from luce.estimates import Estimate
from luce.estimates.event_evidence import log_evidence_if_equal

KINDS = list(product(MODELS, (False, True)))
PRIOR = np.array([0.7, 1.3, 2.0])
OWN = {"home": Gamma(2.5, 2.0), "tie": Gamma(1.5, 1.2)}
DRAWS = draws(compiled=1000, plain=60)

pytestmark = pytest.mark.filterwarnings("ignore::luce.ConvergenceWarning")

TEAMS = (
    Meeting((0, 1), (2,), True, (3, 2, 1)),
    Meeting((2,), (0,), True, (2, 2, 1)),
    Meeting((1,), (0, 2), False, (1, 3, 0)),
)


def evidence(posterior: Posterior, seed: int) -> Estimate:
    return posterior.log_evidence(DRAWS, seed=1000 * SEED + seed, progress=False)


def errors_off(estimate: Estimate, truth: float) -> float:
    return abs(float(estimate) - truth) / float(estimate.standard_error)


@pytest.mark.filterwarnings("ignore::luce.errors.EvidenceWarning")
@pytest.mark.parametrize(("ties", "home"), KINDS)
def test_the_evidence_is_the_integral(ties: str | None, home: bool) -> None:
    season = league(3, ties, home, 1)
    own = {name: OWN[name] for name in season.names}
    truth = by_grid(season, PRIOR, own)
    found = evidence(Posterior(season.counts(), PRIOR, **own), 1)  # type: ignore[arg-type]
    limit = z_limit(len(KINDS))
    assert errors_off(found, truth) < limit
    assert found.method == "bridge"
    assert list(found.details) == ["bridge"]
    # The same measure tells the evidence of other priors.
    wrong = {name: Gamma(prior.shape, 1.3 * prior.rate) for name, prior in own.items()}
    assert errors_off(found, by_grid(season, PRIOR + 0.3, wrong)) > limit


@pytest.mark.compiled
@pytest.mark.parametrize("ties", ["davidson", "rao-kupper"])
def test_the_evidence_of_teams(ties: str) -> None:
    season, own = Season(3, TEAMS, ties, True), OWN
    found = evidence(Posterior(season.counts(), PRIOR, **own), 2)  # type: ignore[arg-type]
    assert errors_off(found, by_grid(season, PRIOR, own)) < z_limit(2)
    fewer = replace(season, meetings=TEAMS[:2])
    assert errors_off(found, by_grid(fewer, PRIOR, own)) > z_limit(2)


@pytest.mark.compiled
def test_a_known_parameter_has_an_evidence_of_its_own() -> None:
    """With a value that is known, the evidence is that of a very narrow prior around it."""
    season = league(3, "davidson", True, 3)
    found = evidence(Posterior(season.counts(), PRIOR, home=1.4, tie=OWN["tie"]), 3)
    narrow = {"home": Gamma(1e6, 1e6 / 1.4), "tie": OWN["tie"]}
    truth = by_grid_at(season, 1.4)
    assert errors_off(found, truth) < z_limit()
    assert truth == pytest.approx(
        float(evidence(Posterior(season.counts(), PRIOR, **narrow), 4)),  # type: ignore[arg-type]
        abs=0.02,
    )
    assert errors_off(found, by_grid_at(season, 1.0)) > z_limit()


def by_grid_at(season: Season, home: float) -> float:
    """Sum over a grid with home known: scale the strength of the side at home in the likelihood."""

    class Held(Season):
        def probabilities(self, meeting, p, home, tie):  # type: ignore[no-untyped-def]
            return super().probabilities(meeting, p, np.asarray(held), tie)

    held = home
    known = Held(season.n, season.meetings, season.ties, season.home)
    return by_grid(known, PRIOR, {"tie": OWN["tie"]})


def test_methods_that_are_not_offered_say_so() -> None:
    posterior = Posterior(league(3, "davidson", True, 1).counts())
    with pytest.raises(MethodError, match="Chib's method is not offered for contests with David"):
        posterior.log_evidence(method="chib")
    with pytest.raises(NotExactError, match="has no closed form"):
        posterior.log_evidence(method="exact")
    with pytest.raises(MethodError, match="choose one of auto, exact, bridge, chib"):
        posterior.log_evidence(method="laplace")


@pytest.mark.parametrize("ties", MODELS)
def test_equal_strengths_leave_an_integral_over_the_parameters(ties: str | None) -> None:
    season = league(4, ties, True, 5)
    own = {name: OWN[name] for name in season.names}
    model = Posterior(season.counts(), **own).model  # type: ignore[arg-type]
    p = np.full(4, 0.25)
    line = np.linspace(1e-9, 14, 701)
    home, excess = np.meshgrid(line, line if ties else [0.7], indexing="ij")
    heights = season.log_likelihood(
        np.broadcast_to(p, (*home.shape, 4)), home, season.least_tie + excess
    )
    heights = heights + gamma.logpdf(home, OWN["home"].shape, scale=1 / OWN["home"].rate)
    if ties:
        heights = heights + gamma.logpdf(excess, OWN["tie"].shape, scale=1 / OWN["tie"].rate)
    values = np.exp(heights - heights.max())
    whole = simpson(simpson(values, x=line, axis=1) if ties else values[:, 0], x=line)
    truth = heights.max() + np.log(whole)
    assert log_evidence_if_equal(model) == pytest.approx(truth, abs=1e-6)
    everything_known = Posterior(
        season.counts(),
        home=1.3,
        tie=None if ties is None else 1.6,
    ).model
    assert log_evidence_if_equal(everything_known) == pytest.approx(
        float(season.log_likelihood(p, 1.3, 1.6)), abs=1e-9
    )


@pytest.mark.compiled
def test_a_bayes_factor_tells_a_home_advantage() -> None:
    """A league with a home advantage of 1.5 and many games, and the same with grounds mixed."""
    season = league(5, "davidson", True, 6, games=40)
    mixed = replace(
        season,
        meetings=tuple(
            replace(
                m,
                first=m.second,
                second=m.first,
                results=(m.results[1], m.results[0], m.results[2]),
            )
            if k % 2
            else m
            for k, m in enumerate(season.meetings)
        ),
    )
    factors = []
    for each in (season, mixed):
        counts = each.counts()
        factor = luce.bayes_factor(
            Posterior(counts), Posterior(counts, home=1.0), draws=300, seed=SEED, progress=False
        )
        factors.append(float(factor.log))
    assert factors[0] > 3
    assert factors[1] < 1

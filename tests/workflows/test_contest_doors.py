"""Every door that counts with contests can be put through works, or refuses them in words."""

import pickle
from collections.abc import Callable
from itertools import product

import pytest
from lib.season_oracles import MODELS, league
from lib.size import draws

import luce
from luce import ConditionalCounts, Gamma, Posterior
from luce.embed import GibbsStep
from luce.errors import DataError, LuceError
from luce.posterior import posterior_of
from luce.workflows import sensitivity

DRAWS = draws(compiled=100, plain=20)
KINDS = [kind for kind in product(MODELS, (False, True)) if kind != (None, False)]

pytestmark = [
    pytest.mark.filterwarnings("ignore::luce.ConvergenceWarning"),
    pytest.mark.filterwarnings("ignore::luce.errors.EvidenceWarning"),
]

Door = Callable[[ConditionalCounts], object]

REFUSED: dict[str, Door] = {
    "a Gibbs step": GibbsStep.of,
    "totals of a Gibbs step": lambda counts: GibbsStep(list(counts.categories)).totals(counts),
    "a sharded posterior": lambda counts: luce.sample_sharded(counts, cluster=None),
    "sharded pieces": lambda counts: luce.sample_sharded([counts, lambda: counts], cluster=None),
    "mean": lambda counts: Posterior(counts).mean(),
    "variance": lambda counts: Posterior(counts).variance(),
    "no data": lambda counts: Posterior(counts).without_data(),
    "a drawn concentration": lambda counts: Posterior(counts, Gamma(1.0, 1.0)),
    "an exact evidence": lambda counts: Posterior(counts).log_evidence(method="exact"),
    "Chib's evidence": lambda counts: Posterior(counts).log_evidence(method="chib"),
    "exact draws": lambda counts: Posterior(counts).sample(10, method="exact"),
    "draws by proposals": lambda counts: Posterior(counts).sample(10, method="independence"),
}

OPEN: dict[str, Door] = {
    "mode": lambda counts: Posterior(counts).mode(),
    "mode in log-odds": lambda counts: Posterior(counts).mode("log-odds"),
    "maximum likelihood": luce.maximum_likelihood,
    "standard errors": lambda counts: Posterior(counts).standard_errors("log-odds"),
    "covariance": lambda counts: Posterior(counts).covariance(),
    "parameters' errors": lambda counts: Posterior(counts).parameter_standard_errors(),
    "evidence": lambda counts: Posterior(counts).log_evidence(DRAWS, progress=False),
    "hypothesis": lambda counts: luce.hypothesis(Posterior(counts), larger=[0, 1], draws=DRAWS),
    "sensitivity": lambda counts: sensitivity(counts, [0.5, 2.0], DRAWS, progress=False),
    "many posteriors": lambda counts: luce.sample_many(
        {"one": Posterior(counts)}, draws=DRAWS, cluster=None
    ),
    "comparable groups": luce.comparable_groups,
    "structure": lambda counts: repr(Posterior(counts).structure),
    "pickle": lambda counts: pickle.loads(pickle.dumps(Posterior(counts))).mode(),
}


@pytest.mark.parametrize(("ties", "home"), KINDS)
@pytest.mark.parametrize("door", REFUSED)
def test_a_door_that_is_shut_says_so(door: str, ties: str | None, home: bool) -> None:
    counts = league(3, ties, home, 1).counts()
    with pytest.raises(LuceError) as error:
        REFUSED[door](counts)
    assert str(error.value).endswith(".")
    words = "ties" if ties else "home advantage"
    assert words in str(error.value)


@pytest.mark.parametrize(("ties", "home"), KINDS)
@pytest.mark.parametrize("door", OPEN)
def test_a_door_that_is_open_lets_contests_through(door: str, ties: str | None, home: bool) -> None:
    assert OPEN[door](league(3, ties, home, 1, games=12).counts()) is not None


def test_priors_of_parameters_are_carried() -> None:
    counts = league(3, "davidson", True, 1).counts()
    given = Posterior(counts, 2.0, home=1.2, tie=Gamma(3.0, 2.0))
    run = given.sample(DRAWS, seed=1, progress=False)
    for other in (pickle.loads(pickle.dumps(given)), posterior_of(run)):
        assert other.model.parameter_priors == {"home": 1.2, "tie": Gamma(3.0, 2.0)}
    more = given.model.with_counts(counts + counts)
    assert more.parameter_priors == given.model.parameter_priors
    assert given.model.with_counts(counts, {"tie": 0.5}).known_parameters == {
        "home": 1.2,
        "tie": 0.5,
    }
    plain = given.model.with_counts(ConditionalCounts(3).observe({0: 1}))
    assert plain.parameter_priors == {}
    known = sensitivity(counts, [1.0], DRAWS, seed=1, home=1.2, tie=Gamma(3.0, 2.0), progress=False)
    usual = sensitivity(counts, [1.0], DRAWS, seed=1, progress=False)
    assert not (known["mean"] == usual["mean"]).all()
    with pytest.raises(DataError, match="the data has no parameter 'home'"):
        sensitivity(ConditionalCounts("ab").observe({"a": 1}), [1.0], home=1.0)

"""Densities of new contests and leave-one-out: the draws of home and tie are part of them."""

import numpy as np
import pytest
from lib.bounds import SEED, z_limit
from lib.season_oracles import MODELS, Meeting, Season, by_grid, league
from lib.size import draws

import luce
from luce import ConditionalCounts, Gamma, Posterior
from luce.errors import DataError

OWN = {"home": Gamma(2.0, 2.0), "tie": Gamma(1.0, 1.0)}
DRAWS = draws(compiled=1000, plain=60)
LABELS = "abc"

pytestmark = [
    pytest.mark.filterwarnings("ignore::luce.ConvergenceWarning"),
    pytest.mark.filterwarnings("ignore::luce.errors.EvidenceWarning"),
]


def one_by_one(season: Season) -> list[Season]:
    """Split a season into single meetings with one result each."""
    found = []
    for m in season.meetings:
        for k, number in enumerate(m.results):
            result = tuple(float(k == j) for j in range(3))
            single = Meeting(m.first, m.second, m.at_home, result)  # type: ignore[arg-type]
            found += [Season(season.n, (single,), season.ties, season.home)] * int(number)
    return found


@pytest.mark.parametrize("ties", MODELS)
def test_log_likelihoods_of_pieces_are_those_of_each_draw(ties: str | None) -> None:
    season = league(3, ties, True, 1)
    run = Posterior(season.counts(LABELS)).sample(30, seed=SEED, progress=False)
    pieces = one_by_one(season)[::5]
    turned = [  # categories in another order
        luce.ConditionalCounts("cab") + piece.counts(LABELS) for piece in pieces
    ]
    p = run.posterior["probabilities"].values
    own = {name: run.posterior[name].values for name in season.names}
    for counts in ([piece.counts(LABELS) for piece in pieces], turned):
        found = luce.answers.log_likelihood(run, counts)
        for k, piece in enumerate(pieces):
            expected = piece.log_likelihood(p, **own)
            assert found.sel(piece=k).values == pytest.approx(expected, abs=1e-10)
    # With the mean of home in place of its draws the numbers would be others.
    flat = {**own, "home": np.full_like(own["home"], own["home"].mean())}
    assert not np.allclose(pieces[0].log_likelihood(p, **flat), found.sel(piece=0).values)
    attached = luce.answers.attach_log_likelihood(run, turned)
    assert attached["log_likelihood"]["outcomes"].sizes["piece"] == len(pieces)


@pytest.mark.compiled
@pytest.mark.parametrize("ties", ["davidson", "rao-kupper"])
def test_the_density_of_new_contests_is_a_ratio_of_integrals(ties: str) -> None:
    season = league(3, ties, True, 2)
    new = Season(3, season.meetings[:2], ties, True)
    both = Season(3, season.meetings + new.meetings, ties, True)
    truth = by_grid(both, np.ones(3), OWN) - by_grid(season, np.ones(3), OWN)
    run = Posterior(season.counts(LABELS)).sample(4000, seed=SEED, progress=False)
    for method in ("draws", "evidences", "steps"):
        found = luce.log_predictive(run, new.counts(LABELS), method=method, progress=False)
        assert abs(float(found) - truth) / float(found.standard_error) < z_limit(6)
    without_home = Posterior(season.counts(LABELS), home=1.0).sample(
        4000, seed=SEED, progress=False
    )
    other = luce.log_predictive(without_home, new.counts(LABELS), progress=False)
    assert abs(float(other) - truth) / float(other.standard_error) > z_limit(6)


@pytest.mark.compiled
def test_steps_carry_the_priors_of_the_parameters() -> None:
    """Much new data and another prior: by steps as by evidences."""
    season = league(3, "davidson", True, 3)
    counts = season.counts(LABELS)
    own = {"home": Gamma(30.0, 10.0), "tie": Gamma(20.0, 40.0)}
    run = Posterior(counts, 2.0, **own).sample(DRAWS, seed=SEED, progress=False)  # type: ignore[arg-type]
    new = counts + counts + counts + counts
    steps = luce.log_predictive(run, new, method="steps", progress=False)
    truth = by_grid(
        Season(3, season.meetings * 5, "davidson", True), np.full(3, 2.0), own
    ) - by_grid(season, np.full(3, 2.0), own)
    assert steps.method == "steps"
    assert abs(float(steps) - truth) / float(steps.standard_error) < z_limit()


@pytest.mark.compiled
def test_leaving_one_out_is_predicting_it_from_the_others() -> None:
    season = league(3, "davidson", True, 4, games=2)
    pieces = one_by_one(season)
    counts = [piece.counts(LABELS) for piece in pieces]
    run = Posterior(sum(counts, start=ConditionalCounts(LABELS))).sample(
        4000, seed=SEED, progress=False
    )
    found = luce.loo(run, counts)
    whole = by_grid(season, np.ones(3), OWN)
    for k in (0, len(pieces) // 2):
        rest = Season(
            3, tuple(p.meetings[0] for p in pieces[:k] + pieces[k + 1 :]), "davidson", True
        )
        truth = whole - by_grid(rest, np.ones(3), OWN)
        assert float(found.elpd_i[k]) == pytest.approx(truth, abs=0.03)
    assert float(found.elpd) > -len(pieces) * 1.4  # a little better than saying nothing


def test_draws_without_the_parameters_are_refused() -> None:
    season = league(3, "davidson", True, 5)
    counts = season.counts(3)
    with pytest.raises(DataError, match="the model of the draws no ties and no home advantage"):
        luce.log_predictive([[[0.2, 0.3, 0.5]]], counts)
    plain = Posterior(ConditionalCounts(3).observe({0: 2})).sample(10, seed=1, progress=False)
    with pytest.raises(DataError, match="piece 0 has Davidson's ties and a home advantage, the"):
        luce.answers.log_likelihood(plain, [counts])


def test_known_parameters_are_used() -> None:
    season = league(3, "davidson", True, 6)
    run = Posterior(season.counts(LABELS), home=1.7).sample(20, seed=SEED, progress=False)
    found = luce.answers.log_likelihood(run, [season.counts(LABELS)])
    p, tie = (run.posterior[name].values for name in ("probabilities", "tie"))
    expected = season.log_likelihood(p, np.full(tie.shape, 1.7), tie)
    assert found.sel(piece=0).values == pytest.approx(expected, abs=1e-9)

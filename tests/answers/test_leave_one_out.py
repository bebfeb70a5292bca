"""Leave-one-out cross-validation, against posteriors that really leave a piece out."""

import arviz_stats
import numpy as np
import pytest
from lib.bounds import SEED
from lib.size import draws as size
from scipy.special import gammaln

import luce
from luce import ConditionalCounts, Posterior
from luce.errors import DataError, EvidenceWarning, MethodError

LABELS = ["a", "b", "c", "d"]
GAMES = [("a", "b"), ("a", "b"), ("b", "a"), ("b", "c"), ("c", "d"), ("a", "d"), ("d", "c")]


def pieces() -> list[ConditionalCounts]:
    """Matches, a ballot, and a grouped outcome."""
    none = ConditionalCounts(LABELS)
    matches = [none.observe({winner: 1}, within=[winner, loser]) for winner, loser in GAMES]
    return [*matches, none.observe_ranking(["c", "a", "b"]), none.observe_group(["b", "d"], 2)]


def direct(p: np.ndarray) -> np.ndarray:
    """Log likelihood of each piece, written out."""
    a, b, c, d = np.moveaxis(p, -1, 0)
    of = dict(zip(LABELS, (a, b, c, d), strict=True))
    logs = [np.log(of[i] / (of[i] + of[j])) for i, j in GAMES]
    ballot = np.log(c / (a + b + c)) + np.log(a / (a + b))
    return np.stack([*logs, ballot, 2 * np.log(b + d)], axis=-1)


@pytest.mark.filterwarnings("ignore::luce.ConvergenceWarning")
def test_each_piece_has_its_own_likelihood() -> None:
    draws = Posterior(sum(pieces())).sample(size(1000, 50), chains=2, seed=SEED, progress=False)
    p = draws.posterior["probabilities"].values
    found = luce.answers.log_likelihood(draws, pieces())
    assert found.dims == ("chain", "draw", "piece")
    np.testing.assert_allclose(found.values, direct(p), rtol=1e-12)
    other_order = ConditionalCounts(["d", "c", "b", "a"]).observe({"a": 1}, within=["a", "b"])
    again = luce.answers.log_likelihood(draws, [other_order])
    np.testing.assert_allclose(again.values[..., 0], direct(p)[..., 0], rtol=1e-12)


@pytest.mark.compiled
def test_pieces_left_out_are_predicted_as_well_as_is_said() -> None:
    """Against n posteriors, each without one piece; the control leaves the piece in.

    Importance sampling and draws have errors: both are estimated by four runs of different seeds,
    and the bound is Student's t with 3 degrees of freedom at 1e-4 over all comparisons.
    """
    given, runs = pieces(), 4
    whole, without = sum(given), []
    for k in range(len(given)):
        rest = sum(given[:k] + given[k + 1 :])
        draws = Posterior(rest, 1.3).sample(10_000, seed=100 * SEED + k, progress=False)
        held_out = luce.answers.log_likelihood(draws, [given[k]]).values
        without.append(np.log(np.exp(held_out).mean()))
    found, inside = np.empty((runs, len(given))), np.empty((runs, len(given)))
    for r in range(runs):
        draws = Posterior(whole, 1.3).sample(4_000, seed=1000 * SEED + r, progress=False)
        result = luce.loo(draws, given)
        found[r] = result.elpd_i.values
        assert result.elpd == pytest.approx(found[r].sum())
        inside[r] = np.log(np.exp(luce.answers.log_likelihood(draws, given).values).mean((0, 1)))
    spread = np.sqrt((found.var(axis=0, ddof=1) * 1.1).mean())  # pooled: 27 degrees of freedom
    bound = 5.5 * spread  # t with 27 degrees of freedom: 1e-4 / 9 two-sided is 5.4
    assert np.abs(found.mean(axis=0) - without).max() < bound
    assert np.abs(inside.mean(axis=0) - without).max() > bound


@pytest.mark.filterwarnings("ignore:The inplace keyword")  # pandas, of arviz-stats
@pytest.mark.filterwarnings("ignore::luce.ConvergenceWarning")
def test_arviz_reads_the_log_likelihood_of_a_run() -> None:
    """Its own `loo` and `compare` work on runs, and say what luce.loo says."""
    given, models, own = pieces(), {}, {}
    for name, concentration in (("weak", 3.0), ("strong", 40.0)):
        posterior = Posterior(sum(given), concentration)
        run = posterior.sample(size(1000, 100), chains=2, seed=SEED, progress=False)
        before = run.copy()
        models[name] = luce.answers.attach_log_likelihood(run, given)
        assert run.identical(before)
        assert set(models[name].children) == {*run.children, "log_likelihood"}
        found, own[name] = arviz_stats.loo(models[name], pointwise=True), luce.loo(run, given)
        assert float(found.elpd) == pytest.approx(float(own[name].elpd), rel=1e-12)
        assert float(found.se) == pytest.approx(float(own[name].se), rel=1e-12)
        np.testing.assert_allclose(found.elpd_i, own[name].elpd_i, rtol=1e-12)
    bare = luce.loo(run["posterior"]["probabilities"], given)
    assert float(bare.elpd) == pytest.approx(float(own["strong"].elpd), rel=1e-12)
    assert float(own["weak"].elpd) != pytest.approx(float(own["strong"].elpd), abs=0.1)
    ours, theirs = arviz_stats.compare(own), arviz_stats.compare(models)
    assert ours.index.tolist() == theirs.index.tolist()
    np.testing.assert_allclose(ours["elpd"], theirs["elpd"], rtol=1e-12)
    with pytest.raises(DataError, match="a run is the DataTree"):
        luce.answers.attach_log_likelihood(np.full((1, 2, 4), 0.25), given)  # type: ignore[arg-type]


@pytest.mark.compiled
@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:The inplace keyword")  # pandas, of arviz-stats
def test_a_better_description_is_preferred() -> None:
    """Home advantage that is there, with and without a name for it."""
    rng = np.random.default_rng([SEED, 3])
    names, home, strength = LABELS, 3.0, [4.0, 2.0, 1.0, 1.0]
    games = []
    for _ in range(300):
        i, j = rng.choice(4, 2, replace=False)
        wins = rng.random() < home * strength[i] / (home * strength[i] + strength[j])
        games.append((names[i], names[j], bool(wins)))
    plain, with_home = [], []
    for first, second, won in games:
        row = {"item1": [first], "item2": [second], "outcome": ["1" if won else "2"]}
        plain.append(luce.from_pairs(row, categories=names))
        labels = [*names, "home"]
        with_home.append(
            luce.from_pairs(row, home="first", home_effect="entity", categories=labels)
        )
    models = {}
    for name, given in (("plain", plain), ("home", with_home)):
        draws = Posterior(sum(given)).sample(1500, seed=SEED + 1, progress=False)
        models[name] = luce.loo(draws, given)
    table = arviz_stats.compare(models)
    assert table.index[0] == "home"
    assert models["home"].elpd - models["plain"].elpd > 5


def far_pieces() -> list[ConditionalCounts]:
    """Plain counts in pieces, of which number 2 is larger than all others together."""
    tables = [[3, 1, 0, 2], [1, 2, 2, 0], [2, 40, 1, 90], [0, 1, 3, 1], [2, 0, 1, 1]]
    none = ConditionalCounts(LABELS)
    return [none.observe(dict(zip(LABELS, row, strict=True))) for row in tables]


def left_out_in_closed_form(given: list[ConditionalCounts], a: np.ndarray) -> np.ndarray:
    """Ratios of Beta functions."""
    rows = np.array([piece.category_counts for piece in given])
    whole = a + rows.sum(axis=0)

    def log_beta(c: np.ndarray) -> np.ndarray:
        return np.asarray(gammaln(c).sum(axis=-1) - gammaln(c.sum(axis=-1)))

    return log_beta(whole) - log_beta(whole - rows)


def test_a_piece_that_importance_sampling_cannot_leave_out_is_drawn_without() -> None:
    given, a = far_pieces(), np.array([0.8, 1.5, 2.0, 1.1])
    truth = left_out_in_closed_form(given, a)
    run = Posterior(sum(given), a).sample(size(1000, 300), seed=SEED + 4, progress=False)
    with pytest.warns(EvidenceWarning, match=r"cannot leave out 1 of 5 pieces: 2, .*refit = 0"):
        never = luce.loo(run, given, refit=0)
    assert (never.warning, never.elpd_i.attrs["refitted"]) == (True, [])
    assert never.pareto_k.values[2] > never.good_k
    found = luce.loo(run, given)
    assert (found.warning, found.elpd_i.attrs["refitted"]) == (False, [2])
    assert found.pareto_k.values[2] == 0
    # Its prediction is too far for a mean over draws, so it is in closed form.
    assert found.elpd_i.values[2] == pytest.approx(truth[2], rel=1e-12)
    assert abs(never.elpd_i.values[2] - truth[2]) > 1
    others = [0, 1, 3, 4]
    np.testing.assert_array_equal(found.elpd_i.values[others], never.elpd_i.values[others])
    assert found.elpd == pytest.approx(found.elpd_i.values.sum())
    assert found.se == pytest.approx(np.sqrt(5 * found.elpd_i.values.var()))
    assert found.elpd + found.p == pytest.approx(never.elpd + never.p)
    again = luce.loo(run, given)
    np.testing.assert_array_equal(again.elpd_i.values, found.elpd_i.values)


def test_pieces_that_cannot_be_left_out_are_told() -> None:
    given = far_pieces()
    run = Posterior(sum(given)).sample(size(1000, 300), seed=SEED + 5, progress=False)
    bare = run["posterior"]["probabilities"]
    for draws, pieces, why in (
        (bare, given, "Do not trust elpd: .* DataArray was given"),
        (run, given[1:], "the pieces together are not the data of the run"),
    ):
        with pytest.warns(EvidenceWarning, match=why):
            assert luce.loo(draws, pieces).warning
    with pytest.raises(MethodError, match="refit = -1; a whole number of at least 0"):
        luce.loo(run, given, refit=-1)


def test_no_pieces_are_refused() -> None:
    with pytest.raises(DataError, match="no pieces"):
        luce.answers.log_likelihood(np.full((1, 2, 3), 1 / 3), [])
    with pytest.raises(DataError, match="piece 0"):
        luce.answers.log_likelihood(np.full((1, 2, 3), 1 / 3), [ConditionalCounts(["x", "y"])])


def test_pieces_are_predicted_by_the_others() -> None:
    """A Dirichlet's predictive probabilities: a fourth piece is a with (1 + 2) / (3 + 3)."""
    none = ConditionalCounts("abc")
    pieces = [none.observe({label: 1}) for label in "aaab"]
    draws = Posterior(sum(pieces)).sample(400, chains=2, seed=1, progress=False)
    alone = luce.answers.log_likelihood(draws, pieces[:1])  # outcomes without any set
    np.testing.assert_allclose(alone[..., 0], np.log(draws.posterior["probabilities"][..., 0]))
    found = luce.loo(draws, pieces)
    assert float(found.elpd) == pytest.approx(3 * np.log(3 / 6) + np.log(1 / 6), abs=0.5)
    assert float(found.elpd_i.values[3]) < float(found.elpd_i.values[0])

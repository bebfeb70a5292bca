"""Answers from draws of contests: duels, effects, summaries, densities and replicates."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import xarray as xr
from lib.bounds import SEED, z_limit
from lib.contest_runs import GAMES, MODELS, chances, counts_of, each_draw, made_up

import luce
from luce.answers.effects import parameter_sentences
from luce.answers.prediction import tally_results
from luce.answers.view import DrawsView
from luce.errors import DataError

pytestmark = pytest.mark.filterwarnings("ignore::luce.ConvergenceWarning")


@pytest.mark.parametrize(("ties", "home"), MODELS)
def test_duels_are_won_on_neutral_ground_if_not_tied(ties: str | None, home: bool) -> None:
    run = made_up(ties, home)
    for a, b in ("ab", "ca"):
        rows = []
        for p, values in each_draw(run):
            won, _, lost = chances(p[a], p[b], ties, values, 0)
            rows.append(won / (won + lost))
        np.testing.assert_allclose(luce.beats(run, a, b).values.ravel(), rows, rtol=1e-12)
        table = luce.answers.win_matrix(run)
        assert float(table.sel(category=a, opponent=b)) == pytest.approx(np.mean(rows))
        assert float(table.sel(category=b, opponent=a)) == pytest.approx(1 - np.mean(rows))


def test_a_margin_that_is_missing_is_asked_for() -> None:
    run = made_up("rao-kupper", False)
    kept = run["posterior"].to_dataset().drop_vars("tie")
    data = run["observed_data"].to_dataset()
    lost = xr.DataTree.from_dict({"/posterior": kept, "/observed_data": data})
    for ask in (lambda: luce.beats(lost, "a", "b"), lambda: luce.answers.win_matrix(lost)):
        with pytest.raises(DataError, match="Rao-Kupper ties, but these draws do not hold"):
            ask()


@pytest.mark.parametrize(("ties", "home"), MODELS[:5])
def test_effects_are_told_for_two_equals(ties: str | None, home: bool) -> None:
    run = made_up(ties, home)
    rows: dict[str, list[float]] = {"home": [], "tie": []}
    for _, values in each_draw(run):
        won, _, lost = chances(1.0, 1.0, ties, values, 1)
        rows["home"].append(won / (won + lost))
        nu = values.get("tie", 0.0)
        rows["tie"].append((nu - 1) / (nu + 1) if ties == "rao-kupper" else nu / (2 + nu))
    found = luce.answers.effect_probabilities(run)
    names = ["home"] * home + ["tie"] * (ties is not None)
    assert found["effect"].values.tolist() == names
    for name in names:
        np.testing.assert_allclose(found.sel(effect=name).values.ravel(), rows[name], rtol=1e-12)


def test_sentences_are_checked_against_the_draws() -> None:
    run = made_up("davidson", True)
    said = parameter_sentences(DrawsView.of(run), 0.8)
    h, nu = (run["posterior"][name].values for name in ("home", "tie"))
    low, high = np.quantile(h, [0.1, 0.9])
    assert said["home"] == (
        f"playing at home multiplies a side's strength by {h.mean():.3g} (80 % interval {low:.3g} "
        f"to {high:.3g}); the probability that there is an advantage, a factor above 1, is "
        f"{(h > 1).mean():.3f}"
    )
    share = nu / (2 + nu)
    low, high = np.quantile(share, [0.1, 0.9])
    assert said["tie"] == (
        f"two equals on neutral ground tie with probability {share.mean():.3f} "
        f"(80 % interval {low:.3f} to {high:.3f})"
    )
    table = luce.summary(run, 0.8)
    assert table.categories == ["a", "b", "c"]
    assert table.parameters is not None
    assert table.parameters.categories == ["home", "tie"]
    assert table.parameters.notes == tuple(f"{name}: {words}." for name, words in said.items())
    assert "p_best" not in table.parameters.columns
    assert said["home"] in str(table)
    assert "neutral" not in parameter_sentences(DrawsView.of(made_up("davidson", False)), 0.8)["tie"]
    assert parameter_sentences(DrawsView.of(made_up(None, False)), 0.8) == {}
    with pytest.raises(DataError, match="there is nothing to tell"):
        luce.answers.effect_probabilities(made_up(None, False))


@pytest.mark.parametrize(("ties", "home"), MODELS)
def test_new_meetings_have_the_density_of_loops(ties: str | None, home: bool) -> None:
    run = made_up(ties, home, 400)
    games = [("c", "a", 1, 1, 0, 0), ("b", "c", 1, 0, 1, 1)]
    rows = []
    for p, values in each_draw(run):
        log_likelihood = 0.0
        for a, b, at_home, won, lost, tied in games:
            q = chances(p[a], p[b], ties, values, at_home if home else 0)
            log_likelihood += won * math.log(q[0]) + lost * math.log(q[2])
            log_likelihood += tied * math.log(q[1]) if ties is not None else 0.0
        rows.append(log_likelihood)
    found = luce.log_predictive(run, counts_of(ties, home, games), method="draws")
    assert float(found) == pytest.approx(math.log(np.mean(np.exp(rows))))


@pytest.mark.compiled
def test_steps_lead_where_draws_do_not() -> None:
    """Evidence by steps, and by the mean over draws, of data that does not move far."""
    run = luce.Posterior(counts_of("davidson", True)).sample(2000, seed=SEED + 3, progress=False)
    new = counts_of("davidson", True, [("a", "b", 1, 0, 4, 1), ("c", "b", 0, 2, 0, 2)])
    mean = luce.log_predictive(run, new, method="draws")
    steps = luce.log_predictive(run, new, method="steps", seed=SEED + 4, progress=False)
    error = math.hypot(mean.standard_error, steps.standard_error)
    assert abs(float(mean) - float(steps)) < z_limit() * error
    far = counts_of("davidson", True, [("b", "a", 0, 60, 0, 2), ("c", "a", 0, 50, 0, 40)])
    found = luce.log_predictive(run, far, seed=SEED + 5, progress=False)
    assert found.method == "steps"
    assert found.standard_error < 0.5


def test_replicated_meetings_have_their_probabilities() -> None:
    run, counts = made_up("rao-kupper", True, 500), counts_of("rao-kupper", True)
    found = luce.answers.posterior_predictive(run, counts, seed=1)
    assert found.dims == ("chain", "draw", "meeting", "result")
    assert found["meeting"].values.tolist()[:2] == ["a against c", "a at home against b"]
    assert (found.sum("result") == found["total"]).all()
    # Meetings of the same sides were put together: a at home against b, 10 and 3 times.
    rows = np.array([chances(p["a"], p["b"], "rao-kupper", v, 1) for p, v in each_draw(run)])
    values = found.sel(meeting="a at home against b").values.reshape(-1, 3)[:, [0, 2, 1]]
    error = np.sqrt((13 * rows * (1 - rows)).sum(axis=0)) / len(rows)
    assert np.abs((values - 13 * rows).mean(axis=0) / error).max() < z_limit(3)
    away = np.array([chances(p["b"], p["a"], "rao-kupper", v, 1) for p, v in each_draw(run)])[
        :, ::-1
    ]
    assert np.abs((values - 13 * away).mean(axis=0) / error).max() > z_limit(3)
    attached = luce.answers.attach_posterior_predictive(
        luce.Posterior(counts).sample(10, chains=2, warmup=5, seed=1, progress=False), seed=2
    )
    assert attached["posterior_predictive"]["counts"].sizes["meeting"] == 4


def test_wins_and_ties_are_counted() -> None:
    contests = counts_of("davidson", True).events
    wins, ties = tally_results(contests, contests.results)  # type: ignore[arg-type, union-attr]
    expected = np.zeros((2, 3))
    for a, b, _, won, lost, tied in GAMES:
        for label, own in ((a, won), (b, lost)):
            expected[:, "abc".index(label)] += [own, tied]
    np.testing.assert_array_equal([wins, ties], expected)


RUN = made_up("davidson", True)


@pytest.mark.parametrize(
    ("ask", "words"),
    [
        (lambda: luce.log_predictive(RUN, counts_of("rao-kupper", True)), "has Rao-Kupper ties"),
        (
            lambda: luce.log_predictive(RUN, counts_of("davidson", False)),
            "the same ties= and home=",
        ),
        (
            lambda: luce.answers.posterior_predictive(
                RUN, counts_of("davidson", True).observe({"a": 1})
            ),
            "1 outcome beside its contests",
        ),
        (
            lambda: luce.answers.posterior_predictive(
                RUN, counts_of("davidson", True, [("a", "b", 1, 0.5, 0, 0)])
            ),
            "fractions of results",
        ),
    ],
)
def test_data_of_another_model_is_refused(ask: Callable[[], Any], words: str) -> None:
    with pytest.raises(DataError, match=words):
        ask()

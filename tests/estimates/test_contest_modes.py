"""Modes and maximum likelihood of contests, against optimisers, closed forms and published numbers.

The optimisers know the likelihood as written in `lib.season_oracles`, and differentiate it
numerically.
"""

import csv
from dataclasses import replace
from itertools import product

import numpy as np
import pytest
from lib.bounds import SEED
from lib.places import SHARED_DATA
from lib.season_oracles import MODELS, Meeting, Season, by_optimiser, league, slope

import luce
from luce import ConditionalCounts, Gamma, Posterior
from luce.counts.contests import contests_of_pairs
from luce.errors import DataError, MethodError, NoMaximumError
from luce.estimates.event_density import EventDensity
from luce.estimates.event_modes import maximise_events

# (model of ties, home advantage)
KINDS = list(product(MODELS, (False, True)))
PRIOR = np.array([1.7, 2.3, 3.0])
OWN = {"home": Gamma(2.5, 2.0), "tie": Gamma(1.5, 1.2)}


def priors_of(season: Season) -> dict[str, Gamma]:
    return {name: OWN[name] for name in season.names}


def differences(found: luce.estimates.Mode, p: np.ndarray, own: dict[str, float]) -> float:
    """Return the largest difference in a probability or a parameter."""
    parts = [np.abs(found.values - p).max(), *(abs(found.parameters[k] - own[k]) for k in own)]
    return float(max(parts))


@pytest.mark.parametrize(("ties", "home"), KINDS)
def test_the_likelihood_is_largest_where_an_optimiser_finds_it(
    ties: str | None, home: bool
) -> None:
    season = league(3, ties, home, 1, games=12)
    p, own, height = by_optimiser(lambda p, x: float(season.log_likelihood(p, **x)), season)
    found = luce.maximum_likelihood(season.counts())
    assert list(found.parameters) == list(season.names)
    assert differences(found, p, own) < 1e-6
    assert found.log_likelihood == pytest.approx(height, abs=1e-9)
    if home:  # the other side at home is another model
        turned = replace(
            season,
            meetings=tuple(replace(m, first=m.second, second=m.first) for m in season.meetings),
        )
        assert differences(luce.maximum_likelihood(turned.counts()), p, own) > 1e-3


@pytest.mark.parametrize("scale", ["simplex", "log-odds"])
@pytest.mark.parametrize(("ties", "home"), KINDS)
def test_a_mode_is_where_an_optimiser_finds_it(ties: str | None, home: bool, scale: str) -> None:
    season, less = league(3, ties, home, 2), float(scale == "simplex")
    own = priors_of(season)

    def density(p: np.ndarray, x: dict[str, float]) -> float:
        value = float(season.log_likelihood(p, **x)) + float((PRIOR - less) @ np.log(p))
        for name, prior in own.items():
            excess = x[name] - (season.least_tie if name == "tie" else 0.0)
            value += (prior.shape - less) * np.log(excess) - prior.rate * excess
        return value

    p, values, _ = by_optimiser(density, season)
    posterior = Posterior(season.counts(), PRIOR, **own)  # type: ignore[arg-type]
    assert differences(posterior.mode(scale), p, values) < 1e-7
    other = "simplex" if scale == "log-odds" else "log-odds"
    assert differences(posterior.mode(other), p, values) > 1e-3


@pytest.mark.parametrize("name", ["home", "tie"])
@pytest.mark.parametrize("ties", ["davidson", "rao-kupper"])
def test_a_known_parameter_stays(ties: str, name: str) -> None:
    season, known = league(3, ties, True, 3), {name: 1.3}
    p, own, height = by_optimiser(lambda p, x: float(season.log_likelihood(p, **x)), season, known)
    found = luce.maximum_likelihood(season.counts(), **known)
    assert found.parameters[name] == pytest.approx(1.3, rel=1e-14)
    assert differences(found, p, own) < 1e-6
    assert found.log_likelihood == pytest.approx(height, abs=1e-9)
    assert list(found.parameter_standard_errors()) == [x for x in season.names if x != name]
    flat = {each: Gamma(1.0, 1e-9) for each in season.names if each != name}
    mode = Posterior(season.counts(), 1.0, **{**flat, **known}).mode()  # type: ignore[arg-type]
    assert differences(mode, p, own) < 1e-6


@pytest.mark.parametrize(("ties", "home"), KINDS)
def test_a_league_of_many(ties: str | None, home: bool) -> None:
    """The slope of the likelihood, differentiated numerically, is 0 at the maximum."""
    season = league(10, ties, home, 4)
    found = luce.maximum_likelihood(season.counts())

    def height(z: np.ndarray) -> float:
        p = np.exp(z[:10])
        own = dict(zip(season.names, np.exp(z[10:]).tolist(), strict=True))
        return float(season.log_likelihood(p / p.sum(), **own))

    z = np.r_[np.log(found.values), np.log(list(found.parameters.values()))]
    assert np.abs(slope(height, z)).max() < 1e-8
    assert np.abs(slope(height, z + 0.01 * np.cos(np.arange(len(z))))).max() > 1e-3


def test_two_teams_with_a_home_advantage_have_a_closed_form() -> None:
    """A home wins and B away wins at the first's ground, C and D at the other's."""
    a, b, c, d = 7.0, 3.0, 5.0, 4.0
    meetings = Meeting((0,), (1,), True, (a, b, 0.0)), Meeting((1,), (0,), True, (c, d, 0.0))
    found = luce.maximum_likelihood(Season(2, meetings, None, True).counts("xy"))
    share = np.sqrt(a * d) / (np.sqrt(a * d) + np.sqrt(b * c))
    assert float(found.sel(category="x")) == pytest.approx(share, abs=1e-12)
    assert found.parameters["home"] == pytest.approx(np.sqrt(a * c / (b * d)), abs=1e-12)
    # log h is half the sum of two log odds.
    error = np.sqrt(1 / a + 1 / b + 1 / c + 1 / d) / 2
    assert found.parameter_standard_errors("log") == pytest.approx({"home": error}, abs=1e-12)
    assert found.standard_errors("log-odds", reference="y").values == pytest.approx([error, 0.0])


@pytest.mark.skipif(not SHARED_DATA.exists(), reason="the shared data is not there")
def test_davidson_s_puddings() -> None:
    with (SHARED_DATA / "pudding_tie_item" / "pudding.csv").open() as file:
        rows = list(csv.DictReader(file))
    first, second = (np.array([int(row[k]) - 1 for row in rows]) for k in "ij")
    results = np.array([[float(row[k]) for k in ("w_ij", "w_ji", "t_ij")] for row in rows])
    nobody = np.zeros(len(rows), np.int64)
    contests = contests_of_pairs(6, first, second, nobody, results, "davidson", False)
    found = luce.maximum_likelihood(ConditionalCounts(6).with_events(contests))
    truth = [0.138803, 0.173002, 0.161747, 0.165373, 0.158685, 0.202389]
    printed = [0.1388005, 0.1729985, 0.1617420, 0.1653930, 0.1586805, 0.2023855]
    assert found.values == pytest.approx(truth, abs=1e-6)
    assert found.values == pytest.approx(printed, abs=3e-5)
    assert found.parameters["tie"] == pytest.approx(0.746823, abs=1e-6)
    assert found.log_likelihood == pytest.approx(-809.7095, abs=1e-4)


# -- standard errors ----------------------------------------------------------------------


@pytest.mark.parametrize(("ties", "home"), KINDS)
def test_standard_errors_are_those_of_the_numerical_information(
    ties: str | None, home: bool
) -> None:
    season = league(4, ties, home, 5, games=10)
    found = luce.maximum_likelihood(season.counts("abcd"))
    names = list(season.names)

    def height(z: np.ndarray) -> float:
        p = np.exp(np.r_[0.0, z[:3]])
        own = dict(zip(names, np.exp(z[3:]).tolist(), strict=True))
        return float(season.log_likelihood(p / p.sum(), **own))

    odds = np.log(found.values[1:] / found.values[0])
    z = np.r_[odds, np.log([found.parameters[name] for name in names])]
    information = -np.array([slope(lambda y, k=k: slope(height, y)[k], z) for k in range(len(z))])
    covariance = np.linalg.inv((information + information.T) / 2)
    expected = np.sqrt(np.diag(covariance))
    errors = found.standard_errors("log-odds", reference="a").values[1:]
    assert errors == pytest.approx(expected[:3], rel=1e-5)
    logs = found.parameter_standard_errors("log")
    assert list(logs.values()) == pytest.approx(expected[3:], rel=1e-5)
    natural = found.parameter_standard_errors()
    assert natural == pytest.approx({k: logs[k] * found.parameters[k] for k in logs})
    if names:  # without the parameters' share, strengths would look too certain
        alone = np.sqrt(np.diag(np.linalg.inv(information[:3, :3])))
        assert not np.allclose(errors, alone, rtol=1e-5)


def test_a_posterior_s_standard_errors_shrink_with_the_data() -> None:
    season = league(4, "rao-kupper", True, 6)
    small = Posterior(season.counts())
    large = Posterior(season.counts() + season.counts() + season.counts() + season.counts())
    for scale in ("natural", "log"):
        few, many = (each.parameter_standard_errors(scale) for each in (small, large))
        assert list(few) == ["home", "tie"]
        assert all(many[name] < 0.8 * few[name] for name in few)
    assert small.covariance("log-odds").dims == ("category", "opponent")
    assert (small.standard_errors() > large.standard_errors()).all()
    with pytest.raises(MethodError, match="choose one of natural, log"):
        small.parameter_standard_errors("logs")
    assert Posterior(ConditionalCounts("ab").observe({"a": 1})).parameter_standard_errors() == {}


# -- the boundary -------------------------------------------------------------------------


def test_without_ties_the_tie_parameter_is_at_its_least_value() -> None:
    wins = {(0, 1): (3, 2), (1, 2): (4, 1), (2, 0): (2, 2)}
    meetings = tuple(Meeting((i,), (j,), False, (a, b, 0)) for (i, j), (a, b) in wins.items())
    plain = luce.maximum_likelihood(Season(3, meetings, None, False).counts())
    for ties, least in (("davidson", 0.0), ("rao-kupper", 1.0)):
        counts = Season(3, meetings, ties, False).counts()
        found = luce.maximum_likelihood(counts)
        assert found.parameters == {"tie": least}
        assert found.values == pytest.approx(plain.values, abs=1e-12)
        assert found.log_likelihood == pytest.approx(plain.log_likelihood, abs=1e-12)
        assert np.isnan(found.parameter_standard_errors()["tie"])
        assert Posterior(counts).mode().parameters == {"tie": least}  # Gamma(1, 1) is largest at 0
        assert Posterior(counts).mode("log-odds").parameters["tie"] > least
        assert Posterior(counts, tie=Gamma(2.0, 1.0)).mode().parameters["tie"] > least
        with pytest.raises(NoMaximumError, match=f"as tie goes to {least:g}, since its prior's"):
            Posterior(counts, tie=Gamma(0.5, 1.0)).mode()


def test_a_side_at_home_that_never_won() -> None:
    meetings = (
        Meeting((0,), (1,), True, (0, 3, 0)),
        Meeting((0,), (1,), False, (2, 3, 0)),
    )
    found = luce.maximum_likelihood(Season(2, meetings, None, True).counts("ab"))
    assert found.parameters == {"home": 0.0}
    assert found.values == pytest.approx([0.4, 0.6])
    assert found.log_likelihood == pytest.approx(2 * np.log(0.4) + 3 * np.log(0.6))


def test_who_never_won_or_tied_is_at_zero() -> None:
    meetings = (
        Meeting((0,), (1,), False, (3, 2, 1)),
        Meeting((2,), (0,), False, (0, 4, 0)),
        Meeting((1,), (2,), False, (1, 0, 0)),
    )
    found = luce.maximum_likelihood(Season(3, meetings, "davidson", False).counts("abc"))
    assert found.at_zero == ("c",)
    alone = luce.maximum_likelihood(Season(2, meetings[:1], "davidson", False).counts("ab"))
    assert found.values[:2] == pytest.approx(alone.values)
    assert found.parameters == pytest.approx(alone.parameters)
    assert np.isnan(found.standard_errors().sel(category="c"))
    assert found.standard_errors().values[:2] == pytest.approx(alone.standard_errors().values)


# -- no maximum ---------------------------------------------------------------------------


def refused(meetings: list[Meeting], ties: str | None, home: bool, labels: str) -> NoMaximumError:
    season = Season(len(labels), tuple(meetings), ties, home)
    with pytest.raises(NoMaximumError) as error:
        luce.maximum_likelihood(season.counts(labels))
    return error.value


def test_groups_that_never_won_or_tied_are_named() -> None:
    strong, weak = Meeting((0,), (1,), False, (2, 3, 1)), Meeting((2,), (3,), False, (1, 1, 0))
    across = Meeting((0,), (2,), False, (5, 0, 0))
    error = refused([strong, weak, across], "davidson", False, "abcd")
    assert "'c', 'd' never won or tied against any of the other 2" in str(error)
    assert error.groups == [["a", "b"], ["c", "d"]]
    tied = Meeting((0,), (2,), False, (5, 0, 1))
    season = Season(4, (strong, weak, tied), "davidson", False)
    assert luce.maximum_likelihood(season.counts()).values.min() > 0  # one tie is enough
    error = refused([strong, weak], "rao-kupper", False, "abcd")
    assert "were never compared with each other" in str(error)
    assert error.groups == [["a", "b"], ["c", "d"]]


def test_home_that_cannot_be_told_from_strength_is_named() -> None:
    """Two always at home against two always away."""
    grounds = [Meeting((i,), (j,), True, (3, 2, 1)) for i in (0, 1) for j in (2, 3)]
    for ties in MODELS:
        if ties is None:
            grounds = [replace(m, results=(*m.results[:2], 0.0)) for m in grounds]
        error = refused(grounds, ties, True, "abcd")
        assert "home cannot be told from strength" in str(error)
        assert sorted(map(sorted, error.groups)) == [["a", "b"], ["c", "d"]]
        known = Season(4, tuple(grounds), ties, True).counts()
        luce.maximum_likelihood(known, home=1.0)  # and is identified where home is known
        grounds = [Meeting(m.first, m.second, True, (3, 2, 1)) for m in grounds]
    neutral = [*grounds, Meeting((0,), (2,), False, (1, 1, 0))]
    found = luce.maximum_likelihood(Season(4, tuple(neutral), "davidson", True).counts())
    assert found.parameters["home"] > 0


def test_one_sided_parameters_are_named() -> None:
    home = [Meeting((i,), (j,), True, (2, 0, 0)) for i, j in ((0, 1), (1, 0))]
    assert "the larger home, the better, since no side at home ever lost" in str(
        refused(home, None, True, "ab")
    )
    ties = [Meeting((0,), (1,), False, (0, 0, 4))]
    assert "the larger tie, the better, since nobody ever won" in str(
        refused(ties, "davidson", False, "ab")
    )
    for model in ("davidson", "rao-kupper"):
        all_tied = [replace(m, results=(0, 0, 3)) for m in home]
        assert "the larger tie, the better, since nobody ever won." in str(
            refused(all_tied, model, True, "ab")
        )
        never_lost = [replace(m, results=(2, 0, 3)) for m in home]
        words = str(refused(never_lost, model, True, "ab"))
        assert (
            "the larger home and the larger tie, the better, since no side at home ever lost."
            in words
        )
    nowhere = [Meeting((0,), (1,), False, (2, 1, 0))]
    assert "nothing says how large home is, since no side was at home" in str(
        refused(nowhere, None, True, "ab")
    )
    assert "without data all probabilities are equally good" in str(refused([], None, True, "ab"))


def random_season(rng: np.random.Generator, ties: str | None, home: bool) -> Season:
    """Draw few results of three categories, so that many seasons have no maximum."""
    meetings = []
    for i, j, at_home in product(range(3), range(3), (False, True)):
        if i == j or (at_home and not home) or (not at_home and i > j) or rng.random() < 0.2:
            continue
        seen = rng.integers(0, 2, 3) * rng.integers(1, 4, 3)
        seen[rng.integers(0, 2)] *= rng.integers(0, 2)
        seen[2] *= (ties is not None) * rng.integers(0, 2)
        if seen.any():
            meetings.append(Meeting((i,), (j,), at_home, tuple(map(float, seen))))  # type: ignore[arg-type]
    return Season(3, tuple(meetings), ties, home)


def stable_log_likelihood(season: Season, z: np.ndarray) -> np.ndarray:
    """Compute the log likelihood from logarithms, far out where probabilities underflow."""
    own = {name: z[..., 3 + k] for k, name in enumerate(season.names)}
    value = np.zeros(z.shape[:-1])
    for m in season.meetings:
        a, b = z[..., m.first[0]], z[..., m.second[0]]
        if m.at_home:
            a = a + own["home"]
        if season.ties == "rao-kupper":
            t = own["tie"]
            first, second = np.logaddexp(a, b + t), np.logaddexp(a + t, b)
            odd = 2 * t + np.log(-np.expm1(-2 * t))
            logs = [a - first, b - second, a + b + odd - first - second]
        else:
            middle = own["tie"] + (a + b) / 2 if season.ties else np.full(a.shape, -np.inf)
            whole = np.logaddexp(np.logaddexp(a, b), middle)
            logs = [a - whole, b - whole, middle - whole]
        value = value + sum(n * x for n, x in zip(m.results, logs, strict=True) if n)
    return np.asarray(value)


@pytest.mark.parametrize(("ties", "home"), KINDS)
def test_there_is_a_maximum_exactly_if_no_direction_leads_away(
    ties: str | None, home: bool
) -> None:
    """All directions with small whole numbers are walked; a concave function that does not fall
    far out along one of them has no single maximum."""
    rng, told = np.random.default_rng([SEED, 7]), {True: 0, False: 0}
    for _ in range(80):
        season = random_season(rng, ties, home)
        names = season.names
        whole = np.array(list(product(range(-4, 5), repeat=2 + len(names))), float)
        d = np.concatenate([np.zeros((len(whole), 1)), whole], axis=1)[whole.any(axis=1)]
        start = np.zeros(3 + len(names))
        if ties == "rao-kupper":
            start[-1], d = 0.4, d[d[:, -1] >= 0]
        steps = stable_log_likelihood(season, start + 40 * d) - stable_log_likelihood(
            season, start + 39 * d
        )
        tied = sum(m.results[2] for m in season.meetings) > 0
        leads_away = bool((steps >= -1e-9).any()) or (ties == "rao-kupper" and not tied)
        try:
            found = luce.maximum_likelihood(season.counts())
            edge = [found.parameters[x] <= (season.least_tie if x == "tie" else 0) for x in names]
            inside = not found.at_zero and not any(edge)
        except NoMaximumError:
            inside = False
        assert inside != leads_away
        told[inside] += 1
    assert min(told.values()) > 1


TEAMS = (
    Meeting((0, 1), (2, 3), True, (6, 2, 2)),
    Meeting((0, 2), (1, 3), True, (3, 4, 1)),
    Meeting((2, 3), (0, 1), True, (2, 3, 2)),
    Meeting((0,), (3,), False, (2, 1, 1)),
    Meeting((1,), (2,), False, (2, 3, 1)),
)


@pytest.mark.parametrize("ties", ["davidson", "rao-kupper"])
def test_teams_are_climbed_from_several_starts(ties: str) -> None:
    """Nothing is concave with teams: the highest end is returned, and the number of ends told."""
    singles = (Meeting((0,), (1,), True, (3, 2, 1)), Meeting((2,), (3,), True, (3, 1, 2)))
    season = Season(4, TEAMS + singles, ties, True)
    p, own, height = by_optimiser(lambda p, x: float(season.log_likelihood(p, **x)), season)
    found = luce.maximum_likelihood(season.counts())
    assert found.log_likelihood == pytest.approx(height, abs=1e-8)
    assert differences(found, p, own) < 1e-5
    assert found.maxima >= 1
    # Two pairs of players drift apart where only their teams met.
    with pytest.raises(NoMaximumError, match="may grow without an end"):
        luce.maximum_likelihood(Season(4, TEAMS, ties, True).counts())
    assert Posterior(Season(4, TEAMS, ties, True).counts()).mode("log-odds").values.min() > 0


def test_sets_beside_contests_count() -> None:
    """Rankings beside contests: both likelihoods are added."""
    season = league(3, "davidson", True, 8)
    counts = season.counts("abc").observe({"a": 3, "b": 2, "c": 1}).observe({"b": 4}, within="bc")
    p, own, height = by_optimiser(
        lambda p, x: float(
            season.log_likelihood(p, **x)
            + np.array([3, 2, 1]) @ np.log(p)
            + 4 * np.log(p[1] / (p[1] + p[2]))
        ),
        season,
    )
    found = luce.maximum_likelihood(counts)
    assert differences(found, p, own) < 1e-6
    assert found.log_likelihood == pytest.approx(height, abs=1e-9)
    only = [Meeting((0,), (1,), True, (2, 1, 1)), Meeting((1,), (0,), True, (2, 1, 1))]
    apart = Season(3, tuple(only), "davidson", True).counts("abc")
    linked = apart.observe({"c": 2, "a": 1}, within="ac")
    assert luce.maximum_likelihood(linked).values.min() > 0
    one_way = apart.observe({"c": 2}, within="ac")
    with pytest.raises(NoMaximumError) as error:
        luce.maximum_likelihood(one_way)
    assert error.value.groups == [["c"], ["a", "b"]]


def test_a_small_concentration_on_the_simplex() -> None:
    season = league(3, "davidson", True, 9, games=10)
    found = Posterior(season.counts(), 0.5).mode()
    p, own, _ = by_optimiser(
        lambda p, x: float(
            season.log_likelihood(p, **x)
            - 0.5 * np.log(p).sum()
            + np.log(x["home"])
            - 2 * x["home"]
            - x["tie"]
        ),
        season,
    )
    assert differences(found, p, own) < 1e-6
    never = Season(3, (Meeting((0,), (1,), False, (2, 1, 1)),), "davidson", False).counts("abc")
    with pytest.raises(NoMaximumError, match="the probability of 'c' goes to 0"):
        Posterior(never, 0.5).mode()


def test_values_that_are_refused() -> None:
    counts = league(3, "rao-kupper", True, 1).counts()
    with pytest.raises(DataError, match=r"tie = 1 was given; with Rao-Kupper ties .* above 1"):
        luce.maximum_likelihood(counts, tie=1.0)
    with pytest.raises(DataError, match=r"tie = 0.5 was given"):
        Posterior(counts, tie=0.5)
    with pytest.raises(DataError, match="the data has no parameter 'home'"):
        luce.maximum_likelihood(ConditionalCounts("ab").observe({"a": 1, "b": 2}), home=1.0)
    with pytest.raises(MethodError, match="choose one of simplex, log-odds"):
        Posterior(counts).mode("logits")


def test_a_mode_prints_its_parameters() -> None:
    season = Season(2, (Meeting((0,), (1,), False, (2, 2, 4)),), "davidson", False)
    found = luce.maximum_likelihood(season.counts("ab"))
    assert repr(found) == "Mode(likelihood: a: 0.5, b: 0.5; tie 2)"
    density = EventDensity.of_likelihood(season.counts("ab"))
    assert maximise_events(density).maxima == 1

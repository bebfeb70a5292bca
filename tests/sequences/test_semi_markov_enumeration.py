"""Likelihoods and sampled segmentations of the semi-Markov model against all segmentations."""

from __future__ import annotations

from collections import Counter
from itertools import product
from typing import Any

import numpy as np
import pytest
from lib.bounds import FALSE_ALARM, SEED
from lib.semi_markov_cases import (
    DURATIONS,
    EMISSIONS,
    INITIAL,
    ROWS,
    DurationCase,
    EmissionCase,
    fixed_state,
    known_of,
)
from lib.semi_markov_oracles import (
    Floats,
    Known,
    duration_tables,
    last_length_law,
    least_p_value,
    log_joint,
    log_likelihood,
    log_likelihood_by_messages,
    markov_log_likelihood,
    path_probabilities,
)
from lib.size import draws

from luce import SemiMarkov
from luce.sequences import Geometric, NegativeBinomial, Poisson, SemiMarkovState
from luce.sequences.semi_markov import new_bits

# log p of series of at most 8 rows is some tens; rounding of both sides is far below.
RELATIVE_ERROR = 1e-12

PAIRS = list(product(DURATIONS, EMISSIONS))

# Rows of a transition matrix with more zeros than self-loops.
SPARSE = np.array([[0.0, 1.0, 0.0], [0.15, 0.0, 0.85], [0.6, 0.4, 0.0]])


def with_gaps(case: EmissionCase, values: Floats) -> Floats:
    """Take a whole row away and, with several channels, one entry of another row."""
    gaps = values.copy()
    if case.takes_missing:
        gaps[min(3, len(gaps) - 1)] = np.nan
        gaps[-2, 0] = np.nan
    return gaps


def model_of(
    duration: DurationCase,
    emission: EmissionCase,
    longest: int = 0,
    end: str = "censored",
    forbidden: Any = None,
) -> SemiMarkov:
    limit = None if duration.has_limit or not longest else longest
    return SemiMarkov(3, emission.law, duration.law, 1.0, 1.0, limit, "own", end, forbidden)


def limit_of(duration: DurationCase, longest: int) -> int:
    """Longest length of the truth: that of the law itself where it has one."""
    return len(duration.parameters["probabilities"][0]) if duration.has_limit else longest


# -- log likelihoods -------------------------------------------------------------------------------


@pytest.mark.parametrize(("duration", "emission"), PAIRS)
def test_log_likelihood_of_one_series(duration: str, emission: str) -> None:
    how, what = DURATIONS[duration], EMISSIONS[emission]
    rng = np.random.default_rng(SEED)
    length = 8 if what.kind == "counts" else 6
    values = with_gaps(what, what.values(rng, length))
    state = fixed_state(what, how)
    checked = 0
    for end, longest in product(("censored", "complete"), (0, length, 3)):
        if longest and how.has_limit:
            continue
        model = model_of(how, what, longest, end)
        (known,) = known_of(
            what, how, values, [0, length], limit_of(how, longest), end == "complete"
        )
        truth = log_likelihood(known)
        got = model.log_likelihood(what.read(model, values, [0, length]), state)
        assert abs(got - truth) <= RELATIVE_ERROR * abs(truth), (end, longest)
        assert abs(log_likelihood_by_messages(known) - truth) <= RELATIVE_ERROR * abs(truth)
        checked += 1
    assert checked == (2 if how.has_limit else 6)


@pytest.mark.parametrize(
    ("duration", "emission"),
    [(d, "categories") for d in DURATIONS]
    + [("poisson", e) for e in EMISSIONS]
    + [("whole", "gaussian")],
)
@pytest.mark.parametrize("end", ["censored", "complete"])
def test_log_likelihood_of_several_series_with_candidates(
    duration: str, emission: str, end: str
) -> None:
    how, what = DURATIONS[duration], EMISSIONS[emission]
    rng = np.random.default_rng(SEED + 1)
    borders = [0, 5, 6, 13]
    values = with_gaps(what, what.values(rng, 13))
    begins = [[2, 3], [], [1, 4, 5]]
    longest = 0 if how.law.counts_phases else 4
    model = model_of(how, what, longest, end, [(0, 2)])
    state = fixed_state(what, how, SPARSE)
    series = what.read(model, values, borders)
    for chosen in (None, begins):
        each = known_of(
            what,
            how,
            values,
            borders,
            limit_of(how, longest),
            end == "complete",
            chosen,
            SPARSE,
        )
        truth = sum(log_likelihood(known) for known in each)
        got = model.log_likelihood(series, state, candidates=chosen)
        if truth == -np.inf:
            assert got == truth
        else:
            assert abs(got - truth) <= RELATIVE_ERROR * abs(truth), chosen


def test_log_likelihood_rejects_wrong_models() -> None:
    """Each of these is another model, and differs by far more than rounding."""
    how, what = DURATIONS["poisson"], EMISSIONS["counts"]
    values = what.values(np.random.default_rng(SEED), 6)
    model = model_of(how, what, 3)
    series = what.read(model, values, [0, 6])
    got = model.log_likelihood(series, fixed_state(what, how))
    (known,) = known_of(what, how, values, [0, 6], 3, False)
    loops = ROWS + 1e-6 * np.eye(3)
    for wrong in (
        known._replace(complete=True),
        known._replace(longest=4),
        known._replace(rows=loops),
        known._replace(rows=ROWS.T),
        known._replace(initial=INITIAL[::-1]),
        known._replace(
            log_p=known.log_p - np.logaddexp.reduce(known.log_p[:, :3], axis=1)[:, None]
        ),
    ):
        truth = log_likelihood_by_messages(wrong)
        assert abs(got - truth) > 1e3 * RELATIVE_ERROR * abs(truth)


# -- sampled segmentations -------------------------------------------------------------------------

# Sequences that are drawn at once, all of the same rows.
COPIES = 2000


def drawn(
    model: SemiMarkov,
    what: EmissionCase,
    values: Floats,
    state: SemiMarkovState,
    n: int,
    candidates: Any = None,
) -> tuple[Counter[Any], Counter[Any]]:
    """Count labels, and (state, seen, duration) of last segments, of copies of one sequence."""
    length, copies = len(values), min(COPIES, n)
    borders = np.arange(copies + 1) * length
    series = what.read(model, np.tile(values, (copies, 1)), borders)
    begins = None if candidates is None else [candidates] * copies
    sweeper = model.sweeper(series, begins)
    bits = new_bits(np.random.default_rng(SEED + 7))
    paths: Counter[Any] = Counter()
    lasts: Counter[Any] = Counter()
    for _ in range(max(n // copies, 1)):
        labels, last, _, _ = sweeper.draw_labels(bits, state)
        table = labels.reshape(copies, length)
        paths.update(map(tuple, table.tolist()))
        same = np.cumprod((table == table[:, -1:])[:, ::-1], axis=1).sum(axis=1)
        lasts.update(zip(table[:, -1].tolist(), same.tolist(), last.tolist(), strict=True))
    return paths, lasts


def agreement(known: Known, how: DurationCase, paths: Counter[Any], lasts: Counter[Any]) -> float:
    """Smallest p-value, times the number of comparisons, of labels and of last durations."""
    worst = least_p_value(paths, path_probabilities(known))
    most = 40
    seen: dict[tuple[int, int], Counter[int]] = {}
    for (j, rows, length), n in lasts.items():
        seen.setdefault((j, rows), Counter())[min(length, most)] += n
    for (j, rows), counts in seen.items():
        law = last_length_law(how.parameters, j, rows, most)
        if known.complete:
            law = np.eye(most)[rows - 1]
        table = {d + 1: p for d, p in enumerate(law) if p > 0.0}
        worst = min(worst, least_p_value(counts, table) * len(seen))
    return worst / 2.0


def check_draws(
    duration: str, emission: str, end: str, longest: int, candidates: Any, n: int
) -> float:
    how, what = DURATIONS[duration], EMISSIONS[emission]
    values = with_gaps(what, what.values(np.random.default_rng(SEED + 2), 6))
    longest = 0 if how.has_limit else longest
    model = model_of(how, what, longest, end)
    state = fixed_state(what, how)
    begins = None if candidates is None else [candidates]
    (known,) = known_of(
        what, how, values, [0, 6], limit_of(how, longest), end == "complete", begins
    )
    return agreement(known, how, *drawn(model, what, values, state, n, candidates))


@pytest.mark.parametrize(
    ("duration", "emission", "end", "longest", "candidates"),
    [
        ("poisson", "gaussian", "censored", 3, None),
        ("whole", "counts", "censored", 0, None),
        ("real", "autoregressive", "complete", 6, None),
        ("geometric", "categories", "censored", 0, [2, 3, 5]),
        ("histogram", "diagonal-gaussian", "censored", 0, [1, 3, 4]),
        ("whole", "custom", "complete", 0, None),
        ("real", "counts", "censored", 4, [2, 3, 5]),
    ],
)
def test_sampled_segmentations(
    duration: str, emission: str, end: str, longest: int, candidates: Any
) -> None:
    n = draws(compiled=40_000, plain=200)
    assert check_draws(duration, emission, end, longest, candidates, n) > FALSE_ALARM


@pytest.mark.slow
@pytest.mark.compiled
@pytest.mark.parametrize(("duration", "emission"), PAIRS)
def test_sampled_segmentations_of_every_pair(duration: str, emission: str) -> None:
    how = DURATIONS[duration]
    worst, cases = 1.0, 0
    limits = [0] if how.has_limit else [0, 3, 6]
    for end, longest, candidates in product(("censored", "complete"), limits, (None, [2, 3, 5])):
        worst = min(worst, check_draws(duration, emission, end, longest, candidates, 200_000))
        cases += 1
    assert worst * cases > FALSE_ALARM


@pytest.mark.compiled
def test_sampled_segmentations_reject_wrong_laws() -> None:
    """Draws of the right sampler do not fit truths that are slightly wrong."""
    how, what = DURATIONS["poisson"], EMISSIONS["gaussian"]
    values = with_gaps(what, what.values(np.random.default_rng(2), 6))
    model, state = model_of(how, what, 3), fixed_state(what, how)
    (known,) = known_of(what, how, values, [0, 6], 3, False)
    paths, lasts = drawn(model, what, values, state, 40_000)
    assert agreement(known, how, paths, lasts) > FALSE_ALARM
    assert agreement(known._replace(complete=True), how, paths, lasts) <= FALSE_ALARM
    moved = known.log_density.copy()
    moved[5, 1] += 0.2
    assert agreement(known._replace(log_density=moved), how, paths, lasts) <= FALSE_ALARM
    # Durations "longer than what was seen" instead of "at least that".
    later = Counter({(j, rows, d + 1): n for (j, rows, d), n in lasts.items()})
    assert agreement(known, how, paths, later) <= FALSE_ALARM


# -- identities ------------------------------------------------------------------------------------


def long_case(length: int = 60) -> tuple[EmissionCase, Floats]:
    what = EMISSIONS["gaussian"]
    return what, with_gaps(what, what.values(np.random.default_rng(SEED + 3), length))


@pytest.mark.parametrize("end", ["censored", "complete"])
def test_negative_binomial_phases_equal_the_convolution(end: str) -> None:
    what, values = long_case()
    how = DURATIONS["whole"]
    state = fixed_state(what, how)
    phases = SemiMarkov(3, what.law, NegativeBinomial(most=3), 1.0, 1.0, None, "own", end)
    limited = SemiMarkov(3, what.law, NegativeBinomial(most=3), 1.0, 1.0, 60, "own", end)
    a, b = (model.log_likelihood(values, state) for model in (phases, limited))
    assert abs(a - b) <= RELATIVE_ERROR * abs(b)
    shorter = SemiMarkov(3, what.law, NegativeBinomial(most=3), 1.0, 1.0, 10, "own", end)
    assert abs(shorter.log_likelihood(values, state) - b) > 1e-6


def test_geometric_durations_are_a_hidden_markov_model_without_self_loops() -> None:
    what, values = long_case()
    how = DURATIONS["geometric"]
    stop = how.parameters["stop"]
    density = what.log_density(values, [0, 60])
    moves = ROWS * stop[:, None] + np.diag(1.0 - stop)
    truth = markov_log_likelihood(density, INITIAL, moves)
    got = SemiMarkov(3, what.law, Geometric()).log_likelihood(values, fixed_state(what, how))
    assert abs(got - truth) <= RELATIVE_ERROR * abs(truth)
    wrong = markov_log_likelihood(density, INITIAL, ROWS)
    assert abs(got - wrong) > 1e3 * RELATIVE_ERROR * abs(wrong)


@pytest.mark.parametrize("duration", list(DURATIONS))
def test_candidates_at_every_row_restrict_nothing(duration: str) -> None:
    what, values = long_case(40)
    how = DURATIONS[duration]
    model, state = SemiMarkov(3, what.law, how.law), fixed_state(what, how)
    free = model.log_likelihood(values, state)
    all_rows = model.log_likelihood(values, state, candidates=list(range(1, 40)))
    assert free == all_rows
    one_less = model.log_likelihood(values, state, candidates=list(range(2, 40)))
    assert one_less < free


@pytest.mark.parametrize("duration", ["poisson", "real"])
def test_a_limit_of_all_rows_is_none(duration: str) -> None:
    what, values = long_case(40)
    how = DURATIONS[duration]
    (known,) = known_of(what, how, values, [0, 40], 0, False)
    truth = log_likelihood_by_messages(known)
    state = fixed_state(what, how)
    got = SemiMarkov(3, what.law, how.law, longest=40).log_likelihood(values, state)
    assert abs(got - truth) <= RELATIVE_ERROR * abs(truth)


@pytest.mark.parametrize("duration", list(DURATIONS))
def test_missing_rows_leave_the_prior(duration: str) -> None:
    """Without a limit all laws sum to 1, and sampled labels are those of the prior."""
    what, how = EMISSIONS["gaussian"], DURATIONS[duration]
    values = np.full((5, 2), np.nan)
    model, state = model_of(how, what), fixed_state(what, how)
    series = what.read(model, values, [0, 5])
    assert abs(model.log_likelihood(series, state)) < 1e-14
    log_p, log_survival = duration_tables(how.parameters, 5)
    known = Known(np.zeros((5, 3)), INITIAL, ROWS, log_p, log_survival)
    law = {z: np.exp(log_joint(known, z)) for z in product(range(3), repeat=5)}
    paths, _ = drawn(model, what, values, state, draws(compiled=20_000, plain=200))
    assert least_p_value(paths, law) > FALSE_ALARM


def test_durations_far_above_the_series_are_one_segment() -> None:
    what = EMISSIONS["gaussian"]
    values = what.values(np.random.default_rng(SEED), 7)
    how = DurationCase(Poisson(1000.0), {"rate": np.full(3, 1000.0)}, DURATIONS["poisson"].marginal)
    model, state = model_of(how, what, 7), fixed_state(what, how)
    got = model.log_likelihood(values, state)
    one = np.log(INITIAL) + what.log_density(values, [0, 7]).sum(axis=0)
    assert abs(got - np.logaddexp.reduce(one)) <= RELATIVE_ERROR * abs(got)

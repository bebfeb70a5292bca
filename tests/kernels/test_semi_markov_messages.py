"""Messages of the semi-Markov model under stress: wide likelihoods, fixed and long durations."""

from __future__ import annotations

from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
import pytest
from lib.bounds import SEED
from lib.semi_markov_oracles import Floats, Known, duration_tables, log_messages
from lib.size import PLAIN_PYTHON

from luce.kernels.semi_markov.messages import (
    Durations,
    Messages,
    convolve,
    log_evidence,
    subtract_peaks,
)
from luce.kernels.semi_markov.phases import Phases, count_phases
from luce.kernels.semi_markov.segments import DurationLaw, Segments, draw_segments

# Largest error of log messages within NEAR of the largest of their row, in nats.
ERROR_NATS, NEAR_NATS = 1e-8, 300.0


class Case(NamedTuple):
    """Likelihoods of all rows, sequences, rows of A, durations; `stops` for phases."""

    log_density: Floats
    borders: Any
    may_end: Any
    rows: Floats
    parameters: dict[str, Floats]
    longest: int
    complete: bool = False

    @property
    def is_phases(self) -> bool:
        return self.longest == 0


def stress_case(
    length: int,
    n_states: int,
    longest: int,
    span: float,
    parameters: dict[str, Floats] | None = None,
    candidates: bool = False,
    complete: bool = False,
    number: int = 0,
) -> Case:
    """States that fit one stretch each; log densities of a row span about `span` nats."""
    rng = np.random.default_rng([SEED, number, length, n_states])
    fits = np.repeat(rng.integers(0, n_states, length // 20 + 1), 20)[:length]
    density = rng.normal(size=(length, n_states)) * span / 6.0
    density -= span * (np.arange(n_states) != fits[:, None])
    rows = rng.dirichlet(np.full(n_states, 0.3), n_states) + 1e-300
    np.fill_diagonal(rows, 0.0)
    rows /= rows.sum(axis=1, keepdims=True)
    borders = np.array([0, length // 3, length])
    may_end = np.empty(0, np.bool_)
    if candidates:
        may_end = rng.random(length) < 0.3
        may_end[borders[1:] - 1] = True
    given = parameters or {"rate": rng.gamma(2.0, 8.0, n_states)}
    return Case(density, borders, may_end, rows, given, longest, complete)


def fixed_lengths(n_states: int, longest: int) -> dict[str, Floats]:
    """Durations of one possible length for each state."""
    law = np.zeros((n_states, longest))
    law[np.arange(n_states), longest - 1 - np.arange(n_states) % (longest // 2)] = 1.0
    return {"probabilities": law}


def whole_stops(n_states: int, stop: float = 0.05) -> dict[str, Floats]:
    return {"r": 1.0 + np.arange(n_states) % 4, "stop": np.full(n_states, stop)}


def tables_of(case: Case) -> tuple[Floats, Floats]:
    most = case.longest or len(case.log_density)
    log_p, log_survival = duration_tables(case.parameters, most)
    return log_p, np.full_like(log_p, -np.inf) if case.complete else log_survival


def filled(case: Case) -> tuple[Floats, Floats, Messages, Any]:
    """Scaled densities, their peaks, messages and the law for sampling."""
    length, n_states = case.log_density.shape
    fit = case.log_density.copy()
    subtract_peaks(fit)
    out = Messages(*(np.empty((length, n_states)) for _ in range(2)), *np.empty((2, length)))
    if case.is_phases:
        stops = case.parameters["r"].astype(np.int64)
        stop = case.parameters["stop"]
        logs = np.stack([np.log1p(-stop), np.log(stop)])
        phases = Phases(stops, logs, case.complete)
        count_phases(fit, case.borders, case.may_end, case.rows, phases, out)
        none = np.empty((n_states, 0))
        law = DurationLaw(none, none, stops, logs)
    else:
        log_p, log_survival = tables_of(case)
        tables = Durations(np.exp(log_p), log_p, np.exp(log_survival), log_survival)
        with np.errstate(divide="ignore"):
            convolve(fit, case.borders, case.may_end, case.rows, tables, out)
        law = DurationLaw(log_p, log_survival, np.empty(0, np.int64), np.empty((2, 0)))
    return fit, case.log_density.max(axis=1), out, law


def decoded(codes: Floats) -> Floats:
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(codes < 0.0, codes, np.log(codes))


def sums_from(numbers: Floats) -> Any:
    """Sums from each number to the last, and 0, as a column of long doubles."""
    return np.r_[np.cumsum(numbers[::-1].astype(np.longdouble))[::-1], 0.0][:, None]


def log_filled(case: Case) -> tuple[Floats, Floats]:
    """log B* and log B of all rows, from codes and scales; long doubles, as sums reach 1e7."""
    _, peaks, out, _ = filled(case)
    begin, after = (np.empty(out.begin.shape, np.longdouble) for _ in range(2))
    for a, b in pairwise(case.borders.tolist()):
        scale = sums_from(out.step[a + 1 : b])
        peak = sums_from(peaks[a:b])
        after[a:b] = decoded(out.after[a:b]) + scale + peak[1:]
        begin[a:b] = decoded(out.begin[a:b]) + scale + out.lift[a:b, None] + peak[:-1]
    return begin, after


def exact(case: Case, start: int, end: int) -> tuple[Floats, Floats]:
    log_p, log_survival = tables_of(case)
    begins = None
    if len(case.may_end):
        begins = frozenset((np.flatnonzero(case.may_end[start : end - 1]) + 1).tolist())
    uniform = np.full(len(case.rows), 1.0 / len(case.rows))
    density = case.log_density[start:end].astype(np.longdouble)
    return log_messages(
        Known(density, uniform, case.rows, log_p, log_survival, case.longest, False, begins)
    )


def largest_error(case: Case) -> float:
    """Largest error of entries near the largest of their row, inf where only one is possible."""
    begin, after = log_filled(case)
    worst = 0.0
    for a, b in pairwise(case.borders.tolist()):
        for got, truth in zip((begin[a:b], after[a:b]), exact(case, a, b), strict=True):
            possible = np.isfinite(truth)
            begun = possible.any(axis=1)  # no segment begins where there is no candidate
            if (np.isnan(got[begun]) | (got[begun] == np.inf)).any():
                return np.inf
            top = np.where(begun, truth.max(axis=1), 0.0)[:, None]
            near = possible & (truth >= top - NEAR_NATS)
            if (~np.isfinite(got[near])).any() or np.isfinite(got[begun][~possible[begun]]).any():
                return np.inf
            worst = max(worst, float(np.abs(got[near] - truth[near]).max(initial=0.0)))
    return worst


SMALL: list[Case] = [
    stress_case(60, 3, 12, 2.0, number=1),
    stress_case(60, 4, 12, 3000.0, number=2),
    stress_case(60, 4, 12, 3000.0, fixed_lengths(4, 12), number=3),
    stress_case(60, 4, 0, 3000.0, whole_stops(4), number=4),
    stress_case(60, 3, 20, 800.0, {"rate": np.full(3, 1000.0)}, number=5),
    stress_case(60, 3, 20, 40.0, candidates=True, number=6),
    stress_case(60, 3, 0, 40.0, whole_stops(3), candidates=True, complete=True, number=7),
    stress_case(63, 3, 12, 0.0, fixed_lengths(3, 12), complete=True, number=8),
]


@pytest.mark.parametrize("number", range(len(SMALL)))
def test_messages_of_short_series(number: int) -> None:
    assert largest_error(SMALL[number]) < ERROR_NATS


LARGE: dict[str, Any] = {
    "narrow": lambda: stress_case(2000, 6, 60, 2.0),
    "3,000 nats": lambda: stress_case(2000, 6, 60, 3000.0),
    "3,000 nats, candidates": lambda: stress_case(2000, 6, 60, 3000.0, candidates=True),
    "fixed lengths": lambda: stress_case(2000, 5, 24, 2.0, fixed_lengths(5, 24)),
    "fixed lengths, 3,000 nats": lambda: stress_case(2000, 5, 24, 3000.0, fixed_lengths(5, 24)),
    "rate 1,000": lambda: stress_case(2000, 4, 700, 30.0, {"rate": np.full(4, 1000.0)}),
    "phases": lambda: stress_case(800, 6, 0, 3000.0, whole_stops(6)),
    "phases, rare stops": lambda: stress_case(800, 4, 0, 60.0, whole_stops(4, 1e-9)),
    "150 nats": lambda: stress_case(2000, 20, 80, 150.0),
    "fixed lengths, 150 nats": lambda: stress_case(3000, 10, 40, 150.0, fixed_lengths(10, 40)),
}


@pytest.mark.compiled
@pytest.mark.parametrize("name", LARGE)
def test_messages_under_stress(name: str) -> None:
    assert largest_error(LARGE[name]()) < ERROR_NATS


@pytest.mark.slow
@pytest.mark.compiled
@pytest.mark.parametrize("span", [2.0, 150.0, 3000.0])
def test_messages_of_ten_thousand_rows(span: float) -> None:
    for case in (
        stress_case(10_000, 10, 100, span),
        stress_case(10_000, 10, 40, span, fixed_lengths(10, 40)),
        stress_case(10_000, 10, 1000, span, {"rate": np.full(10, 1000.0)}),
    ):
        error = largest_error(case)
        print(span, case.longest, error)
        assert error < ERROR_NATS


@pytest.mark.compiled
@pytest.mark.parametrize("name", ["narrow", "3,000 nats", "phases"])
def test_candidates_everywhere_are_no_candidates(name: str) -> None:
    """The pass that looks at candidates gives the same messages where every row is one."""
    case = LARGE[name]()
    marked = case._replace(may_end=np.ones(len(case.log_density), np.bool_))
    for free, held in zip(log_filled(case), log_filled(marked), strict=True):
        near = np.isfinite(free) & (free >= free.max(axis=1, keepdims=True) - NEAR_NATS)
        assert np.abs(free[near] - held[near]).max() < ERROR_NATS


# -- mutations of messages -------------------------------------------------------------------------


def careless_messages(case: Case, start: int, end: int) -> tuple[Floats, Floats]:
    """By logarithms, but A B* with the maximum over B*, not over A_ij B*_j."""
    log_p, log_survival = tables_of(case)
    density = case.log_density[start:end]
    length, n_states = density.shape
    begin, after = np.full((length, n_states), -np.inf), np.full((length, n_states), -np.inf)
    after[-1] = 0.0
    for s in range(length - 1, -1, -1):
        n = min(case.longest, length - s)
        log_length = log_p[:, :n].T.copy()
        if s + n == length:
            log_length[-1] = np.logaddexp(log_length[-1], log_survival[:, n - 1])
        inside = np.cumsum(density[s : s + n], axis=0)
        begin[s] = np.logaddexp.reduce(log_length + inside + after[s : s + n], axis=0)
        if s:
            top = begin[s].max()
            with np.errstate(divide="ignore"):
                after[s - 1] = np.log(case.rows @ np.exp(begin[s] - top)) + top
    return begin, after


def log_likelihood_of(case: Case, messages: Any) -> float:
    uniform = -np.log(len(case.rows))
    return sum(
        float(np.logaddexp.reduce(uniform + messages(case, a, b)[0][0]))
        for a, b in pairwise(case.borders.tolist())
    )


def kernel_log_likelihood(case: Case) -> float:
    _, peaks, out, _ = filled(case)
    uniform = np.full(len(case.rows), 1.0 / len(case.rows))
    return float(peaks.sum() + log_evidence(case.borders, uniform, out))


def extreme_case() -> Case:
    """Lengths that end before the stretches that states fit: the best successor would be itself."""
    length, n_states = 240, 3
    density = np.full((length, n_states), -2000.0)
    density[np.arange(length), np.arange(length) // 40 % n_states] = 0.0
    density += np.random.default_rng(SEED).normal(size=density.shape)
    rows = np.array([[0.0, 0.7, 0.3], [0.2, 0.0, 0.8], [0.5, 0.5, 0.0]])
    return Case(
        density,
        np.array([0, length]),
        np.empty(0, np.bool_),
        rows,
        {"rate": np.array([6.0, 9.0, 5.0])},
        30,
    )


def test_likelihood_where_the_best_successor_is_forbidden() -> None:
    case = extreme_case()
    truth = log_likelihood_of(case, exact)
    allowed = ERROR_NATS

    def is_right(value: float) -> bool:
        return bool(abs(value - truth) < allowed)

    assert is_right(kernel_log_likelihood(case))
    # The maximum taken over B* alone.
    assert not is_right(log_likelihood_of(case, careless_messages))
    # Self-loops of probability 1e-50, which 2,000 nats make up for.
    leaky = case._replace(rows=case.rows + 1e-50 * np.eye(3))
    assert not is_right(kernel_log_likelihood(leaky))


# -- sampling --------------------------------------------------------------------------------------


def sampled(case: Case, n: int) -> list[tuple[Any, Any, Any]]:
    fit, _, out, law = filled(case)
    length, n_states = fit.shape
    bits = np.random.default_rng(SEED).integers(1, 2**63, 4).astype(np.uint64)
    held = Segments(*np.empty((3, length), np.int64))
    initial = np.full(n_states, 1.0 / n_states)
    drawn = []
    for _ in range(n):
        count = draw_segments(bits, fit, case.borders, initial, case.rows, law, out, held)
        assert count > 0
        drawn.append(tuple(x[:count].copy() for x in held))
    return drawn


def check_possible(case: Case, start: Any, length: Any, state: Any) -> None:
    """Segments cover the rows, have possible lengths, borders and transitions."""
    end = start + length
    np.testing.assert_array_equal(start[1:], end[:-1])
    assert start[0] == 0
    assert end[-1] == len(case.log_density)
    assert np.isin(case.borders[1:], end).all()
    last = np.isin(end, case.borders[1:])
    log_p, log_survival = tables_of(case)
    if case.longest:
        assert (length <= case.longest).all()
    own = log_p[state, length - 1]
    own = np.where(last, np.logaddexp(own, log_survival[state, length - 1]), own)
    assert (own > -np.inf).all()
    first = np.isin(start, case.borders[:-1])[1:]
    assert (case.rows[state[:-1], state[1:]][~first] > 0.0).all()
    if len(case.may_end):
        assert case.may_end[end - 1].all()


@pytest.mark.parametrize("number", range(len(SMALL)))
def test_sampled_segments_are_possible(number: int) -> None:
    case = SMALL[number]
    for segments in sampled(case, 10 if PLAIN_PYTHON else 300):
        check_possible(case, *segments)


@pytest.mark.compiled
@pytest.mark.parametrize("name", LARGE)
def test_sampled_segments_are_possible_under_stress(name: str) -> None:
    case = LARGE[name]()
    for segments in sampled(case, 5):
        check_possible(case, *segments)


def test_impossible_series_are_told() -> None:
    """Fixed lengths that cannot add up to the rows: no segmentation, and no number."""
    case = stress_case(61, 2, 12, 1.0, {"probabilities": np.eye(12)[[11, 11]]}, complete=True)
    case = case._replace(borders=np.array([0, 61]))
    fit, _, out, law = filled(case)
    initial = np.full(2, 0.5)
    with np.errstate(divide="ignore"):
        assert log_evidence(case.borders, initial, out) == -np.inf
    held = Segments(*np.empty((3, 61), np.int64))
    bits = np.arange(1, 5).astype(np.uint64)
    assert draw_segments(bits, fit, case.borders, initial, case.rows, law, out, held) == -1


@pytest.mark.slow
@pytest.mark.compiled
@pytest.mark.parametrize("kind", ["wide", "fixed", "phases"])
def test_a_million_rows(kind: str) -> None:
    if kind == "wide":
        case = stress_case(1_000_000, 8, 60, 3000.0)
    elif kind == "fixed":
        case = stress_case(1_000_000, 8, 24, 30.0, fixed_lengths(8, 24))
    else:
        case = stress_case(1_000_000, 8, 0, 3000.0, whole_stops(8))
    out = filled(case)[2]
    for numbers in out:
        assert not np.isnan(numbers).any()
        assert (numbers < np.inf).all()
    assert np.isfinite(kernel_log_likelihood(case))
    (segments,) = sampled(case, 1)
    short = case if case.longest else case._replace(longest=20_000)
    check_possible(short, *segments)

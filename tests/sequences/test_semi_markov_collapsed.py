"""The whole sampler of the semi-Markov model against enumeration, parameters integrated out."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from functools import cache
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from lib.bounds import FALSE_ALARM, SEED, z_limit
from lib.semi_markov_cases import DURATIONS, EMISSIONS, EmissionCase
from lib.semi_markov_oracles import (
    Collapsed,
    Floats,
    Items,
    Path,
    base_grid,
    by_partition,
    canonical,
    collapsed_labels,
    item_law,
    label_scores,
    least_p_value,
    split_merge_law,
)
from scipy.stats import binom

from luce import SemiMarkov
from luce.kernels.semi_markov.marginal import log_marginals
from luce.kernels.semi_markov.split_merge import Ties, split_and_merge
from luce.sequences.semi_markov import new_bits

ALPHA, GAMMA = 2.5, 4.0

# Rows of labels rarer than this are compared as one.
LEAST = 0.004

# Moves that split and merge, each from an independent start.
SAMPLE = 60_000


def made(kind: str, length: int) -> Floats:
    """Rows with a change and a return, so that the posterior is neither flat nor certain."""
    case = EMISSIONS[kind]
    rng = np.random.default_rng(11)
    values = case.values(rng, length)
    moved = np.isin(np.arange(length), (2, 3, 6))
    if kind == "categories":
        values[moved] = 2.0
        values[:2] = [[0.0], [1.0]]
    elif kind == "counts":
        values[moved] += 4.0
    elif kind == "custom":
        values[moved] *= 5.0
    else:
        values[moved] += 2.0
    return values


def truth_of(
    duration: str,
    kind: str,
    values: Floats,
    borders: list[int],
    n_states: int,
    start: str = "own",
    end: str = "censored",
    longest: int = 0,
    forbidden: Any = (),
    may_begin: Any = None,
) -> dict[Path, float]:
    how, case = DURATIONS[duration], EMISSIONS[kind]
    closed = np.eye(n_states, dtype=bool)
    for i, j in forbidden:
        closed[i, j] = True
    lengths = tuple(b - a for a, b in pairwise(borders))
    return collapsed_labels(
        Collapsed(
            lengths,
            n_states,
            case.marginal(values, borders),
            how.marginal(max(lengths)),
            closed,
            ALPHA,
            *base_grid(n_states, GAMMA),
            start,
            end == "complete",
            longest,
            may_begin,
        )
    )


def chain_of(
    model: SemiMarkov,
    case: EmissionCase,
    values: Floats,
    borders: Any,
    n: int,
    candidates: Any = None,
    split_merge: int = 10,
) -> list[Path]:
    """Labels of successive sweeps."""
    rng = np.random.default_rng(SEED + 5)
    series = case.read(model, values, borders)
    state = model.initial_state(rng, series, candidates=candidates)
    sweeper = model.sweeper(series, candidates, split_merge)
    bits, out = new_bits(rng), []
    for _ in range(n):
        state, _ = sweeper.sweep(bits, state)
        out.append(tuple(state.labels.tolist()))
    return out


CASES: list[tuple[str, str, dict[str, Any]]] = [
    ("poisson", "gaussian", {}),
    ("whole", "counts", {"split_merge": 0}),
    ("histogram", "categories", {"start": "base", "end": "complete"}),
    ("geometric", "autoregressive", {"start": "uniform"}),
    ("real", "diagonal-gaussian", {"longest": 4}),
    ("poisson", "counts", {"longest": 3, "forbidden": [(0, 1)], "start": "base"}),
    ("whole", "diagonal-gaussian", {"end": "complete", "candidates": [2, 4, 5, 6]}),
    ("real", "categories", {"start": "base", "split_merge": 0}),
    ("histogram", "gaussian", {"borders": [0, 4, 7]}),
    ("geometric", "counts", {"borders": [0, 2, 7], "start": "base"}),
    ("poisson", "autoregressive", {"borders": [0, 3, 7], "start": "own", "split_merge": 0}),
    ("whole", "gaussian", {"n_states": 2, "start": "uniform", "longest": 5}),
    ("poisson", "categories", {"n_states": 2, "borders": [0, 3, 4, 7], "start": "own"}),
]


def scores_of(duration: str, kind: str, given: dict[str, Any], n: int) -> Floats:
    options = dict(given)
    n_states = options.get("n_states", 3)
    borders = options.get("borders", [0, 7])
    case, how = EMISSIONS[kind], DURATIONS[duration]
    values = made(kind, borders[-1])
    longest = options.get("longest", 0)
    limit = len(how.parameters["probabilities"][0]) if how.has_limit else longest
    start, end = options.get("start", "own"), options.get("end", "censored")
    forbidden = options.get("forbidden", [])
    candidates = options.get("candidates")
    law = truth_of(
        duration,
        kind,
        values,
        borders,
        n_states,
        start,
        end,
        limit,
        forbidden,
        None if candidates is None else frozenset(candidates),
    )
    model = SemiMarkov(
        n_states,
        case.law,
        how.law,
        ALPHA,
        GAMMA,
        (longest or None)
        if how.has_limit or how.law.counts_phases
        else longest or max(np.diff(borders)),
        start,
        end,
        forbidden or None,
    )
    labels = chain_of(model, case, values, borders, n, candidates, options.get("split_merge", 10))
    scores = label_scores([canonical(z) for z in labels], by_partition(law), LEAST)
    if not forbidden:
        return scores
    # States differ, so that labels themselves are compared too.
    return np.r_[scores, label_scores(labels, law, LEAST)]


@pytest.mark.slow
@pytest.mark.compiled
@pytest.mark.parametrize(("duration", "kind", "options"), CASES)
def test_labels_agree_with_the_collapsed_posterior(
    duration: str, kind: str, options: dict[str, Any]
) -> None:
    scores = scores_of(duration, kind, options, 100_000)
    print(duration, kind, options, len(scores), scores.max())
    assert scores.max() < z_limit(len(scores))


@pytest.mark.compiled
def test_labels_agree_with_the_collapsed_posterior_and_with_no_other() -> None:
    """The same draws do not fit a complete end, nor another law of first states."""
    case, values, borders = EMISSIONS["gaussian"], made("gaussian", 7), [0, 4, 7]
    model = SemiMarkov(3, case.law, DURATIONS["poisson"].law, ALPHA, GAMMA, 4)
    labels = [canonical(z) for z in chain_of(model, case, values, borders, 6_000)]
    right = truth_of("poisson", "gaussian", values, borders, 3)
    scores = label_scores(labels, by_partition(right), LEAST)
    assert scores.max() < z_limit(len(scores))
    for change in ({"end": "complete"}, {"start": "uniform"}):
        wrong = truth_of("poisson", "gaussian", values, borders, 3, **change)
        scores = label_scores(labels, by_partition(wrong), LEAST)
        assert scores.max() > z_limit(len(scores)), change


@pytest.mark.compiled
@pytest.mark.parametrize("kind", [kind for kind in EMISSIONS if kind != "custom"])
def test_log_marginals_of_emissions(kind: str) -> None:
    """Against predictive densities of one row after the other."""
    case, values = EMISSIONS[kind], made(kind, 7)
    model = SemiMarkov(3, case.law)
    series = case.read(model, values, [0, 7])
    law = case.law.resolved(series)
    groups = np.array([0, 1, 0, 0, 2, 1, 0])
    out = np.empty(3)
    log_marginals(law.kernel_prior, law.statistics(series, groups, 3), out)
    marginal = case.marginal(values, [0, 7])
    truth = [marginal(tuple(np.flatnonzero(groups == g))) for g in range(3)]
    np.testing.assert_allclose(out, truth, rtol=1e-11)


@pytest.mark.compiled
@pytest.mark.parametrize("duration", [name for name in DURATIONS if name != "real"])
def test_log_marginals_of_durations(duration: str) -> None:
    """Against quadrature."""
    how = DURATIONS[duration]
    lengths, groups = np.array([1, 4, 2, 2, 5, 3]), np.array([0, 0, 1, 0, 1, 0])
    out = np.empty(2)
    log_marginals(how.law.kernel_prior(5), how.law.statistics(lengths, groups, 2, 5), out)
    truth = [how.marginal(5)(tuple(lengths[groups == g]), ()) for g in range(2)]
    np.testing.assert_allclose(out, truth, rtol=1e-9)


# -- the move that splits and merges, alone --------------------------------------------------------


class Alone:
    """Segments with fixed borders: their exact law, and moves of the kernel."""

    def __init__(
        self,
        duration: str,
        kind: str,
        lengths: list[int],
        firsts: list[int],
        n_states: int,
        start: str,
        forbidden: Any = (),
    ) -> None:
        how, case = DURATIONS[duration], EMISSIONS[kind]
        total = sum(lengths)
        starts = np.r_[0, np.cumsum(lengths)[:-1]]
        borders = [*(int(starts[c]) for c in firsts), total]
        values = made(kind, total)
        rows_of = [range(s, s + d) for s, d in zip(starts, lengths, strict=True)]
        emission, duration_law = case.marginal(values, borders), how.marginal(max(lengths))
        closed = np.eye(n_states, dtype=bool)
        for i, j in forbidden:
            closed[i, j] = True
        base = np.arange(2.0, 2.0 + n_states)
        base /= base.sum()
        self.items = Items(
            tuple(c in firsts for c in range(len(lengths))),
            n_states,
            lambda group: (
                emission(tuple(t for c in group for t in rows_of[c]))
                + duration_law(tuple(lengths[c] for c in group), ())
            ),
            closed,
            ALPHA,
            np.log(base),
            start,
        )
        self.law = item_law(self.items)
        model = SemiMarkov(n_states, case.law, how.law)
        series = case.read(model, values, borders)
        law = case.law.resolved(series)
        n, longest = len(lengths), max(lengths)
        first = np.full(n_states, 1.0 / n_states)
        ties = Ties(
            ALPHA * base,
            closed,
            base if start == "base" else first,
            start != "own",
            np.array(self.items.is_first),
        )
        limit = len(how.parameters["probabilities"][0]) if how.has_limit else longest
        self._arguments = (
            ties,
            law.kernel_prior,
            law.statistics(series, np.repeat(np.arange(n), lengths), n),
            how.law.kernel_prior(limit),
            how.law.statistics(np.array(lengths), np.arange(n), n, limit),
        )

    def starts(self, rng: np.random.Generator, n: int) -> list[Path]:
        """Independent states from the exact law."""
        paths = list(self.law)
        p = np.array([self.law[z] for z in paths])
        return [paths[k] for k in rng.choice(len(paths), n, p=p / p.sum())]

    def flows(self, n: int, moves: int) -> Counter[tuple[Path, Path]]:
        """States before and after some moves, begun by independent draws of the exact law."""
        rng = np.random.default_rng(SEED + 3)
        bits, out = new_bits(rng), Counter[tuple[Path, Path]]()
        for z in self.starts(rng, n):
            states = np.array(z)
            split_and_merge(bits, moves, *self._arguments, states)
            out[z, tuple(states.tolist())] += 1
        return out


@cache
def alone(number: int) -> Alone:
    """Cases with 4 to 6 segments and 3 to 5 states."""
    if number == 0:
        return Alone("poisson", "counts", [2, 1, 3, 1], [0], 4, "own")
    if number == 1:
        return Alone("whole", "gaussian", [2, 1, 2, 1, 1], [0, 3], 3, "base", [(1, 0)])
    if number == 2:
        return Alone(
            "histogram", "categories", [1, 2, 2, 1], [0, 2], 4, "uniform", [(0, 2), (3, 1)]
        )
    if number == 3:
        return Alone("geometric", "autoregressive", [2, 2, 1, 2], [0, 2], 5, "own")
    if number == 4:
        return Alone("poisson", "diagonal-gaussian", [1, 2, 1, 1, 1, 1], [0], 5, "base")
    if number == 5:
        return Alone("whole", "counts", [1, 2, 1, 1, 1, 1], [0, 2, 3], 4, "own", [(2, 3)])
    return Alone("poisson", "counts", [2, 1, 2, 2], [0, 2], 4, "base")


def after_moves(flows: Counter[tuple[Path, Path]]) -> Counter[Path]:
    out: Counter[Path] = Counter()
    for (_, there), n in flows.items():
        out[there] += n
    return out


def kept(counts: Counter[Path], law: dict[Path, float]) -> float:
    """Smallest p-value, times comparisons, of the states and of the number of states in use."""
    numbers: Counter[Any] = Counter()
    used: dict[Any, float] = {}
    for z, n in counts.items():
        numbers[len(set(z))] += n
    for z, p in law.items():
        used[len(set(z))] = used.get(len(set(z)), 0.0) + p
    return min(least_p_value(counts, law), least_p_value(numbers, used)) / 2.0


def agreement(case: Alone, flows: Counter[tuple[Path, Path]]) -> float:
    """Smallest p-value, times comparisons: law after moves kept, and flows in balance."""
    worst = kept(after_moves(flows), case.law)
    pairs = {frozenset(pair) for pair in flows if pair[0] != pair[1]}
    for a, b in map(sorted, pairs):
        there, back = flows[a, b], flows[b, a]
        tail = 2.0 * binom.cdf(min(there, back), there + back, 0.5)
        worst = min(worst, tail * len(pairs))
    return float(worst / 2.0)


@pytest.mark.compiled
@pytest.mark.parametrize("number", [1, 2, 6])
def test_split_and_merge_keeps_its_law(number: int) -> None:
    case = alone(number)
    assert agreement(case, case.flows(SAMPLE, 1)) > FALSE_ALARM


@pytest.mark.slow
@pytest.mark.compiled
@pytest.mark.parametrize("moves", [1, 4])
@pytest.mark.parametrize("number", range(7))
def test_split_and_merge_keeps_its_law_in_many_moves(number: int, moves: int) -> None:
    case = alone(number)
    flows = case.flows(300_000, moves)
    p = kept(after_moves(flows), case.law)
    if moves == 1:
        p = min(p, agreement(case, flows))
    print(number, moves, len(case.law), p)
    assert p > FALSE_ALARM


def exact_flows(case: Alone, wrong: str = "") -> dict[tuple[Path, Path], float]:
    """Probabilities of (before, after) of one move, by enumeration of all its choices."""
    return {
        (here, there): case.law[here] * p
        for here in case.law
        for there, p in split_merge_law(case.items, case.law, here, wrong).items()
    }


def off_balance(flows: dict[tuple[Path, Path], float]) -> float:
    """Largest difference of a flow and the one back."""
    return max(abs(p - flows.get((b, a), 0.0)) for (a, b), p in flows.items())


@pytest.mark.compiled
@pytest.mark.parametrize(
    "number", [1, *(pytest.param(k, marks=pytest.mark.slow) for k in (0, 2, 3))]
)
def test_split_and_merge_has_the_flows_of_its_description(number: int) -> None:
    """Flows of the kernel are those of the move as described, and these are in balance."""
    case = alone(number)
    exact = exact_flows(case)
    assert abs(sum(exact.values()) - 1.0) < 1e-12
    assert off_balance(exact) < 1e-15
    assert least_p_value(case.flows(SAMPLE, 1), exact) > FALSE_ALARM


@pytest.mark.compiled
@pytest.mark.parametrize(
    ("number", "wrong"),
    [
        (6, "U"),
        pytest.param(6, "U+1", marks=pytest.mark.slow),
        (1, "first"),
        (1, "q"),
        pytest.param(0, "U", marks=pytest.mark.slow),
    ],
)
def test_wrong_acceptance_is_rejected(number: int, wrong: str) -> None:
    """Moves whose acceptance leaves out a factor, drawn from their exact flows."""
    case = alone(number)
    flows = exact_flows(case, wrong)
    assert off_balance(flows) > 1e-6
    keys, p = list(flows), np.array(list(flows.values()))
    seen = np.random.default_rng(SEED).multinomial(SAMPLE, p / p.sum())
    held = Counter({key: int(n) for key, n in zip(keys, seen, strict=True) if n})
    assert agreement(case, held) <= FALSE_ALARM


# -- births and deaths, alone ----------------------------------------------------------------------


class Births:
    """Rows whose states are unknown, the ends of last segments being known."""

    def __init__(
        self,
        duration: str,
        kind: str,
        borders: list[int],
        n_states: int,
        start: str,
        beyond: tuple[int, ...],
        longest: int = 0,
        forbidden: Any = (),
        candidates: Any = None,
    ) -> None:
        how, case = DURATIONS[duration], EMISSIONS[kind]
        values = made(kind, borders[-1])
        closed = np.eye(n_states, dtype=bool)
        for i, j in forbidden:
            closed[i, j] = True
        base = np.arange(2.0, 2.0 + n_states)
        log_base = np.log(base / base.sum())
        lengths = tuple(b - a for a, b in pairwise(borders))
        limit = len(how.parameters["probabilities"][0]) if how.has_limit else longest
        begins = None
        if candidates is not None:
            begins = frozenset(
                a + t for a, ts in zip(borders, candidates, strict=False) for t in ts
            )
        self.law = collapsed_labels(
            Collapsed(
                lengths,
                n_states,
                case.marginal(values, borders),
                how.marginal(max(lengths) + max(beyond)),
                closed,
                ALPHA,
                log_base[:, None],
                np.zeros(1),
                start,
                False,
                limit,
                begins,
                beyond,
            )
        )
        model = SemiMarkov(
            n_states, case.law, how.law, ALPHA, GAMMA, longest or None, start, "censored", forbidden
        )
        series = case.read(model, values, borders)
        self.sweepers = {moves: model.sweeper(series, candidates, moves) for moves in (1, 8)}
        self._state = replace(
            model.initial_state(np.random.default_rng(0), series), log_base=log_base
        )
        self._beyond = np.array(beyond)

    def after(self, n: int, moves: int, wrong: float = 1.0) -> Counter[Path]:
        """States after some moves, begun by independent draws of the exact law.

        With `wrong` below 1 that share of the births is taken back, as windows left out do.
        """
        rng = np.random.default_rng(SEED + 3)
        bits, out = new_bits(rng), Counter[Path]()
        paths, sweeper = list(self.law), self.sweepers[moves]
        p = np.array([self.law[z] for z in paths])
        for k in rng.choice(len(paths), n, p=p / p.sum()):
            state = replace(
                self._state, labels=np.array(paths[k]), last_lengths=np.zeros(0, np.int64)
            )
            state = replace(state, last_lengths=self._seen(sweeper, paths[k]) + self._beyond)
            given = sweeper.segments_of(state)
            starts, _, states, _, _ = sweeper.bear_and_bury(bits, sweeper.series, state, *given)
            labels = np.repeat(states, np.diff(np.r_[starts, sweeper.series.length]))
            there = tuple(labels.tolist())
            if wrong < 1.0 and len(set(there)) > len(set(paths[k])) and rng.random() > wrong:
                there = paths[k]
            out[there] += 1
        return out

    def _seen(self, sweeper: Any, z: Path) -> Any:
        """Rows of the last segment of each sequence."""
        out = []
        for a, b in pairwise(sweeper.series.borders.tolist()):
            t = b - 1
            while t > a and z[t - 1] == z[t]:
                t -= 1
            out.append(b - t)
        return np.array(out)


@cache
def births(number: int) -> Births:
    if number == 0:
        return Births("poisson", "counts", [0, 5], 3, "own", (2,))
    if number == 1:
        return Births("whole", "gaussian", [0, 3, 6], 3, "base", (0, 3), 0, [(1, 0)])
    if number == 2:
        return Births("histogram", "categories", [0, 6], 4, "uniform", (1,))
    if number == 3:
        return Births("geometric", "autoregressive", [0, 6], 3, "own", (0,), 0, (), [[2, 3, 5]])
    return Births("poisson", "diagonal-gaussian", [0, 4, 6], 4, "base", (1, 0), 3)


@pytest.mark.compiled
@pytest.mark.parametrize(("number", "moves"), [(0, 1), (1, 8)])
def test_births_and_deaths_keep_their_law(number: int, moves: int) -> None:
    case = births(number)
    assert kept(case.after(4_000, moves), case.law) > FALSE_ALARM


@pytest.mark.slow
@pytest.mark.compiled
@pytest.mark.parametrize("moves", [1, 8])
@pytest.mark.parametrize("number", range(5))
def test_births_and_deaths_keep_their_law_in_many_moves(number: int, moves: int) -> None:
    case = births(number)
    p = kept(case.after(60_000, moves), case.law)
    print(number, moves, len(case.law), p)
    assert p > FALSE_ALARM


@pytest.mark.compiled
def test_births_that_are_too_rare_are_rejected() -> None:
    case = births(0)
    assert kept(case.after(4_000, 8, wrong=0.2), case.law) <= FALSE_ALARM

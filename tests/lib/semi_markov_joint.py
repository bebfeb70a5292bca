"""Joint distribution of parameters and data of a semi-Markov model, drawn in two ways.

Parameters from the prior and data given them, or sweeps of the sampler in turn with new data given
the state: a right sampler gives both the same law (Geweke 2004).  Compared are means of functions
without labels.  Some sweeps here are wrong on purpose.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
from lib.hdp_oracles import Point, plain_rows, plain_sweep
from lib.semi_markov_cases import DurationCase, EmissionCase
from lib.semi_markov_oracles import Floats
from scipy import special, stats

from luce import Gamma, SemiMarkov
from luce.kernels.semi_markov.segments import Segments
from luce.sequences import SemiMarkovState
from luce.sequences.semi_markov import new_bits
from luce.sequences.series import Series

# Priors of α and γ: all moments that are compared exist.
CONCENTRATION, BASE_CONCENTRATION = (4.0, 1.5), (5.0, 1.2)

Sweep = Callable[[np.random.Generator, SemiMarkov, Series, SemiMarkovState], SemiMarkovState]


def joint_model(
    duration: DurationCase, emission: EmissionCase, n_states: int = 3, **options: Any
) -> SemiMarkov:
    """A model with gamma priors of both concentrations."""
    given = {"longest": None, "start": "own", "end": "censored", "forbidden": None, **options}
    return SemiMarkov(
        n_states,
        emission.law,
        duration.law,
        Gamma(*CONCENTRATION),
        Gamma(*BASE_CONCENTRATION),
        **given,
    )


def _soft(x: Floats) -> Floats:
    return np.asarray(x / (1.0 + np.abs(x)))


def functions_of(
    model: SemiMarkov, state: SemiMarkovState, values: Floats, borders: Any
) -> list[float]:
    """Functions of state and data that do not depend on the labels of states."""
    z, base, rows = state.labels, state.base, state.rows
    new = np.r_[True, z[1:] != z[:-1]]
    new[borders[:-1]] = True
    starts = np.flatnonzero(new)
    last = np.isin(np.r_[starts[1:], len(z)], borders[1:])
    first = np.isin(starts, borders[:-1])
    states = z[starts]
    follows = np.flatnonzero(~first)
    used = np.bincount(z, minlength=len(base))
    log_last = np.log(state.last_lengths)
    out = [
        float(len(starts)),
        float(len(starts) ** 2),
        float((used > 0).sum()),
        float((used**2).sum()),
        np.log(state.concentration),
        np.log(state.base_concentration),
        log_last.mean(),
        (log_last**2).mean(),
        np.log(np.diff(np.r_[starts, len(z)])[last]).mean(),
        (base**2).sum(),
        (rows**2).sum(),
        (rows * base).sum(),
        (state.initial**2).sum(),
        state.initial[states[first]].sum(),
        base[z].mean(),
        rows[states[follows - 1], states[follows]].sum(),
        base[states[first]].sum(),
    ]
    for value in state.duration.values():
        flat = np.log(value + 1e-3) if value.ndim == 1 else value @ np.arange(value.shape[1])
        out += [flat.mean(), (flat**2).mean(), flat[z].mean(), flat[states[last]].mean()]
    gaps = np.isnan(values)
    data = np.where(gaps, 0.0, _soft(np.nan_to_num(values)))
    out += [data.mean(), (data**2).mean(), (data[1:] * data[:-1]).mean()]
    for value in state.emission.values():
        flat = _soft(value.reshape(len(value), -1))
        out += [*flat.mean(axis=0), (flat**2).mean(), flat[z].mean()]
        own = flat[z][:, : data.shape[1]]
        out.append((own * data[:, : own.shape[1]]).mean())
    return [float(x) for x in out]


def prior_draws(
    model: SemiMarkov,
    emission: EmissionCase,
    lengths: list[int],
    gaps: Any,
    n: int,
    seed: int,
) -> Floats:
    """Functions of independent draws of parameters and data."""
    rng = np.random.default_rng(seed)
    borders = np.r_[0, np.cumsum(lengths)]
    out = []
    for _ in range(n):
        drawn = model.simulate(rng, lengths, channels=emission.channels)
        values = np.concatenate(drawn.series)
        values[gaps] = np.nan
        out.append(functions_of(model, drawn.state, values, borders))
    return np.array(out)


def successive_draws(
    model: SemiMarkov,
    emission: EmissionCase,
    lengths: list[int],
    gaps: Any,
    n: int,
    seed: int,
    sweep: Sweep,
) -> Floats:
    """Functions of sweeps in turn with new data given the state, begun from the joint law."""
    rng = np.random.default_rng(seed)
    borders = np.r_[0, np.cumsum(lengths)]
    drawn = model.simulate(rng, lengths, channels=emission.channels)
    values, state = np.concatenate(drawn.series), drawn.state
    values[gaps] = np.nan
    template, out = emission.read(model, values, borders), []
    for _ in range(n):
        series = replace(template, values=values)
        state = sweep(rng, model, series, state)
        values = model.emission.simulate(new_bits(rng), state.labels, borders, state.emission)
        values[gaps] = np.nan
        out.append(functions_of(model, state, values, borders))
    return np.array(out)


def joint_scores(independent: Floats, dependent: Floats, batches: int = 60) -> Floats:
    """Differences of means as normal scores, the error of dependent draws by batch means."""
    size = len(dependent) // batches
    means = dependent[: size * batches].reshape(batches, size, -1).mean(axis=1)
    error = means.var(axis=0, ddof=1) / batches
    error += independent.var(axis=0, ddof=1) / len(independent)
    difference = means.mean(axis=0) - independent.mean(axis=0)
    moves = error > 1e-24
    t = np.where(moves, np.abs(difference) / np.sqrt(np.where(moves, error, 1.0)), 0.0)
    t = np.where(~moves & (np.abs(difference) > 1e-9), np.inf, t)
    return np.asarray(-special.ndtri(stats.t.sf(t, batches - 1)))


# -- sweeps ----------------------------------------------------------------------------------------


def right(
    rng: np.random.Generator, model: SemiMarkov, series: Series, state: SemiMarkovState
) -> SemiMarkovState:
    """The sweep of the library."""
    return model.step(rng, series, state, split_merge=10)[0]


def _changed(change: Callable[..., dict[str, Any]]) -> Sweep:
    """A sweep whose parameters are changed after they were drawn, and before labels are."""

    def sweep(
        rng: np.random.Generator, model: SemiMarkov, series: Series, state: SemiMarkovState
    ) -> SemiMarkovState:
        sweeper, bits = model.sweeper(series, None, 0), new_bits(rng)
        new = sweeper.draw_parameters(bits, state)[0]
        new = replace(new, **change(rng, bits, sweeper, state))
        labels, last, _, _ = sweeper.draw_labels(bits, new)
        return replace(new, labels=labels, last_lengths=last)

    return sweep


def _without_last(
    rng: np.random.Generator, bits: Any, sweeper: Any, state: SemiMarkovState
) -> dict[str, Any]:
    starts, lengths, states = sweeper.segments_of(state)
    keep = ~np.isin(np.r_[starts[1:], sweeper.series.length], sweeper.series.borders[1:])
    drawn = sweeper.duration.resample(
        bits, lengths[keep], states[keep], dict(state.duration), sweeper.longest
    )
    return {"duration": drawn}


def _ends_from_new(
    rng: np.random.Generator, bits: Any, sweeper: Any, state: SemiMarkovState
) -> dict[str, Any]:
    """Draw ω from what has ended, d* from that ω, and ω again."""
    starts, lengths, states = sweeper.segments_of(state)
    between = _without_last(rng, bits, sweeper, state)["duration"]
    borders = sweeper.series.borders
    seen = np.diff(np.r_[starts, sweeper.series.length])
    lengths = sweeper.duration.extend_last(
        bits, between, Segments(starts, seen, states), len(starts), borders
    )
    return {"duration": sweeper.duration.resample(bits, lengths, states, between, sweeper.longest)}


def _counts(sweeper: Any, state: SemiMarkovState) -> tuple[Floats, Floats]:
    starts, _, states = sweeper.segments_of(state)
    n = sweeper.n_states
    first = np.isin(starts, sweeper.series.borders[:-1])
    counts = np.zeros((n, n))
    follows = np.flatnonzero(~first)
    np.add.at(counts, (states[follows - 1], states[follows]), 1.0)
    return counts, np.bincount(states[first], minlength=n).astype(float)


def _rows_before_base(
    rng: np.random.Generator, bits: Any, sweeper: Any, state: SemiMarkovState
) -> dict[str, Any]:
    counts, _ = _counts(sweeper, state)
    forbidden = sweeper.transitions.forbidden
    return {"rows": plain_rows(rng, counts, forbidden, state.base, state.concentration)}


def _plain_transitions(trials: bool) -> Callable[..., dict[str, Any]]:
    def change(
        rng: np.random.Generator, bits: Any, sweeper: Any, state: SemiMarkovState
    ) -> dict[str, Any]:
        counts, firsts = _counts(sweeper, state)
        begun = firsts if sweeper.start == "base" else np.zeros_like(firsts)
        if not counts.any() and not begun.any():
            return {}  # nothing is hidden, and the draw of the library stays
        point = plain_sweep(
            rng,
            counts,
            begun,
            sweeper.transitions.forbidden,
            Point(state.base, state.rows, state.concentration, state.base_concentration),
            (CONCENTRATION, BASE_CONCENTRATION),
            trials,
        )
        return {
            "log_base": np.log(point.base),
            "rows": point.rows,
            "concentration": point.alpha,
            "base_concentration": point.gamma,
        }

    return change


# Sweeps made of the same pieces: the first is right, the others must be rejected.
pieces = _changed(lambda *given: {})
last_segment_dropped = _changed(_without_last)
ends_from_new_durations = _changed(_ends_from_new)
rows_before_base = _changed(_rows_before_base)
loops_from_one = _changed(_plain_transitions(True))

"""Predict from a run of a semi-Markov model: densities of new series, and rows after the last."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from luce._types import FloatArray, IntArray, Label, SeedLike
from luce.counts.labels import label_array, plural, some
from luce.errors import DataError, EvidenceWarning, warn_user
from luce.estimates.estimate import Estimate
from luce.estimates.weights import basis, is_trusted, log_mean
from luce.sampling.settings import Settings, check_whole
from luce.sequences.durations import Duration
from luce.sequences.new_series import KeptParameters, matched_names
from luce.sequences.segmentations import KeptStates
from luce.sequences.semi_markov import new_bits
from luce.sequences.semi_markov_state import SemiMarkovState
from luce.sequences.series import Series

if TYPE_CHECKING:
    from xarray import Dataset, DataTree


def log_predictive(
    run: DataTree,
    new_series: Any,
    *,
    draws: int | None = None,
    candidates: Any = None,
    columns: Any = None,
    sequence: Any = None,
    time: Any = None,
) -> Estimate:
    """Compute the log posterior predictive density of a new series, taken as a whole.

        log (1/S) Σ_s p(y, no segment longer than `longest` | parameters of draw s),

    its segmentations summed out for each kept draw.  The new series begins with the first row of a
    segment, and ends as the model says.

    A mean of likelihoods rests on the draws that happen to lie where the new series puts them.  It
    is trusted with 200 effective draws at least, or half of fewer than 400, and a Pareto k of at
    most 0.5.

    Parameters
    ----------
    run
        A run of `SemiMarkov.fit`.
    new_series
        A series as in `SemiMarkov.fit`, with the channels or categories of the run's.
    draws
        Number of draws of each chain, evenly spaced; unless given, all whose parameters were kept.
    candidates, columns, sequence, time
        As in `SemiMarkov.fit`, of the new series.

    Returns
    -------
    Estimate
        The number with its Monte Carlo standard error.  In `details`, `pareto_k` is the Pareto k of
        the likelihoods; `effective_draws` the number of independent draws of equal weight that the
        estimate rests on; `per_row` the number divided by the rows that are not missing;
        `by_sequence` an Estimate of each sequence alone, whose values add up to less or more than
        the whole, since sequences share their parameters; and `longest` the longest segment that
        was looked for, 0 for no limit.

    Warns
    -----
    EvidenceWarning
        Where the mean cannot be trusted.  The standard error is nan then.

    Examples
    --------
    >>> import luce
    >>> rng = np.random.default_rng(1)
    >>> level = np.repeat([0.0, 50.0, 0.0, -40.0, 50.0], 30)
    >>> run = luce.SemiMarkov(6).fit(level + rng.normal(size=150), 1000, seed=1, progress=False)
    >>> new = log_predictive(run, level[:20] + rng.normal(size=20))
    >>> bool(new.details["pareto_k"] < 0.5)
    True
    """
    parameters = KeptParameters.of(run, draws)
    series = parameters.read(new_series, columns, sequence, time)
    logs = parameters.log_likelihoods(series, candidates)
    whole = log_mean(logs.sum(axis=2), "draws")
    seen = int(np.count_nonzero(~series.missing.all(axis=1)))
    details = {
        **whole.details,
        "per_row": float(whole) / seen if seen else float("nan"),
        "by_sequence": _by_sequence(series, logs),
        "longest": parameters.longest_in(series),
    }
    found = replace(whole, details=details)
    if is_trusted(whole, logs[..., 0].size):
        return found
    found = replace(found, standard_error=float("nan"))
    if float(whole) == -np.inf:
        message = (
            "the new series is impossible under the parameters of every draw: candidates, "
            "categories, forbidden transitions or longest segments rule it out."
        )
    else:
        message = (
            f"the log predictive density {basis(whole)}, so its error is not known. Keep more draws"
            " (keep_states in SemiMarkov.fit), or predict a shorter series: the longer it is, the "
            "fewer draws lie near the parameters that it asks for."
        )
    warn_user(EvidenceWarning(message, {"draws": found}))
    return found


def _by_sequence(series: Series, logs: FloatArray) -> Estimate:
    """Estimate the log predictive density of each sequence alone."""
    from xarray import DataArray

    each = [log_mean(logs[:, :, k], "draws") for k in range(series.n_sequences)]
    size = logs[..., 0].size
    errors = [e.standard_error if is_trusted(e, size) else float("nan") for e in each]

    def labelled(values: list[float], name: str) -> DataArray:
        coords = {"sequence": label_array(series.names)}
        return DataArray(values, coords, ("sequence",), name)

    details = {
        name: labelled([e.details[name] for e in each], name)
        for name in ("effective_draws", "pareto_k")
    }
    values = labelled([float(e) for e in each], "log_predictive")
    return Estimate(values, labelled(errors, "standard_error"), "draws", details)  # type: ignore[arg-type]


def forecast(
    run: DataTree,
    steps: int,
    *,
    draws: int | None = None,
    seed: SeedLike = None,
    sequence: Label = None,
) -> Dataset:
    """Draw the states and values of the rows after the last one of a sequence.

    Let the last segment of a draw be in state j and have d rows.  Given the draw's states, and the
    parameters that they were drawn with, its duration D enters the law of the series only through

        P(D = d + r) ∝ p_j(d + r),     r = 0, 1, 2, ...,         where end="censored",

    since D is either d, so that the segment ends with the last row, or larger, and the rows seen
    have the same density in all these cases.  So the state lasts r more rows with probability
    p_j(d + r) / P(D_j ≥ d), and the first row after the last is in state j with probability
    P(D_j > d) / P(D_j ≥ d).  Where end="complete", r is 0.  Then the next state is drawn from row j
    of the transition probabilities, its duration from its law, and so on.  Neither `longest` nor
    candidates say anything about rows that were not seen, so segments may be longer.

    Parameters
    ----------
    run
        A run of `SemiMarkov.fit`.
    steps
        Number of rows.
    draws
        Number of draws of each chain, evenly spaced; unless given, all whose parameters were kept.
    seed
        The same seed gives the same draws.
    sequence
        Name of the sequence that goes on; it may be left out where there is one.

    Returns
    -------
    Dataset
        `values` (chain, draw, step, channel), codes of `category` for a series of categories;
        `states` (chain, draw, step), matched to the states of `segments(run)`, -1 for a state that
        the point estimate does not have; `probability` (step, state) of each state of the point
        estimate; and `other` (step), the probability of all states that it does not have.  The
        coordinate `row` numbers steps as rows of the sequence.

    Examples
    --------
    >>> import luce
    >>> rng = np.random.default_rng(1)
    >>> level = np.repeat([0.0, 50.0, 0.0, -40.0, 50.0], 30)
    >>> run = luce.SemiMarkov(6).fit(level + rng.normal(size=150), 1000, seed=1, progress=False)
    >>> ahead = forecast(run, 20, seed=1)
    >>> dict(ahead["values"].sizes)
    {'chain': 4, 'draw': 250, 'step': 20, 'channel': 1}
    """
    import xarray as xr

    check_whole("steps", steps, 1)
    states = KeptStates.of(run)
    whole = KeptParameters.of(run)
    chosen = whole if draws is None else KeptParameters.of(run, draws)
    rows = whole.series.rows_of(_number_of(whole.series, sequence))
    n_matched = int(states.estimate.max()) + 1
    names = matched_names(states.draws, states.matched[0], whole.model.n_states, n_matched)
    names = names.reshape(whole.chains, whole.draws, -1)
    places = np.searchsorted(whole.kept["draw"].values, chosen.kept["draw"].values)
    before = whole.series.values[rows]
    rng = np.random.default_rng(Settings(seed=seed).seed_sequence())
    shape = (chosen.chains, chosen.draws, steps)
    found = np.empty(shape, np.int16)
    values = np.empty((*shape, whole.series.n_channels))
    for chain, draw in np.ndindex(shape[:2]):
        state = chosen.state(chain, draw)
        bits = new_bits(rng)
        ahead = _states_ahead(rng, chosen, state, chosen.labels[chain, draw, rows], steps)
        values[chain, draw] = whole.model.emission.simulate_after(
            bits, ahead, before, state.emission
        )
        found[chain, draw] = names[chain, places[draw]][ahead]
    shares = np.stack([(found == k).mean(axis=(0, 1)) for k in range(n_matched)], axis=1)
    coords: dict[str, Any] = {
        "chain": chosen.kept["chain"].values,
        "draw": chosen.kept["draw"].values,
        "step": np.arange(1, steps + 1),
        "row": ("step", len(before) + np.arange(steps)),
        "channel": label_array(whole.series.channels),
        "state": np.arange(n_matched),
    }
    if whole.series.categories:
        coords["category"] = label_array(whole.series.categories)
    return xr.Dataset(
        {
            "values": (("chain", "draw", "step", "channel"), values),
            "states": (("chain", "draw", "step"), found),
            "probability": (("step", "state"), shares),
            "other": ("step", (found < 0).mean(axis=(0, 1))),
        },
        coords,
        {"sequence": str(sequence if sequence is not None else whole.series.names[0])},
    )


def _number_of(series: Series, sequence: Label) -> int:
    """Find the number of a sequence by its name."""
    if sequence is None and series.n_sequences == 1:
        return 0
    if sequence is None:
        raise DataError(
            f"the run has {plural(series.n_sequences, 'sequence')}; name the one that goes on, as "
            f"sequence={series.names[0]!r}. The sequences are {some(series.names)}."
        )
    if sequence not in series.names:
        raise DataError(
            f"sequence = {sequence!r}; there is none of that name. The sequences are "
            f"{some(series.names)}."
        )
    return series.names.index(sequence)


def _states_ahead(
    rng: np.random.Generator,
    parameters: KeptParameters,
    state: SemiMarkovState,
    labels: IntArray,
    steps: int,
) -> IntArray:
    """Draw the states of the rows after those with these labels."""
    law, own = parameters.model.duration, dict(state.duration)
    here, left = int(labels[-1]), 0
    if parameters.model.end == "censored":
        others = np.flatnonzero(labels != here)
        seen = len(labels) - (int(others[-1]) + 1 if len(others) else 0)
        left = _rows_left(rng, law, own, here, seen)
    found, at = np.empty(steps, np.int64), 0
    rows = np.cumsum(state.rows, axis=1)
    while at < steps:
        end = min(at + left, steps)
        found[at:end] = here
        at = end
        here = int(np.searchsorted(rows[here], rng.random() * rows[here, -1], side="right"))
        left = law.simulate(rng, own, here)
    return found


def _rows_left(
    rng: np.random.Generator,
    law: Duration,
    parameters: dict[str, FloatArray],
    state: int,
    seen: int,
) -> int:
    """Draw D - d given D >= d, for a state that has lasted d = `seen` rows."""
    from luce.kernels.semi_markov.segments import Segments

    one = Segments(*(np.array([x], np.int64) for x in (0, seen, state)))
    borders = np.array([0, seen], np.int64)
    return int(law.extend_last(new_bits(rng), parameters, one, 1, borders)[0]) - seen

"""The evidence of contests and of rankings with ties, by bridge sampling.

    Z = ∫ L(p, x) Dirichlet(p; a) Π Gamma(x; shape, rate) dp dx
      = constant · √n ∫ exp h(y, log x) dy dlog x
    h = log L + Σ_i a_i log p_i + Σ_x (shape log x - rate x)

with n - 1 orthonormal contrasts y of log p, and x the parameters less their least values.  Draws of
the posterior are compared with draws of a Student t that has the mode and curvature of h, as for
the cores of other data (`evidence`).
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from luce._types import FloatArray
from luce.cluster.execution import carry_out
from luce.counts.contests import Contests
from luce.counts.events import Events
from luce.counts.labels import some
from luce.counts.likelihood import log_powers
from luce.counts.placings import Placings, joined
from luce.errors import MethodError, NotExactError
from luce.estimates.bridge import bridge_to_student
from luce.estimates.estimate import Estimate
from luce.estimates.event_density import EventDensity, EventMaximum, events_in
from luce.estimates.event_modes import maximise_events
from luce.model.model import Model
from luce.model.priors import Gamma
from luce.sampling.plan import PosteriorPlan
from luce.sampling.settings import Settings

if TYPE_CHECKING:
    from xarray import DataTree

# Most points of a grid over parameters.
_MOST_POINTS = 3_000_000

# A sum over parameters alone: standard deviations between its points, and on each side of the mode;
# and the fall of the log density towards 0 beyond which the rest is left out.
_STEP, _SPAN, _FALL = 0.4, 12.0, 40.0


def event_evidence(model: Model, settings: Settings, method: str) -> Estimate:
    """Estimate the log evidence of contests or rankings by bridge sampling."""
    events = events_in(model.counts)
    if method == "exact":
        raise NotExactError(
            f"the evidence of {events.noun} with {events.model} has no closed form. Use "
            'method="auto", which estimates it from draws.'
        )
    if method == "chib":
        raise MethodError(
            f"Chib's method is not offered for {events.noun} with {events.model}: a sweep draws "
            'their parameters one after another. Use method="bridge".'
        )
    for_draws, for_bridge = settings.seed_sequence().spawn(2)
    plan = PosteriorPlan.of(model, replace(settings.reseeded(for_draws), log_probabilities=True))
    found = _bridge(model, carry_out(plan), np.random.default_rng(for_bridge))
    value = float(found) + _log_constant_of_p(model)
    estimate = replace(found, value=value)
    return replace(estimate, details={"bridge": estimate})


def _log_constant_of_p(model: Model) -> float:
    """Compute the logarithm of the constant of the Dirichlet density."""
    from scipy.special import gammaln

    a = model.concentration
    return float(gammaln(a.sum()) - gammaln(a).sum())


def _log_constant_of_parameters(model: Model) -> float:
    """Compute the logarithm of the constants of the parameters' gamma densities."""
    from scipy.special import gammaln

    own = [each for each in model.parameter_priors.values() if isinstance(each, Gamma)]
    return float(sum(each.shape * np.log(each.rate) - gammaln(each.shape) for each in own))


def _log_heights(model: Model, logs: FloatArray, log_excess: FloatArray) -> FloatArray:
    """Compute h, and the constants of the parameters' priors.

    Parameters
    ----------
    model
        Data and priors.
    logs
        Log probabilities, shape (rows, n).
    log_excess
        Logarithms of the drawn parameters, less their least values, shape (rows, parameters).
    """
    events, counts = events_in(model.counts), model.counts
    excess = dict(zip(model.drawn_parameters, np.exp(log_excess).T, strict=True))
    values = {name: x + events.least(name) for name, x in excess.items()}
    # The likelihood of events does not change with the scale of p, so underflow is put off.
    p = np.exp(logs)
    h = events.log_likelihood(
        np.exp(logs - logs.max(axis=1, keepdims=True)), {**values, **model.known_parameters}
    )
    h = h + log_powers(p, counts.category_counts, counts.sets) + logs @ model.concentration
    return np.asarray(h + _log_prior_of_logs(model, log_excess))


def _bridge(model: Model, run: DataTree, rng: np.random.Generator) -> Estimate:
    """Bridge between draws of the posterior and a Student t around its mode."""
    from scipy.linalg import helmert

    events, n = events_in(model.counts), model.counts.n_categories
    drawn = run["posterior"]
    least = np.array([events.least(name) for name in model.drawn_parameters])
    logs = drawn["log_probabilities"].to_numpy()
    own = [drawn[name].to_numpy() for name in model.drawn_parameters]
    excess = np.stack([*own, logs[..., 0]], axis=-1)[..., :-1] - least
    peak, covariance = _normal_fit(model)
    contrasts = helmert(n)

    def heights(y: FloatArray) -> FloatArray:
        log_p = y[:, : n - 1] @ contrasts
        log_p = log_p - np.logaddexp.reduce(log_p, axis=1, keepdims=True)
        return _log_heights(model, log_p, y[:, n - 1 :])

    draws = np.concatenate([logs @ contrasts.T, np.log(excess)], axis=-1)
    found = bridge_to_student(heights, peak, covariance, draws, rng)
    return replace(found, value=float(found) + 0.5 * np.log(n))


def _normal_fit(model: Model) -> tuple[FloatArray, FloatArray]:
    """Return mode and covariance of contrasts of log p and of logarithms of the parameters."""
    from scipy.linalg import helmert

    events, n = events_in(model.counts), model.counts.n_categories
    found = maximise_events(EventDensity.of_model(model, "log-odds"), single=False)
    contrasts = helmert(n)
    names = model.drawn_parameters
    rates = _log_rates(model, found)
    spread = np.zeros((n - 1 + len(names), n + len(names)))
    spread[: n - 1, :n], spread[n - 1 :, n:] = contrasts, np.diag(rates)
    precision = spread @ found.precision @ spread.T
    excess = [found.parameters[name] - events.least(name) for name in names]
    peak = np.concatenate([contrasts @ np.log(found.p), np.log(excess).reshape(-1)])
    return np.asarray(peak, np.float64), np.asarray(np.linalg.inv(precision), np.float64)


def log_evidence_if_equal(model: Model) -> float:
    """Compute the log evidence of all strengths being equal, the parameters having their priors.

    The parameters are summed over on a grid in their logarithms; the sum's error falls
    exponentially with the number of points.
    """
    counts, names = model.counts, model.drawn_parameters
    n = counts.n_categories
    alone = float(log_powers(np.full(n, 1.0 / n), counts.category_counts, counts.sets))
    merged = _merged_if_equal(events_in(counts))
    points, steps = _grid(model)
    number = math.prod(len(line) for line in points)
    if number > _MOST_POINTS:
        raise MethodError(
            f"the evidence of equal strengths is a sum over a grid of the {len(names)} parameters "
            f"{some(names)}, here of {number:,} points; at most {_MOST_POINTS:,} are summed. Give "
            "values of some parameters to the posterior, as in tie={'tie3': 0.1}."
        )
    grid = np.array(np.meshgrid(*points, indexing="ij")).reshape(len(names), number).T
    values = {name: np.exp(x) + merged.least(name) for name, x in zip(names, grid.T, strict=True)}
    p = np.broadcast_to(1.0 / n, (len(grid), merged.n))
    heights = merged.log_likelihood(p, {**values, **model.known_parameters})
    heights = heights + _log_prior_of_logs(model, grid)
    return float(np.logaddexp.reduce(heights) + float(np.log(steps).sum()) + alone)


def _merged_if_equal(events: Events) -> Events:
    """Merge events that differ in nothing but who of equals took part."""
    if isinstance(events, Contests):
        return _merged_contests(events)
    if isinstance(events, Placings):
        return _merged_placings(events)
    return events


def _merged_placings(placings: Placings) -> Placings:
    """Merge all placings of the same numbers of placed and rest."""
    spans = np.diff(placings.start)[::2], np.diff(placings.start)[1::2]
    sizes = zip(*(span.tolist() for span in spans), strict=True)
    members, start = joined((range(d), range(d, d + rest)) for d, rest in sizes)
    return replace(placings, members=members, start=start).merged()


def _merged_contests(contests: Contests) -> Contests:
    """Merge all meetings of single members at home, and all others."""
    if not contests.are_pairs:
        return contests
    at_home = contests.at_home
    results = np.stack([contests.results[at_home].sum(axis=0), contests.results[~at_home].sum(0)])
    return replace(
        contests,
        n=2,
        members=np.array([0, 1, 0, 1]),
        start=np.arange(5),
        at_home=np.array([True, False]),
        results=results,
    )


def _grid(model: Model) -> tuple[list[FloatArray], list[float]]:
    """Return the points of each drawn parameter's logarithm, and their distances."""
    names, n = model.drawn_parameters, model.counts.n_categories
    if not names:
        return [], []
    density = EventDensity.of_model(model, "log-odds")
    found = maximise_events(density, equal=np.arange(n))
    rates = _log_rates(model, found)
    precision = found.precision[n:, n:] * np.outer(rates, rates)
    widths = np.sqrt(np.diag(np.linalg.inv(precision)))
    points, steps = [], []
    for k, name in enumerate(names):
        prior = model.parameter_priors[name]
        assert isinstance(prior, Gamma)
        peak = np.log(found.parameters[name] - events_in(model.counts).least(name))
        # Towards 0 a density of log x falls like x^shape, slower than a normal density.
        low, high = peak - max(_SPAN * widths[k], _FALL / prior.shape), peak + _SPAN * widths[k]
        step = _STEP / np.sqrt(precision[k, k])
        points.append(np.arange(low, high + step, step))
        steps.append(float(step))
    return points, steps


def _log_prior_of_logs(model: Model, logs: FloatArray) -> FloatArray:
    """Compute the log prior density of the drawn parameters' logarithms, shape (rows,)."""
    value = np.zeros(len(logs))
    for k, name in enumerate(model.drawn_parameters):
        prior = model.parameter_priors[name]
        assert isinstance(prior, Gamma)
        value += prior.shape * logs[:, k] - prior.rate * np.exp(logs[:, k])
    return value + _log_constant_of_parameters(model)


def _log_rates(model: Model, found: EventMaximum) -> FloatArray:
    """Return d log x / d log(x - least) of the drawn parameters: (θ - 1) / θ, else 1."""
    events = events_in(model.counts)
    own = [1.0 - events.least(k) / found.parameters[k] for k in model.drawn_parameters]
    return np.array(own).reshape(-1)

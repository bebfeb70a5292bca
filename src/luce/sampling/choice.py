"""Choice of the method that draws a model: made from the model alone, never by the clock.

A choice is names and reasons, small enough to be stored with a run.  Among the samplers that fit a
core, that of the cheapest effective draw is chosen: predicted worth of a draw over predicted cost.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from luce.counts.placings import Placings
from luce.errors import MethodError
from luce.model.model import Model
from luce.model.shapes import ModuleShapes
from luce.sampling import envelope
from luce.sampling.concentration import choose_with_concentration
from luce.sampling.contests import choose_for_contests
from luce.sampling.fits import Fits
from luce.sampling.rankings import choose_for_rankings
from luce.sampling.settings import Settings

if TYPE_CHECKING:
    from luce.kernels.hamiltonian import Metric
    from luce.kernels.problem import Problem

# Nanoseconds of the parts of a draw, measured on one machine; only their ratios count.  A stored
# member in a sum over sets and back, less in a sweep, more where it is one of a long chain of sums;
# a division for a set; an exponential; a gamma; an atom in half a step (an exponential and
# products); an element of a dense matrix times a vector.
_MEMBER, _MEMBER_OF_CHAIN, _DIVISION, _EXPONENTIAL, _GAMMA = 0.5, 2.0, 1.0, 3.0, 20.0
_ATOM, _PRODUCT = 4.0, 0.12

# Independent draws that a Hamiltonian move replaces, measured on many problems: in a dense metric,
# where a step longer than this is accepted; in a diagonal one; and there with grouped outcomes.
_DENSE_WORTH, _LONG_STEP, _DIAGONAL_WORTH, _GROUPED_WORTH = 0.8, 2.6, 0.8, 0.4

# Worth from which the estimate of an independence draw's worth, from a small pilot, is trusted.
_LEAST_WORTH = 0.6

# Largest gain by moves of single items that is counted on: groups of items may then be slower.
_MOST_GAIN = 3.0

# The method of a core that is a single set with weights.
SINGLE_SET = "single-weighted-set"

# Atoms up to which a dense metric is taken without comparing costs.
_ALWAYS_DENSE = 100


@dataclass(frozen=True)
class Choice:
    """The method of each part of a posterior, by name, with the reason.

    Parameters
    ----------
    methods, reasons
        One for each core, or one for the raw categories; none where everything is exact.
    reduced
        Are only the cores simulated, and the rest split exactly?
    """

    methods: tuple[str, ...]
    reasons: tuple[str, ...]
    reduced: bool = True

    @property
    def name(self) -> str:
        """Names of the methods used, "exact" where there is nothing to simulate."""
        return ", ".join(dict.fromkeys(self.methods)) or "exact"

    @property
    def reason(self) -> str:
        """Reasons, each distinct one once."""
        if not self.methods:
            return "the sets nest, so the posterior is a tree of Dirichlet splits"
        return "; ".join(dict.fromkeys(self.reasons))


def choose(model: Model, settings: Settings) -> Choice:
    """Choose how to draw a model, or refuse a method that does not fit it."""
    name = settings.method
    if model.counts.events is not None:
        ranked = isinstance(model.counts.events, Placings)
        name, reason = (choose_for_rankings if ranked else choose_for_contests)(model, name)
        return Choice((name,), (reason,), reduced=False)
    if model.hyperprior is not None:
        name, reason = choose_with_concentration(model, name)
        return Choice((name,), (reason,), reduced=False)
    if not settings.reduce:
        if name == "exact":
            raise MethodError("method='exact' is the reduction; it cannot run with reduce=False.")
        name = "waiting-times" if name == "auto" else name
        return Choice((name,), ("asked for on the raw categories",), reduced=False)
    if model.structure.is_exact:
        return Choice((), ())
    if name == "exact":
        raise MethodError(
            f"method='exact' needs sets that nest, but: {model.structure!r} "
            "Leave method='auto' to simulate the cores and keep the rest exact."
        )
    cores = range(len(model.structure.cores))
    if name != "auto":
        return Choice((name,) * len(cores), ("asked for",) * len(cores))
    chosen = [choose_for_core(model.shapes, q) for q in cores]
    return Choice(tuple(name for name, _ in chosen), tuple(reason for _, reason in chosen))


def fits_of(shapes: ModuleShapes, q: int) -> Fits:
    """Return the fits of core q, which are kept with the shapes."""
    key = f"fits {q}"
    if key not in shapes.memo:
        shapes.memo[key] = Fits(shapes.core_problem(q))
    found: Fits = shapes.memo[key]
    return found


class _Rate(NamedTuple):
    """A method, its effective draws a nanosecond, and the reason to choose it."""

    method: str
    rate: float
    reason: str


def choose_for_core(shapes: ModuleShapes, q: int) -> tuple[str, str]:
    """Choose rejection where it accepts enough, else the method of the cheapest effective draw."""
    fits = fits_of(shapes, q)
    if fits.tangents is not None:
        return SINGLE_SET, "a single set with weights: independent draws through one scalar"
    enveloped = fits.envelope
    if enveloped is not None and enveloped[1] >= envelope.LEAST_ACCEPTED:
        return "rejection", (
            f"a Dirichlet lies close above the posterior: {enveloped[1]:.0%} of its draws are kept"
        )
    if fits.problem.wide:
        reason = "probabilities may be tiny, and waiting times need no curvature"
        return "waiting-times", reason
    share = _share_of_a_sweep(fits)
    if share is None:
        return "waiting-times", "its curvature is beyond doubles, and waiting times need none"
    sweeps = share / _sweep_cost(fits.problem)
    well = f"well connected: a waiting-time sweep is worth about {share:.2g} draws"
    if fits.dominant_items is not None:
        items, gain = fits.dominant_items
        sweeps *= min(gain, _MOST_GAIN)
        well = f"{len(items.item):,} items that dominate their sets are moved one by one"
    best = max(_others(fits, share), key=lambda other: other.rate)
    if best.rate > sweeps:
        return best.method, best.reason
    return "waiting-times", well


def _share_of_a_sweep(fits: Fits) -> float | None:
    """Predict the worth of a waiting-time sweep."""
    fit = fits.curvature or fits.diagonal
    return None if fit is None else fit.share


def _others(fits: Fits, share: float) -> list[_Rate]:
    """Rate the methods that use a curvature."""
    metric, worth = best_metric(fits)
    weak = f"weakly connected: a waiting-time sweep would be worth {share:.2g} draws"
    found = [_Rate("hamiltonian", worth / _move_cost(fits.problem, metric), weak)]
    if fits.proposal is not None and fits.proposal[1] >= _LEAST_WORTH:
        worth = fits.proposal[1]
        near = f"nearly normal in log ratios: a proposal around the mode is worth {worth:.2g} draws"
        found.append(_Rate("independence", worth / _proposal_cost(fits.problem), near))
    return found


def best_metric(fits: Fits) -> tuple[Metric, float]:
    """Choose the metric of the cheaper effective draw, with its worth; there must be one.

    Among many atoms of grouped outcomes the curvature at the mode says little about the width of
    the posterior, and moves in a diagonal metric, which are longer, are better.
    """
    many, found = len(fits.problem.shape) > _ALWAYS_DENSE, []
    if not (many and fits.grouped) and fits.dense_metric is not None:
        worth = _DENSE_WORTH * min(1.0, fits.dense_metric.step / _LONG_STEP)
        found.append((fits.dense_metric, worth))
    if (many or not found) and fits.diagonal_metric is not None:
        found.append((fits.diagonal_metric, _GROUPED_WORTH if fits.grouped else _DIAGONAL_WORTH))
    return max(found, key=lambda each: each[1] / _move_cost(fits.problem, each[0]))


def _sweep_cost(problem: Problem) -> float:
    """Estimate the cost of a waiting-time sweep."""
    n, n_sets = len(problem.shape), len(problem.waits)
    return 0.5 * _sums_cost(problem) + _EXPONENTIAL * n_sets + _GAMMA * n


def _sums_cost(problem: Problem) -> float:
    """Estimate the cost of a sum over each set, and back over the sets of each member."""
    n_sets, listed = len(problem.waits), len(problem.members)
    chained = max(n_sets - len(problem.complement), 0)  # one member more than the set before
    return _MEMBER * (listed - chained) + _MEMBER_OF_CHAIN * chained + _DIVISION * n_sets


def _move_cost(problem: Problem, metric: Metric) -> float:
    """Estimate the cost of a Hamiltonian move: two slopes a step, and two products each."""
    n = len(problem.shape)
    products = 0.0 if metric.root is None else _PRODUCT * n * n
    slope = _sums_cost(problem) + _ATOM * n + products
    steps = max(1.0, metric.length / metric.step)
    return 2 * steps * slope + 6 * _ATOM * n


def _proposal_cost(problem: Problem) -> float:
    """Estimate the cost of an independence draw: half of a slope, and half of a product."""
    n = len(problem.shape)
    return 0.5 * (_sums_cost(problem) + _PRODUCT * n * n) + 5 * _ATOM * n

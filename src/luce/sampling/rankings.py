"""Methods for rankings with ties: what can be drawn how, and the fits that kernels need."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from luce._types import FloatArray
from luce.counts.family import set_arrays
from luce.counts.labels import some
from luce.counts.placings import Placings
from luce.counts.tied_blocks import TiedBlocks
from luce.counts.tied_choices import TiedChoices
from luce.errors import MethodError
from luce.model.model import Model
from luce.model.priors import Gamma
from luce.sampling.contest_posterior import Known
from luce.sampling.contests import climb
from luce.sampling.fits import dense_metric
from luce.sampling.ranking_posterior import BlockPosterior, ChoicePosterior, RankingPosterior

if TYPE_CHECKING:
    from luce.kernels import Kernel
    from luce.kernels.problem import Problem
    from luce.kernels.rankings.blocks import Blocks
    from luce.kernels.rankings.moves import RankingFit

# Most categories for which a curvature is fitted: a move costs the square of their number, and the
# fit the cube.
_MOST_CATEGORIES = 1000

# Most times of blocks, repeated ones counted, that a state holds.
_MOST_TIMES = 10_000_000

# Nanoseconds of the parts of a sweep and of a slope, measured on one machine; only ratios count.  A
# category, a time, a stored member, a category in a slope, an element of the metric, and a member
# of a subset of a block.
_GAMMA, _TIME, _SLOPE, _ATOM, _PRODUCT, _SUBSET = 20.0, 20.0, 2.0, 4.0, 0.12, 2.0

# Independent draws that a move replaces.
_WORTH = 0.8


class ReadyRankings:
    """A model of rankings with ties, as kernels take it; fits are made when they are asked for.

    Attributes
    ----------
    plain
        Powers of strengths and of sums over sets in the log posterior.
    problem
        The same as the kernel takes it: in sweeps over blocks, each time of one adds 1 to a shape.
    """

    def __init__(self, model: Model) -> None:
        from luce.kernels.problem import make_problem

        events, counts = model.counts.events, model.counts
        assert isinstance(events, Placings)
        self.model, self.events = model, events
        net = counts.category_counts.sum() + counts.sets.exponent.sum()
        total = float(model.concentration.sum() + max(net, 0.0))
        shape, sets = model.concentration + counts.category_counts, set_arrays(counts.sets)
        weights = counts.sets.weights
        with_wins = make_problem(*sets, shape + events.wins(), total, weights=weights)
        without = make_problem(*sets, shape, total, weights=weights)
        self.plain = with_wins if isinstance(events, TiedChoices) else without
        # The density is wide where a strength may be tiny, whatever the sweep adds to its shape.
        self.problem = with_wins._replace(wide=self.plain.wide)

    @property
    def wide(self) -> bool:
        """Are probabilities kept as logarithms?"""
        return bool(self.plain.wide)

    @property
    def methods(self) -> tuple[str, ...]:
        """The methods that draw these rankings."""
        both = isinstance(self.events, TiedBlocks)
        return ("waiting-times", "hamiltonian") if both else ("hamiltonian",)

    @property
    def drawn_priors(self) -> dict[str, Gamma]:
        """Priors of the drawn parameters, in the order of the state."""
        priors = self.model.parameter_priors.items()
        return {name: prior for name, prior in priors if isinstance(prior, Gamma)}

    def draw_parameters(self, rng: np.random.Generator) -> FloatArray:
        """Draw first logarithms of the parameters from their priors, none of them very small."""
        own = self.drawn_priors.values()
        return np.array([np.log(rng.gamma(max(g.shape, 0.5)) / g.rate) for g in own]).reshape(-1)

    @cached_property
    def posterior(self) -> RankingPosterior:
        """The log posterior in log λ and the logarithms of the parameters."""
        if isinstance(self.events, TiedBlocks):
            return BlockPosterior(self.plain, self.events)
        assert isinstance(self.events, TiedChoices)
        own = {name: Known(g.shape, g.rate) for name, g in self.drawn_priors.items()}
        known = {name: float(np.log(x)) for name, x in self.model.known_parameters.items()}
        return ChoicePosterior(self.plain, self.events, own, known)

    @cached_property
    def mode(self) -> tuple[FloatArray, FloatArray] | None:
        """Mode of (log λ, log parameters), and the precision there; None if beyond doubles."""
        if self.wide or len(self.plain.shape) > _MOST_CATEGORIES:
            return None
        shape = np.maximum(self.problem.shape, 1e-3)
        even = np.log(self.plain.total_shape / len(shape))
        start = (np.log(shape * (self.plain.total_shape / shape.sum())) + even) / 2
        try:
            return climb(self.posterior, np.r_[start, np.zeros(len(self.posterior.names))])
        except np.linalg.LinAlgError:
            return None

    @cached_property
    def blocks(self) -> Blocks:
        """The fit of the sweeps' kernel."""
        from luce.kernels.rankings.blocks import Blocks

        e = self.events
        if not e.is_whole or e.times.sum() > _MOST_TIMES:
            raise MethodError(
                f"tied blocks of unknown order were seen {e.times.sum():,g} times in all, repeated "
                f"ones counted; whole numbers are needed, and at most {_MOST_TIMES:,} times in all."
            )
        copies = np.r_[0, np.cumsum(e.times)].astype(np.int64)
        return Blocks(e.members.astype(np.uint32), np.array(e.start), copies)

    @cached_property
    def moves(self) -> RankingFit | None:
        """The fit of the moves' kernel; None where there is no curvature within doubles."""
        from luce.kernels.rankings.moves import RankingFit

        if self.mode is None:
            return None
        mode, precision = self.mode
        factor = np.asarray(np.linalg.cholesky(precision), np.float64)
        metric = dense_metric(np.tril(np.linalg.inv(factor)), self.problem)
        start = np.log([prior.mean for prior in self.drawn_priors.values()]).reshape(-1)
        f = self.posterior
        return RankingFit(f.arrays, f.weights, metric, mode, factor, start)

    @property
    def share(self) -> float:
        """Predict the worth of a sweep over blocks from the precision with and without times."""
        assert self.mode is not None
        mode, precision = self.mode
        at = self.posterior.base.at(mode)
        half = np.sqrt(self.problem.shape + at.given)
        scaled = np.tril(np.linalg.inv(np.linalg.cholesky(precision))) * half
        unit = half / np.linalg.norm(half)
        scaled -= np.outer(scaled @ unit, unit)
        most = float(np.linalg.eigvalsh(scaled.T @ scaled)[-1])
        return 1.0 / max(2.0 * most - 1.0, 1.0)

    def costs(self) -> tuple[float, float]:
        """Predict the nanoseconds of a sweep over blocks, and of a move."""
        assert self.moves is not None
        e, n, sets = self.events, len(self.plain.shape), len(self.plain.members)
        sweep = _GAMMA * n + _TIME * float(e.sizes @ e.times) + _SLOPE * (sets + len(e.members))
        subsets = float((2.0 ** np.minimum(e.sizes, 10) * e.sizes).sum())
        slope = _ATOM * n + _SLOPE * (sets + len(e.members)) + _PRODUCT * n * n + _SUBSET * subsets
        metric = self.moves.metric
        return sweep, 2 * max(1.0, metric.length / metric.step) * slope

    @property
    def work(self) -> int:
        """Elementary steps that a draw makes beside those over sets and categories."""
        e = self.events
        if isinstance(e, TiedBlocks):
            return 2 * int(e.sizes @ e.times) + len(e.members)
        return 10 * len(e.members) * (len(e.parameters) + 1) + len(self.plain.shape) ** 2


def ready_for_rankings(model: Model) -> ReadyRankings:
    """Make a model ready for kernels, once; what was fitted is kept with the model."""
    key = "ready for rankings"
    if key not in model.memo:
        model.memo[key] = ReadyRankings(model)
    found: ReadyRankings = model.memo[key]
    return found


def choose_for_rankings(model: Model, name: str) -> tuple[str, str]:
    """Return the method that draws a model of ties in rankings, or refuse another one."""
    ready = ready_for_rankings(model)
    if name == "auto":
        return _choose(ready)
    if name not in ready.methods:
        raise MethodError(
            f"method={name!r} cannot draw rankings with {ready.events.model}; "
            f"{some(ready.methods)} can. Leave method='auto'."
        )
    return name, "asked for"


def _choose(ready: ReadyRankings) -> tuple[str, str]:
    """Choose the method of the cheaper effective draw."""
    what = f"rankings with {ready.events.model}"
    if isinstance(ready.events, TiedChoices):
        return "hamiltonian", what
    if ready.moves is None:
        return "waiting-times", f"{what}, their curvature beyond doubles: waiting times need none"
    (sweep, move), share = ready.costs(), ready.share
    worth = f"{what}: a waiting-time sweep is worth about {share:.2g} draws"
    return ("hamiltonian" if _WORTH / move > share / sweep else "waiting-times"), worth


def prepare_rankings(model: Model, name: str) -> tuple[Kernel, Problem, Any]:
    """Prepare kernel, problem and fit of a method, or refuse a method that does not fit."""
    from luce.kernels import RANKINGS

    ready = ready_for_rankings(model)
    kernel = RANKINGS[name]._replace(extra=model.drawn_parameters)
    if name == "waiting-times":
        return kernel, ready.problem, ready.blocks
    if ready.moves is None:
        raise MethodError(
            f"Hamiltonian moves of rankings with {ready.events.model} need at most "
            f"{_MOST_CATEGORIES:,} categories, a concentration of 0.05 or more for each that was "
            f"never placed first, and a curvature within the range of doubles; there are "
            f"{len(ready.plain.shape):,} categories. Give a larger concentration; rankings read "
            "with ties='unknown' are drawn by 'waiting-times' too."
        )
    return kernel, ready.problem, ready.moves

"""Samplers that are wrong on purpose: calibration must reject each of them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any
from unittest import mock

import numpy as np
from lib import calibration_grid as grid

from luce import kernels
from luce.kernels.problem import Problem, gamma_spreads
from luce.model.shapes import shapes_of

SHAPES = {shape.name: shape for shape in grid.SHAPES}
# With few outcomes a wrong prior shows, and with three categories a loose envelope does.
SHAPES["all but one, few outcomes"] = grid.Shape("", grid.all_but_one("abcd", 1), 2.0)
SHAPES["three pairs"] = grid.Shape("", grid.duels("abc", "ab bc ca", 40), 3.0)


def with_shape(problem: Problem, shape: Any) -> Problem:
    return problem._replace(shape=shape, spread=gamma_spreads(shape))


def quarter_of_the_counts(problem: Problem) -> Problem:
    waits = problem.waits / 4
    return problem._replace(waits=waits, wait_spread=gamma_spreads(waits))


def trials_for_failures(problem: Problem) -> Problem:
    """Count trials and not hidden outcomes: one too many for each; every set leaves out one."""
    return with_shape(problem, problem.shape + problem.waits)


def more_prior(problem: Problem) -> Problem:
    return with_shape(problem, problem.shape + 1.0)


def no_jacobian(problem: Problem) -> Problem:
    """A walk in log p that forgets that volumes change by a factor Π p_i."""
    return with_shape(problem, problem.shape - 1.0)


@contextmanager
def changed_problem(method: str, change: Callable[[Problem], Problem]) -> Iterator[None]:
    """Run a kernel on something else than it was given."""
    right = kernels.KERNELS[method]

    def advance(bits: Any, problem: Problem, *rest: Any) -> None:
        right.advance(bits, change(problem), *rest)

    with mock.patch.dict(kernels.KERNELS, {method: right._replace(advance=advance)}):
        yield


def twice_the_rate(hyper: Any) -> Any:
    return hyper._replace(rate=2 * hyper.rate)


def twice_the_rate_of_moves(fit: Any) -> Any:
    return fit._replace(hyper=twice_the_rate(fit.hyper))


@contextmanager
def changed_fit(kernel: str, change: Callable[[Any], Any]) -> Iterator[None]:
    """Run a kernel that draws the concentration with another prior of it."""
    right = getattr(kernels, kernel)

    def advance(bits: Any, problem: Problem, fit: Any, *rest: Any) -> None:
        right.advance(bits, problem, change(fit), *rest)

    with mock.patch.object(kernels, kernel, right._replace(advance=advance)):
        yield


def twice_the_rates(fit: Any) -> Any:
    """Draw home and tie of contests as if their priors had half the mean."""
    own = fit.multipliers
    wrong = own._replace(home_rate=2 * own.home_rate, tie_rate=2 * own.tie_rate)
    return fit._replace(multipliers=wrong)


def twice_the_rates_of_moves(fit: Any) -> Any:
    return fit._replace(sweep=twice_the_rates(fit.sweep))


@contextmanager
def changed_contests(method: str, change: Callable[[Any], Any]) -> Iterator[None]:
    """Run a kernel of contests with other priors of their parameters."""
    right = kernels.CONTESTS[method]

    def advance(bits: Any, problem: Any, fit: Any, *rest: Any) -> None:
        right.advance(bits, problem, change(fit), *rest)

    with mock.patch.dict(kernels.CONTESTS, {method: right._replace(advance=advance)}):
        yield


@contextmanager
def dirichlet_instead(method: str, shape_of: Callable[[Problem, Any], Any]) -> Iterator[None]:
    """Draw a Dirichlet, and leave out what should correct it."""

    def advance(bits: Any, problem: Problem, fit: Any, _state: Any, _t: Any, _a: Any, out: Any,
                stat: Any, _s: Any) -> None:  # fmt: skip
        rng = np.random.default_rng(bits.tolist())
        bits[:] = rng.integers(2**64 - 1, size=4, dtype=np.uint64)
        out[:] = rng.dirichlet(shape_of(problem, fit), len(out))
        stat[:] = 1.0

    wrong = kernels.KERNELS[method]._replace(advance=advance)
    with mock.patch.dict(kernels.KERNELS, {method: wrong}):
        yield


@contextmanager
def changed_splits(change: Callable[[Any, Any], tuple[Any, Any]]) -> Iterator[None]:
    """Put other counts or another prior on the tree of exact splits."""

    def wrong(structure: Any, counts: Any, concentration: Any) -> Any:
        return shapes_of(structure, *change(counts, concentration))

    with mock.patch("luce.model.model.shapes_of", wrong):
        yield


def no_data(counts: Any, concentration: Any) -> tuple[Any, Any]:
    return grid.Counts(counts.categories), concentration


def twice_the_prior(counts: Any, concentration: Any) -> tuple[Any, Any]:
    return counts, 2 * concentration


# What is wrong, the shape and the method where it shows, and how to make it wrong.
CONTROLS: dict[str, tuple[str, str, Callable[[], Any]]] = {
    "draws of the prior": ("full counts", "auto", lambda: changed_splits(no_data)),
    "exact, concentration doubled": (
        "nested sets", "auto", lambda: changed_splits(twice_the_prior)),
    "rejection that keeps everything": (
        "three pairs", "rejection",
        lambda: dirichlet_instead("rejection", lambda _problem, fit: fit.shape[0])),
    "waiting times, a quarter of the counts": (
        "three pairs", "waiting-times",
        lambda: changed_problem("waiting-times", quarter_of_the_counts)),
    "waiting times skipped": (
        "pairs", "waiting-times",
        lambda: dirichlet_instead("waiting-times", lambda problem, _fit: problem.shape)),
    "hidden counts, trials for failures": (
        "all but one", "hidden-counts",
        lambda: changed_problem("hidden-counts", trials_for_failures)),
    "Metropolis without the Jacobian": (
        "all but one, few outcomes", "metropolis",
        lambda: changed_problem("metropolis", no_jacobian)),
    "Hamiltonian, concentration too large": (
        "pairs", "hamiltonian", lambda: changed_problem("hamiltonian", more_prior)),
    "concentration drawn, rate doubled": (
        "pairs, concentration drawn", "waiting-times",
        lambda: changed_fit("RANDOM_CONCENTRATION", twice_the_rate)),
    "concentration in joint moves, rate doubled": (
        "pairs, concentration drawn", "hamiltonian",
        lambda: changed_fit("HAMILTONIAN_CONCENTRATION", twice_the_rate_of_moves)),
    "home drawn, rate doubled": (
        "home advantage", "waiting-times",
        lambda: changed_contests("waiting-times", twice_the_rates)),
    "ties of Davidson by moves, rates doubled": (
        "Davidson's ties", "hamiltonian",
        lambda: changed_contests("hamiltonian", twice_the_rates_of_moves)),
    "ties of Rao and Kupper, rates doubled": (
        "Rao-Kupper ties", "waiting-times",
        lambda: changed_contests("waiting-times", twice_the_rates)),
}  # fmt: skip


def check(name: str, replications: int, seed: int, draws: int = 31) -> Any:
    """Run one control."""
    shape, method, breaking = CONTROLS[name]
    with breaking():
        return grid.check(SHAPES[shape], method, replications, seed, draws)

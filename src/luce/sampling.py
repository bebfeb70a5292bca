"""Chains: which method, which generators, and the loop that every method shares.

A chain draws from each core with a generator of its own and splits the cores' cells with another,
so what it draws depends on the seed and the chain's number alone, not on threads or chunks.
"""

from __future__ import annotations

import os
import time
from concurrent.futures import ThreadPoolExecutor, wait
from dataclasses import dataclass, field
from threading import Event
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from luce._types import FloatArray, SeedLike
from luce.conditional_counts import ConditionalCounts
from luce.density import _on_simplex
from luce.errors import DataError, MethodError
from luce.module_shapes import ModuleShapes
from luce.progress import ProgressBar, announce_compilation
from luce.structure import Structure

if TYPE_CHECKING:
    from luce.kernels import Kernel
    from luce.kernels.dirichlet_tree import SplitPlan
    from luce.kernels.problem import Problem

METHODS = ("auto", "exact", "waiting-times", "hidden-counts", "metropolis")

# A chunk is the work between two looks at the clock: about this many elementary steps (50 ms).
_CHUNK_STEPS = 2_000_000

# The paper's proposal concentration, and where tuning starts.
_PAPER_BETA = 160.0

# The smallest shape whose categories stay within the range that probabilities alone show well.
_LOGS_BELOW = 0.5


@dataclass(frozen=True)
class Settings:
    """The arguments of `Posterior.sample`, checked."""

    draws: int
    chains: int
    warmup: int | None
    seed: SeedLike
    method: str
    reduce: bool
    initial: ArrayLike | str
    threads: int | None
    progress: bool
    log_probabilities: bool | None
    proposal_concentration: float | None

    def __post_init__(self) -> None:
        for name, least in (("draws", 1), ("chains", 1), ("warmup", 0), ("threads", 1)):
            value = getattr(self, name)
            if value is None and name in ("warmup", "threads"):
                continue
            if not isinstance(value, (int, np.integer)) or isinstance(value, bool) or value < least:
                raise MethodError(f"{name} = {value!r}; a whole number of at least {least} is needed.")
        if self.method not in METHODS:
            raise MethodError(f"method = {self.method!r}; choose one of {', '.join(METHODS)}.")
        if self.proposal_concentration is not None:
            if self.method != "metropolis":
                raise MethodError("proposal_concentration is for method='metropolis' only.")
            if not (np.isfinite(self.proposal_concentration) and self.proposal_concentration > 0):
                raise MethodError(
                    f"proposal_concentration = {self.proposal_concentration!r}; it must be positive."
                )


@dataclass(frozen=True)
class Method:
    """How the draws are made, and why."""

    name: str
    reason: str
    kernel: Kernel | None
    problems: tuple[Problem, ...]
    plan: SplitPlan | None  # None: the one problem is about the raw categories themselves

    @property
    def independent(self) -> bool:
        """Are the draws independent by construction?"""
        return self.kernel is None


@dataclass
class Draws:
    """What the chains produced, before it is dressed up."""

    probabilities: FloatArray
    log_probabilities: FloatArray | None
    statistics: dict[str, FloatArray]
    method: Method
    settings: Settings
    warmup: int
    seed: int
    seconds: float
    tuning: FloatArray | None = None
    interrupted: bool = False


@dataclass
class _Chain:
    """State of one chain: generators, positions, and how far it has come."""

    generators: list[np.random.Generator]
    splitter: np.random.Generator
    states: list[FloatArray]
    tunings: list[FloatArray]
    done: int = 0
    left_to_warm: int = 0
    buffers: list[FloatArray] = field(default_factory=list)


def choose_method(
    counts: ConditionalCounts,
    concentration: FloatArray,
    structure: Structure,
    shapes: ModuleShapes,
    settings: Settings,
) -> Method:
    """Decide how to draw, deterministically, from the structure alone."""
    from luce.kernels import KERNELS

    if settings.method == "exact" and not settings.reduce:
        raise MethodError("method='exact' is the reduction; it cannot run with reduce=False.")
    if not settings.reduce:
        name = "waiting-times" if settings.method == "auto" else settings.method
        problem = raw_problem(counts, concentration)
        return Method(name, "asked for on the raw categories", KERNELS[name], (problem,), None)
    plan = shapes.split_plan()
    if structure.is_exact:
        reason = "the sets nest, so the posterior is a tree of Dirichlet splits"
        return Method("exact", reason, None, (), plan)
    if settings.method == "exact":
        raise MethodError(
            f"method='exact' needs sets that nest, but: {structure!r} "
            "Leave method='auto' to simulate the cores and keep the rest exact."
        )
    problems = tuple(shapes.core_problem(q) for q in range(len(structure.cores)))
    if settings.method == "auto":
        n = len(structure.cores)
        reason = f"{n} core{'s' * (n > 1)} of overlapping sets; waiting times mix best on them"
        return Method("waiting-times", reason, KERNELS["waiting-times"], problems, plan)
    return Method(settings.method, "asked for", KERNELS[settings.method], problems, plan)


def raw_problem(counts: ConditionalCounts, concentration: FloatArray) -> Problem:
    """The whole posterior as one problem over the raw categories."""
    from luce.kernels.problem import make_problem

    f = counts.sets
    net = counts.category_counts.sum() + f.exponent.sum()
    return make_problem(
        f.members, f.chain_start, f.complement, f.set_start, f.set_end, f.exponent,
        concentration + counts.category_counts, float(concentration.sum() + max(net, 0.0)),
    )  # fmt: skip


def draw(
    counts: ConditionalCounts,
    concentration: FloatArray,
    structure: Structure,
    shapes: ModuleShapes,
    settings: Settings,
) -> Draws:
    """Run all chains."""
    began = time.perf_counter()
    announce_compilation()
    method = choose_method(counts, concentration, structure, shapes, settings)
    warmup = _warmup(settings, method)
    root = _seed_sequence(settings.seed)
    n, chains, draws = counts.n_categories, settings.chains, settings.draws
    starts = _starting_points(settings.initial, n, chains)
    logs = settings.log_probabilities
    if logs is None:
        logs = bool((concentration + counts.category_counts).min() < _LOGS_BELOW)
    prior = _prior_shapes(method, concentration, shapes)
    states = [
        _new_chain(seeds, method, prior, shapes, settings, warmup, None if starts is None else starts[i])
        for i, seeds in enumerate(root.spawn(chains))
    ]
    result = Draws(
        np.empty((chains, draws, n)),
        np.empty((chains, draws, n)) if logs else None,
        {} if method.kernel is None else {
            method.kernel.statistic: np.empty((chains, draws, len(method.problems)))
        },
        method,
        settings,
        warmup,
        root.entropy,  # type: ignore[arg-type]
        0.0,
    )  # fmt: skip
    _run(states, method, result, settings)
    if method.kernel is not None and method.kernel.tuned:
        result.tuning = np.asarray([[t[2] for t in c.tunings] for c in states])
    result.seconds = time.perf_counter() - began
    return result


def _run(chains: list[_Chain], method: Method, result: Draws, settings: Settings) -> None:
    """Advance all chains in threads, watch for Ctrl-C, and show how far they are."""
    n_threads = min(settings.threads or _processors(), len(chains))
    total = sum(c.left_to_warm + settings.draws for c in chains)
    stop = Event()
    steps = _chunk(method, result.probabilities.shape[-1])

    def work(mine: list[int]) -> None:
        # Chains of one thread take turns, so that an interrupted run has them all equally long.
        while not stop.is_set() and any(chains[i].done < settings.draws for i in mine):
            for i in mine:
                _advance(chains[i], i, method, result, steps, settings)

    with ThreadPoolExecutor(n_threads) as pool, ProgressBar(total, settings.progress) as bar:
        futures = [pool.submit(work, list(range(k, len(chains), n_threads))) for k in range(n_threads)]
        try:
            while wait(futures, timeout=0.1).not_done:
                bar.update(total - sum(c.left_to_warm + settings.draws - c.done for c in chains))
        except KeyboardInterrupt:
            stop.set()
            wait(futures)
            result.interrupted = True
    for future in futures:
        future.result()  # an error in a thread is an error here
    if result.interrupted:
        done = min(c.done for c in chains)
        if done == 0:
            raise KeyboardInterrupt
        result.probabilities = result.probabilities[:, :done]
        if result.log_probabilities is not None:
            result.log_probabilities = result.log_probabilities[:, :done]
        result.statistics = {k: v[:, :done] for k, v in result.statistics.items()}


def _advance(
    chain: _Chain, number: int, method: Method, result: Draws, steps: int, settings: Settings
) -> None:
    """Make up to `steps` sweeps of one chain: warm-up first, then draws into the result."""
    from luce.kernels.dirichlet_tree import draw_splits

    warming = chain.left_to_warm > 0
    size = min(steps, chain.left_to_warm if warming else settings.draws - chain.done)
    if size == 0:
        return
    rows = slice(chain.done, chain.done + size)
    pieces = []
    for q, problem in enumerate(method.problems):
        assert method.kernel is not None
        if len(chain.buffers) == q:
            chain.buffers.append(np.empty((steps, len(chain.states[q]))))
        out, stat = chain.buffers[q][:size], np.empty(size)
        adapt = warming and method.kernel.tuned and settings.proposal_concentration is None
        method.kernel.advance(
            chain.generators[q], problem, chain.states[q], chain.tunings[q], adapt, out, stat
        )
        pieces.append(out)
        if not warming:
            result.statistics[method.kernel.statistic][number, rows, q] = stat
    if warming:
        chain.left_to_warm -= size
        return
    target = result.probabilities[number, rows]
    keep_logs = result.log_probabilities is not None
    log_target = result.log_probabilities[number, rows] if keep_logs else np.empty((0, 0))
    if method.plan is None:
        wide = method.problems[0].wide
        target[:] = np.exp(pieces[0]) if wide else pieces[0]
        if keep_logs:
            log_target[:] = pieces[0] if wide else np.log(pieces[0])
    else:
        any_wide = any(p.wide for p in method.problems)
        cells = [
            np.log(x) if any_wide and not p.wide else x
            for x, p in zip(pieces, method.problems, strict=True)
        ]
        shares = cells[0] if len(cells) == 1 else np.concatenate([np.empty((size, 0)), *cells], axis=1)
        draw_splits(chain.splitter, method.plan, shares, any_wide, target, log_target)
    chain.done += size


def _new_chain(
    seeds: np.random.SeedSequence,
    method: Method,
    prior: list[FloatArray],
    shapes: ModuleShapes,
    settings: Settings,
    warmup: int,
    start: FloatArray | None,
) -> _Chain:
    """Generators and starting points of one chain."""
    *core_seeds, split_seed = seeds.spawn(len(method.problems) + 1)
    generators = [np.random.default_rng(s) for s in core_seeds]
    beta = settings.proposal_concentration or _PAPER_BETA
    states = []
    for q, problem in enumerate(method.problems):
        if start is None:
            log_p = _log_dirichlet(generators[q], prior[q])
        else:
            log_p = np.log(_core_start(start, method, shapes, q))
        states.append(log_p if problem.wide else np.exp(log_p))
    return _Chain(
        generators,
        np.random.default_rng(split_seed),
        states,
        [np.asarray([np.log(beta), 0.0, np.log(beta)]) for _ in method.problems],
        left_to_warm=warmup,
    )


def _log_dirichlet(rng: np.random.Generator, shape: FloatArray) -> FloatArray:
    """Log of a Dirichlet draw, finite for any shape (DESIGN of kernels.gammas in NumPy)."""
    logs = np.log(rng.standard_gamma(shape + 1)) + np.log(rng.uniform(size=len(shape))) / shape
    return np.asarray(logs - np.logaddexp.reduce(logs))


def _prior_shapes(
    method: Method, concentration: FloatArray, shapes: ModuleShapes
) -> list[FloatArray]:
    """Prior shape of each problem's atoms, raised where a start would underflow."""
    if method.plan is None:
        priors = [concentration]
    else:
        priors = [shapes.prior[core.cells] for core in shapes.structure.cores]
    return [
        a if problem.wide else np.maximum(a, 0.05)
        for a, problem in zip(priors, method.problems, strict=False)
    ]


def _core_start(start: FloatArray, method: Method, shapes: ModuleShapes, q: int) -> FloatArray:
    """Shares of a core's cells at given category probabilities."""
    from luce.kernels.dirichlet_tree import add_up

    if method.plan is None:
        p = start
    else:
        tree = shapes.structure.tree
        mass = np.bincount(tree.holder, start, len(tree.parent))
        add_up(tree.parent, mass)
        p = mass[shapes.structure.cores[q].cells]
    # A start on the boundary is moved just inside, where every method can leave it.
    p = np.maximum(p, 1e-100)
    return np.asarray(p / p.sum())


def _starting_points(initial: ArrayLike | str, n: int, chains: int) -> FloatArray | None:
    if isinstance(initial, str):
        if initial != "prior":
            raise MethodError(f"initial = {initial!r}; give 'prior' or starting probabilities.")
        return None
    p = _on_simplex(initial, n)
    if p.shape not in ((n,), (chains, n)):
        raise DataError(f"initial has shape {p.shape}; ({n},) or ({chains}, {n}) is needed.")
    return np.array(np.broadcast_to(p, (chains, n)))


def _warmup(settings: Settings, method: Method) -> int:
    if method.independent:
        return 0
    if settings.warmup is not None:
        return int(settings.warmup)
    return min(max(settings.draws // 2, 100), 1000)


def _seed_sequence(seed: SeedLike) -> np.random.SeedSequence:
    if isinstance(seed, np.random.SeedSequence):
        # Spawning changes a SeedSequence; a copy keeps the caller's, and the draws, the same.
        return np.random.SeedSequence(seed.entropy, spawn_key=seed.spawn_key)
    if seed is not None and (
        not isinstance(seed, (int, np.integer)) or isinstance(seed, bool) or seed < 0
    ):
        raise MethodError(f"seed = {seed!r}; a non-negative whole number or None is needed.")
    return np.random.SeedSequence(None if seed is None else int(seed))


def _chunk(method: Method, n: int) -> int:
    """Sweeps between two looks at the clock: from the problem's size, never from the clock."""
    work = n + sum(len(p.members) + len(p.shape) for p in method.problems)
    return max(1, _CHUNK_STEPS // work)


def _processors() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1

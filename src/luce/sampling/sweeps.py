"""Chains of sweeps: kernels advance the cores, and exact splits share out the rest.

A chain has one random generator for each core, and another one for the exact splits.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from luce._types import FloatArray, WordArray
from luce.sampling.chains import FixedLengthChain, Rows, Snapshot
from luce.sampling.methods import Method, Part

if TYPE_CHECKING:
    from luce.kernels.dirichlet_tree import SplitPlan
    from luce.kernels.grouped_outcomes import SplitSpace
    from luce.model.shapes import ModuleShapes


@dataclass(frozen=True)
class Sweeping:
    """Method, chunk and thinning of the chains of one run.

    Parameters
    ----------
    method
        Kernels of the cores, and the splits around them.
    chunk
        Draws to make at once.
    thin
        Sweeps for each draw.
    tunes
        May kernels tune themselves during warm-up?
    """

    method: Method
    chunk: int
    thin: int = 1
    tunes: bool = True


@dataclass(kw_only=True)
class SweepChain(FixedLengthChain):
    """One chain of sweeps over the parts of a posterior.

    Parameters
    ----------
    sweeping
        Method, chunk and thinning.
    generators, tunings
        Random bits and tuning of each part, one row a part.
    splitter
        Random bits of the exact splits.
    states
        State of each part.
    spaces
        Scratch of each part, where outcomes are grouped.
    """

    sweeping: Sweeping
    generators: WordArray
    splitter: WordArray
    states: list[FloatArray]
    tunings: FloatArray
    spaces: list[SplitSpace | None]
    _buffers: dict[int, FloatArray] = field(default_factory=dict, repr=False)

    @property
    def chunk(self) -> int:
        """Sweeps or draws to make at once."""
        return self.sweeping.chunk

    def start_over(self, sweeping: Sweeping) -> None:
        """Reset the chain to make all its draws from the present state, without warm-up."""
        self.sweeping, self.done, self.warmed = sweeping, 0, self.warmup

    def state(self) -> Snapshot:
        """Return the arrays that the next sweep depends on."""
        each = {f"state_{q}": state for q, state in enumerate(self.states)}
        bits = {"splitter": self.splitter, "generators": self.generators}
        return {**bits, "tunings": self.tunings, **each}

    def warm_up(self, size: int) -> None:
        """Sweep, and let kernels tune themselves."""
        for q, part in enumerate(self.sweeping.method.parts):
            if not part.kernel.independent:
                adapt = self.sweeping.tunes and part.kernel.first_tuning is not None
                self._sweep(part, q, size, adapt, np.empty(size))

    def draw(self, rows: Rows, size: int) -> None:
        """Make draws, one for every `thin` sweeps, and write them and their statistics."""
        method, thin = self.sweeping.method, self.sweeping.thin
        every = slice(thin - 1, None, thin)
        pieces = []
        for q, part in enumerate(method.parts):
            statistics = np.empty(size * thin)
            swept = self._sweep(part, q, size * thin, False, statistics)
            kept = swept if thin == 1 else np.ascontiguousarray(swept[every])
            atoms = len(part.problem.shape)
            for k, name in enumerate(part.kernel.extra):
                rows[f"posterior/{name}"][:] = kept[:, atoms + k]
            pieces.append(np.ascontiguousarray(kept[:, :atoms]))
            for name in method.statistics:
                own = part.kernel.statistic == name
                rows[f"sample_stats/{name}"][:, q] = statistics[every] if own else np.nan
        self._share_out(pieces, rows, size)

    def _share_out(self, pieces: list[FloatArray], rows: Rows, size: int) -> None:
        """Split the cores' shares into probabilities of all categories."""
        from luce.kernels.dirichlet_tree import draw_splits

        method = self.sweeping.method
        wide = any(part.problem.wide for part in method.parts)
        p = rows["posterior/probabilities"]
        logs = rows.get("posterior/log_probabilities", np.empty((0, 0)))
        if method.splits is None:
            p[:] = np.exp(pieces[0]) if wide else pieces[0]
            if logs.size:
                logs[:] = pieces[0] if wide else np.log(pieces[0])
            return
        for q, part in enumerate(method.parts):
            if wide and not part.problem.wide:
                pieces[q] = np.log(pieces[q])
        if not wide and not logs.size and _only_a_core(method.splits):
            p[:, method.splits.target] = pieces[0]
            return
        shares = pieces[0] if len(pieces) == 1 else np.hstack([np.empty((size, 0)), *pieces])
        draw_splits(self.splitter, method.splits, shares, wide, p, logs)

    def _sweep(self, part: Part, q: int, size: int, adapt: bool, stat: FloatArray) -> FloatArray:
        """Advance part q; return its states, one a row, valid until part q is advanced again."""
        if q not in self._buffers or len(self._buffers[q]) < size:
            entries = len(part.problem.shape) + len(part.kernel.extra)
            self._buffers[q] = np.empty((size, entries))
        out, state, tuning = self._buffers[q][:size], self.states[q], self.tunings[q]
        advance, bits, space = part.kernel.advance, self.generators[q], self.spaces[q]
        advance(bits, part.arrays, part.fit, state, tuning, adapt, out, stat, space)
        return out


def _only_a_core(splits: SplitPlan) -> bool:
    """Tell whether one core shares out everything, among categories alone."""
    from luce.kernels.dirichlet_tree import CORE

    return len(splits.module) == 1 and splits.kind[0] == CORE and bool((splits.target >= 0).all())


def new_sweep_chain(
    number: int,
    seed: np.random.SeedSequence,
    sweeping: Sweeping,
    length: tuple[int, int],
    start: FloatArray | None = None,
    shapes: ModuleShapes | None = None,
    proposal: float | None = None,
) -> SweepChain:
    """Make a chain with its generators and its starting point.

    Parameters
    ----------
    number, seed
        The chain's number, and its own seed.
    sweeping
        Method, chunk and thinning.
    length
        Warm-up sweeps, and draws.
    start
        Probabilities of all categories to start at; draws of the prior where this is None.
    shapes
        Adds up the starting probabilities over the cells of cores, where there are cores.
    proposal
        Fixed concentration of proposals; None where it is tuned.
    """
    from luce.kernels.grouped_outcomes import split_space
    from luce.kernels.random import new_bits

    parts = sweeping.method.parts
    *part_seeds, split_seed = seed.spawn(len(parts) + 1)
    states = []
    for q, (part, own) in enumerate(zip(parts, part_seeds, strict=True)):
        if start is None:
            states.append(part.draw_start(np.random.default_rng(own.spawn(1)[0])))
        elif sweeping.method.splits is not None and shapes is not None:
            states.append(part.start_at(shapes.core_masses(start, q)))
        else:
            states.append(part.start_at(start))
    return SweepChain(
        number=number,
        sweeping=sweeping,
        generators=np.array([new_bits(own) for own in part_seeds], np.uint64).reshape(-1, 4),
        splitter=new_bits(split_seed),
        states=states,
        tunings=np.array([_first_tuning(part, proposal) for part in parts]).reshape(-1, 4),
        spaces=[split_space(part.problem) for part in parts],
        warmup=length[0],
        draws=length[1],
    )


def _first_tuning(part: Part, proposal: float | None) -> FloatArray:
    first = 0.0
    if proposal is not None:
        first = np.log(proposal)
    elif part.kernel.first_tuning is not None:
        first = part.kernel.first_tuning(part.problem, part.fit)
    return np.asarray([first, 0.0, first, 0.0])

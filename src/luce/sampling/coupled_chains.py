"""Pairs of chains that meet: what is simulated for estimates without bias and for bounds.

Both chains of a pair start at draws of the same law, that of `Posterior.sample`, and make the same
sweeps of waiting times, without tuning.  X is `lag` sweeps ahead of Y.  From then on both advance
together, by a coupling under which they meet, X_(t + lag) = Y_t, after which they are the same.

All cores of a posterior are parts of one chain: a pair has met when all of its cores have.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from luce._types import FloatArray
from luce.counts.contests import Contests
from luce.counts.labels import plural
from luce.counts.tied_choices import TiedChoices
from luce.errors import MethodError
from luce.model.model import Model
from luce.sampling.choice import Choice, choose
from luce.sampling.expansion import Expansion
from luce.sampling.methods import Method, Part, prepare
from luce.sampling.settings import Settings

if TYPE_CHECKING:
    from luce.kernels.coupled import Pair

# Coupled sweeps that a pair makes at once: few where it is likely to meet soon.
_FIRST_SWEEPS, _MOST_SWEEPS, _MOST_NUMBERS = 32, 4096, 1_000_000

_CERTIFIED = "a certified warm-up needs sweeps of waiting times"


class NotMetError(MethodError):
    """Raised when a pair of chains has not met after as many sweeps as it may make."""


@dataclass(frozen=True)
class Meeting:
    """The states of a pair of chains.

    Attributes
    ----------
    x, y
        Of each part, the states X_0, X_1, ... and Y_0, Y_1, ..., one a row.  Those of Y end where
        all parts have met.
    met
        Coupled sweeps until the two met: the first t with X_(t + lag) = Y_t.
    """

    x: list[FloatArray]
    y: list[FloatArray]
    met: int


class CoupledChains:
    """The sweeps of waiting times of a model, for pairs of chains.

    Attributes
    ----------
    method
        Parts, and the exact splits around them.
    """

    def __init__(self, model: Model) -> None:
        self.model = model
        self.method = sweeps_of(model)

    @cached_property
    def expansion(self) -> Expansion:
        """Means of all probabilities, given the cores."""
        return Expansion.of(self.method)

    @cached_property
    def pairs(self) -> list[Pair]:
        """The kernels of each part."""
        from luce.kernels.coupled import BLOCKS, CONTESTS, RAO_KUPPER, SETS

        events = self.model.counts.events
        if events is None:
            return [SETS] * len(self.method.parts)
        if not isinstance(events, Contests):
            return [BLOCKS]
        return [RAO_KUPPER if is_sliced(self.model) else CONTESTS]

    def meet(self, seed: np.random.SeedSequence, lag: int, least: int, longest: int) -> Meeting:
        """Simulate a pair until it has met, and X for at least `least` sweeps.

        Parameters
        ----------
        seed
            The pair's own.
        lag
            Sweeps by which X is ahead of Y.
        least
            Sweeps of X.
        longest
            Coupled sweeps after which a pair that has not met is given up.

        Raises
        ------
        NotMetError
            When the pair is given up.
        """
        seeds = seed.spawn(len(self.pairs))
        ways = zip(self.method.parts, self.pairs, seeds, strict=True)
        found = [_Way(part, pair, own, lag) for part, pair, own in ways]
        for way in found:
            way.meet(longest)
        met = max((way.met for way in found), default=0)
        for way in found:
            way.go_on(max(least, lag + met))
        x = [way.x for way in found]
        # A part that met before the others has Y = X from then on.
        y = [np.vstack([w.y, w.x[lag + w.met + 1 : lag + met + 1]]) for w in found]
        return Meeting(x, y, met)

    def shares(self, rows: list[FloatArray]) -> list[FloatArray]:
        """Return the probabilities in rows of each part."""
        found = []
        for part, own in zip(self.method.parts, rows, strict=True):
            atoms = own[:, : len(part.problem.shape)]
            found.append(np.exp(atoms) if part.problem.wide else atoms)
        return found

    def parameters(self, rows: list[FloatArray]) -> dict[str, FloatArray]:
        """Return the drawn parameters of the data in rows, by name."""
        if not self.model.drawn_parameters:
            return {}
        (part,), (own,) = self.method.parts, rows
        first = len(part.problem.shape)
        return {name: own[:, first + k] for k, name in enumerate(part.kernel.extra)}


def sweeps_of(model: Model) -> Method:
    """Prepare plain sweeps of waiting times, or refuse where no coupling is known."""
    if model.hyperprior is not None:
        raise MethodError(
            "the concentration has a prior, and no coupling is known of chains that draw it too. "
            "Give the concentration as a number, or use sample()."
        )
    if isinstance(model.counts.events, TiedChoices):
        raise MethodError(
            f"no coupling is known of the Hamiltonian moves that draw {model.counts.events.model}. "
            "Read ties as of unknown order, or use sample()."
        )
    reduced = model.counts.events is None
    number = len(model.structure.cores) if reduced else 1
    choice = Choice(("waiting-times",) * number, ("coupled",) * number, reduced)
    return plain_sweeps(prepare(model, choice))


def choose_coupled(model: Model, settings: Settings) -> Choice:
    """Choose as `choose` does, but sweeps of waiting times for all that is no independent draw.

    Refuses models whose sweeps cannot be coupled.
    """
    from luce.kernels import KERNELS

    _ = sweeps_of(model)
    if is_sliced(model):
        raise MethodError(
            "warmup='certified' is not offered where θ of Rao and Kupper's ties is drawn: of the "
            "slices that draw it no coupling is known. luce.unbiased draws it by another step, and "
            "a known tie= can be given."
        )
    if model.counts.events is not None:
        return choose(model, replace(settings, method="waiting-times"))
    found = choose(model, settings)
    kept = [KERNELS[name].independent for name in found.methods]
    pairs = zip(kept, found.methods, found.reasons, strict=True)
    chosen = [(name, why) if own else ("waiting-times", _CERTIFIED) for own, name, why in pairs]
    return replace(
        found,
        methods=tuple(name for name, _ in chosen),
        reasons=tuple(reason for _, reason in chosen),
    )


def plain_sweeps(method: Method) -> Method:
    """Leave out moves of groups and of single items, of which no coupling is known."""
    from luce.kernels.shifts import Shifts
    from luce.kernels.single_items import SingleItems

    moved = (Shifts, SingleItems)
    parts = [replace(p, fit=None) if isinstance(p.fit, moved) else p for p in method.parts]
    return Method(tuple(parts), method.splits)


def has_plain_sweeps(model: Model) -> bool:
    """Tell whether `Posterior.sample` by "waiting-times" makes the sweeps of coupled chains."""
    events = model.counts.events
    if isinstance(events, Contests):
        return not is_sliced(model)
    if events is not None:
        return True
    method = prepare(model, Choice(("waiting-times",) * len(model.structure.cores), ()))
    plain = plain_sweeps(method)
    return all(a is b for a, b in zip(method.parts, plain.parts, strict=True))


def is_sliced(model: Model) -> bool:
    """Tell whether `Posterior.sample` draws a parameter of ties by a slice."""
    events = model.counts.events
    sliced = isinstance(events, Contests) and events.ties == "rao-kupper"
    return sliced and "tie" in model.drawn_parameters


class _Way:
    """One part of a pair of chains."""

    def __init__(self, part: Part, pair: Pair, seed: np.random.SeedSequence, lag: int) -> None:
        from luce.kernels.grouped_outcomes import split_space
        from luce.kernels.random import new_bits

        ahead, behind, sweeps = seed.spawn(3)
        self.part, self.pair, self.bits = part, pair, new_bits(sweeps)
        self.space = split_space(part.problem)
        self.state = part.draw_start(np.random.default_rng(ahead))
        self.behind = part.draw_start(np.random.default_rng(behind))
        self.atoms = len(part.problem.shape)
        self.width = self.atoms + len(part.kernel.extra)
        self.x, self.y = self._row(self.state), self._row(self.behind)
        self.met = 0
        self.go_on(lag)

    def _row(self, state: FloatArray) -> FloatArray:
        """Return a first state as a row; its parameters are of no use, and left out."""
        row = np.full((1, self.width), np.nan)
        row[0, : self.atoms] = state[: self.atoms]
        return row

    def meet(self, longest: int) -> None:
        """Advance both chains until they have met."""
        size = min(_FIRST_SWEEPS, max(1, _MOST_NUMBERS // self.width))
        while not np.array_equal(self.state, self.behind):
            if self.met >= longest:
                raise NotMetError(f"a pair of chains has not met after {plural(longest, 'sweep')}")
            out_x, out_y = self._both(min(size, longest - self.met), True)
            self.met += len(out_x)
            self.x, self.y = np.vstack([self.x, out_x]), np.vstack([self.y, out_y])
            size = min(2 * size, _MOST_SWEEPS, max(1, _MOST_NUMBERS // self.width))

    def go_on(self, sweeps: int) -> None:
        """Advance X alone until it has made so many sweeps."""
        more = sweeps + 1 - len(self.x)
        if more <= 0:
            return
        if self.pair.alone is None:
            kept, self.behind = self.behind, self.state.copy()
            out, _ = self._both(more, False)
            self.behind = kept
        else:
            out = np.empty((more, self.width))
            rest = np.zeros(4), False, out, np.empty(more), self.space
            self.pair.alone(self.bits, self.part.arrays, self.part.fit, self.state, *rest)
        self.x = np.vstack([self.x, out])

    def _both(self, size: int, stops: bool) -> tuple[FloatArray, FloatArray]:
        out_x, out_y = np.empty((size, self.width)), np.empty((size, self.width))
        given = self.bits, self.part.arrays, self.part.fit, self.state, self.behind
        made = self.pair.both(*given, stops, out_x, out_y, self.space)
        return out_x[:made], out_y[:made]

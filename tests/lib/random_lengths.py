"""Chains of a length that nobody knows beforehand, as couplings have it.

A walk starts at 0 and ends as soon as it has left an interval.  It can be asked for more draws.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np

from luce.model.contents import Group
from luce.model.parameters import Parameter
from luce.sampling.chains import Output, Rows, Sink, Snapshot
from luce.sampling.plan import Plan, settings_from_json, settings_to_json
from luce.sampling.settings import Settings


@dataclass
class Walk:
    """A walk that ends where it leaves [-bound, bound]; at most `most` draws."""

    number: int
    bits: np.random.Generator
    bound: float
    most: int
    chunk: int
    warmup: int = 3
    warmed: int = 0
    done: int = 0
    place: float = 0.0
    expected: ClassVar[int | None] = None

    @property
    def steps(self) -> int:
        return self.warmed + self.done

    @property
    def finished(self) -> bool:
        return abs(self.place) > self.bound or self.done >= self.most

    def advance(self, sink: Sink) -> None:
        if self.warmed < self.warmup:
            self.bits.standard_normal()
            self.warmed += 1
            sink.warmed(self)
            return
        path: list[float] = []
        while len(path) < self.chunk and not self._ends(len(path)):
            self.place += self.bits.standard_normal()
            path.append(self.place)
        rows = sink.rows(self, len(path))
        rows["posterior/place"][:] = path
        self.done += len(path)
        sink.filled(self, len(path))

    def _ends(self, more: int) -> bool:
        return abs(self.place) > self.bound or self.done + more >= self.most

    def snapshot(self) -> Snapshot:
        state: Any = self.bits.bit_generator.state["state"]
        words = [state[name] >> 64 * k & (2**64 - 1) for name in ("state", "inc") for k in (0, 1)]
        return {
            "done": np.int64(self.done),
            "warmed": np.int64(self.warmed),
            "bits": np.array(words, np.uint64),
            "place": np.float64(self.place),
        }

    def restore(self, arrays: Snapshot) -> None:
        if not 0 <= int(arrays["done"]) <= self.most:
            raise ValueError("the snapshot is further on than the chain is to go")
        self.done, self.warmed = int(arrays["done"]), int(arrays["warmed"])
        self.place = float(arrays["place"])
        a, b, c, d = (int(word) for word in arrays["bits"])
        state: Any = self.bits.bit_generator.state
        state["state"] = {"state": a | b << 64, "inc": c | d << 64}
        self.bits.bit_generator.state = state


@dataclass(frozen=True, eq=False)
class WalkPlan(Plan):
    """Plan some walks; `settings.draws` is the most that one can have on a disk."""

    kind: ClassVar[str] = "walk"

    settings: Settings
    bound: float = 6.0
    independent: ClassVar[bool] = True

    parameters: ClassVar[Sequence[Parameter]] = (Parameter("place", support="real"),)
    outputs: ClassVar[Sequence[Output]] = (Output("posterior/place", (), ()),)
    warmup: ClassVar[int] = 3
    chunk: ClassVar[int] = 4

    def new_chain(self, number: int, seed: np.random.SeedSequence) -> Walk:
        bits = np.random.Generator(np.random.PCG64(seed))
        return Walk(number, bits, self.bound, self.settings.draws, self.chunk)

    def attributes(self) -> dict[str, Any]:
        return {"model": "walk"}

    def groups(self) -> dict[str, Group]:
        return {}

    def to_json(self) -> dict[str, Any]:
        return {"kind": self.kind, "settings": settings_to_json(self.settings)}

    @classmethod
    def from_json(cls, given: dict[str, Any]) -> WalkPlan:
        return cls(settings_from_json(given["settings"], progress=False))


@dataclass
class Lists:
    """A sink that takes any number of draws."""

    paths: dict[int, list[float]] = field(default_factory=dict)
    warmups: int = 0
    room: dict[int, Rows] = field(default_factory=dict)

    def rows(self, chain: Any, size: int) -> Rows:
        self.room[chain.number] = {"posterior/place": np.empty(size)}
        return self.room[chain.number]

    def filled(self, chain: Any, size: int) -> None:
        drawn = self.room[chain.number]["posterior/place"][:size].tolist()
        self.paths.setdefault(chain.number, []).extend(drawn)

    def warmed(self, chain: Any) -> None:
        self.warmups += 1


def walk_plan(draws: int = 5000, chains: int = 5) -> WalkPlan:
    """Some walks of very different lengths, in blocks of eight draws."""
    return WalkPlan(
        Settings(draws=draws, chains=chains, seed=11, threads=1, progress=False, block_chunks=2)
    )

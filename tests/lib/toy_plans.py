"""Toy plans: one of given draws, to pass verdicts on, and one with hidden states, some stored."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from luce.counts.labels import label_array
from luce.model.contents import Group
from luce.model.parameters import Parameter
from luce.sampling.chains import Chain, FixedLengthChain, Output, Rows, Snapshot
from luce.sampling.convergence import Verdict, check
from luce.sampling.plan import Plan, settings_from_json, settings_to_json
from luce.sampling.screen import DrawsToCheck
from luce.sampling.settings import Settings

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class GivenDraws(Plan):
    """A plan and a sink in one: draws of one parameter, and of acceptance where it is given."""

    kind: ClassVar[str] = "given draws"

    arrays: dict[str, Floats]
    settings: Settings = field(default_factory=Settings)

    @property
    def parameters(self) -> Sequence[Parameter]:
        return (Parameter("x", ("entry",), {"entry": np.arange(self.outputs[0].shape[0])}),)

    @property
    def outputs(self) -> Sequence[Output]:
        return [Output(path, ("entry",), x.shape[2:]) for path, x in self.arrays.items()]

    @property
    def warmup(self) -> int:
        return 0

    @property
    def chunk(self) -> int:
        return 1

    def new_chain(self, number: int, seed: np.random.SeedSequence) -> Chain:
        raise NotImplementedError

    def attributes(self) -> dict[str, Any]:
        return {}

    def groups(self) -> dict[str, Group]:
        return {}

    def to_json(self) -> dict[str, Any]:
        return {}

    @property
    def draws(self) -> int:
        return self.arrays["posterior/x"].shape[1]

    def read(
        self, path: str, chain: int, rows: slice, entries: slice | npt.NDArray[np.int64]
    ) -> Floats:
        return self.arrays[path][chain, rows][:, entries]


def check_draws(x: Floats, accepted: Floats | None = None) -> Verdict:
    """Pass the verdict on draws of shape (chain, draw, entry), and warn as a run would."""
    arrays = {"posterior/x": x}
    if accepted is not None:
        arrays["sample_stats/accepted"] = accepted
    plan = GivenDraws(arrays, Settings(chains=len(x)))
    return check(plan, plan)


# -- hidden states, of which only some draws are stored --------------------------------------------

# Labels of the times' sequences and of the states, of many kinds; places of the states stored.
SEQUENCES = [("a", 1), ("a", 1), "b", None, None, 7]
STATES = ["up", ("down", 2), "idle"]
KEPT = np.array([2, 0])


@dataclass
class Hidden:
    """State of a chain: labels of the times, a level that wanders, and the number of steps."""

    key: int
    labels: npt.NDArray[np.int64]
    level: Floats
    steps_made: npt.NDArray[np.int64]

    @classmethod
    def new(cls, key: int) -> Hidden:
        return cls(key, np.zeros(len(SEQUENCES), np.int64), np.zeros(1), np.zeros(1, np.int64))

    def step(self) -> None:
        rng = np.random.default_rng([self.key, int(self.steps_made[0])])
        self.labels[rng.integers(len(self.labels))] = rng.integers(-300, len(STATES))
        self.level *= 0.3
        self.level += rng.normal()
        self.steps_made += 1

    def draw(self) -> dict[str, Any]:
        """All that a draw may store, by path."""
        return {
            "posterior/log_likelihood": self.level[0],
            "sample_stats/segments": 1 + np.count_nonzero(np.diff(self.labels)),
            "states/states": self.labels.copy(),
            "states/weights": self.level[0] * np.arange(1.0, len(STATES) + 1),
        }


@dataclass(kw_only=True)
class StatesChain(FixedLengthChain):
    """A chain of hidden states, which writes every output at the draws at which it is stored."""

    hidden: Hidden
    outputs: Sequence[Output]
    size: int
    interrupted_at: int | None = None

    @property
    def chunk(self) -> int:
        return self.size

    def warm_up(self, size: int) -> None:
        for _ in range(size):
            self.hidden.step()

    def draw(self, rows: Rows, size: int) -> None:
        written = dict.fromkeys(rows, 0)
        for number in range(self.done, self.done + size):
            self.hidden.step()
            drawn = self.hidden.draw()
            for output in self.outputs:
                if (number + 1) % output.every == 0:
                    rows[output.path][written[output.path]] = drawn[output.path]
                    written[output.path] += 1
        assert written == {path: len(values) for path, values in rows.items()}
        if self.interrupted_at is not None and self.done + size >= self.interrupted_at:
            os.kill(os.getpid(), signal.SIGINT)
            time.sleep(0.3)  # until the main thread has seen it

    def state(self) -> Snapshot:
        own = self.hidden
        return {"labels": own.labels, "level": own.level, "steps_made": own.steps_made}


@dataclass(frozen=True, eq=False)
class StatesPlan(Plan):
    """A plan with whole numbers, and with hidden states of every k-th draw."""

    kind: ClassVar[str] = "toy states"

    settings: Settings
    every: int = 3
    size: int = 1
    interrupted_at: int | None = None
    verdict_of_states: bool = False

    warmup: ClassVar[int] = 4
    parameters: ClassVar[Sequence[Parameter]] = (Parameter("log_likelihood", support="real"),)

    @property
    def chunk(self) -> int:
        return self.size

    @cached_property
    def outputs(self) -> Sequence[Output]:
        given: dict[str, Any] = {"every": self.every}
        return (
            Output("posterior/log_likelihood", (), (), attributes=self.parameters[0].attributes),
            Output("sample_stats/segments", (), (), dtype=np.int32),
            Output("states/states", ("time",), (len(SEQUENCES),), dtype=np.int16, **given),
            Output("states/weights", ("state",), (len(STATES),), KEPT, {"unit": "log"}, **given),
        )

    def coords(self, group: str) -> Mapping[str, Any]:
        if group != "states":
            return {}
        return {
            "time": np.arange(len(SEQUENCES)),
            "state": label_array([STATES[k] for k in KEPT]),
            "sequence": ("time", label_array(SEQUENCES)),
        }

    def judged(self, sink: DrawsToCheck, verdict: Verdict) -> Verdict:
        if not self.verdict_of_states:
            return verdict
        chains = range(self.settings.chains)
        read = [sink.read("states/states", c, slice(None), slice(1, 4)) for c in chains]
        assert {x.dtype for x in read} == {np.dtype(np.int16)}
        words = f"{len(read[0])} draws of states add up to {np.sum(read, dtype=np.int64)}"
        return replace(verdict, kind="bad", problem=f"do not trust these: {words}")

    def key(self, number: int) -> int:
        return 1000 * int(str(self.settings.seed_sequence().entropy)) + number

    def new_chain(self, number: int, seed: np.random.SeedSequence) -> StatesChain:
        return StatesChain(
            number=number,
            warmup=self.warmup,
            draws=self.settings.draws,
            hidden=Hidden.new(self.key(number)),
            outputs=self.outputs,
            size=self.size,
            interrupted_at=self.interrupted_at if number == 0 else None,
        )

    def attributes(self) -> dict[str, Any]:
        return {"model": "semi-markov", "method": "toy", "independent_draws": 0}

    def groups(self) -> dict[str, Group]:
        coords = {"time": np.arange(len(SEQUENCES)), "sequence": ("time", label_array(SEQUENCES))}
        return {"observed_data": Group({"values": ("time", np.linspace(0, 1, 6))}, coords)}

    def to_json(self) -> dict[str, Any]:
        own = {"kind": self.kind, "settings": settings_to_json(self.settings)}
        return {**own, "every": self.every, "size": self.size}

    @classmethod
    def from_json(cls, given: dict[str, Any]) -> StatesPlan:
        settings = settings_from_json(given["settings"], progress=False)
        return cls(settings, int(given["every"]), int(given["size"]))


def states_plan(every: int = 3, size: int = 1, draws: int = 43, **more: Any) -> StatesPlan:
    """Plan two chains in small blocks; options of the plan and settings may be mixed."""
    own = {name: more.pop(name) for name in ("interrupted_at", "verdict_of_states") if name in more}
    given: dict[str, Any] = {"draws": draws, "chains": 2, "seed": 5, "progress": False}
    return StatesPlan(Settings(**{**given, "block_chunks": 2, **more}), every, size, **own)


def true_states(plan: StatesPlan, draws: int) -> dict[str, npt.NDArray[Any]]:
    """Step through all chains without any sink, and pick the draws and entries to be stored."""
    found: dict[str, list[Any]] = {output.path: [] for output in plan.outputs}
    for number in range(plan.settings.chains):
        hidden, steps = Hidden.new(plan.key(number)), []
        for _ in range(plan.warmup + draws):
            hidden.step()
            steps.append(hidden.draw())
        drawn = steps[plan.warmup :]
        some = drawn[plan.every - 1 :: plan.every]
        for name in ("posterior/log_likelihood", "sample_stats/segments"):
            found[name].append([draw[name] for draw in drawn])
        found["states/states"].append([draw["states/states"] for draw in some])
        found["states/weights"].append([draw["states/weights"][KEPT] for draw in some])
    shapes = {path: plan.output(path).stored_shape for path in found}
    return {
        path: np.array(chains).reshape(len(chains), len(chains[0]), *shapes[path])
        for path, chains in found.items()
    }

"""The smallest plan that a verdict on convergence can be passed on: one parameter, given draws."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from luce.model.contents import Group
from luce.model.parameters import Parameter
from luce.sampling.chains import Chain, Output
from luce.sampling.convergence import Verdict, check
from luce.sampling.plan import Plan
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

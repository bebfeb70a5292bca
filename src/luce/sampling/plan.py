"""Plans: the decisions about a run that are made before its first draw.

A plan holds the model, the settings and the choice of method.  It pickles as these three, never as
fits or compiled functions: workers and `luce.resume` make the same chains again from the plan, and
never choose again.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import cached_property, partial
from math import lcm
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from luce._types import Attributes, FloatArray, IntArray
from luce.counts.placings import Placings
from luce.errors import MethodError
from luce.model import contents
from luce.model.contents import Group
from luce.model.model import Model
from luce.model.parameters import Parameter
from luce.model.shapes import ModuleShapes
from luce.sampling.chains import Chain, Output, Snapshot
from luce.sampling.choice import Choice, choose
from luce.sampling.contests import ready_for_contests
from luce.sampling.coupled_chains import choose_coupled, plain_sweeps
from luce.sampling.meeting_times import Certificate, certify, child
from luce.sampling.methods import Method, prepare, prepare_core
from luce.sampling.rankings import ready_for_rankings
from luce.sampling.settings import CERTIFIED, Settings
from luce.sampling.sweeps import SweepChain, Sweeping, new_sweep_chain

if TYPE_CHECKING:
    from luce.sampling.convergence import Verdict
    from luce.sampling.screen import DrawsToCheck

# Shape of a category below which its probability is often too small for a double, so that
# logarithms are stored too.
_LOGS_BELOW = 0.1


# Draws that a chain makes at once even where each takes long, since some kernels must look around
# when they are called; unless these are so many numbers.
_LEAST_CHUNK, _MOST_NUMBERS = 8, 1_000_000

# Number, among the children of a run's seed, of the seed of its certificate; chains are fewer.
_OF_CERTIFICATE = 10**9

# Bytes that a draw counts for, at least, when the size of a block is chosen.
_LEAST_BYTES = 8


class Plan(ABC):
    """Decisions about a run: its parameters, outputs, chains and settings.

    Attributes
    ----------
    kind
        Name of the kind of run, stored with it.
    settings
        Number of draws and chains, seed, and so on.
    """

    kind: ClassVar[str]
    settings: Settings

    @property
    @abstractmethod
    def parameters(self) -> Sequence[Parameter]:
        """Quantities that the run draws."""

    @property
    @abstractmethod
    def outputs(self) -> Sequence[Output]:
        """Arrays that the chains fill."""

    @property
    @abstractmethod
    def warmup(self) -> int:
        """Sweeps that each chain discards."""

    @property
    @abstractmethod
    def chunk(self) -> int:
        """Draws that a chain makes at once."""

    @property
    def independent(self) -> bool:
        """Are the draws independent by construction?"""
        return False

    @property
    def block(self) -> int:
        """Draws in a block on a disk: the whole run, or as many as give blocks of equal size.

        A block has whole chunks, since a chain can go on only between them, and the same number of
        stored draws as any other, where only some draws of an output are stored.
        """
        by_size = self.settings.block_bytes // self._bytes_a_draw // self.chunk
        chunks = min(max(by_size, 1), self.settings.block_chunks)
        unit = lcm(self.chunk, *(output.every for output in self.outputs))
        return min(self.settings.draws, unit * max(chunks * self.chunk // unit, 1))

    @property
    def _bytes_a_draw(self) -> int:
        """Bytes of a draw of the largest output, on average over draws that are not stored."""
        sizes = (
            -(-int(np.prod(o.shape, dtype=np.int64)) * np.dtype(o.dtype).itemsize // o.every)
            for o in self.outputs
        )
        return max(*sizes, _LEAST_BYTES)

    def new_chains(self, numbers: Sequence[int] | None = None) -> list[Chain]:
        """Make the chains, or some of them, at their starting points."""
        seeds = self.settings.seed_sequence().spawn(self.settings.chains)
        wanted = range(self.settings.chains) if numbers is None else numbers
        return [self.new_chain(number, seeds[number]) for number in wanted]

    @abstractmethod
    def new_chain(self, number: int, seed: np.random.SeedSequence) -> Chain:
        """Make one chain at its starting point."""

    @abstractmethod
    def attributes(self) -> Attributes:
        """Describe model, method and data in words and numbers, for the run's attributes."""

    def final_attributes(self, ends: Sequence[Snapshot]) -> Attributes:
        """Return attributes known only after the last draw, from the chains' last snapshots."""
        return {}

    def coords(self, group: str) -> Mapping[str, Any]:
        """Return coordinates of a group of outputs, beside chains, draws and parameters' labels.

        A dimension's own coordinate is an array of labels; any other is a pair of its dimension and
        an array, as xarray takes it.
        """
        return {}

    def judged(self, sink: DrawsToCheck, verdict: Verdict) -> Verdict:
        """Complete the verdict on the draws by what only this plan can judge."""
        return verdict

    @abstractmethod
    def groups(self) -> dict[str, Group]:
        """Return the groups of the run that hold data and prior."""

    @abstractmethod
    def to_json(self) -> dict[str, Any]:
        """Return the decisions as values for JSON; data and prior are stored elsewhere."""

    def output(self, path: str) -> Output:
        """Find an output by its path."""
        return next(output for output in self.outputs if output.path == path)


def settings_to_json(settings: Settings) -> dict[str, Any]:
    """Turn settings into values that JSON keeps exactly; threads and progress are left out."""
    given = asdict(replace(settings, seed=None, keep=None))
    seed = settings.seed_sequence()
    for name in ("seed", "keep", "threads", "progress"):
        given.pop(name)
    if not isinstance(settings.initial, str):
        given["initial"] = np.asarray(settings.initial).tolist()
    given = {name: x.item() if isinstance(x, np.generic) else x for name, x in given.items()}
    given["seed_entropy"] = np.asarray(seed.entropy, object).tolist()
    given["seed_spawn_key"] = list(seed.spawn_key)
    given["seed_pool_size"] = seed.pool_size
    return given


def settings_from_json(given: dict[str, Any], **more: Any) -> Settings:
    """Make settings from the values that `settings_to_json` returned."""
    values = dict(given)
    seed = np.random.SeedSequence(
        values.pop("seed_entropy"),
        spawn_key=values.pop("seed_spawn_key"),
        pool_size=values.pop("seed_pool_size"),
    )
    return Settings(seed=seed, **values, **more)


class SweepPlan(Plan):
    """A plan whose chains sweep over cores and split the rest; see `sweeps`."""

    @property
    @abstractmethod
    def n(self) -> int:
        """Number of probabilities in a draw."""

    @property
    @abstractmethod
    def method(self) -> Method:
        """Prepared kernels and splits."""

    @property
    def independent(self) -> bool:
        """Are the draws independent by construction?"""
        return self.method.independent

    @property
    def warmup(self) -> int:
        """Sweeps that each chain discards; none where draws are independent."""
        if self.method.independent:
            return 0
        near = self.method.starts_near_the_mode and self._starts is None
        return self.settings.sweeps_to_discard(near)

    @property
    def chunk(self) -> int:
        """Draws that a chain makes at once."""
        work = self.method.work
        by_work = self.settings.chunk_steps // (self.n + work * self.settings.thin)
        return max(1, by_work, min(_LEAST_CHUNK, _MOST_NUMBERS // self.n))

    @property
    def sweeping(self) -> Sweeping:
        """Method, chunk and thinning of the chains."""
        tunes = self.settings.proposal_concentration is None
        return Sweeping(self.method, self.chunk, self.settings.thin, tunes)

    @cached_property
    def _starts(self) -> FloatArray | None:
        return self.settings.starting_points(self.n)

    def new_chain(
        self, number: int, seed: np.random.SeedSequence, shapes: ModuleShapes | None = None
    ) -> SweepChain:
        """Make one chain at its starting point."""
        return new_sweep_chain(
            number,
            seed,
            self.sweeping,
            (self.warmup, self.settings.draws),
            start=None if self._starts is None else self._starts[number],
            shapes=shapes,
            proposal=self.settings.proposal_concentration,
        )


@dataclass(frozen=True, eq=False)
class PosteriorPlan(SweepPlan):
    """Plan of a run that draws the posterior of a model.

    Parameters
    ----------
    model
        Data and prior.
    settings
        Number of draws and chains, seed, and so on.
    choice
        The method of each core.
    logs
        Are logarithms of the probabilities stored too?
    kept
        Numbers of the categories whose draws are stored; None for all.
    certificate
        The warm-up where it is certified.
    """

    kind: ClassVar[str] = "posterior"

    model: Model
    settings: Settings
    choice: Choice
    logs: bool
    kept: IntArray | None
    certificate: Certificate | None = field(default=None, kw_only=True)

    @classmethod
    def of(cls, model: Model, settings: Settings) -> PosteriorPlan:
        """Choose a method, and refuse settings that do not fit before any work is done."""
        kept = settings.kept_numbers(model.counts)
        settings.starting_points(model.counts.n_categories)
        certified = settings.warmup == CERTIFIED
        choice = (choose_coupled if certified else choose)(model, settings)
        plan = cls(model, settings, choice, _wants_logs(model, settings), kept)
        if not plan.method.independent and certified:  # a method that does not fit is refused
            root, threads = settings.seed_sequence(), settings.n_threads()
            found = certify(model, child(root, _OF_CERTIFICATE), threads, settings.progress)
            plan = replace(plan, certificate=found)
        return plan

    @classmethod
    def from_json(cls, model: Model, given: dict[str, Any], **more: Any) -> PosteriorPlan:
        """Make a plan again from the values that `to_json` returned; nothing is chosen anew."""
        settings = settings_from_json(given["settings"], **more)
        chosen = given["choice"]
        choice = Choice(tuple(chosen["methods"]), tuple(chosen["reasons"]), bool(chosen["reduced"]))
        kept = None if given["kept"] is None else np.array(given["kept"], np.int64)
        found = given.get("certificate")
        certificate = None if found is None else Certificate(**found)
        logs = bool(given["logs"])
        return cls(model, settings, choice, logs, kept, certificate=certificate)

    def to_json(self) -> dict[str, Any]:
        """Return the decisions as values for JSON; data and prior are stored elsewhere."""
        return {
            "kind": self.kind,
            "settings": settings_to_json(self.settings),
            "choice": asdict(self.choice),
            "logs": self.logs,
            "kept": None if self.kept is None else self.kept.tolist(),
            "certificate": None if self.certificate is None else asdict(self.certificate),
        }

    @property
    def n(self) -> int:
        """Number of categories."""
        return self.model.counts.n_categories

    @cached_property
    def method(self) -> Method:
        """Prepared kernels and splits."""
        found = prepare(self.model, self.choice)
        return found if self.certificate is None else plain_sweeps(found)

    @property
    def warmup(self) -> int:
        """Sweeps that each chain discards."""
        return super().warmup if self.certificate is None else self.certificate.sweeps

    @property
    def parameters(self) -> Sequence[Parameter]:
        """Quantities that the model declares."""
        return self.model.parameters

    @cached_property
    def outputs(self) -> tuple[Output, ...]:
        """Parameters of the model, logarithms where they are kept, and statistics of the cores."""
        found = [
            Output(f"posterior/{p.name}", p.dims, p.shape, self._kept_of(p), p.attributes)
            for p in self.parameters
        ]
        if self.logs:
            logs = replace(found[0], path="posterior/log_probabilities", attributes=None)
            found.insert(1, logs)
        cores = (len(self.method.parts),)
        found += [
            Output(f"sample_stats/{name}", ("core",), cores) for name in self.method.statistics
        ]
        return tuple(found)

    def _kept_of(self, parameter: Parameter) -> IntArray | None:
        return self.kept if parameter.dims[-1:] == ("category",) else None

    def new_chain(
        self, number: int, seed: np.random.SeedSequence, shapes: ModuleShapes | None = None
    ) -> SweepChain:
        """Make one chain at its starting point."""
        own = self.model.shapes if self.choice.reduced else None
        return super().new_chain(number, seed, shapes or own)

    def attributes(self) -> Attributes:
        """Describe method, prior and data."""
        found: Attributes = {
            "model": "posterior",
            "method": self.choice.name,
            "reason": self.choice.reason,
            "independent_draws": int(self.independent),
            "reduced": int(self.choice.reduced),
            **contents.attributes(self.model),
        }
        if self.settings.thin > 1:
            found["thin"] = int(self.settings.thin)
        if self.kept is not None:
            found["kept_categories"] = len(self.kept)
        if not isinstance(self.settings.initial, str):
            found["initial"] = "given"
        if self.certificate is not None:
            own = asdict(self.certificate)
            found["certified"] = str(self.certificate)
            found |= {f"certified_{name}": own[name] for name in ("bound", "limit", "pairs", "lag")}
        if self.choice.methods:
            found["core_methods"] = list(self.choice.methods)
            found["core_reasons"] = list(self.choice.reasons)
        return found

    def final_attributes(self, ends: Sequence[Snapshot]) -> Attributes:
        """Return the concentration of Metropolis proposals, which may have been tuned."""
        tuned = [q for q, name in enumerate(self.choice.methods) if name == "metropolis"]
        if not tuned:
            return {}
        logs = np.array([end["tunings"][tuned, 2] for end in ends])
        return {"proposal_concentration": np.exp(logs).ravel().tolist()}

    def groups(self) -> dict[str, Group]:
        """Return the groups of the run that hold data and prior."""
        return contents.groups(self.model)

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle the decisions alone: kernels and fits are made again."""
        given = self.model, self.settings, self.choice, self.logs, self.kept
        return partial(type(self), certificate=self.certificate), given


@dataclass(frozen=True, eq=False)
class CorePlan(SweepPlan):
    """Plan of a run that draws one core of a posterior alone, with logarithms."""

    kind: ClassVar[str] = "core"

    shapes: ModuleShapes
    core: int
    settings: Settings

    @property
    def n(self) -> int:
        """Number of cells of the core."""
        return self.shapes.structure.cores[self.core].n_atoms

    @cached_property
    def method(self) -> Method:
        """The kernel of this core, and no splits."""
        return Method((prepare_core(self.shapes, self.core, self.settings.method),), None)

    @property
    def parameters(self) -> Sequence[Parameter]:
        """Shares of the cells."""
        return (Parameter("probabilities", ("cell",), {"cell": np.arange(self.n)}, "simplex"),)

    @cached_property
    def outputs(self) -> tuple[Output, ...]:
        """Shares of the cells, their logarithms, and the statistics of the kernel."""
        paths = ("posterior/probabilities", "posterior/log_probabilities")
        shares = [Output(path, ("cell",), (self.n,)) for path in paths]
        own = [Output(f"sample_stats/{name}", ("core",), (1,)) for name in self.method.statistics]
        return (*shares, *own)

    def attributes(self) -> Attributes:
        """Return nothing: such a run is never stored."""
        return {}

    def groups(self) -> dict[str, Group]:
        """Return nothing: such a run is never stored."""
        return {}

    def to_json(self) -> dict[str, Any]:
        """Refuse: such a run is never stored."""
        raise MethodError("the draws of one core alone are not stored.")


def _wants_logs(model: Model, settings: Settings) -> bool:
    """Decide whether logarithms are stored too."""
    if settings.log_probabilities is not None:
        return bool(settings.log_probabilities)
    if model.counts.events is not None:
        if isinstance(model.counts.events, Placings):
            return ready_for_rankings(model).wide
        return bool(ready_for_contests(model).plain.wide)
    shapes = model.shapes
    if min(shapes.shape.min(), shapes.total.min()) < _LOGS_BELOW:
        return True
    # The probability of a set may be tiny where those of single categories and of cells are not.
    return any(shapes.core_problem(q).wide for q in range(len(model.structure.cores)))

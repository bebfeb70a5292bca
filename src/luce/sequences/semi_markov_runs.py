"""Runs of a hidden semi-Markov model: the plan, its chains, and the model of a stored run."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from luce._types import Attributes, BoolArray, FloatArray, WordArray
from luce.answers.diagnostics import verdict
from luce.counts.labels import label_array, plural
from luce.errors import DataError
from luce.model.contents import Group, require_run
from luce.model.parameters import Parameter
from luce.model.priors import Gamma
from luce.sampling.chains import FixedLengthChain, Output, Rows, Snapshot
from luce.sampling.convergence import Verdict
from luce.sampling.plan import Plan, settings_from_json, settings_to_json
from luce.sampling.screen import DrawsToCheck
from luce.sampling.settings import Settings
from luce.sequences.doubts import Doubts, doubts_about, doubts_of
from luce.sequences.semi_markov import BEGINNINGS, SemiMarkov, new_bits
from luce.sequences.semi_markov_state import SemiMarkovState, StepInfo
from luce.sequences.semi_markov_sweep import Sweeper
from luce.sequences.series import Series

if TYPE_CHECKING:
    from xarray import DataTree

# Bytes of stored states and parameters of all chains, and draws of each chain, at most, unless
# `keep_states` says otherwise.
_STORED_BYTES, _MOST_KEPT = 200_000_000, 250

# Power of the likelihood in the first sweep, and share of the warm-up after which it is 1.
_FIRST_POWER, _ANNEALED = 0.1, 0.7

_STATISTICS = ("states_used", "segments", "at_longest", "split_merge_proposed", "split_merge")


@dataclass(kw_only=True)
class SemiMarkovChain(FixedLengthChain):
    """One chain of Gibbs sweeps.

    Parameters
    ----------
    sweeper
        Model, series and buffers.
    bits
        Random bits.
    current
        State.
    size
        Sweeps to make at once.
    every
        Only every so many-th draw of states and parameters is stored.
    drawn
        Names of the concentrations that are drawn.
    """

    sweeper: Sweeper
    bits: WordArray
    current: SemiMarkovState
    size: int
    every: int
    drawn: Sequence[str]

    @property
    def chunk(self) -> int:
        """Sweeps to make at once."""
        return self.size

    def warm_up(self, size: int) -> None:
        """Sweep without storing anything, observations counting little at first."""
        for k in range(size):
            power = annealed(self.warmed + k, self.warmup)
            self.current, _ = self.sweeper.sweep(self.bits, self.current, power)

    def draw(self, rows: Rows, size: int) -> None:
        """Sweep, and write figures of all draws and states of some."""
        kept = 0
        for k in range(size):
            self.current, info = self.sweeper.sweep(self.bits, self.current)
            self._write(rows, k, info)
            if (self.done + k + 1) % self.every == 0:
                self._write_state(rows, kept)
                kept += 1

    def _write(self, rows: Rows, k: int, info: StepInfo) -> None:
        rows["posterior/log_likelihood"][k] = info.log_likelihood
        for name in self.drawn:
            rows[f"posterior/{name}"][k] = getattr(self.current, name)
        figures = (info.states_used, info.segments, info.at_longest, info.proposed, info.accepted)
        for name, figure in zip(_STATISTICS, figures, strict=True):
            rows[f"sample_stats/{name}"][k] = figure

    def _write_state(self, rows: Rows, k: int) -> None:
        now = self.current
        rows["states/states"][k] = now.labels
        for name in ("rows", "log_base", "initial"):
            rows[f"states/{name}"][k] = getattr(now, name)
        for name, values in now.emission.items():
            rows[f"states/{name}"][k] = values
        for name, values in now.duration.items():
            rows[f"states/{stored_name(name, now.emission)}"][k] = values

    def state(self) -> Snapshot:
        """Return the arrays that the next sweep depends on."""
        return {"bits": self.bits, **self.current.arrays()}

    def restore(self, arrays: Snapshot) -> None:
        """Continue from a snapshot; raise ValueError where it cannot be one of this chain."""
        super().restore(arrays)
        found = {name: np.asarray(arrays[name]) for name in self.current.arrays()}
        self.current = SemiMarkovState.of_arrays(found)


@dataclass(frozen=True, eq=False)
class SemiMarkovPlan(Plan):
    """Plan of a run that draws a `SemiMarkov` model given a series.

    Parameters
    ----------
    model
        The model, priors of its emission explicit.
    series
        The data.
    settings
        Number of draws and chains, seed, and so on.
    may_end
        Rows with which a segment may end; no entries where all rows are such.
    moves
        Moves that split and merge states, in each sweep.
    every
        Only every so many-th draw of states and parameters is stored.
    """

    kind: ClassVar[str] = "semi-markov"

    model: SemiMarkov
    series: Series
    settings: Settings
    may_end: BoolArray
    moves: int
    every: int

    @classmethod
    def of(
        cls,
        model: SemiMarkov,
        series: Series,
        settings: Settings,
        candidates: Any,
        moves: int,
        keep_states: int | None,
    ) -> SemiMarkovPlan:
        """Make priors explicit, and decide how many states are stored."""
        sweeper = model.sweeper(series, candidates, moves)
        explicit = model.with_emission(sweeper.emission)
        plan = cls(explicit, series, settings, sweeper.may_end, moves, 1)
        if keep_states is None:
            each = settings.chains * sum(o.bytes_of(1) for o in plan.outputs if o.group == "states")
            keep_states = max(1, min(_MOST_KEPT, _STORED_BYTES // max(each, 1), settings.draws))
        return replace(plan, every=max(1, settings.draws // keep_states))

    def new_sweeper(self) -> Sweeper:
        """Combine model and series, with buffers of its own for each chain."""
        found = self.model.sweeper(self.series, None, self.moves, self.model.emission)
        return replace(found, may_end=self.may_end, _buffers={})

    @property
    def warmup(self) -> int:
        """Sweeps that each chain discards."""
        return self.settings.sweeps_to_discard(near=False)

    @property
    def chunk(self) -> int:
        """Sweeps that a chain makes at once: a multiple of `every`, or a divisor of it."""
        steps = self.settings.chunk_steps // (self.series.length * self.model.n_states)
        if steps >= self.every:
            return steps // self.every * self.every
        return next(k for k in range(max(steps, 1), 0, -1) if self.every % k == 0)

    @property
    def drawn(self) -> list[str]:
        """Names of the concentrations that are drawn."""
        both = ("concentration", "base_concentration")
        return [name for name in both if isinstance(getattr(self.model.transitions, name), Gamma)]

    @cached_property
    def parameters(self) -> tuple[Parameter, ...]:
        """Log likelihood and drawn concentrations: quantities without labels of states."""
        found = [Parameter("log_likelihood", support="real")]
        return (*found, *(Parameter(name, support="positive") for name in self.drawn))

    @cached_property
    def outputs(self) -> tuple[Output, ...]:
        """Figures of all draws, and states and parameters of some."""
        n, length = self.model.n_states, self.series.length
        found = [Output(f"posterior/{p.name}", (), (), None, p.attributes) for p in self.parameters]
        found += [Output(f"sample_stats/{name}", (), ()) for name in _STATISTICS]

        def kept(name: str, dims: tuple[str, ...], dtype: Any = np.float64) -> Output:
            sizes = {"time": length, "source": n, "state": n, **self._sizes}
            shape = tuple(sizes[dim] for dim in dims)
            return Output(f"states/{name}", dims, shape, dtype=dtype, every=self.every)

        found += [
            kept("states", ("time",), np.int16),
            kept("rows", ("source", "state")),
            kept("log_base", ("state",)),
            kept("initial", ("state",)),
        ]
        own = self.model.emission.dims(self.series)
        found += [kept(name, ("state", *dims)) for name, dims in own.items()]
        found += [
            kept(stored_name(name, own), ("state", *dims))
            for name, (dims, _) in self._duration_dims.items()
        ]
        return tuple(found)

    @cached_property
    def _duration_dims(self) -> dict[str, tuple[tuple[str, ...], tuple[int, ...]]]:
        return self.model.duration.dims(self.longest)

    @cached_property
    def longest(self) -> int:
        """Longest segment that is looked for; 0 for no limit."""
        return self.model.longest_in(self.series)

    @cached_property
    def _sizes(self) -> dict[str, int]:
        """Sizes of the dimensions of emission and duration."""
        labels = self.model.emission.coords(self.series)
        own = {dim: len(given) for dim, given in labels.items()}
        for dims, shape in self._duration_dims.values():
            own |= dict(zip(dims, shape, strict=True))
        return own

    def coords(self, group: str) -> dict[str, Any]:
        """Label rows, states and channels of stored states."""
        if group != "states":
            return {}
        states = label_array(self.model.states)
        own = {
            dim: label_array(labels)
            for dim, labels in self.model.emission.coords(self.series).items()
        }
        own |= {
            dim: np.arange(1, size + 1)
            for dims, shape in self._duration_dims.values()
            for dim, size in zip(dims, shape, strict=True)
        }
        return {**self._row_coords(), "state": states, "source": states, **own}

    def _row_coords(self) -> dict[str, Any]:
        """Number the rows, and name the sequence of each."""
        names = label_array(self.series.names)[self.series.sequence_of]
        return {"time": np.arange(self.series.length), "sequence": ("time", names)}

    def new_chain(self, number: int, seed: np.random.SeedSequence) -> SemiMarkovChain:
        """Make one chain; chains begin with random segments, one state, and all states in turn."""
        rng = np.random.default_rng(seed)
        bits = new_bits(rng)
        sweeper = self.new_sweeper()
        beginning = BEGINNINGS[number % len(BEGINNINGS)]
        return SemiMarkovChain(
            number=number,
            sweeper=sweeper,
            bits=bits,
            current=self.model.begin(sweeper, rng, bits, beginning),
            warmup=self.warmup,
            draws=self.settings.draws,
            size=self.chunk,
            every=self.every,
            drawn=self.drawn,
        )

    def attributes(self) -> Attributes:
        """Describe method, prior and data."""
        model, series = self.model, self.series
        rows, channels = plural(series.length, "row"), plural(series.n_channels, "channel")
        return {
            "model": "semi-markov",
            "method": "blocked-gibbs",
            "reason": "states of all rows are drawn at once given the parameters, and these given "
            "the states",
            "independent_draws": 0,
            "prior": f"{model.emission.prior_words()}; durations {model.duration}; "
            f"{self._concentrations()}",
            "n_states": model.n_states,
            "longest": self.longest,
            "start": model.start,
            "end": model.end,
            "split_merge": self.moves,
            "annealed": int(self.model.emission.conjugate),
            "states_every": self.every,
            "specification": json.dumps(model.to_json()),
            "data": f"{rows} of {channels} in {plural(series.n_sequences, 'sequence')}",
            "data_digest": series.digest,
        }

    def _concentrations(self) -> str:
        given = self.model.transitions
        both = (given.concentration, given.base_concentration)
        alpha, gamma = (repr(x) if isinstance(x, Gamma) else f"{x:g}" for x in both)
        return f"concentration {alpha}, base concentration {gamma}"

    def judged(self, sink: DrawsToCheck, verdict: Verdict) -> Verdict:
        """Add what the states say: agreement of chains, empty states, longest segments."""
        return with_doubts(verdict, self.doubts(sink))

    def doubts(self, sink: DrawsToCheck) -> Doubts:
        """Judge the draws by figures that do not depend on labels of states."""
        chains = self.settings.chains

        def read(path: str) -> FloatArray:
            return np.stack([sink.read(path, c, slice(None), slice(None)) for c in range(chains)])

        figures = {p.name: read(f"posterior/{p.name}")[..., 0] for p in self.parameters}
        for name in ("states_used", "segments", "at_longest"):
            figures[name] = read(f"sample_stats/{name}")[..., 0]
        at_longest = figures.pop("at_longest")
        n_states = self.model.n_states
        states = read("states/states")
        return doubts_about(
            states, figures, n_states=n_states, longest=self.longest, at_longest=at_longest
        )

    def groups(self) -> dict[str, Group]:
        """Return the groups of the run that hold data, mask and candidates."""
        series, states = self.series, label_array(self.model.states)
        coords = {**self._row_coords(), "channel": label_array(series.channels)}
        observed: dict[str, Any] = {
            "values": (("time", "channel"), series.values),
            "borders": ("border", series.borders),
        }
        if series.times is not None:
            coords["clock"] = ("time", series.times)
        if len(self.may_end):
            observed["may_end"] = ("time", self.may_end)
        if series.categories:
            coords["category"] = label_array(series.categories)
        mask = {"forbidden": (("source", "state"), self.model.transitions.forbidden)}
        names = {"sequence_names": ("sequence_number", label_array(series.names))}
        return {
            "observed_data": Group(observed | names, coords, {"dates": int(series.dates)}),
            "constant_data": Group(mask, {"source": states, "state": states}),
        }

    def to_json(self) -> dict[str, Any]:
        """Return the decisions as values for JSON; data and model are stored elsewhere."""
        return {
            "kind": self.kind,
            "settings": settings_to_json(self.settings),
            "moves": self.moves,
            "every": self.every,
        }

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle the decisions alone."""
        given = (self.model, self.series, self.settings, self.may_end, self.moves, self.every)
        return type(self), given


def annealed(sweep: int, warmup: int) -> float:
    """Return the power of the likelihood in a sweep of the warm-up: from 0.1 to 1.

    Chains then find their states together, from few to many, and agree far better than chains that
    split and merge states against the whole likelihood.
    """
    share = sweep / (_ANNEALED * warmup)
    return float(_FIRST_POWER ** (1.0 - share)) if share < 1.0 else 1.0


def with_doubts(trust: Verdict, doubts: Doubts) -> Verdict:
    """Add what the states say to a verdict on the parameters."""
    if doubts.kind == "good":
        return trust
    trust = replace(trust, limits=doubts.limits)
    if doubts.kind == "mixed":
        kind = "mixed" if trust.kind == "good" else trust.kind
        return replace(trust, kind=kind, care=(*trust.care, *doubts.cares))
    told = doubts.unmixed and not trust.still and np.isfinite(trust.rhat)  # by the doubts too
    known = None if told else trust.problem
    rest = [words for words in doubts.sentences if words not in doubts.limits]
    problem = " ".join([known or "do not trust these draws yet:", *rest])
    return replace(trust, kind="bad", problem=problem)


def verdict_of(run: DataTree, doubts: Doubts | None = None) -> Verdict:
    """Judge whether the draws of a run can be trusted, as `SemiMarkov.fit` does.

    Parameters
    ----------
    run
        A run of `SemiMarkov.fit`, in memory or on a disk.
    doubts
        What its states say, where that is known already.
    """
    return with_doubts(verdict(run), doubts_of(run) if doubts is None else doubts)


def stored_name(name: str, emission: Iterable[str]) -> str:
    """Name a parameter of durations in the group `states`, apart from those of the emission."""
    return f"duration_{name}" if name in emission else name


def semi_markov_of(run: DataTree) -> tuple[SemiMarkov, Series, BoolArray]:
    """Rebuild model, series and rows with which segments may end, from a run.

    Raises
    ------
    DataError
        When the run does not hold its data, or not the data it was drawn from.
    """
    require_run(run)
    if run.attrs.get("model") != "semi-markov":
        raise DataError(f"this is a run of the model {run.attrs.get('model')!r}, not semi-Markov.")
    series = series_of(run)
    try:
        mask = run["constant_data"]["forbidden"].to_numpy()
        observed = run["observed_data"]
        held = observed.to_dataset().variables
        may_end = observed["may_end"].to_numpy() if "may_end" in held else np.empty(0, np.bool_)
        states = run["constant_data"]["state"].to_numpy().tolist()
        given = json.loads(run.attrs["specification"])
    except KeyError as error:
        raise DataError(f"the run does not hold {error.args[0]!r}.") from error
    if series.digest != run.attrs.get("data_digest"):
        raise DataError("observed_data is not the data that this run was drawn from.")
    model = SemiMarkov.from_json(given, states, np.asarray(mask, np.bool_))
    return model, series, np.asarray(may_end, np.bool_)


def series_of(run: DataTree) -> Series:
    """Read the series that a run was drawn from.

    Raises
    ------
    DataError
        When the run does not hold its data.
    """
    try:
        observed = run["observed_data"]
        held = observed.to_dataset().variables
        return Series(
            np.ascontiguousarray(observed["values"].to_numpy(), np.float64),
            np.asarray(observed["borders"].to_numpy(), np.int64),
            tuple(observed["channel"].to_numpy().tolist()),
            tuple(observed["sequence_names"].to_numpy().tolist()),
            observed["clock"].to_numpy() if "clock" in held else None,
            tuple(observed["category"].to_numpy().tolist()) if "category" in held else (),
            bool(observed.attrs.get("dates", 0)),
        )
    except KeyError as error:
        raise DataError(f"the run does not hold its data: {error.args[0]}.") from error


def semi_markov_plan_of(run: DataTree, given: dict[str, Any], **more: Any) -> SemiMarkovPlan:
    """Make the plan of a run again; nothing is chosen anew."""
    model, series, may_end = semi_markov_of(run)
    settings = settings_from_json(given["settings"], **more)
    return SemiMarkovPlan(
        model, series, settings, may_end, int(given["moves"]), int(given["every"])
    )

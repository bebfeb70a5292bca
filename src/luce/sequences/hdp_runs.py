"""Runs of the HDP over transitions: data, chains, plans, and plans rebuilt from stored runs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

import numpy as np

from luce._types import Attributes, FloatArray, Label, WordArray
from luce.counts.labels import Categories, hash_of_names, label_array, plural
from luce.errors import DataError
from luce.model.contents import Group, require_run
from luce.model.parameters import Parameter
from luce.model.priors import Gamma
from luce.reading.frames import is_frame
from luce.reading.transitions import as_sequences, read_transitions
from luce.sampling.chains import FixedLengthChain, Output, Rows, Snapshot
from luce.sampling.plan import Plan, settings_from_json, settings_to_json
from luce.sampling.settings import Settings
from luce.sequences.hdp import HDPTransitions
from luce.sequences.hdp_problem import TransitionProblem, whole_counts
from luce.sequences.hdp_state import log_dirichlet

if TYPE_CHECKING:
    from xarray import DataTree

# Label of the states without a name, in the nonparametric form.
REMAINDER = "remainder"


class Transitions(NamedTuple):
    """Observed transitions: labels of the states, counts (from, to), and first states."""

    labels: Categories
    counts: FloatArray
    starts: FloatArray

    @property
    def digest(self) -> str:
        """Fingerprint of the data."""
        content = hash_of_names(self.labels.labels)
        for array in (self.counts, self.starts):
            content.update(np.ascontiguousarray(array).tobytes())
        return str(content.hexdigest())


@dataclass(kw_only=True)
class TransitionsChain(FixedLengthChain):
    """One chain of Gibbs sweeps over base, concentrations and rows.

    Parameters
    ----------
    problem
        Counts, mask and priors.
    bits
        Random bits.
    log_base, scales
        State: log β, and the logarithms of the two concentrations.
    size
        Sweeps to make at once.
    with_rows
        Are rows stored?
    drawn
        Names of the concentrations that are drawn.
    """

    problem: TransitionProblem
    bits: WordArray
    log_base: FloatArray
    scales: FloatArray
    size: int
    with_rows: bool
    drawn: Sequence[str]

    @property
    def chunk(self) -> int:
        """Sweeps to make at once."""
        return self.size

    def warm_up(self, size: int) -> None:
        """Sweep without storing anything."""
        self.problem.advance(self.bits, self.log_base, self.scales, size, False)

    def draw(self, rows: Rows, size: int) -> None:
        """Sweep, and write base, concentrations and rows."""
        new = self.problem.advance(self.bits, self.log_base, self.scales, size, self.with_rows)
        rows["posterior/log_base"][:] = new.log_base
        rows["posterior/base"][:] = np.exp(new.log_base)
        for k, name in enumerate(("concentration", "base_concentration")):
            if name in self.drawn:
                rows[f"posterior/{name}"][:] = new.concentrations[:, k]
        if self.with_rows:
            rows["posterior/rows"][:] = new.rows

    def state(self) -> Snapshot:
        """Return the arrays that the next sweep depends on."""
        return {"bits": self.bits, "log_base": self.log_base, "scales": self.scales}


@dataclass(frozen=True, eq=False)
class TransitionsPlan(Plan):
    """Plan of a run that draws an `HDPTransitions` model given transitions.

    Parameters
    ----------
    model
        The prior.
    data
        Observed transitions.
    settings
        Number of draws and chains, seed, and so on.
    with_rows
        Are the rows stored, beside base and concentrations?
    """

    kind: ClassVar[str] = "transitions"

    model: HDPTransitions
    data: Transitions
    settings: Settings
    with_rows: bool = True

    @cached_property
    def problem(self) -> TransitionProblem:
        """Counts, mask and priors as the kernel takes them."""
        return self.model.problem(self.data.counts, self.data.starts, self.data.labels)

    @property
    def warmup(self) -> int:
        """Sweeps that each chain discards."""
        return self.settings.sweeps_to_discard(near=False)

    @property
    def chunk(self) -> int:
        """Draws that a chain makes at once."""
        return max(1, self.settings.chunk_steps // self.problem.data.counts.size)

    @cached_property
    def parameters(self) -> tuple[Parameter, ...]:
        """Base, rows where they are stored, and the concentrations that are drawn."""
        columns = [*self.data.labels, *([REMAINDER] if self.model.is_nonparametric else [])]
        states = {"state": label_array(columns)}
        found = [Parameter("base", ("state",), states, "simplex", "competitor")]
        if self.with_rows:
            both = {"source": label_array(self.data.labels), **states}
            found.append(Parameter("rows", ("source", "state"), both, "simplex", "latent"))
        found += [Parameter(name, support="positive") for name in self.drawn]
        return tuple(found)

    @property
    def drawn(self) -> list[str]:
        """Names of the concentrations that are drawn."""
        both = ("concentration", "base_concentration")
        return [name for name in both if isinstance(getattr(self.model, name), Gamma)]

    @cached_property
    def outputs(self) -> tuple[Output, ...]:
        """All parameters, and the logarithm of the base."""
        found = [
            Output(f"posterior/{p.name}", p.dims, p.shape, None, p.attributes)
            for p in self.parameters
        ]
        base = found[0]
        found.insert(1, Output("posterior/log_base", base.dims, base.shape))
        return tuple(found)

    def new_chain(self, number: int, seed: np.random.SeedSequence) -> TransitionsChain:
        """Make one chain at a draw of the prior."""
        from luce.kernels.random import new_bits

        rng = np.random.default_rng(seed.spawn(1)[0])
        start = self.model.initial_state(rng)
        log_base = start.log_base
        if self.model.is_nonparametric:  # a draw of the prior has no named states
            log_base = log_dirichlet(rng, np.ones(self.problem.data.counts.shape[1]))
        return TransitionsChain(
            number=number,
            problem=self.problem,
            bits=new_bits(seed),
            log_base=log_base,
            scales=np.log([start.concentration, start.base_concentration]),
            warmup=self.warmup,
            draws=self.settings.draws,
            size=self.chunk,
            with_rows=self.with_rows,
            drawn=self.drawn,
        )

    def attributes(self) -> Attributes:
        """Describe method, prior and data."""
        data = self.data
        return {
            "model": "transitions",
            "method": "hierarchical-gibbs",
            "reason": "rows share a base, which is drawn together with them",
            "independent_draws": 0,
            "prior": repr(self.model),
            "self_loops": "kept" if self.model.self_loops else "removed",
            "nonparametric": int(self.model.is_nonparametric),
            "data": f"{plural(float(data.counts.sum()), 'transition')} between "
            f"{plural(len(data.labels), 'state')}",
            "data_digest": data.digest,
        }

    def groups(self) -> dict[str, Group]:
        """Return the groups of the run that hold data, mask and priors."""
        sources = label_array(self.data.labels)
        places = {"state": self.parameters[0].coords["state"], "source": sources}
        kernel = self.problem.data
        constants: dict[str, Any] = {"forbidden": (("source", "state"), kernel.forbidden)}
        for name in ("concentration", "base_concentration"):
            prior = getattr(self.model, name)
            if isinstance(prior, Gamma):
                constants[f"{name}_prior"] = ("parameter", np.array([prior.shape, prior.rate]))
            else:
                constants[name] = ((), prior)
        observed = {
            "transition_counts": (("source", "state"), kernel.counts),
            "starts": ("state", kernel.starts),
        }
        return {"observed_data": Group(observed, places), "constant_data": Group(constants, places)}

    def to_json(self) -> dict[str, Any]:
        """Return the decisions as values for JSON; data and prior are stored elsewhere."""
        return {
            "kind": self.kind,
            "settings": settings_to_json(self.settings),
            "with_rows": self.with_rows,
        }

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle the decisions alone."""
        return type(self), (self.model, self.data, self.settings, self.with_rows)


def read_data(
    model: HDPTransitions, given: Any, starts: Mapping[Label, float] | None
) -> Transitions:
    """Read the arguments `data` and `starts` of `HDPTransitions.fit`."""
    columns = dict.fromkeys(("source", "target", "count", "sequence", "time", "state"))
    known = None if model.states is None else model.states.labels
    sequences = None
    if not is_frame(given) and not (isinstance(given, np.ndarray) and given.ndim == 2):
        sequences = given = as_sequences(given)
    labels, counts = read_transitions(given, columns, known, False)
    if not model.self_loops:
        np.fill_diagonal(counts, 0.0)
    counts = whole_counts(counts, counts.shape, "transition counts")
    begun = np.zeros(len(labels))
    if starts is not None:
        at = labels.numbers(starts, "starts")
        begun[at] = whole_counts(list(starts.values()), (len(at),), "starts")
    elif model.is_nonparametric and sequences is not None:
        first = labels.index
        np.add.at(begun, [first[s[0]] for s in sequences if s], 1.0)
    if model.is_nonparametric and REMAINDER in labels.index:
        raise DataError(f"{REMAINDER!r} cannot be the label of a state: the rest is called so.")
    return Transitions(labels, counts, begun)


def transitions_of(run: DataTree) -> tuple[HDPTransitions, Transitions]:
    """Rebuild the model and the data of a run of transitions.

    Raises
    ------
    DataError
        When the run does not hold its data, or not the data it was drawn from.
    """
    require_run(run)
    if run.attrs.get("model") != "transitions":
        raise DataError(f"this is a run of the model {run.attrs.get('model')!r}, not transitions.")
    try:
        observed, constants = run["observed_data"], run["constant_data"]
        labels = observed["source"].to_numpy().tolist()
        n = len(labels)
        counts = np.array(observed["transition_counts"].to_numpy()[:, :n])
        data = Transitions(Categories(labels), counts, observed["starts"].to_numpy()[:n].copy())
        alpha = _prior_of(constants, "concentration")
        gamma = _prior_of(constants, "base_concentration")
        nonparametric = bool(run.attrs["nonparametric"])
        loops = str(run.attrs["self_loops"])
        forbidden = None if nonparametric else constants["forbidden"].to_numpy()
    except KeyError as error:
        raise DataError(f"the run does not hold {error.args[0]!r}.") from error
    if data.digest != run.attrs.get("data_digest"):
        raise DataError("observed_data is not the data that this run was drawn from.")
    states: Any = "nonparametric" if nonparametric else labels
    return HDPTransitions(states, alpha, gamma, forbidden, loops), data


def _prior_of(constants: Any, name: str) -> float | Gamma:
    if name in constants:
        return float(constants[name])
    return Gamma(*map(float, constants[f"{name}_prior"].to_numpy()))


def transitions_plan_of(run: DataTree, given: dict[str, Any], **more: Any) -> TransitionsPlan:
    """Make the plan of a run of transitions again; nothing is chosen anew."""
    model, data = transitions_of(run)
    settings = settings_from_json(given["settings"], **more)
    return TransitionsPlan(model, data, settings, bool(given["with_rows"]))

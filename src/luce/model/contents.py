"""The data and prior of a model as named arrays and attributes of a run, and back again."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from luce._types import Attributes, FloatArray, IntArray, Label
from luce.counts.contests import TIE_MODELS, Contests, merge_contests
from luce.counts.counts import ConditionalCounts
from luce.counts.events import Events
from luce.counts.family import SetFamily
from luce.counts.labels import describe, label_array
from luce.counts.placings import Placings
from luce.counts.tied_blocks import TiedBlocks
from luce.counts.tied_choices import TiedChoices
from luce.errors import DataError
from luce.model.model import Model
from luce.model.parameters import effects_in
from luce.model.priors import DirichletProcess, Gamma

if TYPE_CHECKING:
    from xarray import DataTree

_AnyPlacings = TypeVar("_AnyPlacings", bound=Placings)

_GROUPS = ("posterior", "sample_stats", "observed_data", "constant_data")


@dataclass(frozen=True, eq=False)
class Group:
    """Variables, coordinates and attributes of one group of a run."""

    variables: Mapping[str, tuple[Any, Any]]
    coords: Mapping[str, Any] = field(default_factory=dict)
    attributes: Attributes = field(default_factory=dict)


def groups(model: Model) -> dict[str, Group]:
    """Return data and prior as groups of a run; `model_of` rebuilds the model from them."""
    counts, prior = model.counts, model.prior
    category = {"category": label_array(counts.categories)}
    constants: dict[str, tuple[str, Any]] = {"concentration": ("category", model.concentration)}
    if isinstance(prior, DirichletProcess):
        constants["base"] = ("category", prior.weights(counts))
    observed: Attributes = {"n_outcomes": counts.n_outcomes}
    if counts.log_constant != 0.0:
        observed["log_constant"] = counts.log_constant
    if counts.events is not None:
        observed |= counts.events.attributes()
    return {
        "observed_data": Group(_counts_as_arrays(counts), category, observed),
        "constant_data": Group(constants, category),
    }


def _counts_as_arrays(counts: ConditionalCounts) -> dict[str, tuple[Any, Any]]:
    sets = counts.sets
    weights = {} if sets.weights is None else {"set_weights": ("set_member", sets.weights)}
    return {
        **(counts.events.arrays() if counts.events is not None else {}),
        "category_counts": ("category", counts.category_counts),
        "set_members": ("set_member", sets.members),
        "set_nest_start": ("set_nest_edge", sets.nest_start),
        "set_nest_complement": ("set_nest", sets.complement),
        "set_nest_sets": ("set_nest_edge", sets.set_start),
        "set_end": ("set", sets.set_end),
        "set_exponent": ("set", sets.exponent),
        **weights,
    }


def attributes(model: Model) -> Attributes:
    """Describe data and prior in attributes of a run."""
    a, prior, hyperprior = model.concentration, model.prior, model.hyperprior
    same = bool((a == a[0]).all())
    found: Attributes = {
        "prior": f"Dirichlet({_digits(a[0])})" if same else "Dirichlet, see constant_data",
        "data": repr(model.counts),
        "data_digest": model.counts.digest,
    }
    if hyperprior is not None:
        found["prior"] = (
            f"Dirichlet(a), a ~ Gamma({_digits(hyperprior.shape)}, rate {_digits(hyperprior.rate)})"
        )
        found["concentration_prior"] = [hyperprior.shape, hyperprior.rate]
    if isinstance(prior, DirichletProcess):
        place = model.remainder
        found["prior"] = repr(prior)
        found["process_concentration"] = prior.mean_concentration
        found["process_remainder"] = -1 if place is None else place
    for name, given in model.parameter_priors.items():
        known = given if isinstance(given, float) else [given.shape, given.rate]
        found[f"{name}_prior"] = known
        words = f"= {_digits(given)}" if isinstance(given, float) else f"~ {given!r}"
        found["prior"] += f", {_excess(model, name)} {words}"
    return found


def _digits(number: float) -> str:
    """Write a number with as many digits as tell it from all others, and no more."""
    return repr(float(number)).removesuffix(".0")


def _excess(model: Model, name: str) -> str:
    """Name a parameter as its prior is about it: its excess over its least value."""
    assert model.counts.events is not None
    least = model.counts.events.least(name)
    given = isinstance(model.parameter_priors[name], Gamma)
    return f"{name} - {least:g}" if least and given else name


def require_run(run: object) -> None:
    """Refuse an object that is not a run."""
    import xarray as xr

    if not isinstance(run, xr.DataTree):
        raise DataError(
            f"a run is the DataTree that Posterior.sample returns; {type(run).__name__} was given."
        )


def refuse_sequences(run: DataTree) -> None:
    """Refuse a run of a model of sequences that draws no probabilities of categories."""
    if run.attrs.get("model") == "separate-rows":
        raise DataError(
            "this is a run of separate rows of transitions: it draws a matrix, and no "
            "probabilities of categories. luce.answers.transition_summary(run) summarises it."
        )
    if run.attrs.get("model") == "semi-markov":
        raise DataError(
            "this is a run of a semi-Markov model: it draws the state at each time, and no "
            "probabilities of categories. luce.sequences.summary(run) summarises it."
        )


def model_of(run: DataTree) -> Model:
    """Rebuild the model that a run was drawn from: its data and its prior.

    Raises
    ------
    DataError
        When the run does not hold its data, or not the data it was drawn from.
    """
    require_run(run)
    refuse_sequences(run)
    if run.attrs.get("model", "posterior") != "posterior":
        raise DataError(
            f"this is a run of the model {run.attrs['model']!r}, not of a posterior of counts."
        )
    missing = [group for group in _GROUPS if group not in run.children]
    if missing:
        raise DataError(
            f"the run has no group {missing[0]!r}; the groups {', '.join(_GROUPS)} are needed."
        )
    if "data_pieces" in run.attrs:
        raise DataError(
            f"the data of this run was given in {run.attrs['data_pieces']} pieces and is not "
            "stored in it; build the posterior from the pieces."
        )
    labels = _labels(run)
    counts = _counts(run, labels)
    _check_digest(run, counts)
    counts = counts.with_effects(_effects(run))
    concentration = _array(run, "constant_data", "concentration", ("category",), "f")
    hyperprior = None
    if "concentration_prior" in run.attrs:
        given = run.attrs["concentration_prior"]
        if np.shape(given) != (2,):
            raise DataError(f"concentration_prior is {given!r}; a shape and a rate are needed.")
        hyperprior = Gamma(*map(float, given))
    if "process_concentration" in run.attrs:
        return Model(counts, _process(run, counts, hyperprior))
    prior = concentration if hyperprior is None else hyperprior
    return Model(counts, prior, parameters=_parameter_priors(run, counts))


def _parameter_priors(run: DataTree, counts: ConditionalCounts) -> dict[str, Any]:
    """Read the priors or values of the data's parameters, by the arguments of `Posterior`."""
    found: dict[str, Any] = {}
    for name in counts.parameters:
        given: Any = run.attrs.get(f"{name}_prior")
        if given is None or np.shape(given) not in ((), (2,)):
            raise DataError(
                f"{name}_prior is {given!r}; a number, or a shape and a rate, is needed."
            )
        prior = Gamma(*map(float, given)) if np.ndim(given) else float(given)
        found.setdefault(name.rstrip("0123456789"), {})[name] = prior
    return {argument: own.get(argument, own) for argument, own in found.items()}


def _effects(run: DataTree) -> dict[Label, str]:
    """Read the categories that are no competitors; none where probabilities are not stored."""
    drawn = run["posterior"].data_vars
    return effects_in(drawn["probabilities"].attrs) if "probabilities" in drawn else {}


def _process(
    run: DataTree, counts: ConditionalCounts, hyperprior: Gamma | None
) -> DirichletProcess:
    masses = _array(run, "constant_data", "base", ("category",), "f")
    place = int(run.attrs.get("process_remainder", -1))
    if not -1 <= place < len(masses):
        raise DataError(f"process_remainder is {place}; it must be the number of a category.")
    named = [i for i in np.flatnonzero(masses) if i != place]
    return DirichletProcess(
        hyperprior or float(run.attrs["process_concentration"]),
        {counts.categories[i]: float(masses[i]) for i in named},
        counts.categories[place] if place >= 0 else "remainder",
    )


def _labels(run: DataTree) -> list[Any]:
    named = [run[name] for name in ("observed_data", "constant_data", "posterior")]
    values = [group["category"] for group in named if "category" in group.coords]
    if len(values) < 3:
        raise DataError("a group of the run has no coordinate 'category', which names its columns.")
    labels, others, drawn = (list(value.to_numpy().tolist()) for value in values)
    same = drawn == labels or ("kept_categories" in run.attrs and set(drawn) <= set(labels))
    if others != labels or not same:
        raise DataError("the groups of the run do not have the same categories.")
    return labels


def _counts(run: DataTree, labels: list[Any]) -> ConditionalCounts:
    n = len(labels)
    values = _observed(run, "category_counts", "category", "f")
    if not (np.isfinite(values) & (values >= 0)).all():
        raise DataError("observed_data/category_counts must be finite and not negative.")
    weighted = "set_weights" in run["observed_data"].data_vars
    sets = SetFamily(
        n,
        _observed(run, "set_members", "set_member", "i"),
        _observed(run, "set_nest_start", "set_nest_edge", "i"),
        _observed(run, "set_nest_complement", "set_nest", "b"),
        _observed(run, "set_nest_sets", "set_nest_edge", "i"),
        _observed(run, "set_end", "set", "i"),
        _observed(run, "set_exponent", "set", "f"),
        _observed(run, "set_weights", "set_member", "f") if weighted else None,
        _log_constant(run),
    )
    _check_sets(sets)
    n_outcomes = run["observed_data"].attrs.get("n_outcomes")
    if not isinstance(n_outcomes, int | float) or not 0 <= n_outcomes < np.inf:
        raise DataError(
            f"observed_data's attribute n_outcomes is {describe(n_outcomes)}; a finite number, "
            "not negative, is needed."
        )
    counted = labels == list(range(n)) and all(type(label) is int for label in labels)
    given = n if counted else labels, values, sets, float(n_outcomes)
    events = events_of(run, n)
    counts = ConditionalCounts.from_nests(*given, merged=True, events=events)
    if counts != ConditionalCounts.from_nests(*given, events=events):
        raise DataError("observed_data holds sets that are not merged, as luce never writes them.")
    return counts


def events_of(run: DataTree, n: int) -> Events | None:
    """Read the events of a run's data; None where it has none."""
    kind = run["observed_data"].attrs.get("events")
    if kind is None:
        return None
    if kind not in _EVENTS:
        raise DataError(
            f"the run holds events of the kind {kind!r}, which this version cannot read."
        )
    return _EVENTS[kind](run, n)


@dataclass(frozen=True)
class EventModel:
    """What a run tells of the model of its events, without the events themselves.

    Attributes
    ----------
    kind
        Kind of events, such as "contests".
    ties
        Model of ties; None where there are none.
    home
        Is the home advantage a parameter?
    known
        Values of the parameters that are known, and were not drawn.
    """

    kind: str
    ties: str | None
    home: bool
    known: Mapping[str, float]

    def least(self, parameter: str) -> float:
        """Return the least value of a parameter: 1 for Rao and Kupper's θ, else 0."""
        return 1.0 if parameter == "tie" and self.ties == "rao-kupper" else 0.0


def event_model_of(run: DataTree) -> EventModel | None:
    """Read the model of a run's events; None where its data has none, or was not kept."""
    if "observed_data" not in run.children:
        return None
    attributes = run["observed_data"].attrs
    kind = attributes.get("events")
    if kind is None:
        return None
    ties = str(attributes.get("ties", "none"))
    priors = {name: run.attrs.get(f"{name}_prior") for name in ("home", "tie")}
    known = {name: float(x) for name, x in priors.items() if isinstance(x, int | float)}
    home = bool(attributes.get("home_effect", 0))
    return EventModel(str(kind), None if ties == "none" else ties, home, known)


def _contests(run: DataTree, n: int) -> Contests:
    attributes = run["observed_data"].attrs
    ties, home = attributes.get("ties"), attributes.get("home_effect")
    if ties not in ("none", *TIE_MODELS) or home not in (0, 1):
        raise DataError(
            f"observed_data's attributes ties and home_effect are {ties!r} and {home!r}; a model "
            "of ties, and 0 or 1, are needed."
        )
    weights = None
    if "contest_weights" in run["observed_data"].data_vars:
        weights = _observed(run, "contest_weights", "contest_member", "f")
    own = Contests(
        n,
        _observed(run, "contest_members", "contest_member", "i"),
        _observed(run, "contest_start", "contest_edge", "i"),
        weights,
        _observed(run, "contest_at_home", "contest", "b"),
        _array(run, "observed_data", "contest_results", ("contest", "contest_result"), "f"),
        None if ties == "none" else ties,
        bool(home),
    )
    _check_starts(own.start, len(own.members), 2 * len(own), "contest_start")
    if not ((own.members >= 0) & (own.members < n)).all():
        raise DataError(f"observed_data/contest_members must lie in 0..{n - 1}.")
    if (np.diff(own.start) == 0).any():
        raise DataError("observed_data/contest_start has a side without members.")
    good = np.isfinite(own.results) & (own.results >= 0)
    if own.results.shape != (len(own), 3) or not good.all():
        raise DataError(
            "observed_data/contest_results must be three counts a meeting, not negative."
        )
    if weights is not None and not (np.isfinite(weights) & (weights > 0)).all():
        raise DataError("observed_data/contest_weights must be positive and finite.")
    merged = merge_contests(own)
    if any(
        not np.array_equal(a, own.arrays()[name][1]) for name, (_, a) in merged.arrays().items()
    ):
        raise DataError(
            "observed_data holds contests that are not merged, as luce never writes them."
        )
    return merged


def _tied_blocks(run: DataTree, n: int) -> TiedBlocks:
    return _merged_placings(TiedBlocks(n, *_placings(run, n)))


def _tied_choices(run: DataTree, n: int) -> TiedChoices:
    arrays = _placings(run, n)
    largest = run["observed_data"].attrs.get("largest_tie")
    if not isinstance(largest, int) or largest < max(np.diff(arrays[1])[::2], default=1):
        raise DataError(
            f"observed_data's attribute largest_tie is {describe(largest)}; a whole number, no "
            "smaller than the largest tie there, is needed."
        )
    return _merged_placings(TiedChoices(n, *arrays, largest))


def _placings(run: DataTree, n: int) -> tuple[IntArray, IntArray, FloatArray]:
    """Read members, starts and numbers of placings, and check them."""
    members = _observed(run, "placing_members", "placing_member", "i")
    start = _observed(run, "placing_start", "placing_edge", "i")
    times = _observed(run, "placing_times", "placing", "f")
    _check_starts(start, len(members), 2 * len(times), "placing_start")
    if not ((members >= 0) & (members < n)).all():
        raise DataError(f"observed_data/placing_members must lie in 0..{n - 1}.")
    owner = np.repeat(np.arange(len(times)), np.diff(start[::2]))
    if len(np.unique(owner * n + members)) < len(members):
        raise DataError("observed_data/placing_members names a category twice in one placing.")
    if not (np.isfinite(times) & (times > 0)).all():
        raise DataError("observed_data/placing_times must be positive and finite.")
    return members, start, times


def _merged_placings(own: _AnyPlacings) -> _AnyPlacings:
    """Merge placings, which must change nothing."""
    merged = own.merged()
    if any(
        not np.array_equal(a, own.arrays()[name][1]) for name, (_, a) in merged.arrays().items()
    ):
        raise DataError(
            "observed_data holds placings that are not merged, as luce never writes them."
        )
    return merged


_EVENTS: dict[str, Callable[[DataTree, int], Events]] = {
    Contests.kind: _contests,
    TiedBlocks.kind: _tied_blocks,
    TiedChoices.kind: _tied_choices,
}


def _log_constant(run: DataTree) -> float:
    given = run["observed_data"].attrs.get("log_constant", 0.0)
    if not isinstance(given, int | float) or not np.isfinite(given):
        raise DataError(
            f"observed_data's attribute log_constant is {describe(given)}; a finite number is "
            "needed."
        )
    return float(given)


def _check_sets(f: SetFamily) -> None:
    _check_starts(f.nest_start, len(f.members), f.n_nests, "set_nest_start")
    _check_starts(f.set_start, f.n_sets, f.n_nests, "set_nest_sets")
    if not ((f.members >= 0) & (f.members < f.n)).all():
        raise DataError(f"observed_data/set_members must lie in 0..{f.n - 1}.")
    nest_of_member = np.repeat(np.arange(f.n_nests), np.diff(f.nest_start))
    if len(np.unique(nest_of_member * f.n + f.members)) < len(f.members):
        raise DataError("observed_data/set_members names a category twice in one nest.")
    # Each prefix is longer than the one before it, and ends within its nest.
    start = f.nest_start[f.nest_of_set]
    stop = f.nest_start[f.nest_of_set + 1]
    before = np.r_[start[:1], f.set_end[:-1]]
    before = np.maximum(start, np.where(np.r_[True, np.diff(f.nest_of_set) > 0], start, before))
    if not ((f.set_end > before) & (f.set_end <= stop)).all():
        raise DataError("observed_data/set_end must grow within each nest of set_members.")
    if not (np.isfinite(f.exponent) & (f.exponent != 0)).all():
        raise DataError("observed_data/set_exponent must be finite and not 0.")
    if f.weights is None:
        return
    if not ((f.weights > 0) & (f.weights <= 1)).all():
        raise DataError("observed_data/set_weights must be positive, and at most 1.")
    lone = ~f.complement & (np.diff(f.set_start) == 1)
    if not lone[f.nest_of_set[f.weighted]].all():
        raise DataError("observed_data/set_weights must be 1 in all nests but those of one set.")


def _check_starts(starts: IntArray, last: int, pieces: int, name: str) -> None:
    whole = len(starts) == pieces + 1 and starts[0] == 0 and starts[-1] == last
    if not (whole and (np.diff(starts) >= 0).all()):
        raise DataError(f"observed_data/{name} must grow from 0 to {last} in {pieces} steps.")


def _check_digest(run: DataTree, counts: ConditionalCounts) -> None:
    given = run.attrs.get("data_digest")
    if given != counts.digest:
        raise DataError(
            "observed_data is not the data that this run was drawn from: its digest is "
            f"{counts.digest[:12]}..., the run's data_digest {str(given)[:12]}... "
            "Somebody has changed one of them."
        )


def _observed(run: DataTree, name: str, dim: str, kind: str) -> Any:
    return _array(run, "observed_data", name, (dim,), kind)


def _array(run: DataTree, group: str, name: str, dims: tuple[str, ...], kind: str) -> Any:
    """Read one variable as an array; refuse other dimensions or types than those needed."""
    data = run[group]
    if name not in data.data_vars:
        raise DataError(f"the run has no variable {name!r} in group {group!r}.")
    variable = data[name]
    dtype = np.dtype({"f": np.float64, "i": np.int64, "b": np.bool_}[kind])
    if variable.dims != dims or variable.dtype != dtype:
        raise DataError(
            f"{group}/{name} holds {variable.dtype} with dimensions {variable.dims}; "
            f"{dtype} with dimensions {dims} is needed."
        )
    array: FloatArray = variable.to_numpy()
    return array

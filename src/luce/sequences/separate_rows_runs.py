"""Runs of separate rows: their plan, chains that draw all rows, and models rebuilt from runs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from luce._types import Attributes, IntArray, Label
from luce.counts.counts import ConditionalCounts
from luce.counts.labels import hash_of_names, label_array, plural
from luce.errors import DataError
from luce.model import contents
from luce.model.contents import Group, model_of, require_run
from luce.model.model import Model
from luce.model.parameters import Parameter
from luce.sampling.chains import FixedLengthChain, Output, Rows, Snapshot
from luce.sampling.choice import Choice
from luce.sampling.plan import Plan, PosteriorPlan, settings_from_json, settings_to_json
from luce.sampling.settings import Settings
from luce.sampling.sweeps import SweepChain
from luce.sequences.separate_rows import SeparateRows

if TYPE_CHECKING:
    from xarray import DataTree

KIND = "separate-rows"  # the run's kind, and the name of its model

# Numbers that a chain draws at once, at most: 32 MB.
_MOST_NUMBERS = 1 << 22


@dataclass(kw_only=True)
class SeparateRowsChain(FixedLengthChain):
    """One chain that draws all rows, each by the chain of its own posterior.

    Parameters
    ----------
    rows
        A chain for each row.
    places
        Numbers of the states that each row can move to.
    size
        Draws to make at once.
    """

    rows: Sequence[SweepChain]
    places: Sequence[IntArray]
    size: int

    @property
    def chunk(self) -> int:
        """Steps to make at once."""
        return self.size

    def warm_up(self, size: int) -> None:
        """Sweep the rows that have a warm-up, each as long as its own."""
        for row in self.rows:
            own = min(size, row.warmup - self.warmed)
            if own > 0:
                row.warm_up(own)

    def draw(self, rows: Rows, size: int) -> None:
        """Draw row after row; what cannot occur gets the probability 0."""
        matrix, logs = rows["posterior/rows"], rows.get("posterior/log_rows")
        matrix[:] = 0.0
        if logs is not None:
            logs[:] = -np.inf
        for path, values in rows.items():
            if path.startswith("sample_stats/"):
                values[:] = np.nan
        for i, (chain, place) in enumerate(zip(self.rows, self.places, strict=True)):
            method = chain.sweeping.method
            own = {"posterior/probabilities": np.empty((size, len(place)))}
            if logs is not None:
                own["posterior/log_probabilities"] = np.empty((size, len(place)))
            for name in method.statistics:
                own[f"sample_stats/{name}"] = np.empty((size, len(method.parts)))
            chain.draw(own, size)
            matrix[:, i, place] = own["posterior/probabilities"]
            if logs is not None:
                logs[:, i, place] = own["posterior/log_probabilities"]
            for name in method.statistics:
                path = f"sample_stats/{name}"
                rows[path][:, i, : len(method.parts)] = own[path]

    def state(self) -> Snapshot:
        """Return the arrays of all rows that the next draw depends on."""
        return {f"{i}_{k}": x for i, row in enumerate(self.rows) for k, x in row.state().items()}


@dataclass(frozen=True, eq=False)
class SeparateRowsPlan(Plan):
    """Plan of a run that draws the rows of a `SeparateRows`.

    Parameters
    ----------
    model
        Counts and priors of the rows.
    settings
        Number of draws and chains, seed, and so on.
    choices
        The methods of each row.
    logs
        Are logarithms of the probabilities stored too?
    """

    kind: ClassVar[str] = KIND

    model: SeparateRows
    settings: Settings
    choices: tuple[Choice, ...]
    logs: bool

    @classmethod
    def of(cls, model: SeparateRows, settings: Settings) -> SeparateRowsPlan:
        """Choose the method of each row, and refuse settings that do not fit."""
        each = zip(model.models, _settings_of_rows(settings, len(model.sources)), strict=True)
        plans = [PosteriorPlan.of(row, own) for row, own in each]
        logs = any(plan.logs for plan in plans)
        return cls(model, settings, tuple(plan.choice for plan in plans), logs)

    @classmethod
    def from_json(cls, model: SeparateRows, given: dict[str, Any], **more: Any) -> SeparateRowsPlan:
        """Make a plan again from the values that `to_json` returned; nothing is chosen anew."""
        choices = [
            Choice(tuple(own["methods"]), tuple(own["reasons"]), bool(own["reduced"]))
            for own in given["choices"]
        ]
        if len(choices) != len(model.sources):
            raise ValueError(f"{len(choices)} choices for {len(model.sources)} rows")
        settings = settings_from_json(given["settings"], **more)
        return cls(model, settings, tuple(choices), bool(given["logs"]))

    def to_json(self) -> dict[str, Any]:
        """Return the decisions as values for JSON; data and prior are stored elsewhere."""
        return {
            "kind": self.kind,
            "settings": settings_to_json(self.settings),
            "choices": [asdict(choice) for choice in self.choices],
            "logs": self.logs,
        }

    @cached_property
    def rows(self) -> list[PosteriorPlan]:
        """Plans of the rows, each with a seed of its own."""
        settings = _settings_of_rows(self.settings, len(self.choices))
        each = zip(self.model.models, settings, self.choices, strict=True)
        return [PosteriorPlan(model, own, choice, self.logs, None) for model, own, choice in each]

    @property
    def independent(self) -> bool:
        """Are the draws of all rows independent by construction?"""
        return all(row.independent for row in self.rows)

    @property
    def warmup(self) -> int:
        """Sweeps that each chain discards in the row with the longest warm-up."""
        return max(row.warmup for row in self.rows)

    @property
    def chunk(self) -> int:
        """Draws that a chain makes at once."""
        least = min(row.chunk for row in self.rows)
        return max(1, min(least, _MOST_NUMBERS // self.model.forbidden.size))

    @cached_property
    def parameters(self) -> tuple[Parameter, ...]:
        """The matrix of all rows."""
        labels = {
            "source": label_array(self.model.sources),
            "state": label_array(self.model.states),
        }
        return (Parameter("rows", ("source", "state"), labels, "simplex", "parameter"),)

    @cached_property
    def outputs(self) -> tuple[Output, ...]:
        """The matrix, its logarithms where they are kept, and statistics of the rows' cores."""
        (rows,) = self.parameters
        found = [Output("posterior/rows", rows.dims, rows.shape, None, rows.attributes)]
        if self.logs:
            found.append(Output("posterior/log_rows", rows.dims, rows.shape))
        methods = [row.method for row in self.rows]
        cores = (len(methods), max(len(method.parts) for method in methods))
        names = dict.fromkeys(name for method in methods for name in method.statistics)
        found += [Output(f"sample_stats/{name}", ("source", "core"), cores) for name in names]
        return tuple(found)

    def coords(self, group: str) -> Mapping[str, Any]:
        """Label the rows that statistics belong to."""
        several = group == "sample_stats" and any(o.group == group for o in self.outputs)
        return {"source": label_array(self.model.sources)} if several else {}

    def new_chain(self, number: int, seed: np.random.SeedSequence) -> SeparateRowsChain:
        """Make one chain; its rows take the seeds of their own plans, not that of the chain."""
        return SeparateRowsChain(
            number=number,
            rows=[self._chain_of(row, number) for row in self.rows],
            places=[np.flatnonzero(~own) for own in self.model.forbidden],
            size=self.chunk,
            warmup=self.warmup,
            draws=self.settings.draws,
        )

    @staticmethod
    def _chain_of(row: PosteriorPlan, number: int) -> SweepChain:
        seeds = row.settings.seed_sequence().spawn(row.settings.chains)
        return row.new_chain(number, seeds[number])

    def attributes(self) -> Attributes:
        """Describe methods, priors and data."""
        model = self.model
        a = model.concentration[~model.forbidden]
        same = bool((a == a[0]).all())
        rows = plural(len(model.sources), "row")
        return {
            "model": KIND,
            "method": ", ".join(dict.fromkeys(choice.name for choice in self.choices)),
            "reason": "; ".join(dict.fromkeys(choice.reason for choice in self.choices)),
            "row_methods": [choice.name for choice in self.choices],
            "independent_draws": int(self.independent),
            "prior": f"Dirichlet({a[0]:g}) of each row" if same else "Dirichlet, see constant_data",
            "data": f"{plural(model.n_outcomes, 'outcome')} in {rows}",
            "data_digest": _digest(model),
        }

    def groups(self) -> dict[str, Group]:
        """Return the groups of the run that hold counts, mask and priors."""
        model, (rows,) = self.model, self.parameters
        cells = rows.dims
        observed: dict[str, tuple[Any, Any]] = {
            "transition_counts": (cells, model.counts),
            "n_outcomes": ("source", np.array([x.counts.n_outcomes for x in model.models])),
            "log_constant": ("source", np.array([x.counts.log_constant for x in model.models])),
            **_joined([_sets(x) for x in (contents.groups(row) for row in model.models)]),
        }
        constants = {
            "forbidden": (cells, model.forbidden),
            "concentration": (cells, model.concentration),
        }
        digests = {"row_digests": [row.counts.digest for row in model.models]}
        return {
            "observed_data": Group(observed, rows.coords, digests),
            "constant_data": Group(constants, rows.coords),
        }

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle the decisions alone: kernels and fits are made again."""
        return type(self), (self.model, self.settings, self.choices, self.logs)


def _settings_of_rows(settings: Settings, rows: int) -> list[Settings]:
    """Give each row a seed of its own."""
    return [replace(settings, seed=seed) for seed in settings.seed_sequence().spawn(rows)]


def _digest(model: SeparateRows) -> str:
    """Fingerprint of all rows."""
    content = hash_of_names(model.states.labels)
    for row in model.models:
        content.update(row.counts.digest.encode())
    return str(content.hexdigest())


# -- the sets of all rows, one row behind the other ------------------------------------------------


def _sets(groups: Mapping[str, Group]) -> dict[str, np.ndarray[Any, Any]]:
    """Return the arrays of a row's sets, as a run of the row alone stores them."""
    variables = groups["observed_data"].variables
    return {name: values for name, (dim, values) in variables.items() if dim != "category"}


def _joined(rows: Sequence[Mapping[str, np.ndarray[Any, Any]]]) -> dict[str, tuple[Any, Any]]:
    """Put arrays of all rows behind each other, with their lengths; nothing where none has sets."""
    if not any(len(row["set_exponent"]) for row in rows):
        return {}
    found: dict[str, tuple[Any, Any]] = {}
    for name in dict.fromkeys(name for row in rows for name in row):
        own = [row[name] for row in rows if name in row]
        found[name] = (f"{name}_entry", np.concatenate(own))
        lengths = [len(row.get(name, ())) for row in rows]
        found[f"{name}_length"] = ("source", np.array(lengths, np.int64))
    return found


def separate_rows_of(run: DataTree) -> SeparateRows:
    """Rebuild the rows that a run was drawn from; `SeparateRows.of_run` says how."""
    require_run(run)
    if run.attrs.get("model") != KIND:
        raise DataError(f"this is a run of the model {run.attrs.get('model')!r}, not {KIND!r}.")
    try:
        sources = run["observed_data"]["source"].to_numpy().tolist()
        states = run["observed_data"]["state"].to_numpy().tolist()
        models = [model_of(row) for row in _runs_of_rows(run, states)]
    except KeyError as error:
        raise DataError(f"the run does not hold {error.args[0]!r}.") from error
    each = dict(zip(sources, models, strict=True))
    rows = {state: model.counts for state, model in each.items()}
    found = SeparateRows(rows, {state: model.concentration for state, model in each.items()})
    if _digest(found) != run.attrs.get("data_digest") or list(found.states) != states:
        raise DataError("observed_data is not the data that this run was drawn from.")
    return found


def _runs_of_rows(run: DataTree, states: Sequence[Label]) -> Iterator[DataTree]:
    """Make a run of each row alone, without draws, that is read as any run of a posterior."""
    import xarray as xr

    observed = {str(k): x.to_numpy() for k, x in run["observed_data"].data_vars.items()}
    constant = {str(k): x.to_numpy() for k, x in run["constant_data"].data_vars.items()}
    allowed = ~constant["forbidden"].astype(np.bool_)
    sets = [name.removesuffix("_length") for name in observed if name.endswith("_length")]
    starts = {name: np.r_[0, np.cumsum(observed[f"{name}_length"])] for name in sets}
    digests = run["observed_data"].attrs["row_digests"]
    for i, (own, digest) in enumerate(zip(allowed, digests, strict=True)):
        place = np.flatnonzero(own)
        arrays = dict(
            contents.groups(Model(ConditionalCounts(len(place))))["observed_data"].variables
        )
        arrays["category_counts"] = ("category", observed["transition_counts"][i, place])
        for name in sets:
            values = observed[name][starts[name][i] : starts[name][i + 1]]
            if name in arrays or len(values):  # a row may have no weights
                arrays[name] = ("set_member" if name == "set_weights" else arrays[name][0], values)
        numbers = {name: float(observed[name][i]) for name in ("n_outcomes", "log_constant")}
        labels = {"category": label_array([states[k] for k in place.tolist()])}
        prior = {"concentration": ("category", constant["concentration"][i, place])}
        yield xr.DataTree.from_dict(
            {
                "/": xr.Dataset(attrs={"data_digest": digest}),
                "/posterior": xr.Dataset(coords=labels),
                "/sample_stats": xr.Dataset(),
                "/observed_data": xr.Dataset(arrays, labels, numbers),
                "/constant_data": xr.Dataset(prior, labels),
            }
        )


def separate_rows_plan_of(run: DataTree, given: dict[str, Any], **more: Any) -> SeparateRowsPlan:
    """Make the plan of a run of separate rows again; nothing is chosen anew."""
    return SeparateRowsPlan.from_json(separate_rows_of(run), given, **more)

"""Draws read once: numbers by chain, draw and category, with their labels and roles."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, TypeAlias, get_args

import numpy as np
import numpy.typing as npt
from numpy.typing import ArrayLike

from luce._types import BoolArray, FloatArray, IntArray, Label, Labels
from luce.counts.labels import Categories, label_array, some
from luce.errors import DataError
from luce.model.contents import EventModel, event_model_of, refuse_sequences
from luce.model.parameters import Role, effects_in

if TYPE_CHECKING:
    from collections.abc import Hashable

    from xarray import DataArray, DataTree

    DrawsLike: TypeAlias = "DrawsView | DataTree | DataArray | ArrayLike"

# Numbers worked on at once: 16 MB, however many draws there are.
BLOCK = 1 << 21

# Arrays of a block's size that diagnostics hold at once.
_COPIES = 8

ROLES = get_args(Role)
# Variables that hold competitors where a run does not declare roles.
_COMPETITORS = ("probabilities", "base")
_SAMPLE = ("chain", "draw")


@dataclass(frozen=True, eq=False)
class DrawsView:
    """Draws with their labels, as every function of `luce.answers` reads them.

    Make one with `DrawsView.of` where several questions are put to the same draws: they are then
    read once.

    Attributes
    ----------
    probabilities
        Shape (chain, draw, category).  Diagnostics take any other finite numbers as well.
    log_probabilities
        Their logarithms, of the same shape, or None where these were not kept.
    index
        Coordinates of the three dimensions.
    parameters
        Draws of the parameters beside the probabilities, such as a drawn concentration; their
        names stand in place of categories.  None where there are none.
    effects
        Labels that are no competitors, with their kind; see `ConditionalCounts.effects`.
    events
        Model of ties and of the home advantage, where the data has contests, and told by a run
        that holds its data.
    block
        Numbers that are worked on at once.

    Examples
    --------
    >>> import luce
    >>> counts = luce.ConditionalCounts("ab").observe({"a": 3})
    >>> view = DrawsView.of(luce.Posterior(counts).sample(100, seed=1))
    >>> view.n_draws, list(view.categories), view.are_logs
    (400, ['a', 'b'], False)
    """

    probabilities: FloatArray
    log_probabilities: FloatArray | None
    index: dict[str, npt.NDArray[Any]]
    parameters: DrawsView | None = None
    effects: Mapping[Label, str] = field(default_factory=dict)
    events: EventModel | None = None
    block: int = BLOCK

    @classmethod
    def of(
        cls, draws: DrawsLike, among: Labels | None = None, *, block: int | None = None
    ) -> DrawsView:
        """Read draws, each variable once.

        Parameters
        ----------
        draws
            A run, a DataArray with dimensions chain, draw and one more, an array of shape
            (chain, draw, category), or a view.
        among
            Keep these categories only, in stored order; their numbers do not change.
        block
            Numbers to work on at once: 2^21, or those of the view that was given.
        """
        import xarray as xr

        if isinstance(draws, DrawsView):
            view = draws
        elif isinstance(draws, xr.DataTree):
            view = _read_run(draws)
        else:
            view = _read_array(draws)
        if among is not None:
            view = view.take(np.sort(view.numbers(among, "among")))
        return view if block is None else replace(view, block=block)

    @classmethod
    def ranked(cls, draws: DrawsLike, among: Labels | None = None) -> DrawsView:
        """Read draws of the categories to rank: those named, else all but `effects`.

        The view has no effects, so that functions it is handed to rank all that is in it.
        """
        view = cls.of(draws, among)
        if among is None and view.effects:
            known = view.categories
            kept = [i for i, label in enumerate(known) if label not in view.effects]
            if not kept:
                raise DataError(
                    f"there are no competitors to rank: {some(known)} are effects. Name what to "
                    "rank with among=[...]."
                )
            view = view.take(np.array(kept))
        return replace(view, effects={}) if view.effects else view

    @property
    def n_draws(self) -> int:
        """Draws of all chains together."""
        return int(self.probabilities.shape[0] * self.probabilities.shape[1])

    @property
    def n_categories(self) -> int:
        """Number of categories."""
        return int(self.probabilities.shape[2])

    @property
    def are_logs(self) -> bool:
        """Whether `values` are log probabilities."""
        return self.log_probabilities is not None

    @cached_property
    def categories(self) -> Categories:
        """Labels and their numbers."""
        return Categories(self.index["category"].tolist())

    @cached_property
    def values(self) -> FloatArray:
        """Numbers that rank categories: log probabilities if kept, otherwise probabilities."""
        if self.log_probabilities is not None:
            return self.log_probabilities
        least = self.probabilities.min()
        if least < 0:
            raise DataError(
                f"these are not draws: some are negative, the least being {least:g}. "
                "Give probabilities, or the whole DataTree that Posterior.sample returned."
            )
        return self.probabilities

    def numbers(self, labels: Labels | None, what: str) -> IntArray:
        """Turn labels into category numbers; None stands for all of them."""
        if labels is None:
            return np.arange(self.n_categories)
        numbers = self.categories.numbers(labels, what)
        if len(numbers) == 0:
            raise DataError(
                f"{what} is empty: name one category at least; "
                f"the categories are {some(self.categories)}."
            )
        return numbers

    def number(self, label: Label, what: str) -> int:
        """Turn one label into its category's number."""
        try:
            return self.categories.index[label]
        except (KeyError, TypeError):
            raise DataError(
                f"{what} = {label!r} is not a category; the categories are {some(self.categories)}."
            ) from None

    def take(self, numbers: IntArray) -> DrawsView:
        """Keep some categories, in the order of their numbers given."""
        logs = self.log_probabilities
        return replace(
            self,
            probabilities=self.probabilities[:, :, numbers],
            log_probabilities=None if logs is None else logs[:, :, numbers],
            index={**self.index, "category": self.index["category"][numbers]},
        )

    def with_parameters(self) -> DrawsView:
        """Add the parameters, by their names, behind the categories: for diagnostics alone.

        A parameter that is called as a category is left out, and so are logarithms.
        """
        own = self.parameters
        if own is None:
            return self
        new = [i for i, name in enumerate(own.categories) if name not in self.categories.index]
        labels = [*self.categories, *(own.categories[i] for i in new)]
        return replace(
            self,
            probabilities=np.concatenate(
                [self.probabilities, own.probabilities[:, :, new]], axis=2
            ),
            log_probabilities=None,
            index={**self.index, "category": label_array(labels)},
            parameters=None,
        )

    def evenly(self, most: int) -> IntArray:
        """Choose at most `most` draws, counted through all chains, evenly spaced."""
        return np.linspace(0, self.n_draws - 1, min(most, self.n_draws)).astype(np.int64)

    def one_chain(self, rows: IntArray) -> DrawsView:
        """Keep some draws, counted through all chains, as a single chain."""

        def kept(x: FloatArray) -> FloatArray:
            return x.reshape(1, -1, self.n_categories)[:, rows]

        logs = self.log_probabilities
        return replace(
            self,
            probabilities=kept(self.probabilities),
            log_probabilities=None if logs is None else kept(logs),
            index={**self.index, "chain": np.arange(1), "draw": np.arange(len(rows))},
            parameters=None if self.parameters is None else self.parameters.one_chain(rows),
        )

    def parameter(self, name: str) -> FloatArray | None:
        """Return draws of a parameter, shape (chain, draw), or its known value; None without it."""
        if self.events is not None and name in self.events.known:
            return np.full(self.probabilities.shape[:2], self.events.known[name])
        if self.parameters is None or name not in self.parameters.categories.index:
            return None
        return self.parameters.probabilities[:, :, self.parameters.categories.index[name]]

    def parameter_values(self, names: Sequence[str], what: str) -> dict[str, FloatArray]:
        """Return the draws of parameters by name, each of shape (chain, draw), or refuse.

        Parameters
        ----------
        names
            Parameters that a likelihood needs, such as `home` and `tie`.
        what
            The data that has them, for messages.
        """
        found = {}
        for name in names:
            own = self.parameter(name)
            if own is None:
                raise DataError(
                    f"{what} has the parameter {name!r}, and the draws have none of that name. "
                    "Give the run that Posterior.sample returned for data of the same model."
                )
            found[name] = own
        return found

    def blocks(self, width: int) -> Iterator[tuple[int, slice]]:
        """Go through all draws in blocks of draws that have `width` numbers each."""
        chains, draws, _ = self.probabilities.shape
        step = max(1, self.block // max(width, 1))
        for chain in range(chains):
            for start in range(0, draws, step):
                yield chain, slice(start, min(start + step, draws))

    def category_blocks(self, width: int = 1) -> Iterator[slice]:
        """Go through all categories in blocks that have `width` numbers for each draw."""
        step = max(1, self.block // (width * self.n_draws))
        for start in range(0, self.n_categories, step):
            yield slice(start, min(start + step, self.n_categories))

    def variables(self, x: FloatArray) -> Iterator[tuple[slice, FloatArray]]:
        """Go through draws in blocks of shape (category, chain, draw), few enough to be ranked.

        x is `probabilities` or `log_probabilities`.  More categories are turned than are yielded,
        because reading a few of each draw takes nearly as long as reading many.
        """
        step = max(1, self.block // (_COPIES * self.n_draws))
        for some_categories in self.category_blocks():
            turned = np.ascontiguousarray(np.moveaxis(x[:, :, some_categories], 2, 0))
            for start in range(0, len(turned), step):
                block = turned[start : start + step]
                first = some_categories.start + start
                yield slice(first, first + len(block)), block

    def logs(self, chain: int, rows: slice, numbers: IntArray | slice = slice(None)) -> FloatArray:
        """Copy log probabilities of some draws of a chain; a probability of 0 gives -inf."""
        x = np.array(self.values[chain, rows][:, numbers])
        if self.are_logs:
            return x
        with np.errstate(divide="ignore"):
            return np.asarray(np.log(x, out=x))

    def shares(self, chain: int, rows: slice, members: IntArray) -> FloatArray:
        """Compute p_i / p(members) for each member i in some draws of a chain."""
        logs = self.logs(chain, rows, members)
        top = logs.max(axis=1, keepdims=True)
        self.refuse_zeros(np.isneginf(top), members, "a share")
        logs -= top
        np.exp(logs, out=logs)
        logs /= logs.sum(axis=1, keepdims=True)
        return logs

    def labelled(
        self,
        values: npt.NDArray[Any],
        dims: tuple[str, ...],
        name: str,
        **index: npt.NDArray[Any],
    ) -> DataArray:
        """Make a DataArray, with the draws' own coordinates unless others are given."""
        import xarray as xr

        known = {**self.index, **index}
        coords: dict[Hashable, Any] = {dim: (dim, known[dim]) for dim in dims if dim in known}
        return xr.DataArray(values, coords, dims, name)

    def refuse_zeros(self, zeros: BoolArray, numbers: IntArray, what: str) -> None:
        """Refuse draws whose probabilities are so small that they were stored as 0."""
        if zeros.any():
            names = some([self.categories[int(i)] for i in numbers])
            raise DataError(
                f"{what} cannot be computed: the probabilities of {names} are 0 in some draws, too "
                "small to be stored. Their logarithms are needed: give the DataTree that "
                "Posterior.sample(..., log_probabilities=True) returned."
            )


def tail_of(ci_prob: float) -> float:
    """Compute the probability beyond each end of a central interval."""
    if not isinstance(ci_prob, (int, float, np.number)) or not 0 < ci_prob < 1:
        raise DataError(f"ci_prob = {ci_prob!r} was given; a number between 0 and 1 is needed.")
    return round((1 - float(ci_prob)) / 2, 15)  # 0.05, not 0.04999999999999999


def roles_of(run: DataTree) -> dict[str, str]:
    """Read the role of each variable of a run's posterior.

    A variable declares its role by its attribute "role".  Where it does not, "probabilities" (or
    the "base" of an HDP) holds competitors, numbers are parameters and larger arrays latent.
    `log_x` beside `x` is its transform and has no role.

    Returns
    -------
    dict
        Maps names to "competitor", "parameter" or "latent".
    """
    posterior = run["posterior"].data_vars
    found = {}
    for name, variable in ((str(name), v) for name, v in posterior.items()):
        if name.startswith("log_") and name.removeprefix("log_") in posterior:
            continue
        default = "parameter" if set(variable.dims) == set(_SAMPLE) else "latent"
        default = "competitor" if name in _COMPETITORS else default
        role = variable.attrs.get("role", default)
        if role not in ROLES:
            raise DataError(
                f"posterior[{name!r}] declares the role {role!r}; {some(ROLES)} are possible."
            )
        found[name] = role
    return found


def _read_run(run: DataTree) -> DrawsView:
    """Read a run: its competitors, their logarithms where kept, and its parameters."""
    refuse_sequences(run)
    roles = roles_of(run) if "posterior" in run.children else {}
    competitors = [name for name, role in roles.items() if role == "competitor"]
    if not competitors:
        raise DataError(
            "these are not draws: a DataTree was given without posterior['probabilities']. "
            "Give what Posterior.sample returned, or the array itself."
        )
    if len(competitors) > 1:
        raise DataError(
            f"the posterior holds several variables of competitors: {some(competitors)}. "
            "Give one of these arrays."
        )
    posterior, name = run["posterior"].to_dataset(), competitors[0]
    view = _read_array(posterior[name])
    logs = f"log_{name}"
    return replace(
        view,
        log_probabilities=_read_array(posterior[logs]).probabilities if logs in posterior else None,
        parameters=_read_parameters(
            {name: posterior[name] for name, role in roles.items() if role == "parameter"}
        ),
        events=event_model_of(run),
    )


def _read_parameters(variables: dict[str, DataArray]) -> DrawsView | None:
    """Put parameters side by side; entries of arrays have names such as weight[home]."""
    names: list[str] = []
    columns = []
    for name, variable in variables.items():
        rest = [dim for dim in variable.dims if dim not in _SAMPLE]
        flat = variable.transpose(*_SAMPLE, *rest)
        columns.append(flat.values.reshape(*flat.shape[:2], -1))
        for place in np.ndindex(flat.shape[2:]):
            labels = [str(flat[dim].values[i]) for dim, i in zip(rest, place, strict=True)]
            names.append(f"{name}[{', '.join(labels)}]" if labels else name)
    if not names:
        return None
    view = _read_array(np.concatenate(columns, axis=2))
    return replace(view, index={**view.index, "category": np.array(names)})


def _read_array(draws: DataArray | ArrayLike) -> DrawsView:
    """Read an array of finite numbers: chains, draws and a third dimension, its categories."""
    import xarray as xr

    named = isinstance(draws, xr.DataArray)
    variable = draws if isinstance(draws, xr.DataArray) else _unnamed(_numbers(draws))
    if variable.dtype.kind not in "fiu":
        raise DataError(
            f"these are not draws: a {type(draws).__name__} was given that holds no numbers, or "
            "rows of unequal lengths. Give a DataTree with posterior['probabilities'], or an array "
            "of shape (chain, draw, category)."
        )
    if variable.ndim != 3 or (named and not set(_SAMPLE) <= set(variable.dims)):
        given = f"dimensions {variable.dims}" if named else f"shape {variable.shape}"
        raise DataError(
            f"these are not draws: an array of {given} was given; (chain, draw, category) is "
            "needed. Name or add the dimensions: x[None] makes one chain of an array."
        )
    if named:
        variable = variable.transpose(*_SAMPLE, ...)
    values = np.asarray(variable.values, np.float64)  # to_numpy would import Dask
    if values.size == 0:
        raise DataError(
            f"no draws: shape {values.shape} was given; at least one chain, one draw and one "
            "category are needed. Take some draws first."
        )
    if not np.isfinite(values).all():
        raise DataError(
            f"{np.count_nonzero(~np.isfinite(values)):,} of {values.size:,} draws are not finite; "
            "all must be numbers. Leave out the chains or draws with nan or inf."
        )
    index = {
        name: variable[dim].values if dim in variable.coords else np.arange(size)
        for name, dim, size in zip((*_SAMPLE, "category"), variable.dims, values.shape, strict=True)
    }
    return DrawsView(values, None, index, effects=effects_in(variable.attrs))


def _unnamed(x: npt.NDArray[Any]) -> DataArray:
    """Make a DataArray of a bare array, without importing Dask to see whether it is Dask's."""
    import xarray as xr

    dims = [f"dim_{k}" for k in range(x.ndim)]
    return xr.DataArray(xr.Variable(dims, x, fastpath=True))


def _numbers(given: ArrayLike) -> npt.NDArray[Any]:
    """Make an array; nested lists of unequal lengths give one of objects."""
    try:
        return np.asarray(given)
    except (TypeError, ValueError):
        return np.empty(0, object)

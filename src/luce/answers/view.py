"""Draws that know their labels and, where they were kept, their logarithms."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from luce._types import BoolArray, FloatArray, IntArray, Label, Labels
from luce.answers.given import read_draws
from luce.counts.labels import Categories, some
from luce.errors import DataError

if TYPE_CHECKING:
    from collections.abc import Hashable

    from xarray import DataArray

    from luce.answers.given import DrawsLike

# Numbers worked on at once: 16 MB of them, whatever the number of draws.
BLOCK = 1 << 21


@dataclass(frozen=True, eq=False)
class LabelledDraws:
    """Draws to be compared, normalised and counted.

    Parameters
    ----------
    values
        Shape (chain, draw, category): logarithms if they were kept, else probabilities.  Either
        can be compared.
    are_logs
        Which of the two?
    index
        Coordinates of the three dimensions.
    """

    values: FloatArray
    are_logs: bool
    index: dict[str, npt.NDArray[Any]]

    @property
    def n_draws(self) -> int:
        """Draws of all chains together."""
        return int(self.values.shape[0] * self.values.shape[1])

    @property
    def n_categories(self) -> int:
        """How many categories there are."""
        return int(self.values.shape[2])

    @cached_property
    def categories(self) -> Categories:
        """The labels."""
        return Categories(self.index["category"].tolist())

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

    def blocks(self, width: int) -> Iterator[tuple[int, slice]]:
        """Go through all draws, so many at once that `width` numbers for each are a block."""
        chains, draws, _ = self.values.shape
        step = max(1, BLOCK // max(width, 1))
        for chain in range(chains):
            for start in range(0, draws, step):
                yield chain, slice(start, min(start + step, draws))

    def logs(self, chain: int, rows: slice, numbers: IntArray | slice = slice(None)) -> FloatArray:
        """Log probabilities of some draws of a chain, a copy: -inf for a probability of 0."""
        x = np.array(self.values[chain, rows][:, numbers])
        if self.are_logs:
            return x
        with np.errstate(divide="ignore"):
            return np.asarray(np.log(x, out=x))

    def shares(self, chain: int, rows: slice, members: IntArray) -> FloatArray:
        """Probabilities of some draws of a chain, given that one of `members` was the outcome."""
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
        """Name dimensions, with the draws' own coordinates unless others are given."""
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


def read_labelled(draws: DrawsLike, among: Labels | None = None) -> LabelledDraws:
    """Read draws with their labels, and with their logarithms where these were kept.

    With `among`, of these categories only, in stored order: their numbers stay what they are.
    """
    import xarray as xr

    variable = read_draws(draws)
    given: Any = draws
    values, are_logs = variable.to_numpy(), False
    if isinstance(draws, xr.DataTree):
        group = draws["posterior"]
        given = group["probabilities"]
        if "log_probabilities" in group:
            values, are_logs = read_draws(group["log_probabilities"]).to_numpy(), True
    if not are_logs and values.min() < 0:
        raise DataError(
            f"these are not draws: some are negative, the least being {values.min():g}. "
            "Give probabilities, or the whole DataTree that Posterior.sample returned."
        )
    known = isinstance(given, xr.DataArray) and "draw" in given.coords
    index = {name: variable[name].to_numpy() for name in ("chain", "category")}
    index["draw"] = given["draw"].to_numpy() if known else np.arange(values.shape[1])
    found = LabelledDraws(values, are_logs, index)
    if among is None:
        return found
    chosen = np.sort(found.numbers(among, "among"))
    index["category"] = index["category"][chosen]
    return LabelledDraws(values[:, :, chosen], are_logs, index)


def tails(interval: float) -> float:
    """Read the probability of a central interval: what it leaves out on each side."""
    if not isinstance(interval, (int, float, np.number)) or not 0 < interval < 1:
        raise DataError(f"interval = {interval!r} was given; a number between 0 and 1 is needed.")
    return round((1 - float(interval)) / 2, 15)  # 0.05, not 0.04999999999999999

"""Events: outcomes whose probability is more than a ratio of sums over sets.

Most data needs none.  Contests with ties or a home advantage do: their probabilities depend on
parameters beside p.  Counts hold their events apart from the sets, in an object with the interface
below.  The likelihood of events does not change when all p are multiplied by the same number.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Protocol

from numpy.typing import ArrayLike

from luce._types import FloatArray, IntArray, Label
from luce.errors import DataError


class Events(Protocol):
    """The interface of all kinds of events; immutable.

    Attributes
    ----------
    kind
        Name of the kind of events, stored with runs.
    noun
        What the data are, in the plural: contests, rankings.
    unit
        One event in words, in the singular.
    """

    kind: ClassVar[str]
    noun: ClassVar[str]
    unit: ClassVar[str]

    @property
    def n(self) -> int:
        """Number of categories."""

    @property
    def parameters(self) -> tuple[str, ...]:
        """Names of the parameters beside the probabilities, perhaps none."""

    def least(self, parameter: str) -> float:
        """Return the least value of a parameter: its gamma prior is that of the excess over it."""

    @property
    def model(self) -> str:
        """The model in words."""

    @property
    def n_outcomes(self) -> float:
        """Number of outcomes."""

    @property
    def is_whole(self) -> bool:
        """True where all counts are whole numbers."""

    def __len__(self) -> int:
        """Return the number of distinct events."""

    def wins(self) -> FloatArray:
        """Count the outcomes of each category, shape (n,); shared ones in parts."""

    def links(self) -> tuple[IntArray, IntArray]:
        """Return pairs of categories that occur in one event."""

    def log_likelihood(self, p: FloatArray, parameters: Mapping[str, ArrayLike]) -> FloatArray:
        """Compute the log likelihood at p of shape (..., n) and parameters of shape (...)."""

    def plus(self, other: Any) -> Events:
        """Add events of the same kind and model, or refuse others."""

    def to_power(self, power: float) -> Events:
        """Raise the likelihood to a positive power."""

    def renumbered(self, place: IntArray, n: int) -> Events:
        """Move category i to ``place[i]`` among n categories."""

    def restricted(self, place: IntArray, n: int, labels: Sequence[Label]) -> Events:
        """Keep the events among categories whose place is not -1."""

    def in_words(self, labels: Sequence[Label]) -> list[str]:
        """Describe each event, heaviest first."""

    def arrays(self) -> dict[str, tuple[str | tuple[str, ...], Any]]:
        """Return the contents as named arrays with dimensions, for a run and for a digest."""

    def attributes(self) -> dict[str, Any]:
        """Return kind and model as attributes of a run, under "events" the kind."""


def added(one: Events | None, other: Events | None) -> Events | None:
    """Add the events of two counts."""
    if one is None or other is None:
        return other if one is None else one
    if one.kind != other.kind:
        raise DataError(
            f"counts of different models cannot be added: one has {one.kind} ({one.model}), the "
            f"other {other.kind} ({other.model})."
        )
    return one.plus(other)

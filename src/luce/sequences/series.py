"""Time series as every semi-Markov model takes them."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass

from luce._types import FloatArray, IntArray, Label


@dataclass(frozen=True, eq=False)
class Series:
    """Observations of one or more sequences, one after the other.

    Parameters
    ----------
    values
        Shape (rows, channels); NaN where missing.  Categories are codes 0, 1, ...
    borders
        First row of each sequence, and the number of rows.
    channels, names
        Labels of the channels and of the sequences.
    times
        Time of each row as given, or None.
    categories
        Labels of the codes of a series of categories.
    """

    values: FloatArray
    borders: IntArray
    channels: tuple[Label, ...]
    names: tuple[Label, ...]
    times: FloatArray | None = None
    categories: tuple[Label, ...] = ()

    @property
    def length(self) -> int:
        """Number of rows."""
        return len(self.values)

    @property
    def n_sequences(self) -> int:
        """Number of sequences."""
        return len(self.borders) - 1

    @property
    def digest(self) -> str:
        """Digest of values and borders."""
        return hashlib.sha256(self.values.tobytes() + self.borders.tobytes()).hexdigest()[:16]

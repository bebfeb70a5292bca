"""State of a sampler of a hidden semi-Markov model, and figures of one sweep."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from luce._types import FloatArray, IntArray


@dataclass(frozen=True, eq=False)
class SemiMarkovState:
    """One joint draw of states, parameters and transition probabilities; immutable.

    All fields are plain arrays; L is the number of states, T that of rows.

    Parameters
    ----------
    labels
        Shape (T,): state of each row, sequences one after the other.  Rows next to each other with
        one state are one segment, except across the border of two sequences.
    last_lengths
        Shape (sequences,): duration of the last segment of each sequence, rows after the end of the
        sequence included.
    emission
        Parameters of the emission by name, the state being the first dimension.
    duration
        Parameters of the durations by name, the state being the first dimension.
    initial
        Shape (L,): π0, probabilities of the first state of a sequence.
    rows
        Shape (L, L): A, probabilities of the next state; 0 where it is forbidden.
    log_base
        Shape (L,): log β.
    concentration, base_concentration
        α and γ.
    """

    labels: IntArray = field(repr=False)
    last_lengths: IntArray = field(repr=False)
    emission: Mapping[str, FloatArray] = field(repr=False)
    duration: Mapping[str, FloatArray] = field(repr=False)
    initial: FloatArray = field(repr=False)
    rows: FloatArray = field(repr=False)
    log_base: FloatArray = field(repr=False)
    concentration: float
    base_concentration: float

    @property
    def base(self) -> FloatArray:
        """Base β, shape (L,)."""
        return np.exp(self.log_base)

    def arrays(self) -> dict[str, np.ndarray]:
        """Return all fields as arrays by name, from which `of_arrays` makes the state again."""
        scales = np.array([self.concentration, self.base_concentration])
        return {
            "labels": self.labels,
            "last_lengths": self.last_lengths,
            "initial": self.initial,
            "rows": self.rows,
            "log_base": self.log_base,
            "scales": scales,
            **{f"emission_{name}": own for name, own in self.emission.items()},
            **{f"duration_{name}": own for name, own in self.duration.items()},
        }

    @classmethod
    def of_arrays(cls, arrays: Mapping[str, np.ndarray]) -> SemiMarkovState:
        """Make a state from the arrays that `arrays` returned; others are ignored."""

        def named(prefix: str) -> dict[str, FloatArray]:
            return {
                name.removeprefix(prefix): np.array(own)
                for name, own in arrays.items()
                if name.startswith(prefix)
            }

        alpha, gamma = np.asarray(arrays["scales"]).tolist()
        return cls(
            np.array(arrays["labels"]),
            np.array(arrays["last_lengths"]),
            named("emission_"),
            named("duration_"),
            np.array(arrays["initial"]),
            np.array(arrays["rows"]),
            np.array(arrays["log_base"]),
            alpha,
            gamma,
        )


class StepInfo(NamedTuple):
    """Figures of one sweep.

    Attributes
    ----------
    log_likelihood
        log p(y, no segment longer than `longest` | parameters) of the new state.
    segments
        Number of segments.
    states_used
        Number of states that some row has.
    at_longest
        Number of segments whose rows are as many as `longest`; 0 where there is none.
    proposed, accepted
        Moves that split or merge states: proposed, and accepted.
    """

    log_likelihood: float
    segments: int
    states_used: int
    at_longest: int
    proposed: int
    accepted: int

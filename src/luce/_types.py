"""Type aliases that several modules share."""

from collections.abc import Hashable, Iterable, Mapping
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

FloatArray: TypeAlias = npt.NDArray[np.float64]
IntArray: TypeAlias = npt.NDArray[np.int64]
BoolArray: TypeAlias = npt.NDArray[np.bool_]
WordArray: TypeAlias = npt.NDArray[np.uint64]
RecordArray: TypeAlias = npt.NDArray[Any]  # of records with named fields
NumberArray: TypeAlias = npt.NDArray[Any]  # of numbers of a type that is declared elsewhere

Label: TypeAlias = Hashable
Labels: TypeAlias = Iterable[Label]
Concentration: TypeAlias = float | npt.ArrayLike | Mapping[Label, float]
SeedLike: TypeAlias = int | np.random.SeedSequence | None
Attributes: TypeAlias = dict[str, Any]

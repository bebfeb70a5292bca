"""A Gibbs step refuses weights in words."""

import pytest
from lib.weighted_cases import SINGLE, counts_of

from luce.embed import GibbsStep
from luce.errors import DataError


def test_weights_are_refused() -> None:
    with pytest.raises(DataError, match="weighted sets"):
        GibbsStep.of(counts_of(SINGLE))
    with pytest.raises(DataError, match="takes no weights"):
        GibbsStep("abc", within=[{"a": 1, "b": 0.5}])
    step = GibbsStep("abc", within=["ab"])
    with pytest.raises(DataError, match="weighted sets"):
        step.totals(counts_of(SINGLE))

"""One data set under several priors."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import luce
from luce import ConditionalCounts, Posterior
from luce.errors import DataError

pytestmark = pytest.mark.filterwarnings("ignore::luce.ConvergenceWarning")


FEW: dict[str, Any] = {"chains": 2, "seed": 1, "progress": False}


def test_the_same_data_under_several_priors() -> None:
    counts = ConditionalCounts("ab").observe({"a": 3})
    found = luce.workflows.sensitivity(counts, [1, 9], 200, **FEW)
    means = found["mean"].sel(category="a").to_numpy()
    np.testing.assert_allclose(means, [4 / 5, 12 / 21], atol=0.06)
    alone = luce.summary(Posterior(counts, 9.0).sample(200, **FEW))
    assert float(means[1]) == pytest.approx(alone["mean"][0], rel=1e-14)
    assert found["p_best"].sum("category").values == pytest.approx([1, 1])
    for bad in ([], [1.0, 1.0]):
        with pytest.raises(DataError, match="one or more different numbers"):
            luce.workflows.sensitivity(counts, bad)


def test_sensitivity_among_some() -> None:
    counts = ConditionalCounts(["a", "b", "tie", "c"]).observe({"a": 3, "tie": 4}, without=["c"])
    players = ["c", "a", "b"]
    table = luce.workflows.sensitivity(counts, [1.0], 200, among=players, seed=1, progress=False)
    assert table["category"].values.tolist() == ["a", "b", "c"]
    assert float(table["p_best"].sum()) == pytest.approx(1.0)

"""Findings are those of the run."""

import numpy as np
import xarray as xr

import luce
from luce.reports.findings import ChoiceFindings, find


def test_findings_are_of_the_run(chains: xr.DataTree) -> None:
    found = find(chains, 0.9)
    assert isinstance(found, ChoiceFindings)
    assert found.posterior.counts == luce.posterior_of(chains).counts
    assert (found.n, found.chains, found.draws, found.independent) == (5, 2, 25, False)
    odds = np.log(chains.posterior["probabilities"].to_numpy())
    odds -= odds.mean(axis=2, keepdims=True)
    order = [list("abcd").index(c) if c in "abcd" else 4 for c in found.table.categories]
    np.testing.assert_allclose(found.log_odds, odds.mean(axis=(0, 1))[order])
    assert [label for group in found.comparable for label in group].count("unseen") == 1
    assert found.parameters is None

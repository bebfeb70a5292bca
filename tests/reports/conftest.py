"""Runs that several files of tests report on."""

from pathlib import Path

import pytest
import xarray as xr
from lib.report_runs import four_and_unseen, three_ranked

import luce


@pytest.fixture(scope="session")
def exact() -> xr.DataTree:
    """Draw three ranked categories exactly."""
    return three_ranked()


@pytest.fixture(scope="session")
def chains() -> xr.DataTree:
    """Simulate duels among four, beside one unseen category."""
    return four_and_unseen()


@pytest.fixture(scope="session")
def drawn(chains: xr.DataTree, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Write the page of the chains, with its pictures."""
    return luce.report(chains, tmp_path_factory.mktemp("drawn") / "a.html", ci_prob=0.8)

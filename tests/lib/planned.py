"""Posteriors drawn by a plan whose settings tests choose freely, chunks and blocks included."""

from pathlib import Path
from typing import Any

from xarray import DataTree

from luce import Posterior
from luce.cluster.execution import carry_out
from luce.sampling.plan import PosteriorPlan
from luce.sampling.settings import Settings


def plan_of(posterior: Posterior, **settings: Any) -> PosteriorPlan:
    """Plan to draw a posterior; quiet unless the settings say otherwise."""
    return PosteriorPlan.of(posterior.model, Settings(**{"progress": False, **settings}))


def sample_planned(posterior: Posterior, to: Path | None = None, **settings: Any) -> DataTree:
    """Draw a posterior as `Posterior.sample` does, with all settings there are."""
    return carry_out(plan_of(posterior, **settings), to)

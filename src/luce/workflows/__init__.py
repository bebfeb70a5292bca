"""Whole tasks: data to draws, many posteriors, unbiased means, event logs, resumed runs."""

from typing import TYPE_CHECKING

from luce._lazy import lazy_names

if TYPE_CHECKING:
    from luce.workflows.distances import DistanceBound as DistanceBound
    from luce.workflows.distances import distance_to_posterior as distance_to_posterior
    from luce.workflows.event_logs import reduce_logs as reduce_logs
    from luce.workflows.fitting import fit as fit
    from luce.workflows.many_posteriors import sample_many as sample_many
    from luce.workflows.prior_sensitivity import sensitivity as sensitivity
    from luce.workflows.resuming import resume as resume
    from luce.workflows.unbiased_means import unbiased as unbiased
    from luce.workflows.warming import Warmed as Warmed
    from luce.workflows.warming import warm_up as warm_up

_HOMES = {
    "DistanceBound": "distances",
    "Warmed": "warming",
    "distance_to_posterior": "distances",
    "fit": "fitting",
    "reduce_logs": "event_logs",
    "resume": "resuming",
    "sample_many": "many_posteriors",
    "sensitivity": "prior_sensitivity",
    "unbiased": "unbiased_means",
    "warm_up": "warming",
}

__getattr__, __dir__, __all__ = lazy_names(__name__, _HOMES)

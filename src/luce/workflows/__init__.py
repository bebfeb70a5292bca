"""Posteriors of many groups, counts of event logs, sensitivity to the prior, resumed runs."""

from typing import TYPE_CHECKING

from luce._lazy import lazy_names

if TYPE_CHECKING:
    from luce.workflows.event_logs import reduce_logs as reduce_logs
    from luce.workflows.many_posteriors import sample_many as sample_many
    from luce.workflows.prior_sensitivity import sensitivity as sensitivity
    from luce.workflows.resuming import resume as resume

_HOMES = {
    "reduce_logs": "event_logs",
    "resume": "resuming",
    "sample_many": "many_posteriors",
    "sensitivity": "prior_sensitivity",
}

__getattr__, __dir__, __all__ = lazy_names(__name__, _HOMES)

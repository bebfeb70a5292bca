"""Many posteriors at once, raw logs, and sensitivity to the prior."""

from typing import TYPE_CHECKING

from luce._lazy import lazy_names

if TYPE_CHECKING:
    from luce.workflows.logs import reduce_logs as reduce_logs
    from luce.workflows.many import sample_many as sample_many
    from luce.workflows.resuming import resume as resume
    from luce.workflows.sensitivities import sensitivity as sensitivity

_HOMES = {
    "reduce_logs": "logs",
    "resume": "resuming",
    "sample_many": "many",
    "sensitivity": "sensitivities",
}

__getattr__, __dir__, __all__ = lazy_names(__name__, _HOMES)

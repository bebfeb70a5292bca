"""The data algebra: labels, families of sets, and conditional counts."""

from typing import TYPE_CHECKING

from luce._lazy import lazy_names

if TYPE_CHECKING:
    from luce.counts.comparability import comparable_groups as comparable_groups
    from luce.counts.comparability import prior_only as prior_only
    from luce.counts.confounding import home_is_confounded as home_is_confounded
    from luce.counts.confounding import untold_parameters as untold_parameters
    from luce.counts.counts import ConditionalCounts as ConditionalCounts
    from luce.counts.terms import Term as Term

_HOMES = {
    "ConditionalCounts": "counts",
    "Term": "terms",
    "comparable_groups": "comparability",
    "home_is_confounded": "confounding",
    "prior_only": "comparability",
    "untold_parameters": "confounding",
}

__getattr__, __dir__, __all__ = lazy_names(__name__, _HOMES)

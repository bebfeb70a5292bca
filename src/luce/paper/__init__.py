"""Johnson and Willsky's experiments: run again, drawn, and judged claim by claim.

Dirichlet Posterior Sampling with Truncated Multinomial Likelihoods, arXiv:1208.6537.
"""

from typing import TYPE_CHECKING

from luce._lazy import lazy_names

if TYPE_CHECKING:
    from luce.paper.examples import paper_posterior as paper_posterior
    from luce.paper.reproduction import Reproduction as Reproduction
    from luce.paper.reproduction import reproduce as reproduce
    from luce.paper.sections import FIGURES as FIGURES

_HOMES = {
    "FIGURES": "sections",
    "Reproduction": "reproduction",
    "paper_posterior": "examples",
    "reproduce": "reproduction",
}

__getattr__, __dir__, __all__ = lazy_names(__name__, _HOMES)

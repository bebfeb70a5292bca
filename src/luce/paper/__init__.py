"""Johnson and Willsky's experiments: run, drawn, and judged claim by claim.

Dirichlet Posterior Sampling with Truncated Multinomial Likelihoods, arXiv:1208.6537.
"""

from luce.paper.report import FIGURES, Report, reproduce

__all__ = ["FIGURES", "Report", "reproduce"]

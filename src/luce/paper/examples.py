"""The posterior that the paper's experiments, the demo and the documentation draw from."""

from luce.counts.counts import ConditionalCounts
from luce.errors import DataError
from luce.posterior import Posterior


def paper_posterior(n: int = 10) -> Posterior:
    """Build the posterior of Johnson and Willsky's experiments.

    With h = n / 2: for each j < h, ten outcomes at category j while the category before it (h - 1
    before 0) was truncated; concentration 2.

    Parameters
    ----------
    n
        Number of categories, even and at least 4; the paper has 10 and 20.

    Examples
    --------
    >>> paper_posterior(10).structure.details
    '10 categories in 6 atoms, 1 core (6 atoms and 5 sets)'
    """
    if n < 4 or n % 2:
        raise DataError(f"n = {n}; an even number of at least 4 is needed.")
    half = n // 2
    counts = ConditionalCounts(n)
    for j in range(half):
        counts = counts.observe({j: 10}, without=[(j - 1) % half])
    return Posterior(counts, concentration=2.0)

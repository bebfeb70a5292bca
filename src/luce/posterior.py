"""The posterior: data, prior, and what can be asked of them."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from luce._types import FloatArray, Label, Labels, SeedLike
from luce.drawable import Drawable
from luce.estimates.curvature import covariance_at
from luce.estimates.modes import Mode, check_scale, find_mode
from luce.model import density, exact
from luce.model.exact import LogEvidence
from luce.sampling.progress import announce_compilation


class Posterior(Drawable):
    """The posterior of category probabilities under a Dirichlet prior and conditional counts.

        density(p)  proportional to  prod_i p_i^(a_i + n_i - 1) * prod_S p(S)^(e_S)

    Parameters
    ----------
    counts
        The data: n_i and e_S.
    concentration
        The prior's a_i: one positive number for all categories, one for each, or a mapping
        from labels to numbers.  Or a `Gamma`, the prior of a common a that is not known: it is
        then drawn too, and only `structure` and `sample` can be asked for.  Or a
        `DirichletProcess`, for categories of which most have never been seen.

    Examples
    --------
    >>> from luce import ConditionalCounts
    >>> counts = ConditionalCounts(["a", "b", "c"]).observe({"b": 2}, without=["a"])
    >>> posterior = Posterior(counts, concentration=2.0)
    >>> posterior.structure
    3 categories in 2 atoms: the sets nest, so every draw is exact and independent.
    >>> posterior.mean().round(3)
    array([0.333, 0.444, 0.222])
    """

    def log_density(self, probabilities: ArrayLike) -> FloatArray:
        """Log prior plus log likelihood, up to the evidence.

        Parameters
        ----------
        probabilities
            Shape (..., n_categories), each row on the simplex.

        Examples
        --------
        >>> from luce import ConditionalCounts
        >>> posterior = Posterior(ConditionalCounts(2).observe({0: 3}))
        >>> float(posterior.log_density([0.5, 0.5]).round(4))
        -2.0794
        """
        self._require_number("the density")
        return density.log_posterior(
            probabilities, self._counts, self._concentration, self._remainder
        )

    def mean(self) -> FloatArray:
        """Posterior mean in closed form, shape (n_categories,), where the sets nest."""
        self._require_number("the posterior mean")
        exact.require_exact(self._structure, "the posterior mean")
        return exact.mean_and_variance(self._shapes)[0]

    def variance(self) -> FloatArray:
        """Posterior variance in closed form, shape (n_categories,), where the sets nest."""
        self._require_number("the posterior variance")
        exact.require_exact(self._structure, "the posterior variance")
        return exact.mean_and_variance(self._shapes)[1]

    def mode(self, scale: str = "simplex") -> Mode:
        """Most probable probabilities, shape (n_categories,), by Newton's method.

        Parameters
        ----------
        scale
            "simplex": where the density of p is largest; with concentration 1 these are the
            maximum-likelihood estimates.  "log-odds": where the density of log p_i - log p_j is,
            which is never on the boundary.

        Returns
        -------
        Mode
            An array that also knows its `scale`, the labels that are `at_zero`, and `log_odds`.

        Raises
        ------
        NoMaximumError
            Where the density has no maximum; it says why and, in `groups`, between whom.

        Examples
        --------
        Bo won 6 of 8 duels with Ann, Cy 3 of 4 with Bo.

        >>> from luce import ConditionalCounts
        >>> counts = ConditionalCounts(["Ann", "Bo", "Cy"])
        >>> counts = counts.observe({"Ann": 2, "Bo": 6}, within=["Ann", "Bo"])
        >>> counts = counts.observe({"Bo": 1, "Cy": 3}, within=["Bo", "Cy"])
        >>> Posterior(counts).mode()
        Mode(simplex: Ann: 0.07692, Bo: 0.2308, Cy: 0.6923)
        >>> Posterior(counts).mode("log-odds")
        Mode(log-odds: Ann: 0.1531, Bo: 0.329, Cy: 0.5179)
        """
        self._require_number("the mode")
        announce_compilation()
        return find_mode(self._counts, self._concentration, scale)

    def covariance(
        self, scale: str = "simplex", reference: Label = "mean", among: Labels | None = None
    ) -> FloatArray:
        """Covariance of the Laplace fit: the normal that has the posterior's mode and curvature.

        The fit is made in log-odds, where posteriors are closest to normal.

        Parameters
        ----------
        scale
            "simplex" for that of the probabilities, to first order; "log-odds" for that of
            log p_i - log p_reference.
        reference
            Of log-odds: a label; or "mean", unless that is a label: the mean of all log p_j.
        among
            The labels wanted, all unless given.  Needed where there are more than 2,000.

        Returns
        -------
        array
            Shape (n, n), in the order of `among` or of the categories.

        Examples
        --------
        >>> from luce import ConditionalCounts
        >>> posterior = Posterior(ConditionalCounts("ab").observe({"a": 29, "b": 9}))
        >>> posterior.covariance().round(4)
        array([[ 0.0047, -0.0047],
               [-0.0047,  0.0047]])
        """
        self._require_number("the Laplace fit")
        mode = self.mode("log-odds")
        check_scale(scale)
        return covariance_at(self._counts, self._concentration, mode, scale, reference, among)

    def standard_errors(
        self, scale: str = "simplex", reference: Label = "mean", among: Labels | None = None
    ) -> FloatArray:
        """Standard deviations of the Laplace fit, shape (n,); see `covariance`.

        Examples
        --------
        >>> from luce import ConditionalCounts
        >>> posterior = Posterior(ConditionalCounts("ab").observe({"a": 29, "b": 9}))
        >>> posterior.standard_errors("log-odds", reference="a").round(3)
        array([0.   , 0.365])
        """
        return np.sqrt(np.diag(self.covariance(scale, reference, among)))

    def log_evidence(
        self,
        draws: int = 1000,
        *,
        chains: int = 4,
        seed: SeedLike = None,
        method: str = "auto",
        progress: bool = True,
    ) -> LogEvidence:
        """Log of the evidence: in closed form where the sets nest, else estimated from draws.

        The likelihood is taken without multinomial coefficients, the prior normalised.

        Parameters
        ----------
        draws, chains, seed, progress
            As in `sample`, for the draws of each core; unused where the sets nest.
        method
            "bridge" is bridge sampling, "chib" Chib's method; "auto" does both, returns the
            first, and warns where they disagree or rest on few draws.

        Returns
        -------
        LogEvidence
            A number with a `standard_error`, its `method` and all `estimates`.

        Examples
        --------
        One outcome out of two, uniform prior: probability 1/2.

        >>> from luce import ConditionalCounts
        >>> float(np.exp(Posterior(ConditionalCounts(2).observe({0: 1})).log_evidence()).round(6))
        0.5
        """
        from luce.estimates.evidence import log_evidence
        from luce.sampling.settings import Settings

        self._require_number("the evidence")
        settings = Settings(draws, chains, seed=seed, progress=progress)
        return log_evidence(self._shapes, self._concentration, self._remainder, settings, method)

"""The posterior: data, prior, and what can be asked of them."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from luce import density, exact
from luce._types import FloatArray, Label, Labels, SeedLike
from luce.data_and_prior import DataAndPrior
from luce.errors import MethodError
from luce.exact import LogEvidence
from luce.mode import Mode, check_scale, find_mode
from luce.module_shapes import ModuleShapes, shapes_of
from luce.progress import announce_compilation
from luce.structure import Structure, structure_of
from luce.uncertainty import covariance_at

if TYPE_CHECKING:
    from xarray import DataTree

    from luce.settings import Settings


class Posterior(DataAndPrior):
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

    @cached_property
    def structure(self) -> Structure:
        """Which parts are exact, and which must be simulated; printed, also how and why."""
        return replace(self._structure, choices=self._choices)

    @cached_property
    def _structure(self) -> Structure:
        announce_compilation()
        return structure_of(self._counts.sets)

    def _choices(self) -> list[str]:
        from luce.methods import parts_of

        if self._hyperprior is not None:
            return ["waiting-times, the concentration is drawn too"] * len(self._structure.cores)
        return [f"{part.name}, {part.reason}" for part in parts_of(self._shapes)]

    @cached_property
    def _shapes(self) -> ModuleShapes:
        return shapes_of(self._structure, self._counts, self._concentration)

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
        from luce.evidence import log_evidence
        from luce.settings import Settings

        self._require_number("the evidence")
        settings = Settings(draws, chains, seed=seed, progress=progress)
        return log_evidence(self._shapes, self._concentration, self._remainder, settings, method)

    def sample(
        self,
        draws: int = 1000,
        *,
        chains: int = 4,
        warmup: int | None = None,
        seed: SeedLike = None,
        method: str = "auto",
        reduce: bool = True,
        initial: ArrayLike | str = "prior",
        threads: int | None = None,
        progress: bool = True,
        log_probabilities: bool | None = None,
        proposal_concentration: float | None = None,
        thin: int = 1,
        keep: Labels | None = None,
        to: str | os.PathLike[str] | None = None,
        quantiles: Sequence[float] | None = None,
    ) -> DataTree:
        """Draw from the posterior.

        Parameters
        ----------
        draws
            Draws to keep from each chain.
        chains
            Independent chains.
        warmup
            Sweeps to discard first; half the draws, at least 100 and at most 1000, unless given.
            Exact draws need none.
        seed
            The same seed gives the same draws, for any number of threads.
        method
            "auto" chooses for each core, see `structure`.  Or one for all: "exact" (where the
            sets nest), "rejection" (perfect draws, where each set leaves out one atom),
            "hamiltonian" (for weakly connected cores), "waiting-times", "hidden-counts" (the
            paper's) or "metropolis" (the paper's baseline).  Where the sets nest nothing is left
            to simulate, and every method but one with ``reduce=False`` is exact.
        reduce
            Simulate only the irreducible cores and split exactly around them; False runs the
            method on the raw categories.
        initial
            "prior" starts every chain at a draw of the prior; or starting probabilities, shape
            (n_categories,) or (chains, n_categories).
        threads
            Chains run at the same time; as many as there are processors unless given.
        progress
            Show a bar for anything longer than two seconds?
        log_probabilities
            Keep logarithms too, at twice the memory?  Unless given: where some shape below 0.1
            makes probabilities so small that they are wanted.
        proposal_concentration
            "metropolis" only: the proposal's parameter; tuned to accept 0.24 unless given.
        thin
            Sweeps a draw: of so many one is kept.
        keep
            The labels whose draws are kept; all unless given.
        to
            A folder, ending in .zarr, that draws go to as they are made, so that memory does not
            grow with them; a run that was broken off goes on with `luce.resume`.
        quantiles
            With `to`: fractions whose quantiles are followed for every category, kept or not.
            Means and standard deviations are followed in any case.

        Returns
        -------
        DataTree
            ``posterior["probabilities"]`` with dimensions (chain, draw, category); statistics of
            the chains, prior and counts in the other groups; the settings as attributes.  With
            `to`, draws are read from the disk where they are asked for.
        """
        from luce.settings import Settings

        settings = Settings(
            draws, chains, warmup, seed, method, reduce, initial, threads, progress,
            log_probabilities, proposal_concentration, thin, keep,
        )  # fmt: skip
        if to is not None:
            return self._stream(settings, to, quantiles)
        if quantiles is not None:
            raise MethodError("quantiles are followed only in a run that goes to a disk, to=...")
        return self._draw(settings)

    def _draw(self, settings: Settings) -> DataTree:
        from luce.convergence import warn_if_not_converged
        from luce.drawing import draw
        from luce.draws import Origin, as_datatree

        result = draw(self._counts, self._concentration, self._shapes, settings, self._hyperprior)
        if not result.method.independent:
            proposes = [part.kernel.statistic == "accepted" for part in result.method.parts]
            accepted = result.statistics[..., proposes] if any(proposes) else None
            watched = result.probabilities
            if self._hyperprior is not None:
                watched = np.concatenate([watched, result.statistics], axis=2)
            warn_if_not_converged(watched, accepted)
        origin = Origin(
            self._counts, self._concentration, self._hyperprior, self._process, result.method,
            result.warmup, result.seed, result.thin, result.kept,
        )  # fmt: skip
        return as_datatree(result, origin)

    def _stream(
        self, settings: Settings, to: str | os.PathLike[str], quantiles: Sequence[float] | None
    ) -> DataTree:
        from luce.streaming.open_stream import begin

        return begin(self, self._shapes, settings, Path(to), quantiles)

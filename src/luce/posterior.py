"""The posterior of category probabilities: draws, density, moments, mode and evidence."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING

from numpy.typing import ArrayLike

from luce._lazy import without_collections
from luce._types import FloatArray, Label, Labels, SeedLike
from luce.counts.counts import ConditionalCounts
from luce.estimates.curvature import EventFit, LaplaceFit
from luce.estimates.estimate import Estimate, by_category
from luce.estimates.event_density import EventDensity
from luce.estimates.event_modes import maximise_events
from luce.estimates.modes import Mode, check_scale, find_mode
from luce.model import density, exact
from luce.model.model import Model
from luce.model.priors import ParameterPrior, Prior, PriorLike
from luce.model.structure import Structure
from luce.page.plain_tables import bare_html

if TYPE_CHECKING:
    from xarray import DataArray, DataTree

    from luce.cluster.connect import ClusterLike

# Categories and stored members of sets up to which a notebook shows the structure unasked.
_FOUND_AT_ONCE = 10_000


class Posterior:
    """The posterior of category probabilities under a Dirichlet prior and conditional counts.

        density(p)  proportional to  prod_i p_i^(a_i + n_i - 1) * prod_S p(S)^(e_S)

    Parameters
    ----------
    counts
        The data: n_i and e_S.
    concentration
        The prior's a_i: one number from 1e-10 to 1e15 for all categories, one for each, or a
        mapping from labels to numbers.  Or a `Gamma`, the prior of an unknown common a: then a is
        drawn too, and only `structure` and `sample` are available.  Or a prior as an object:
        `Dirichlet`, or `DirichletProcess` for categories of which most have never been seen.
    home, tie
        Priors of the parameters of contests, for data that has them (`counts.parameters`): a
        `Gamma` for the factor of the side at home, and one for Davidson's ν or for the excess θ - 1
        of Rao and Kupper's θ.  Gamma(2, 2) and Gamma(1, 1) unless given.  A number says that the
        parameter is known: ``home=1.0``, no advantage.

    Examples
    --------
    >>> from luce import ConditionalCounts
    >>> counts = ConditionalCounts(["a", "b", "c"]).observe({"b": 2}, without=["a"])
    >>> posterior = Posterior(counts, concentration=2.0)
    >>> posterior.structure
    3 categories: the sets nest, so every draw is exact and independent.
    >>> posterior.mean().values.round(3)
    array([0.333, 0.444, 0.222])
    """

    def __init__(
        self,
        counts: ConditionalCounts,
        concentration: PriorLike = 1.0,
        *,
        home: ParameterPrior | None = None,
        tie: ParameterPrior | Mapping[str, ParameterPrior] | None = None,
    ) -> None:
        self._model = Model(counts, concentration, parameters={"home": home, "tie": tie})

    @classmethod
    def of_model(cls, model: Model) -> Posterior:
        """Wrap an existing model."""
        new = cls.__new__(cls)
        new._model = model
        return new

    @property
    def model(self) -> Model:
        """Data and prior, with the structure and shapes that samplers use."""
        return self._model

    @property
    def counts(self) -> ConditionalCounts:
        """The data."""
        return self._model.counts

    @property
    def prior(self) -> Prior:
        """The prior, a `Dirichlet` or a `DirichletProcess`."""
        return self._model.prior

    @property
    def concentration(self) -> FloatArray:
        """Parameters of the prior, shape (n_categories,); their means where drawn too."""
        return self._model.concentration

    def without_data(self) -> Posterior:
        """Return the posterior of no data: its draws are draws of the prior.

        Examples
        --------
        >>> import luce
        >>> posterior = luce.Posterior(ConditionalCounts("ab").observe({"a": 3}), 2.0)
        >>> posterior.without_data().mean().values
        array([0.5, 0.5])
        """
        self._model.require_plain("the posterior without data")
        empty = ConditionalCounts(self.counts.categories).with_effects(self.counts.effects)
        return Posterior(empty, self.prior)

    @cached_property
    def structure(self) -> Structure:
        """Exact parts, and cores to be simulated; printing adds each core's method and reason."""
        return replace(self._model.structure, choices=self._choices)

    def _choices(self) -> list[str]:
        from luce.sampling.choice import choose
        from luce.sampling.settings import Settings

        choice = choose(self._model, Settings())
        told = [f"{m}, {r}" for m, r in zip(choice.methods, choice.reasons, strict=True)]
        together = self._model.structure.together is not None
        return told if choice.reduced or together else told * len(self.structure.cores)

    def sample(
        self,
        draws: int = 1000,
        *,
        chains: int = 4,
        warmup: int | str | None = None,
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
        until: float | str | None = None,
        to: str | os.PathLike[str] | None = None,
        quantiles: Sequence[float] | None = None,
        cluster: ClusterLike = None,
    ) -> DataTree:
        """Draw from the posterior.

        Parameters
        ----------
        draws
            Draws to keep from each chain.
        chains
            Independent chains.
        warmup
            Sweeps to discard first; half the draws, at least 100 and at most 1000, or at most 200
            where chains start near the mode, unless given.  Independent draws need none.
            "certified" takes as many as a bound on the distance from the posterior asks for: it is
            then below 0.01, 99 % sure (see `luce.distance_to_posterior`).
        seed
            The same seed gives the same draws, for any number of threads.
        method
            "auto" chooses for each core, see `structure`.  Or one for all: "exact" (where the
            sets nest), "rejection" (perfect draws, where each set leaves out one atom, or from
            little data), "from-the-past" (perfect draws from more data), "hamiltonian" (for weakly
            connected cores), "independence" (proposals around the mode, for much data on few
            categories), "waiting-times" (for any data), "hidden-counts" (the paper's) or
            "metropolis" (the paper's baseline).  Where the sets nest nothing is left
            to simulate, and every method but one with ``reduce=False`` is exact.  Where the
            concentration is drawn too, "hamiltonian" and "waiting-times" alone can be used.
        reduce
            Simulate only the irreducible cores and split exactly around them; False runs the
            method on the raw categories.
        initial
            "prior" starts every chain at a draw of the prior, its parameters raised to 0.05 where
            they are smaller; "independence", and "hamiltonian" with more than 100 atoms, start at
            draws near the mode instead.  Or starting probabilities, shape (n_categories,) or
            (chains, n_categories).
        threads
            Chains run at the same time; as many as there are processors unless given.
        progress
            Show a bar for anything longer than two seconds?
        log_probabilities
            Keep logarithms too, at twice the memory?  Unless given, they are kept where a shape
            below 0.1 makes some probabilities too small for doubles.
        proposal_concentration
            "metropolis" only: the proposal's parameter; tuned to accept 0.24 unless given.
        thin
            Sweeps for each draw: only the last of them is kept.
        keep
            The labels whose draws are kept; all unless given.
        until
            "converged" draws on until the check of convergence is met, and a number until every
            category has that many effective draws too.  The check is made after `draws` draws of
            each chain and after each doubling, up to 16 times `draws`; where it is not met by then,
            a warning says so.  The same seed gives the same draws.  Not with `to` or `cluster`.
        to
            A folder, ending in .zarr, that draws go to as they are made, so that memory does not
            grow with them; a run that was broken off goes on with `luce.resume`.
        quantiles
            With `to`: fractions whose quantiles are followed for every category, kept or not.
            Means and standard deviations are followed in any case.
        cluster
            Draw the chains on the workers of a Dask scheduler, given by its address or a client, or
            "local" for processes of this machine; None for threads of this process.

        Returns
        -------
        DataTree
            ``posterior["probabilities"]`` with dimensions (chain, draw, category); statistics of
            the chains, prior and counts in the other groups; the settings as attributes.  With
            `to`, draws are read from the disk where they are asked for.
        """
        with without_collections():
            from luce.cluster.execution import carry_out, check_destination
            from luce.sampling.plan import PosteriorPlan
            from luce.sampling.settings import Settings

        settings = Settings(
            draws=draws,
            chains=chains,
            warmup=warmup,
            seed=seed,
            method=method,
            reduce=reduce,
            initial=initial,
            threads=threads,
            progress=progress,
            log_probabilities=log_probabilities,
            proposal_concentration=proposal_concentration,
            thin=thin,
            keep=keep,
            until=until,
            quantiles=quantiles,
        )
        check_destination(settings, to, cluster)
        return carry_out(PosteriorPlan.of(self._model, settings), to, cluster)

    def log_density(self, probabilities: ArrayLike, **parameters: ArrayLike) -> FloatArray:
        """Compute log prior plus log likelihood, without subtracting the log evidence.

        Parameters
        ----------
        probabilities
            Shape (..., n_categories), each row on the simplex.
        **parameters
            Values of the drawn ones of the data's parameters, `home` and `tie`, of shape (...)
            each.

        Examples
        --------
        >>> from luce import ConditionalCounts
        >>> posterior = Posterior(ConditionalCounts(2).observe({0: 3}))
        >>> float(posterior.log_density([0.5, 0.5]).round(4))
        -2.0794
        """
        self._model.require_number("the density")
        return density.log_posterior(
            probabilities,
            self.counts,
            self.concentration,
            self._model.remainder,
            {**parameters, **self._model.known_parameters},
            self._model.parameter_priors,
        )

    def mean(self) -> DataArray:
        """Compute the posterior mean of each category in closed form, where the sets nest.

        Examples
        --------
        >>> import luce
        >>> posterior = luce.Posterior(ConditionalCounts("ab").observe({"a": 2}))
        >>> float(posterior.mean().sel(category="a"))
        0.75
        """
        return self._closed_form(0, "mean")

    def variance(self) -> DataArray:
        """Compute the posterior variance of each category in closed form, where the sets nest."""
        return self._closed_form(1, "variance")

    def _closed_form(self, moment: int, name: str) -> DataArray:
        self._model.require_number(f"the posterior {name}")
        exact.require_exact(self._model.structure, f"the posterior {name}")
        values = exact.mean_and_variance(self._model.shapes)[moment]
        return by_category(values, self.counts.categories, name)

    def mode(self, scale: str = "simplex") -> Mode:
        """Find the most probable probabilities by Newton's method.

        Parameters
        ----------
        scale
            "simplex" maximises the density of p; with concentration 1 this is the
            maximum-likelihood estimate.  "log-odds" maximises the density of log p_i - log p_j,
            whose maximum is never on the boundary.  Parameters beside p are taken
            themselves with "simplex" (the excess θ - 1 of Rao and Kupper's), and their logarithms
            with "log-odds".

        Returns
        -------
        Mode
            `probabilities` by category, `sel(category=...)`, `at_zero`, `log_odds`;
            ``np.asarray`` gives the probabilities as an array.  `parameters` maps `home` and `tie`
            of contests, or `tie2` and so on of rankings, to their values.

        Raises
        ------
        NoMaximumError
            Where the density has no maximum; the message gives the reason, and `groups` the groups
            of labels concerned.

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
        >>> round(float(Posterior(counts).mode().sel(category="Bo")), 4)
        0.2308
        """
        self._model.require_number("the mode")
        if self.counts.events is None:
            return find_mode(self.counts, self.concentration, scale)
        check_scale(scale)
        found = maximise_events(EventDensity.of_model(self._model, scale))
        return Mode(found.p, scale, self.counts.categories, found.maxima, found.parameters)

    def covariance(
        self, scale: str = "simplex", reference: Label | None = None, among: Labels | None = None
    ) -> DataArray:
        """Compute the covariance of the Laplace fit, a normal with the mode and curvature.

        The fit is made in log-odds, where posteriors are closest to normal.

        Parameters
        ----------
        scale
            "simplex" for the covariance of probabilities, to first order; "log-odds" for the
            covariance of log p_i - log p_reference.
        reference
            With "log-odds": a label, or None for the mean of all log p_j.
        among
            The labels wanted, all unless given.  Needed where there are more than 2,000.

        Returns
        -------
        DataArray
            Dimensions (category, opponent), in the order of `among` or of the categories.

        Examples
        --------
        >>> from luce import ConditionalCounts
        >>> posterior = Posterior(ConditionalCounts("ab").observe({"a": 29, "b": 9}))
        >>> posterior.covariance().values.round(4)
        array([[ 0.0047, -0.0047],
               [-0.0047,  0.0047]])
        """
        return self._laplace_fit().covariance(scale, reference, among)

    def _laplace_fit(self) -> LaplaceFit:
        self._model.require_number("the Laplace fit")
        if self.counts.events is not None:
            density = EventDensity.of_model(self._model, "log-odds")
            return EventFit.of_maximum(density, maximise_events(density, single=False))
        return LaplaceFit(self.counts, self.concentration, self.mode("log-odds").values)

    def standard_errors(
        self, scale: str = "simplex", reference: Label | None = None, among: Labels | None = None
    ) -> DataArray:
        """Compute the standard deviations of the Laplace fit; the arguments of `covariance`.

        Examples
        --------
        >>> from luce import ConditionalCounts
        >>> posterior = Posterior(ConditionalCounts("ab").observe({"a": 29, "b": 9}))
        >>> posterior.standard_errors("log-odds", reference="a").values.round(3)
        array([0.   , 0.365])
        """
        return self._laplace_fit().standard_errors(scale, reference, among)

    def parameter_standard_errors(self, scale: str = "natural") -> dict[str, float]:
        """Compute the Laplace fit's standard deviations of the parameters, by name.

        Parameters
        ----------
        scale
            "natural" for h, ν, θ and δ themselves, to first order; "log" for their logarithms, in
            which the fit is made.

        Returns
        -------
        dict
            Those of the parameters that are not known; empty where the data has none.
        """
        return self._laplace_fit().parameter_standard_errors(scale)

    def log_evidence(
        self,
        draws: int = 1000,
        *,
        chains: int = 4,
        seed: SeedLike = None,
        method: str = "auto",
        progress: bool = True,
    ) -> Estimate:
        """Compute the log evidence, in closed form where the sets nest, else from draws.

        The likelihood is taken without multinomial coefficients, and the prior is normalised.

        Parameters
        ----------
        draws, chains, seed, progress
            As in `sample`, for the draws of each core; unused where the sets nest.
        method
            "bridge" is bridge sampling, "chib" Chib's method; "auto" runs both, returns bridge
            sampling's, and warns where they disagree or rest on few draws.

        Returns
        -------
        Estimate
            The log evidence with its `standard_error` and `method`; `details` holds the estimate
            of each method.

        Examples
        --------
        One outcome out of two, uniform prior: probability 1/2.

        >>> from luce import ConditionalCounts
        >>> Posterior(ConditionalCounts(2).observe({0: 1})).log_evidence()
        -0.6931471806 (exact)
        """
        from luce.estimates.evidence import log_evidence
        from luce.sampling.settings import Settings

        self._model.require_number("the evidence")
        settings = Settings(draws=draws, chains=chains, seed=seed, progress=progress)
        return log_evidence(self._model, settings, method)

    def __reduce__(self) -> tuple[object, ...]:
        """Pickle data and prior alone; structure and shapes are computed again."""
        return Posterior.of_model, (self._model,)

    def __repr__(self) -> str:
        more = "".join(f", {name}={x!r}" for name, x in self._model.parameter_priors.items())
        return f"Posterior({self.counts!r}, {self.prior!r}{more})"

    def _repr_html_(self) -> str:
        """Show prior and data, and the structure where it is found at once."""
        priors = {"probabilities": self.prior, **self._model.parameter_priors}
        rows = [[name, repr(prior)] for name, prior in priors.items()]
        parts = [bare_html([["posterior of", "prior"], *rows], 0)]
        family = self.counts.sets
        if family.n + len(family.members) <= _FOUND_AT_ONCE:
            parts.append(self._model.structure._repr_html_())
        data = self.counts._repr_html_()
        return "\n".join([*parts, f"<details><summary>Data</summary>\n{data}\n</details>"])


def posterior_of(run: DataTree) -> Posterior:
    """Rebuild the posterior that a run was drawn from: its data and its prior.

    Parameters
    ----------
    run
        A run from `Posterior.sample` or `luce.load`.

    Raises
    ------
    DataError
        When the run does not hold its data, or not the data it was drawn from.

    Examples
    --------
    >>> counts = ConditionalCounts(["a", "b", "c"]).observe({"b": 2}, without=["a"])
    >>> run = Posterior(counts, concentration=2.0).sample(10, seed=1)
    >>> posterior_of(run)
    Posterior(ConditionalCounts(3 categories, 2 outcomes, 1 set), Dirichlet(2))
    >>> posterior_of(run).counts == counts
    True
    """
    from luce.model.contents import model_of

    return Posterior.of_model(model_of(run))

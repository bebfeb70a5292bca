"""What a posterior is made of: conditional counts, and a Dirichlet prior or a process."""

from __future__ import annotations

from typing import Self

from luce._types import Concentration, FloatArray
from luce.counts.counts import ConditionalCounts
from luce.errors import DataError
from luce.model.concentrations import read_concentration
from luce.model.dirichlet_process import DirichletProcess
from luce.model.gamma_prior import Gamma


class DataAndPrior:
    """Counts and a prior on their probabilities, checked; see `Posterior`."""

    def __init__(
        self,
        counts: ConditionalCounts,
        concentration: Concentration | Gamma | DirichletProcess = 1.0,
    ) -> None:
        if not isinstance(counts, ConditionalCounts):
            raise DataError(
                f"counts must be ConditionalCounts; {type(counts).__name__} was given. "
                "Start with luce.ConditionalCounts(categories).observe(...)."
            )
        self._counts = counts
        self._process: DirichletProcess | None = None
        self._hyperprior: Gamma | None = None
        self._remainder: int | None = None  # its place among the categories of a process
        if isinstance(concentration, DirichletProcess):
            self._process, self._remainder = concentration, concentration.place(counts)
            if isinstance(concentration.concentration, Gamma):
                self._hyperprior = concentration.concentration
            self._concentration = concentration.shapes(counts)
        elif isinstance(concentration, Gamma):
            self._hyperprior = concentration
            self._concentration = read_concentration(counts, concentration.mean)
        else:
            self._concentration = read_concentration(counts, concentration)

    @property
    def counts(self) -> ConditionalCounts:
        """The data."""
        return self._counts

    @property
    def concentration(self) -> FloatArray:
        """The prior's parameter, shape (n_categories,); its mean where it is drawn too."""
        return self._concentration

    @property
    def hyperprior(self) -> Gamma | None:
        """The prior of the concentration, where it is drawn too."""
        return self._hyperprior

    @property
    def process(self) -> DirichletProcess | None:
        """The Dirichlet process, where that is the prior."""
        return self._process

    @property
    def prior(self) -> Self:
        """The same without data: its draws are draws of the prior.

        Examples
        --------
        >>> import luce
        >>> luce.Posterior(ConditionalCounts("ab").observe({"a": 3}), 2.0).prior.mean()
        array([0.5, 0.5])
        """
        given = self._process or self._hyperprior or self._concentration
        return type(self)(ConditionalCounts(self._counts.categories), given)

    def __reduce__(self) -> tuple[object, ...]:
        """Send data and prior alone: what was worked out from them can be worked out again."""
        given = self._process or self._hyperprior or self._concentration
        return type(self), (self._counts, given)

    def __repr__(self) -> str:
        a = self._concentration
        if self._process is not None:
            return f"{type(self).__name__}({self._counts!r}, {self._process!r})"
        if self._hyperprior is not None:
            return f"{type(self).__name__}({self._counts!r}, concentration {self._hyperprior!r})"
        prior = f"{a[0]:g}" if (a == a[0]).all() else f"{a.min():g} to {a.max():g}"
        return f"{type(self).__name__}({self._counts!r}, concentration {prior})"

    def _require_number(self, what: str) -> None:
        if self._hyperprior is not None:
            raise DataError(
                f"{what} needs a concentration that is a number, and this posterior has a prior "
                "on it. Give a number, or look at the draws."
            )

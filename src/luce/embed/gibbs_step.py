"""One Gibbs step for somebody else's sampler: compiled once for a family of sets.

density(p)  proportional to  prod_i p_i^(a_i + n_i - 1) * prod_t p(S_t)^(-m_t)

a_i    concentration
n_i    outcomes of category i, whatever they were conditioned on
S_t    the set of term t
m_t    outcomes conditioned on S_t
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import cached_property
from typing import Any, cast

import numpy as np
from numpy.typing import ArrayLike

from luce._types import BoolArray, FloatArray, IntArray, Label, Labels, WordArray
from luce.counts.counts import ConditionalCounts
from luce.counts.family import SetFamily
from luce.counts.labels import Categories, plural
from luce.embed.step_input import explain, explain_shapes, plain
from luce.embed.step_sets import pack_sets, read_sets
from luce.errors import DataError
from luce.sampling.progress import announce_compilation

# Probabilities below this are taken for it where a step must be made in logarithms.
_LEAST = 1e-300

Counts = ArrayLike | tuple[ArrayLike, ArrayLike]


class GibbsStep:
    """A waiting-time sweep that leaves the posterior of p invariant, for counts given at each call.

        total ~ Gamma(sum_i c_i - sum_t m_t),   u_t ~ Gamma(m_t) / p(S_t),
        new p_i  proportional to  Gamma(c_i) / (total + sum of u_t over the t with i in S_t)

    where c_i = a_i + n_i.  Sets are read, merged and packed once, here.  A call then costs a few
    microseconds, and a row of a batch little more than its gammas.

    Parameters
    ----------
    categories
        The labels, or a number n for the labels 0..n-1.
    within
        For each term the categories that could occur.
    without
        For each further term the categories that could not; these terms come after the others.

    Examples
    --------
    Transitions of a semi-Markov chain, without self-loops: state i is left for another one.

    >>> step = GibbsStep(3, without=[[0], [1], [2]])
    >>> rng = np.random.default_rng(1)
    >>> p = np.full(3, 1 / 3)
    >>> transitions = [[0, 5, 2], [6, 0, 1], [1, 2, 0]]
    >>> p = step(rng, p, transitions, concentration=1.0)
    >>> p.shape, float(p.sum().round(12))
    ((3,), 1.0)

    Its sufficient statistics say the same and need not be added up: outcomes by category, and by
    term.

    >>> p = step(rng, p, ([7.0, 7.0, 3.0], [7.0, 7.0, 3.0]), concentration=1.0)
    """

    def __init__(
        self,
        categories: int | Labels,
        *,
        within: Iterable[Labels] = (),
        without: Iterable[Labels] = (),
    ) -> None:
        labels = Categories(categories)
        self._prepare(labels, read_sets(labels, within, without))

    @classmethod
    def of(cls, counts: ConditionalCounts) -> GibbsStep:
        """Make a step for the sets of some data; its terms are ``counts.sets``, in that order.

        Examples
        --------
        >>> counts = ConditionalCounts("abc").observe({"b": 2}, without="a")
        >>> step = GibbsStep.of(counts)
        >>> step.totals(counts)
        (array([0., 2., 0.]), array([2.]))
        """
        step = cls.__new__(cls)
        step._prepare(Categories(counts.categories), counts.sets)
        step.totals(counts)  # says so if outcomes are grouped
        return step

    def _prepare(self, labels: Categories, family: SetFamily) -> None:
        from luce.kernels.changing_counts import NEEDS_LOGS, sum_outcomes, sweep

        announce_compilation()
        self._labels, self._family, self._arrays = labels, family, pack_sets(family)
        self._sweep, self._add_up, self._needs_logs = sweep, sum_outcomes, NEEDS_LOGS
        self._n, self._n_terms = len(labels), family.n_sets
        self._term = {words.tobytes(): t for t, words in enumerate(family.signatures)}

    @property
    def categories(self) -> Sequence[Label]:
        """The labels, in order."""
        return self._labels.labels

    @property
    def n_terms(self) -> int:
        """How many terms there are."""
        return self._n_terms

    @cached_property
    def inside(self) -> BoolArray:
        """Shape (n_terms, n): is the category in the term's set?"""
        inside = np.zeros((self._n_terms, self._n), np.bool_)
        for t in range(self._n_terms):
            inside[t, self._family.set_members(t)] = True
        return inside

    @cached_property
    def _outside(self) -> BoolArray:
        return ~self.inside

    @property
    def arrays(self) -> IntArray:
        """The sets, packed for `compiled`."""
        return self._arrays

    @property
    def compiled(self) -> Callable[..., int]:
        """What a call runs, for compiled code of your own.

        ``compiled(bits, arrays, probabilities, category_totals, term_totals, concentration, out,
        None)`` puts the new probabilities into `out`, which may be `probabilities` itself, and
        returns 0, or the number of what is wrong in `luce.kernels.changing_counts`.  All arrays are
        flat; `concentration` may have length 1.  With True for None, logarithms go in and come out.
        """
        return self._sweep

    @staticmethod
    def bits(rng: np.random.Generator) -> WordArray:
        """Draw the state of a generator for `compiled`: four words.

        Examples
        --------
        >>> GibbsStep.bits(np.random.default_rng(1)).shape
        (4,)
        """
        try:
            source: Any = rng.bit_generator
        except AttributeError:
            raise DataError(
                f"rng must be a NumPy Generator, as from np.random.default_rng; "
                f"{type(rng).__name__} was given."
            ) from None
        if isinstance(source, np.random.MT19937):  # its words have 32 bits
            return source.random_raw(8).astype(np.uint32).view(np.uint64)
        return cast(WordArray, source.random_raw(4))

    def __repr__(self) -> str:
        n = plural(self._n, "category", "categories")
        return f"GibbsStep({n}, {plural(self._n_terms, 'term')})"

    def __reduce__(self) -> tuple[object, ...]:
        return _rebuilt, (self._labels.labels, self._family)

    def totals(self, counts: ConditionalCounts) -> tuple[FloatArray, FloatArray]:
        """Read off n_i and m_t from data whose sets are among this step's.

        Returns
        -------
        category_totals, term_totals
            What a call takes as `counts`.
        """
        family, totals = counts.sets, np.zeros(self._n_terms)
        if tuple(counts.categories) != tuple(self.categories):
            raise DataError("the counts have other categories than the step, or another order.")
        for t, words in enumerate(family.signatures):
            if family.exponent[t] > 0:
                raise DataError(
                    "a Gibbs step takes no grouped outcomes; draw them with luce.Posterior."
                )
            if words.tobytes() not in self._term:
                raise DataError(f"set {t} of the counts is none of the step's {self._n_terms}.")
            totals[self._term[words.tobytes()]] = -family.exponent[t]
        return counts.category_counts.copy(), totals

    def __call__(
        self,
        rng: np.random.Generator,
        probabilities: ArrayLike,
        counts: Counts,
        concentration: ArrayLike,
    ) -> FloatArray:
        """Draw new probabilities, given the present ones.

        Parameters
        ----------
        rng
            Four words are drawn from it; the same state of it gives the same step.
        probabilities
            Shape (n,), or (..., n) for many steps at once, each with counts of its own.
        counts
            Outcomes by term and category, shape (..., n_terms, n); or the pair of their totals by
            category, (..., n), and by term, (..., n_terms).  In the pair, outcomes conditioned on
            nothing count among those of their category only.
        concentration
            Positive: a number, or of shape (n,) or (..., n).

        Returns
        -------
        array
            New probabilities, in the shape of the old.  Where a concentration is below 0.05 they
            may underflow to 0, and the next step takes 1e-300 instead: carry `log_step` on there.
        """
        p, given = self._read(probabilities, counts, concentration)
        out, bits = np.empty(p.shape), self.bits(rng)
        flat, new = (p, out) if p.ndim == 1 else (p.reshape(-1), out.reshape(-1))
        code = self._sweep(bits, self._arrays, flat, *given, new, None)
        if code == self._needs_logs:
            logs = np.log(np.maximum(flat, _LEAST))
            code = self._sweep(bits, self._arrays, logs, *given, new, True)
            np.exp(new, out=new)
        if code:
            raise DataError(explain(code, flat, *given))
        return out

    def log_step(
        self,
        rng: np.random.Generator,
        log_probabilities: ArrayLike,
        counts: Counts,
        concentration: ArrayLike,
    ) -> FloatArray:
        """Draw new log probabilities, given the present ones: for concentrations however small.

        Examples
        --------
        >>> step, rng = GibbsStep(3, within=[[0, 1], [1, 2]]), np.random.default_rng(1)
        >>> logs = step.log_step(rng, np.log([0.2, 0.3, 0.5]), np.zeros((2, 3)), 1e-3)
        >>> bool(np.isfinite(logs).all()), bool((np.exp(logs) == 0).any())
        (True, True)
        """
        p, given = self._read(log_probabilities, counts, concentration)
        out, flat = np.empty(p.shape), p.reshape(-1)
        code = self._sweep(self.bits(rng), self._arrays, flat, *given, out.reshape(-1), True)
        if code:
            raise DataError(explain(code, np.exp(flat), *given))
        return out

    def _read(
        self, probabilities: ArrayLike, counts: Counts, concentration: ArrayLike
    ) -> tuple[FloatArray, tuple[FloatArray, FloatArray, FloatArray]]:
        """Read what a call is given: probabilities as they are, the rest flat."""
        p = plain(probabilities, "probabilities")
        a = plain(concentration, "concentration")
        if type(counts) is tuple:
            by_category, by_term = counts
            n, m = plain(by_category, "category totals"), plain(by_term, "term totals")
        else:
            n, m = self._add_table(plain(cast(ArrayLike, counts), "counts"), p.shape[:-1])
        if (
            p.shape[-1:] == (self._n,)
            and n.shape == p.shape
            and m.shape == (*p.shape[:-1], self._n_terms)
            and (a.shape == p.shape or a.shape == (self._n,) or a.shape == ())
        ):
            if p.ndim == 1 == a.ndim:
                return p, (n, m, a)
            return p, (n.reshape(-1), m.reshape(-1), a.reshape(-1))
        raise DataError(explain_shapes(p.shape, n.shape, m.shape, a.shape, self._n, self._n_terms))

    def _add_table(self, table: FloatArray, rows: tuple[int, ...]) -> tuple[FloatArray, FloatArray]:
        """Totals by category and by term."""
        if table.shape != (*rows, self._n_terms, self._n):
            raise DataError(
                f"counts of shape {table.shape} were given; {(*rows, self._n_terms, self._n)} is "
                "needed, outcomes by term and category, or the tuple of their totals by category "
                "and by term."
            )
        n, m = np.empty((*rows, self._n)), np.empty((*rows, self._n_terms))
        if self._add_up(table.reshape(-1), self._outside.reshape(-1), n.reshape(-1), m.reshape(-1)):
            *_, t, i = np.argwhere((table != 0) & self._outside)[0]
            raise DataError(
                f"there are outcomes of {self._labels[int(i)]!r} in term {t}, whose set does not "
                "hold it."
            )
        return n, m


def _rebuilt(labels: Sequence[Label], family: SetFamily) -> GibbsStep:
    step = GibbsStep.__new__(GibbsStep)
    step._prepare(Categories(labels), family)
    return step

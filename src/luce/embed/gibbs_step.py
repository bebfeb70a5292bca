"""One Gibbs step for another sampler's loop: sets are packed once, counts come with each call.

density(p)  proportional to  prod_i p_i^(a_i + n_i - 1) * prod_t p(S_t)^(-m_t)

a_i    concentration
n_i    outcomes of category i, over all terms and those conditioned on nothing
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
from luce.counts.canonical import canonical
from luce.counts.counts import ConditionalCounts
from luce.counts.family import SetFamily, fields, single_sets
from luce.counts.labels import Categories, plural
from luce.errors import DataError
from luce.model.shapes import require_no_events

# Least probability that a step in logarithms starts from.
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
        self._prepare(labels, _read_sets(labels, within, without))

    @classmethod
    def of(cls, counts: ConditionalCounts) -> GibbsStep:
        """Make a step for the sets of the data; its terms are ``counts.sets``, in that order.

        Examples
        --------
        >>> counts = ConditionalCounts("abc").observe({"b": 2}, without="a")
        >>> step = GibbsStep.of(counts)
        >>> step.totals(counts)
        (array([0., 2., 0.]), array([2.]))
        """
        step = cls._of_family(counts.categories, counts.sets)
        step.totals(counts)  # refuses grouped outcomes
        return step

    @classmethod
    def _of_family(cls, labels: Labels, family: SetFamily) -> GibbsStep:
        """Make a step for sets that are read already; also rebuilds a pickled step."""
        step = cls.__new__(cls)
        step._prepare(Categories(labels), family)
        return step

    def _prepare(self, labels: Categories, family: SetFamily) -> None:
        from luce.kernels.changing_counts import NEEDS_LOGS, sum_outcomes, sweep

        self._labels, self._family, self._arrays = labels, family, _pack_sets(family)
        self._sweep, self._add_up, self._needs_logs = sweep, sum_outcomes, NEEDS_LOGS
        self._n, self._n_terms = len(labels), family.n_sets
        self._term = {words.tobytes(): t for t, words in enumerate(family.signatures)}

    @property
    def categories(self) -> Sequence[Label]:
        """The labels, in order."""
        return self._labels.labels

    @property
    def n_terms(self) -> int:
        """Number of terms."""
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
        """The compiled function behind a call, for numba code of your own.

        ``compiled(bits, arrays, probabilities, category_totals, term_totals, concentration, out,
        None)`` puts the new probabilities into `out`, which may be `probabilities` itself, and
        returns 0 or an error code of `luce.kernels.changing_counts`.  All arrays are flat;
        `concentration` may have length 1.  With True for None, logarithms go in and come out.
        """
        return self._sweep

    @staticmethod
    def bits(rng: np.random.Generator) -> WordArray:
        """Draw the generator's state for `compiled`: four words of 64 bits.

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
        return GibbsStep._of_family, (self._labels.labels, self._family)

    def totals(self, counts: ConditionalCounts) -> tuple[FloatArray, FloatArray]:
        """Read off n_i and m_t from data whose sets are among this step's.

        Returns
        -------
        category_totals, term_totals
            The pair that a call takes as `counts`.
        """
        require_no_events(counts, "a Gibbs step")
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
            Four words are drawn from it; equal states give equal steps.
        probabilities
            Shape (n,), or (..., n) for many steps at once, each with counts of its own.  A start
            far too small is left step by step: from 0, a thousand steps may be needed.
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
            raise DataError(_explain(code, flat, *given))
        return out

    def log_step(
        self,
        rng: np.random.Generator,
        log_probabilities: ArrayLike,
        counts: Counts,
        concentration: ArrayLike,
    ) -> FloatArray:
        """Draw new log probabilities, given the present ones; for concentrations of any size.

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
            raise DataError(_explain(code, np.exp(flat), *given))
        return out

    def _read(
        self, probabilities: ArrayLike, counts: Counts, concentration: ArrayLike
    ) -> tuple[FloatArray, tuple[FloatArray, FloatArray, FloatArray]]:
        """Check a call's arguments; return probabilities in their shape and the rest flat."""
        p = _plain(probabilities, "probabilities")
        a = _plain(concentration, "concentration")
        if type(counts) is tuple:
            by_category, by_term = counts
            n, m = _plain(by_category, "category totals"), _plain(by_term, "term totals")
        else:
            n, m = self._add_table(_plain(cast(ArrayLike, counts), "counts"), p.shape[:-1])
        if (
            p.shape[-1:] == (self._n,)
            and n.shape == p.shape
            and m.shape == (*p.shape[:-1], self._n_terms)
            and (a.shape == p.shape or a.shape == (self._n,) or a.shape == ())
        ):
            if p.ndim == 1 == a.ndim:
                return p, (n, m, a)
            return p, (n.reshape(-1), m.reshape(-1), a.reshape(-1))
        raise DataError(_explain_shapes(p.shape, n.shape, m.shape, a.shape, self._n, self._n_terms))

    def _add_table(self, table: FloatArray, rows: tuple[int, ...]) -> tuple[FloatArray, FloatArray]:
        """Add up a table of outcomes into totals by category and by term."""
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


# -- sets -----------------------------------------------------------------------------------------


def _read_sets(
    labels: Categories, within: Iterable[Labels], without: Iterable[Labels]
) -> SetFamily:
    """Read the terms' sets: those given by members, then those given by categories left out."""
    inside = [labels.numbers(s, f"within[{t}]") for t, s in enumerate(_lists(within, "within"))]
    outside = [labels.numbers(s, f"without[{t}]") for t, s in enumerate(_lists(without, "without"))]
    for t, members in enumerate(inside):
        if len(members) == 0:
            raise DataError(f"within[{t}] is empty: some category must be able to occur.")
    for t, members in enumerate(outside):
        if len(members) == len(labels):
            raise DataError(
                f"without[{t}] names every category: some category must be able to occur."
            )
    kinds = [False] * len(inside) + [True] * len(outside)
    return single_sets(len(labels), inside + outside, kinds, [-1.0] * len(kinds))


def _pack_sets(family: SetFamily) -> IntArray:
    """Merge and nest the sets; pack them, and the set of each term, into one array for kernels."""
    from luce.kernels.changing_counts import NO_SET, pack
    from luce.kernels.problem import make_problem

    n, n_terms = family.n, family.n_sets
    stored, _ = canonical(n, [SetFamily(*fields(family)[:-1], np.full(n_terms, -1.0))])
    # Sets are numbered by their exponents, so that `make_problem` returns the numbers reordered.
    numbers = -np.arange(1.0, stored.n_sets + 1)
    problem = make_problem(*fields(stored)[1:-1], numbers, np.ones(n), 1.0)
    place = np.empty(stored.n_sets, np.int64)
    place[problem.waits.astype(np.int64) - 1] = np.arange(stored.n_sets)
    number = {words.tobytes(): int(place[k]) for k, words in enumerate(stored.signatures)}
    set_of_term = np.empty(n_terms, np.int64)
    for t, words in enumerate(family.signatures):
        alone = family.sizes[t] == 1 and n > 1
        lacking = NO_SET - 1 - int(family.set_members(t)[0]) if alone else NO_SET
        set_of_term[t] = number.get(words.tobytes(), lacking)
    return pack(problem, set_of_term)


def _lists(given: Iterable[Labels], what: str) -> list[Labels]:
    """Return the terms' lists of labels, or refuse a value that is not iterable."""
    try:
        return list(given)
    except TypeError:
        raise DataError(
            f"{what} must be a list of lists of labels, one for each term; {given!r} was given."
        ) from None


# -- arguments, and errors in words ---------------------------------------------------------------


def _plain(given: ArrayLike, what: str) -> FloatArray:
    """Return numbers as kernels take them: contiguous, writable doubles; copied only if needed."""
    try:
        array = np.asarray(given, np.float64)
    except (TypeError, ValueError):
        raise DataError(f"{what} must be numbers; {given!r} was given.") from None
    return array if array.flags.carray else np.array(array, order="C")


def _explain_shapes(
    p: tuple[int, ...],
    category_totals: tuple[int, ...],
    term_totals: tuple[int, ...],
    concentration: tuple[int, ...],
    n: int,
    n_terms: int,
) -> str:
    """Say which shape is wrong, and which is needed."""
    if p[-1:] != (n,):
        return f"probabilities of shape {p} were given; (..., {n}) is needed, one row a step."
    rows = p[:-1]
    if category_totals != p:
        return f"totals by category have shape {category_totals}; {p} is needed."
    if term_totals != (*rows, n_terms):
        return f"totals by term have shape {term_totals}; {(*rows, n_terms)} is needed."
    return (
        f"concentration has shape {concentration}; one number, {n} of them, or as many as there "
        f"are probabilities are needed."
    )


def _explain(
    code: int,
    p: FloatArray,
    category_totals: FloatArray,
    term_totals: FloatArray,
    concentration: FloatArray,
) -> str:
    """Say in words why the kernel returned an error code."""
    from luce.kernels import changing_counts as kernel

    if code == kernel.BAD_CONCENTRATION:
        worst = concentration[np.argmin(np.isfinite(concentration) & (concentration > 0))]
        return f"a concentration is {worst:g}; all must be positive and finite."
    if code == kernel.BAD_COUNTS:
        both = np.concatenate([category_totals, term_totals])
        worst = both[np.argmin(np.isfinite(both) & (both >= 0))]
        return f"a count is {worst:g}; all must be finite and none negative."
    if code == kernel.TOO_FEW:
        return (
            "more outcomes are conditioned on sets than there are outcomes: the totals by term "
            "add up to more than those by category. Each outcome counts in its category too."
        )
    return (
        "probabilities must be positive and add up to 1 in every row; the least is "
        f"{p.min():.3g}. Divide by their sum first."
    )

"""One waiting-time sweep for counts that change at every call.

    Λ ~ Gamma(A),   u_S ~ Gamma(m_S) / p(S),   p_i ∝ Gamma(c_i) / (Λ + Σ_{S ∋ i} u_S)

    c_i    concentration plus outcomes of category i
    m_S    outcomes conditioned on S
    A      Σ c_i - Σ m_S

The sweep is that of `waiting_times`, but for two differences that speed up calls.  Passing an
array costs about as much as drawing two gammas, so the sets are packed into one array, and all
arrays are flat.  All gammas of a row are drawn first, in one loop that keeps the generator in
registers; `half_sweep`, which draws while it adds, is therefore not used here.

`sum_outcomes` prepares the counts where they come as tables of outcomes by term and category.
"""

from typing import Any, NamedTuple

import numpy as np

from luce._types import BoolArray, FloatArray, IntArray, WordArray
from luce.kernels.jit import borrowed, compiled, embedded, internal, on_stack, reordered
from luce.kernels.problem import SMALL_SHAPE, Problem, Wide
from luce.kernels.random import gamma_or_log
from luce.kernels.set_sums import LEAST, member_sums, normalise, plus, set_sums, zero

# Codes that `sweep` returns.  Nothing has been drawn for the first row that is not FINE.
FINE, WRONG_SIZE, BAD_PROBABILITIES, BAD_COUNTS, BAD_CONCENTRATION, TOO_FEW, NEEDS_LOGS = range(7)

# Code, in place of a set's number, of a term without a stored set: NO_SET for the set of all
# categories, whose outcomes have no effect, and NO_SET - 1 - i for category i alone, whose outcomes
# are subtracted from those of the category.
NO_SET = -1

# Relative tolerance for sums of probabilities, and for counts by category against counts by term.
_ROUNDING = 1e-6

_HEADER = 8  # numbers in front of the packed arrays


class Sets(NamedTuple):
    """The fields of a `Problem` that sums over sets read."""

    members: IntArray
    nest_start: IntArray
    complement: IntArray
    set_start: IntArray
    set_end: IntArray
    listed_start: IntArray
    listed_nest: IntArray
    listed_position: IntArray
    pairs: int
    singles: int
    lone: int
    wide: Wide


def pack(problem: Problem, set_of_term: IntArray) -> IntArray:
    """Pack the sets of a problem and the set of each term into one array.

    Parameters
    ----------
    problem
        The sets.
    set_of_term
        Number in `problem` of each term's set, or NO_SET and below.
    """
    p = problem
    sizes = len(p.shape), len(set_of_term), len(p.waits), len(p.complement), len(p.members)
    parts = [(*sizes, p.pairs, p.singles, p.lone), set_of_term]
    parts += [p.members, p.nest_start, p.complement, p.set_start, p.set_end]
    parts += [p.listed_start, p.listed_nest, p.listed_position]
    return np.concatenate([np.asarray(part, np.int64) for part in parts])


@embedded
def _unpack(arrays: IntArray, wide: Wide) -> Any:
    """Unpack the sets; typed Any, because sums over sets are declared for a whole `Problem`."""
    n, terms, sets, nests, listed = arrays[0], arrays[1], arrays[2], arrays[3], arrays[4]
    a = _HEADER + terms
    b = a + listed
    c = b + nests + 1
    d = c + nests
    e = d + nests + 1
    f = e + sets
    g = f + n + 1
    h = g + listed
    return Sets(
        members=arrays[a:b],
        nest_start=arrays[b:c],
        complement=arrays[c:d],
        set_start=arrays[d:e],
        set_end=arrays[e:f],
        listed_start=arrays[f:g],
        listed_nest=arrays[g:h],
        listed_position=arrays[h : h + listed],
        pairs=arrays[5],
        singles=arrays[6],
        lone=arrays[7],
        wide=wide,
    )


@compiled
def sweep(
    bits: WordArray,
    arrays: IntArray,
    probabilities: FloatArray,
    category_totals: FloatArray,
    term_totals: FloatArray,
    concentration: FloatArray,
    out: FloatArray,
    wide: Wide,
) -> int:
    """Draw new probabilities by one waiting-time sweep, row by row.

    Parameters
    ----------
    bits
        Generator, four words; advanced.
    arrays
        The sets, packed.
    probabilities
        p, or log p if `wide`: rows of n numbers.
    category_totals
        Outcomes of each category: rows of n numbers.
    term_totals
        Outcomes conditioned on each term's set: rows of one number a term.
    concentration
        Rows of n numbers, one row for all, or one number for all.
    out
        Receives the new p or log p; may be `probabilities` itself.
    wide
        True for logarithms, else None.

    Returns
    -------
    int
        FINE, or the code of the first row that cannot be used; the rows before it are done.
    """
    arrays, concentration = borrowed(arrays), borrowed(concentration)
    probabilities, out = borrowed(probabilities), borrowed(out)
    category_totals, term_totals = borrowed(category_totals), borrowed(term_totals)
    sets = borrowed(_unpack(arrays, wide))
    n, n_terms, n_sets = arrays[0], arrays[1], arrays[2]
    rows, given = len(probabilities) // n, len(concentration)
    down, per_row = n if given == rows * n else 0, min(given, n)
    if not (
        len(probabilities) == rows * n
        and len(out) == rows * n
        and len(category_totals) == rows * n
        and len(term_totals) == rows * n_terms
        and (given == rows * n or given == n or given == 1)
    ):
        return WRONG_SIZE
    owner = np.empty(3 * n + 2 * n_sets + 1)  # one allocation costs as much as five gammas
    space = borrowed(owner)
    gammas, own_gammas = space[: n_sets + 1 + n], space[n_sets + 1 : n_sets + 1 + n]
    rates, inside = space[n_sets + 1 + n : n_sets + 1 + 2 * n], space[n_sets + 1 + 2 * n :]
    prior, code = 0.0, FINE
    for r in range(rows):
        state, new = probabilities[r * n : (r + 1) * n], out[r * n : (r + 1) * n]
        own_prior = concentration[r * down : r * down + per_row]
        if r == 0 or down > 0:
            prior, code = _read_prior(own_prior, wide)
        if code == FINE:
            counts = category_totals[r * n : (r + 1) * n]
            terms = term_totals[r * n_terms : (r + 1) * n_terms]
            code = _read_counts(arrays, counts, terms, gammas)
        if code == FINE:
            code = _read_state(state, wide)
        if code != FINE:
            break
        # Add the prior after the counts have been subtracted: 1e-3 + 1e15 - 1e15 is 0.
        if per_row == n:
            gammas[n_sets] += prior
            for i in range(n):
                own_gammas[i] += own_prior[i]
        else:
            gammas[n_sets] += n * prior
            for i in range(n):
                own_gammas[i] += own_prior[0]
        _draw(bits, gammas, wide)
        set_sums(sets, state, inside)
        for t in range(n_sets):
            gammas[t] = _over(gammas[t], inside[t], wide)
        member_sums(sets, gammas, rates)
        for i in range(n):
            new[i] = _over(own_gammas[i], plus(gammas[n_sets], rates[i], wide), wide)
        normalise(new, wide)
    return code


@embedded
def _over(a: float, b: float, wide: Wide) -> float:
    """Divide a by b, at least LEAST, or subtract their logarithms."""
    if wide is None:
        return a / max(b, LEAST)
    return a - b


@embedded
def _read_prior(concentration: FloatArray, wide: Wide) -> tuple[float, int]:
    """Return the sum of the concentrations and a code for errors in them.

    The concentrations alone decide whether logarithms are needed: outcomes conditioned on a set lie
    in it, so that p(S) is no smaller than a gamma of the concentrations in S.
    """
    prior, none, small = 0.0, False, False
    for i in range(len(concentration)):
        none |= not concentration[i] > 0.0
        small |= concentration[i] < SMALL_SHAPE
        prior += concentration[i]
    if none or not prior < np.inf:
        return prior, BAD_CONCENTRATION
    return prior, NEEDS_LOGS if wide is None and small else FINE


@embedded
def _read_counts(
    arrays: IntArray, counts: FloatArray, terms: FloatArray, shapes: FloatArray
) -> int:
    """Write the counts in m_S, A and c_i, in this order; returns a code for errors in them."""
    n, n_terms, n_sets = len(counts), len(terms), arrays[2]
    wrong, seen, given = False, 0.0, 0.0
    for t in range(n_sets):
        shapes[t] = 0.0
    for i in range(n):
        wrong |= not counts[i] >= 0.0
        seen += counts[i]
        shapes[n_sets + 1 + i] = counts[i]
    for t in range(n_terms):
        m, k = terms[t], arrays[_HEADER + t]
        wrong |= not m >= 0.0
        if k != NO_SET:
            given += m
        if k >= 0:
            shapes[k] += m
        elif k < NO_SET:
            i = n_sets - k - 1
            shapes[i] = max(shapes[i] - m, 0.0)
    if wrong or not (seen < np.inf and given < np.inf):
        return BAD_COUNTS
    net = seen - given
    shapes[n_sets] = max(net, 0.0)
    return FINE if net >= -_ROUNDING * seen else TOO_FEW


@embedded
def _read_state(state: FloatArray, wide: Wide) -> int:
    """Return a code for errors in p or log p."""
    whole, wrong = 0.0, False
    for i in range(len(state)):
        if wide is None:
            whole += state[i]
            wrong |= not state[i] >= 0.0
        else:
            whole += np.exp(state[i])
            wrong |= not state[i] > -np.inf
    return BAD_PROBABILITIES if wrong or not abs(whole - 1.0) <= _ROUNDING else FINE


@internal
def _draw(bits: WordArray, shapes: FloatArray, wide: Wide) -> None:
    """Replace shapes by gammas, or by their logarithms; a shape of 0 gives 0."""
    own = on_stack(bits)
    for i in range(len(shapes)):
        shapes[i] = gamma_or_log(own, shapes[i], wide) if shapes[i] > 0.0 else zero(wide)
    for k in range(4):
        bits[k] = own[k]


@compiled
def sum_outcomes(
    table: FloatArray, outside: BoolArray, category_totals: FloatArray, term_totals: FloatArray
) -> int:
    """Add up tables of outcomes by category and by term; all arrays are flat.

    Parameters
    ----------
    table
        Rows of (terms, categories): number of outcomes.
    outside
        One such row: whether the category is outside the term's set.
    category_totals, term_totals
        Receive rows of (categories,) and of (terms,).

    Returns
    -------
    int
        0, or 1 if there are outcomes outside the set they were conditioned on.
    """
    rows = len(table) // max(len(outside), 1)
    terms, n = len(term_totals) // max(rows, 1), len(category_totals) // max(rows, 1)
    table, category_totals = borrowed(table), borrowed(category_totals)
    misplaced = False
    for r in range(rows):
        totals = category_totals[r * n : (r + 1) * n]
        for i in range(n):
            totals[i] = 0.0
        for t in range(terms):
            counts = table[(r * terms + t) * n : (r * terms + t + 1) * n]
            term_totals[r * terms + t] = _sum(counts)
            for i in range(n):
                totals[i] += counts[i]
                misplaced |= outside[t * n + i] & (counts[i] != 0.0)
    return 1 if misplaced else 0


@reordered
def _sum(x: FloatArray) -> float:
    """Add up x in any order."""
    total = 0.0
    for i in range(len(x)):
        total += x[i]
    return total

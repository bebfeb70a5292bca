"""One waiting-time sweep for counts that change at every call.

    Λ ~ Gamma(A),   u_S ~ Gamma(m_S) / p(S),   p_i ∝ Gamma(c_i) / (Λ + Σ_{S ∋ i} u_S)

    c_i    concentration plus outcomes of category i
    m_S    outcomes conditioned on S
    A      Σ c_i - Σ m_S

The sweep is that of `waiting_times`; only what goes in differs.  From Python each array costs about
as much to pass as two gammas to draw, so the sets come packed in one array, and everything is flat.
"""

from typing import Any, NamedTuple

import numpy as np

from luce._types import FloatArray, IntArray, WordArray
from luce.kernels.jit import borrowed, compiled, embedded, internal, on_stack
from luce.kernels.problem import SMALL_SHAPE, Problem, Wide
from luce.kernels.random import gamma_or_log
from luce.kernels.set_sums import LEAST, member_sums, normalise, plus, set_sums, zero

# What a call returns.  For a row that is not FINE nothing has been drawn.
FINE, WRONG_SIZE, BAD_PROBABILITIES, BAD_COUNTS, BAD_CONCENTRATION, TOO_FEW, NEEDS_LOGS = range(7)

# Where the outcomes of a term go that has no stored set: nowhere if it holds every category, and
# off those of category i, as NO_SET - 1 - i, if it holds that one alone.
NO_SET = -1

# Probabilities add up to 1, and counts to each other, within this.
_ROUNDING = 1e-6

_HEADER = 8


class Sets(NamedTuple):
    """What sums over sets read of a `Problem`."""

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
    """Put the sets of a problem, and where the outcomes of each term go, into one array.

    Parameters
    ----------
    problem
        The sets.
    set_of_term
        Per term, its set in `problem`, or NO_SET and below.
    """
    numbers = [
        len(problem.shape), len(set_of_term), len(problem.waits), len(problem.complement),
        len(problem.members), problem.pairs, problem.singles, problem.lone,
    ]  # fmt: skip
    parts = [
        set_of_term, problem.members, problem.nest_start, problem.complement, problem.set_start,
        problem.set_end, problem.listed_start, problem.listed_nest, problem.listed_position,
    ]  # fmt: skip
    return np.concatenate([np.asarray(part, np.int64) for part in (numbers, *parts)])


@embedded
def _unpack(arrays: IntArray, wide: Wide) -> Any:
    """Sets from what `pack` made of them; Any, for the sums ask for a whole `Problem`."""
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
        arrays[a:b], arrays[b:c], arrays[c:d], arrays[d:e], arrays[e:f], arrays[f:g], arrays[g:h],
        arrays[h : h + listed], arrays[5], arrays[6], arrays[7], wide,
    )  # fmt: skip


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
    """Λ ~ Gamma(A), u_S ~ Gamma(m_S) / p(S), p_i ∝ Gamma(c_i) / (Λ + Σ_{S ∋ i} u_S), row by row.

    Parameters
    ----------
    bits
        State of the generator, four words; advanced.
    arrays
        The sets, packed.
    probabilities
        p, or log p if `wide`: rows of n, one after another.
    category_totals
        Outcomes of each category: as long.
    term_totals
        Outcomes conditioned on each term's set: rows of as many as there are terms.
    concentration
        As long as `probabilities`, or one row for all, or one number for all.
    out
        The new p or log p; may be `probabilities` itself.
    wide
        True for logarithms, else None.

    Returns
    -------
    int
        FINE, or what is wrong with the first row that cannot be used; those before it are done.
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
    owner = np.empty(3 * n + 2 * n_sets + 1)  # one array: to make one takes as long as five gammas
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
        # The prior is added last: 1e-3 + 1e15 - 1e15 is 0.
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
        member_sums(sets, gammas, False, rates)
        for i in range(n):
            new[i] = _over(own_gammas[i], plus(gammas[n_sets], rates[i], wide), wide)
        normalise(new, wide)
    return code


@embedded
def _over(a: float, b: float, wide: Wide) -> float:
    """A / b, or its logarithm; no smaller b than a state may hold."""
    if wide is None:
        return a / max(b, LEAST)
    return a - b


@embedded
def _read_prior(concentration: FloatArray, wide: Wide) -> tuple[float, int]:
    """Sum of the concentrations, and what is wrong with them.

    No probability of a set is smaller than a gamma of its concentrations: outcomes conditioned on
    a set are outcomes in it.  So these alone decide whether logarithms are needed.
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
    """Shapes m_S, then A and c_i as far as they come from counts; and what is wrong with these."""
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
    """What is wrong with p or log p."""
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
    """Replace shapes by gammas, or by their logarithms; where the shape is 0, by none.

    All those of a row in one short loop of their own: so the generator stays in registers.
    """
    own = on_stack(bits)
    for i in range(len(shapes)):
        shapes[i] = gamma_or_log(own, shapes[i], wide) if shapes[i] > 0.0 else zero(wide)
    for k in range(4):
        bits[k] = own[k]

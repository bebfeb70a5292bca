"""Totals of a table of outcomes, by category and by term."""

from luce._types import BoolArray, FloatArray
from luce.kernels.jit import borrowed, compiled, reordered


@compiled
def add_up(
    table: FloatArray, outside: BoolArray, category_totals: FloatArray, term_totals: FloatArray
) -> int:
    """Totals by category and by term of outcomes by row, term and category, all arrays flat.

    Parameters
    ----------
    table
        Rows of (terms, categories).
    outside
        One such row: is the category outside the term's set?
    category_totals, term_totals
        What is filled: rows of (categories,) and of (terms,).

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
    """Σ x."""
    total = 0.0
    for i in range(len(x)):
        total += x[i]
    return total

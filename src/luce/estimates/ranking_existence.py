"""What rankings with ties ask of a direction in which their likelihood does not fall.

Tied blocks of unknown order: the probability that a block B comes before the rest R falls without
end along d, unless some order of B has each next one the largest of those left, so

    d_i >= d_j for all i in B and j in R,

and it grows unless d is the same for all of B and R.

Davidson and Luce: with τ_k = log δ_k, τ_1 = 0, a tie T of k of the set S asks that

    d_τk + mean_T d >= d_τm + the mean of the m largest d in S        for all m <= D that S has.

The sum of the m largest is the least of  m u + Σ_i v_i  over u and v_i >= 0, v_i >= d_i - u, which
are helpers of the inequality.  Where all hold with equality, m = 1 makes d the same in S.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from luce._types import IntArray
from luce.counts.tied_blocks import TiedBlocks
from luce.counts.tied_choices import TiedChoices
from luce.estimates.event_existence import Inequalities, Row, Words

_BEFORE = "came before", "came after"
_BEFORE_OR_TIED = "came before or tied with", "came after or tied with"


def block_inequalities(blocks: TiedBlocks, owner: IntArray) -> Inequalities:
    """Return the inequalities of blocks without categories at 0; `owner` holds the unknowns."""
    rows: list[Row] = []
    for t in range(len(blocks)):
        first, middle, stop = blocks.start[2 * t : 2 * t + 3].tolist()
        placed = owner[blocks.members[first:middle]].tolist()
        rest = owner[blocks.members[middle:stop]].tolist()
        rows += [[(i, 1.0), (j, -1.0)] for i in placed for j in rest]
    return Inequalities(rows)


def choice_inequalities(
    choices: TiedChoices, place: Mapping[int, int | None], owner: IntArray
) -> Inequalities:
    """Return the inequalities of choices without categories at 0.

    Parameters
    ----------
    choices
        The choices.
    place
        The unknown of log δ_d for the sizes d of ties that are possible, None where it is known.
    owner
        The unknown of each category.
    """
    rows: list[Row] = []
    level: list[Row] = []
    largest: dict[tuple[tuple[int, ...], int], Row] = {}
    of_helpers: list[Row] = []
    helpers = 0
    for t in range(len(choices)):
        first, middle, stop = choices.start[2 * t : 2 * t + 3].tolist()
        placed = owner[choices.members[first:middle]].tolist()
        everybody = owner[choices.members[first:stop]].tolist()
        chosen = _mean(placed) + _weight(place, len(placed), 1.0)
        one_by_one: list[Row] = [[*chosen, (i, -1.0)] for i in sorted(set(everybody))]
        rows += one_by_one
        level += one_by_one
        for m in place:
            # Where δ_m is known, m = 1 asks for more.
            if place[m] is None or m > len(everybody):
                continue
            other = chosen + _weight(place, m, -1.0)
            level.append(other + _mean(everybody, -1.0))
            key = tuple(sorted(everybody)), m
            if m < len(everybody) and key not in largest:
                own, further = _largest(everybody, m, helpers)
                largest[key] = own
                of_helpers += further
                helpers += 1 + len(everybody)
            rows.append(other + largest.get(key, _mean(everybody, -1.0)))
    return Inequalities(rows, level, of_helpers, helpers)


def _mean(members: Sequence[int], sign: float = 1.0) -> Row:
    return [(i, sign / len(members)) for i in members]


def _weight(place: Mapping[int, int | None], size: int, sign: float) -> Row:
    """Return d_τ of ties of a size, nothing where it is known."""
    column = place.get(size)
    return [] if column is None else [(column, sign)]


def _largest(members: Sequence[int], m: int, helpers: int) -> tuple[Row, list[Row]]:
    """Return minus the mean of the m largest, and the inequalities of its helpers.

    Helpers are numbered -1, -2 and so on, of which so many are taken.
    """
    u = -1 - helpers
    excess = [u - 1 - k for k in range(len(members))]
    row: Row = [(u, -1.0), *((v, -1.0 / m) for v in excess)]
    further: list[Row] = [[(v, 1.0)] for v in excess]
    further += [[(v, 1.0), (u, 1.0), (i, -1.0)] for v, i in zip(excess, members, strict=True)]
    return row, further


def ranking_words(events: TiedBlocks | TiedChoices) -> Words:
    """Return the words for directions of rankings."""
    names = _BEFORE if isinstance(events, TiedBlocks) else _BEFORE_OR_TIED
    return Words(*names, _one_sided, "")


def _one_sided(moving: Mapping[str, float]) -> str:
    """Say that nothing speaks against parameters that move alone."""
    rising = [name.removeprefix("tie") for name, d in moving.items() if d > 0]
    if not rising:
        return "since no outcome speaks against it"
    sizes = " or ".join(rising)
    return f"since wherever {sizes} could tie, so many did"

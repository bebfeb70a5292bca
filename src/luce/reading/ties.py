"""Ties, under the meanings that have one here, and only when asked for by name."""

from __future__ import annotations

from luce.counts.labels import plural
from luce.errors import DataError, HalfWinsWarning, warn_user

# Why the other meanings are not offered.  All three lead to likelihoods that are not products of
# powers of p(S).
_REFUSED = {
    "davidson": "Davidson's model gives a tie a weight proportional to the geometric mean of the "
    "two strengths, sqrt(p_a p_b), which is not the probability of any set",
    "rao-kupper": "the model of Rao and Kupper puts multiples of strengths into the denominators "
    "(p_a + theta p_b), and sets here carry no weights",
    "unknown": "a tie read as an unknown order is a sum over the orders, which is not a product "
    "of powers of set probabilities",
}
_SPELLINGS = {
    "raokupper": "rao-kupper",
    "rao_kupper": "rao-kupper",
    "unknown order": "unknown",
    "unknown-order": "unknown",
    "unknown_order": "unknown",
}
_ORDERS = "ties='half' counts every order of the tied equally, a custom and not a likelihood"
_ALLOWED = {
    "entity": "ties='entity' makes the tie one more competitor in every set where it could occur",
    "half": "ties='half' counts half a win for each, which is a custom and not a likelihood",
    "last": "ties='last' says of a tie in last place only that it is below the rest",
}


def _meaning(ties: str, allowed: tuple[str, ...]) -> str:
    return _ORDERS if ties == "half" and "entity" not in allowed else _ALLOWED[ties]


def check_ties(ties: str | None, allowed: tuple[str, ...]) -> None:
    """Refuse meanings that are unknown, or known and not of this form."""
    if ties is None or ties in allowed:
        return
    if ties == "entity":
        raise DataError(
            "ties = 'entity' is for two sides: a tie of some in a longer ranking is no competitor. "
            f"Instead: {'; '.join(_meaning(a, allowed) for a in allowed)}."
        )
    given = str(ties).lower()
    given = _SPELLINGS.get(given, given)
    offers = "; ".join(_meaning(a, allowed) for a in allowed)
    if given in _REFUSED:
        raise DataError(f"ties = {ties!r} cannot be done: {_REFUSED[given]}. Instead: {offers}.")
    raise DataError(f"ties = {ties!r} is not known. {offers}.")


def ask_for_meaning(
    number: float,
    ties: str | None,
    allowed: tuple[str, ...],
    one: str = "tie",
    many: str = "ties",
) -> None:
    """Insist on a meaning where ties occur, and warn about the one that is no likelihood."""
    if number <= 0:
        return
    if ties is None:
        offers = "; ".join(_meaning(a, allowed) for a in allowed)
        raise DataError(
            f"there {'is' if number == 1 else 'are'} {plural(number, one, many)}, which can mean "
            f"different things; say which. {offers}. (On the command line: --ties.)"
        )
    if ties == "half":
        how = "half a win for each side" if "entity" in allowed else "every order of the tied"
        warn_user(
            HalfWinsWarning(
                f"{plural(number, one, many)}: counted as {how}, which is a custom and not a "
                "likelihood; intervals are not to be trusted to the last digit."
            )
        )

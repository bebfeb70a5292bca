"""Meanings of ties: those that can be read, those that cannot, and the question which it is."""

from __future__ import annotations

from luce.counts.labels import plural
from luce.errors import DataError, DroppedTiesWarning, HalfWinsWarning, warn_user

# Meanings that are not offered, and why: their likelihoods are not products of powers of p(S).
_REFUSED = {
    "davidson": "Davidson's model gives a tie a weight proportional to the geometric mean of the "
    "two strengths, sqrt(p_a p_b), which is not the probability of any set",
    "rao-kupper": "the model of Rao and Kupper puts multiples of strengths into the denominators "
    "(p_a + theta p_b), and sets here carry no weights",
    "unknown": "one of the two orders of a tie was the case, whatever the strengths: it would say "
    "nothing, as in ties='drop'",
}
_SPELLINGS = {
    "raokupper": "rao-kupper",
    "rao_kupper": "rao-kupper",
    "unknown order": "unknown",
    "unknown-order": "unknown",
    "unknown_order": "unknown",
    "davidsonluce": "davidson-luce",
    "davidson_luce": "davidson-luce",
    "davidson–luce": "davidson-luce",
}
_ORDERS = "ties='half' counts every order of the tied equally, a custom and not a likelihood"
_ALLOWED = {
    "unknown": "ties='unknown' says that there was an order and that it was not recorded",
    "davidson-luce": "ties='davidson-luce' says that places can be shared, and learns how easily",
    "entity": "ties='entity' makes the tie one more competitor in every set where it could occur",
    "half": "ties='half' counts half a win for each, which is a custom and not a likelihood",
    "last": "ties='last' says of a tie in last place only that it is below the rest",
    "drop": "ties='drop' leaves them out",
}


def meaning_of(ties: str | None, allowed: tuple[str, ...]) -> str | None:
    """Return the usual spelling of a meaning that is allowed; others as they are."""
    given = _SPELLINGS.get(str(ties).lower(), ties)
    return given if given in allowed else ties


def _offers(allowed: tuple[str, ...]) -> str:
    """Describe the meanings that are allowed; in rankings, "half" is about orders."""
    meanings = _ALLOWED if "entity" in allowed else {**_ALLOWED, "half": _ORDERS}
    return "; ".join(meanings[name] for name in allowed)


def check_ties(ties: str | None, allowed: tuple[str, ...]) -> None:
    """Refuse a meaning that is unknown, or that is known and cannot be read."""
    if ties is None or ties in allowed:
        return
    offers = _offers(allowed)
    if ties == "entity":
        raise DataError(
            "ties = 'entity' is for two sides: a tie of some in a longer ranking is no competitor. "
            f"Instead: {offers}."
        )
    given = str(ties).lower()
    given = _SPELLINGS.get(given, given)
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
    """Ask for a meaning where ties occur; warn of the one that is no likelihood, and of losses."""
    if number <= 0:
        return
    if ties is None:
        raise DataError(
            f"there {'is' if number == 1 else 'are'} {plural(number, one, many)}, which can mean "
            f"different things; say which. {_offers(allowed)}. (On the command line: --ties.)"
        )
    if ties == "drop":
        verb = "is" if number == 1 else "are"
        warn_user(DroppedTiesWarning(f"{plural(number, one, many)} {verb} left out: ties='drop'."))
    if ties == "half":
        how = "half a win for each side" if "entity" in allowed else "every order of the tied"
        warn_user(
            HalfWinsWarning(
                f"{plural(number, one, many)}: counted as {how}, which is a custom and not a "
                "likelihood; intervals are not to be trusted to the last digit."
            )
        )

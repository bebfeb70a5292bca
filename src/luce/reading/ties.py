"""Meanings of ties: those that can be read, those that cannot, and the question which it is."""

from __future__ import annotations

from luce.counts.labels import plural
from luce.errors import DataError, DroppedTiesWarning, HalfWinsWarning, warn_user

# Meanings that are not offered for two sides, or for rankings, and why.
_REFUSED_FOR_SIDES = {
    "unknown": "a tie of two read as an unknown order, one or the other, has probability 1 and "
    "tells nothing, which is ties='drop'",
    "davidson-luce": "the model of Davidson and Luce is for rankings, and for two sides it is "
    "ties='davidson'",
}
_REFUSED_FOR_RANKINGS = {
    "davidson": "Davidson's model of ties is for two sides, and for rankings it is "
    "ties='davidson-luce'",
    "rao-kupper": "the model of Rao and Kupper is for two sides",
}
_SPELLINGS = {
    "raokupper": "rao-kupper",
    "rao_kupper": "rao-kupper",
    "rao kupper": "rao-kupper",
    "unknown order": "unknown",
    "unknown-order": "unknown",
    "unknown_order": "unknown",
    "davidsonluce": "davidson-luce",
    "davidson_luce": "davidson-luce",
    "davidson–luce": "davidson-luce",
}
_ORDERS = "ties='half' counts every order of the tied equally, a custom and not a likelihood"
_ALLOWED = {
    "davidson": "ties='davidson', the usual choice, draws a parameter for how often equals tie; "
    "the less alike two are, the rarer they tie",
    "rao-kupper": "ties='rao-kupper' draws a parameter for how much better the winner must be",
    "unknown": "ties='unknown' says that there was an order and that it was not recorded",
    "davidson-luce": "ties='davidson-luce' says that a place can be shared, and draws parameters "
    "for how often two, three and so on share one",
    "entity": "ties='entity' makes the tie one more competitor in every set where it could occur, "
    "so that the strong tie less often",
    "half": "ties='half' counts half a win for each, which is a custom and not a likelihood",
    "last": "ties='last' says of a tie in last place only that it is below the rest",
    "drop": "ties='drop' leaves them out",
}


def meaning_of(ties: str | None, allowed: tuple[str, ...]) -> str | None:
    """Return the usual spelling of a meaning that is allowed; others as they are."""
    given = _SPELLINGS.get(str(ties).lower(), ties)
    return given if given in allowed else ties


def _offers(allowed: tuple[str, ...]) -> str:
    """Describe the meanings that are allowed, a line each; in rankings, "half" is about orders."""
    meanings = _ALLOWED if "entity" in allowed else {**_ALLOWED, "half": _ORDERS}
    return "".join(f"\n  {meanings[name]}" for name in allowed)


def check_ties(ties: str | None, allowed: tuple[str, ...]) -> None:
    """Refuse a meaning that is unknown, or that is known and cannot be read."""
    if ties is None or ties in allowed:
        return
    offers = _offers(allowed)
    if ties == "entity":
        raise DataError(
            "ties = 'entity' is for two sides: a tie of some in a longer ranking is no competitor. "
            f"Instead:{offers}"
        )
    given = str(ties).strip().lower()
    given = _SPELLINGS.get(given, given)
    refused = _REFUSED_FOR_SIDES if "entity" in allowed else _REFUSED_FOR_RANKINGS
    if given in refused:
        raise DataError(f"ties = {ties!r} cannot be done: {refused[given]}. Instead:{offers}")
    meant = f" Did you mean {given!r}?" if given in allowed else ""
    raise DataError(f"ties = {ties!r} is not known.{meant} Offered:{offers}")


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
            f"different things; say which (on the command line: --ties):{_offers(allowed)}"
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

"""Say who has the first place, how surely, and who comes next."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from luce._types import FloatArray
from luce.page.words import Inline, Name, Strong, probability, shortened

# Probabilities from which on the first is called probably the best, and the best.
_LIKELY, _SURE = 2 / 3, 0.95


def leader_of(best: FloatArray) -> int:
    """Return the number of the one that is most probably the best."""
    return int(np.argmax(best))


def best_in_words(
    names: Sequence[str], best: FloatArray, noun: str, place: str = "the best"
) -> list[Inline]:
    """Say who has the first place, with which probability, and who comes next.

    Parameters
    ----------
    names
        Two names at least.
    best
        The probability of each to have the first place.
    noun
        One of them in a word, such as "category".
    place
        The first place in words.

    Examples
    --------
    >>> from luce.page.words import plain_text
    >>> plain_text(best_in_words(["Ann", "Bo"], np.array([0.25, 0.75]), "player"))
    'Bo is probably the best, with probability 0.750; next comes Ann with 0.250. '
    """
    first, second = (int(i) for i in np.argsort(-best, kind="stable")[:2])
    sure = float(best[first])
    name = Name(shortened(names[first]))
    if sure == 1:
        return [name, f" is {place} in every draw. "]
    words: list[Inline] = [name, f" is {place} with probability "]
    if sure < _LIKELY:
        words = [f"No {noun} is likely to be {place}: ", name, " is it with probability "]
    elif sure < _SURE:
        words = [name, f" is probably {place}, with probability "]
    words += [Strong(probability(sure)), "; next comes ", Name(shortened(names[second]))]
    return [*words, f" with {probability(float(best[second]))}. "]

"""The data of the goldens; nothing in it is symmetric, so that a swap of two labels shows."""

from __future__ import annotations

import numpy as np
from goldens.names import ConditionalCounts, from_pairs, from_rankings, from_teams

PLAYERS = ["Ann", "Bo", "Cy", "Di", "Ed", "Flo"]


def league() -> ConditionalCounts:
    """Duels along a path, a core of four, and two who are exact."""
    counts = ConditionalCounts(PLAYERS)
    counts = counts.observe({"Ann": 4, "Bo": 2}, within=["Ann", "Bo"])
    counts = counts.observe({"Bo": 3, "Cy": 1}, within=["Bo", "Cy"])
    counts = counts.observe({"Cy": 2, "Di": 5}, within=["Cy", "Di"])
    return counts.observe({"Ann": 3, "Ed": 2})


def round_robin() -> ConditionalCounts:
    """Duels of everybody with everybody, each of whom won at least once."""
    counts = ConditionalCounts(PLAYERS)
    for i, one in enumerate(PLAYERS):
        for j, other in enumerate(PLAYERS[:i]):
            counts = counts.observe({one: 1 + i + j % 2, other: 2 + j}, within=[one, other])
    return counts


def nested() -> ConditionalCounts:
    """Sets inside sets."""
    counts = ConditionalCounts("abcdef").observe({"a": 5, "b": 1})
    counts = counts.observe({"b": 2, "c": 3, "d": 1}, without="a")
    counts = counts.observe({"c": 1, "d": 4}, within="cde")
    return counts.observe_group("de", 2, within="cde").observe({"f": 2.5})


def all_but_one() -> ConditionalCounts:
    """Every set leaves out one of five, each another number of times."""
    counts = ConditionalCounts("vwxyz")
    counts = counts.observe({"w": 3, "x": 1, "z": 2}, without="v")
    counts = counts.observe({"v": 2, "x": 2, "y": 1}, without="w")
    counts = counts.observe({"v": 1, "w": 1, "z": 1}, without="x")
    return counts.observe({"y": 4, "x": 1})


def races() -> ConditionalCounts:
    """Rankings, some of them partial, one of them seen three times."""
    counts = ConditionalCounts(7).observe_ranking([3, 0, 5, 1])
    counts = counts.observe_ranking([0, 3, 2, 6, 4], 3).observe_ranking([5, 4, 0])
    return counts.observe_ranking([6, 1, 3, 0, 2, 4, 5]).observe_ranking([1, 2])


def grouped() -> ConditionalCounts:
    """Grouped outcomes that overlap, some of them given sets that do."""
    counts = ConditionalCounts("klmnop").observe({"k": 2, "l": 1, "p": 1})
    counts = counts.observe_group("kl", 3).observe_group("lm", 2, without="p")
    counts = counts.observe_group("mn", 4, within="mnop").observe({"n": 2, "o": 1}, within="no")
    return counts.observe({"m": 1, "o": 3}, within="mo")


def two_cores() -> ConditionalCounts:
    """Two groups of duels, one of them inside a set, and what is left exact around them."""
    counts = ConditionalCounts("abcdefgh")
    for seen in ({"a": 2, "b": 3}, {"b": 1, "c": 4}, {"a": 3, "c": 1}):
        counts = counts.observe(seen, within=list(seen))
    for seen in ({"d": 5, "e": 1}, {"e": 2, "f": 2}, {"f": 1, "g": 3}):
        counts = counts.observe(seen, within=list(seen))
    counts = counts.observe({"d": 2, "h": 1}, within="defgh")
    return counts.observe({"a": 1, "e": 2, "h": 4})


def powers() -> ConditionalCounts:
    """Data in its canonical form."""
    exponents = {"a": 6, "b": 5, "c": 2, "d": 3, ("a", "b"): -7, ("b", "c", "d"): -4}
    return ConditionalCounts.from_exponents("abcde", {**exponents, ("c", "e"): 2})


def new_species() -> ConditionalCounts:
    """Sightings in three places, where some species could not be seen."""
    counts = ConditionalCounts(["ant", "bee", "cat", "remainder"])
    counts = counts.observe({"ant": 4, "bee": 1, "cat": 2})
    counts = counts.observe({"bee": 3, "cat": 1}, without=["ant"])
    return counts.observe({"ant": 2, "cat": 2}, without=["bee"])


def random_family(seed: int) -> ConditionalCounts:
    """Sets at random: small ones, large ones, and the ends of rankings."""
    rng = np.random.default_rng([2024, seed])
    n = int(rng.integers(5, 30))
    counts = ConditionalCounts(n)
    for _ in range(int(rng.integers(2, 9))):
        members = rng.permutation(n)[: int(rng.integers(2, 5))].tolist()
        form = int(rng.integers(4))
        if form == 0:
            counts = counts.observe({members[0]: 2, members[1]: 1}, within=members)
        elif form == 1:
            left = next(i for i in range(n) if i not in members)
            counts = counts.observe({left: 1 + members[0] % 3}, without=members)
        elif form == 2:
            counts = counts.observe_ranking(members, 1 + members[0] % 2)
        else:
            counts = counts.observe_group(members, 1 + members[-1] % 4)
    return counts


def season(ties: str, home: str | None = "first") -> ConditionalCounts:
    """Matches of four, each with another record, with ties and a home advantage."""
    rows = [("a", "b", "HHAD"), ("b", "a", "HD"), ("c", "a", "AAD"), ("a", "d", "HHH")]
    rows += [("d", "c", "DA"), ("b", "d", "HAD"), ("c", "b", "HA")]
    games = [(one, other, result) for one, other, results in rows for result in results]
    columns = zip(("home", "away", "result"), map(list, zip(*games, strict=True)), strict=True)
    return from_pairs(dict(columns), ties=ties, home=home)


def part_time() -> ConditionalCounts:
    """Teams of which some players took part for a while only."""
    teams = [({"a": 1, "b": 0.5}, ["c", "d"]), (["c"], {"a": 0.25, "d": 1}), (["b", "d"], ["a"])]
    return from_teams([*teams, (["a", "c"], {"b": 1, "d": 0.5}, 2)])


def one_weighted_set() -> ConditionalCounts:
    """One set with weights, which has draws of its own."""
    within = {"a": 3.0, "b": 2.0, "c": 1.0}
    return ConditionalCounts("abcd").observe({"a": 2, "b": 3, "c": 1}, within=within)


def tied_rankings(ties: str) -> ConditionalCounts:
    """Rankings with ties above and at the end."""
    given = [["a", {"b", "c"}, "d"], [{"a", "d"}, "c", "b"], ["b", "a", {"c", "d"}], ["d", "b"]]
    return from_rankings(given, ties=ties, unranked="absent")


# Data with weights, or with a model of its own; the methods that draw it.
EVENTS = {
    "Davidson, home": (lambda: season("davidson"), ("waiting-times", "hamiltonian")),
    "Rao and Kupper, home": (lambda: season("rao-kupper"), ("waiting-times", "hamiltonian")),
    "Davidson": (lambda: season("davidson", None), ("waiting-times", "hamiltonian")),
    "half, home": (lambda: season("half"), ("waiting-times", "hamiltonian")),
    "part-time": (part_time, ("waiting-times", "hamiltonian", "metropolis")),
    "one weighted set": (one_weighted_set, ("auto", "waiting-times")),
    "unknown order": (lambda: tied_rankings("unknown"), ("waiting-times", "hamiltonian")),
    "Davidson and Luce": (lambda: tied_rankings("davidson-luce"), ("auto",)),
}

DATA = {
    "league": league,
    "round robin": round_robin,
    "nested": nested,
    "all but one": all_but_one,
    "races": races,
    "grouped": grouped,
    "two cores": two_cores,
    "powers": powers,
}

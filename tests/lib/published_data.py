"""Published data sets: where they are, how their raw files are read, and what is known of them."""

import csv
import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from lib.places import SHARED_DATA as DATA

import luce
from luce import ConditionalCounts
from luce._types import Label

Brackets = list[tuple[list[int], float]]


@dataclass(frozen=True)
class Published:
    """A published data set: where it is, what it is, and how its raw file is read.

    `labels` tells what an item of terms.json is called in the file.
    """

    name: str
    what: str
    read: Callable[[Path], Any]
    labels: Callable[[str], Label] = str
    terms: str = "terms.json"
    computed: tuple[str, ...] = ("computed",)

    def __str__(self) -> str:
        return self.name if self.terms == "terms.json" else f"{self.name}-{self.computed[-1]}"

    @property
    def counts(self) -> ConditionalCounts:
        return read(self)

    @property
    def truth(self) -> dict[str, Any]:
        found = load(f"{self.name}/truth.json")
        for key in self.computed:
            found = found[key]
        return found


@cache
def load(path: str) -> Any:
    return json.loads((DATA / path).read_text())


def records(path: Path) -> Iterator[dict[str, str]]:
    with path.open(newline="") as file:
        yield from csv.DictReader(file)


def brackets_of(path: str) -> tuple[list[str], Brackets]:
    found = load(path)
    return found["items"], [(members, float(power)) for members, power in found["brackets"]]


@cache
def read(data: Published) -> ConditionalCounts:
    """The counts of the raw file, with categories in the order of terms.json."""
    items, _ = brackets_of(f"{data.name}/{data.terms}")
    counts: ConditionalCounts = data.read(DATA / data.name)
    return ConditionalCounts([data.labels(item) for item in items]) + counts


def from_brackets(labels: list[Label], brackets: Brackets) -> ConditionalCounts:
    powers = {tuple(labels[i] for i in members): power for members, power in brackets}
    return ConditionalCounts.from_exponents(labels, powers)


def beans(path: Path) -> ConditionalCounts:
    """Each farmer orders three varieties, and compares each with the local one."""
    orders, duels = [], []
    for farmer in records(path / "beans.csv"):
        best, worst = farmer["best"].lower(), farmer["worst"].lower()
        (middle,) = {"a", "b", "c"} - {best, worst}
        orders.append([farmer[f"variety_{k}"] for k in (best, middle, worst)])
        for k in "abc":
            pair = farmer[f"variety_{k}"], "Local"
            duels.append(pair if farmer[f"var_{k}"] == "Better" else pair[::-1])
    local = luce.from_pairs(duels)
    varieties = luce.from_rankings(orders, unranked="absent", categories=local.categories)
    return varieties + local


def toys(path: Path) -> ConditionalCounts:
    tables = load("dirichlet_toys/toys.json")
    columns = {x: [tables[t]["counts"].get(x) for t in ("L1", "L2")] for x in "abcd"}
    return luce.from_table(columns)


def tennis_with_ghost(path: Path) -> ConditionalCounts:
    """Where p1 and p2 play together, an additional G stands by them."""
    matches: dict[str, list[Any]] = {"side1": [], "side2": [], "wins1": [], "wins2": []}
    for row in records(path / "tennis.csv"):
        for side in ("side1", "side2"):
            players = row[side].split("+")
            matches[side].append([*players, "G"] if players == ["p1", "p2"] else players)
        for wins in ("wins1", "wins2"):
            matches[wins].append(int(row[wins]))
    return luce.from_teams(matches)


def numbered(items: str) -> Callable[[str], Label]:
    names = items.split(", ")
    return lambda item: str(names.index(item) + 1)


SETS = [
    Published("chess", "three players, counts of wins of each two in a row",
              lambda d: luce.read(d / "chess.csv", "table")),
    Published("icons", "which icon of climate change concerns most, of four shown",
              lambda d: luce.read(d / "icons.csv", "table")),
    Published("frogs", "calls that females prefer, two at a time",
              lambda d: luce.read(d / "frogs.csv", "table")),
    Published("purum", "marriages between sibs, some of which are forbidden",
              lambda d: luce.read(d / "purum.csv", "table")),
    Published("dirichlet_toys", "two samples over three of four categories each", toys),
    Published("citations", "a square table: the row is cited by the column",
              lambda d: luce.read(d / "citations.csv", "pairs")),
    Published("karate", "points of each of two in a bout",
              lambda d: luce.read(d / "karate.csv")),
    Published("flatlizards", "winner and loser of a contest",
              lambda d: luce.read(d / "flatlizards.csv")),
    Published("pudding_tie_item", "wins and ties of pairs, where a tie is an entity",
              lambda d: luce.read(d / "pudding.csv", ties="entity", ignore=["r_ij"])),
    Published("beans", "orders of three varieties, and each against the local one", beans),
    Published("salad", "a judge's ranks of four dressings in a row",
              lambda d: luce.read(d / "salad.csv", "rankings")),
    Published("netflix138", "PrefLib, complete strict orders of four films",
              lambda d: luce.read(d / "00004-00000138.soc")),
    Published("sushi", "PrefLib, complete strict orders of ten kinds of sushi",
              lambda d: luce.read(d / "00014-00000001.soc")),
    Published("rowing", "a heat a line, best first, with no header",
              lambda d: luce.read(d / "rowing.txt", "rankings", unranked="absent")),
    Published("moto", "riders in rows and races in columns, with those who did not finish",
              lambda d: luce.read(d / "motoGP_2019.csv", "rankings", ignore=["points"],
                                  unranked="below")),
    Published("volvo", "boats in rows and legs in columns, with DNF and DNS",
              lambda d: luce.read(d / "volvo.csv", "rankings")),
    Published("eurodance", "points of countries, most are best, no points for oneself",
              lambda d: luce.read(d / "eurodance.csv", "rankings", layout="items-in-rows",
                                  best="largest", unranked="below", blank="absent",
                                  ignore=["Total", "jury"])),
    Published("carconf", "places in columns, 0 where somebody stopped ranking",
              lambda d: luce.read(d / "d_carconf.csv", unranked="below"),
              numbered("price, exterior design, brand, technical equipment, producing country, "
                       "interior design")),
    Published("mtc_modechoice", "how people go to work, of what was available to them",
              lambda d: luce.read(d / "mtc_counts.csv")),
    Published("modecanada", "how people travel between cities",
              lambda d: luce.read(d / "modecanada_counts.csv")),
    Published("tennis", "singles and doubles",
              lambda d: luce.read(d / "tennis.csv")),
    Published("tennis", "singles and doubles, with a ghost beside one team", tennis_with_ghost,
              terms="terms_ghost.json", computed=("computed", "ghost")),
    Published("paulino", "subjects known to lie in a class or one of two",
              lambda d: luce.read(d / "paulino.csv")),
    Published("crimes", "two questions with answers missing",
              lambda d: luce.read(d / "crimes.csv", "groups", cells=["V1", "V2"]),
              labels=tuple),
    Published("mobility_glass", "fathers' and sons' status, without those who stay",
              lambda d: luce.read(d / "glass.csv", "transitions"), numbered("I, II, III, IV, V")),
    Published("strata_transitions", "facies that follow each other",
              lambda d: luce.read(d / "transitions.csv", "transitions")),
    Published("mvad_transitions", "changes of occupation of school leavers",
              lambda d: luce.read(d / "mvad_jump_counts.csv", "transitions")),
]  # fmt: skip
BY_NAME = {str(data): data for data in SETS}


def published(name: str, quantity: str) -> Any:
    """The value of the one published entry that begins like this."""
    entries = load(f"{name}/truth.json")["published"]
    (value,) = (e["value"] for e in entries if e["quantity"].startswith(quantity))
    return value

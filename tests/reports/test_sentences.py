"""Every sentence about groups, ranks and pairs is true of the draws that it speaks of.

Sentences are read off the lead of a page as a reader would, and each number in them is computed
again by loops over the draws.  The same reader rejects sentences made false.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from itertools import combinations

import numpy as np
import pytest
import xarray as xr
from lib.bounds import SEED

import luce
from luce.answers.view import DrawsView
from luce.counts.records import Record
from luce.reports import answer
from luce.reports.findings import TOLD_APART, ChoiceFindings, find

Draws = np.ndarray  # shape (chain, draw, category)
Groups = list[list[int]]
Rows = list[tuple[int, tuple[int, ...]]]  # who was chosen, and out of whom


# -- draws -----------------------------------------------------------------------------------------


def _shares(logs: Draws) -> Draws:
    values = np.exp(logs - logs.max(axis=2, keepdims=True))
    return np.asarray(values / values.sum(axis=2, keepdims=True))


def spread(rng: np.random.Generator, n: int) -> Draws:
    """Strengths at all distances from each other: some told apart, some not."""
    return _shares(rng.normal(np.cumsum(rng.exponential(0.4, n)), 0.5, size=(2, 60, n)))


def correlated(rng: np.random.Generator, n: int) -> Draws:
    """One common factor moves all but the last: intervals overlap, and yet all is told apart."""
    logs = np.arange(n) * 0.3 + rng.normal(0, 0.05, size=(2, 60, n))
    logs[:, :, :-1] += rng.normal(0, 3, size=(2, 60, 1))
    return _shares(logs)


def of_two_modes(rng: np.random.Generator, n: int) -> Draws:
    """Two chains that disagree: the order of one is that of the other upside down, in part."""
    middle = np.arange(n) * 1.0
    logs = rng.normal(np.stack([middle, rng.permutation(middle)])[:, None], 0.3, size=(2, 60, n))
    return _shares(logs)


def rarely_far_better(rng: np.random.Generator, n: int) -> Draws:
    """One that nearly always loses to its neighbour and has the better expected rank."""
    logs = rng.normal(np.arange(n) * 2.0, 0.2, size=(2, 60, n))
    logs[:, :, 0] = logs[:, :, 1] - 0.01
    logs[:, :4, 0] = 50.0
    return _shares(logs)


def tied(rng: np.random.Generator, n: int) -> Draws:
    """Whole numbers: many ties, zeros among them."""
    p = np.arange(1, n + 1) / np.arange(1, n + 1).sum()
    return rng.multinomial(3 * n, p, (2, 60)) / (3 * n)


def few(rng: np.random.Generator, n: int) -> Draws:
    """Three draws."""
    return rng.dirichlet(np.ones(n), (1, 3))


def at_the_level(rng: np.random.Generator, n: int) -> Draws:
    """Neighbours in order in 95 % of the draws exactly, or in one draw less."""
    logs = np.tile(np.arange(n) * 1.0, (2, 60, 1))
    for i in range(n - 1):
        swapped = rng.choice(120, 6 + int(rng.integers(2)), replace=False)
        flat = logs.reshape(120, n)
        flat[swapped[:, None], [i, i + 1]] = flat[swapped[:, None], [i + 1, i]]
    return _shares(logs)


KINDS: list[Callable[[np.random.Generator, int], Draws]] = [
    spread, correlated, of_two_modes, rarely_far_better, tied, few, at_the_level
]  # fmt: skip
CASES = [(make, n, k) for make in KINDS for n in (2, 3, 7, 12) for k in range(4)]


def drawn(make: Callable[[np.random.Generator, int], Draws], n: int, k: int) -> Draws:
    return make(np.random.default_rng([SEED, n, k]), n)


def rows_for(n: int, k: int) -> Rows:
    """Data of four kinds: one choice; games that some only win, or lose; of some; of all."""
    everyone = tuple(range(n))
    if k == 0:
        return [(0, everyone)]
    if k == 1:
        return [(max(i, j), (i, j)) for i, j in combinations(everyone, 2) for _ in range(i + 1)]
    if k == 2:
        return [(i, (i, j)) for i in range(n // 2) for j in range(n // 2) if i != j]
    games = [(i, (i, j)) for i in everyone for j in everyone if i != j]
    return 9 * games + [(n - 1, everyone), (0, everyone)]


def findings_of(x: Draws, rows: Rows | None = None) -> ChoiceFindings:
    """Findings of a run whose draws are these."""
    counts = luce.ConditionalCounts(x.shape[2])
    for chosen, offered in rows_for(x.shape[2], 0) if rows is None else rows:
        counts = counts.observe({chosen: 1}, within=offered)
    with warnings.catch_warnings():  # draws are replaced
        warnings.simplefilter("ignore", luce.ConvergenceWarning)
        run = luce.Posterior(counts).sample(
            x.shape[1], chains=x.shape[0], seed=1, progress=False, log_probabilities=False
        )
    run["posterior"]["probabilities"].to_numpy()[:] = x
    found = find(run, 0.9)
    assert isinstance(found, ChoiceFindings)
    return found


def lead_of(found: ChoiceFindings) -> str:
    return "".join(word if isinstance(word, str) else word.text for word in answer.lead(found))


# -- the reader ------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Truth:
    """Facts about draws, by loops."""

    x: Draws
    rows: Rows

    def played(self, i: int) -> int:
        return sum(i in offered for _, offered in self.rows)

    def won(self, i: int) -> int:
        return sum(i == chosen for chosen, _ in self.rows)

    def are_games(self) -> bool:
        return all(len(offered) == 2 for _, offered in self.rows)

    def is_wide(self, i: int) -> bool:
        """Is the standard deviation of the centred log more than half of the prior's?"""
        if (self.x == 0).any():
            return False
        logs = np.log(self.x)
        own = (logs[:, :, i] - logs.mean(axis=2)).std()
        # A log gamma variable of shape 1 has the variance π²/6.
        return bool(own > np.pi / np.sqrt(6) * np.sqrt(1 - 1 / self.x.shape[2]) / 2)

    def is_thin(self, i: int) -> bool:
        return self.won(i) in (0, self.played(i)) or self.is_wide(i)

    def larger(self, i: int, j: int) -> float:
        """P(p_i > p_j), ties half."""
        a, b = self.x[:, :, i].ravel().tolist(), self.x[:, :, j].ravel().tolist()
        return sum((p > q) + (p == q) / 2 for p, q in zip(a, b, strict=True)) / len(a)

    def told(self, i: int, j: int) -> bool:
        return max(self.larger(i, j), self.larger(j, i)) >= TOLD_APART

    def best(self) -> list[float]:
        rows = self.x.reshape(-1, self.x.shape[2]).tolist()
        each = [[(p == max(row)) / row.count(max(row)) for p in row] for row in rows]
        return [sum(column) / len(rows) for column in zip(*each, strict=True)]

    def across(self, groups: Groups) -> Iterator[tuple[int, int]]:
        """Pairs of different groups, that of the earlier one first."""
        for a, b in combinations(range(len(groups)), 2):
            yield from ((i, j) for i in groups[a] for j in groups[b])

    def at_once(self, groups: Groups) -> float:
        rows = self.x.reshape(-1, self.x.shape[2]).tolist()
        pairs = list(self.across(groups))
        return sum(all(row[i] > row[j] for i, j in pairs) for row in rows) / len(rows)


def printed_as(words: str, value: float) -> bool:
    """Is this how a reader would find the value printed?"""
    if words.startswith("<"):
        return 0 < value < float(words[1:])
    if words.startswith(">"):
        return float(words[1:]) < value < 1
    return abs(float(words) - value) <= 0.0005 + 1e-12


def false_sentences(lead: str, groups: Groups, x: Draws, rows: Rows | None = None) -> list[str]:
    """List the sentences of a lead that are false of the draws, or that nobody could read.

    Also what is wrong with the groups, and a leader of whom little is known if that is not said.
    """
    n = x.shape[2]
    rows = rows_for(n, 0) if rows is None else rows
    truth = Truth(x, rows)
    pairs = list(combinations(range(n), 2))
    number = r"([<>]?\d(?:\.\d+)?)"
    best = truth.best()
    second = sorted(best)[-2] if n > 1 else 0.0
    told = sum(truth.told(i, j) for i, j in pairs)

    def is_best(name: str, sure: str, next_name: str, next_sure: str) -> bool:
        return (
            printed_as(sure, best[int(name)]) and best[int(name)] == max(best)
            and printed_as(next_sure, best[int(next_name)]) and best[int(next_name)] == second
        )  # fmt: skip

    def are_groups(joint: str) -> bool:
        order = [i for group in groups for i in group]
        return (
            sorted(order) == list(range(n))
            and all(truth.larger(i, j) >= TOLD_APART for i, j in truth.across(groups))
            and printed_as(joint, truth.at_once(groups))
        )

    def finest(order: list[int]) -> int:
        """Count the groups when the order is cut wherever it can be."""
        return 1 + sum(
            all(truth.larger(i, j) >= TOLD_APART for i in order[:k] for j in order[k:])
            for k in range(1, n)
        )

    order = [i for group in groups for i in group]
    games = truth.are_games()
    named = re.search(r"(\d+) is (?:the best|probably the best|it) ", lead)
    leader = int(named[1]) if named else best.index(max(best))

    def leads_with(name: str, wins: int, played: int) -> bool:
        """Is this the leader, with so many wins out of so many?"""
        i = int(name)
        return i == leader and truth.won(i) == wins and truth.played(i) == played > 0

    no_upper = (
        "the data sets no upper limit to its strength, so that how far it leads rests on the prior"
    )
    no_lower = "the data sets no lower limit to its strength"
    cautions: dict[str, Callable[..., bool]] = {
        rf"(\d+) won all of its (\d+) games: {no_upper}\.": (
            lambda a, m: games and leads_with(a, int(m), int(m)) and int(m) > 1
        ),
        rf"(\d+) won its only game: {no_upper}\.": lambda a: games and leads_with(a, 1, 1),
        rf"(\d+) was chosen all (\d+) times it was offered: {no_upper}\.": (
            lambda a, m: not games and leads_with(a, int(m), int(m)) and int(m) > 1
        ),
        rf"(\d+) was chosen the only time it was offered: {no_upper}\.": (
            lambda a: not games and leads_with(a, 1, 1)
        ),
        rf"(\d+) won none of its (\d+) games: {no_lower}\.": (
            lambda a, m: games and leads_with(a, 0, int(m)) and int(m) > 1
        ),
        rf"(\d+) lost its only game: {no_lower}\.": lambda a: games and leads_with(a, 0, 1),
        rf"(\d+) was never chosen, out of (\d+) times it was offered: {no_lower}\.": (
            lambda a, m: not games and leads_with(a, 0, int(m)) and int(m) > 1
        ),
        rf"(\d+) was offered once and not chosen: {no_lower}\.": (
            lambda a: not games and leads_with(a, 0, 1)
        ),
        r"(\d+) is known only from the prior: no data speaks of it\.": (
            lambda a: int(a) == leader and truth.played(leader) == 0
        ),
        r"There is little data on (\d+): its log odds have more than half of the standard "
        r"deviation they have without data\.": lambda a: int(a) == leader and truth.is_wide(leader),
    }
    readers: dict[str, Callable[..., bool]] = {
        r"(\d+) is the best in every draw\.": lambda a: best[int(a)] == 1,
        rf"(\d+) is the best with probability {number}; next comes (\d+) with {number}\.": (
            lambda a, p, b, q: is_best(a, p, b, q) and max(best) >= 0.95
        ),
        rf"(\d+) is probably the best, with probability {number}; next comes (\d+) with {number}\.": (  # noqa: E501
            lambda a, p, b, q: is_best(a, p, b, q) and 2 / 3 <= max(best) < 0.95
        ),
        rf"No category is likely to be the best: (\d+) is it with probability {number}; "
        rf"next comes (\d+) with {number}\.": (
            lambda a, p, b, q: is_best(a, p, b, q) and max(best) < 2 / 3
        ),
        r"The two (can|cannot) be told apart at 95 %\.": (
            lambda can: n == 2 and (can == "can") == (told == 1)
        ),
        rf"All (\d+) categories can be told apart: of any two, one is better with at least 95 %, "
        rf"and all of them are in one order at once with probability {number}\.": (
            lambda m, p: int(m) == n == len(groups) and told == len(pairs) and are_groups(p)
        ),
        rf"The (\d+) categories fall into (\d+) groups that can be told apart: each of an earlier "
        r"group is better than each of a later one with at least 95 %, pair by pair, and all of "
        rf"these pairs at once with probability {number}\.": (
            lambda m, g, p: int(m) == n and 1 < int(g) == len(groups) < n and are_groups(p)
        ),
        r"None of the (\d+) pairs can be told apart at 95 %\.": (
            lambda m: int(m) == len(pairs) and told == 0
        ),
        r"Of all (\d+) pairs (\d+) can be told apart at 95 %\.": (
            lambda m, t: int(m) == len(pairs) and int(t) == told
        ),
        r"Of all (\d+) pairs (\d+) can be told apart at 95 %, but no cut through their order "
        r"separates all above it from all below\.": (
            lambda m, t: int(m) == len(pairs) and int(t) == told and finest(order) == 1
        ),
        r"(\d+) (?:category is|categories are) known only from the prior\.": (
            lambda m: int(m) == sum(truth.played(i) == 0 for i in range(n))
        ),
        **cautions,
    }
    wrong = [] if len(groups) == finest(order) else ["the groups are not the finest"]
    if truth.is_thin(leader) and not any(re.search(caution, lead) for caution in cautions):
        wrong.append("the leader's evidence is thin")
    for sentence in re.findall(r"\S.*?\.(?= |$)", lead.strip()):
        read = [(f, m) for r, f in readers.items() if (m := re.fullmatch(r, sentence))]
        if len(read) != 1 or not read[0][0](*read[0][1].groups()):
            wrong.append(sentence)
    return wrong


# -- the tests -------------------------------------------------------------------------------------


@pytest.mark.parametrize(("make", "n", "k"), CASES)
def test_every_sentence_of_the_lead_is_true(make: Callable[..., Draws], n: int, k: int) -> None:
    x, rows = drawn(make, n, k), rows_for(n, k)
    found = findings_of(x, rows)
    groups = [[int(str(i)) for i in group] for group in luce.tie_groups(x)]
    assert false_sentences(lead_of(found), groups, x, rows) == []
    # The columns of the table say the same.
    truth, labels = Truth(x, rows), [int(str(c)) for c in found.table.categories]
    assert [bool(mark) for mark in found.evidence.marks] == [truth.is_thin(i) for i in labels]
    record = found.evidence.record
    assert isinstance(record, Record)
    assert record.played.tolist() == [truth.played(i) for i in labels]
    assert record.wins.tolist() == [truth.won(i) for i in labels]
    assert found.group.tolist() == [
        next(g for g, group in enumerate(groups, 1) if i in group) for i in labels
    ]
    assert found.not_told_from is not None
    assert found.not_told_from.tolist() == [
        sum(not truth.told(i, j) for j in range(n) if j != i) for i in labels
    ]


def led_by_the_first(x: Draws) -> Groups:
    """The rule that compares each category with the leader of its group alone."""
    truth = Truth(x, [])
    groups: Groups = []
    for i in (int(str(c)) for c in luce.answers.expected_order(x)):
        if not groups or truth.larger(groups[-1][0], i) >= TOLD_APART:
            groups.append([])
        groups[-1].append(i)
    return groups


def test_groups_that_only_their_leaders_tell_apart_are_rejected() -> None:
    rejected = []
    for k in range(8):
        x = drawn(spread, 12, k)
        groups = led_by_the_first(x)
        found = findings_of(x)
        found.__dict__["tie_groups"] = groups  # what the page would say of them
        wrong = false_sentences(lead_of(found), groups, x)
        rejected.append(any("groups that can be told apart" in sentence for sentence in wrong))
    assert all(rejected)


NO_CUT = "no cut through their order separates all above it from all below"


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (r"into (\d+) groups", "into 11 groups"),
        (r"with probability \d\.\d+", "with probability 0.123"),
        (r"pairs \d+ can", "pairs 0 can"),
        (r"at once with probability 0\.\d+", "at once with probability 0.999"),
        (r"next comes (\d+)", "next comes 99"),
        (r"is probably the best", "is the best"),
        (r"(pairs \d+ can be told apart at 95 %)\.", rf"\1, but {NO_CUT}."),
        (r"better than each", "far better than each"),
        (r"was never chosen, out of 4", "was never chosen, out of 5"),
        (r"5 was never chosen, [^.]*\.", ""),
        (r"no lower limit", "no upper limit"),
        (r"(\d+) was never chosen", "0 was never chosen"),
    ],
)  # fmt: skip
def test_a_sentence_made_false_is_rejected(old: str, new: str) -> None:
    rng = np.random.default_rng(0)  # one lead with all these sentences
    logs = rng.normal([0.0, 0.4, 2.0, 2.1, 4.0, 4.4], 0.4, size=(2, 60, 6))
    x = _shares(logs)
    rows = [(i, tuple(range(6))) for i in (0, 1, 2, 3)]
    found, groups = findings_of(x, rows), [[int(str(i)) for i in g] for g in luce.tie_groups(x)]
    lead = lead_of(found)
    assert false_sentences(lead, groups, x, rows) == []
    mutant = re.sub(old, new, lead, count=1).replace("99", str(groups[-1][-1]))
    assert mutant != lead
    assert false_sentences(mutant, groups, x, rows) != []


def test_groups_that_could_be_finer_are_rejected() -> None:
    x = drawn(at_the_level, 7, 1)
    groups = [[int(str(i)) for i in group] for group in luce.tie_groups(x)]
    assert len(groups) > 1
    joined = [groups[0] + groups[1], *groups[2:]]
    assert "the groups are not the finest" in false_sentences("", joined, x)


def test_many_categories_have_groups_and_no_pairs() -> None:
    x = drawn(of_two_modes, 12, 0)
    found = findings_of(x)
    found.__dict__["not_told_from"] = None
    lead = lead_of(found)
    assert "pairs can" not in lead
    page = luce.page.document.Page("x")
    answer.write_table(page, found)
    assert "Not told from" not in page.to_html()


def test_draws_of_one_view_are_read_as_such() -> None:
    x = drawn(spread, 7, 2)
    view = replace(DrawsView.of(x), block=50)
    assert luce.tie_groups(view) == luce.tie_groups(x)
    assert luce.tie_groups(xr.DataArray(x, dims=("chain", "draw", "category"))) == luce.tie_groups(
        x
    )

"""Pictures: their descriptions tell their numbers; nothing is drawn where there is nothing."""

import re
from base64 import b64decode
from html import unescape
from itertools import pairwise
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest
import xarray as xr
from lib.report_runs import sampled

import luce
from luce.page.document import Page
from luce.page.words import probability
from luce.reports import pictures
from luce.reports.findings import ChoiceFindings, find

pytestmark = pytest.mark.filterwarnings("ignore::luce.ConvergenceWarning")


def test_pictures_are_described_by_their_numbers(chains: xr.DataTree, drawn: Path) -> None:
    html = drawn.read_text(encoding="utf-8")
    described = [unescape(alt) for alt in re.findall(r'alt="([^"]*)"', html)]
    assert len(described) == 6
    strengths, ranks, wins, traces, lags, check = described
    table = luce.summary(chains, 0.8, sort=True)
    first = f"\u2068{table.categories[0]}\u2069"
    assert f"{first} {table['mean'][0]:.3f} ({table['eti80_lb'][0]:.3f} to" in strengths
    order = luce.answers.expected_order(chains)
    best = luce.rank_probabilities(chains).sel(category=order[0]).to_numpy()
    assert f"\u2068{order[0]}\u2069 rank {best.argmax() + 1} ({best.max():.3f})" in ranks
    over = luce.answers.win_matrix(chains).to_numpy()
    place = [list(chains.posterior["category"].to_numpy()).index(label) for label in order[:2]]
    assert f"is chosen over \u2068{order[1]}\u2069 {over[place[0], place[1]]:.3f}" in wins
    assert "Draws of 2 chains, one after another, 25 each." in traces
    assert re.search(r"at lag 1, (below 0\.1 from lag \d+ on|above 0\.1 up to lag 24)", lags)
    assert "of 4 categories" in check
    for code in re.findall(r"<img src=\"data:image/svg\+xml;base64,([^\"]+)", html):
        assert ElementTree.fromstring(b64decode(code)).tag.endswith("svg")
        svg = re.sub(r"<!--.*?-->", "", b64decode(code).decode(), flags=re.S)
        assert not re.search(r"<script|\son\w+=|href=\"(?!#|data:image/png)", svg)


def test_nothing_is_drawn_where_there_is_nothing_to_show(exact: xr.DataTree) -> None:
    page = Page("x")
    before = page.to_html()
    one = find(sampled(luce.ConditionalCounts(["only"]).observe({"only": 2}), 10), 0.9)
    assert isinstance(one, ChoiceFindings)
    pictures.write_answer_pictures(page, one)  # nobody to compare with
    pictures.write_chain_pictures(page, find(exact, 0.9))  # no chains
    pictures.write_check_picture(page, one, "the data has too many cells")
    assert page.to_html() == before


def false_descriptions(ranks: str, wins: str, run: xr.DataTree) -> list[str]:
    """List what descriptions say of ranks and duels that is false of the draws, by loops."""
    labels = [str(c) for c in run.posterior["category"].to_numpy()]
    rows = run.posterior["probabilities"].to_numpy().reshape(-1, len(labels)).tolist()
    each = [[1 + sum(y > x for y in row) for x in row] for row in rows]
    mean = dict(zip(labels, np.mean(each, axis=0).tolist(), strict=True))
    order = sorted(labels, key=lambda c: mean[c])
    wrong = []
    told = re.findall("\u2068(\\w+)\u2069 rank (\\d+) \\(([^)]*)\\)", ranks)
    if [name for name, _, _ in told] != order:
        wrong.append("order")
    for name, rank, chance in told:
        places = [row[labels.index(name)] for row in each]
        shares = [places.count(k) / len(places) for k in range(1, len(labels) + 1)]
        if shares[int(rank) - 1] != max(shares) or chance != probability(max(shares)):
            wrong.append(f"{name} {rank}")
    over, then = wins.split("; each over the next: ")
    first = [(order[0], *x) for x in re.findall("\u2068(\\w+)\u2069 ([\\d.<>]+)", over)]
    later = re.findall("\u2068(\\w+)\u2069 over \u2068(\\w+)\u2069 ([\\d.<>]+\\d)", then)
    if len(first) != len(order) - 1 or [x[:2] for x in later] != list(pairwise(order))[1:]:
        wrong.append("duels")
    for a, b, chance in [*first, *later]:
        i, j = labels.index(a), labels.index(b)
        value = sum(row[i] / (row[i] + row[j]) for row in rows) / len(rows)
        wrong += [] if abs(float(chance) - value) <= 0.0005 + 1e-9 else [f"{a} over {b}"]
    return wrong


def test_every_rank_and_duel_that_is_described_is_true(chains: xr.DataTree, drawn: Path) -> None:
    html = drawn.read_text(encoding="utf-8")
    _, ranks, wins = [unescape(alt) for alt in re.findall(r'alt="([^"]*)"', html)][:3]
    assert false_descriptions(ranks, wins, chains) == []
    first, second = (f"\u2068{c}\u2069" for c in luce.answers.expected_order(chains)[:2])
    swapped = ranks.replace(first, "?").replace(second, first).replace("?", second)
    assert "order" in false_descriptions(swapped, wins, chains)
    assert false_descriptions(ranks, wins.replace(f"over {second}", f"over {first}", 1), chains)
    assert false_descriptions(re.sub(r"rank (\d)", "rank 5", ranks, count=1), wins, chains)

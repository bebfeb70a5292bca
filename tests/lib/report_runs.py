"""Small runs to report on, and what a page says: its words, table and printouts."""

import re
import warnings
from html import unescape
from pathlib import Path
from typing import Any

import xarray as xr

import luce
from luce.reports import trust
from luce.reports.findings import find


def duels(labels: list[Any], rounds: int = 2) -> luce.ConditionalCounts:
    """Count duels of neighbours in a circle, which the earlier one mostly wins: a core."""
    counts = luce.ConditionalCounts(labels)
    for i, j in zip(range(len(labels)), [*range(1, len(labels)), 0], strict=True):
        wins = {labels[min(i, j)]: rounds, labels[max(i, j)]: 1}
        counts = counts.observe(wins, within=[labels[i], labels[j]])
    return counts


def sampled(counts: luce.ConditionalCounts, draws: int, a: Any = 1.0, **how: Any) -> xr.DataTree:
    """Draw from the posterior of counts, two chains unless told otherwise."""
    how = {"chains": 2, "seed": 7, "progress": False, **how}
    return luce.Posterior(counts, a).sample(draws, **how)


def three_ranked() -> xr.DataTree:
    """Rank three nine times: independent draws, and enough of them."""
    counts = luce.ConditionalCounts(["Ann", "Bo", "Zoë"]).observe_ranking(["Bo", "Ann", "Zoë"], 9)
    return sampled(counts, 250)


def four_and_unseen() -> xr.DataTree:
    """Simulate duels among four, and one label that the data says nothing about."""
    labels = ["a", "b", "c", "d"]
    seen = duels(labels)
    powers: dict[Any, float] = dict(zip(labels, seen.category_counts.tolist(), strict=True))
    for t, power in enumerate(seen.sets.exponent.tolist()):
        powers[tuple(labels[i] for i in seen.sets.set_members(t))] = power
    grown = luce.ConditionalCounts.from_exponents([*labels, "unseen"], powers)
    with warnings.catch_warnings():  # whichever test asks for it first
        warnings.simplefilter("ignore", luce.ConvergenceWarning)
        return sampled(grown, 25, method="waiting-times", warmup=5)


def text_of(page: Path) -> str:
    """Read all words of a page, without tags and scripts."""
    body = page.read_text(encoding="utf-8").split("</style>")[1]
    body = re.sub("<script.*?</script>", " ", body, flags=re.S)
    return " ".join(unescape(re.sub("<[^>]*>", " ", body)).split())


def table_of(page: Path, number: int = 1) -> dict[str, list[str]]:
    """Read the values by which the columns of a sortable table are sorted, or the texts."""
    html = page.read_text(encoding="utf-8").split('<div class="sortable">')[number]
    heads = [unescape(h) for h in re.findall(r'<th scope="col"[^>]*>(.*?)</th>', html)]
    body = html.split("<tbody>")[1].split("</tbody>")[0]
    rows = []
    for row in body.strip().split("\n"):
        found = re.findall(r"<t[hd]([^>]*)>(.*?)</t[hd]>", row)
        values = [re.search(r'data-value="([^"]*)"', kind) for kind, _ in found]
        plain = [unescape(re.sub("<[^>]*>", "", inner)) for _, inner in found]
        rows.append([v[1] if v else t for v, t in zip(values, plain, strict=True)])
    return {h: [row[j] for row in rows] for j, h in enumerate(heads[: len(rows[0])])}


def printouts(page: Path) -> list[str]:
    """Read all that stands preformatted on a page."""
    return [unescape(x) for x in re.findall(r"<pre [^>]*>\n(.*?)</pre>", page.read_text(), re.S)]


def checks_of(run: xr.DataTree) -> dict[str, trust.Check]:
    """Judge a run, by the names of the checks."""
    return {check.what: check for check in trust.judge(find(run, 0.9)).checks}

"""One page about a run: the answer, data, model, trust, and how to get the same again."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from luce.counts.labels import plural
from luce.errors import DataError
from luce.page.document import Badge, Page
from luce.page.words import shortened
from luce.runs.saving import load

if TYPE_CHECKING:
    from xarray import DataTree

    from luce.reports.trust import Trust

__all__ = ["report", "write_report"]


def report(
    run: DataTree | str | os.PathLike[str],
    path: str | os.PathLike[str],
    *,
    title: str | None = None,
    ci_prob: float = 0.9,
) -> Path:
    """Write one self-contained page about a run, to open in a browser or send to somebody.

    Parameters
    ----------
    run
        What `Posterior.sample` or `luce.load` returned; or the name of a saved run.
    path
        The page, a name that ends in ``.html``.  What was there before is replaced.
    title
        The page's heading.
    ci_prob
        The probability of all intervals, between 0 and 1.

    Returns
    -------
    Path
        The page.

    Examples
    --------
    >>> import luce
    >>> from tempfile import TemporaryDirectory
    >>> run = luce.Posterior(luce.ConditionalCounts("ab").observe({"b": 2})).sample(500, seed=1)
    >>> with TemporaryDirectory() as folder:
    ...     luce.report(run, f"{folder}/page.html").name
    'page.html'
    """
    return write_report(run, path, title=title, ci_prob=ci_prob)[0]


def write_report(
    run: DataTree | str | os.PathLike[str],
    path: str | os.PathLike[str],
    *,
    title: str | None = None,
    ci_prob: float = 0.9,
) -> tuple[Path, Trust]:
    """Write the page, as `report` does; returns what it says about trust, too."""
    target = Path(path)
    if target.suffix.lower() not in (".html", ".htm"):
        raise DataError(f"{target} is no name for a page; give one that ends in .html.")
    source = None
    if isinstance(run, str | os.PathLike):
        source = os.fspath(run)
        run = load(run)
    page, trust = _page(run, source, title, ci_prob)
    return page.save(target), trust


def _page(
    run: DataTree, source: str | None, title: str | None, ci_prob: float
) -> tuple[Page, Trust]:
    # Here and not above: all this is loaded only when a page is written.
    from luce.reports import answer, data_and_model, pictures, predictive, reproduce
    from luce.reports.findings import find
    from luce.reports.trust import judge, write_trust

    found = find(run, ci_prob)
    trust = judge(found)
    if title is None:
        name = f"{shortened(Path(source).stem, 60)}: " if source else ""
        title = f"{name}{plural(found.n, 'category', 'categories')}, " + plural(
            found.posterior.counts.n_outcomes, "outcome"
        )
    lead = [*answer.lead(found), Badge(trust.headline, trust.kind)]
    page = Page(title, lead)
    page.section("The answer")
    answer.write_table(page, found)
    obstacle = pictures.why_not()
    if obstacle:
        page.text(f"There are no pictures: {obstacle}")
    else:
        pictures.write_answer_pictures(page, found)
    page.section("What the data was")
    data_and_model.write_data(page, found)
    page.section("How it was modelled")
    data_and_model.write_model(page, found)
    page.section("Whether the draws can be trusted")
    write_trust(page, found, trust)
    if not obstacle:
        pictures.write_chain_pictures(page, found)
    check = predictive.replicate(found)
    predictive.write_check(page, found, check)
    if not obstacle:
        pictures.write_check_picture(page, found, check)
    page.section("Where it came from, and how to get it again")
    reproduce.write_provenance(page, found, source)
    return page, trust

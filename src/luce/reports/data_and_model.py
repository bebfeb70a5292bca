"""What the data was, and how it was modelled."""

from __future__ import annotations

import numpy as np

from luce.counts.comparability import unconditional
from luce.page.document import Cell, Code, Folded, Inline, Number, Page, Strong
from luce.page.words import shortened
from luce.reports.findings import Findings
from luce.reports.wording import NOTHING, names_of, percent

_MOST_SETS = 10
_MOST_GROUPS = 10
_MOST_CORES = 20
_NAMED = 6  # members of a set or group that are named


def write_data(page: Page, found: Findings) -> None:
    """Add the size of the data, its heaviest sets, and what it can compare."""
    counts = found.posterior.counts
    free = unconditional(counts)
    facts: dict[str, Cell] = {
        "Categories": f"{found.n:,}",
        "Outcomes": f"{counts.n_outcomes:,.10g}",
        "of these under no condition": f"{free:,.10g}",
        "Sets": f"{len(counts):,}",
        "Comparable": _comparable(found),
        "Known only from the prior": _unknown(found),
        "Structure": repr(found.posterior.structure),
    }
    page.facts(facts)
    if len(counts):
        _write_sets(page, found)
    if len(found.comparable) > 1:
        _write_groups(page, found)


def write_model(page: Page, found: Findings) -> None:
    """Add likelihood, prior, and the method of each core."""
    page.text(
        "An outcome that was recorded given that it lay in a set S was category i with "
        "probability p_i / p(S), where p(S) is the sum of the probabilities in S: Luce’s choice "
        "axiom. A grouped outcome, of which only a set G around it is known, has probability "
        "p(G) / p(S). All outcomes together have the likelihood"
    )
    page.preformatted("∏_i p_i^(n_i) · ∏_S p(S)^(e_S)")
    page.text(
        "with n_i the number of times that category i was seen, and e_S minus the number of "
        "outcomes recorded given S, plus the number of outcomes known to lie in S."
    )
    page.text(Strong("Prior. "), _prior(found))
    page.text(Strong("Method. "), *_method(found))
    if _cores(found):
        _write_cores(page, found)


def _comparable(found: Findings) -> str:
    groups = len(found.comparable)
    if groups == 1:
        return "all with each other: the data links them, directly or through others"
    return (
        f"within {groups:,} groups only; between them the prior alone speaks, and comparing them "
        "is comparing priors"
    )


def _unknown(found: Findings) -> Cell:
    unknown = [name for name, yes in zip(found.names, found.prior_only, strict=True) if yes]
    if not unknown:
        return "none"
    return Folded(f"{len(unknown):,}: {_some(unknown)}", 160)


def _write_sets(page: Page, found: Findings) -> None:
    counts = found.posterior.counts
    family, names = counts.sets, names_of(counts.categories)
    heaviest = np.argsort(-np.abs(family.exponent), kind="stable")[:_MOST_SETS]
    rows: list[list[Cell]] = []
    for t in heaviest.tolist():
        chain = int(family.nest_of_set[t])
        members = family.members[family.nest_start[chain] : family.set_end[t]]
        few = [names[i] for i in members[: _NAMED + 1].tolist()]
        inside = f"{{{_some(few, len(members))}}}"
        power = float(family.exponent[t])
        rows.append(
            [
                Folded(f"all but {inside}" if family.complement[chain] else inside, 160),
                "given" if power < 0 else "grouped",
                Number(f"{family.sizes[t]:,}", float(family.sizes[t])),
                Number(f"{abs(power):,.10g}", abs(power)),
            ]
        )
    left = len(counts) - len(rows)
    more = f"; {left:,} more are not shown" if left else ""
    page.table(
        ["Set", "Outcomes were", "Categories", "Outcomes"],
        rows,
        caption=f"The sets with the most outcomes{more}",
        numeric=(2, 3),
    )


def _write_groups(page: Page, found: Findings) -> None:
    largest = sorted(found.comparable, key=len, reverse=True)[:_MOST_GROUPS]
    rows: list[list[Cell]] = [
        [f"{k}", f"{len(group):,}", Folded(_some(names_of(group[: _NAMED + 1]), len(group)), 160)]
        for k, group in enumerate(largest, 1)
    ]
    left = len(found.comparable) - len(rows)
    more = f"; {left:,} smaller ones are not shown" if left else ""
    page.table(
        ["Group", "Categories", "Members"],
        rows,
        caption=f"Groups of categories that the data compares{more}",
        numeric=(0, 1),
    )


def _prior(found: Findings) -> str:
    posterior = found.posterior
    if posterior.prior.hyperprior is not None:
        drawn = found.run["posterior"]["concentration"].to_numpy()
        tail = (1 - found.ci_prob) / 2
        low, high = np.quantile(drawn, [tail, 1 - tail])
        gamma = posterior.prior.hyperprior
        return (
            "A Dirichlet distribution with one concentration for all categories, which is not "
            f"known and was drawn too. Its own prior is a gamma distribution of shape "
            f"{gamma.shape:g} and rate {gamma.rate:g}, its posterior mean {drawn.mean():.3g}, with "
            f"{percent(found.ci_prob)} between {low:.3g} and {high:.3g}."
        )
    a = posterior.concentration
    if (a == a[0]).all():
        words = f"A Dirichlet distribution with concentration {a[0]:g} for every category"
        if a[0] == 1:
            return f"{words}: every vector of probabilities is equally likely beforehand."
        return f"{words}: as much as {a[0]:g} outcomes of each would weigh, under no condition."
    return (
        f"A Dirichlet distribution with concentrations from {a.min():g} to {a.max():g}, "
        f"{a.sum():g} together; the run holds them all, in constant_data."
    )


def _method(found: Findings) -> list[Inline]:
    method = Code(str(found.run.attrs.get("method", "not recorded")))
    if _cores(found):
        return [method, ". Only the cores were simulated, the parts where sets overlap without "
                "nesting; all around them was drawn exactly."]  # fmt: skip
    reason = shortened(str(found.run.attrs.get("reason", NOTHING)), 600)
    return [method, f": {reason}."]


def _cores(found: Findings) -> list[tuple[str, str]]:
    """Method and reason of each core; empty where cores are not what was simulated."""
    if found.run.attrs.get("reduced") != 1:
        return []
    methods, reasons = (
        [str(x) for x in np.atleast_1d(found.run.attrs.get(name, []))]
        for name in ("core_methods", "core_reasons")
    )
    n = len(found.posterior.structure.cores)
    return list(zip(methods, reasons, strict=True)) if n == len(methods) == len(reasons) else []


def _write_cores(page: Page, found: Findings) -> None:
    """Add how each core was drawn."""
    cores = found.posterior.structure.cores
    drawn = list(zip(cores, _cores(found), strict=True))
    rows: list[list[Cell]] = [
        [f"{q}", f"{core.n_atoms:,}", f"{core.n_sets:,}", Code(method), reason]
        for q, (core, (method, reason)) in enumerate(drawn[:_MOST_CORES], 1)
    ]
    left = len(cores) - len(rows)
    page.table(
        ["Core", "Atoms", "Sets", "Method", "Why"],
        rows,
        caption=f"How the cores were drawn{f'; {left:,} more are not shown' if left else ''}",
        numeric=(0, 1, 2),
    )


def _some(names: list[str], total: int | None = None) -> str:
    """Name the first few."""
    total = len(names) if total is None else total
    more = f" and {total - _NAMED:,} more" if total > _NAMED else ""
    return ", ".join(names[:_NAMED]) + more

"""Data and model of a report on choices: sets, comparability, likelihood, prior and method."""

from __future__ import annotations

import numpy as np

from luce.counts.comparability import prior_only, unconditional
from luce.counts.confounding import untold_parameters
from luce.counts.labels import plural
from luce.page.document import Cell, Code, Folded, Inline, Number, Page, Strong
from luce.page.words import percent, shortened
from luce.reports.contests import (
    contest_facts,
    contests_of,
    parameter_priors,
    write_likelihood,
    write_pairings,
)
from luce.reports.findings import ChoiceFindings
from luce.reports.formatting import NOTHING, listed, names_of, some_names
from luce.reports.placings import placings_of, write_likelihood_of_placings

_MOST_SETS = 10  # rows of the table of sets
_MOST_GROUPS = 10  # rows of the table of comparable groups
_MOST_CORES = 20  # rows of the table of cores
_NAMED = 6  # members of a set or group that are named
_FOLDED = 160  # characters of a list of names from which on it folds


def write_data(page: Page, found: ChoiceFindings) -> None:
    """Add the size of the data, its heaviest sets, and what it can compare."""
    counts = found.posterior.counts
    contests = contests_of(found)
    facts: dict[str, Cell] = {"Categories": _categories(found)}
    if contests is not None:
        facts |= contest_facts(contests)
    placings = placings_of(found)
    if placings is not None:
        facts |= {"Steps of rankings": plural(placings.n_outcomes, placings.unit)}
    if _has_outcomes(found):
        facts |= {
            "Outcomes": f"{counts.n_outcomes:,.10g}",
            "of these under no condition": f"{unconditional(counts):,.10g}",
            "Sets": f"{len(counts):,}",
        }
    facts |= {
        "Comparable": _comparable(found),
        "Known only from the prior": _unknown(found),
        **_parameters_left_to_priors(found),
        "Structure": repr(found.posterior.structure),
    }
    page.facts(facts)
    if contests is not None:
        write_pairings(page, found, contests)
    if len(counts):
        _write_sets(page, found)
    if len(found.comparable) > 1:
        _write_groups(page, found)


def write_model(page: Page, found: ChoiceFindings) -> None:
    """Add likelihood, prior and method; technical words of the method only in a part that folds."""
    contests = contests_of(found)
    if contests is not None:
        write_likelihood(page, contests)
    placings = placings_of(found)
    if placings is not None:
        write_likelihood_of_placings(page, placings)
    if _has_outcomes(found):
        _write_likelihood_of_sets(page)
    page.text(Strong("Prior. "), " ".join(filter(None, [_prior(found), parameter_priors(found)])))
    page.text(Strong("Method. "), *_method(found))
    with page.details("Technical details of the structure"):
        page.text(f"{found.posterior.structure.details}.")
        if _cores(found):
            _write_cores(page, found)


def _has_outcomes(found: ChoiceFindings) -> bool:
    """Is there data beside events, or none at all?"""
    counts = found.posterior.counts
    return counts.events is None or counts.n_outcomes > counts.events.n_outcomes


def _write_likelihood_of_sets(page: Page) -> None:
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


def _categories(found: ChoiceFindings) -> str:
    counts = found.posterior.counts
    if not counts.effects:
        return f"{counts.n_categories:,}"
    names = names_of(list(counts.effects))
    told = [f"{name} ({kind})" for name, kind in zip(names, counts.effects.values(), strict=True)]
    return f"{counts.n_categories:,}, {len(told):,} of them no competitors: {listed(told)}"


def _comparable(found: ChoiceFindings) -> str:
    groups = len(found.comparable)
    if groups == 1:
        return "all with each other: the data links them, directly or through others"
    return (
        f"within {groups:,} groups only; between them the prior alone speaks, and comparing them "
        "is comparing priors"
    )


def _unknown(found: ChoiceFindings) -> Cell:
    unknown = names_of(prior_only(found.posterior.counts))
    if not unknown:
        return "none"
    return Folded(f"{len(unknown):,}: {some_names(unknown, _NAMED)}", _FOLDED)


def _parameters_left_to_priors(found: ChoiceFindings) -> dict[str, Cell]:
    """Say of parameters that the data does not tell why that is so."""
    untold = untold_parameters(found.posterior.counts)
    drawn = found.posterior.model.drawn_parameters
    return {f"Left to the prior of {name}": untold[name] for name in drawn if name in untold}


def _write_sets(page: Page, found: ChoiceFindings) -> None:
    counts = found.posterior.counts
    family, names = counts.sets, names_of(counts.categories)
    heaviest = np.argsort(-np.abs(family.exponent), kind="stable")[:_MOST_SETS]
    rows: list[list[Cell]] = []
    for t in heaviest.tolist():
        nest = int(family.nest_of_set[t])
        members = family.members[family.nest_start[nest] : family.set_end[t]]
        few = [names[i] for i in members[:_NAMED].tolist()]
        if family.weighted[t]:
            few = [
                f"{a:.4g} {name}" for a, name in zip(family.listed_weights(t), few, strict=False)
            ]
        inside = f"{{{some_names(few, _NAMED, len(members))}}}"
        power = float(family.exponent[t])
        rows.append(
            [
                Folded(f"all but {inside}" if family.complement[nest] else inside, _FOLDED),
                "given" if power < 0 else "grouped",
                Number(f"{family.sizes[t]:,}", float(family.sizes[t])),
                Number(f"{abs(power):,.10g}", abs(power)),
            ]
        )
    left = len(counts) - len(rows)
    more = f"; {plural(left, 'more is', 'more are')} not shown" if left else ""
    page.table(
        ["Set", "Outcomes were", "Categories", "Outcomes"],
        rows,
        caption=f"The sets with the most outcomes{more}",
        numeric=(2, 3),
    )


def _write_groups(page: Page, found: ChoiceFindings) -> None:
    largest = sorted(found.comparable, key=len, reverse=True)[:_MOST_GROUPS]
    rows: list[list[Cell]] = []
    for k, group in enumerate(largest, 1):
        members = some_names(names_of(group[: _NAMED + 1]), _NAMED, len(group))
        rows.append([f"{k}", f"{len(group):,}", Folded(members, _FOLDED)])
    left = len(found.comparable) - len(rows)
    smaller = plural(left, "smaller one is", "smaller ones are")
    more = f"; {smaller} not shown" if left else ""
    page.table(
        ["Group", "Categories", "Members"],
        rows,
        caption=f"Groups of categories that the data compares{more}",
        numeric=(0, 1),
    )


def _prior(found: ChoiceFindings) -> str:
    gamma = found.posterior.prior.hyperprior
    if gamma is not None:
        x = found.parameters
        assert x is not None
        i = x.categories.index("concentration")
        low, high = found.ends_of(x)
        return (
            "A Dirichlet distribution with one concentration for all categories, which is not "
            f"known and was drawn too. Its own prior is a gamma distribution of shape "
            f"{gamma.shape:g} and rate {gamma.rate:g}, its posterior mean {x['mean'][i]:.3g}, with "
            f"{percent(found.ci_prob)} between {low[i]:.3g} and {high[i]:.3g}."
        )
    a = found.posterior.concentration
    if (a == a[0]).all():
        words = f"A Dirichlet distribution with concentration {a[0]:g} for every category"
        if a[0] == 1:
            return f"{words}: every vector of probabilities is equally likely beforehand."
        return f"{words}: as much as {a[0]:g} outcomes of each would weigh, under no condition."
    return (
        f"A Dirichlet distribution with concentrations from {a.min():g} to {a.max():g}, "
        f"{a.sum():g} together; the run holds them all, in constant_data."
    )


def _method(found: ChoiceFindings) -> list[Inline]:
    method = Code(str(found.run.attrs.get("method", "not recorded")))
    if _cores(found):
        words = (
            ". Only the parts of the data where sets overlap without nesting were simulated; "
            "everything around them was drawn exactly."
        )
        return [method, words]
    reason = shortened(str(found.run.attrs.get("reason", NOTHING)), 600)
    return [method, f": {reason}."]


def _cores(found: ChoiceFindings) -> list[tuple[str, str]]:
    """Return method and reason of each core; none where other parts than cores were simulated."""
    if found.run.attrs.get("reduced") != 1:
        return []
    methods, reasons = (
        [str(x) for x in np.atleast_1d(found.run.attrs.get(name, []))]
        for name in ("core_methods", "core_reasons")
    )
    n = len(found.posterior.structure.cores)
    return list(zip(methods, reasons, strict=True)) if n == len(methods) == len(reasons) else []


def _write_cores(page: Page, found: ChoiceFindings) -> None:
    cores = found.posterior.structure.cores
    drawn = list(zip(cores, _cores(found), strict=True))
    rows: list[list[Cell]] = [
        [f"{q}", f"{core.n_atoms:,}", f"{core.n_sets:,}", Code(method), reason]
        for q, (core, (method, reason)) in enumerate(drawn[:_MOST_CORES], 1)
    ]
    left = len(cores) - len(rows)
    more = f"; {plural(left, 'more is', 'more are')} not shown" if left else ""
    page.table(
        ["Core", "Atoms", "Sets", "Method", "Why"],
        rows,
        caption=f"How the cores were drawn{more}",
        numeric=(0, 1, 2),
    )

"""The reference set of posteriors, tests/reference/posteriors.json, as luce's own objects."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from lib.sampling_oracles import Moments, z_scores

from luce import ConditionalCounts, DirichletProcess, Gamma, Posterior

PLACE = Path(__file__).parents[1] / "reference" / "posteriors.json"


@cache
def reference_set() -> dict[str, Any]:
    """Read all problems, by name."""
    found: dict[str, Any] = json.loads(PLACE.read_text())["posteriors"]
    return found


def posterior_of(one: dict[str, Any]) -> Posterior:
    """Enter the terms of a problem one by one."""
    n, prior = one["categories"], one["prior"]
    labels: list[Any] = list(range(n))
    if "process" in prior:
        labels[-1] = "remainder"
    counts = ConditionalCounts(labels)
    for outcome, count, within in one["terms"]:
        members, inside = [labels[i] for i in outcome], [labels[i] for i in within]
        if len(members) == 1:
            counts = counts.observe({members[0]: count}, within=inside)
        else:
            counts = counts.observe_group(members, count, within=inside)
    if "gamma" in prior:
        return Posterior(counts, Gamma(*prior["gamma"]))
    if "process" in prior:
        return Posterior(counts, DirichletProcess(prior["process"]))
    return Posterior(counts, prior["dirichlet"])


def with_one_count_fewer(one: dict[str, Any]) -> dict[str, Any]:
    """Return the problem with one outcome fewer in its lightest term: a control."""
    terms = [list(term) for term in one["terms"]]
    lightest = min((term for term in terms if term[1] >= 1), key=lambda term: term[1])
    lightest[1] -= 1
    return {**one, "terms": terms}


def row_of(name: str, one: dict[str, Any]) -> str:
    """Describe a problem as a row of the table in docs/reference-posteriors.md."""
    prior, evidence = one["prior"], one["log_evidence"]
    a = prior.get("dirichlet", [])
    told = f"{min(a):g}" if a and min(a) == max(a) else a and f"{min(a):g} to {max(a):g}"
    told = told or (f"Gamma({', '.join(f'{x:g}' for x in prior['gamma'])})" if "gamma" in prior
                    else f"process, {prior['process']:g}")  # fmt: skip
    known = "–"
    if evidence:
        error = evidence["error"]
        known = f"{evidence['value']:.3f}" + (f" ± {error:.1g}" if error else "")
    return (
        f"| `{name}` | {one['about']} | {one['categories']} | {told} | {one['moments_by']} | "
        f"{known} |"
    )


def reference_of(one: dict[str, Any]) -> Moments:
    """Return means, variances, and levels of the stored quantiles, with their errors."""
    mean, sd = (np.array([one[k]["value"], one[k]["error"]]) for k in ("mean", "sd"))
    value, error = [mean[0], sd[0] ** 2], [mean[1], 2 * sd[0] * sd[1]]
    if one["quantiles"]:
        value += [np.full(len(mean[0]), level) for level in one["quantiles"]["levels"]]
        error += [np.array(row) for row in one["quantiles"]["level_error"]]
    freedom = one["degrees_of_freedom"] or np.inf
    return Moments(np.array(value), np.array(error), freedom)


def drawn_by(run: Any, one: dict[str, Any]) -> np.ndarray:
    """Return the draws of a run, shape (chain, draw, quantity)."""
    drawn: np.ndarray = run.posterior["probabilities"].values
    if "gamma" in one["prior"]:
        drawn = np.concatenate([drawn, run.posterior["concentration"].values[..., None]], axis=2)
    return drawn


def found_in(drawn: np.ndarray, one: dict[str, Any]) -> Moments:
    """Return the same as `reference_of` of draws, with errors from the spread of their chains."""
    each = [drawn.mean(1), ((drawn - one["mean"]["value"]) ** 2).mean(1)]
    if one["quantiles"]:
        each += [(drawn <= np.array(q)).mean(1) for q in one["quantiles"]["value"]]
    values, chains = np.stack(each, axis=1), len(drawn)
    return Moments(values.mean(0), values.std(0, ddof=1) / np.sqrt(chains), chains - 1.0)


def assert_agrees(drawn: np.ndarray, one: dict[str, Any], limit: float) -> None:
    """No mean, variance or level of a quantile is further off than `limit` errors."""
    found, reference = found_in(drawn, one), reference_of(one)
    z = z_scores(found, reference)
    row, i = np.unravel_index(np.argmax(z), z.shape)
    levels = one["quantiles"]["levels"] if one["quantiles"] else []
    what = ("mean", "variance", *(f"level {q:g}" for q in levels))[row]
    assert z[row, i] < limit, (
        f"{what} of category {i}: {found.value[row, i]:.6g} against "
        f"{reference.value[row, i]:.6g}, {z[row, i]:.1f} errors; {limit:.1f} allowed"
    )

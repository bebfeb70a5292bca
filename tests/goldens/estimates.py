"""Numbers that are not draws: structures, digests, closed forms, modes, evidence."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from goldens import data
from goldens.case import Array, Arrays, Case, Kind, Place
from goldens.names import ConditionalCounts, Posterior, maximum_likelihood

N_FAMILIES = 15


def digest(counts: ConditionalCounts) -> Array:
    """The digest of counts, as small numbers."""
    return np.frombuffer(bytes.fromhex(counts.digest), np.uint8)


def counted(counts: Any) -> Arrays:
    """What identifies counts, or a mapping of them by label."""
    if isinstance(counts, ConditionalCounts):
        return {"digest": digest(counts), "outcomes": np.array(counts.n_outcomes)}
    return {f"{x} of {key}": a for key, c in counts.items() for x, a in counted(c).items()}


def digests(counts: Callable[[], ConditionalCounts], _place: Place) -> Arrays:
    """What identifies data, and data with more of it."""
    one = counts()
    first, last = one.categories[0], one.categories[-1]
    more = one.observe({first: 0.25, last: 3}, within=[last, first])
    return {**counted(one), "sum": digest(one + more)}


def structure(counts: Callable[[], ConditionalCounts], _place: Place) -> Arrays:
    """How categories fall into atoms and cores: a row for the whole, and one for each core."""
    given = counts()
    found = Posterior(given).structure
    rows = [(found.n_atoms, len(given)), *((core.n_atoms, core.n_sets) for core in found.cores)]
    assert found.is_exact == (len(rows) == 1)
    return {"atoms and sets": np.array(rows)}


def closed_forms(_place: Place) -> Arrays:
    """Moments and evidence where sets nest."""
    posterior = Posterior(data.nested(), [1.3, 0.6, 2.0, 0.9, 1.7, 0.4])
    return {
        "mean": np.asarray(posterior.mean()),
        "variance": np.asarray(posterior.variance()),
        "evidence": np.array(float(posterior.log_evidence())),
    }


def density(counts: Callable[[], ConditionalCounts], _place: Place) -> Arrays:
    """The density at three places."""
    given = counts()
    n = len(given.categories)
    p = np.stack([np.arange(1.0, n + 1), np.arange(n, 0.0, -1), np.full(n, 2.0)])
    p /= p.sum(axis=1, keepdims=True)
    return {"log": np.asarray(Posterior(given, 1.5).log_density(p))}


def fit(counts: Callable[[], ConditionalCounts], _place: Place) -> Arrays:
    """Modes on both scales, and the uncertainty of the fit there."""
    given = counts()
    first, last = given.categories[0], given.categories[-1]
    posterior = Posterior(given, 1.4)
    return {
        "mode": np.asarray(posterior.mode()),
        "mode of log-odds": np.asarray(posterior.mode("log-odds")),
        "errors": np.asarray(posterior.standard_errors()),
        "errors of log-odds": np.asarray(posterior.standard_errors("log-odds", first)),
        "covariance": np.asarray(posterior.covariance()),
        "covariance of some": np.asarray(posterior.covariance("log-odds", among=[last, first])),
    }


def likelihood(counts: Callable[[], ConditionalCounts], _place: Place) -> Arrays:
    """The maximum-likelihood estimate and its uncertainty."""
    given = counts()
    found = maximum_likelihood(given)
    return {
        "probabilities": np.asarray(found.probabilities),
        "log likelihood": np.array(found.log_likelihood),
        "errors": np.asarray(found.standard_errors()),
        "covariance of log-odds": np.asarray(found.covariance("log-odds", given.categories[1])),
    }


def evidence(counts: Callable[[], ConditionalCounts], method: str, _place: Place) -> Arrays:
    """The evidence from a few hundred draws."""
    found = Posterior(counts(), 1.4).log_evidence(
        300, chains=2, seed=7, method=method, progress=False
    )
    return {"evidence": np.array([float(found), found.standard_error])}


def _cases() -> dict[str, Case]:
    found = {}
    for name, counts in data.DATA.items():
        found[f"digests, {name}"] = Case(Kind.EXACT, partial(digests, counts))
        found[f"structure, {name}"] = Case(Kind.EXACT, partial(structure, counts))
        found[f"density, {name}"] = Case(Kind.ESTIMATE, partial(density, counts))
        found[f"fit, {name}"] = Case(Kind.ESTIMATE, partial(fit, counts))
    for seed in range(N_FAMILIES):
        family = partial(data.random_family, seed)
        found[f"digests, family {seed}"] = Case(Kind.EXACT, partial(digests, family))
        found[f"structure, family {seed}"] = Case(Kind.EXACT, partial(structure, family))
    for name, counts in data.DATA.items():
        found[f"likelihood, {name}"] = Case(Kind.ESTIMATE, partial(likelihood, counts))
    for name in ("league", "all but one", "two cores", "grouped"):
        for method in ("bridge", "chib", "auto"):
            compute = partial(evidence, data.DATA[name], method)
            found[f"evidence, {name}, {method}"] = Case(Kind.EVIDENCE, compute)
    found["closed forms"] = Case(Kind.ESTIMATE, closed_forms)
    return found


CASES = _cases()

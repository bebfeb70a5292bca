"""Posteriors whose evidence is known: by quadrature, or by integrals over one λ."""

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, cached_property

from lib.bounds import SEED
from lib.evidence_oracles import log_evidence_of_all, star_log_evidence
from lib.oracles import Family, simplex_quadrature

from luce import ConditionalCounts, Posterior
from luce.errors import EvidenceWarning
from luce.estimates import Estimate


def quietly(posterior: Posterior, seed: int, draws: int = 1000, **options: str) -> Estimate:
    """Estimate an evidence without its warnings."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", EvidenceWarning)
        return posterior.log_evidence(draws, seed=1000 * SEED + seed, progress=False, **options)  # type: ignore[arg-type]


@dataclass(frozen=True)
class Case:
    """A posterior, and its log evidence by other means."""

    posterior: Posterior
    truth: Callable[[Posterior], float]

    @cached_property
    def log_evidence(self) -> float:
        return self.truth(self.posterior)


def spelled_out(counts: ConditionalCounts) -> Family:
    family = {frozenset([i]): float(k) for i, k in enumerate(counts.category_counts)}
    sets = counts.sets
    return family | {
        frozenset(sets.set_members(t).tolist()): float(e) for t, e in enumerate(sets.exponent)
    }


def by_quadrature(posterior: Posterior) -> float:
    return simplex_quadrature(
        spelled_out(posterior.counts), posterior.concentration.tolist()
    ).log_evidence


def observed(n: int, *seen: tuple[dict[int, float], list[int]]) -> ConditionalCounts:
    counts = ConditionalCounts(n)
    for outcomes, within in seen:
        counts = counts.observe(outcomes, within=within)
    return counts


def two_stars() -> Case:
    """Two cores, a pair besides, and outcomes that could be anything."""
    a, seen = [0.7, 1.2, 0.5, 2.0, 1.5, 0.9, 0.6, 1.1], [1.0, 0, 2, 0, 0, 1, 0, 3]
    counts = observed(
        8,
        ({1: 2, 0: 3}, [0, 1]),
        ({2: 1, 0: 2}, [0, 2]),
        ({4: 3, 3: 1}, [3, 4]),
        ({5: 1, 3: 4}, [3, 5]),
        ({6: 2, 7: 5}, [6, 7]),
        (dict(enumerate(seen)), list(range(8))),
    )
    c = [x + k for x, k in zip(a, seen, strict=True)]

    def truth(_: Posterior) -> float:
        pair = log_evidence_of_all([c[6], c[7]], [2, 5])
        one = star_log_evidence(c[0], c[1:3], [(2, 3), (1, 2)])
        other = star_log_evidence(c[3], c[4:6], [(3, 1), (1, 4)])
        return log_evidence_of_all(a, seen) + pair + one + other

    return Case(Posterior(counts, a), truth)


def star() -> Case:
    a, wins = [0.8, 1.5, 0.4, 2.2, 1.0, 0.6], [(2, 1), (1, 3), (0, 2), (4, 2), (1, 1)]
    pairs = [({k + 1: i, 0: j}, [0, k + 1]) for k, (i, j) in enumerate(wins)]
    counts = observed(6, *pairs)
    return Case(Posterior(counts, a), lambda _: star_log_evidence(a[0], a[1:], wins))


def wide() -> Case:
    """A concentration so small that logarithms are kept."""
    counts = observed(3, ({1: 2, 0: 3}, [0, 1]), ({2: 1, 0: 2}, [0, 2]))
    a = [0.02, 0.03, 0.015]
    return Case(Posterior(counts, a), lambda _: star_log_evidence(a[0], a[1:], [(2, 3), (1, 2)]))


PAIRS = observed(3, ({0: 30, 1: 12}, [0, 1]), ({1: 9, 2: 14}, [1, 2]), ({0: 3, 2: 2}, [0, 2]))
FEW = observed(3, ({0: 2, 1: 1}, [0, 1]), ({1: 1, 2: 3}, [1, 2]))
# Two peaks of the same height: 1 and 2 together have much, and lose to 0 when alone.
PEAKS = observed(3, ({0: 12}, [0, 1, 2]), ({0: 6}, [0, 1]), ({0: 6}, [0, 2]))
TEAMS = observed(3, ({0: 3, 1: 7}, [0, 1]), ({2: 4, 0: 2}, [0, 1, 2])).observe_group([1, 2], 5)
FOUR = observed(4, ({0: 4, 1: 2}, [0, 1]), ({1: 3, 2: 1, 3: 1}, [1, 2, 3]), ({3: 2, 0: 1}, [0, 3]))


CASES: dict[str, Callable[[], Case]] = {
    "pairs": lambda: Case(Posterior(PAIRS, [1.0, 0.6, 2.0]), by_quadrature),
    "few, concentration 0.3": lambda: Case(Posterior(FEW, 0.3), by_quadrature),
    "teams": lambda: Case(Posterior(TEAMS, [0.7, 1.3, 0.5]), by_quadrature),
    "two peaks": lambda: Case(
        Posterior(PEAKS.observe_group([1, 2], 37), [1.2, 1.4, 1.4]), by_quadrature
    ),
    "four": lambda: Case(Posterior(FOUR, [1.5, 2.0, 1.2, 1.7]), by_quadrature),
    "four and teams": lambda: Case(
        Posterior(FOUR.observe_group([0, 2], 3), [1.5, 2.0, 1.2, 1.7]), by_quadrature
    ),
    "star": star,
    "two stars": two_stars,
    "wide": wide,
}


@cache
def case(name: str) -> Case:
    return CASES[name]()

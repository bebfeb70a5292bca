"""Independent truths about hidden semi-Markov models: enumeration and plain logarithms.

Nothing here imports luce.  Laws of durations and observations are those of scipy.stats; all
segmentations of short series are listed; parameters are integrated out by predictive densities of
one row after the other and by trapezoidal rules.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import cache
from itertools import pairwise, product
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from scipy import special, stats

Floats = npt.NDArray[np.float64]
Bools = npt.NDArray[np.bool_]
Ints = npt.NDArray[np.int64]
Path = tuple[int, ...]
Parameters = Mapping[str, Any]


# -- laws given their parameters -------------------------------------------------------------------


def duration_tables(parameters: Parameters, most: int) -> tuple[Floats, Floats]:
    """log P(D = d) and log P(D > d), shape (states, most), by the names of the parameters."""
    k = np.arange(most)[None, :]  # D - 1
    with np.errstate(divide="ignore"):
        if "rate" in parameters:
            law = stats.poisson(np.asarray(parameters["rate"])[:, None])
        elif "stop" in parameters:
            r, stop = (np.asarray(parameters[name])[:, None] for name in ("r", "stop"))
            law = stats.nbinom(r, stop)
        else:
            given = np.asarray(parameters["probabilities"])
            padded = np.zeros((len(given), most))
            width = min(most, given.shape[1])
            padded[:, :width] = given[:, :width]
            beyond = given.sum(axis=1, keepdims=True) - np.cumsum(padded, axis=1)
            held = np.cumsum(given[:, ::-1], axis=1)[:, ::-1]
            beyond[:, : width - 1] = held[:, 1:width]
            if given.shape[1] <= most:
                beyond[:, width - 1 :] = 0.0
            return np.log(padded), np.log(beyond)
        return np.asarray(law.logpmf(k)), np.asarray(law.logsf(k))


def log_densities(kind: str, values: Floats, borders: Path, parameters: Parameters) -> Floats:
    """Log density of every row under every state; 0 for rows that have none."""
    of = {name: np.asarray(value) for name, value in parameters.items()}
    n_states = len(next(iter(of.values())))
    out = np.zeros((len(values), n_states))
    lags = 0
    if kind == "autoregressive":
        lags = (of["coefficients"].shape[2] - 1) // of["coefficients"].shape[1]
    for first, end in pairwise(borders):
        for t in range(first + lags, end):
            seen = np.flatnonzero(~np.isnan(values[t]))
            if not len(seen):
                continue
            for j in range(n_states):
                out[t, j] = _log_density(kind, values, t, seen, of, j, lags)
    return out


def _log_density(
    kind: str, values: Floats, t: int, seen: Ints, of: dict[str, Any], j: int, lags: int
) -> float:
    y = values[t, seen]
    if kind == "gaussian":
        cov = of["covariance"][j][np.ix_(seen, seen)]
        return float(stats.multivariate_normal(of["mean"][j][seen], cov).logpdf(y))
    if kind == "diagonal-gaussian":
        sd = np.sqrt(of["variance"][j][seen])
        return float(stats.norm(of["mean"][j][seen], sd).logpdf(y).sum())
    if kind == "counts":
        return float(stats.poisson(of["rate"][j][seen]).logpmf(y).sum())
    if kind == "categories":
        return float(np.log(of["probabilities"][j][int(y[0])]))
    if kind == "autoregressive":
        x = np.r_[values[t - lags : t][::-1].ravel(), 1.0]
        mean = of["coefficients"][j] @ x
        return float(stats.multivariate_normal(mean, of["covariance"][j]).logpdf(y))
    if kind == "custom":  # exponential waiting times
        return float(stats.expon(scale=1.0 / of["rate"][j]).logpdf(y).sum())
    raise ValueError(kind)


# -- segmentations given parameters ----------------------------------------------------------------


class Known(NamedTuple):
    """All that the segmentation of one sequence depends on.

    `longest` 0 is no limit; `may_begin` holds the rows, from 1 on, at which a segment may begin.
    """

    log_density: Floats
    initial: Floats
    rows: Floats
    log_p: Floats
    log_survival: Floats
    longest: int = 0
    complete: bool = False
    may_begin: frozenset[int] | None = None


def segments_of(labels: Path) -> list[tuple[int, int, int]]:
    """First row, row after the last, and state of each segment of one sequence."""
    borders = [0, *(t for t in range(1, len(labels)) if labels[t] != labels[t - 1]), len(labels)]
    return [(a, b, labels[a]) for a, b in pairwise(borders)]


def log_joint(known: Known, labels: Path) -> float:
    """log p(labels, y | parameters) of one sequence; -inf where it is impossible."""
    total, before, end = 0.0, -1, len(labels)
    for a, b, j in segments_of(labels):
        if known.longest and b - a > known.longest:
            return -np.inf
        if a and known.may_begin is not None and a not in known.may_begin:
            return -np.inf
        step = known.initial[j] if before < 0 else known.rows[before, j]
        if step == 0.0:
            return -np.inf
        log_length = known.log_p[j, b - a - 1]
        if b == end and not known.complete:
            log_length = np.logaddexp(log_length, known.log_survival[j, b - a - 1])
        total += np.log(step) + log_length + known.log_density[a:b, j].sum()
        before = j
    return float(total)


def all_paths(known: Known) -> dict[Path, float]:
    """All labels of one sequence that are possible, with their log joint density."""
    length, n_states = known.log_density.shape
    joint = {z: log_joint(known, z) for z in product(range(n_states), repeat=length)}
    return {z: value for z, value in joint.items() if value > -np.inf}


def log_likelihood(known: Known) -> float:
    """log p(y, no longer segment | parameters) of one sequence, by enumeration."""
    return float(special.logsumexp(list(all_paths(known).values())))


def path_probabilities(known: Known) -> dict[Path, float]:
    """Exact posterior of the labels of one sequence."""
    joint = all_paths(known)
    total = special.logsumexp(list(joint.values()))
    return {z: float(np.exp(value - total)) for z, value in joint.items()}


def last_length_law(parameters: Parameters, state: int, seen: int, most: int) -> Floats:
    """P(D = d | D >= seen) for d = 1 to most, the last entry holding all that is longer."""
    log_p, log_survival = duration_tables(parameters, most)
    law = np.exp(log_p[state])
    law[-1] += np.exp(log_survival[state, -1])
    law[: seen - 1] = 0.0
    return np.asarray(law / law.sum())


def log_messages(known: Known) -> tuple[Floats, Floats]:
    """log B* (a segment begins at a row) and log B (one ended with a row), by plain logarithms.

    They have the precision of `log_density`, which may be that of long doubles.
    """
    ell = known.log_density
    end, n_states = ell.shape
    begin, after = (np.full((end, n_states), -np.inf, ell.dtype) for _ in range(2))
    longest = known.longest or end
    with np.errstate(divide="ignore"):
        log_rows = np.log(known.rows)
    after[end - 1] = 0.0
    for s in range(end - 1, -1, -1):
        if s and known.may_begin is not None and s not in known.may_begin:
            continue
        n = min(longest, end - s)
        log_length = known.log_p[:, :n].T.copy()
        if s + n == end and not known.complete:
            log_length[-1] = np.logaddexp(log_length[-1], known.log_survival[:, n - 1])
        inside = np.cumsum(ell[s : s + n], axis=0)
        begin[s] = np.logaddexp.reduce(log_length + inside + after[s : s + n], axis=0)
        if s:
            after[s - 1] = np.logaddexp.reduce(log_rows + begin[s], axis=1)
    return begin, after


def log_likelihood_by_messages(known: Known) -> float:
    """log p(y, no longer segment | parameters) of one sequence of any length."""
    with np.errstate(divide="ignore"):
        return float(np.logaddexp.reduce(np.log(known.initial) + log_messages(known)[0][0]))


def markov_log_likelihood(log_density: Floats, initial: Floats, rows: Floats) -> float:
    """Forward pass of a plain hidden Markov model, self-loops included."""
    with np.errstate(divide="ignore"):
        log_rows, now = np.log(rows), np.log(initial) + log_density[0]
        for ell in log_density[1:]:
            now = np.logaddexp.reduce(now[:, None] + log_rows, axis=0) + ell
    return float(np.logaddexp.reduce(now))


# -- parameters integrated out ---------------------------------------------------------------------


class NormalPrior(NamedTuple):
    """Matrix-normal inverse-Wishart: coefficients M, their column precisions K, scale, degrees."""

    coefficients: Floats
    precision: Floats
    scale: Floats
    degrees: float


def log_normal_marginal(prior: NormalPrior, x: Floats, y: Floats) -> float:
    """Σ of log predictive densities, multivariate t, of rows y with regressors x."""
    mean, precision, scale, degrees = prior
    precision = np.diag(precision)
    n, total = len(scale), 0.0
    for regressors, row in zip(x, y, strict=True):
        free = degrees - n + 1.0
        spread = 1.0 + regressors @ np.linalg.solve(precision, regressors)
        law = stats.multivariate_t(mean @ regressors, scale * spread / free, df=free)
        total += float(law.logpdf(row))
        new = precision + np.outer(regressors, regressors)
        rest = row - mean @ regressors
        scale = scale + np.outer(rest, rest) / spread
        mean = (mean @ precision + np.outer(row, regressors)) @ np.linalg.inv(new)
        precision, degrees = new, degrees + 1.0
    return total


def log_counts_marginal(shape: float, rate: float, y: Floats) -> float:
    """Σ of log predictive probabilities, negative binomial, of counts with a gamma prior."""
    total = 0.0
    for count in y:
        total += float(stats.nbinom(shape, rate / (rate + 1.0)).logpmf(count))
        shape, rate = shape + count, rate + 1.0
    return total


def log_categories_marginal(concentration: Floats, y: Floats) -> float:
    """Σ of log predictive probabilities of categories with a Dirichlet prior."""
    held, total = np.array(concentration, float), 0.0
    for code in y.astype(int):
        total += float(np.log(held[code] / held.sum()))
        held[code] += 1.0
    return total


DurationMarginal = Callable[[tuple[int, ...], tuple[int, ...]], float]


def _cached(function: Callable[..., float]) -> DurationMarginal:
    held = cache(function)
    return lambda ended, cut: held(tuple(sorted(ended)), tuple(sorted(cut)))


def grid_marginal(
    log_weight: Floats, parameters: Mapping[str, Floats], most: int
) -> DurationMarginal:
    """log ∫ Π P(D = d) Π P(D >= c) p(ω) dω, for a prior given by weights of points."""
    log_p, log_survival = duration_tables(parameters, most)
    log_weight = log_weight - special.logsumexp(log_weight)

    def marginal(ended: tuple[int, ...], cut: tuple[int, ...]) -> float:
        total = log_weight.copy()
        for d in ended:
            total += log_p[:, d - 1]
        for d in cut:
            total += np.logaddexp(log_p[:, d - 1], log_survival[:, d - 1])
        return float(special.logsumexp(total))

    return _cached(marginal)


def poisson_marginal(mean: float, shape: float, most: int) -> DurationMarginal:
    """λ ~ Gamma(shape, shape / (mean - 1)), by a trapezoidal rule over log λ."""
    u = np.linspace(-45.0, 12.0, 4001) if shape < 1.5 else np.linspace(-25.0, 12.0, 3001)
    rate = shape / (mean - 1.0)
    return grid_marginal(shape * u - rate * np.exp(u), {"rate": np.exp(u)}, most)


def whole_marginal(mean: float, shape: float, stops: list[int], most: int) -> DurationMarginal:
    """r equally probable, (1 - stop) / stop ~ BetaPrime((mean - 1) shape / r, shape + 1)."""
    u = np.linspace(-30.0, 30.0, 2001)
    r = np.repeat(np.array(stops, float), len(u))
    a = (mean - 1.0) * shape / r
    stop = np.tile(special.expit(-u), len(stops))
    weight = stats.beta(a, shape + 1.0).logpdf(1.0 - stop) + np.log(stop * (1.0 - stop))
    return grid_marginal(weight, {"r": r, "stop": stop}, most)


def real_marginal(mean: float, shape: float, most: int) -> DurationMarginal:
    """r ~ Gamma(2, 1/2), (1 - stop) / stop ~ BetaPrime((mean - 1) shape / 4, shape + 1)."""
    u, v = np.meshgrid(np.linspace(-25.0, 25.0, 251), np.linspace(-14.0, 5.0, 191))
    u, v = u.ravel(), v.ravel()
    a, stop, r = (mean - 1.0) * shape / 4.0, special.expit(-u), np.exp(v)
    log_weight = a * special.log_expit(u) + (shape + 1.0) * special.log_expit(-u)
    return grid_marginal(log_weight + 2.0 * v - 0.5 * r, {"r": r, "stop": stop}, most)


def histogram_marginal(concentration: Floats) -> DurationMarginal:
    """Dirichlet probabilities; lengths that were cut are summed over what they may be."""
    given = np.asarray(concentration, float)

    def marginal(ended: tuple[int, ...], cut: tuple[int, ...]) -> float:
        total = 0.0
        for beyond in product(*(range(c, len(given) + 1) for c in cut)):
            held, p = given.copy(), 1.0
            for d in (*ended, *beyond):
                if d > len(given):
                    return -np.inf
                p *= held[d - 1] / held.sum()
                held[d - 1] += 1.0
            total += p
        with np.errstate(divide="ignore"):
            return float(np.log(total))

    return _cached(marginal)


def log_transitions(
    counts: Floats, firsts: Floats, forbidden: Bools, log_base: Floats, alpha: float, start: str
) -> Floats:
    """log p(states of segments | β, α), rows integrated out; `log_base` is (states, points)."""
    n, base = len(counts), np.exp(log_base)
    total = np.zeros(log_base.shape[1])
    for i in range(n):
        allowed = np.flatnonzero(~forbidden[i])
        if counts[i][forbidden[i]].any():
            return np.full(log_base.shape[1], -np.inf)
        if not counts[i].any():
            continue
        whole = alpha * base[allowed].sum(axis=0)
        total += special.gammaln(whole) - special.gammaln(whole + counts[i].sum())
        for j in allowed:
            if counts[i, j]:
                total += special.gammaln(alpha * base[j] + counts[i, j])
                total -= special.gammaln(alpha * base[j])
    if start == "base":
        total += firsts @ log_base
    elif start == "uniform":
        total -= firsts.sum() * np.log(n)
    else:
        own = np.full(n, 1.0 / n)
        total += special.gammaln(own + firsts).sum() - special.gammaln(own).sum()
        total -= special.gammaln(1.0 + firsts.sum())
    return np.asarray(total)


def base_grid(n_states: int, gamma: float) -> tuple[Floats, Floats]:
    """log β on a grid of logits, shape (states, points), and log weights of its prior."""
    u = np.linspace(-36.0, 36.0, {2: 721, 3: 91}[n_states])
    axes = np.meshgrid(*[u] * (n_states - 1), indexing="ij")
    logs = np.stack([*(x.ravel() for x in axes), np.zeros(axes[0].size)])
    logs -= np.logaddexp.reduce(logs, axis=0)
    weight = (gamma / n_states) * logs.sum(axis=0)  # the Jacobian of logits is Π β_j
    return logs, weight - special.logsumexp(weight)


class Collapsed(NamedTuple):
    """All that labels depend on once every parameter but β is integrated out.

    `emission(state's rows)` and `duration(ended, cut)` are log marginals.  `log_base` (states,
    points) and `log_weight` are a grid for β; one point where β is known.  `beyond` holds the rows
    after the end of each sequence that its last segment goes on, where they are known.
    """

    lengths: tuple[int, ...]
    n_states: int
    emission: Callable[[tuple[int, ...]], float]
    duration: DurationMarginal
    forbidden: Bools
    alpha: float
    log_base: Floats
    log_weight: Floats
    start: str = "own"
    complete: bool = False
    longest: int = 0
    may_begin: frozenset[int] | None = None
    beyond: tuple[int, ...] = ()


def collapsed_labels(case: Collapsed) -> dict[Path, float]:
    """Posterior of the labels of all rows, every parameter integrated out."""
    emission = cache(case.emission)
    borders = np.r_[0, np.cumsum(case.lengths)]
    known: dict[bytes, float] = {}
    logs: dict[Path, float] = {}
    for z in product(range(case.n_states), repeat=int(borders[-1])):
        counts, firsts = np.zeros((case.n_states,) * 2), np.zeros(case.n_states)
        ended: list[list[int]] = [[] for _ in range(case.n_states)]
        cut: list[list[int]] = [[] for _ in range(case.n_states)]
        possible = True
        for k, (first, end) in enumerate(pairwise(borders.tolist())):
            before = -1
            for a, b, j in segments_of(z[first:end]):
                possible &= not case.longest or b - a <= case.longest
                possible &= not a or case.may_begin is None or first + a in case.may_begin
                last = b == end - first
                more = case.beyond[k] if last and case.beyond else 0
                cuts = last and not case.complete and not case.beyond
                (cut if cuts else ended)[j].append(b - a + more)
                if before < 0:
                    firsts[j] += 1.0
                else:
                    counts[before, j] += 1.0
                before = j
        if not possible:
            continue
        key = counts.tobytes() + firsts.tobytes()
        if key not in known:
            terms = log_transitions(
                counts, firsts, case.forbidden, case.log_base, case.alpha, case.start
            )
            known[key] = float(special.logsumexp(terms + case.log_weight))
        total = known[key]
        for j in range(case.n_states):
            if total > -np.inf and (ended[j] or cut[j]):
                total += case.duration(tuple(ended[j]), tuple(cut[j]))
                total += emission(tuple(t for t in range(len(z)) if z[t] == j))
        if total > -np.inf:
            logs[z] = total
    whole = special.logsumexp(list(logs.values()))
    return {z: float(np.exp(value - whole)) for z, value in logs.items()}


def canonical(labels: Path) -> Path:
    """Labels numbered in the order of their first rows."""
    seen: dict[int, int] = {}
    return tuple(seen.setdefault(j, len(seen)) for j in labels)


def by_partition(probabilities: Mapping[Path, float]) -> dict[Path, float]:
    """Probabilities of labels up to relabelling."""
    out: dict[Path, float] = {}
    for z, p in probabilities.items():
        out[canonical(z)] = out.get(canonical(z), 0.0) + p
    return out


# -- moves that split and merge states -------------------------------------------------------------


class Items(NamedTuple):
    """Segments whose states are unknown: `log_density(group)` of any set of them as one state."""

    is_first: tuple[bool, ...]
    n_states: int
    log_density: Callable[[tuple[int, ...]], float]
    forbidden: Bools
    alpha: float
    log_base: Floats
    start: str


def item_law(items: Items) -> dict[Path, float]:
    """p(states of segments | borders, β, α, y), by enumeration."""
    density, logs = cache(items.log_density), {}
    for z in product(range(items.n_states), repeat=len(items.is_first)):
        counts, firsts = np.zeros((items.n_states,) * 2), np.zeros(items.n_states)
        for c, j in enumerate(z):
            if items.is_first[c]:
                firsts[j] += 1.0
            else:
                counts[z[c - 1], j] += 1.0
        base = items.log_base[:, None]
        total = log_transitions(counts, firsts, items.forbidden, base, items.alpha, items.start)[0]
        if total > -np.inf:
            for j in set(z):
                total += density(tuple(c for c in range(len(z)) if z[c] == j))
            logs[z] = float(total)
    whole = special.logsumexp(list(logs.values()))
    return {z: float(np.exp(value - whole)) for z, value in logs.items()}


def split_merge_law(
    items: Items, law: Mapping[Path, float], here: Path, wrong: str = ""
) -> dict[Path, float]:
    """Probabilities of the states after one move from `here`, over all choices it makes.

    `wrong` breaks the acceptance: "U" leaves out the number of unused labels, "q" the probability
    of the allocation, "U+1" takes U for both moves, "first" drops the law of first states.
    """
    density = cache(items.log_density)
    n, out = len(here), dict.fromkeys([here], 0.0)
    unused = [j for j in range(items.n_states) if j not in here]

    def add(to: Path, weight: float, log_hastings: float) -> None:
        ratio = law.get(to, 0.0) / law[here]
        if wrong == "first":
            for c in range(n):
                if items.is_first[c]:
                    ratio /= np.exp(items.log_base[to[c]] - items.log_base[here[c]])
        accept = min(1.0, ratio * np.exp(log_hastings)) if ratio > 0.0 else 0.0
        out[to] = out.get(to, 0.0) + weight * accept
        out[here] += weight * (1.0 - accept)

    def log_choice(order: tuple[int, ...], sides: tuple[bool, ...], one: int, two: int) -> float:
        groups, total = [[one], [two]], 0.0
        for c, side in zip(order, sides, strict=True):
            gains = [
                density(tuple(sorted([*group, c]))) - density(tuple(sorted(group)))
                for group in groups
            ]
            total += gains[side] - np.logaddexp(*gains)
            groups[side].append(c)
        return float(total)

    from itertools import permutations

    for one in range(n):
        for two in range(n):
            if one == two:
                continue
            pick = 1.0 / (n * (n - 1))
            own, other = here[one], here[two]
            members = [c for c in range(n) if c not in (one, two) and here[c] in (own, other)]
            orders = list(permutations(members))
            each = pick / len(orders)
            if own == other:
                if not unused:
                    out[here] += pick
                    continue
                for order in orders:
                    for sides in product((False, True), repeat=len(order)):
                        log_q = log_choice(order, sides, one, two)
                        hastings = np.log(len(unused)) * (wrong != "U") - log_q * (wrong != "q")
                        for new in unused:
                            to = list(here)
                            to[two] = new
                            for c, side in zip(order, sides, strict=True):
                                to[c] = new if side else own
                            add(tuple(to), each * np.exp(log_q) / len(unused), hastings)
            else:
                to = tuple(own if j == other else j for j in here)
                back = len(unused) + (0 if wrong == "U+1" else 1)
                for order in orders:
                    sides = tuple(here[c] == other for c in order)
                    log_q = log_choice(order, sides, one, two)
                    hastings = log_q * (wrong != "q")
                    if wrong != "U":
                        hastings -= np.log(max(back, 1))
                    add(to, each, hastings)
    return out


# -- comparisons -----------------------------------------------------------------------------------


def least_p_value(counts: Mapping[Any, float], law: Mapping[Any, float]) -> float:
    """Smallest two-sided binomial p-value of counts of independent draws, times their number.

    0 where something was drawn that has no probability.
    """
    if any(n and law.get(key, 0.0) <= 0.0 for key, n in counts.items()):
        return 0.0
    keys = [key for key, p in law.items() if p > 0.0]
    n = sum(counts.values())
    seen = np.array([counts.get(key, 0) for key in keys])
    p = np.clip([law[key] for key in keys], 0.0, 1.0)
    low, high = stats.binom.cdf(seen, n, p), stats.binom.sf(seen - 1, n, p)
    return float(np.minimum(2.0 * np.minimum(low, high), 1.0).min() * len(keys))


def batch_scores(values: Floats, expected: Floats, batches: int = 100) -> Floats:
    """Errors of means of dependent draws (draw, quantity) as normal scores, by batch means.

    The t-statistic of batch means is mapped to the normal score of the same probability.
    """
    size = len(values) // batches
    means = values[: size * batches].reshape(batches, size, -1).mean(axis=1)
    error = means.std(axis=0, ddof=1) / np.sqrt(batches)
    difference = means.mean(axis=0) - expected
    t = np.divide(difference, error, out=np.zeros_like(difference), where=difference != 0.0)
    return np.asarray(-special.ndtri(stats.t.sf(np.abs(t), batches - 1)))


def label_scores(
    draws: Iterator[Path] | list[Path], law: Mapping[Path, float], least: float, batches: int = 100
) -> Floats:
    """Normal scores of the shares of labels in dependent draws; labels rarer than `least` as one.

    Infinite where something was drawn that has no probability.
    """
    common = sorted(z for z, p in law.items() if p >= least)
    column = {z: k for k, z in enumerate(common)}
    held = list(draws)
    if any(z not in law for z in held):
        return np.array([np.inf])
    values = np.zeros((len(held), len(common) + 1))
    for n, z in enumerate(held):
        values[n, column.get(z, len(common))] = 1.0
    expected = np.array([*(law[z] for z in common), 0.0])
    expected[-1] = 1.0 - expected.sum()
    keep = slice(None) if expected[-1] >= least else slice(-1)
    return batch_scores(values[:, keep], expected[keep], batches)

"""Which items are moved one by one, and what a sweep is worth for each."""

import numpy as np
import pytest
from lib.nests import Nest, bits, expand, generator, problem_of

from luce.kernels import waiting_times
from luce.kernels.problem import Problem
from luce.sampling.laplace import log_mode
from luce.sampling.mixing import chains_of, effective_sizes
from luce.sampling.single_items import choose_items

N = 12


def choices(spread: float) -> tuple[list[Nest], Problem]:
    """Rankings of four: the first three places; items 0 and 1 are far ahead where `spread` is."""
    rng = generator(80)
    strength = np.r_[[spread, 0.7 * spread], rng.normal(size=N - 2) * 0.3]
    nests, shape = [], np.full(N, 1.0)
    for _ in range(400):
        offered = rng.choice(N, 4, replace=False)
        order = offered[np.argsort(-(strength[offered] + rng.gumbel(size=4)))][::-1]
        shape[order[1:]] += 1.0
        nests.append(Nest(tuple(order.tolist()), (2, 3, 4), (-1.0, -1.0, -1.0)))
    return nests, problem_of(nests, shape.tolist())


def test_items_far_ahead_are_chosen_with_all_their_sets() -> None:
    nests, problem = choices(4.0)
    theta = log_mode(problem)
    chosen, table = choose_items(problem, theta), expand(nests, N)
    assert chosen is not None
    items, gain = chosen
    assert gain > 1.3
    assert items.item[0] == 0  # the slowest comes first
    assert len(items.item) < N // 2
    p = np.exp(theta) / np.exp(theta).sum()
    for k, i in enumerate(items.item):
        own = items.sets[items.start[k] : items.start[k + 1]]
        np.testing.assert_array_equal(np.sort(own), np.flatnonzero(table[:, i]))
        assert items.log_odds[k] == pytest.approx(np.log(p[i] / (1 - p[i])))
    np.testing.assert_array_equal(items.waits, problem.waits[items.sets])


def test_no_item_is_chosen_among_equals() -> None:
    problem = choices(0.0)[1]
    assert choose_items(problem, log_mode(problem)) is None


def test_other_problems_have_no_such_moves() -> None:
    _, problem = choices(4.0)
    theta = log_mode(problem)
    assert choose_items(problem._replace(wide=True), theta) is None
    assert choose_items(problem._replace(groups=problem.groups + 1.0), theta) is None
    assert choose_items(problem_of([], [2.0, 3.0]), np.zeros(2)) is None
    turned = problem_of([Nest((0,), (1,), (-3.0,), True)], [4.0, 3.0, 2.0])
    assert choose_items(turned, np.zeros(3)) is None


@pytest.mark.compiled
def test_chosen_items_are_no_longer_the_slowest() -> None:
    _, problem = choices(4.0)
    chosen, slow = choose_items(problem, log_mode(problem)), []
    assert chosen is not None
    for fit in (None, chosen[0]):
        state, out, stat = np.full(N, 1 / N), np.empty((6000, N)), np.empty(6000)
        waiting_times.advance(bits(81), problem, fit, state, np.zeros(4), False, out, stat, None)
        slow.append(effective_sizes(chains_of(np.log(out[500:]).T[:, None])))
    assert np.argmin(slow[0]) == 0
    assert slow[1][0] > 2 * slow[0][0]

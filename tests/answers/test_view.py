"""Draws as they are read: forms, labels, roles, blocks, refusals."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import xarray as xr
from lib.answer_cases import LABELS, NAMES, data_over, deep_logs, dirichlet, draws_of, tree_of

import luce
from luce import ConditionalCounts, Posterior
from luce.answers.view import DrawsView
from luce.counts.labels import label_array
from luce.errors import DataError


@pytest.mark.filterwarnings("ignore::luce.errors.EvidenceWarning")
@pytest.mark.parametrize("labels", LABELS.values(), ids=list(LABELS))
def test_labels_in_labels_out(labels: list[Any]) -> None:
    x = dirichlet([0.7, 1.0, 2.0, 3.0, 1.5])
    named, bare = draws_of(x, labels), draws_of(x)
    number = {name: i for i, name in enumerate(NAMES)}

    def same(found: xr.DataArray | xr.Dataset, truth: xr.DataArray | xr.Dataset) -> None:
        """The same values, and labels where the plain names stood."""
        for name in set(truth.coords) & {"category", "opponent"}:
            plain = truth[name].values.tolist()
            assert found[name].values.tolist() == [labels[number[v]] for v in plain]
        for a, b in zip(
            found.values() if isinstance(found, xr.Dataset) else [found],
            truth.values() if isinstance(truth, xr.Dataset) else [truth],
            strict=True,
        ):
            np.testing.assert_array_equal(a.values, b.values)

    same(luce.rank_probabilities(named), luce.rank_probabilities(bare))
    same(luce.probability_best(named, 2), luce.probability_best(bare, 2))
    same(luce.answers.expected_ranks(named), luce.answers.expected_ranks(bare))
    same(luce.answers.win_matrix(named), luce.answers.win_matrix(bare))
    same(luce.beats(named, labels[2], labels[4]), luce.beats(bare, "c", "e"))
    same(luce.shares(named, [labels[3], labels[1]]), luce.shares(bare, "db"))
    same(luce.log_odds(named, labels[1]), luce.log_odds(bare, "b"))
    same(
        luce.answers.intervals(luce.elo(named, labels[1])),
        luce.answers.intervals(luce.elo(bare, "b")),
    )
    order = [labels[number[str(v)]] for v in luce.answers.expected_order(bare)]
    assert luce.answers.expected_order(named) == order
    assert [v for group in luce.tie_groups(named) for v in group] == order
    ours, plain = data_over(labels), data_over(NAMES)
    assert luce.log_predictive(named, ours).value == luce.log_predictive(bare, plain).value
    design = ConditionalCounts(labels).observe({labels[1]: 4}, without=[labels[0]])
    replicates = luce.answers.posterior_predictive(named, design, 1)
    assert replicates["category"].values.tolist() == labels[1:]
    table = luce.answers.reliability(named, [(labels[4], [labels[4], labels[2]], 1)])
    same(table, luce.answers.reliability(bare, [("e", "ec", 1)]))
    assert luce.counts.prior_only(design) == [labels[0]]
    assert luce.summary(named).categories == labels


def test_any_form_of_draws() -> None:
    x = dirichlet([0.7, 1.0, 2.0])
    table = luce.rank_probabilities(x)
    assert table["category"].values.tolist() == [0, 1, 2]
    np.testing.assert_array_equal(luce.rank_probabilities(x.tolist()), table)
    turned = draws_of(x).transpose("category", "draw", "chain")
    np.testing.assert_array_equal(luce.rank_probabilities(turned), table)
    thinned = draws_of(x).assign_coords(chain=[3, 5], draw=range(50)).isel(draw=slice(1, None, 7))
    odds = luce.log_odds(thinned, "a")
    assert odds["draw"].values.tolist() == list(range(1, 50, 7))
    assert odds["chain"].values.tolist() == [3, 5]


@pytest.mark.filterwarnings("ignore::luce.errors.EvidenceWarning")
def test_input_is_left_alone() -> None:
    logs = deep_logs()
    tree = tree_of(logs)
    before = tree.copy(deep=True)
    luce.answers.win_matrix(tree), luce.shares(tree), luce.elo(tree), luce.summary(tree)
    luce.log_predictive(tree, data_over(NAMES))
    assert tree.identical(before)


def test_without_logs_what_underflowed_is_refused() -> None:
    bare = tree_of(deep_logs())["posterior"]["probabilities"]
    given_pair = ConditionalCounts(NAMES).observe({"b": 1}, within="bd")
    for attempt in (
        lambda: luce.shares(bare, "bd"),
        lambda: luce.beats(bare, "b", "d"),
        lambda: luce.answers.win_matrix(bare),
        lambda: luce.log_odds(bare, "a"),
        lambda: luce.log_predictive(bare, given_pair),
        lambda: luce.answers.posterior_predictive(bare, given_pair, 1),
        lambda: luce.answers.reliability(bare, [("b", "bd", 1)]),
    ):
        with pytest.raises(DataError, match=r"'b', 'd' are 0 .* log_probabilities=True"):
            attempt()
    np.testing.assert_array_equal(luce.beats(bare, "a", "b"), 1)


@pytest.mark.filterwarnings("ignore::luce.errors.EvidenceWarning")
@pytest.mark.parametrize("kept", [True, False], ids=["logs", "no logs"])
def test_blocks_do_not_show(kept: bool) -> None:
    logs = np.log(dirichlet([0.7, 1.0, 2.0, 3.0, 1.5]))
    given = tree_of(logs) if kept else draws_of(np.exp(logs))
    counts, design = data_over(NAMES), ConditionalCounts(NAMES).observe({"a": 9}, within="abc")
    asked: list[Callable[[DrawsView], Any]] = [
        luce.rank_probabilities,
        lambda x: luce.probability_best(x, 2),
        lambda x: luce.answers.expected_ranks(x).to_array(),
        luce.answers.win_matrix,
        lambda x: luce.beats(x, "a", "b"),
        lambda x: luce.shares(x, "abc"),
        luce.elo,
        lambda x: float(luce.log_predictive(x, counts)),
        lambda x: luce.answers.posterior_predictive(x, design, 1),
        lambda x: luce.answers.reliability(x, [("a", "ab", 1)])["predicted"],
        lambda x: luce.summary(x).to_pandas(),
    ]
    whole, cut = DrawsView.of(given), DrawsView.of(given, block=17)
    assert len(list(cut.blocks(5))) > len(list(whole.blocks(5)))
    assert len(list(cut.category_blocks())) == 5
    for ask in asked:
        np.testing.assert_allclose(ask(cut), ask(whole), rtol=1e-12)


def test_every_option_changes_its_answer() -> None:
    draws = draws_of(dirichlet([2.0, 2.2, 2.4, 8.0], draws=500))
    held_out = [("a", "abc", 3), ("b", None, 2)]

    def differ(one: Any, other: Any) -> bool:
        return not np.array_equal(np.asarray(one), np.asarray(other))

    assert differ(luce.probability_best(draws), luce.probability_best(draws, k=2))
    wide = luce.answers.expected_ranks(draws, ci_prob=0.99)
    assert differ(luce.answers.expected_ranks(draws)["lower"], wide["lower"])
    assert luce.answers.expected_order(draws) != luce.answers.expected_order(draws, among="abc")
    assert luce.tie_groups(draws) != luce.tie_groups(draws, probability=0.51)
    assert differ(luce.shares(draws, among="ab"), luce.shares(draws, among="ba"))
    assert luce.shares(draws, groups={"x": "ab"}).dims != luce.shares(draws).dims
    odds = luce.log_odds(draws)
    assert differ(odds, luce.log_odds(draws, reference="a"))
    assert differ(luce.elo(draws), luce.elo(draws, reference="a"))
    assert differ(luce.elo(draws), luce.elo(draws, at=0))
    assert differ(
        luce.answers.intervals(odds)["lower"], luce.answers.intervals(odds, ci_prob=0.5)["lower"]
    )
    few, many = (luce.answers.reliability(draws, held_out, bins=b) for b in (2, 20))
    assert (few.sizes["bin"], many.sizes["bin"]) == (2, 20)
    assert list(luce.summary(draws, ci_prob=0.5).columns) != list(luce.summary(draws).columns)
    counts = ConditionalCounts("abcd").observe({"a": 1}, within="ab")
    assert "prior_only" in luce.summary(draws, counts=counts).columns
    assert luce.summary(draws, sort=True).categories != luce.summary(draws).categories


def test_what_is_wrong_is_said() -> None:
    draws = draws_of(dirichlet([1.0, 2.0, 3.0]))
    categories = r"the categories are 'a', 'b', 'c'"
    wrong: list[tuple[Callable[[], object], str]] = [
        (lambda: luce.beats(draws, "x", "b"), rf"a = 'x' is not a category; {categories}"),
        (lambda: luce.beats(draws, "a", ["b"]), rf"b = \['b'\] is not a category; {categories}"),  # type: ignore[arg-type]
        (lambda: luce.beats(draws, "a", "a"), "both 'a'"),
        (lambda: luce.shares(draws, ["a", "x"]), rf"'x' in among is not a category; {categories}"),
        (lambda: luce.shares(draws, ["a", "a"]), "appears twice in among"),
        (lambda: luce.shares(draws, []), f"among is empty.*{categories}"),
        (lambda: luce.shares(draws, 3), "must be a list of labels"),  # type: ignore[arg-type]
        (
            lambda: luce.shares(draws, "ab", {"g": "x"}),
            rf"'x' in groups\['g'\] is not .*{categories}",
        ),
        (lambda: luce.shares(draws, "ab", {"g": "c"}), "not on offer; `among` holds 'a', 'b'"),
        (lambda: luce.shares(draws, "ab", {}), "groups must map names"),
        (lambda: luce.answers.expected_order(draws, "ax"), f"'x' in among.*{categories}"),
        (lambda: luce.log_odds(draws, "x"), f"reference = 'x' is not a category; {categories}"),
        (lambda: luce.elo(draws, "x"), f"reference = 'x' is not a category; {categories}"),
        (lambda: luce.elo(draws, "a", at=float("nan")), "at = nan"),
        (lambda: luce.probability_best(draws, 0), "k = 0 was given; a whole number from 1 to 3"),
        (lambda: luce.probability_best(draws, 4), "k = 4"),
        (lambda: luce.probability_best(draws, 1.5), r"k = 1\.5"),  # type: ignore[arg-type]
        (lambda: luce.tie_groups(draws, 0.5), r"probability = 0\.5"),
        (lambda: luce.answers.expected_ranks(draws, 1.0), r"ci_prob = 1\.0 .* between 0 and 1"),
        (lambda: luce.answers.intervals(luce.beats(draws, "a", "b"), 0), "ci_prob = 0"),
        (lambda: luce.answers.intervals(luce.answers.win_matrix(draws)), "chain and draw"),
        (lambda: luce.answers.intervals(3), "chain and draw is needed; int"),  # type: ignore[arg-type]
        (lambda: luce.summary(draws, 90), "ci_prob = 90"),
        (lambda: luce.log_predictive(draws, ConditionalCounts("abx")), "not so 'x'"),
        (lambda: luce.log_predictive(draws * 2, ConditionalCounts("abc")), "add up to 1"),
        (lambda: luce.answers.win_matrix(-draws), "some are negative"),
        (
            lambda: luce.answers.reliability(draws, [("x", "ab", 1)]),
            f"outcome 1 = 'x' .*{categories}",
        ),
        (
            lambda: luce.answers.reliability(draws, [("c", "ab", 1)]),
            "outcome 1 is 'c', which lies outside",
        ),
        (lambda: luce.answers.reliability(draws, [("a", "ab", -1)]), "cannot be negative"),
        (lambda: luce.answers.reliability(draws, [("a", "ab", 0)]), "no outcomes were given"),
        (lambda: luce.answers.reliability(draws, [("a", "ab")]), "a triple"),  # type: ignore[list-item]
        (
            lambda: luce.answers.reliability(draws, [("a", "ax", 1)]),
            f"'x' in within of .*{categories}",
        ),
        (lambda: luce.answers.reliability(draws, [("a", "ab", 1)], bins=0), "bins = 0"),
        (lambda: luce.rank_probabilities(np.ones((2, 3))), "not draws"),
        (lambda: luce.summary(draws, counts=ConditionalCounts("abx")), "'a', 'b', 'x'"),
    ]
    for attempt, words in wrong:
        with pytest.raises(DataError, match=words):
            attempt()


def test_labels_of_any_kind_come_back() -> None:
    for labels in (["a", "b"], [1, 2], [1.5, 2.0], [1, "b"], [10**30, 2], ["a\0", "b"], [(1,), 2]):
        array = label_array(labels)
        assert array.tolist() == labels
        posterior = Posterior(ConditionalCounts(labels).observe({labels[0]: 2}))
        run = posterior.sample(10, chains=2, seed=1, progress=False)
        assert list(DrawsView.of(run).categories) == labels
    assert label_array(np.array([3, 4])).tolist() == [3, 4]


def test_logarithms_are_kept_when_asked_for() -> None:
    posterior = Posterior(ConditionalCounts("ab").observe({"a": 3}))
    run = posterior.sample(10, log_probabilities=True, chains=2, seed=1, progress=False)
    values = run["posterior"]
    np.testing.assert_allclose(
        np.exp(values["log_probabilities"]), values["probabilities"], rtol=1e-12
    )
    view = DrawsView.of(run)
    assert view.are_logs
    bare = DrawsView.of(values["probabilities"])
    assert not bare.are_logs
    np.testing.assert_array_equal(bare.values, view.probabilities)
    np.testing.assert_array_equal(view.values, values["log_probabilities"])


def test_a_part_of_the_draws_keeps_its_labels() -> None:
    view = DrawsView.of(tree_of(np.log(dirichlet([1.0, 2.0, 3.0]))))
    assert DrawsView.of(view) is view
    some = view.take(np.array([2, 0]))
    assert list(some.categories) == ["c", "a"]
    np.testing.assert_array_equal(some.values, view.values[:, :, [2, 0]])
    np.testing.assert_array_equal(some.probabilities, view.probabilities[:, :, [2, 0]])
    assert list(DrawsView.of(view, among="ca").categories) == ["a", "c"]
    rows = np.array([0, 51, 99])
    assert view.evenly(2).tolist() == [0, view.n_draws - 1]
    assert len(view.evenly(10**6)) == view.n_draws
    few = view.one_chain(rows)
    np.testing.assert_array_equal(few.values[0], view.values.reshape(-1, 3)[rows])
    assert few.probabilities.shape == (1, 3, 3)
    third = xr.DataArray(view.probabilities, dims=("chain", "draw", "state"))
    assert luce.rank_probabilities(third).dims == ("category", "rank")

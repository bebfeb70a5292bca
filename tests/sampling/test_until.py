"""Draws that go on until the check of convergence is met."""

from __future__ import annotations

import os
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import xarray as xr
from lib.planned import plan_of

import luce
from luce.answers import diagnostics
from luce.errors import MethodError
from luce.sampling import convergence
from luce.sampling.memory import MOST_EXTENDED, draw_in_memory

pytestmark = pytest.mark.compiled


def circle() -> luce.Posterior:
    """Three in a circle of duels: a core that chains have to simulate."""
    counts = luce.ConditionalCounts("abc").observe({"a": 3, "b": 1}, within="ab")
    return luce.Posterior(
        counts.observe({"b": 2, "c": 2}, within="bc").observe({"a": 1}, within="ac")
    )


def drawn(**more: Any) -> xr.DataTree:
    given = {"draws": 50, "seed": 3, "method": "waiting-times", "progress": False, **more}
    return circle().sample(**given)


def length(run: xr.DataTree) -> int:
    return int(run.posterior.sizes["draw"])


def test_draws_go_on_until_the_check_is_met() -> None:
    with pytest.warns(luce.ConvergenceWarning):
        short = drawn()  # the control: as many as were asked for are too few
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        run = drawn(until="converged")
    assert length(short) == 50 < length(run) <= 50 * MOST_EXTENDED
    assert diagnostics.verdict(run).kind != "bad"
    half = run.isel(draw=slice(length(run) // 2))
    assert diagnostics.verdict(half).kind == "bad"  # no doubling too many
    told = {name: run.attrs[name] for name in ("until", "until_met", "draws_asked_for")}
    assert told == {"until": "converged", "until_met": 1, "draws_asked_for": 50}
    assert "until" not in short.attrs


def test_the_first_draws_are_those_of_a_run_without_until() -> None:
    run = drawn(until="converged")
    long = drawn(draws=length(run), warmup=run.attrs["warmup"])
    with pytest.warns(luce.ConvergenceWarning):
        short = drawn()
    for variable in run.posterior.data_vars:
        np.testing.assert_array_equal(run.posterior[variable], long.posterior[variable])
        np.testing.assert_array_equal(run.posterior[variable][:, :50], short.posterior[variable])


@pytest.mark.parametrize("keep", [None, ["c", "a"]])
def test_the_same_seed_gives_the_same_draws(keep: list[str] | None) -> None:
    one, other = (drawn(until=900, keep=keep, threads=t) for t in (1, 2))
    assert length(one) > 200
    np.testing.assert_array_equal(one.posterior["probabilities"], other.posterior["probabilities"])
    again = drawn(until=900, keep=keep, seed=4)
    assert not np.array_equal(
        one.posterior["probabilities"][:, :50], again.posterior["probabilities"][:, :50]
    )


def test_a_number_of_effective_draws() -> None:
    run = drawn(until=1000)
    assert diagnostics.ess(run).min() >= 1000
    assert diagnostics.ess(run.isel(draw=slice(length(run) // 2))).min() < 1000


def test_where_it_is_not_met_a_warning_says_so() -> None:
    with pytest.warns(
        luce.ConvergenceWarning, match=r"until=1e\+06 was not met after 800 draws"
    ) as seen:
        run = drawn(until=1e6)
    assert "do not trust" not in str(seen[0].message)  # they are enough for the check itself
    assert (length(run), run.attrs["until_met"]) == (50 * MOST_EXTENDED, 0)
    with pytest.warns(
        luce.ConvergenceWarning, match="do not trust these draws yet.* until='converged' was"
    ):
        run = drawn(draws=5, until="converged")
    assert (length(run), run.attrs["until_met"]) == (5 * MOST_EXTENDED, 0)


def test_independent_draws_go_on_for_a_number_alone() -> None:
    exact = luce.Posterior(luce.ConditionalCounts("ab").observe({"a": 3}))
    assert length(exact.sample(10, seed=1, until="converged")) == 10
    assert length(exact.sample(10, seed=1, until=300)) == 80
    assert length(exact.sample(10, seed=1, until=40)) == 10


def test_a_chain_that_never_accepts_is_told_of_too() -> None:
    plan = plan_of(
        circle(),
        draws=20,
        seed=1,
        method="metropolis",
        until="converged",
        warmup=0,
        proposal_concentration=1e-12,
    )
    sink = draw_in_memory(plan)
    assert sink.draws == 20 * MOST_EXTENDED
    assert sink.verdict is not None
    with pytest.warns(luce.ConvergenceWarning, match="of its proposals.* was not met"):
        convergence.warn(sink.verdict)


def test_draws_that_do_not_fit_into_memory_are_not_made(monkeypatch: pytest.MonkeyPatch) -> None:
    plan = plan_of(circle(), draws=20, seed=1, method="waiting-times", until=1e6)
    width = plan.output("posterior/probabilities").shape[-1]
    twice = {"SC_PHYS_PAGES": 2 * width, "SC_PAGE_SIZE": 8 * plan.settings.chains * 20}
    monkeypatch.setattr(os, "sysconf", twice.__getitem__)  # memory for twice as many draws
    sink = draw_in_memory(plan)
    assert sink.draws == 20
    assert sink.verdict is not None
    assert "after 20 draws of each chain, 1 time those asked for" in sink.verdict.unmet
    assert sink.verdict.unmet.endswith(" More do not fit into memory.")


@pytest.mark.parametrize("until", ["yes", 0, -1.0, np.nan, np.inf, True, [400]])
def test_anything_else_is_refused(until: Any) -> None:
    with pytest.raises(MethodError, match=r"until = .*; give 'converged', or the number"):
        drawn(until=until)


def test_a_disk_and_a_cluster_are_refused(tmp_path: Path) -> None:
    for more in ({"to": tmp_path / "run.zarr"}, {"cluster": "local"}):
        with pytest.raises(MethodError, match="Leave until= out and ask for more draws"):
            drawn(until="converged", **more)
    assert not list(tmp_path.iterdir())


def test_ctrl_c_while_draws_are_judged_keeps_them(monkeypatch: pytest.MonkeyPatch) -> None:
    usual, calls = convergence.judge, []

    def judge(*given: Any, **more: Any) -> Any:
        calls.append(given)
        if len(calls) == 1:
            raise KeyboardInterrupt
        return usual(*given, **more)

    monkeypatch.setattr(convergence, "judge", judge)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", luce.errors.ConvergenceWarning)
        run, plain = drawn(until="converged"), drawn()
    assert run.attrs["interrupted"] == 1
    assert length(run) == 50
    np.testing.assert_array_equal(
        run.posterior["probabilities"].values, plain.posterior["probabilities"].values
    )

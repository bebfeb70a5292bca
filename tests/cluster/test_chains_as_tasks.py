"""Chains on workers: the same draws as here, also when workers are killed."""

import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from distributed import Client, LocalCluster
from lib.planned import plan_of
from lib.streaming_runs import league, same_numbers
from lib.terms import same_draws
from lib.toy_plans import states_plan, true_states
from lib.workers import DASK_WARNINGS, killing

import luce
from luce import ConditionalCounts, Gamma, Posterior
from luce.cluster.execution import carry_out
from luce.cluster.tasks import Reporter, map_tasks
from luce.errors import DataError

pytestmark = [pytest.mark.cluster, *DASK_WARNINGS]

QUICK: dict[str, Any] = {"draws": 12, "chains": 2, "seed": 5, "warmup": 6, "progress": False}


def five() -> Posterior:
    counts = ConditionalCounts(["Ann", "Bo", "Cy", "Di", "Ed"])
    counts = counts.observe({"Ann": 4, "Bo": 2}, within=["Ann", "Bo"])
    counts = counts.observe({"Bo": 3, "Cy": 1}, within=["Bo", "Cy"])
    return Posterior(counts.observe({"Cy": 2, "Di": 5}, within=["Cy", "Di"]), 1.5)


@pytest.mark.compiled
@pytest.mark.parametrize("method", ["waiting-times", "metropolis"])
def test_chains_of_other_processes_are_the_chains_here(
    method: str, client: Client, tmp_path: Path
) -> None:
    options: dict[str, Any] = {"seed": 2, "method": method, "progress": False, "thin": 2}
    here = five().sample(300, **options)
    there = five().sample(300, cluster=client, **options)
    assert same_numbers(here, there)
    assert here.attrs.get("proposal_concentration") == there.attrs.get("proposal_concentration")
    disk = five().sample(300, cluster=client, to=tmp_path / "run.zarr", **options)
    assert same_numbers(here, disk)
    assert same_numbers(here, luce.load(tmp_path / "run.zarr"))


@pytest.mark.parametrize(
    ("concentration", "options"),
    [
        (1.0, {"method": "waiting-times", "thin": 2}),
        (2.0, {"method": "metropolis"}),
        (0.02, {"method": "waiting-times", "keep": ["Ed", "Bo"]}),
        (Gamma(2, 1), {}),
    ],
    ids=["thin", "metropolis", "logarithms", "concentration"],
)
def test_chains_on_workers_are_the_chains_here(
    concentration: Any, options: dict[str, Any], threads_client: Client
) -> None:
    posterior = Posterior(league(), concentration)
    here = posterior.sample(**QUICK, **options)
    there = posterior.sample(**QUICK, cluster=threads_client, **options)
    assert same_numbers(there, here)
    name = "proposal_concentration"
    assert np.array_equal(here.attrs.get(name, 0), there.attrs.get(name, 0))


@pytest.mark.parametrize("every", [1, 3, 7])
def test_outputs_of_some_draws_come_from_workers(
    every: int, threads_client: Client, tmp_path: Path
) -> None:
    """Also the words that the plan adds to the verdict are the same."""
    plan, words = states_plan(every, 5, verdict_of_states=True), set()
    for to in (None, tmp_path / "run.zarr"):
        with pytest.warns(luce.ConvergenceWarning, match="draws of states add up") as caught:
            run = carry_out(plan, to, threads_client)
        words.add(str(caught[0].message))
        for path, truth in true_states(plan, 43).items():
            assert run[path].dtype == np.dtype(plan.output(path).dtype)
            np.testing.assert_array_equal(run[path].values, truth)
    with pytest.warns(luce.ConvergenceWarning) as caught:
        assert carry_out(plan)["states"].to_dataset().identical(run["states"].to_dataset())
    assert words == {str(caught[0].message)}


def test_chains_on_workers_write_to_one_folder(threads_client: Client, tmp_path: Path) -> None:
    posterior, folder = Posterior(league()), tmp_path / "run.zarr"
    how: dict[str, Any] = {**QUICK, "method": "waiting-times"}
    run = posterior.sample(**how, cluster=threads_client, to=folder, quantiles=[0.5])
    assert same_numbers(run, posterior.sample(**how))
    assert same_numbers(luce.load(folder), run)


def test_a_client_need_not_be_the_default_one(cluster: LocalCluster, tmp_path: Path) -> None:
    posterior = Posterior(league())
    here = posterior.sample(**QUICK, method="waiting-times")
    with Client(cluster, set_as_default=False) as own:
        how: dict[str, Any] = {**QUICK, "method": "waiting-times", "cluster": own}
        assert same_numbers(posterior.sample(**how), here)
        assert same_numbers(posterior.sample(to=tmp_path / "run.zarr", **how), here)
        pieces = [league(), league()]
        sharded: dict[str, Any] = {"draws": 5, "chains": 2, "seed": 1, "progress": False}
        assert same_draws(
            luce.sample_sharded(pieces, cluster=own, **sharded),
            luce.sample_sharded(pieces, cluster=None, **sharded),
        )
        many = luce.sample_many({"a": posterior}, **how)
        assert many["a"].posterior.sizes["draw"] == QUICK["draws"]


@pytest.mark.slow
def test_a_chain_whose_worker_is_killed_is_drawn_by_another(client: Client) -> None:
    options: dict[str, Any] = {"seed": 3, "method": "waiting-times", "keep": ["Bo"], "chains": 2}
    began = time.monotonic()
    killer = killing(client, lambda: time.monotonic() > began + 1.0)
    there = five().sample(2_000_000, cluster=client, progress=False, **options)
    killer.join()
    assert same_draws(there, five().sample(2_000_000, progress=False, **options))


# -- Ctrl-C ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("to", [None, "run.zarr"])
def test_ctrl_c_stops_the_chains(to: str | None, threads_client: Client, tmp_path: Path) -> None:
    """Nothing of 100,000 long draws is left running: the workers answer at once afterwards."""
    plan = plan_of(
        Posterior(league()),
        draws=100_000,
        chains=2,
        thin=200,
        method="waiting-times",
        keep=["Bo"],
        seed=1,
        chunk_steps=5_000,
    )
    folder = None if to is None else tmp_path / to
    main = threading.main_thread().ident
    assert main is not None
    alarm = threading.Timer(1.2, signal.pthread_kill, (main, signal.SIGINT))
    alarm.start()
    with pytest.raises(KeyboardInterrupt):
        carry_out(plan, folder, threads_client)
    alarm.join()
    assert threads_client.submit(sum, [1, 2], pure=False).result(timeout=10) == 3
    if folder is not None:
        with pytest.raises(DataError, match="is not complete"):
            luce.runs.open_run(folder)


STOPPED: list[int] = []


def fail_or_wait(_: object, number: int, name: str) -> None:
    """Fail as the first task; as another, wait to be stopped."""
    if number == 0:
        raise ZeroDivisionError("the first task")
    report = Reporter(name, number, seconds=0.05)
    for _ in range(300):
        if report(1):
            STOPPED.append(number)
            raise InterruptedError("stopped")
        time.sleep(0.1)


def test_a_task_that_fails_stops_the_others(threads_client: Client) -> None:
    STOPPED.clear()
    with pytest.raises(ZeroDivisionError, match="the first task"):
        map_tasks(threads_client, fail_or_wait, None, range(2), total=2, progress=False)
    assert STOPPED == [1]


@pytest.mark.slow
def test_ctrl_c_stops_the_workers_too(tmp_path: Path) -> None:
    script = tmp_path / "long.py"
    script.write_text(
        "import luce\n"
        "if __name__ == '__main__':\n"
        "    counts = luce.ConditionalCounts('abc').observe({'a': 2, 'b': 1}, within='ab')\n"
        "    counts = counts.observe({'b': 2, 'c': 1}, within='bc')\n"
        "    print('begun', flush=True)\n"
        "    luce.Posterior(counts).sample(10**8, cluster='local', method='waiting-times',\n"
        "                                  keep=['a'], seed=1, progress=False)\n"
    )
    run = subprocess.Popen(
        [sys.executable, str(script)], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
    )
    assert run.stdout is not None
    assert run.stdout.readline() == b"begun\n"
    time.sleep(6)
    run.send_signal(signal.SIGINT)
    assert run.wait(timeout=40) != 0
    run.stdout.close()


def test_workers_that_are_threads_are_of_this_process(threads_client: Client) -> None:
    """What tests patch here is what those workers run."""
    assert set(threads_client.run(os.getpid).values()) == {os.getpid()}

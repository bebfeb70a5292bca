"""Plans carried out: one verdict wherever the draws are, and refusals before any work."""

import os
import warnings
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from distributed import Client
from lib.planned import plan_of
from lib.streaming_runs import BrokenOff, league
from lib.workers import DASK_WARNINGS

import luce
from luce import ConvergenceWarning, Gamma, LuceError, Posterior
from luce.errors import DataError, MethodError
from luce.sampling import convergence
from luce.sampling.memory import draw_in_memory
from luce.sequences import HDPTransitions

pytestmark = DASK_WARNINGS
SEQUENCES = [list("aabbbacca"), list("cbabcc")]
Runner = Callable[..., Any]


SHORT: dict[str, Any] = {"draws": 40, "chains": 3, "warmup": 5, "seed": 4, "progress": False}


def slow_concentration() -> Posterior:
    """Few outcomes: of all parameters the concentration mixes worst."""
    counts = luce.ConditionalCounts(12).observe({0: 5, 1: 4, 2: 1})
    return Posterior(counts, Gamma(2, 1))


def posterior(drawn: Posterior) -> Runner:
    """Sample a posterior by waiting times."""

    def run(**more: Any) -> Any:
        return drawn.sample(method="waiting-times", **SHORT, **more)

    return run


def transitions(concentration: Any) -> Runner:
    """Fit transitions between three states."""

    def run(**more: Any) -> Any:
        model = HDPTransitions(["a", "b", "c"], concentration, 3.0)
        how = {"draws": 30, "chains": 3, "warmup": 5, "seed": 2, "progress": False}
        return model.fit(SEQUENCES, **how, **more)

    return run


RUNS = {
    "number": posterior(Posterior(league())),
    "gamma": posterior(slow_concentration()),
    "transitions": transitions(2.0),
    "transitions with a gamma prior": transitions(Gamma(2, 1)),
}


def warning_of(run: Runner, **more: Any) -> tuple[str, float, float]:
    """Message, R-hat and effective sample size of the one warning that a run gives."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        run(**more)
    (found,) = (w.message for w in caught if isinstance(w.message, ConvergenceWarning))
    return str(found), found.rhat, found.ess


@pytest.mark.cluster
@pytest.mark.parametrize("name", RUNS)
def test_the_warning_of_a_seed_is_the_same_everywhere(
    name: str, client: Client, tmp_path: Path
) -> None:
    run = RUNS[name]
    memory = warning_of(run)
    assert "do not trust these draws yet" in memory[0]
    assert warning_of(run, to=tmp_path / "here.zarr") == memory
    assert warning_of(run, cluster=client) == memory
    assert warning_of(run, cluster=client, to=tmp_path / "there.zarr") == memory


def test_the_concentration_matters_to_the_verdict() -> None:
    """The control: by probabilities alone the verdict of the same draws would be another one."""
    plan = plan_of(slow_concentration(), **SHORT)
    sink = draw_in_memory(plan)
    whole = convergence.judge(plan, sink)

    class ProbabilitiesAlone(type(plan)):  # type: ignore[misc]
        parameters = plan.parameters[:1]

    fewer = ProbabilitiesAlone(plan.model, plan.settings, plan.choice, plan.logs, plan.kept)
    alone = convergence.judge(fewer, sink)
    assert [parameter.name for parameter in plan.parameters] == ["probabilities", "concentration"]
    assert (alone.rhat, alone.ess) != (whole.rhat, whole.ess)


def test_a_resumed_run_warns_as_the_whole_one(tmp_path: Path, breaking: Any) -> None:
    run = RUNS["gamma"]
    memory = warning_of(run)
    breaking(2)
    with pytest.raises(BrokenOff):
        run(to=tmp_path / "run.zarr")
    breaking(10**9)
    assert warning_of(lambda: luce.resume(tmp_path / "run.zarr", progress=False)) == memory


# -- refused before any work -----------------------------------------------------------------------

NOWHERE = "tcp://127.0.0.1:9"  # nobody answers there, and that would be told

REFUSED: list[tuple[dict[str, Any], type[LuceError], str]] = [
    ({"quantiles": [0.5]}, MethodError, "goes to a disk"),
    ({"quantiles": [0.0], "to": "run.zarr"}, DataError, "between 0 and 1"),
    ({"draws": 0}, MethodError, "draws = 0"),
    ({"to": "run.nc"}, DataError, r"ends in '\.zarr'"),
    ({"to": "none/run.zarr"}, DataError, "there is no folder"),
    ({"to": "there.zarr"}, DataError, "exists"),
]

OF_A_POSTERIOR: list[tuple[dict[str, Any], type[LuceError], str]] = [
    *REFUSED,
    ({"keep": ["nobody"]}, DataError, "nobody"),
    ({"keep": []}, DataError, "keep is empty"),
    ({"initial": [0.5, 0.5]}, DataError, r"probabilities of shape \(2,\)"),
    ({"initial": "mode"}, MethodError, "initial = 'mode'"),
    ({"method": "exact"}, MethodError, "needs sets that nest"),
    ({"method": "single-weighted-set", "to": "run.zarr"}, MethodError, "does not fit core 1"),
    ({"method": "gibbs"}, MethodError, "choose one of"),
    ({"proposal_concentration": 3.0}, MethodError, "for method='metropolis' only"),
]


@pytest.fixture
def nobody(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a folder in it, and little patience for an address where nobody answers."""
    monkeypatch.setattr("luce.cluster.connect.PATIENCE_SECONDS", 0.2)
    (tmp_path / "there.zarr").mkdir()
    return tmp_path


def options(folder: Path, given: dict[str, Any]) -> dict[str, Any]:
    return {**given, "to": folder / given["to"]} if "to" in given else given


@pytest.mark.parametrize(("wrong", "kind", "words"), OF_A_POSTERIOR, ids=str)
def test_posteriors_are_refused_before_any_work(
    wrong: dict[str, Any], kind: type[LuceError], words: str, nobody: Path
) -> None:
    with pytest.raises(kind, match=words):
        Posterior(league()).sample(cluster=NOWHERE, **options(nobody, wrong))
    assert os.listdir(nobody) == ["there.zarr"]


@pytest.mark.parametrize(("wrong", "kind", "words"), REFUSED, ids=str)
def test_transitions_are_refused_before_any_work(
    wrong: dict[str, Any], kind: type[LuceError], words: str, nobody: Path
) -> None:
    class Unread:
        def __iter__(self) -> Any:
            pytest.fail("the data was read")

    model = HDPTransitions(["a", "b", "c"])
    with pytest.raises(kind, match=words):
        model.fit(Unread(), cluster=NOWHERE, **options(nobody, wrong))
    assert os.listdir(nobody) == ["there.zarr"]


def test_the_control_somebody_would_have_been_asked(nobody: Path) -> None:
    """Without anything to refuse, the address is looked for, and the folder stays unmade."""
    for run in RUNS.values():
        with pytest.raises(LuceError, match="no Dask scheduler answers"):
            run(cluster=NOWHERE, to=nobody / "run.zarr")
    assert os.listdir(nobody) == ["there.zarr"]


@pytest.mark.parametrize("wrong", [{"quantiles": [0.5]}, {"to": "run.nc"}, {"cluster": 5}], ids=str)
def test_destinations_are_refused_before_anything_is_fitted(
    wrong: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A posterior whose choice of method needs an envelope, which takes time to fit."""
    counts = luce.ConditionalCounts("abc")
    for pair in ("ab", "bc", "ca"):
        counts = counts.observe({pair[0]: 3, pair[1]: 2}, within=pair)
    fitted: list[int] = []

    def fit(problem: Any) -> None:
        fitted.append(len(problem.shape))

    monkeypatch.setattr("luce.sampling.envelope.fit_envelope", fit)
    with pytest.raises(LuceError):
        Posterior(counts).sample(10, progress=False, **options(tmp_path, wrong))
    assert not fitted
    Posterior(counts).sample(10, progress=False)  # the control
    assert fitted
    assert os.listdir(tmp_path) == []


def test_draws_that_do_not_fit_into_memory_are_refused_before_a_cluster(nobody: Path) -> None:
    with pytest.raises(MethodError, match=r"GB, and this machine has"):
        Posterior(league()).sample(10**13, cluster=NOWHERE, progress=False)


def test_settings_have_no_say_in_the_verdict() -> None:
    """Threads and blocks change neither draws nor verdict."""
    plan = plan_of(Posterior(league()), draws=40, chains=3, seed=4, method="waiting-times")
    one = convergence.judge(plan, draw_in_memory(plan))
    other = replace(plan, settings=replace(plan.settings, threads=1, block_chunks=2))
    assert convergence.judge(other, draw_in_memory(other)) == one

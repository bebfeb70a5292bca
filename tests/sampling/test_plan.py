"""Plans: small when pickled or stored, and nothing is chosen again from them."""

import json
import pickle
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from lib.planned import plan_of
from lib.random_lengths import walk_plan
from lib.streaming_runs import CASES, league
from lib.transition_runs import transitions_plan

from luce import ConditionalCounts, Posterior
from luce.errors import MethodError
from luce.sampling.choice import Choice
from luce.sampling.memory import draw_in_memory
from luce.sampling.plan import CorePlan, Plan, PosteriorPlan
from luce.sampling.settings import Settings

SHORT: dict[str, Any] = {"draws": 9, "chains": 2, "warmup": 3, "seed": 5}


def ring(n: int = 80) -> Posterior:
    """Pairs of neighbours, near and far: a core of n, whose curvature takes n² numbers."""
    counts = ConditionalCounts(n)
    for i in range(n):
        for far in (1, 31):
            counts = counts.observe({i: 2 + i % 3, (i + far) % n: 1}, within=[i, (i + far) % n])
    return Posterior(counts)


def arrays_of(plan: Plan) -> dict[str, np.ndarray]:
    return draw_in_memory(plan).arrays


def same_arrays(one: Plan, other: Plan) -> bool:
    ours, theirs = arrays_of(one), arrays_of(other)
    return ours.keys() == theirs.keys() and all(
        np.array_equal(ours[path], theirs[path], equal_nan=True) for path in ours
    )


@pytest.mark.compiled
def test_a_plan_pickles_as_counts_settings_and_choice() -> None:
    plan = plan_of(ring(), method="hamiltonian", **SHORT)
    draw_in_memory(plan)  # fits, kernels and buffers are there by now
    size = len(pickle.dumps(plan))
    bare = len(pickle.dumps((plan.model.counts, plan.settings, plan.choice)))
    assert size < 1.05 * bare + 500
    # The control: the method that was made ready holds a curvature, larger than all of that.
    assert len(pickle.dumps(plan.method.parts[0].fit)) > 2 * size


@pytest.mark.parametrize("name", CASES)
def test_a_plan_draws_the_same_after_a_pickle_and_from_json(name: str) -> None:
    posterior, options = CASES[name]
    plan = plan_of(posterior, **{**SHORT, **options})
    assert same_arrays(pickle.loads(pickle.dumps(plan)), plan)
    stored = json.loads(json.dumps(plan.to_json()))
    again = PosteriorPlan.from_json(posterior.model, stored, progress=False)
    assert again.choice == plan.choice
    assert same_arrays(again, plan)


def test_transitions_draw_the_same_after_a_pickle() -> None:
    plan = transitions_plan("nonparametric")
    draw_in_memory(plan)
    content = pickle.dumps(plan)
    assert len(content) < len(pickle.dumps((plan.model, plan.data, plan.settings))) + 2000
    assert same_arrays(pickle.loads(content), plan)


def test_nobody_chooses_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """A choice that "auto" would not make is carried out; a seed drawn by chance is kept."""
    posterior = Posterior(league(), 2.0)
    settings = Settings(**{**SHORT, "seed": None}, progress=False)
    chosen = PosteriorPlan.of(posterior.model, settings)
    other = "hidden-counts"
    assert chosen.choice.methods != (other,)
    odd = replace(chosen, choice=Choice((other,), ("somebody wanted it",)))

    def again(*_: Any) -> None:
        pytest.fail("chosen again")

    monkeypatch.setattr("luce.sampling.choice.choose", again)
    monkeypatch.setattr("luce.sampling.plan.choose", again)
    for same in (
        pickle.loads(pickle.dumps(odd)),
        PosteriorPlan.from_json(posterior.model, json.loads(json.dumps(odd.to_json()))),
    ):
        assert same.choice == odd.choice
        assert same.attributes()["reason"] == "somebody wanted it"
        assert same_arrays(replace(same, settings=same.settings.silent()), odd)
    assert not same_arrays(chosen, odd)  # the control


def test_settings_come_back_from_json() -> None:
    plan = plan_of(
        Posterior(league()),
        draws=np.int64(7),
        seed=np.random.SeedSequence([1, 2], spawn_key=(3,)),
        initial=np.full(6, 1 / 6),
        quantiles=[0.9, 0.1],
        keep=["Bo"],
        chunk_steps=11,
        place_seconds=0.5,
    )
    again = PosteriorPlan.from_json(plan.model, json.loads(json.dumps(plan.to_json())))
    for name in ("draws", "quantiles", "chunk_steps", "place_seconds", "block_bytes"):
        assert getattr(again.settings, name) == getattr(plan.settings, name)
    seed, other = plan.settings.seed_sequence(), again.settings.seed_sequence()
    assert (seed.generate_state(4) == other.generate_state(4)).all()
    assert again.kept is not None
    assert again.kept.tolist() == [1]


def test_some_chains_alone_are_those_of_the_whole_run() -> None:
    every = walk_plan().new_chains()
    two = walk_plan().new_chains([3, 1])
    assert [chain.number for chain in two] == [3, 1]
    for chain in two:
        twin = every[chain.number]
        assert all((a == twin.snapshot()[k]).all() for k, a in chain.snapshot().items())


def test_a_core_alone_is_never_stored() -> None:
    model = Posterior(league()).model
    plan = CorePlan(model.shapes, 0, Settings(method="waiting-times", progress=False, **SHORT))
    assert plan.attributes() == {}
    assert plan.groups() == {}
    with pytest.raises(MethodError, match="not stored"):
        plan.to_json()

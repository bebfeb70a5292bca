"""Public objects travel between processes: pickled and back they are the same."""

import copy
import inspect
import pickle
import warnings
from collections.abc import Callable
from typing import Any

import pytest

import luce
from luce.errors import Problem
from luce.reading.ties import HalfWinsWarning

COUNTS = luce.ConditionalCounts(["Ann", ("Bo", 2), 3]).observe(
    {"Ann": 5, 3: 2}, without=[("Bo", 2)]
)
CORE = COUNTS.observe({"Ann": 2, ("Bo", 2): 1}, within=["Ann", ("Bo", 2)])
POSTERIOR = luce.Posterior(COUNTS, [0.5, 1.5, 2.0])
BAD = [Problem(3, "a count is negative."), Problem(0, "no header.")]


def as_error(error: Any) -> Any:
    return type(error), str(error), {k: repr(v) for k, v in vars(error).items()}


def as_arrays(family: Any) -> Any:
    return [family.n, *(x.tolist() for x in (family.members, family.set_end, family.exponent))]


def as_posterior(posterior: luce.Posterior) -> Any:
    run = posterior.sample(20, chains=2, seed=1, warmup=5, progress=False)
    draws = run.posterior["probabilities"].values.tolist()
    return posterior.counts.digest, posterior.concentration.tolist(), draws, repr(posterior)


def drawing() -> luce.Posterior:
    """A posterior that has been used: what it keeps must travel too, or be left behind."""
    posterior = luce.Posterior(CORE, 0.7)
    assert "method: " in str(posterior.structure)
    posterior.mode()
    return posterior


# What is pickled, and what must be the same afterwards.
OBJECTS: dict[str, tuple[Callable[[], Any], Callable[[Any], Any]]] = {
    "counts": (lambda: CORE, lambda c: (c.digest, c.categories, c.n_outcomes, c == CORE)),
    "set family": (lambda: CORE.sets, as_arrays),
    "posterior": (lambda: POSTERIOR, as_posterior),
    "posterior in use": (drawing, as_posterior),
    "posterior of a process": (
        lambda: luce.Posterior(
            luce.ConditionalCounts(["a", "b", "remainder"]).observe({"a": 2, "b": 1}),
            luce.DirichletProcess(2.0)), as_posterior),
    "structure": (lambda: drawing().structure, str),
    "gamma": (lambda: luce.Gamma(2.0, 3.0), repr),
    "process": (lambda: luce.DirichletProcess(luce.Gamma(2.0, 1.0), {"a": 0.5}), repr),
    "mode": (lambda: POSTERIOR.mode("log-odds"), lambda m: (repr(m), m.scale, m.values.tolist())),
    "likelihood": (lambda: luce.maximum_likelihood(COUNTS.observe({3: 1, ("Bo", 2): 1})), repr),
    "evidence": (POSTERIOR.log_evidence, lambda e: (float(e), e.standard_error, e.method)),
    "factor": (lambda: luce.bayes_factor(POSTERIOR, luce.Posterior(COUNTS)), repr),
    "hypothesis": (
        lambda: luce.hypothesis(POSTERIOR, larger=["Ann", 3], seed=1, progress=False), repr),
    "run": (lambda: POSTERIOR.sample(9, seed=1, progress=False), lambda r: r.posterior.to_dict()),
    "summary": (lambda: luce.summary(POSTERIOR.sample(500, seed=1, progress=False)), str),
    "transitions": (lambda: luce.HDPTransitions(3), repr),
}  # fmt: skip

ERRORS = [
    luce.LuceError("a"), luce.errors.DataError("b"), luce.errors.DiskFullError("e"),
    luce.errors.MethodError("c"), luce.errors.NotExactError("d", 3),
    luce.errors.NoMaximumError("e", [["a"], ["b", "c"]]),
    luce.errors.BadRowsError(BAD, "line", "f.csv"), luce.errors.DroppedTiesWarning("l"),
    luce.errors.ConfoundedHomeWarning("c"),
    luce.errors.SkippedRowsWarning(BAD, "row", "g.csv", "advice"),
    luce.ConvergenceWarning("h", 1.2, 30.0),
    luce.errors.QuestionsError(["which?", "where?"]), luce.errors.UncheckedDataWarning("k"),
    luce.errors.IgnoredColumnsWarning({"price": "numbers", "age": "numbers"}, "l.csv"),
    luce.errors.EvidenceWarning("i", {"bridge": (1.0, 0.1, 3.0)}), HalfWinsWarning("j"),
]  # fmt: skip


@pytest.mark.filterwarnings("ignore::luce.ConvergenceWarning")
@pytest.mark.parametrize("name", OBJECTS)
def test_an_object_is_the_same_afterwards(name: str) -> None:
    make, shown = OBJECTS[name]
    given = make()
    for again in (pickle.loads(pickle.dumps(given)), copy.deepcopy(given)):
        assert type(again) is type(given)
        assert shown(again) == shown(given)


@pytest.mark.parametrize("error", ERRORS, ids=lambda e: type(e).__name__)
def test_an_error_is_the_same_afterwards(error: Exception) -> None:
    assert as_error(pickle.loads(pickle.dumps(error))) == as_error(error)


def test_no_public_error_is_left_out() -> None:
    public = {value for value in vars(luce.errors).values() if inspect.isclass(value)}
    wanted = {c for c in public if inspect.isclass(c) and issubclass(c, Exception | Warning)}
    assert {type(error) for error in ERRORS} == wanted


def test_a_reader_says_in_a_worker_what_it_says_here() -> None:
    with pytest.raises(luce.errors.BadRowsError) as caught:
        luce.from_pairs([("a", "a"), ("a", "b"), ("b", "b")])
    again = pickle.loads(pickle.dumps(caught.value))
    assert [p.place for p in again.problems] == [1, 3]
    assert str(again) == str(caught.value)
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        luce.from_pairs([("a", "a"), ("a", "b")], skip_bad=True)
    message = seen[0].message
    assert str(pickle.loads(pickle.dumps(message))) == str(message)

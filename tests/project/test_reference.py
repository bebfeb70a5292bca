"""The site's reference and tables of output are complete: everything public, everything in a run.

`make docs` finds links that lead nowhere and docstrings about parameters that do not exist.  What
is merely missing it cannot find; that is looked for here.
"""

import importlib
import inspect
import re
import types
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import luce
from luce.paper.examples import paper_posterior

DOCS = Path(__file__).parents[2] / "docs"
MODULES = {name for name in luce.__all__ if isinstance(getattr(luce, name), types.ModuleType)}

DIRECTIVE = re.compile(r"^::: luce\.([\w.]+)$", re.MULTILINE)


def described(pages: list[str]) -> set[str]:
    """What pages of the reference take from docstrings, `shares` or `plots.shares`, say."""
    names = [name for page in pages for name in DIRECTIVE.findall(page)]
    assert len(names) == len(set(names)), "described twice"
    return set(names)


def public_names() -> set[str]:
    """Names that the reference must describe: flat ones, and those of the rooms."""
    flat = set(luce.__all__) - MODULES - {"__version__"}
    rooms = {room: getattr(luce, room) for room in MODULES - {"plots", "simulate"}}
    homes = {getattr(luce, name) for name in flat}
    inside = {
        f"{room}.{name}"
        for room, module in rooms.items()
        for name in (getattr(module, "__all__", None) or own_classes(module))
        if not needs_a_host(f"{room}.{name}") and getattr(module, name) not in homes
    }
    return flat | inside | {"plots", "simulate"}


def needs_a_host(name: str) -> bool:
    """Is this a module that imports a package which may not be there?"""
    return name in ("embed.blackjax", "embed.numpyro", "embed.pymc")


def own_classes(module: Any) -> list[str]:
    """Classes that a module without `__all__` defines."""
    found = inspect.getmembers(module, inspect.isclass)
    return [n for n, c in found if c.__module__ == module.__name__ and not n.startswith("_")]


def missing(pages: list[str]) -> set[str]:
    """Public names that no page describes."""
    return public_names() - described(pages)


def own_functions(module: Any) -> list[str]:
    """Functions that a module without `__all__` defines, and does not hide."""
    found = inspect.getmembers(module, inspect.isfunction)
    return [n for n, f in found if f.__module__ == module.__name__ and not n.startswith("_")]


API = [path.read_text(encoding="utf-8") for path in sorted((DOCS / "api").glob("*.md"))]


def test_every_public_name_is_in_the_reference() -> None:
    assert missing(API) == set()
    for module in (luce.plots, luce.simulate):  # described by what they call public
        names = getattr(module, "__all__", None) or own_functions(module)
        assert [n for n in names if not getattr(module, n).__doc__] == []


def test_a_name_left_out_is_missed() -> None:
    shorter = [page.replace("::: luce.elo\n", "").replace("::: luce.plots\n", "") for page in API]
    assert missing(shorter) == {"elo", "plots"}


def test_the_reference_describes_what_there_is() -> None:
    for name in sorted(described(API)):
        if name.startswith(("embed.pymc", "embed.numpyro", "embed.blackjax")):
            assert (
                (DOCS.parent / "src/luce" / Path(*name.split(".")[:-1])).with_suffix(".py").exists()
            )
            continue
        found: Any = luce
        for part in name.split("."):
            if not hasattr(found, part):
                importlib.import_module(f"{found.__name__}.{part}")
            found = getattr(found, part)
        assert found.__doc__, name


def test_every_page_is_reached_from_the_first() -> None:
    """Where to begin is said on the home page, which lists all pages but examples and theory."""
    home = (DOCS / "index.md").read_text(encoding="utf-8")
    begun = {"start", "choosing", "data", "reading", "command-line", "output", "embedding", "large"}
    begun |= {"model", "paper", "speed", "developers", "api/index"}
    assert {name for name in begun if f"({name}.md)" not in home} == set()


def test_the_citation_is_of_this_version() -> None:
    citation = (DOCS.parent / "CITATION.cff").read_text(encoding="utf-8")
    assert f"\nversion: {luce.__version__}\n" in citation


# -- what a run holds -------------------------------------------------------------------------

CORNERS = luce.ConditionalCounts("abc").observe({"a": 2, "b": 1}, within="ab")
CORNERS = CORNERS.observe({"b": 3, "c": 2}, within="bc")
INSECTS = luce.ConditionalCounts(["ant", "bee", "remainder"]).observe({"ant": 5, "bee": 3})
INSECTS = INSECTS.observe({"bee": 4}, without=["ant"])
MATCHES = {
    "side1": [{"a": 1, "b": 0.5}, ["c"], ["a"]],
    "side2": [["c"], ["a", "b"], ["b"]],
    "outcome": ["side1", "tie", "side2"],
}
TIED = [["a", {"b", "c"}, "d"], ["b", "a", {"c", "d"}], [{"a", "d"}, "c", "b"]]
NIGHTS = [list("wldld"), list("ldlw")]
QUIET: dict[str, Any] = {"progress": False}


def sampled(**options: Any) -> Any:
    return paper_posterior(10).sample(20, **{"seed": 1, **QUIET, **options})


def of(counts: luce.ConditionalCounts, prior: Any, **options: Any) -> Any:
    return luce.Posterior(counts, prior).sample(20, seed=1, **QUIET, **options)


def fitted(*model: Any, **options: Any) -> Any:
    return luce.HDPTransitions(*model).fit(NIGHTS, 20, seed=1, **QUIET, **options)


def stored() -> Any:
    luce.save(sampled(), "run.nc")
    return luce.load("run.nc")


def updated() -> Any:
    run = luce.Posterior(luce.ConditionalCounts("abc").observe({"a": 1})).sample(seed=1, **QUIET)
    return luce.update(run, luce.ConditionalCounts("ab").observe({"b": 1}), seed=2)


RUNS: dict[str, Callable[[], Any]] = {
    "exact": lambda: of(luce.ConditionalCounts("abc").observe({"a": 1}), 1.0),
    "rejection": lambda: sampled(method="rejection"),
    "from-the-past": lambda: sampled(method="from-the-past"),
    "hamiltonian": lambda: sampled(method="hamiltonian"),
    "waiting times": lambda: sampled(method="waiting-times"),
    "hidden counts": lambda: sampled(method="hidden-counts"),
    "metropolis": lambda: sampled(method="metropolis"),
    "raw": lambda: sampled(method="waiting-times", reduce=False),
    "logarithms": lambda: of(CORNERS, 1.0, log_probabilities=True),
    "one concentration each": lambda: of(CORNERS, [1.0, 2.0, 3.0]),
    "drawn concentration": lambda: of(CORNERS, luce.Gamma(2, 1)),
    "updated": updated,
    "process": lambda: of(INSECTS, luce.DirichletProcess(2.0)),
    "process, drawn concentration": lambda: of(INSECTS, luce.DirichletProcess(luce.Gamma(2, 1))),
    "contests": lambda: of(luce.from_teams(MATCHES, ties="davidson", home="first"), 1.0),
    "ties in rankings": lambda: of(luce.from_rankings(TIED, ties="davidson-luce"), 1.0),
    "unknown orders": lambda: of(luce.from_rankings(TIED, ties="unknown"), 1.0),
    "weights": lambda: of(luce.from_teams([({"a": 1, "b": 0.5}, ["c"])]), 1.0),
    "certified": lambda: sampled(method="waiting-times", warmup="certified"),
    "given starts": lambda: sampled(method="waiting-times", initial=np.full(10, 0.1)),
    "some kept": lambda: sampled(keep=[1, 2], thin=2),
    "until": lambda: sampled(method="waiting-times", until=20),
    "spawned seed": lambda: sampled(seed=np.random.SeedSequence(1).spawn(2)[1]),
    "streamed": lambda: sampled(to="run.zarr", quantiles=[0.1, 0.9], keep=[1]),
    "stored": stored,
    "sharded": lambda: luce.sample_sharded([CORNERS], 20, seed=1, cluster=None, **QUIET),
}
TRANSITIONS: dict[str, Callable[[], Any]] = {
    "numbers": lambda: fitted(["w", "l", "d"], 2.0, 3.0),
    "drawn": lambda: fitted(["w", "l", "d"], luce.Gamma(2, 1), luce.Gamma(2, 1)),
    "nonparametric": lambda: fitted("nonparametric", luce.Gamma(2, 1), 3.0, rows=False),
}

SERIES_ROWS = np.random.default_rng(1).normal(size=(30, 2))


def segmented(*model: Any, series: Any = SERIES_ROWS, **options: Any) -> Any:
    settings = {"draws": 8, "chains": 2, "seed": 1, **QUIET, **options}
    return luce.SemiMarkov(3, *model).fit(series, **settings)


def timed() -> Any:
    frame = pd.DataFrame({"time": range(30), "day": list("a" * 20 + "b" * 10)})
    frame["x"] = SERIES_ROWS[:, 0]
    settings = {"columns": ["x"], "sequence": "day", "time": "time", "candidates": [[5], [3]]}
    law = luce.sequences.NegativeBinomial(mean=5)
    return segmented(luce.sequences.DiagonalGaussian(), law, 2.0, 3.0, series=frame, **settings)


SERIES: dict[str, Callable[[], Any]] = {
    "gaussian": lambda: segmented(luce.sequences.Gaussian(), luce.sequences.Poisson(mean=5)),
    "autoregressive": lambda: segmented(luce.sequences.Autoregressive()),
    "labels": lambda: segmented(
        luce.sequences.Categories(), luce.sequences.Histogram(np.ones(9)), series=list("aab" * 10)
    ),
    "times": timed,
}

ROW = re.compile(r"^\| `(\w+)` \| ((?:`\w+`(?:, )?)+) \|([\w, ]*)\|", re.MULTILINE)


def tabled(page: str) -> dict[tuple[str, str], tuple[str, ...]]:
    """Dimensions of each (group, variable) that the page lists."""
    return {
        (group, name): tuple(dims.strip().split(", ")) if dims.strip() else ()
        for group, names, dims in ROW.findall(page)
        for name in re.findall(r"`(\w+)`", names)
    }


def attributes_of(page: str) -> set[str]:
    """Attributes that the page lists: the first column of their table, and those in the text."""
    part = page.split("## Attributes")[1].split("## ")[0]
    listed = [
        c for line in part.splitlines() if line.startswith("| `") for c in line.split("|")[1:2]
    ]
    beside = [line for line in part.splitlines() if line.startswith("`observed_data` has")]
    return set(re.findall(r"`(\w+)`", " ".join(listed + beside)))


def unnamed(run: Any, page: str, attributes: set[str]) -> set[str]:
    """What a run holds and the page does not name, or names with other dimensions."""
    known = tabled(page)
    words = set(re.findall(r"`(\w+)`", page))
    found = set()
    for node in run.subtree:
        group = node.path.strip("/")
        found |= {f"attribute {name}" for name in node.attrs if name not in attributes}
        found |= {
            f"{group}/{name} {variable.dims}"
            for name, variable in node.data_vars.items()
            if known.get((group, str(name))) != variable.dims
        }
        found |= {f"coordinate {c}" for c in node.coords if c not in words and c != "quantile"}
    return found


OUTPUT = (DOCS / "output.md").read_text(encoding="utf-8")
HSMM = (DOCS / "hsmm.md").read_text(encoding="utf-8")
TIME_SERIES = (DOCS / "time-series.md").read_text(encoding="utf-8")


@pytest.mark.filterwarnings("ignore::luce.ConvergenceWarning")
@pytest.mark.parametrize("name", RUNS)
def test_everything_in_a_run_is_named(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert unnamed(RUNS[name](), OUTPUT, attributes_of(OUTPUT)) == set()


@pytest.mark.filterwarnings("ignore::luce.ConvergenceWarning")
@pytest.mark.parametrize("name", TRANSITIONS)
def test_everything_in_a_run_of_transitions_is_named(name: str) -> None:
    extra = HSMM + " `chain` `draw`"  # which output.md tells
    assert unnamed(TRANSITIONS[name](), extra, attributes_of(OUTPUT)) == set()


@pytest.mark.filterwarnings("ignore::luce.ConvergenceWarning")
@pytest.mark.parametrize("name", SERIES)
def test_everything_in_a_run_of_a_time_series_is_named(name: str) -> None:
    own = set(re.findall(r"`(\w+)`", TIME_SERIES))
    assert unnamed(SERIES[name](), TIME_SERIES, attributes_of(OUTPUT) | own) == set()


@pytest.mark.filterwarnings("ignore::luce.ConvergenceWarning")
def test_the_page_of_time_series_names_nothing_that_never_is() -> None:
    nodes = [node for make in SERIES.values() for node in make().subtree]
    there = {(node.path.strip("/"), str(name)) for node in nodes for name in node.data_vars}
    assert set(tabled(TIME_SERIES)) <= there


@pytest.mark.filterwarnings("ignore::luce.ConvergenceWarning")
def test_what_the_page_leaves_out_is_found() -> None:
    run = sampled(method="metropolis")
    page = OUTPUT.replace("| `sample_stats` | `accepted` |", "| `sample_stats` | `taken` |")
    page = page.replace(
        "| `observed_data` | `set_end` | set |", "| `observed_data` | `set_end` | |"
    )
    assert unnamed(run, page, attributes_of(OUTPUT) - {"warmup"}) == {
        "sample_stats/accepted ('chain', 'draw', 'core')",
        "observed_data/set_end ('set',)",
        "attribute warmup",
    }


@pytest.mark.filterwarnings("ignore::luce.ConvergenceWarning")
def test_the_page_names_nothing_that_never_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    runs = [make() for make in (*RUNS.values(), *TRANSITIONS.values())]
    nodes = [(node.path.strip("/"), node) for run in runs for node in run.subtree]
    assert set(tabled(OUTPUT)) <= {(group, v) for group, node in nodes for v in node.data_vars}
    there = {str(name) for _, node in nodes for name in node.attrs} | {"observed_data"}
    assert attributes_of(OUTPUT) <= there

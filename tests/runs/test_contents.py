"""Contents of a run that cannot be right are refused, whoever wrote them."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import xarray as xr
from lib.saved_runs import core_run, run_over, write_raw
from lib.streaming_runs import draw

import luce
from luce import DirichletProcess, Gamma
from luce.errors import DataError
from luce.runs.contents import check_run
from luce.runs.encoding import stored_form


@pytest.fixture(scope="module")
def run() -> xr.DataTree:
    return core_run()


def change(group: str, name: str, edit: Callable[[Any], Any]) -> Callable[[xr.DataTree], None]:
    def apply(tree: xr.DataTree) -> None:
        old = tree[group][name]
        values = edit(old.values.copy())
        tree[group] = tree[group].to_dataset().drop_vars(name).assign({name: (old.dims, values)})

    return apply


def put(index: Any, value: Any) -> Callable[[Any], Any]:
    def apply(values: Any) -> Any:
        values[index] = value
        return values

    return apply


def without(group: str, name: str) -> Callable[[xr.DataTree], None]:
    def apply(tree: xr.DataTree) -> None:
        tree[group] = tree[group].to_dataset().drop_vars(name)

    return apply


def attribute(group: str, name: str, value: Any) -> Callable[[xr.DataTree], None]:
    return lambda tree: tree[group].attrs.update({name: value})


def remove_group(tree: xr.DataTree) -> None:
    del tree["sample_stats"]


WRONG: list[tuple[Callable[[xr.DataTree], Any], str]] = [
    (attribute("/", "format", "other"), "not written by luce.save"),
    (attribute("/", "format_version", 4), "Install a newer luce"),
    (attribute("/", "format_version", "1"), "a number from 1 on"),
    (attribute("/", "format_version", 0), "a number from 1 on"),
    (attribute("/", "format_version", 2), "from before luce was released"),
    (attribute("/", "data_digest", "0"), "not the data that this run was drawn from"),
    (attribute("/", "json_attributes", "{"), "not typed JSON"),
    (attribute("/", "json_attributes", '["seed_"]'), "should be typed JSON"),
    (attribute("observed_data", "n_outcomes", -1.0), "n_outcomes"),
    (remove_group, "no group 'sample_stats'"),
    (without("posterior", "probabilities"), "no variable 'probabilities'"),
    (without("observed_data", "set_end"), "no variable 'set_end'"),
    (without("posterior", "category"), "no coordinate 'category'"),
    (change("posterior", "probabilities", put((0, 0, 0), np.nan)), "not between 0 and 1"),
    (change("posterior", "probabilities", put((0, 0, 0), -0.1)), "not between 0 and 1"),
    (change("posterior", "probabilities", lambda p: p * 0.999), "do not add up to 1"),
    (change("posterior", "probabilities", lambda p: p.astype(np.float32)), "float64"),
    (change("observed_data", "category_counts", put(0, -1.0)), "not negative"),
    (change("observed_data", "category_counts", put(0, 9.0)), "was drawn from"),
    (change("observed_data", "set_exponent", put(0, 0.0)), "not 0"),
    (change("observed_data", "set_exponent", put(0, -77.0)), "was drawn from"),
    (change("observed_data", "set_members", put(0, 4)), r"0\.\.3"),
    (change("observed_data", "set_members", put(0, -1)), r"0\.\.3"),
    (change("observed_data", "set_members", lambda m: np.zeros_like(m)), "twice"),
    (change("observed_data", "set_end", put(-1, 99)), "set_end must grow"),
    (change("observed_data", "set_end", put(0, 0)), "set_end must grow"),
    (change("observed_data", "set_nest_start", put(0, 1)), "set_nest_start must grow"),
    (change("observed_data", "set_nest_start", put(1, 99)), "set_nest_start must grow"),
    (change("observed_data", "set_nest_sets", put(-1, 99)), "set_nest_sets must grow"),
    (change("observed_data", "set_nest_sets", lambda s: s.astype(float)), "int64"),
    (change("constant_data", "concentration", put(0, -1.0)), "positive"),
]


@pytest.mark.parametrize(
    ("wrong", "words"),
    [pytest.param(*each, marks=pytest.mark.slow if k % 3 else ()) for k, each in enumerate(WRONG)],
    ids=lambda w: w if isinstance(w, str) else "",
)
def test_wrong_contents_are_refused(
    wrong: Callable[[xr.DataTree], Any], words: str, run: xr.DataTree, tmp_path: Path
) -> None:
    tree = stored_form(run)
    wrong(tree)
    write_raw(tree, tmp_path / "run.nc")
    with pytest.raises(luce.LuceError, match=words):
        luce.load(tmp_path / "run.nc")


@pytest.mark.filterwarnings("ignore::luce.ConvergenceWarning")
def test_what_a_run_says_of_its_prior_must_make_sense() -> None:
    def refused(name: str, words: str, **attributes: Any) -> None:
        run = draw(name)
        run.attrs.update(attributes)
        with pytest.raises(DataError, match=words):
            luce.posterior_of(run)

    refused("concentration", "a shape and a rate are needed", concentration_prior=[1.0])
    refused("process", "process_remainder is 3", process_remainder=3)
    refused("exact", "given in 4 pieces", data_pieces=4)
    assert repr(luce.posterior_of(draw("process")).prior) == repr(DirichletProcess(2.0))
    assert luce.posterior_of(draw("concentration")).prior.hyperprior == Gamma(2, 1)


@pytest.mark.filterwarnings("ignore::luce.ConvergenceWarning")
def test_contents_that_contradict_each_other_are_refused() -> None:
    def refused(words: str, run: xr.DataTree, **variables: Any) -> None:
        changed = run.copy()
        changed["posterior"] = run.posterior.to_dataset().assign(variables)
        with pytest.raises(DataError, match=words):
            check_run(changed)

    run = draw("exact")
    p = run.posterior["probabilities"]
    renamed = run.copy()
    renamed["posterior"] = run.posterior.to_dataset().assign_coords(category=list("abcdx"))
    refused("do not have the same categories", renamed)
    nameless = run.copy()
    nameless["posterior"] = run.posterior.to_dataset().drop_vars("category")
    refused("has no coordinate 'category'", nameless)
    refused("log_probabilities holds numbers that are not at most 0", run, log_probabilities=p)
    refused("log_probabilities holds .*float64 with dimensions", run, log_probabilities=p[:, :, 0])
    refused("probabilities holds no draws", run.isel(draw=slice(0)))
    outcomes = run.copy()
    outcomes["observed_data"].attrs["n_outcomes"] = -1.0
    refused(r"n_outcomes is -1\.0", outcomes)
    gamma = draw("concentration")
    refused("not positive", gamma, concentration=-gamma.posterior["concentration"])
    check_run(run)


def test_a_run_with_logarithms_alone_is_refused() -> None:
    run = run_over()
    run["posterior"] = run.posterior.to_dataset().drop_vars("probabilities")
    assert "log_probabilities" in run.posterior
    with pytest.raises(DataError, match="no variable 'probabilities'"):
        check_run(run)


def test_variables_that_were_added_are_let_be() -> None:
    run = run_over()
    days = xr.Variable("draw", np.arange(20, dtype=np.int32))
    run["posterior"] = run.posterior.to_dataset().assign(days=days, log_days=np.log(days + 1))
    check_run(run)

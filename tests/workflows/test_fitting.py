"""`luce.fit`: the draws of its steps one by one, and those of the command."""

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from lib.streaming_runs import same_numbers

import luce
from luce.cli import main
from luce.errors import DataError

GAMES = "white,black,result,round\nAnn,Bo,1-0,1\nBo,Cy,1/2-1/2,1\nCy,Ann,0-1,2\nBo,Ann,1-0,2\n"
READ: dict[str, Any] = {"ties": "davidson", "home": "first", "ignore": ["round"]}
QUICK: dict[str, Any] = {"draws": 60, "chains": 2, "seed": 3, "until": None, "progress": False}

pytestmark = pytest.mark.filterwarnings("ignore::luce.ConvergenceWarning")


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "games.csv"
    path.write_text(GAMES)
    return path


@pytest.mark.compiled
def test_fit_is_its_steps_one_by_one(file: Path) -> None:
    prior = {"home_prior": luce.Gamma(4.0, 3.0), "tie_prior": 0.5}
    found = luce.fit(file, concentration=2.0, **prior, **READ, **QUICK)
    counts = luce.read(file, **READ)
    posterior = luce.Posterior(counts, 2.0, home=luce.Gamma(4.0, 3.0), tie=0.5)
    assert same_numbers(found, posterior.sample(**QUICK))
    other = luce.Posterior(counts, 1.0, home=luce.Gamma(4.0, 3.0), tie=0.5)
    assert not same_numbers(found, other.sample(**QUICK))  # the control
    frame = pd.read_csv(file)
    for data in (frame, frame.to_dict("list"), frame.to_dict("records")):
        assert same_numbers(luce.fit(data, concentration=2.0, **prior, **READ, **QUICK), found)
    assert same_numbers(luce.fit(counts, concentration=2.0, **prior, **QUICK), found)
    assert same_numbers(luce.fit(posterior, **QUICK), found)


@pytest.mark.compiled
@pytest.mark.parametrize(
    ("words", "keywords"),
    [
        ("", {}),
        ("--only Ann,Bo --concentration 0.5 --until 300", {"only": ["Ann", "Bo"], "until": 300.0,
         "concentration": 0.5}),
        ("--home-prior 3,2 --tie-prior 1.5 --method hamiltonian --until none",
         {"home_prior": luce.Gamma(3.0, 2.0), "tie_prior": 1.5, "method": "hamiltonian",
          "until": None}),
    ],
)  # fmt: skip
def test_the_command_has_the_draws_of_the_function(
    file: Path, words: str, keywords: dict[str, Any], tmp_path: Path
) -> None:
    usual = "--ties davidson --home first --ignore round --draws 60 --chains 2 --seed 3"
    out = tmp_path / "run.nc"
    assert main(["fit", str(file), *usual.split(), *words.split(), "--out", str(out)]) in (0, 3)
    how = {**READ, "draws": 60, "chains": 2, "seed": 3, "progress": False, **keywords}
    assert same_numbers(luce.load(out), luce.fit(file, **how))


def test_draws_go_on_until_the_check_is_met_unless_they_go_to_a_disk(tmp_path: Path) -> None:
    games = {"winner": list("abca"), "loser": list("bcab")}
    how: dict[str, Any] = {"draws": 150, "chains": 2, "seed": 1, "progress": False}
    run = luce.fit(games, method="waiting-times", **how)
    assert run.attrs["until"] == "converged"
    assert run.posterior.sizes["draw"] > 150
    stream = luce.fit(games, method="waiting-times", to=tmp_path / "run.zarr", **how)
    assert stream.posterior.sizes["draw"] == 150


def test_separate_rows_are_one_run() -> None:
    moves = {"from": list("abcab"), "to": list("bcaca")}
    run = luce.fit(moves, "transitions", rows="separate", draws=20, seed=1, until=None)
    assert run.attrs["model"] == "separate-rows"
    with pytest.raises(DataError, match="transitions have no such parameter"):
        luce.fit(moves, "transitions", rows="separate", home_prior=1.0)


def test_what_has_no_meaning_is_refused(file: Path) -> None:
    counts = luce.read(file, **READ)
    posterior = luce.Posterior(counts)
    for words, data, how in (
        ("kind = 'pairs' has no meaning where counts are given", counts, {"kind": "pairs"}),
        ("the number of draws is named: draws=1000", counts, {"kind": 1000}),
        ("ties = 'half' has no meaning where counts", counts, {"ties": "half"}),
        ("concentration = 2.0 has no meaning where a posterior", posterior, {"concentration": 2.0}),
        ("encoding = 'utf-8' is for files of text", {"a": [1]}, {"encoding": "utf-8"}),
        ("without names of columns", [["a", "b"]], {}),
        ("there is no such file", file.with_name("none.csv"), {}),
        ("curl -sL 'https://a.org/b c.csv' | luce fit -", "https://a.org/b c.csv", {}),
    ):
        with pytest.raises(DataError, match=f"(?i){words.replace('|', '[|]')}"):
            luce.fit(data, **how)


def test_counts_keep_some_categories(file: Path) -> None:
    counts = luce.read(file, **READ)
    run = luce.fit(counts, only=["Ann", "Bo"], **QUICK)
    assert run.posterior["category"].values.tolist() == ["Ann", "Bo"]
    assert np.isfinite(run.posterior["probabilities"].values).all()

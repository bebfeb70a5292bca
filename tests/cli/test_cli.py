"""The command line: its words, its exit codes, and the files that it leaves behind."""

import io
import re
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from lib.processes import without_compilation
from lib.streaming_runs import BrokenOff
from lib.toy_plans import states_plan

import luce
from luce.cli import main
from luce.cluster.execution import carry_out
from luce.posterior import Posterior

pytestmark = pytest.mark.filterwarnings("ignore::luce.ConvergenceWarning")


CYCLE = "winner,loser\na,b\nb,c\nc,a\na,b\n"
APART = "winner,loser\na,b\nc,d\na,b\n"


@pytest.fixture
def games(tmp_path: Path) -> Path:
    """Three players who beat each other in turn: a core."""
    path = tmp_path / "games.csv"
    path.write_text(CYCLE)
    return path


@pytest.fixture
def apart(tmp_path: Path) -> Path:
    """Two duels that have nothing to do with each other: exact."""
    path = tmp_path / "apart.csv"
    path.write_text(APART)
    return path


def run(capsys: pytest.CaptureFixture[str], *arguments: object) -> tuple[int, str, str]:
    code = main([str(argument) for argument in arguments])
    said = capsys.readouterr()
    # Without numba, numpy warns of words that wrap around as they should.
    lines = without_compilation(said.err).splitlines(True)
    return code, said.out, "".join(line for line in lines if "overflow encountered" not in line)


def values_of(path: Path) -> np.ndarray:
    found: np.ndarray = luce.load(path).posterior["probabilities"].values
    return found


# -- fit and inspect -------------------------------------------------------------------------------


def test_fit_saves_what_it_draws(
    apart: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    common = ["fit", apart, "--draws", 30, "--chains", 2, "--seed", 3, "--concentration", 2]
    target = tmp_path / "run.nc"
    code, out, err = run(capsys, *common, "--out", target, "--most", 2)
    assert (code, err) == (0, "")
    assert out.splitlines()[0] == "apart.csv: pairs: 3 comparisons among 4 categories"
    assert out.splitlines()[-3:] == [
        "2 chains of 30 draws, method exact, seed 3.",
        "Trust the draws with care: 60 draws in all; at least 400 are wanted.",
        f"Saved: {target}",
    ]
    fresh = luce.Posterior(luce.read(apart), 2.0).sample(30, chains=2, seed=3, progress=False)
    np.testing.assert_array_equal(values_of(target), fresh.posterior["probabilities"].values)
    folder = tmp_path / "run.zarr"
    code, out, err = run(capsys, *common, "--out", folder, "--stream")
    assert (code, err) == (0, "")
    assert out.splitlines()[-1] == f"Written: {folder}"
    np.testing.assert_array_equal(values_of(folder), values_of(target))
    code, out, err = run(capsys, *common, "--stream")
    assert (code, out) == (1, "")
    assert err == "luce: --stream needs --out RUN, the folder that draws are written to.\n"
    code, _, err = run(capsys, *common, "--most", 0)
    assert (code, err[:18]) == (1, "luce: --most = 0; ")


def test_draws_that_are_not_to_be_trusted_have_an_exit_code(
    games: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    code, out, err = run(
        capsys, "fit", games, "--draws", 12, "--chains", 2, "--seed", 1, "--method", "waiting-times"
    )
    assert code == 3
    assert "method waiting-times" in out
    assert re.match(r"luce: .*do not trust these draws yet", err, re.DOTALL)


@pytest.mark.compiled
@pytest.mark.parametrize(
    "draws", [10, 120, 1000, *(pytest.param(n, marks=pytest.mark.slow) for n in (60, 250))]
)
def test_fit_and_report_are_of_one_mind(
    draws: int, games: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """On either side of the bound, with the same words and the same exit code."""
    target = tmp_path / "run.nc"
    fit = ("fit", games, "--method", "waiting-times", "--seed", 1, "--until", "none")
    code, out, _ = run(capsys, *fit, "--draws", draws, "--out", target)
    assert draws not in (10, 1000) or code == (3 if draws == 10 else 0)
    told, page, _ = run(capsys, "report", target, "--out", tmp_path / "run.html")
    assert told == code
    headline = page.splitlines()[0].rstrip(".")
    assert any(line.startswith(headline) for line in out.splitlines())


@pytest.mark.compiled
def test_fit_draws_on_until_its_check_is_met(
    games: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    fit = ("fit", games, "--method", "waiting-times", "--seed", 1, "--draws", 40)
    assert run(capsys, *fit, "--until", "none")[0] == 3  # the control: 40 are too few
    code, out, err = run(capsys, *fit)
    assert (code, err) == (0, "")
    assert "40 draws a chain were asked for; more followed, by --until." in out
    code, out, err = run(capsys, *fit, "--until", 1e6)
    assert code == 3
    assert "4 chains of 640 draws" in out
    assert "until=1e+06 was not met after 640 draws of each chain, 16 times those asked for" in err
    stream = ("--stream", "--out", tmp_path / "run.zarr")
    assert "4 chains of 40 draws" in run(capsys, *fit, *stream)[1]
    code, _, err = run(capsys, *fit, "--overwrite", *stream, "--until", 400)
    assert code == 1
    with pytest.raises(SystemExit):
        main([*map(str, fit), "--until", "soon"])
    assert "converged, none, or a number of effective draws" in capsys.readouterr().err


def test_rows_of_a_transition_matrix_are_one_run(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    moves, saved = tmp_path / "moves.csv", tmp_path / "run.nc"
    moves.write_text("from,to,count\na,b,2\nb,a,2\nc,a,1\na,c,1\nb,c,1\nc,b,2\n")
    fit = ["fit", moves, "--rows", "separate", "--draws", 200, "--chains", 2, "--seed", 1]
    monkeypatch.setenv("COLUMNS", "80")
    code, out, err = run(capsys, *fit, "--out", saved, "--intervals")
    assert (code, err) == (0, "")
    assert "3 rows, each with a posterior of its own" in out
    assert f"Saved: {saved}" in out
    loaded = luce.load(saved)
    found = luce.answers.transition_summary(loaded)
    assert found.to_text(intervals=True) in out
    rows = loaded.posterior["rows"].values
    # Rows of a and b hold the same counts; with one seed they would have the same draws.
    assert (rows[:, :, 0, 1] != rows[:, :, 1, 0]).all()
    first = np.random.SeedSequence(1).spawn(3)[0]
    counts = luce.from_transitions(
        loaded["observed_data"]["transition_counts"].values, rows="separate"
    )
    alone = luce.Posterior(counts[0]).sample(200, chains=2, seed=first, progress=False)
    np.testing.assert_array_equal(rows[:, :, 0, 1:], alone.posterior["probabilities"].values)
    monkeypatch.setenv("COLUMNS", "8")
    assert "Most probable moves" in run(capsys, *fit)[1]
    folder = tmp_path / "run.zarr"
    code, out, _ = run(capsys, *fit, "--stream", "--out", folder)
    assert (code, f"Written: {folder}" in out) == (0, True)
    assert "2 chains of 200 draws of 3 rows of transitions" in run(capsys, "resume", folder)[1]
    np.testing.assert_array_equal(luce.load(folder).posterior["rows"].values, rows)
    code, out, _ = run(capsys, "report", folder)
    assert (code, (tmp_path / "run.html").exists()) == (0, True)
    for more, words in (
        (["--among", "a"], "are not ranked; leave --among"),
        (["--home-prior", "2,2"], "--home-prior: transitions have no such parameter"),
        (["--stream", "--out", tmp_path / "x.zarr", "--until", 50], "until="),
    ):
        code, _, err = run(capsys, *fit, *more)
        assert (code, words in err) == (1, True)
    code, _, err = run(capsys, "report", folder, "--exclude", "a")
    assert (code, "separate rows of transitions, which are not ranked" in err) == (1, True)
    code, _, err = run(capsys, "fit", moves, "--intervals")
    assert (code, "--intervals is for --rows separate" in err) == (1, True)
    code, out, _ = run(capsys, "inspect", moves, "--rows", "separate")
    assert code == 0
    assert out.count("from ") == 3


def test_bad_lines_are_told_of_or_left_out(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "games.csv"
    path.write_text("winner,loser\na,b\nb,b\n")
    code, out, err = run(capsys, "inspect", path)
    assert (code, out) == (1, "")
    assert err.splitlines() == [
        "games.csv:3: 'b' is compared with itself.",
        "luce: 1 line cannot be used; mend it, or leave it out with --skip-bad",
    ]
    code, out, err = run(capsys, "inspect", path, "--skip-bad")
    assert code == 0
    assert err == "games.csv:3: left out: 'b' is compared with itself.\n"
    assert "1 comparison among 2 categories" in out
    for wrong, words in (("winner", "ROLE=NAME is needed"), ("nobody=x", "the parts are winner")):
        code, _, err = run(capsys, "inspect", path, "--column", wrong)
        assert code == 1
        assert words in err
    named = ("--kind", "pairs", "--column", "winner=loser", "--column", "loser=winner")
    code, out, _ = run(capsys, "inspect", path, "--skip-bad", *named)
    assert (code, out.splitlines()[0]) == (0, "games.csv: pairs: 1 comparison among 2 categories")


# -- runs that were broken off ---------------------------------------------------------------------


def test_ctrl_c_saves_the_draws_so_far(
    games: Path,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The sampler returns 50 of 200 draws, as it does after Ctrl-C."""
    whole = Posterior.sample

    def interrupted(posterior: Posterior, draws: int, **options: Any) -> Any:
        tree = whole(posterior, 50, **options)
        tree.attrs["interrupted"] = 1
        return tree

    monkeypatch.setattr(Posterior, "sample", interrupted)
    target = tmp_path / "run.nc"
    fit = ("--method", "waiting-times", "--draws", 200, "--chains", 1, "--seed", 1)
    fit = (*fit, "--until", "none")
    code, out, err = run(capsys, "fit", games, *fit, "--out", target)
    assert code == 130
    assert luce.load(target).posterior.sizes["draw"] == 50
    assert err.splitlines()[-1] == "luce: interrupted. 50 of 200 draws were made."
    assert out.splitlines()[-1] == f"Saved: {target}"


def test_resume_goes_on_and_says_what_there_is(
    apart: Path,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    breaking: Callable[[int], None],
) -> None:
    folder = tmp_path / "run.zarr"
    fit = ["fit", str(apart), "--draws", "30", "--seed", "3", "--out", str(folder), "--stream"]
    breaking(1)
    with pytest.raises(BrokenOff):
        main(fit)
    breaking(10**9)  # files are written again
    capsys.readouterr()
    code, out, err = run(capsys, "resume", folder, "--threads", 1)
    assert (code, err) == (0, "")
    assert out == (
        f"{folder} is complete: 4 chains of 30 draws of 4 categories, method exact, seed 3.\n"
    )
    fresh = luce.Posterior(luce.read(apart)).sample(30, seed=3, progress=False)
    np.testing.assert_array_equal(values_of(folder), fresh.posterior["probabilities"].values)
    code, _, err = run(capsys, "resume", tmp_path / "none.zarr")
    assert (code, err) == (1, f"luce: {tmp_path / 'none.zarr'} does not exist, or is no folder.\n")


def test_resume_counts_no_categories_where_there_are_none(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "run.zarr"
    carry_out(states_plan(3, 5), folder)
    code, out, err = run(capsys, "resume", folder)
    assert (code, err) == (0, "")
    assert out == f"{folder} is complete: 2 chains of 43 draws, method toy, seed 5.\n"


# -- readers of the output -------------------------------------------------------------------------


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no /dev/full here")
def test_output_that_cannot_be_written(
    apart: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    class Full(io.StringIO):
        def flush(self) -> None:
            with open("/dev/full", "w") as nowhere:
                nowhere.write("x")

    monkeypatch.setattr("sys.stdout", Full())
    assert main(["inspect", str(apart)]) == 1
    sys.stdout.close()  # the null device that stands in for it
    said = without_compilation(capsys.readouterr().err)
    assert said == "luce: output: No space left on device\n"


def test_a_reader_that_has_seen_enough_is_no_error(
    apart: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    class Closed(io.StringIO):
        def flush(self) -> None:
            raise BrokenPipeError

    monkeypatch.setattr("sys.stdout", Closed())
    assert main(["inspect", str(apart)]) == 141
    sys.stdout.close()
    assert without_compilation(capsys.readouterr().err) == ""


def test_letters_a_terminal_cannot_show_become_question_marks(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "games.csv"
    path.write_text("winner,loser\n日,b\n", encoding="utf-8")
    shown = io.BytesIO()
    monkeypatch.setattr("sys.stdout", io.TextIOWrapper(shown, encoding="ascii"))
    assert main(["fit", str(path), "--draws", "10", "--chains", "1", "--seed", "1"]) == 0
    assert b"\n? " in shown.getvalue()


def test_wrong_usage_is_exit_code_2(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as left:
        main(["fit", "x.csv", "--draws", "many"])
    assert left.value.code == 2
    assert "usage: luce" in capsys.readouterr().err


# -- demo and paper --------------------------------------------------------------------------------


def test_the_demo_draws_what_its_seed_says(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = run(capsys, "demo", "--draws", 8, "--seed", 2)
    assert code == 0
    assert "five truncated terms of ten outcomes each" in out
    assert "4 chains of 8 draws in " in out
    again = run(capsys, "demo", "--draws", 8, "--seed", 2)[1]
    assert again.splitlines()[-10:] == out.splitlines()[-10:]


def test_a_figure_of_the_paper_is_written_and_judged(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("matplotlib")
    paper = ("paper", "--quick", "--out", tmp_path / "paper")
    code, out, _ = run(capsys, *paper, "--figure", "graphical-models")
    assert code == 0
    assert str(tmp_path / "paper" / "index.html") in out
    assert "holds" in out
    assert (tmp_path / "paper" / "index.html").is_file()
    code, _, err = run(capsys, *paper, "--figure", "nothing")
    assert code == 1
    assert "there is no figure 'nothing'" in err


# -- what is ranked --------------------------------------------------------------------------------

TIES = "item1,item2,outcome\n" + "a,b,tie\nb,c,tie\nc,a,c\nb,a,b\nc,b,tie\na,c,tie\n" * 2
SHORT = ["--draws", 40, "--chains", 2, "--seed", 1]
READ = ["--ties", "entity", "--home", "first", "--home-effect", "entity", *SHORT]


def rows_of(printed: str, head: str) -> list[str]:
    """Read the labels of a printed table."""
    lines = printed.splitlines()
    first = next(i for i, line in enumerate(lines) if line.startswith(f"{head} "))
    labels = [line.split("  ")[0] for line in lines[first + 1 :]]
    return labels[: labels.index("")] if "" in labels else labels


def test_ties_and_advantages_are_ranked_only_where_asked(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file, saved = tmp_path / "ties.csv", tmp_path / "ties.nc"
    file.write_text(TIES)
    _, out, _ = run(capsys, "fit", file, *READ, "--out", saved)
    assert sorted(rows_of(out, "category")) == ["a", "b", "c"]
    assert rows_of(out, "effect")[:2] == ["tie", "home"]
    assert "\ntie: two competitors of median strength tie, nobody having an advantage, with" in out
    _, out, _ = run(capsys, "fit", file, *READ, "--among", "tie", "--among", "a")
    assert sorted(rows_of(out, "category")) == ["a", "tie"]
    _, out, _ = run(capsys, "fit", file, *READ, "--exclude", "b")
    assert sorted(rows_of(out, "category")) == ["a", "c"]
    page = tmp_path / "ties.html"
    run(capsys, "report", saved, "--exclude", "b", "--out", page)
    assert "The 2 competitors asked for, by expected rank." in page.read_text()
    code, _, err = run(capsys, "report", saved, "--among", "z", "--out", page)
    assert (code, err) == (
        1,
        "luce: --among z: there is no such category; the categories are a, b, c, tie, home.\n",
    )
    code, _, err = run(capsys, "report", saved, "--among", "a", "--exclude", "a", "--out", page)
    assert (code, "leave no category to rank" in err) == (1, True)


# -- ties and advantages as parameters -------------------------------------------------------------

MODEL = ["--ties", "davidson", "--home", "first", *SHORT]


def test_parameters_stand_below_the_competitors_with_a_sentence(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file, saved = tmp_path / "ties.csv", tmp_path / "ties.nc"
    file.write_text(TIES)
    _, out, _ = run(capsys, "fit", file, *MODEL, "--out", saved)
    assert sorted(rows_of(out, "category")) == ["a", "b", "c"]
    assert rows_of(out, "parameter")[:2] == ["home", "tie"]
    assert "Prior: Dirichlet(1), home ~ Gamma(shape=2.0, rate=2.0), tie ~ Gamma(shape=1.0," in out
    factor = (
        r"\nhome: playing at home multiplies a side's strength by [\d.]+ \(90 % interval [\d.]+"
    )
    assert re.search(factor + r" to [\d.]+\); the probability that there is an advantage", out)
    tied = r"\ntie: two equals on neutral ground tie with probability 0\.\d+ \(90 %"
    assert re.search(tied, out)
    counts = luce.read(file, ties="davidson", home="first")
    again = Posterior(counts).sample(40, chains=2, seed=1, until="converged", progress=False)
    for name in ("probabilities", "home", "tie"):
        assert (again.posterior[name].values == luce.load(saved).posterior[name].values).all()


def test_priors_and_known_values_of_parameters(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file, saved = tmp_path / "ties.csv", tmp_path / "ties.nc"
    file.write_text(TIES)
    read = ["--ties", "rao-kupper", *SHORT]
    priors = ["--home", "second", "--home-prior", "1.5", "--tie-prior", "3,2.5"]
    code, out, _ = run(capsys, "fit", file, *read, *priors, "--out", saved)
    assert code in (0, 3)
    assert "Prior: Dirichlet(1), home = 1.5, tie - 1 ~ Gamma(shape=3.0, rate=2.5)." in out
    assert rows_of(out, "parameter")[:1] == ["tie"]
    model = luce.posterior_of(luce.load(saved)).model
    assert model.parameter_priors == {"home": 1.5, "tie": luce.Gamma(3.0, 2.5)}
    code, _, err = run(capsys, "fit", file, *read, "--home-prior", "2,2")
    assert (code, "the data has no parameter 'home'" in err) == (1, True)
    code, _, err = run(capsys, "fit", file, *read, "--tie-prior", "0.5")
    assert (code, "it must be above 1" in err) == (1, True)
    for wrong, said in (
        ("x", "SHAPE,RATE of a gamma"),
        ("1,2,3", "SHAPE,RATE"),
        ("0,1", "shape = 0"),
    ):
        with pytest.raises(SystemExit):
            main(["fit", str(file), "--tie-prior", wrong])
        assert said in capsys.readouterr().err


def test_inspect_and_help_tell_the_models(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "ties.csv"
    file.write_text(TIES)
    _, out, _ = run(capsys, "inspect", file, "--ties", "davidson", "--home", "first")
    assert "6 pairings: Davidson's ties and a home advantage" in out
    assert "a at home against b: 0 wins, 0 losses, 2 ties" in out
    code, _, err = run(capsys, "inspect", file)
    assert (code, err.count("\n  ties='")) == (1, 5)
    code, _, err = run(capsys, "inspect", file, "--ties", "entity", "--home", "first")
    assert (code, "home_effect='entity'" in err) == (1, True)
    with pytest.raises(SystemExit):
        main(["fit", "--help"])
    said = " ".join(capsys.readouterr().out.split())
    assert "as 2,2 (default); or its value" in said
    assert "as 1,1 (default); or its value" in said


def test_what_data_cannot_tell_is_said(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "always.csv"
    file.write_text("home,away,result\na,b,H\na,c,A\n")
    _, out, err = run(capsys, "fit", file, "--ties", "davidson", "--home", "first", *SHORT)
    assert "home: data cannot tell the advantage from the strengths" in err
    assert "\nhome: data cannot tell the advantage from the strengths" in out
    assert "\ntie: none of 2 meetings was tied" in out
    _, out, _ = run(capsys, "inspect", file, "--ties", "davidson", "--home", "first")
    assert "\n  home: data cannot tell the advantage from the strengths" in out

"""`luce fit` and `luce inspect` of files: what is said, saved and refused, and exit codes."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from lib.data_files import EXPECTED, table
from lib.processes import without_compilation

import luce
from luce import cli
from luce.cli import main


@pytest.fixture
def write(tmp_path: Path) -> Any:
    def written(name: str, content: str | bytes) -> Path:
        path = tmp_path / name
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        return path

    return written


def run(capsys: pytest.CaptureFixture[str], *arguments: object) -> tuple[int, str, str]:
    code = main([str(argument) for argument in arguments])
    said = capsys.readouterr()
    return code, said.out, said.err


def test_fit_says_what_it_understood_and_saves_the_run(
    write: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path, target = write("duels.csv", table()), tmp_path / "run.nc"
    code, out, err = run(capsys, "fit", path, "--draws", 400, "--seed", 3, "--out", target)
    assert code == 0, err
    lines = out.splitlines()
    assert lines[0] == "duels.csv: pairs: 7 comparisons among 3 categories"
    assert "sets overlap" in out
    assert re.search(r"^ann +0\.\d+", out, re.MULTILINE)
    assert lines[-3].startswith("4 chains of 400 draws, method ")
    assert lines[-2] == "The draws can be trusted."
    assert lines[-1] == f"Saved: {target}"
    saved = luce.load(target)
    fresh = luce.Posterior(EXPECTED).sample(400, seed=3)
    assert saved.posterior["probabilities"].identical(fresh.posterior["probabilities"])
    assert luce.posterior_of(saved).counts == EXPECTED
    code, out, err = run(capsys, "fit", path, "--out", target)
    assert (code, out) == (1, "")  # before any work is done
    assert "exists" in err
    assert run(capsys, "fit", path, "--draws", 400, "--out", target, "--overwrite")[0] == 0


def test_inspect_only_says(write: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = write("duels.csv", table())
    code, out, err = run(capsys, "inspect", path)
    assert (code, err) == (0, "")
    assert out.startswith(
        "duels.csv: pairs: 7 comparisons among 3 categories\n"
        "  column    read as\n  'winner'  winner\n  'loser'   loser\n  'count'   count\n"
        "\n3 categories, 7 "
    )
    assert os.listdir(tmp_path) == ["duels.csv"]
    moves = write("moves.csv", "from,to,count\na,b,2\nb,c,1\nc,a,1\na,c,1\n")
    code, out, _ = run(capsys, "inspect", moves, "--rows", "separate")
    assert code == 0
    assert "one posterior for each of 3 states" in out
    assert "from a: 2 categories, 3 outcomes" in out


def test_columns_are_named_on_the_command_line(
    write: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    path = write("data.csv", "champion,other,times\na,b,2\n")
    named = ["--kind", "pairs", "--column", "winner=champion", "--column", "loser=other",
             "--column", "count=times"]  # fmt: skip
    code, out, _ = run(capsys, "inspect", path, *named)
    assert (code, out.splitlines()[0]) == (0, "data.csv: pairs: 2 comparisons among 2 categories")
    for wrong in ("winner", "kind=pairs", "path=x", "skip_bad=1", "encoding=x", "nobody=x", "=x"):
        code, out, err = run(capsys, "inspect", path, "--kind", "pairs", "--column", wrong)
        assert (code, out) == (1, "")
        assert err.startswith(f"luce: --column {wrong}: ")


def test_wrong_usage_is_exit_code_2(write: Any, capsys: pytest.CaptureFixture[str]) -> None:
    for arguments in ([], ["fit"], ["fit", "x.csv", "--draws", "many"], ["inspect", "x", "--kind",
                      "poems"]):  # fmt: skip
        with pytest.raises(SystemExit) as left:
            main(arguments)
        assert left.value.code == 2
        assert "usage: luce" in capsys.readouterr().err


def test_what_is_wrong_is_told_by_file_and_line(
    write: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    path = write("duels.csv", "winner,loser,count\nann,bo,1\nbo,bo,1\nann,bo\nann,cy,-2\n")
    code, out, err = run(capsys, "fit", path)
    assert (code, out) == (1, "")
    assert err.splitlines() == [
        "duels.csv:3: 'bo' is compared with itself.",
        "duels.csv:4: 2 values stand here; the header has 3.",
        "duels.csv:5: count is -2; it cannot be negative.",
        "luce: 3 lines cannot be used; mend them, or leave them out with --skip-bad",
    ]
    code, out, err = run(capsys, "inspect", path, "--skip-bad")
    assert code == 0
    assert out.startswith("duels.csv: pairs: 1 comparison among 2 categories\n")
    assert [line.split(" ")[0] for line in err.splitlines()] == [
        "duels.csv:3:", "duels.csv:4:", "duels.csv:5:"
    ]  # fmt: skip
    assert all(" left out: " in line for line in err.splitlines())
    code, out, err = run(capsys, "fit", path.with_name("none.csv"))
    assert (code, err) == (1, f"luce: {path.with_name('none.csv')}: there is no such file.\n")


def test_what_is_wrong_with_a_whole_file_names_no_line(
    write: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    path = write("venues.csv", "name,ITA,USA\na,1,2\na,2,1\n")
    code, _, err = run(capsys, "inspect", path, "--kind", "rankings")
    assert code == 1
    assert err.startswith("venues.csv: in column 'ITA', 'a' appears twice")
    assert ":0:" not in err


def test_draws_that_cannot_be_trusted_are_exit_code_3(
    write: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    rows = "".join(f"p{i},p{i + 1},1\np{i + 1},p{i},1\n" for i in range(20))
    path = write("chain.csv", "winner,loser,count\n" + rows)
    fit = ("fit", path, "--method", "metropolis", "--draws", 20, "--seed", 1)
    code, out, err = run(capsys, *fit, "--until", "none")
    assert code == 3
    assert "4 chains of 20 draws" in out
    assert "do not trust these draws" in err


def test_an_interrupt_is_exit_code_130(
    write: Any, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(*arguments: Any, **options: Any) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("luce.cli.data.understand", interrupted)
    code, out, err = run(capsys, "inspect", write("duels.csv", table()))
    assert (code, out, err) == (130, "", "luce: interrupted\n")
    assert cli.main.__doc__ is not None
    assert "130" in cli.main.__doc__


def luce_process(*arguments: object) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "luce", *map(str, arguments)],
        capture_output=True, text=True, encoding="utf-8", check=False, timeout=300,
    )  # fmt: skip


@pytest.mark.slow
def test_a_process_that_fits(write: Any, tmp_path: Path) -> None:
    path = write("duels.csv", table().replace("ann", "José"))
    target = tmp_path / "run.zarr"
    done = luce_process("fit", path, "--draws", 300, "--seed", 1, "--out", target)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("duels.csv: pairs: 7 comparisons among 3 categories\n")
    assert "José" in done.stdout
    assert luce.load(target).posterior.sizes["draw"] == 300


def test_a_process_that_refuses(write: Any) -> None:
    done = luce_process("inspect", write("duels.csv", "winner,loser\na,b\nc,c\n"))
    assert done.returncode == 1
    assert done.stdout == ""
    assert without_compilation(done.stderr).splitlines() == [
        "duels.csv:3: 'c' is compared with itself.",
        "luce: 1 line cannot be used; mend it, or leave it out with --skip-bad",
    ]


def test_a_reader_that_has_seen_enough_is_no_error(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def closed(arguments: Any) -> None:
        raise BrokenPipeError

    monkeypatch.setattr("luce.cli.paper.run_demo", closed)
    monkeypatch.setattr("sys.stdout", sys.stdout)  # put back afterwards
    assert main(["demo"]) == 141
    sys.stdout.close()  # the null device that stands in for it
    assert without_compilation(capsys.readouterr().err) == ""


def test_columns_are_accounted_for(write: Any, capsys: pytest.CaptureFixture[str]) -> None:
    path = write("votes.csv", "winner,loser,stadium,price\na,b,x,3.5\nb,a,y,2\n")
    code, out, err = run(capsys, "inspect", path)
    assert code == 0
    assert err == (
        "luce: votes.csv: ignored: 'price' (numbers; probabilities depend on no covariates). If "
        "that is right, list it in ignore=[...] (--ignore NAME).\n"
    )
    assert out.splitlines()[1:6] == [
        "  column     read as",
        "  'winner'   winner",
        "  'loser'    loser",
        "  'stadium'  ignored: text that plays no part here",
        "  'price'    ignored: numbers; probabilities depend on no covariates",
    ]
    code, out, err = run(capsys, "inspect", path, "--ignore", "price", "--ignore", "stadium")
    assert (code, err) == (0, "")
    assert out.splitlines()[4] == "  'price', 'stadium'  left out, as asked"
    fit = ["fit", path, "--draws", 10, "--chains", 1, "--seed", 1]
    code, out, err = run(capsys, *fit)
    assert out.splitlines()[1] == "Ignored columns: 'stadium', 'price'."
    assert "ignored: 'price' (numbers" in err
    code, out, err = run(capsys, *fit, "--ignore", "price", "--ignore", "stadium")
    assert "gnored" not in out + err


def test_swissmetro_is_not_grouped_answers(write: Any, capsys: pytest.CaptureFixture[str]) -> None:
    """A column called group was taken for grouped answers, and a posterior of '2' and '3' drawn."""
    rows = "1,2,a,1,1\n2,3,b,1,1\n3,2,a,1,1\n"
    path = write("swissmetro.csv", "subject,group,choice,avail_a,avail_b\n" + rows)
    code, out, _ = run(capsys, "inspect", path)
    assert (code, out.splitlines()[0]) == (
        0,
        "swissmetro.csv: choices: 3 choices among 2 categories",
    )


def test_open_questions_are_asked_at_once(write: Any, capsys: pytest.CaptureFixture[str]) -> None:
    path = write("votes.csv", "Winer,Losser,n\na,b,3\n")
    named = ["--column", "winner=Winer", "--column", "loser=Losser"]
    code, out, _ = run(capsys, "inspect", path, *named)  # roles tell the kind
    assert (code, out.splitlines()[0]) == (0, "votes.csv: pairs: 3 comparisons among 2 categories")
    wrong = ["--column", "winer=Winer", "--column", "loser=Loser", "--column", "count"]
    code, out, err = run(capsys, "inspect", path, *wrong)
    assert (code, out) == (1, "")
    assert "'winer' is no part that a column can play" in err
    assert "Did you mean 'winner'?" in err
    assert "loser = 'Loser': there is no such column" in err
    assert "Did you mean 'Losser'?" in err
    assert "--column count: ROLE=NAME is needed" in err


STEERING = ["\x1b[31mred", "bell\x07", "\u202eback", "x\x9b2J", "\x1b]0;title\x07"]


@pytest.mark.parametrize("name", STEERING)
def test_names_from_data_cannot_steer_the_terminal(
    write: Any, capsys: pytest.CaptureFixture[str], name: str
) -> None:
    """In summaries, descriptions of sets and states, errors, warnings and names of columns."""
    duels = write("duels.csv", table().replace("ann", name))
    moves = write("moves.csv", f"from,to\n{name},b\nb,c\nc,{name}\n")
    bad = write("bad.csv", f"winner,loser\n{name},b\n{name},{name}\nb,c\n")
    columns = write("columns.csv", f"b,{name}\n1,2\n3,y\n")
    games = write("games.csv", "white,black,result\na,b,1-0\nb,c,1/2-1/2\nc,a,0-1\n")
    wide = write("wide.csv", f"choice,avail_b,avail_{name},{name}\nb,1,1,x\n{name},1,1,y\n")
    shown = []
    for arguments in (
        ("inspect", duels),
        ("fit", duels, "--draws", 100, "--seed", 1),
        ("inspect", moves, "--rows", "separate"),
        ("fit", moves, "--rows", "separate", "--draws", 100, "--seed", 1),
        ("inspect", bad),
        ("inspect", bad, "--skip-bad"),
        ("inspect", columns, "--kind", "table"),
        ("inspect", columns),
        ("inspect", wide),
        ("fit", wide, "--draws", 100, "--seed", 1),
        ("fit", games, "--ties", "entity", "--tie-label", name, "--draws", 100, "--seed", 1),
        ("inspect", duels.with_name(f"{name}.csv")),
    ):
        _, out, err = run(capsys, *arguments)
        shown.append(repr(name)[1:-1] in out + err)
        assert not re.search("[\x00-\x09\x0b-\x1f\x7f-\x9f\u202e]", out + err)
    assert all(shown)


def test_a_carriage_return_in_a_name_cannot_hide_a_line(
    write: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    rows = [{"winner": "ann\rwinner: bo", "loser": "bo"}, {"winner": "bo", "loser": "cy"}]
    path = write("duels.jsonl", "\n".join(map(json.dumps, rows)))
    _, out, err = run(capsys, "fit", path, "--draws", 100, "--seed", 1)
    assert "\r" not in out + err
    assert r"ann\rwinner: bo" in out


def test_labels_that_print_alike_are_ranked_or_left_out_together(
    write: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    duels = [(1, "1"), ("1", "b"), ("b", "c"), ("c", 1)]
    rows = [{"winner": winner, "loser": loser} for winner, loser in duels]
    path = write("duels.jsonl", "\n".join(map(json.dumps, rows)))
    for chosen, left in ((["--exclude", "b"], "11c"), (["--among", "1"], "11"), ([], "11bc")):
        _, out, _ = run(capsys, "fit", path, *chosen, "--draws", 100, "--seed", 1)
        assert sorted(re.findall(r"^'?([1bc])'? +0\.", out, re.MULTILINE)) == list(left)


def test_only_some_categories(write: Any, capsys: pytest.CaptureFixture[str]) -> None:
    path = write("duels.csv", table())
    code, out, _ = run(capsys, "fit", path, "--only", "ann, bo", "--draws", 100, "--seed", 1)
    assert code == 0
    lines = out.splitlines()
    assert lines[0] == "duels.csv: pairs: 7 comparisons among 3 categories"
    assert lines[1] == (
        "kept with --only: 6 outcomes among 2 categories of 7 outcomes among 3 categories"
    )
    assert re.search("^ann ", out, re.MULTILINE)
    assert not re.search("^cy ", out, re.MULTILINE)
    code, _, err = run(capsys, "inspect", path, "--only", "zoe")
    assert (code, "there is no category 'zoe'" in err) == (1, True)
    strangers = write("s.csv", "winner,loser\na,b\nb,c\na,b\n")
    code, _, err = run(capsys, "fit", strangers, "--only", "a,c")
    assert (code, "no outcome that is left compares these categories" in err) == (1, True)
    moves = write("m.csv", "from,to\na,b\nb,c\nc,a\na,c\n")
    _, out, _ = run(capsys, "inspect", moves, "--rows", "separate", "--only", "a", "--only", "c")
    assert "kept with --only: 2 outcomes from 2 states of 4 outcomes from 3 states" in out


def test_codes_of_choices(write: Any, capsys: pytest.CaptureFixture[str]) -> None:
    path = write("trips.csv", "choice,train_av,car_av\n1,1,1\n2,1,1\n")
    assert "(--codes 1=...,2=...)" in run(capsys, "inspect", path)[2]
    assert "a code stands for one label" in run(capsys, "inspect", path, "--codes", "1=a,1=b")[2]
    code, out, _ = run(capsys, "inspect", path, "--codes", "1=train, 2=car")
    assert (code, "2 choices among 2 categories" in out) == (0, True)
    assert "CODE=LABEL is needed" in run(capsys, "inspect", path, "--codes", "1")[2]


def test_moves_to_the_same_state_that_are_left_out_are_told(
    write: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    path = write("moves.csv", "from,to,n\na,b,3\na,a,7\nb,a,1\n")
    told = "4 transitions among 2 categories; left out: 7 from a state to itself"
    assert told in run(capsys, "inspect", path)[1]
    assert "left out" not in run(capsys, "inspect", path, "--self-loops", "kept")[1]


def test_a_run_that_cannot_be_saved_is_summarised(
    write: Any, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def full(*_: Any, **__: Any) -> None:
        raise luce.LuceError("the disk is full")

    monkeypatch.setattr(cli.fit, "save", full)
    path, out = write("duels.csv", table()), tmp_path / "run.nc"
    code, printed, err = run(capsys, "fit", path, "--draws", 100, "--seed", 1, "--out", out)
    assert (code, "luce: the disk is full" in err) == (1, True)
    assert "4 chains of 100 draws" in printed
    assert "Saved" not in printed


def test_dropped_ties_are_told(write: Any, capsys: pytest.CaptureFixture[str]) -> None:
    path = write("games.csv", "white,black,result\na,b,1-0\nb,c,1/2-1/2\nc,a,0-1\n")
    code, out, err = run(capsys, "inspect", path, "--ties", "drop")
    assert code == 0
    assert "2 comparisons among 3 categories" in out
    assert err == "luce: 1 tie is left out: ties='drop'.\n"

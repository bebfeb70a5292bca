"""`luce segment`: its words and tables, what it saves, its exit codes, and what it refuses."""

import re
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from lib.processes import listen_to_ctrl_c, without_compilation
from lib.streaming_runs import BrokenOff

import luce
from luce.cli import main
from luce.sequences import Gaussian, Poisson, segments
from luce.sequences.semi_markov_sweep import Sweeper

pytestmark = pytest.mark.filterwarnings("ignore::luce.ConvergenceWarning")

# Few sweeps, of a small model.
SMALL = ("--states", 4, "--duration", "poisson:10", "--draws", 8, "--warmup", 60, "--chains", 2)


def run(capsys: pytest.CaptureFixture[str], *arguments: object) -> tuple[int, str, str]:
    code = main([str(argument) for argument in arguments])
    said = capsys.readouterr()
    # Without numba, numpy warns of words that wrap around as they should.
    lines = without_compilation(said.err).splitlines(True)
    return code, said.out, "".join(line for line in lines if "overflow encountered" not in line)


def written(path: Path, columns: dict[str, Any]) -> Path:
    rows = zip(*columns.values(), strict=True)
    lines = [",".join(columns), *(",".join(map(str, row)) for row in rows)]
    path.write_text("\n".join(lines) + "\n")
    return path


def level(rng: np.random.Generator) -> np.ndarray:
    """Four segments of ten rows, three states."""
    return np.asarray(np.repeat([0.0, 9.0, 0.0, -9.0], 10) + rng.normal(size=40))


@pytest.fixture
def walk(tmp_path: Path) -> Path:
    rng = np.random.default_rng(3)
    columns = {"x": level(rng).round(4), "y": rng.normal(size=40).round(4), "note": ["hello"] * 40}
    return written(tmp_path / "walk.csv", columns)


def rows_of(out: str, after: str) -> list[list[str]]:
    """Read the rows of a printed table, given the words its head begins with."""
    lines = out.splitlines()
    first = next(k for k, line in enumerate(lines) if line.split()[:2] == after.split())
    last = next(k for k in range(first, len(lines)) if not lines[k].strip())
    return [line.split() for line in lines[first + 1 : last]]


def test_a_table_of_segments_is_printed_and_the_run_saved(
    walk: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    target = tmp_path / "run.nc"
    code, out, err = run(capsys, "segment", walk, *SMALL, "--seed", 1, "--out", target)
    assert code == 3  # 16 draws are too few
    assert "luce: do not trust these draws yet" in err
    lines = out.splitlines()
    assert lines[:3] == [
        "walk.csv: time series: 40 rows of 2 channels ('x', 'y')",
        "Ignored columns: 'note'.",
        "Up to 4 states; durations Poisson(mean=10.0, shape=3.0), segments of at most 40 rows.",
    ]
    assert re.match(r"Prior: means of states around .* \(from the data\)", lines[3])
    assert lines[-3:] == [
        "2 chains of 8 draws, method blocked-gibbs, seed 1.",
        "Do not trust these draws yet.",
        f"Saved: {target}",
    ]
    saved = luce.load(target)
    table = segments(saved)
    printed = rows_of(out, "sequence start")
    assert [[int(row[1]), int(row[2]), int(row[3])] for row in printed] == np.c_[
        table["start"], table["end"], table["state"]
    ].tolist()
    model = luce.SemiMarkov(4, Gaussian(), Poisson(mean=10))
    fresh = model.fit(walk, 8, chains=2, warmup=60, seed=1, columns=["x", "y"], progress=False)
    np.testing.assert_array_equal(fresh["states"]["states"], saved["states"]["states"])
    code, _, err = run(capsys, "segment", walk, *SMALL, "--out", target)
    assert code == 1
    assert str(target) in err
    code, out, _ = run(
        capsys, "segment", walk, *SMALL, "--seed", 1, "--out", target, "--overwrite", "--most", 1
    )
    assert code == 3
    assert len(rows_of(out, "sequence start")) == 2  # a segment, and "... and 3 more segments"
    assert re.search(r"^\.\.\. and \d+ more segments?$", out, re.MULTILINE)


@pytest.mark.compiled
def test_draws_that_can_be_trusted_have_exit_code_0(
    walk: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    code, out, err = run(
        capsys, "segment", walk, "--columns", "x", "--states", 6, "--duration", "poisson:10",
        "--draws", 2000, "--warmup", 100, "--seed", 2, "--keep-states", 200,
    )  # fmt: skip
    assert (code, [line for line in err.splitlines() if "trust" in line]) == (0, [])
    assert "channel ('x')" in out
    assert "Ignored" not in out  # the channels were named
    starts = [int(row[1]) for row in rows_of(out, "sequence start")]
    assert starts == [0, 10, 20, 30]
    assert "4 chains of 2,000 draws" in out


def test_sequences_times_and_laws_are_chosen_by_options(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rng = np.random.default_rng(4)
    days = [f"2024-05-{k + 1:02d}" for k in range(20)]
    series = written(
        tmp_path / "trips.csv",
        {
            "when": days * 2,
            "trip": ["a"] * 20 + ["b"] * 20,
            "n": rng.poisson(np.repeat([1, 40, 1, 40], 10)),
        },
    )
    small = ("--states", 3, "--draws", 6, "--warmup", 4, "--chains", 2, "--seed", 1)
    code, out, _ = run(
        capsys, "segment", series, *small, "--sequence", "trip", "--time", "when",
        "--emission", "counts", "--duration", "geometric:10",
    )  # fmt: skip
    assert code in (0, 3)
    lines = out.splitlines()
    assert lines[0] == "trips.csv: time series: 40 rows of 1 channel ('n') in 2 sequences"
    assert set(lines[1:3]) == {"Column of sequences: trip.", "Column of times: when."}
    assert "Geometric(mean=10.0" in out
    assert "at most" not in lines[3]
    rows = rows_of(out, "sequence start")
    assert {row[0] for row in rows} == {"a", "b"}
    assert rows[0][5].startswith("2024-05-01")
    words = written(tmp_path / "words.csv", {"did": ["rest"] * 10 + ["run"] * 10 + ["rest"] * 5})
    code, out, _ = run(
        capsys, "segment", words, *small, "--columns", "did", "--emission", "categories",
        "--duration", "histogram:12",
    )  # fmt: skip
    assert code in (0, 3)
    assert "Histogram(12 lengths)" in out
    for emission, duration in (("ar:2", "negative-binomial:8"), ("diagonal", "histogram")):
        code, out, _ = run(
            capsys, "segment", series, *small, "--columns", "n", "--sequence", "trip",
            "--time", "when", "--emission", emission, "--duration", duration,
        )  # fmt: skip
        assert code in (0, 3), (emission, duration)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--emission", "cauchy"], "--emission cauchy: gaussian, diagonal, counts"),
        (["--emission", "gaussian:2"], "--emission gaussian:2: gaussian, diagonal"),
        (["--emission", "ar:x"], "--emission ar:x: 'x' is no whole number of at least 1"),
        (["--duration", "weibull:3"], "--duration weibull:3: poisson:MEAN"),
        (["--duration", "poisson:long"], "'long' is no number of rows"),
        (["--duration", "poisson:1"], "mean = 1; a finite number above 1 is needed"),
        (["--duration", "histogram:0"], "'0' is no whole number"),
        (["--longest", "50"], "longest = 50, and the longest sequence has 40 rows"),
        (["--columns", "z"], "'z'"),
        (["--emission", "counts"], "is no count"),
        (["--states", "1"], "--states = 1; a whole number of at least 2 is needed"),
        (["--most", "0"], "--most = 0"),
        (["--draws", "0"], "--draws = 0"),
        (["--chains", "0"], "--chains = 0"),
        (["--stream"], "--stream needs --out RUN"),
        (["--keep-states", "9"], "keep_states = 9, and there are 8 draws"),
    ],
)
def test_errors_are_sentences(
    options: list[str], words: str, walk: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    code, _, err = run(capsys, "segment", walk, *SMALL, *options)
    assert code == 1
    assert err.startswith("luce: ")
    assert words in err
    assert "Traceback" not in err


def test_a_file_that_cannot_be_read_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    code, out, err = run(capsys, "segment", tmp_path / "none.csv")
    assert (code, out) == (1, "")
    assert "none.csv" in err
    constant = written(tmp_path / "c.csv", {"x": [1.0] * 9})
    code, _, err = run(capsys, "segment", constant)
    assert (code, "channel 'x' is 1.0 in all rows" in err) == (1, True)


def test_a_long_series_has_fewer_draws_which_is_said(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = list[tuple[int, int]]()

    def no_fit(_: Any, series: Any, draws: int, *, warmup: int, **more: Any) -> None:
        asked.append((draws, warmup))
        raise luce.LuceError("enough")

    monkeypatch.setattr(luce.SemiMarkov, "fit", no_fit)
    rng = np.random.default_rng(1)
    short = written(tmp_path / "short.csv", {"x": rng.normal(size=200).round(3)})
    long = written(tmp_path / "long.csv", {"x": rng.normal(size=50_000).round(3)})
    _, out, _ = run(capsys, "segment", short)
    assert "The series is long" not in out
    _, out, _ = run(capsys, "segment", long)
    assert "The series is long: 4 chains of 159 draws, after 159 sweeps each." in out
    _, out, _ = run(capsys, "segment", long, "--draws", 300)
    assert "The series is long" not in out
    assert asked == [(1000, 500), (159, 159), (300, 159)]


def test_a_streamed_run_is_resumed(
    walk: Path,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    breaking: Callable[[int], None],
) -> None:
    whole, broken = tmp_path / "whole.zarr", tmp_path / "broken.zarr"
    fit = ("segment", walk, *SMALL, "--seed", 1, "--stream", "--out")
    code, out, _ = run(capsys, *fit, whole)
    assert (code, out.splitlines()[-1]) == (3, f"Written: {whole}")
    breaking(1)
    with pytest.raises(BrokenOff):
        main([str(word) for word in (*fit, broken)])
    breaking(10**9)  # files are written again
    capsys.readouterr()
    code, out, _ = run(capsys, "resume", broken)
    assert code == 3  # the draws are as few as before
    assert out == (
        f"{broken} is complete: 2 chains of 8 draws of the states of 40 rows of 2 channels in "
        "1 sequence, method blocked-gibbs, seed 1.\n"
    )
    for name in ("states", "mean"):
        one, other = (luce.load(path)["states"][name].values for path in (whole, broken))
        np.testing.assert_array_equal(one, other)


def test_ctrl_c_keeps_the_draws_made_so_far(
    walk: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    listen_to_ctrl_c()
    target, sweep, made = tmp_path / "run.nc", Sweeper.sweep, [0]

    def counted(self: Sweeper, *given: Any) -> Any:
        made[0] += 1
        if made[0] == 600:  # so late that no chain is still warming up, however busy the machine
            signal.raise_signal(signal.SIGINT)
        return sweep(self, *given)

    monkeypatch.setattr(Sweeper, "sweep", counted)
    code, out, err = run(
        capsys, "segment", walk, *SMALL, "--states", 60, "--draws", 5_000, "--out", target
    )
    assert code == 130
    draws = luce.load(target)["posterior"].sizes["draw"]
    assert 0 < draws < 5_000
    assert f"luce: interrupted. {draws:,} draws of each chain are saved to {target}" in err
    assert f"{draws:,} of 5,000 draws were made." in err
    assert rows_of(out, "sequence start")


def test_a_run_that_cannot_be_saved_is_summarised(
    walk: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def full(*_: Any, **__: Any) -> None:
        raise luce.LuceError("the disk is full")

    monkeypatch.setattr("luce.cli.segment.save", full)
    code, out, err = run(capsys, "segment", walk, *SMALL, "--out", tmp_path / "run.nc")
    assert (code, "luce: the disk is full" in err) == (1, True)
    assert rows_of(out, "sequence start")
    assert "Saved" not in out


def test_hidden_states_are_not_ranked(
    walk: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    target = tmp_path / "run.nc"
    run(capsys, "segment", walk, *SMALL, "--seed", 1, "--out", target)
    code, _, err = run(capsys, "report", target, "--among", "x")
    assert code == 1
    assert "is a run of hidden states, which are not ranked" in err


def test_a_column_that_looks_like_a_sequence_can_be_left_out(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rng = np.random.default_rng(3)
    columns = {"subject": [1] * 20 + [2] * 20, "x": level(rng).round(4)}
    path = written(tmp_path / "who.csv", columns)
    code, _, err = run(capsys, "segment", path, *SMALL, "--seed", 1)
    assert code == 1
    assert "--sequence none" in err
    code, out, _ = run(capsys, "segment", path, *SMALL, "--seed", 1, "--sequence", "none")
    assert code == 3
    assert out.startswith("who.csv: time series: 40 rows of 1 channel")

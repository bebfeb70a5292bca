"""Messages about compilation: one when it lasts, with the time that it took before."""

import io
import re
import sys
import time
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import pytest

from luce.kernels import announcing, code_cache
from luce.kernels.announcing import Compilations, key_of, waiting_for


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Times in a folder of their own."""
    for module in (announcing, code_cache):
        monkeypatch.setattr(module, "cache_folder", lambda: str(tmp_path / "luce-0"))


def compiled(
    tell: Compilations,
    function: str,
    seconds: float = 0.0,
    data: str = "pairs",
    until: Callable[[], bool] = lambda: True,
) -> None:
    """Pretend that numba compiles a function for a kind of data, and what it calls."""
    events = []
    for name in (function, "random.gamma"):  # the second on the way
        module, _, qualname = name.rpartition(".")
        named = SimpleNamespace(__module__=f"luce.kernels.{module}", __qualname__=qualname)
        dispatcher = SimpleNamespace(py_func=named, overloads={(data,): None})
        events.append(SimpleNamespace(data={"dispatcher": dispatcher, "args": (data,)}))
    for event in events:
        tell.on_start(event)
    time.sleep(seconds)
    for _ in range(1000):  # 20 seconds at most
        if until():
            break
        time.sleep(0.02)
    for event in reversed(events):
        tell.on_end(event)


def known(function: str, seconds: float, data: str = "pairs") -> None:
    """Let a compilation have taken some time before."""
    code_cache.note_seconds(key_of(f"luce.kernels.{function}", (data,)), seconds)


@pytest.mark.parametrize(
    ("before", "said"),
    [(None, "some seconds, once for each kind of data"), (2.34, "took 2.3 s last time")],
)
def test_a_message_names_what_is_compiled_and_how_long_it_took_last_time(
    before: float | None,
    said: str,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(announcing, "UNSAID", 0.0)
    known("hamiltonian.advance", 9.0, data="rankings")  # another kind of data
    if before is not None:
        known("hamiltonian.advance", before)
    tell, told = Compilations(), list[tuple[str, float]]()
    tell.listeners.append(lambda name, seconds: told.append((name, seconds)))
    compiled(tell, "hamiltonian.advance", seconds=0.01)
    assert capsys.readouterr().err == f"luce: compiling the Hamiltonian sampler ({said})\n"
    ((name, seconds),) = told
    assert name == "the Hamiltonian sampler"
    assert seconds >= 0.01
    written = code_cache.last_seconds(key_of("luce.kernels.hamiltonian.advance", ("pairs",)))
    assert written == pytest.approx(seconds, abs=1e-3)


def test_what_lasts_is_told_while_it_lasts(
    capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """By a thread of its own, after some time; the compilation goes on until it was told."""
    monkeypatch.setattr(announcing, "UNSAID", 0.05)
    written = list[str]()

    def until_told() -> bool:
        written.append(capfd.readouterr().err)
        return "compiling" in written[-1]

    compiled(Compilations(), "rejection.advance", until=until_told)
    assert "luce: compiling the sampler by rejection (some seconds" in written[-1]


def test_what_took_long_before_is_told_at_once_and_what_did_not_is_not(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(announcing, "UNSAID", 40.0)
    known("newton.climb", 41.0)
    known("running_moments.add_moments", 0.1)
    tell = Compilations()
    compiled(tell, "running_moments.add_moments")
    compiled(tell, "star_bound.star_bound")  # unknown, and done at once
    assert capsys.readouterr().err == ""
    compiled(tell, "newton.climb")
    said = "luce: compiling the search for the mode (took 41.0 s last time)\n"
    assert capsys.readouterr().err == said


def test_short_compilations_add_up_to_no_silence(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(announcing, "UNSAID", 0.05)
    tell = Compilations()
    for _ in range(3):
        compiled(tell, "star_bound.star_bound", 0.02)
    assert "the bound of rejection" in capsys.readouterr().err


def test_second_kinds_of_data_and_second_functions_are_told_apart(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(announcing, "UNSAID", 0.0)
    tell = Compilations()
    compiled(tell, "structure.overlap.first_splits")
    compiled(tell, "structure.module_tree.build")
    compiled(tell, "waiting_times.advance")
    compiled(tell, "waiting_times.advance", data="rankings")
    lines = [line.partition(" (")[0] for line in capsys.readouterr().err.splitlines()]
    assert lines == [
        "luce: compiling the structure of sets",
        "luce: compiling more of the structure of sets",
        "luce: compiling the sampler by waiting times",
        "luce: compiling the sampler by waiting times for another kind of data",
    ]


def test_the_many_kernels_of_time_series_are_told_once(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(announcing, "UNSAID", 0.0)
    tell = Compilations()
    for function in (
        "messages.convolve",
        "gaussian.draw",
        "gaussian.draw",
        "segments.draw_segments",
    ):
        compiled(tell, f"semi_markov.{function}")
    compiled(tell, "hdp.advance")
    compiled(tell, "semi_markov.durations.fill_table", data="counts")
    lines = [line.partition(" (")[0] for line in capsys.readouterr().err.splitlines()]
    assert lines == [
        "luce: compiling the sampler of time series",
        "luce: compiling the sampler of hierarchical transitions",
    ]


def test_without_a_folder_the_remedy_is_named_once(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(announcing, "UNSAID", 0.0)
    for module in (announcing, code_cache):
        monkeypatch.setattr(module, "cache_folder", lambda: None)
    tell = Compilations()
    compiled(tell, "rejection.advance")
    said = capsys.readouterr().err
    assert "in every process, since there is no folder to keep it in; set NUMBA_CACHE_DIR" in said
    compiled(tell, "newton.climb")  # once is enough
    said = capsys.readouterr().err
    assert said == "luce: compiling the search for the mode (in every process)\n"


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_a_terminal_shows_the_seconds_that_pass(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(announcing, "UNSAID", 0.0)
    monkeypatch.setattr(sys, "stderr", terminal := Terminal())
    for name, value in {"TERM": "xterm", "COLUMNS": "100"}.items():
        monkeypatch.setenv(name, value)
    compiled(Compilations(), "rejection.advance", 0.15)
    shown = terminal.getvalue()
    assert "0:00:00" in shown
    assert re.search(r"luce: compiled the sampler by rejection in [\d.]+ s\n$", shown)


def test_waiting_for_another_process_is_told(capsys: pytest.CaptureFixture[str]) -> None:
    with waiting_for("luce.kernels.hamiltonian"):
        pass
    said = "luce: waiting for another process that compiles the Hamiltonian sampler\n"
    assert capsys.readouterr().err == said


class Full(io.StringIO):
    """A stream whose disk is full."""

    def write(self, text: str) -> int:
        raise OSError(28, "No space left on device")


def closed() -> io.StringIO:
    stream = io.StringIO()
    stream.close()
    return stream


@pytest.mark.parametrize("errors", [None, closed(), Full()], ids=["none", "closed", "full"])
def test_nothing_fails_for_want_of_standard_error(
    errors: io.StringIO | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(announcing, "UNSAID", 0.0)
    monkeypatch.setattr(sys, "stderr", errors)
    compiled(Compilations(), "rejection.advance")
    with waiting_for("luce.kernels.rejection"):
        pass

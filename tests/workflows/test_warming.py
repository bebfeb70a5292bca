"""Compilation beforehand: every kind of data is drawn, and what is there is not compiled again."""

import pytest

from luce.cli import main
from luce.errors import MethodError
from luce.kernels import code_cache
from luce.kernels.announcing import compilations
from luce.workflows import warming
from luce.workflows.warming import Warmed, warm_up

pytestmark = pytest.mark.compiled


def test_a_second_time_everything_is_there() -> None:
    first, second = warm_up(progress=False), warm_up(progress=False)
    assert [warmed.kind for warmed in first] == list(warming.KINDS)
    assert second == [Warmed(kind, 0, 0.0) for kind in warming.KINDS]
    assert compilations.listeners == []


def toy() -> None:
    """Pretend that two kernels are compiled."""
    for tell in compilations.listeners:
        tell("the Hamiltonian sampler", 2.25)
        tell("the search for the mode", 1.5)


def test_the_command_prints_what_was_compiled_and_where_it_is_kept(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(warming, "KINDS", {"pairs": toy, "rankings": lambda: None})
    assert main(["warmup"]) == 0
    assert capsys.readouterr().out.splitlines() == [
        "kind      kernels compiled",
        "pairs     2 in 3.8 s",
        "rankings  all there",
        "",
        f"2 kernels compiled in 3.8 s, kept in {code_cache.cache_folder()}",
    ]


def test_nothing_is_compiled_where_it_cannot_be_kept(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(code_cache, "cache_folder", lambda: None)
    with pytest.raises(MethodError, match="set NUMBA_CACHE_DIR"):
        warm_up()
    assert main(["warmup"]) == 1
    assert "compiled code cannot be kept" in capsys.readouterr().err


def test_a_kind_that_fails_leaves_no_listener_behind(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail() -> None:
        raise MethodError("no")

    monkeypatch.setattr(warming, "KINDS", {"pairs": fail})
    with pytest.raises(MethodError):
        warm_up(progress=False)
    assert compilations.listeners == []

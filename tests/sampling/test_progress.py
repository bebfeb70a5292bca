"""Progress bars."""

import sys
from contextlib import suppress
from types import SimpleNamespace
from typing import Any

import pytest

from luce.sampling import progress
from luce.sampling.progress import ProgressBar


def test_a_bar_appears_only_where_one_waits(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def shown(wanted: bool) -> str:
        with progress.ProgressBar(4, wanted) as bar:
            bar.update(1)
            bar.update(3, "drawing")
        return capsys.readouterr().err

    assert shown(True) == ""
    monkeypatch.setattr(progress, "PATIENCE", 0.0)
    assert shown(False) == ""
    assert "75%" in shown(True)
    with progress.ProgressBar(2, True) as bar:
        bar.step("reading")
        bar.step("drawing")
    said = capsys.readouterr().err
    assert "drawing" in said
    assert "100%" in said
    with suppress(KeyError), progress.ProgressBar(2, True) as bar:
        bar.step("reading")
        bar.step("drawing")
        raise KeyError
    assert "100%" not in capsys.readouterr().err  # what failed is not done


def test_the_bar_is_full_when_all_is_done(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("luce.sampling.progress.PATIENCE", -1.0)
    with ProgressBar(2, wanted=True) as bar:
        bar.step("first")
        bar.step("second")
        assert bar.completed == 1
    assert bar.completed == 2
    with pytest.raises(KeyboardInterrupt), ProgressBar(2, wanted=True) as bar:  # noqa: PT012
        bar.step("first")
        raise KeyboardInterrupt
    assert bar.completed == 0


def test_a_bar_in_a_notebook(monkeypatch: pytest.MonkeyPatch) -> None:
    """What a kernel makes of it, `tests/project/test_notebooks.py` tells."""
    shown: list[dict[str, str]] = []

    def display(content: dict[str, str], **_: Any) -> SimpleNamespace:
        shown.append(content)
        return SimpleNamespace(update=lambda content, **_: shown.append(content))

    shell = SimpleNamespace(kernel=object())
    package = SimpleNamespace(get_ipython=lambda: shell, display=SimpleNamespace(display=display))
    monkeypatch.setitem(sys.modules, "IPython", package)  # type: ignore[arg-type]
    monkeypatch.setitem(sys.modules, "IPython.display", package.display)
    monkeypatch.setattr(progress, "PATIENCE", 0.0)
    with ProgressBar(4, wanted=True) as bar:
        bar.update(1, "a < b")
        bar.update(2, "a < b")  # too soon after the first to be drawn
        bar.update(4, "a < b")
    assert [content["text/plain"] for content in shown] == ["a < b, 25 %, 0 s", "a < b, 100 %, 0 s"]
    assert shown[-1]["text/html"] == (
        '<label><progress max="4" value="4"></progress> a &lt; b, 100 %, 0 s</label>'
    )
    with suppress(KeyError), ProgressBar(None, wanted=True) as bar:
        bar.update(7)
        raise KeyError
    assert shown[-1]["text/plain"] == "sampling, 0 s"
    assert "value" not in shown[-1]["text/html"]
    assert bar.completed == 7
    shell = SimpleNamespace()  # a shell in a terminal
    with ProgressBar(4, wanted=True) as bar:
        bar.update(1)
    assert len(shown) == 4

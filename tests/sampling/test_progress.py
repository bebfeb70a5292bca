"""Progress bars."""

from contextlib import suppress

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

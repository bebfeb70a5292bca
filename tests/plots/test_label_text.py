"""Labels as text: short, on one line, different, never formulas, in letters that fonts have."""

from pathlib import Path

from lib.pictures import names, some_draws
from matplotlib import rc_context
from matplotlib.figure import Figure

from luce import plots
from luce.plots.label_text import letters_of, names_of


def test_names() -> None:
    labels = ["short", "x" * 50 + "1", "x" * 50 + "2", " two\n\nlines ", "", 7, "y" * 26, "y" * 27]
    labels += ["a\u200db"]
    found = names_of(labels, range(9)).texts
    assert found[0] == "short"
    assert found[1] == "x" * 13 + "…" + "x" * 11 + "1"
    assert found[3:6] == ["two lines", "''", "7"]
    assert found[6] == "y" * 26
    assert found[7] == "y" * 13 + "…" + "y" * 12
    assert found[8] == "ab"
    assert names_of(["y" * 9_000], [0], 5).texts == ["yy…yy"]
    alike = names_of(["x" * 90, "x" * 91, "z"], [2, 1, 0, 1]).texts
    assert alike[1] == alike[3]
    assert len(set(alike)) == 3
    # No font has these letters.
    assert names_of(["a\U0010fffdb", "a\U000e0101b"], [0, 1]).texts == ["a�b", "ab"]


def test_fonts_that_have_the_letters_are_found() -> None:
    """With a font of few letters in use, others that are installed take over."""
    with rc_context({"font.family": ["cmr10"]}):
        texts, fonts = names_of(["مرحبا"], [0])
        assert texts == ["مرحبا"]
        assert fonts[0] == "cmr10"
        assert "DejaVu Sans" in fonts
        with rc_context({"axes.formatter.use_mathtext": True}):  # cmr10 has no minus
            ax = plots.strengths(some_draws(3, ["a", "ü", "مرحبا"]), ax=Figure().subplots())
            assert "مرحبا" in names(ax)
            ax.figure.draw_without_rendering()


def test_a_broken_font_has_no_letters(tmp_path: Path) -> None:
    broken = tmp_path / "broken.ttf"
    broken.write_bytes(b"not a font")
    assert letters_of(str(broken)) == frozenset()


def test_labels_are_never_formulas() -> None:
    draws = some_draws(3, ["$x_1$", "a_b", "\\frac"])
    ax = plots.strengths(draws, scale="elo", reference="$x_1$")
    assert sorted(names(ax)) == ["$x_1$", "\\frac", "a_b"]
    assert not any(label.get_parse_math() for label in [*ax.get_yticklabels(), ax.xaxis.label])

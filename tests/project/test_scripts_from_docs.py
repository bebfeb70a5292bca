"""Five scripts, built only from code blocks of the docs, answer as stored, in a new environment.

League, races with retirements, shares in an assortment, a step of an HSMM, a run taken up after a
kill.  The new environment holds the built wheel and its extras, and nothing of the sources.
"""

import dataclasses
import json
from pathlib import Path

import pytest
from lib.doc_scripts import SCRIPTS, TELL, Answer, numbers_in, stored
from lib.environments import build, environment, interpreter, run


@pytest.mark.parametrize("name", SCRIPTS)
def test_the_stored_answer_is_the_one_on_the_page(name: str) -> None:
    """Which is what the page prints here, as the tests of pages know."""
    assert stored(name).printed == SCRIPTS[name].shown() != ""


def test_the_kill_is_real() -> None:
    code = SCRIPTS["resume"].code()
    assert "process.kill()" in code
    assert "luce.resume(" in code


@pytest.fixture(scope="module")
def python(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("scripts")
    wheel, _ = build(folder)
    return environment(interpreter("3.11"), folder / "new", f"{wheel}[plots,files]")


@pytest.mark.slow
@pytest.mark.parametrize("name", SCRIPTS)
def test_script(name: str, python: Path, tmp_path: Path) -> None:
    (tmp_path / "script.py").write_text(SCRIPTS[name].code(), encoding="utf-8")
    versions = json.loads(run(python, "-c", TELL, folder=tmp_path))
    printed = run(python, "script.py", folder=tmp_path)
    assert stored(name).faults(printed, versions) == []


# -- the judge, judged ------------------------------------------------------------------------

ANSWER = Answer("Ann 0.25 (0.20 to 1,200)\nBo 3\n", [0.01, 0.02, 3.0, 0.0], {"numpy": "2"})
ELSEWHERE = {"numpy": "3"}


def test_under_the_same_versions_every_letter_counts() -> None:
    assert ANSWER.faults(ANSWER.printed, {"numpy": "2"}) == []
    assert len(ANSWER.faults(ANSWER.printed.replace("0.25", "0.26"), {"numpy": "2"})) == 1


@pytest.mark.parametrize(
    ("old", "new", "right"),
    [
        ("0.25", "0.26", True),
        ("0.25", "0.40", False),  # fifteen standard errors
        ("1,200", "1,210", True),
        ("1,200", "1,300", False),
        ("Bo 3", "Bo 4", True),  # a unit of its last digit
        ("Bo 3", "Bo 5", False),
        ("Ann", "Cy", False),
        ("Bo 3", "Bo 3 4", False),
    ],
)
def test_under_others_the_monte_carlo_error_counts(old: str, new: str, right: bool) -> None:
    assert (ANSWER.faults(ANSWER.printed.replace(old, new), ELSEWHERE) == []) == right


@pytest.mark.parametrize("name", SCRIPTS)
def test_a_stored_answer_would_notice(name: str) -> None:
    """Each has numbers that are known well: moved by a half, they are found."""
    answer = stored(name)
    assert len(answer.errors) == len(answer.numbers())
    wrong = dataclasses.replace(answer, printed=answer.printed.replace("0.", "0.5"))
    assert numbers_in(wrong.printed) != answer.numbers()
    assert wrong.faults(answer.printed, {**answer.versions, "numpy": "other"}) != []

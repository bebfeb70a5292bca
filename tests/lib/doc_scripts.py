"""Scripts made of the code blocks of pages, and the answers that they are to print.

    python tests/lib/doc_scripts.py league races

runs them, or all, each under its own seeds, for the answers, and under others, for their Monte
Carlo errors, and stores both in tests/project/script_answers.
"""

import contextlib
import io
import json
import re
import sys
import tempfile
from dataclasses import asdict, dataclass
from itertools import pairwise
from pathlib import Path

import numpy as np
from scipy.stats import t as student

ROOT = Path(__file__).parents[2]
ANSWERS = ROOT / "tests" / "project" / "script_answers"
REPEATS = 8  # runs under other seeds

BLOCK = re.compile(r"^```(\w*)[^\n]*\n(.*?)^```[ \t]*$", re.MULTILINE | re.DOTALL)
NUMBER = re.compile(r"(?<![\w.])-?\d[\d,]*(?:\.\d*)?(?:e[-+]?\d+)?(?!\w)")


@dataclass(frozen=True)
class Script:
    """A page, or some of its sections; and where its seeds are, which `{k}` moves."""

    page: str
    sections: tuple[str, ...] = ()
    seeds: tuple[str, str] = (r"\bseed=(\d+)", r"seed=\g<1>{k:03d}")

    def blocks(self) -> list[tuple[str, str]]:
        """Language and content of each block, in order."""
        text = (ROOT / "docs" / self.page).read_text(encoding="utf-8")
        if self.sections:
            parts = re.split(r"^## (.*)\n", text, flags=re.MULTILINE)
            named = dict(zip(parts[1::2], parts[2::2], strict=True))
            text = "\n".join(named[section] for section in self.sections)
        return BLOCK.findall(text)

    def code(self) -> str:
        """The Python blocks, and nothing else."""
        return "\n\n".join(code for language, code in self.blocks() if language == "python")

    def shown(self) -> str:
        """What the page says that they print."""
        shown = [
            text
            for (first, _), (second, text) in pairwise(self.blocks())
            if (first, second) == ("python", "text")
        ]
        return "".join(shown)

    def with_other_seeds(self, k: int) -> str:
        """The same script, k-th repeat."""
        pattern, replacement = self.seeds
        code, n = re.subn(pattern, replacement.format(k=k), self.code())
        assert n > 0
        return code


SCRIPTS = {
    "league": Script("start.md"),
    "races": Script("examples/races.md"),
    "assortment": Script("examples/shop.md"),
    "hsmm": Script(
        "hsmm.md",
        ("One sweep in your loop",),
        # The data stay as they are: only what comes after them is drawn anew.
        (r"\n(model = luce)", r"\nrng = np.random.default_rng({k}77)\n\g<1>"),
    ),
    "resume": Script("large.md", ("Draws to a disk", "A run that was broken off")),
}


@dataclass(frozen=True)
class Answer:
    """What a script printed, the error of each number in it, and under which versions."""

    printed: str
    errors: list[float]
    versions: dict[str, str]

    def numbers(self) -> list[float]:
        """The numbers, in order."""
        return numbers_in(self.printed)

    def faults(self, printed: str, versions: dict[str, str]) -> list[str]:
        """Say what is wrong with an answer.

        Under the versions of the stored answer it must be the same to the letter.  Under others,
        words must be the same, and a number may differ by its Monte Carlo error, which is known
        from REPEATS runs, and by a unit of its last digit.
        """
        if versions == self.versions:
            return [] if printed == self.printed else [f"printed\n{printed}\nnot\n{self.printed}"]
        if words_in(printed) != words_in(self.printed):
            return [f"other words: {words_in(printed)!r}, not {words_in(self.printed)!r}"]
        bound = float(student.isf(0.5e-4 / max(len(self.errors), 1), REPEATS - 1))
        units = [unit(text) for text in NUMBER.findall(self.printed)]
        return [
            f"{new} instead of {old}, more than {bound * error + one:.2g} off"
            for new, old, error, one in zip(
                numbers_in(printed), self.numbers(), self.errors, units, strict=True
            )
            if abs(new - old) > bound * error + one
        ]


def numbers_in(text: str) -> list[float]:
    """Give the numbers of a text, in order."""
    return [float(found.replace(",", "")) for found in NUMBER.findall(text)]


def words_in(text: str) -> str:
    """Give a text without its numbers and its spaces."""
    return "".join(NUMBER.sub("#", text).split())


def unit(number: str) -> float:
    """Give the size of a unit in the last digit of a printed number."""
    mantissa, _, power = number.replace(",", "").partition("e")
    return float(10.0 ** (int(power or 0) - len(mantissa.partition(".")[2])))


# What bits may depend on, told by an environment about itself.
TELL = """
import json, platform
from importlib.metadata import version
names = ["luce", "numpy", "scipy", "numba", "xarray", "arviz-stats"]
print(json.dumps({"machine": platform.machine(), **{name: version(name) for name in names}}))
"""


def stored(name: str) -> Answer:
    """Read a stored answer."""
    return Answer(**json.loads((ANSWERS / f"{name}.json").read_text(encoding="utf-8")))


def _run(code: str) -> str:
    """Run code in an empty folder; many runs share one interpreter, and what it has loaded."""
    printed = io.StringIO()
    with (
        tempfile.TemporaryDirectory() as folder,
        contextlib.chdir(folder),
        contextlib.redirect_stdout(printed),
    ):
        exec(compile(code, "script.py", "exec"), {"__name__": "__main__"})
    return printed.getvalue()


def main(names: list[str]) -> None:
    """Store the answers of scripts."""
    for name in names:
        script = SCRIPTS[name]
        printed = _run(script.code())
        errors: list[float] = []
        if numbers_in(printed):
            others = [numbers_in(_run(script.with_other_seeds(k))) for k in range(1, REPEATS + 1)]
            errors = [float(f"{x:.2g}") for x in np.std(others, axis=0, ddof=1) * np.sqrt(2)]
        answer = Answer(printed, errors, json.loads(_run(TELL)))
        text = json.dumps(asdict(answer), indent=1, ensure_ascii=False)
        (ANSWERS / f"{name}.json").write_text(text + "\n", encoding="utf-8")
        print(name, len(errors), "numbers", flush=True)


if __name__ == "__main__":
    main(sys.argv[1:] or list(SCRIPTS))

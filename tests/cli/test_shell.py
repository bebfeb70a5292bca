"""The shell around commands: completion, colours, the examples of --help."""

import gzip
import io
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from luce.cli import main
from luce.cli.colours import coloured, wants_colours


class Terminal(io.StringIO):
    """A stream that is a terminal."""

    def isatty(self) -> bool:
        return True


@pytest.fixture
def script(capsys: pytest.CaptureFixture[str]) -> str:
    assert main(["completion", "bash"]) == 0
    return capsys.readouterr().out


@pytest.mark.skipif(shutil.which("bash") is None, reason="there is no bash here")
def test_bash_completes_commands_options_and_words(script: str, tmp_path: Path) -> None:
    lines = {
        ("luce", "le"): {"leaderboard"},
        ("luce", "fit", "games.csv", "--ki"): {"--kind"},
        ("luce", "fit", "--kind", "ra"): {"rankings"},
        ("luce", "fit", "--kind", "=", "ra"): {"rankings"},
        ("luce", "fit", "games.csv", "--format", ""): {"text", "csv", "md", "parquet"},
        ("luce", "completion", ""): {"bash", "zsh", "fish"},
        ("luce", "leaderboard", "run.nc", "--scale", "e"): {"elo"},
        ("luce", "fit", "--draws", ""): set(),  # files, by default
        ("luce", "nothing", "--ki"): set(),
    }
    asked = "\n".join(
        f"COMP_WORDS=({shlex.join(words)}); COMP_CWORD={len(words) - 1}; _luce; "
        'echo "${COMPREPLY[*]}"'
        for words in lines
    )
    test = f"set -u\n{script}\ncomplete -p luce\n{asked}\n"
    told = subprocess.run(["bash", "-c", test], capture_output=True, text=True, check=True)
    assert told.stderr == ""
    registered, *found = told.stdout.split("\n")
    assert registered == "complete -o default -F _luce luce"
    for (words, expected), answer in zip(lines.items(), found, strict=False):
        assert set(answer.split()) == expected, words


def test_scripts_know_all_commands_and_options(
    script: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit):
        main(["--help"])
    listed = re.search(r"\{([a-z,]+)\}", capsys.readouterr().out)
    assert listed
    scripts = {"bash": script}
    for shell in ("zsh", "fish"):
        assert main(["completion", shell]) == 0
        scripts[shell] = capsys.readouterr().out
    for command in listed[1].split(","):
        with pytest.raises(SystemExit):
            main([command, "--help"])
        options = set(re.findall(r"^  (--[a-z0-9-]+)", capsys.readouterr().out, re.MULTILINE))
        for shell in ("bash", "zsh"):
            (line,) = re.findall(rf"'{command} '-\*\)* (.*)", scripts[shell])
            assert options <= set(re.findall(r"--[a-z0-9-]+", line))
        offered = re.findall(rf"from {command}' -l ([a-z0-9-]+)", scripts["fish"])
        assert {option[2:] for option in options} <= set(offered)
        assert f"-a {command} -d " in scripts["fish"]
    assert "%(" not in scripts["fish"]


def test_colours_are_for_terminals(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("NO_COLOR", "FORCE_COLOR"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("TERM", "xterm")
    assert wants_colours(Terminal())
    assert not wants_colours(io.StringIO())
    monkeypatch.setenv("TERM", "dumb")
    assert not wants_colours(Terminal())
    monkeypatch.setenv("FORCE_COLOR", "1")
    assert wants_colours(io.StringIO())
    monkeypatch.setenv("NO_COLOR", "1")
    assert not wants_colours(Terminal())
    assert coloured("The draws can be trusted.", "good") == "The draws can be trusted."


def test_a_verdict_in_colour_says_the_same_words(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "apart.csv"
    path.write_text("winner,loser\na,b\nc,d\na,b\n")
    monkeypatch.delenv("FORCE_COLOR", raising=False)
    fit = ["fit", str(path), "--draws", "200", "--seed", "1"]
    main(fit)
    plain = capsys.readouterr().out
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setenv("FORCE_COLOR", "1")
    main(fit)
    painted = capsys.readouterr().out
    assert "\x1b[" not in plain
    assert "\x1b[32mThe draws can be trusted.\x1b[0m" in painted
    assert re.sub("\x1b\\[[0-9]+m", "", painted) == plain


@pytest.mark.compiled
@pytest.mark.filterwarnings("ignore::luce.ConvergenceWarning")
def test_the_examples_of_the_help_run(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "70")
    with pytest.raises(SystemExit):
        main(["fit", "--help"])
    said = capsys.readouterr().out
    examples = said.partition("examples:\n")[2].splitlines()
    assert len(examples) == 3
    Path("games.csv").write_text("winner,loser\nann,bo\nbo,cy\ncy,ann\n")
    Path("season.csv").write_text("home,away,result\na,b,1-0\nb,c,1/2-1/2\nc,a,0-1\na,c,1-0\n")
    votes = gzip.compress(b"ballot,count\nBo > Ann > Cy,3\nAnn > Bo,2\nCy,1\n")
    for example in examples:
        before, _, command = example.strip().rpartition("| ")
        assert before in ("", "zcat votes.csv.gz ")
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(gzip.decompress(votes))))
        luce, *words = shlex.split(command)
        assert luce == "luce"
        assert main(words) == 0, capsys.readouterr().err
    assert {"games.nc", "season.md"} <= {path.name for path in tmp_path.iterdir()}


@pytest.mark.filterwarnings("ignore::luce.ConvergenceWarning")
def test_one_long_label_makes_no_long_lines(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("COLUMNS", raising=False)
    path = tmp_path / "long.csv"
    long = "x" * 7000
    path.write_text(f"winner,loser\n{long}a,{long}b\n{long}b,c\nc,{long}a\n")
    for words in (["inspect"], ["fit", "--seed", "1", "--draws", "200"]):
        assert main([words[0], str(path), "--kind", "pairs", *words[1:]]) == 0
        lines = capsys.readouterr().out.splitlines()
        assert max(map(len, lines)) < 400
    ends = [line.split()[0][-1] for line in lines if re.match(r"[xc]\S* +0\.", line)]
    assert sorted(ends) == ["a", "b", "c"]

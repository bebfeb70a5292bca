"""The command `luce check`."""

import json
from pathlib import Path

import pytest
from lib.table_oracles import IQD

from luce.cli import main
from luce.hypotheses import independence_test


@pytest.fixture
def table(tmp_path: Path) -> str:
    path = tmp_path / "defects.csv"
    rows = [",".join("" if x != x else f"{x:g}" for x in row) for row in IQD]
    named = [f"s{k},{row}" for k, row in enumerate(rows)]
    path.write_text("\n".join(["shift,A,B,C,D", *named]) + "\n")
    return str(path)


def test_a_table(table: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["check", table, "--kind", "table"]) == 0
    fit = independence_test(IQD, progress=False).fit
    printed = capsys.readouterr().out
    assert f"deviance G²  {fit.deviance:.5g} on 9 degrees of freedom" in printed
    assert "adjusted residual" in printed


def test_rows_of_one_set_are_kept_apart(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "full.csv"
    path.write_text("row,a,b\nx,12,5\ny,3,9\n")
    assert main(["check", str(path), "--kind", "table"]) == 0
    assert "on 1 degree of freedom" in capsys.readouterr().out


def test_json(table: str, capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["check", table, "--kind", "table", "--json", "--replicates", "20"]
    assert main(arguments) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["degrees_of_freedom"] == 9
    assert set(found["simulated"]) == {"deviance", "pearson"}
    assert len(found["cells"]["observed"]) == 19


def test_what_is_refused(table: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["check", table, "--kind", "table", "--replicates", "-1"]) == 1
    assert "--replicates = -1" in capsys.readouterr().err

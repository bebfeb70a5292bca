"""The audit fails for what is found, and says aloud what could not be asked."""

import importlib.util
import json
from email.message import Message
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

FILE = Path(__file__).parents[2] / ".ci" / "audit.py"
spec = importlib.util.spec_from_file_location("audit", FILE)
assert spec is not None
assert spec.loader is not None
audit: Any = importlib.util.module_from_spec(spec)
spec.loader.exec_module(audit)

CLEAN = {"name": "numpy", "version": "2.0", "vulns": []}
BUG = {"id": "PYSEC-1", "fix_versions": ["2.1"]}
SKIPPED = {"name": "odd", "skip_reason": "not found"}


def test_what_we_need_is_free_and_from_an_index() -> None:
    seen: dict[str, Any] = {}
    audit.needed("luce", audit.EXTRAS, seen)
    assert {"numpy", "numba", "xarray", "matplotlib", "zarr"} <= set(seen)
    assert "pytest" not in seen
    assert [fault for name, found in seen.items() for fault in audit.faults_of(name, found)] == []


@pytest.mark.parametrize(
    ("listed", "code", "words"),
    [
        ([CLEAN, CLEAN], 0, "2 of 2 packages were asked about."),
        ([CLEAN, {**CLEAN, "vulns": [BUG]}], 1, "VULNERABLE: numpy 2.0: PYSEC-1, mended in 2.1"),
        ([CLEAN, SKIPPED], 0, "NOT AUDITED: 1 of 2"),
        ([CLEAN], 0, "NOT AUDITED: 1 of 2"),
        ([SKIPPED, {**CLEAN, "vulns": [BUG]}], 1, "NOT AUDITED: 1 of 2"),
    ],
)
def test_answers(listed: list[Any], code: int, words: str) -> None:
    found, said = audit.judged(json.dumps({"dependencies": listed}), 2)
    assert found == code
    assert any(line.startswith(words) for line in said), said


@pytest.mark.parametrize("answer", ["", "Traceback", "[]", '{"other": 1}'])
def test_no_answer_is_said_and_is_no_fault(answer: str) -> None:
    code, said = audit.judged(answer, 2)
    assert code == 0
    assert said[0].startswith("NOT AUDITED")


@pytest.mark.parametrize("licence", ["GPL-3.0-only", "AGPL-3.0", "Proprietary", None])
def test_control_other_licences_and_origins_are_faults(licence: str | None) -> None:
    data = Message()
    if licence:
        data["License-Expression"] = licence
    origin = '{"url": "https://example.org/x.zip"}'
    found = SimpleNamespace(metadata=data, read_text=lambda name: origin)
    assert len(audit.faults_of("odd", found)) == 2

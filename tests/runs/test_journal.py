"""Places that chains go on from: what does not fit is not used, and large ones are few."""

import fcntl
import io
import json
import re
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from lib.streaming_runs import (
    DRAWS,
    a_block,
    broken_off,
    draw,
    flip_a_bit,
    plan,
    same_numbers,
)

import luce
from luce import LuceError
from luce.errors import DataError
from luce.runs import journal, seal
from luce.runs.journal import context_of, read_place
from luce.runs.seal import sealed

pytestmark = pytest.mark.filterwarnings("ignore::luce.ConvergenceWarning")


@pytest.fixture
def unfinished(tmp_path: Path, breaking: Any) -> Path:
    """A run by waiting times that was broken off in the middle."""
    broken_off(tmp_path / "run.zarr", breaking, threads=1)
    return tmp_path / "run.zarr"


def test_places_that_cannot_be_right_are_not_used(unfinished: Path) -> None:
    """A block of one chain is changed; places of the other are torn, or of another run."""
    flip_a_bit(a_block(unfinished))
    places = unfinished / "journal" / "1"
    good = max(places.glob("*"))
    arrays = read_place(good, context_of(unfinished, good))
    assert arrays is not None
    done, steps = int(arrays["chain.done"]), int(good.name)
    assert done > 0

    def place(number: int, save: Any = np.savez, **changes: Any) -> None:
        renamed = {name.replace("__", "."): array for name, array in changes.items()}
        content, name = io.BytesIO(), f"{steps + number:015d}"
        save(content, **{**arrays, **renamed})
        whole = sealed(content.getvalue(), context_of(unfinished, places / name))
        (places / name).write_bytes(whole)

    place(1, chain__state_0=arrays["chain.state_0"][1:])
    place(2, chain__done=np.int64(DRAWS))
    place(3, chain__warmed=np.int64(-1), chain__done=np.int64(done))
    place(4, digests=arrays["digests"][:, :, :5])
    place(5, digests=arrays["digests"].astype(np.int64))
    place(6, more=np.zeros(3))
    place(7, digests=arrays["digests"][:-1])
    place(8, probabilities__running_mean=np.zeros(1))
    place(9, np.savez_compressed, more=np.zeros(10**4))
    (places / f"{steps + 10:015d}").write_bytes(good.read_bytes()[:100])
    (places / f"{steps + 11:015d}").write_bytes(good.read_bytes())
    for other in sorted((unfinished / "journal" / "2").glob("*")):
        (places / f"{steps + 12:015d}").write_bytes(other.read_bytes())
    assert same_numbers(luce.resume(unfinished, progress=False), draw("waiting-times"))


def test_large_places_are_written_seldom(tmp_path: Path, breaking: Any) -> None:
    broken_off(tmp_path / "seldom.zarr", breaking, k=9, threads=1, place_bytes=0)
    assert not list((tmp_path / "seldom.zarr" / "journal").glob("*/*"))
    often: dict[str, Any] = {"threads": 1, "place_bytes": 0, "place_seconds": 0.0}
    broken_off(tmp_path / "often.zarr", breaking, k=20, **often)
    assert list((tmp_path / "often.zarr" / "journal").glob("*/*"))
    assert same_numbers(luce.resume(tmp_path / "often.zarr", progress=False), draw("waiting-times"))


def test_two_places_of_a_chain_are_kept(tmp_path: Path, breaking: Any) -> None:
    """Each place holds the digests of all blocks so far: all of them would fill a disk."""
    broken_off(tmp_path / "run.zarr", breaking, threads=1)
    assert len(list((tmp_path / "run.zarr" / "posterior/probabilities/c/0").iterdir())) > 2
    assert len(list((tmp_path / "run.zarr" / "journal" / "0").glob("*"))) == 2


def test_files_that_were_being_written_are_removed(unfinished: Path) -> None:
    parts = [unfinished / name for name in (".checksums.part", "posterior/.zarr.json.part")]
    for part in parts:
        part.write_text("half")
    assert same_numbers(luce.resume(unfinished, progress=False), draw("waiting-times"))
    assert same_numbers(luce.load(unfinished), draw("waiting-times"))
    assert not any(part.exists() for part in parts)


def test_two_processes_do_not_write_one_run(unfinished: Path) -> None:
    with (unfinished / "journal" / "lock").open("w") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        with pytest.raises(LuceError, match="another process"):
            luce.resume(unfinished)
    assert same_numbers(luce.resume(unfinished, progress=False), draw("waiting-times"))


def test_a_journal_that_is_no_folder_cannot_be_locked(tmp_path: Path) -> None:
    (tmp_path / "journal").touch()
    with pytest.raises(LuceError, match="cannot be written"), journal.locked(tmp_path):
        pytest.fail("it was locked")


# -- plans and arrays that are not the run's -------------------------------------------------------


def changed(stored: dict[str, Any], **settings: Any) -> str:
    """A plan with other settings, as JSON."""
    return json.dumps({**stored, "settings": {**stored["settings"], **settings}})


def test_plans_that_cannot_be_right_are_refused(unfinished: Path) -> None:
    file = unfinished / "journal" / "plan"
    whole, stored = file.read_bytes(), journal.read_plan(unfinished)
    seedless = {k: v for k, v in stored["settings"].items() if k != "seed_entropy"}
    shape, other = f"{plan('waiting-times').settings.chains}, {DRAWS}, 6", f"5, {DRAWS}, 6"
    (unfinished / "journal" / "lock").touch()
    before = sorted(path for path in unfinished.rglob("*"))
    for wrong, words in (
        ("{", "is damaged"),
        ("[]", "is damaged: no object"),
        (json.dumps({**stored, "kept": [99]}), "is damaged .IndexError"),
        (json.dumps({**stored, "settings": seedless}), "is damaged .KeyError"),
        (json.dumps({**stored, "block": 7}), "was begun in blocks of 7 draws"),
        (
            json.dumps({**stored, "kind": "other"}),
            "cannot be gone on with: the run is of the kind 'other'",
        ),
        (changed(stored, draws=-1), "cannot be gone on with: draws = -1"),
        (changed(stored, block_chunks=1), "was begun in blocks of"),
        (
            changed(stored, chains=5),
            rf"has the shape \[{shape}\], and the run's settings \[{other}\]",
        ),
    ):
        file.write_bytes(seal.sealed(wrong.encode()))
        with pytest.raises(DataError, match=words):
            luce.resume(unfinished, progress=False)
    file.unlink()
    with pytest.raises(DataError, match="is not a run that was broken off"):
        luce.resume(unfinished, progress=False)
    file.write_bytes(whole)
    assert sorted(path for path in unfinished.rglob("*")) == before  # nothing was begun
    assert same_numbers(luce.resume(unfinished, progress=False), draw("waiting-times"))


def test_one_bit_of_the_data_or_another_seed_is_refused(unfinished: Path) -> None:
    """Both were taken over, and sealed, before there were checksums from the beginning on."""
    for name in ("constant_data/concentration/c/0", "observed_data/category_counts/c/0"):
        flip_a_bit(unfinished / name)
        with pytest.raises(DataError, match=rf"{name} has been changed or damaged"):
            luce.resume(unfinished, progress=False)
        flip_a_bit(unfinished / name)
    file = seal.plan_file(unfinished)
    whole = file.read_bytes()
    other = re.sub(rb'("seed_entropy": \[?\s*)\d', rb"\g<1>9", whole)
    assert other != whole
    file.write_bytes(other)
    with pytest.raises(DataError, match="plan is damaged: its fingerprint does not fit"):
        luce.resume(unfinished, progress=False)
    file.write_bytes(whole)
    assert same_numbers(luce.resume(unfinished, progress=False), draw("waiting-times"))


def test_another_version_does_not_go_on(unfinished: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("luce.runs.resuming.__version__", "99")
    with pytest.raises(DataError, match="this is luce 99"):
        luce.resume(unfinished)
    monkeypatch.undo()
    assert same_numbers(luce.resume(unfinished, progress=False), draw("waiting-times"))


def test_runs_of_the_format_before_are_refused_in_words(unfinished: Path) -> None:
    root = unfinished / "zarr.json"
    metadata = json.loads(root.read_text())
    metadata["attributes"]["format_version"] = 2
    root.write_text(json.dumps(metadata))
    (unfinished / "journal" / "plan").rename(unfinished / "journal" / "run.json")
    with pytest.raises(DataError, match="format_version 2, from before luce was released"):
        luce.resume(unfinished, progress=False)


def test_a_run_without_its_journal_is_not_gone_on_with(unfinished: Path) -> None:
    shutil.rmtree(unfinished / "journal")
    with pytest.raises(DataError, match="is not a run that was broken off"):
        luce.resume(unfinished, progress=False)

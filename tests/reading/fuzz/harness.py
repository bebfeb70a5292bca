"""A coverage-guided fuzzer of one reader: `python harness.py TARGET CORPUS [libFuzzer's options]`.

A reader may raise only a LuceError.  Any other exception, a hang or too much memory ends the
process with the input that caused it; libFuzzer's options set the limits.
"""

import json
import os
import sys
import tempfile
import warnings
from collections.abc import Callable
from contextlib import nullcontext
from importlib import import_module
from pathlib import Path
from pkgutil import iter_modules
from typing import Any

import atheris

GUIDED = os.environ.get("LUCE_FUZZ_BLIND") != "1"
KERNELS = Path(__file__).parents[3] / "src" / "luce" / "kernels"


def uninstrumented() -> list[str]:
    """Name the modules of kernels, which numba compiles from their unchanged bytecode."""
    parts = [
        file.relative_to(KERNELS.parent).with_suffix("").parts for file in KERNELS.rglob("*.py")
    ]
    return [".".join(["luce", *part]).removesuffix(".__init__") for part in parts]


with (
    atheris.instrument_imports(include=["luce", "planted"], exclude=uninstrumented())
    if GUIDED
    else nullcontext()
):
    import planted

    import luce
    from luce.runs import journal, seal, typed_json

    # Readers and formats are loaded when first needed, which would be too late to follow them.
    for module in iter_modules(luce.reading.__path__, "luce.reading."):
        import_module(module.name)

FOLDER = Path(tempfile.mkdtemp(dir="/dev/shm" if Path("/dev/shm").is_dir() else None))

KINDS = [None, "pairs", "rankings", "choices", "transitions", "table", "teams", "groups"]
OPTIONS: list[dict[str, Any]] = [
    {}, {"skip_bad": True}, {"ties": "half"}, {"ties": "davidson", "home": "first"},
    {"unranked": "below"}, {"unranked": "absent", "ties": "last"}, {"rows": "separate"},
    {"given": "table"}, {"separator": "|"}, {"best": "largest"}, {"encoding": "latin-1"},
    {"ties": "drop"}, {"missing": []}, {"delimiter": " "}, {"best": "largest", "blank": "absent"},
    {"ties": "entity", "home": "first", "home_effect": "entity"},
]  # fmt: skip


def reads(name: str) -> Callable[[bytes], None]:
    """Read a file of that name; the first two bytes choose the kind of data and the options."""
    path = FOLDER / name

    def target(data: bytes) -> None:
        if len(data) < 2:
            return
        kind, options = KINDS[data[0] % len(KINDS)], OPTIONS[data[1] % len(OPTIONS)]
        path.write_bytes(data[2:])
        counts = luce.read(path, kind, **options)
        for one in counts.values() if isinstance(counts, dict) else [counts]:
            assert 0 <= one.n_outcomes < float("inf")
            luce.Posterior(one)

    return target


def loads_netcdf(data: bytes) -> None:
    """Load a file that carries a right seal, so that what is behind the seal is tried."""
    path = FOLDER / "run.nc"
    path.write_bytes(data)
    seal.seal_file(path)
    luce.load(path)


def _whole_run(path: Path) -> None:
    counts = luce.ConditionalCounts("abc").observe({"a": 2, "b": 1}, within="ab")
    run = luce.Posterior(counts).sample(5, chains=1, seed=1, progress=False)
    luce.save(run, path, overwrite=True)


def loads_zarr() -> Callable[[bytes], None]:
    """Load a folder of which one file, chosen by the first byte, is replaced; sealed again."""
    path = FOLDER / "run.zarr"
    _whole_run(path)
    files = sorted(path.rglob("zarr.json")) + sorted(path.glob("*/*/c/*"))
    whole = {file: file.read_bytes() for file in files if file.is_file()}

    def target(data: bytes) -> None:
        if not data:
            return
        file = list(whole)[data[0] % len(whole)]
        file.write_bytes(data[1:])
        seal.seal_folder(path)
        try:
            luce.load(path)
        finally:
            file.write_bytes(whole[file])

    return target


def loads_settings(data: bytes) -> None:
    """Resume a run whose plan says anything."""
    path = FOLDER / "begun.zarr"
    if not path.exists():
        _whole_run(path)
        (path / "journal").mkdir()
    seal.plan_file(path).write_bytes(seal.sealed(data))
    luce.resume(path, progress=False)


def loads_place(data: bytes) -> None:
    """Read a place in a journal."""
    place = FOLDER / "place.npz"
    place.write_bytes(seal.sealed(data))
    journal.read_place(place, "")


def reads_typed_json(data: bytes) -> None:
    """Read typed JSON; what comes back can be written, and is then the same."""
    value = typed_json.from_text(data.decode(errors="replace"))
    again = typed_json.from_text(typed_json.to_text(value))
    assert repr(again) == repr(value) or "frozenset" in repr(value)


def targets() -> dict[str, Callable[[], Callable[[bytes], None]]]:
    """Every door that a stranger's bytes come in by."""
    named = {
        "csv": "table.csv", "tsv": "table.tsv", "json": "table.jsonl", "orders": "orders.txt",
        "pgn": "games.pgn", "soc": "votes.soc", "soi": "votes.soi", "toc": "votes.toc",
        "toi": "votes.toi", "wmd": "graph.wmd", "packed": "table.csv.gz",
        "parquet": "table.parquet",
    }  # fmt: skip
    found: dict[str, Any] = {
        key: lambda name=name: reads(name)  # type: ignore[misc]
        for key, name in named.items()
    }
    found |= {
        "typed-json": lambda: reads_typed_json, "zarr": loads_zarr, "netcdf": lambda: loads_netcdf,
        "settings": lambda: loads_settings, "place": lambda: loads_place,
        "planted": lambda: planted.read_text,
    }  # fmt: skip
    return found


def seeds(target: str, corpus: Path) -> None:
    """Write the inputs that the fuzzer begins with: valid files of that kind."""
    from seeds import FILES

    corpus.mkdir(parents=True, exist_ok=True)
    found: list[bytes] = []
    if target in FILES:
        found = [bytes([KINDS.index(kind), 0]) + content for kind, content in FILES[target]]
    elif target == "typed-json":
        values = [("a", 1, 2.5, True, None), frozenset([1, (2,)]), [b"ab", 2**70, float("inf")]]
        found = [typed_json.to_text(value).encode() for value in values]
    elif target == "netcdf":
        _whole_run(FOLDER / "run.nc")
        found = [(FOLDER / "run.nc").read_bytes()]
    elif target == "zarr":
        loads_zarr()
        path = FOLDER / "run.zarr"
        files = sorted(path.rglob("zarr.json")) + sorted(path.glob("*/*/c/*"))
        for k, file in enumerate(f for f in files if f.is_file()):
            found.append(bytes([k]) + file.read_bytes())
    elif target == "settings":
        found = [json.dumps({"block": 5, "draws": 5, "chains": 1, "luce_version": "0"}).encode()]
    elif target == "place":
        import io

        import numpy as np

        content = io.BytesIO()
        np.savez(content, done=np.int64(3), states=np.ones(4), digests=np.zeros((1, 2, 32), "u1"))
        found = [content.getvalue()]
    for k, content in enumerate(found):
        (corpus / f"seed-{k}").write_bytes(content)


def main() -> None:
    """Fuzz one target."""
    name, corpus, *options = sys.argv[1:]
    seeds(name, Path(corpus))
    run = targets()[name]()

    def one_input(data: bytes) -> None:
        try:
            run(data)
        except luce.LuceError as error:
            if not str(error):
                raise AssertionError("an error without words") from error

    warnings.simplefilter("ignore")
    atheris.Setup([sys.argv[0], corpus, *options], one_input)
    atheris.Fuzz()


if __name__ == "__main__":
    main()

"""Parquet files, reduced to distinct rows by polars or duckdb without loading them."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path
from typing import Any, cast

from luce.errors import DataError
from luce.reading.frames import FrameSource


class ParquetSource(FrameSource):
    """A Parquet file, scanned whenever rows are asked for."""

    def __init__(self, path: Path, magic: bytes) -> None:
        if magic != b"PAR1":
            raise DataError("this is not a Parquet file: it does not begin with PAR1.")
        self.name = path.name
        import narwhals as nw

        engine = next((e for e in ("polars", "duckdb", "pyarrow") if find_spec(e)), None)
        if engine is None:
            raise DataError(
                "Parquet files are read by polars, duckdb or pyarrow, and none is installed; "
                "install luce[files]."
            )
        self._engine = engine
        frame: Any = self._ask(lambda: nw.scan_parquet(str(path), backend=cast(Any, engine)))
        self._ask(lambda: super(ParquetSource, self).__init__(frame))

    def _collect(self, frame: Any) -> Any:
        return self._ask(lambda: super(ParquetSource, self)._collect(frame))

    def _ask(self, query: Any) -> Any:
        """Run a query of the engine, and turn its failures into a DataError."""
        try:
            return query()
        except (DataError, KeyboardInterrupt, SystemExit, MemoryError):
            raise
        except BaseException as error:  # polars' panics are no Exceptions
            what = str(error).split("\n")[0] or type(error).__name__
            raise DataError(f"{self._engine} cannot read it: {what}") from None

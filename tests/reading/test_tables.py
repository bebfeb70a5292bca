"""Tables of counts."""

import pytest

from luce import from_rankings, from_table
from luce.errors import DataError, SkippedRowsWarning


def test_a_text_is_no_list_of_columns() -> None:
    with pytest.raises(DataError, match=r"\['ab'\]"):
        from_table({"a": [1], "b": [2], "ab": [7]}, ignore="ab")
    with pytest.raises(DataError, match="did_not_finish"):
        from_rankings({"a": [1], "b": ["DNF"]}, did_not_finish="DNF")


def test_a_table_without_a_usable_row_is_refused() -> None:
    table = {"a": ["x", -1], "b": [1, 2]}
    with (
        pytest.warns(SkippedRowsWarning, match="left out 2"),
        pytest.raises(DataError, match="no usable row is left"),
    ):
        from_table(table, rows="b", skip_bad=True)

"""Teams."""

import pandas as pd
import pytest

from luce import from_rankings, from_teams
from luce.errors import DataError


def test_options_that_the_data_cannot_follow_are_refused() -> None:
    with pytest.raises(DataError, match="does not say who was at home"):
        from_teams({"a": [1, 0], "b": [0, 1]}, home="first")
    with pytest.raises(DataError, match="counts go with a list of rankings"):
        from_rankings(pd.DataFrame({"a": [1, 2], "b": [2, 1]}), counts=[3, 4])

"""Pictures that rank categories leave ties and advantages out, unless they are named."""

from collections.abc import Callable
from typing import Any

import pytest
from lib.answer_cases import dirichlet, draws_of

from luce import plots

DRAWS = draws_of(dirichlet([2.0, 3.0, 4.0, 2.5])).assign_attrs(tie_categories=["c"])


@pytest.mark.parametrize(
    "picture", [plots.strengths, plots.shares, plots.rank_heatmap, plots.win_matrix]
)
def test_effects_are_drawn_only_where_named(picture: Callable[..., Any]) -> None:
    def names(**options: Any) -> list[str]:
        return sorted(label.get_text() for label in picture(DRAWS, **options).get_yticklabels())

    assert names() == ["a", "b", "d"]
    assert names(among=["a", "c"]) == ["a", "c"]


def test_effects_are_no_corners() -> None:
    assert [text.get_text() for text in plots.simplex(DRAWS).texts] == ["a", "b", "d"]

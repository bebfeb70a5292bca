"""Short labels: what tells labels apart stays."""

import numpy as np
import pytest
from lib.bounds import SEED

from luce.counts.short_labels import MOST_CHARACTERS, short_labels, shortened
from luce.page.short_texts import abridged


def test_the_part_that_differs_stays() -> None:
    dates = ["2024-08-06", "2024-11-20", "2025-02-27"]
    labels = [f"openai/gpt-4o-{date}-long-context" for date in dates]
    assert len({abridged(label, 26) for label in labels}) == 1  # the middle alone is lost
    for date, short in zip(dates, short_labels(labels), strict=True):
        assert len(short) <= MOST_CHARACTERS
        assert short.startswith("openai")
        assert short.endswith("context")
        assert date[3:] in short


def test_one_that_has_a_part_more() -> None:
    plain, longer = shortened(
        ["anthropic/claude-opus-4-1-latest", "anthropic/claude-opus-4-1-xl-latest"], 20
    )
    assert "xl" in longer
    assert "xl" not in plain
    assert max(len(plain), len(longer)) <= 20


@pytest.mark.parametrize("most", [14, 20, 26])
def test_texts_that_differ_stay_different(most: int) -> None:
    """They do without numbers, but for a few that have room for two letters of what differs."""
    alike = 0
    rng = np.random.default_rng(SEED)
    for _ in range(200):
        base = rng.choice(list("abcdefgh-"), size=40)
        texts = []
        for _ in range(4):
            own = base.copy()
            own[rng.integers(40)] = rng.choice(list("xyz"))
            texts.append("".join(own))
        short = shortened(texts, most)
        assert all(len(each) <= most for each in short)
        alike += len(set(texts)) - len(set(short))
        assert len(set(short_labels(list(set(texts)), most))) == len(set(texts))
    assert alike <= (4 if most == 14 else 0)


def test_short_and_equal_labels() -> None:
    assert short_labels(["a", "b\nc", "a" * 26]) == ["a", "b\\nc", "a" * 26]
    assert shortened(["same" * 9, "same" * 9, "other"], 12) == ["samesa…esame"] * 2 + ["other"]
    assert short_labels(["x" * 30 + "1" + "x" * 30, "x" * 30 + "2" + "x" * 30], 5) == [
        "xx…xx #0",
        "xx…xx #1",
    ]

"""Tables with given totals: all of them against brute force, and random ones against all."""

import numpy as np
import pytest
from lib.bounds import SEED, z_limit
from lib.size import draws as number_of_draws
from lib.table_oracles import (
    CHESS,
    GEAR,
    HANDOVER,
    IQD,
    NAN,
    ORDERED,
    SHIFTS,
    all_by_brute_force,
    array,
    p_by_brute_force,
)
from scipy.stats import fisher_exact

from luce.hypotheses.same_margins import (
    GROUPS,
    SameMargins,
    all_tables,
    enumerate_by_probability,
    random_tables,
)
from luce.sampling.progress import ProgressBar

TABLES = {"iqd": IQD, "shifts": SHIFTS, "chess": CHESS, "ordered": ORDERED, "gear": GEAR,
          "handover": HANDOVER}  # fmt: skip


def margins_of(table: object) -> SameMargins:
    given = array(table)
    return SameMargins(np.nan_to_num(given).astype(np.int64), ~np.isnan(given))


def random_table(rng: np.random.Generator) -> np.ndarray:
    """A small table with some impossible cells, and perhaps a row that is decided or empty."""
    while True:
        shape = tuple(rng.integers(2, 4, size=2))
        table = rng.integers(0, 4, shape).astype(float)
        table[rng.random(shape) < 0.25] = NAN
        caps = np.minimum.outer(np.nansum(table, axis=1), np.nansum(table, axis=0)) + 1
        if np.prod(caps[~np.isnan(table)]) < 50_000:  # tables that brute force tries
            return table


@pytest.mark.parametrize("seed", range(30))
def test_all_tables_and_their_p_value_by_brute_force(seed: int) -> None:
    table = random_table(np.random.default_rng([SEED, seed]))
    margins = margins_of(table)
    number, p = p_by_brute_force(table)
    found = enumerate_by_probability(margins)
    assert found is not None
    assert found.n_tables == number
    assert found.p_value == pytest.approx(p, rel=1e-9)
    listed = all_tables(margins)
    assert listed is not None
    truth = {one.tobytes() for one, _ in all_by_brute_force(table)}
    assert {one.tobytes() for one in listed} == truth


@pytest.mark.parametrize(
    ("name", "printed", "digits"),
    [("gear", 0.05094, 5), ("ordered", 0.065, 3), ("chess", 0.050027, 6)],
)
def test_published_p_values(name: str, printed: float, digits: int) -> None:
    found = enumerate_by_probability(margins_of(TABLES[name]))
    assert found is not None
    assert round(found.p_value, digits) == printed


def test_full_tables_have_fishers_p_value() -> None:
    for table in ([[3, 1], [0, 6]], [[7, 2], [5, 9]], [[1, 8], [2, 1]]):
        found = enumerate_by_probability(margins_of(table))
        assert found is not None
        assert found.p_value == pytest.approx(fisher_exact(table).pvalue, rel=1e-9)
        turned = enumerate_by_probability(margins_of(np.transpose(table)))
        assert turned == pytest.approx(found, rel=1e-9)


def test_large_tables_are_left_to_random_ones() -> None:
    table = np.random.default_rng(1).integers(50, 99, (5, 5))
    assert enumerate_by_probability(margins_of(table)) is None
    assert all_tables(margins_of(table)) is None


def drawn(table: object, number: int, steps: int | None = None) -> np.ndarray:
    rng = np.random.default_rng([SEED, 7])
    found = random_tables(margins_of(table), number, steps, rng, ProgressBar(GROUPS, False))
    assert found.r_hat < 1.02 or steps is not None
    return found.tables.reshape(-1, *found.tables.shape[2:])


SAMPLED = ["shifts", "chess", "ordered", "gear"]


def furthest(found: np.ndarray, table: object) -> float:
    """Standard errors between the shares of tables and their probabilities, the largest."""
    truth = all_by_brute_force(table) if np.size(table) < 9 else None
    margins = margins_of(table)
    listed = all_tables(margins)
    assert listed is not None
    assert truth is None or len(truth) == len(listed)
    weights = np.exp(margins.log_weights(listed))
    weights /= weights.sum()
    place = {one.tobytes(): k for k, one in enumerate(listed)}
    shares = np.bincount([place[one.tobytes()] for one in found], minlength=len(listed))
    often = weights * len(found) > 20
    errors = np.sqrt(weights * (1 - weights) / len(found))
    return float((np.abs(shares / len(found) - weights) / errors)[often].max())


@pytest.mark.parametrize("name", SAMPLED)
def test_random_tables_have_their_probabilities(name: str) -> None:
    found = drawn(TABLES[name], number_of_draws(8000, 2000))
    margins = margins_of(TABLES[name])
    assert (found.sum(axis=1) == margins.columns).all()
    assert (found.sum(axis=2) == margins.rows).all()
    assert (found[:, ~margins.possible] == 0).all()
    assert furthest(found, TABLES[name]) < z_limit(100 * len(SAMPLED))


@pytest.mark.parametrize("name", ["shifts", "gear"])
def test_negative_control_uniform_tables(name: str) -> None:
    """Tables drawn as if all were equally probable."""
    listed = all_tables(margins_of(TABLES[name]))
    assert listed is not None
    rng = np.random.default_rng(SEED)
    found = listed[rng.integers(0, len(listed), number_of_draws(8000, 2000))]
    assert furthest(found, TABLES[name]) > z_limit(100 * len(SAMPLED))


def test_exchanges_of_two_rows_and_columns_would_not_do() -> None:
    """In a circle of pairs no two rows share two columns, and still there are several tables."""
    possible = ~np.isnan(array(GEAR))
    shared = (possible[:, None] & possible).sum(axis=2)
    assert (shared[~np.eye(len(possible), dtype=bool)] <= 1).all()
    assert len(np.unique(drawn(GEAR, 1000), axis=0)) > 1


def test_short_chains_are_found_out() -> None:
    rng = np.random.default_rng(SEED)
    table = np.diag([40, 40, 40, 40])
    short = random_tables(margins_of(table), 800, 2, rng, ProgressBar(GROUPS, False))
    assert short.r_hat > 1.05


def test_the_given_table_is_not_changed() -> None:
    margins = margins_of(CHESS)
    before = margins.table.copy()
    random_tables(margins, 100, 30, np.random.default_rng(1), ProgressBar(GROUPS, False))
    assert (margins.table == before).all()

"""Independence of the rows and columns of a table in which some cells cannot occur.

Quasi-independence: given that a cell can occur, its probability is a product of one number for its
row and one for its column.  Then each row has the conditional probabilities of `luce.from_table`.

Given the totals of rows and columns, the probability of a table does not depend on these numbers:
Fisher's exact test, as Freeman and Halton extended it to larger tables, and West and Hankin (2008)
to tables with impossible cells.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from luce._types import BoolArray, IntArray, SeedLike
from luce.counts.labels import label_array, plural
from luce.counts.recorded import Sample
from luce.errors import (
    BadRowsError,
    ConvergenceWarning,
    DataError,
    MethodError,
    listed,
    warn_user,
)
from luce.estimates.estimate import Estimate
from luce.hypotheses.cells import SetCells
from luce.hypotheses.fit_tests import FitTest, fit_and_test
from luce.hypotheses.same_margins import (
    GROUPS,
    SameMargins,
    all_tables,
    enumerate_by_probability,
    random_tables,
)
from luce.reading.tables import Table, ask_about_strangers, read_table
from luce.sampling.progress import ProgressBar
from luce.sampling.settings import check_whole

if TYPE_CHECKING:
    from xarray import Dataset

_METHODS = ("auto", "enumeration", "sampling")

# Largest R-hat of the groups of chains that passes without a warning.
_LARGEST_R_HAT = 1.01

# Statistics closer than this, relatively, are taken as equal.
_SAME = 1e-9

# Largest total of a table, whose counts must be exact.
_LARGEST = 1_000_000


@dataclass(frozen=True, eq=False, repr=False)
class IndependenceTest:
    """Tests of the independence of rows and columns of a table.

    Attributes
    ----------
    table
        Dimensions `row` and `column`; variables as in `FitTest.cells`, nan in cells that cannot
        occur.
    fit
        The expected counts, and the tests by G² and X², which are asymptotic.
    exact
        The p-value given all totals; its `method` is "enumeration" or "sampling", and its standard
        error 0 after an enumeration.
    n_tables
        Number of tables with these totals, if they were enumerated.
    """

    table: Dataset
    fit: FitTest
    exact: Estimate
    n_tables: int | None

    @property
    def p_value(self) -> float:
        """The exact p-value."""
        return float(self.exact)

    def __str__(self) -> str:
        if self.n_tables is None:
            how = f"± {float(self.exact.standard_error):.1g} (random tables)"
        else:
            how = f"({plural(self.n_tables, 'table')} with these totals)"
        given = f"  given totals  p = {self.p_value:.4g} {how}"
        first, *rest = str(self.fit).split("\n")
        return "\n".join([first.replace("sample", "row"), given, *rest])

    __repr__ = __str__


def independence_test(
    table: Any,
    *,
    rows: str | None = None,
    possible: Any = None,
    ignore: Sequence[str] = (),
    statistic: Callable[[IntArray], float] | None = None,
    method: str = "auto",
    tables: int = 16_000,
    steps: int | None = None,
    replicates: int = 0,
    seed: SeedLike = 0,
    progress: bool = True,
) -> IndependenceTest:
    """Test whether rows and columns of a table are independent where they can occur together.

    The p-value is exact: the probability, given the totals of rows and columns, of the tables that
    are no more probable than the observed one (Fisher, Freeman and Halton).  It is added up over
    all tables with these totals and the same impossible cells or, where they are too many,
    estimated from random ones.  R's `aylmer.test` gives the same.

    Parameters
    ----------
    table
        A frame, a mapping of columns or an array of counts; nan or nothing in a cell that cannot
        occur.
    rows, possible, ignore
        As in `luce.from_table`.
    statistic
        A function of a table, an array of whole numbers with 0 in impossible cells.  The p-value is
        then the probability of the tables at which it is at least as large as observed.
    method
        "enumeration", "sampling", or "auto": the first where there are not too many tables.
    tables, steps
        Number of random tables, and steps of a Markov chain for each of them, 60 times the number
        of possible cells unless given.
    replicates
        For simulated p-values of G² and X², as in `luce.goodness_of_fit`.
    seed, progress
        Of random tables and replicates.

    Warns
    -----
    ConvergenceWarning
        Where chains of random tables have not forgotten where they began.

    Examples
    --------
    Defects of four machines, of which some were switched off (West and Hankin 2008, table 1).

    >>> import luce
    >>> off = None
    >>> defects = {"A": [4, 0, 2, 3, 3, 0, 0], "B": [1, 1, 1, off, off, 4, off],
    ...            "C": [1, 2, off, 2, off, off, 3], "D": [1, off, 1, 0, 2, off, off]}
    >>> test = luce.hypotheses.independence_test(defects)
    >>> test.n_tables, round(test.p_value, 4)
    (60027, 0.1297)

    Does machine A make more defects than expected when all are on?

    >>> more = luce.hypotheses.independence_test(defects, statistic=lambda table: table[0, 0])
    >>> round(more.p_value, 4)
    0.044
    """
    if method not in _METHODS:
        raise MethodError(f"method = {method!r}; choose one of {', '.join(_METHODS)}.")
    check_whole("tables", tables, 100)
    check_whole("replicates", replicates, 0)
    if steps is not None:
        check_whole("steps", steps, 1)
    try:
        read = read_table(table, rows, ignore, possible)
    except BadRowsError as error:  # no row of a table can be left out
        raise DataError(f"the table: {listed(error.problems, error.unit)}") from None
    ask_about_strangers(read, "call it something else")
    margins = _margins(read)
    rng = np.random.default_rng(seed)
    fit = fit_and_test(_cells(read), replicates, rng.spawn(1)[0], progress)
    exact, number = _exact(margins, statistic, method, tables, steps, rng, progress)
    return IndependenceTest(_as_table(read, fit), fit, exact, number)


def _margins(table: Table) -> SameMargins:
    """Check that the counts can be enumerated."""
    values = np.nan_to_num(table.values)
    if (values % 1).any():
        raise DataError("the table has fractions; an exact test needs whole numbers.")
    if values.sum() > _LARGEST:
        raise DataError(
            f"the table has {plural(values.sum(), 'outcome')}; an exact test takes up to "
            f"{_LARGEST:,}. luce.goodness_of_fit(luce.from_table(table), apart=True) has the "
            "asymptotic tests."
        )
    return SameMargins(values.astype(np.int64), table.possible())


def _cells(table: Table) -> SetCells:
    """Lay the rows of a table out as samples."""
    samples = []
    for label, values in zip(table.rows, table.values, strict=True):
        members = np.flatnonzero(~np.isnan(values))
        seen: dict[tuple[int, ...], float] = {
            (j,): float(values[j]) for j in members.tolist() if values[j] > 0
        }
        if seen:
            samples.append(Sample(members, np.ones(len(members)), seen, str(label)))
    cells = SetCells.of_samples(table.columns, samples)
    if len(cells.observed) == 0:
        raise DataError("no row of the table has counts and two cells that can occur.")
    return cells


def _as_table(table: Table, fit: FitTest) -> Dataset:
    """Lay observed and expected counts and residuals out as the table was."""
    import xarray as xr

    rows = [
        i
        for i, values in enumerate(table.values)
        if (~np.isnan(values)).sum() > 1 and np.nansum(values) > 0
    ]
    at_row = np.array(rows)[fit.cells["sample"].to_numpy()]
    within = [np.flatnonzero(~np.isnan(table.values[i])) for i in rows]
    at_column = np.concatenate(within)
    out = {}
    for name, values in fit.cells.data_vars.items():
        filled = np.where(table.possible(), 0.0, np.nan)
        if name in ("observed", "expected"):  # certain cells, and rows without counts
            filled = table.values.copy()
        filled[at_row, at_column] = values.to_numpy()
        out[str(name)] = (("row", "column"), filled)
    coords = {"row": label_array(table.rows), "column": label_array(table.columns)}
    return xr.Dataset(out, coords)


def _exact(
    margins: SameMargins,
    statistic: Callable[[IntArray], float] | None,
    method: str,
    tables: int,
    steps: int | None,
    rng: np.random.Generator,
    progress: bool,
) -> tuple[Estimate, int | None]:
    """Compute or estimate the p-value given the totals, and the number of tables."""
    if not any(len(own) for own in margins.neighbours):
        return Estimate(1.0, 0.0, "enumeration"), 1
    if method != "sampling":
        found = _enumerated(margins, statistic)
        if found is not None:
            return found
        if method == "enumeration":
            raise MethodError(
                "there are too many tables with these totals to list them; take method='sampling'."
            )
    with ProgressBar(GROUPS, progress) as bar:
        drawn = random_tables(margins, tables, steps, rng, bar)
    # Of independent chains the groups' means differ by chance, by 1 / n of the variance within.
    largest = _LARGEST_R_HAT + 1 / drawn.tables.shape[1]
    if not drawn.r_hat <= largest:
        length = "60 times the number of cells" if steps is None else f"{steps:,}"
        warn_user(
            ConvergenceWarning(
                f"random tables still depend on where their chains began (R-hat {drawn.r_hat:.3f}; "
                f"at most {largest:.3f} is wanted). Take more steps than {length}."
            )
        )
    if statistic is None:
        flags = margins.are_as_improbable(drawn.tables)
    else:
        flags = _at_least(statistic, margins, drawn.tables)
    return _estimate(flags), None


def _enumerated(
    margins: SameMargins, statistic: Callable[[IntArray], float] | None
) -> tuple[Estimate, int] | None:
    """Add up over all tables; None where they are too many."""
    if statistic is None:
        found = enumerate_by_probability(margins)
        return (
            None if found is None else (Estimate(found.p_value, 0.0, "enumeration"), found.n_tables)
        )
    listed = all_tables(margins)
    if listed is None:
        return None
    logs = margins.log_weights(listed)
    weights = np.exp(logs - logs.max())
    p = float(weights[_at_least(statistic, margins, listed)].sum() / weights.sum())
    return Estimate(min(p, 1.0), 0.0, "enumeration"), len(listed)


def _at_least(
    statistic: Callable[[IntArray], float], margins: SameMargins, tables: IntArray
) -> BoolArray:
    """Flag tables whose statistic is at least as large as that of the observed one."""
    observed = float(statistic(margins.table.copy()))
    flat = tables.reshape(-1, *tables.shape[-2:])
    values = np.array([float(statistic(one)) for one in flat]).reshape(tables.shape[:-2])
    if not (np.isfinite(observed) and np.isfinite(values).all()):
        raise DataError("statistic must return a finite number for each table.")
    return np.asarray(values >= observed - _SAME * max(abs(observed), 1.0))


def _estimate(flags: BoolArray) -> Estimate:
    """Estimate a p-value from flags of random tables, shape (group, chain)."""
    p = float((1 + flags.sum()) / (1 + flags.size))
    independent = np.sqrt(p * (1 - p) / flags.size)
    between = flags.mean(axis=1).std(ddof=1) / np.sqrt(len(flags))
    return Estimate(p, float(max(independent, between)), "sampling")

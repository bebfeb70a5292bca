"""Categories not seen yet, under a Dirichlet process: their masses and expected number."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from luce._types import FloatArray, SeedLike
from luce.errors import DataError
from luce.sampling.settings import check_whole

if TYPE_CHECKING:
    from xarray import DataArray, Dataset, DataTree

_STEP = 0.2  # step of the trapezoidal rule: its error is about exp(-2 π² / 0.2)
_CHUNK = 2_000_000  # numbers worked on at once


def draw_new_atoms(run: DataTree, n: int, seed: SeedLike = None) -> Dataset:
    """Break the remainder of a Dirichlet process into sticks: n new categories for each draw.

        V_k ~ Beta(1, γ (1 - Σ H)),     p_k = V_k p_rest,     p_rest becomes (1 - V_k) p_rest

    Exact for any n, without a truncation level: the mass left by the sticks is the new remainder.
    Atoms come in the order in which outcomes would first meet them.

    Parameters
    ----------
    run
        A run of `Posterior.sample` under a `DirichletProcess`.
    n
        Number of new categories.
    seed
        The same seed gives the same atoms.

    Returns
    -------
    Dataset
        "probabilities" (chain, draw, atom) and "remainder" (chain, draw).

    Examples
    --------
    >>> import luce
    >>> counts = luce.ConditionalCounts(["ant", "bee", "remainder"]).observe({"ant": 3, "bee": 1})
    >>> run = luce.Posterior(counts, luce.DirichletProcess(1.0)).sample(100, seed=1)
    >>> atoms = draw_new_atoms(run, 5, seed=2)
    >>> rest = run.posterior["probabilities"].sel(category="remainder")
    >>> bool(np.allclose(atoms["probabilities"].sum("atom") + atoms["remainder"], rest))
    True
    """
    import xarray as xr

    check_whole("n", n, 1)
    rest, scale = _rest_and_scale(run)
    rng = np.random.default_rng(seed)
    # log(1 - V) = log(U) / γ is finite where V is 1 to the last digit.
    left = np.log1p(-rng.random((*rest.shape, n))) / scale.to_numpy()[..., None]
    before = np.cumsum(left, axis=-1) - left
    masses = rest.to_numpy()[..., None] * np.exp(before) * -np.expm1(left)
    sample = {"chain": rest["chain"].to_numpy(), "draw": rest["draw"].to_numpy()}
    return xr.Dataset(
        {
            "probabilities": (("chain", "draw", "atom"), masses),
            "remainder": (("chain", "draw"), rest.to_numpy() * np.exp(left.sum(axis=-1))),
        },
        sample,
    )


def expected_new(run: DataTree, m: int) -> DataArray:
    """Compute the expected number of new categories among the next m outcomes, for each draw.

    With q the remainder's mass and g = γ (1 - Σ H), outcome j + 1 is new with probability
    q E[g / (g + B)], B ~ Binomial(j, q) of those before it being in the remainder.  Summed over j,

        g ∫_0^1 (1 - s)^(g - 1) (1 - (1 - q s)^m) / s ds.

    The mean over the draws is the posterior expectation.

    Parameters
    ----------
    run
        A run of `Posterior.sample` under a `DirichletProcess`.
    m
        Number of outcomes, each free to be any category.

    Returns
    -------
    DataArray
        Dimensions (chain, draw).

    Examples
    --------
    One outcome is new with the probability of the remainder.

    >>> import luce
    >>> counts = luce.ConditionalCounts(["ant", "bee", "remainder"]).observe({"ant": 3, "bee": 1})
    >>> run = luce.Posterior(counts, luce.DirichletProcess(1.0)).sample(100, seed=1)
    >>> rest = run.posterior["probabilities"].sel(category="remainder")
    >>> bool(np.allclose(expected_new(run, 1), rest))
    True
    """
    check_whole("m", m, 1)
    rest, scale = _rest_and_scale(run)
    values = expected_number(rest.to_numpy().ravel(), scale.to_numpy().ravel(), float(m))
    return rest.copy(data=values.reshape(rest.shape)).drop_vars("category").rename("expected_new")


def expected_number(q: FloatArray, g: FloatArray, m: float) -> FloatArray:
    """Compute the integral of `expected_new` by the trapezoidal rule in y = log(s / (1 - s)).

    Since ds = s (1 - s) dy the integral is g ∫ (1 - s)^g (1 - (1 - q s)^m) dy, whose integrand is
    analytic.  Beyond y = 40 the integrand is g exp(-g y) times a constant to all digits: that part
    has a closed form, and the end of the rule is corrected by its first Euler-Maclaurin term.

    Parameters
    ----------
    q, g
        Mass of the remainder, and γ times the diffuse mass of the base; shape (draw,).
    m
        Number of outcomes.
    """
    y = np.arange(-(np.log(m) + 37.0) // _STEP, 40.0 / _STEP + 0.5) * _STEP
    log_not = -np.logaddexp(0.0, y)  # log(1 - s)
    s = np.exp(-np.logaddexp(0.0, -y))
    out = np.empty(len(q))
    for few in np.array_split(np.arange(len(q)), max(1, len(q) * 1000 // _CHUNK)):
        if not len(few):
            continue
        missed = -np.expm1(m * np.log1p(-np.minimum(q[few, None] * s, 1 - 1e-16)))
        values = g[few, None] * np.exp(g[few, None] * log_not) * missed
        last = values[:, -1]
        body = (values.sum(axis=1) - last / 2) * _STEP + _STEP**2 / 12 * g[few] * last
        out[few] = body + np.exp(-g[few] * y[-1]) * missed[:, -1]
    return out


def _rest_and_scale(run: DataTree) -> tuple[DataArray, DataArray]:
    """Read the mass of the remainder, and γ times the diffuse mass of the base; (chain, draw)."""
    import xarray as xr

    place = run.attrs.get("process_remainder", -1)
    if place < 0:
        raise DataError(
            "this run has no remainder: its prior was not a Dirichlet process, or the base had "
            "all its mass on labels. See luce.DirichletProcess."
        )
    posterior = run["posterior"].to_dataset()
    rest = posterior["probabilities"].isel(category=place)
    diffuse = float(run["constant_data"].to_dataset()["base"][place])
    if "concentration" in posterior:
        return rest, posterior["concentration"] * diffuse
    return rest, xr.full_like(rest, run.attrs["process_concentration"] * diffuse)

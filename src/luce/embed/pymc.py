"""A step method for PyMC: a Dirichlet variable drawn by Gibbs steps in a model sampled by NUTS.

    p ~ Dirichlet(a(θ)),  counts | p,  θ ~ anything

NUTS moves θ given p; this step method draws p given θ by a waiting-time step, which leaves the
posterior of p given θ invariant.  PyMC holds p as y with p_i = exp(y_i) / Σ exp(y) and Σ y = 0, the
last y left out; log p is computed from y and written back to y, so that nothing underflows.
"""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
import pymc as pm
import pytensor.tensor as pt
from pymc.step_methods.arraystep import BlockedStep

from luce._types import FloatArray
from luce.embed.gibbs_step import GibbsStep
from luce.errors import DataError


class WaitingTimes(BlockedStep):  # type: ignore[misc]  # PyMC's class has no types
    """Draw a Dirichlet variable, given its concentration and counts, inside a larger model.

    Parameters
    ----------
    vars
        The Dirichlet variable, of shape (n,) or (..., n), or a list of one such variable.
    step
        The sets.
    counts
        Outcomes by term and category, or the tuple of their totals by category and by term, as
        numbers or as expressions of other variables of the model.  They enter here: the model may
        state their likelihood or leave it out.
    model, rng, blocked, initial_point, compile_kwargs
        As for any step method of PyMC.
    """

    name = "luce_waiting_times"
    stats_dtypes_shapes: ClassVar[dict[str, Any]] = {}

    def __init__(
        self,
        vars: Any,
        step: GibbsStep,
        counts: Any,
        *,
        model: Any = None,
        rng: Any = None,
        blocked: bool = True,
        initial_point: Any = None,
        compile_kwargs: dict[str, Any] | None = None,
    ) -> None:
        model = pm.modelcontext(model)
        listed = list(vars) if isinstance(vars, list | tuple) else [vars]
        if len(listed) != 1:
            raise DataError(f"one Dirichlet variable is needed; {len(listed)} were given.")
        variable = model.values_to_rvs.get(listed[0], listed[0])
        if variable not in model.rvs_to_values:
            raise DataError(f"{variable} is not a random variable of the model.")
        if not isinstance(getattr(variable.owner, "op", None), _DIRICHLET):
            raise DataError(f"{variable} is not a Dirichlet variable; only those can be drawn.")
        value, transform = model.rvs_to_values[variable], model.rvs_to_transforms[variable]
        if not (transform is None or isinstance(transform, _SIMPLEX)):
            raise DataError(
                f"{variable} is held by {type(transform).__name__}; the default or no transform "
                "is needed."
            )
        self.vars = [value]
        self.rng = pm.util.get_random_generator(rng)
        self._name, self._is_transformed, self._step = value.name, transform is not None, step
        given = counts if isinstance(counts, tuple) else (counts,)
        (concentration,) = variable.owner.op.dist_params(variable.owner)
        wanted = [concentration, *map(pt.as_tensor, given)]
        self._evaluate = model.compile_fn(
            model.replace_rvs_by_values(wanted),
            inputs=model.value_vars,
            point_fn=True,
            on_unused_input="ignore",
            **(compile_kwargs or {}),
        )

    def step(self, point: dict[str, Any]) -> tuple[dict[str, Any], list[dict[str, Any]]]:
        """Replace the variable's value in a point of the model."""
        concentration, *given = self._evaluate(point)
        counts = tuple(given) if len(given) == 2 else given[0]
        log_p = self._log_probabilities(np.asarray(point[self._name], np.float64))
        # PyMC gives a concentration common to all rows as a matrix of one row.
        concentration = np.broadcast_to(concentration, log_p.shape)
        new = self._step.log_step(self.rng, log_p, counts, concentration)
        return {**point, self._name: self._value(new)}, [{}]

    def _log_probabilities(self, value: FloatArray) -> FloatArray:
        """Return log p of PyMC's value of the variable."""
        if not self._is_transformed:
            return np.log(np.maximum(value, np.finfo(np.float64).tiny))
        y = np.concatenate([value, -value.sum(axis=-1, keepdims=True)], axis=-1)
        return np.asarray(y - np.logaddexp.reduce(y, axis=-1, keepdims=True))

    def _value(self, log_p: FloatArray) -> FloatArray:
        """Return PyMC's value of the variable for log p."""
        if not self._is_transformed:
            return np.exp(log_p)
        return np.asarray((log_p - log_p.mean(axis=-1, keepdims=True))[..., :-1])


_DIRICHLET = type(pm.Dirichlet.rv_op)
_SIMPLEX = type(pm.distributions.transforms.simplex)

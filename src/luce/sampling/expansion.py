"""Means of all probabilities, given the states of the cores: exact splits are replaced by means.

A category's probability is the product of its shares along the path from the root.  Shares within
cores are simulated; all others are independent of them, and of each other, with known means.  So

    E[p_i | cores] = a_i Π_k (share of a cell of core k on the path of i)

which depends on few distinct products: categories that split the mass of one cell have it in
common.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from luce._types import FloatArray, IntArray
from luce.sampling.methods import Method

if TYPE_CHECKING:
    from luce.kernels.dirichlet_tree import SplitPlan


@dataclass(frozen=True, eq=False)
class Expansion:
    """The products of the cores' shares, and the mean of each category given its product.

    Attributes
    ----------
    factor, product
        Category i has the mean ``factor[i]`` times product number ``product[i]``.
    above
        For each core, in the order of their cells, the number of the product that the core shares
        out; product 0 is 1, and each cell of each core is the next one.
    sizes
        Number of cells of each core.
    """

    factor: FloatArray
    product: IntArray
    above: tuple[int, ...]
    sizes: tuple[int, ...]

    @classmethod
    def of(cls, method: Method) -> Expansion:
        """Walk down the exact splits around the parts of a method."""
        sizes = tuple(len(part.problem.shape) for part in method.parts)
        if method.splits is None:
            (n,) = sizes
            return cls(np.ones(n), np.arange(n) + 1, (0,), sizes)
        return cls._of_splits(method.splits, sizes)

    @classmethod
    def _of_splits(cls, splits: SplitPlan, sizes: tuple[int, ...]) -> Expansion:
        from luce.kernels.dirichlet_tree import CORE

        n = int(splits.target.max()) + 1
        factor, product = np.empty(n), np.empty(n, np.int64)
        mass, of_module = np.ones(splits.n_modules), np.zeros(splits.n_modules, np.int64)
        above, last = [], 1
        for step, module in enumerate(splits.module):
            own = slice(splits.start[step], splits.start[step + 1])
            target = splits.target[own]
            if splits.kind[step] == CORE:
                above.append(int(of_module[module]))
                share, products = np.ones(len(target)), last + np.arange(len(target))
                last += len(target)
            else:
                share = splits.shape[own] / splits.shape[own].sum()
                products = np.full(len(target), of_module[module])
            named, inner = target >= 0, -1 - target[target < 0]
            factor[target[named]], product[target[named]] = share[named], products[named]
            factor[target[named]] *= mass[module]
            mass[inner], of_module[inner] = share[~named] * mass[module], products[~named]
        return cls(factor, product, tuple(above), sizes)

    @property
    def is_exact(self) -> bool:
        """Does no mean depend on a core?"""
        return not self.sizes

    @property
    def weight(self) -> FloatArray:
        """The sum of the factors of each product."""
        return np.asarray(np.bincount(self.product, self.factor, 1 + sum(self.sizes)), np.float64)

    def products(self, shares: list[FloatArray]) -> FloatArray:
        """Multiply shares of cells, an array (rows, cells) for each core, along their paths."""
        found = np.ones((len(shares[0]), 1 + sum(self.sizes)))
        first = 1
        for own, above, size in zip(shares, self.above, self.sizes, strict=True):
            found[:, first : first + size] = own * found[:, [above]]
            first += size
        return found

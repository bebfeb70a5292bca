"""Structure of a posterior: parts with exact draws, and cores that must be simulated.

A *module* is a group of categories that every set holds, misses, or lies inside of; how its
mass is shared out within is independent of everything else.  The sets fall into overlap classes
(sets that meet without nesting, directly or through others).  A class of one set is a module
whose split is an exact Dirichlet; a class of two or more is an irreducible *core* over its
cells, and only cores need simulation.  A set with weights is a core even alone, over its levels of
equal weight.  docs/structure.md has the proof.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from luce._types import FloatArray, IntArray
from luce.counts.events import Events
from luce.counts.family import SetFamily, set_arrays, single_sets
from luce.counts.labels import plural
from luce.model.modules import find_tree
from luce.page.plain_tables import MOST_ROWS, PictureColumn, bare_html
from luce.page.small_pictures import bar
from luce.page.words import escaped, percent

if TYPE_CHECKING:
    from luce.kernels.problem import Problem
    from luce.kernels.structure.module_tree import ModuleTree

# Largest numbers of cores that are printed with their methods, and named in the first sentence.
_MOST_SHOWN, _MOST_NAMED = 10, 3

# Seconds that plain Python takes for each category, stored member and set, on a common machine; and
# where all sets are equally large.
_SECONDS_EACH, _SECONDS_IF_EQUAL = 3e-6, 1e-6

# Seconds of plain Python beyond which code is compiled, which takes four times as long, once; and
# beyond which compiled code is loaded, if there is any.
_WAIT, _LOADING = 1.5, 0.1


@dataclass(frozen=True, eq=False)
class Core:
    """A class of overlapping sets over its cells, to be simulated.

    Parameters
    ----------
    sets
        Its sets, as nests over its cells 0..n_atoms-1.
    cells
        The modules that are its cells, in the order of those numbers.
    union
        The module that they make up.
    """

    sets: SetFamily
    cells: IntArray
    union: int

    @property
    def n_atoms(self) -> int:
        """Number of cells."""
        return len(self.cells)

    @property
    def n_sets(self) -> int:
        """Number of sets."""
        return self.sets.n_sets

    @cached_property
    def laid_out(self) -> Problem:
        """Kernels' problem of its sets, with shapes 1 that are replaced later."""
        from luce.kernels.problem import make_problem

        sets, weights = set_arrays(self.sets), self.sets.weights
        return make_problem(*sets, np.ones(self.n_atoms), 1.0, weights=weights)

    @cached_property
    def trials(self) -> tuple[FloatArray, FloatArray]:
        """Outcomes given sets that hold each atom, and its share of them if atoms were equal."""
        given = np.maximum(-self.sets.exponent, 0.0)
        return self.sets.member_sums(given), self.sets.member_sums(given / self.sets.sizes)

    def __repr__(self) -> str:
        return f"Core(n_atoms={self.n_atoms}, n_sets={self.n_sets})"


class Splits(NamedTuple):
    """Division of the modules' masses among their items, outside of the cores.

    Attributes
    ----------
    start, target
        Owner o shares its mass among the items ``start[o]:start[o + 1]``; an item is category
        ``target[i]``, or module ``-1 - target[i]``.
    owner
        The module that each item takes its mass from.
    modules, order
        Modules that are items, and the order of items: item i is entry ``order[i]`` of the
        categories followed by these modules.
    shared
        Items whose owner has at least two.
    """

    start: IntArray
    target: IntArray
    owner: IntArray
    modules: IntArray
    order: IntArray
    shared: IntArray


@dataclass(frozen=True, eq=False, repr=False)
class Structure:
    """The module tree of a family of sets.

    Parameters
    ----------
    n_atoms
        Number of groups of categories that lie in exactly the same sets.
    cores
        The irreducible cores; none means that everything is exact.
    tree
        The modules, as arrays.
    choices
        Function that names the method of each core under "auto", and the reason; used in printing.
    together
        Model of the data's events in words, where there are some: then all categories are simulated
        together, with the parameters, whatever the sets.
    """

    n_categories: int
    n_atoms: int
    cores: tuple[Core, ...]
    tree: ModuleTree
    choices: Callable[[], list[str]] | None = None
    together: str | None = None

    @property
    def is_exact(self) -> bool:
        """Are independent exact draws, and closed forms, available for the whole posterior?"""
        return not self.cores and self.together is None

    @property
    def has_weights(self) -> bool:
        """Does some set have weights?"""
        return any(core.sets.weights is not None for core in self.cores)

    @cached_property
    def splits(self) -> Splits:
        """Exact splits, without their shapes."""
        tree = self.tree
        modules = np.flatnonzero(tree.core[1:] < 0) + 1
        owner = np.r_[tree.holder, tree.parent[modules]]
        order = np.argsort(owner, kind="stable")
        start = np.r_[0, np.cumsum(np.bincount(owner, minlength=len(tree.parent)))]
        target = np.r_[np.arange(self.n_categories), -1 - modules][order]
        shared = np.flatnonzero((np.diff(start) > 1)[owner[order]])
        return Splits(start, target, owner[order], modules, order, shared)

    @cached_property
    def descent(self) -> Splits:
        """Splits of all modules: the items outside of cores and, after them, the cores' cells."""
        splits, tree = self.splits, self.tree
        owner = np.r_[splits.owner, np.repeat(tree.union, np.diff(tree.cell_start))]
        order = np.argsort(owner, kind="stable")
        start = np.r_[0, np.cumsum(np.bincount(owner, minlength=len(tree.parent)))]
        target = np.r_[splits.target, -1 - tree.cells][order]
        return splits._replace(start=start, target=target, owner=owner[order], order=order)

    def __str__(self) -> str:
        if self.choices is None or self.is_exact:
            return repr(self)
        lines = self.choices()
        if len(lines) == 1:
            return f"{self!r}\nmethod: {lines[0]}"
        shown = [f"place {q + 1}: {line}" for q, line in enumerate(lines[:_MOST_SHOWN])]
        if len(lines) > _MOST_SHOWN:
            shown.append(f"... and {len(lines) - _MOST_SHOWN:,} more places")
        return "\n".join([repr(self), *shown])

    def _repr_html_(self) -> str:
        """Show the sentences and, for each of the first cores, its share of the categories."""
        sentences = "\n".join(f"<p>{escaped(line)}</p>" for line in str(self).splitlines())
        if not self.cores or self.together is not None:
            return sentences
        first = self.cores[:MOST_ROWS]
        shares = [float(self._module_sizes[core.union]) / self.n_categories for core in first]
        rows = [
            [f"{q + 1}", *self._place(core), percent(round(share, 3))]
            for q, (core, share) in enumerate(zip(first, shares, strict=True))
        ]
        head = ["place", "sets that overlap", "among", "share of the categories"]
        pictures = [PictureColumn(4, "of all", [bar(share) for share in shares])]
        table = bare_html([head, *rows], 0, pictures)
        left = len(self.cores) - len(first)
        more = f"\n<p>... and {plural(left, 'more place')}</p>" if left else ""
        return f"{sentences}\n{table}{more}"

    def __repr__(self) -> str:
        whole = plural(self.n_categories, "category", "categories")
        if self.together is not None:
            return f"{whole}: {self.together}, which are simulated together."
        if self.is_exact:
            return f"{whole}: the sets nest, so every draw is exact and independent."
        some = "sets overlap or have weights" if self.has_weights else "sets overlap"
        if len(self.cores) > 1:
            first = [" among ".join(self._place(core)) for core in self.cores[:_MOST_NAMED]]
            more = "; ..." if len(self.cores) > _MOST_NAMED else ""
            return (
                f"{whole}: {some} in {len(self.cores):,} places ({'; '.join(first)}{more}), "
                "which are simulated one by one; the rest is exact."
            )
        (core,) = self.cores
        if self.has_weights:
            sets, cells = self._place(core)
            return (
                f"{whole}: {some}, {sets} among {cells}, which are drawn together; "
                "the rest is exact."
            )
        if core.n_atoms == self.n_categories:
            overlap = plural(core.n_sets, "set")
            return f"{whole}: {overlap} overlap among all of them, which are simulated together."
        sets, cells = self._place(core)
        return (
            f"{whole}: {sets} overlap among {cells}, which are simulated together; "
            "the rest is exact."
        )

    @property
    def details(self) -> str:
        """Numbers of atoms and cores, in the words of docs/structure.md."""
        atoms = plural(self.n_atoms, "atom")
        head = f"{plural(self.n_categories, 'category', 'categories')} in {atoms}"
        sizes = [
            f"{plural(c.n_atoms, 'atom')} and {plural(c.n_sets, 'set')}"
            for c in self.cores[:_MOST_SHOWN]
        ]
        if not sizes:
            return f"{head}, no core"
        more = "; ..." if len(self.cores) > _MOST_SHOWN else ""
        return f"{head}, {plural(len(self.cores), 'core')} ({'; '.join(sizes)}{more})"

    def _place(self, core: Core) -> tuple[str, str]:
        """Count in words the sets of a core, and the categories among which they overlap."""
        single = (self._module_sizes[core.cells] == 1).all()
        cells = (
            plural(core.n_atoms, "category", "categories")
            if single
            else plural(core.n_atoms, "group of categories", "groups of categories")
        )
        return plural(core.n_sets, "set"), cells

    @cached_property
    def _module_sizes(self) -> FloatArray:
        """Number of categories in each module."""
        from luce.kernels.dirichlet_tree import add_up

        tree = self.tree
        sizes = np.bincount(tree.holder, minlength=len(tree.parent)).astype(np.float64)
        add_up(tree.parent, sizes)
        return sizes


def structure_of_events(events: Events) -> Structure:
    """Describe data with a model of its own, all of which is simulated together."""
    none = single_sets(events.n, [], [], [])
    return replace(
        structure_of(none), n_atoms=events.n, together=f"{events.noun} with {events.model}"
    )


def structure_of(family: SetFamily) -> Structure:
    """Find atoms, overlap classes and the module tree of a canonical family, once.

    Near-linear time in the number of stored members.
    """
    if "structure" not in family.memo:
        family.memo["structure"] = find_structure(family, _pays_to_compile(family))
    found: Structure = family.memo["structure"]
    return found


def _pays_to_compile(family: SetFamily) -> bool:
    """Decide between compiled code and plain Python by the time that plain Python takes."""
    from luce.kernels.plain import can_compile, is_ready
    from luce.kernels.structure.module_tree import find_modules

    equal = family.n_sets == 0 or bool((family.sizes == family.sizes[0]).all())
    work = family.n + len(family.members) + family.n_sets
    seconds = work * (_SECONDS_IF_EQUAL if equal else _SECONDS_EACH)
    if seconds > _WAIT:
        return can_compile(find_modules)
    return seconds > _LOADING and is_ready(find_modules)


def find_structure(family: SetFamily, compiled: bool) -> Structure:
    """Find the structure of a canonical family by compiled code or by the same in plain Python."""
    tree, sets = find_tree(family, compiled)
    cells = (tree.cells[a:b] for a, b in pairwise(tree.cell_start))
    cores = tuple(map(Core, sets, cells, tree.union.tolist()))
    n_atoms = np.count_nonzero(np.bincount(tree.holder))  # those of one atom have one holder
    return Structure(family.n, int(n_atoms), cores, tree)

"""The module tree: refine by one overlap class after another, and record the cells of each.

Classes come in the order of their largest sets.  The union U of a class K lies in one cell when its
turn comes, because every earlier set contains U or misses it.  The sets of K cut that cell
into the cells of K and a rest that no set of K reaches.  Each cell of K becomes a module.
"""

from typing import NamedTuple

import numpy as np

from luce._types import IntArray, RecordArray
from luce.kernels.jit import compiled, internal
from luce.kernels.structure.partition import CELL, TOUCHED, new_cells, split, touch


class ModuleTree(NamedTuple):
    """The modules of a family; module 0 holds all categories, a parent precedes its children.

    `parent` is the module whose mass a module shares; `core` is -1 if that split is a Dirichlet,
    else the number of the core whose cell the module is.  `set` is the set that a module equals
    (for classes of one set), else -1.  `holder` is the smallest module that holds each category.

    Core q has the cells (modules) ``cells[cell_start[q]:cell_start[q + 1]]``.  Its union is module
    ``union[q]``.  Its sets are nests over its own cells, numbered from 0:
    nests ``nest_start[core_nest[q]:core_nest[q + 1] + 1]`` and so on; `set_index` is the number of
    the original set.
    """

    parent: IntArray
    core: IntArray
    set: IntArray
    holder: IntArray
    union: IntArray
    cells: IntArray
    cell_start: IntArray
    core_nest: IntArray
    members: IntArray
    nest_start: IntArray
    complement: IntArray
    set_start: IntArray
    set_end: IntArray
    set_index: IntArray


@compiled
def build_module_tree(
    n: int,
    members: IntArray,
    sets: RecordArray,
    class_of: IntArray,
    by_class: IntArray,
    in_nest_order: IntArray,
    class_start: IntArray,
) -> ModuleTree:
    """Build the module tree.

    Parameters
    ----------
    n, members, sets
        Number of categories, members of all nests, and SET_RECORDs.
    class_of
        Overlap class of each set.
    by_class
        The sets class by class: class c at ``class_start[c]:class_start[c + 1]``, classes in order
        of their largest sets, sets within a class in order of rank.
    in_nest_order
        The same, but sets within a class in order of their numbers.
    class_start
        First position of each class in both lists.
    """
    n_classes = len(class_start) - 1
    cells = new_cells(n)
    # At most n - 1 + n_classes cells, one union per class, and the root.
    most = n + 2 * n_classes
    parent = np.full(most, -1, np.int64)
    core = np.full(most, -1, np.int64)
    own_set = np.full(most, -1, np.int64)
    module_of_cell = np.zeros(n, np.int64)
    n_modules = n_used = 1  # numbers of modules and cells so far

    n_cores = 0
    union = np.empty(n_classes, np.int64)
    core_cells = np.empty(n + n_classes, np.int64)
    cell_start = np.zeros(n_classes + 1, np.int64)
    core_nest = np.zeros(n_classes + 1, np.int64)
    n_sets = len(by_class)
    out = _Reduced(
        np.empty(len(members) + n_sets, np.int64),
        np.zeros(n_sets + 1, np.int64),
        np.empty(n_sets, np.int64),
        np.zeros(n_sets + 1, np.int64),
        np.empty(n_sets, np.int64),
        np.empty(n_sets, np.int64),
        np.zeros(3, np.int64),
    )
    number = np.full(n, -1, np.int64)  # of each cell within the current core
    stamp = np.zeros(n, np.int64)  # number, from 1, of the last nest that lists a cell
    region = np.empty(n, np.int64)

    for c in range(n_classes):
        mine = by_class[class_start[c] : class_start[c + 1]]
        whole = cells[CELL, sets[mine[0]].some]
        inherited = module_of_cell[whole]
        region[0] = whole
        n_region, rest = _cut(members, sets, cells, n_used, class_of, mine, region)
        n_used += n_region - 1
        if len(mine) == 1:
            for i in range(n_region):
                if region[i] != rest:
                    module_of_cell[region[i]] = n_modules
                else:
                    module_of_cell[region[i]] = inherited
            parent[n_modules] = inherited
            own_set[n_modules] = mine[0]
            n_modules += 1
            continue
        parent[n_modules] = inherited
        union[n_cores] = n_modules
        top = n_modules
        n_modules += 1
        n_cells = 0
        first = cell_start[n_cores]
        for i in range(n_region):
            s = region[i]
            if s == rest:
                module_of_cell[s] = inherited
                continue
            module_of_cell[s] = n_modules
            parent[n_modules] = top
            core[n_modules] = n_cores
            core_cells[first + n_cells] = n_modules
            number[s] = n_cells
            n_modules += 1
            n_cells += 1
        cell_start[n_cores + 1] = first + n_cells
        mine = in_nest_order[class_start[c] : class_start[c + 1]]
        _reduce(members, sets, cells, mine, number, stamp, out)
        for i in range(n_region):
            number[region[i]] = -1
        n_cores += 1
        core_nest[n_cores] = out.filled[1]

    holder = np.empty(n, np.int64)
    for x in range(n):
        holder[x] = module_of_cell[cells[CELL, x]]
    n_out = out.filled
    return ModuleTree(
        parent[:n_modules],
        core[:n_modules],
        own_set[:n_modules],
        holder,
        union[:n_cores],
        core_cells[: cell_start[n_cores]],
        cell_start[: n_cores + 1],
        core_nest[: n_cores + 1],
        out.members[: n_out[0]],
        out.nest_start[: n_out[1] + 1],
        out.complement[: n_out[1]],
        out.set_start[: n_out[1] + 1],
        out.set_end[: n_out[2]],
        out.set_index[: n_out[2]],
    )


@internal
def _cut(
    members: IntArray,
    sets: RecordArray,
    cells: IntArray,
    n_used: int,
    class_of: IntArray,
    mine: IntArray,
    region: IntArray,
) -> tuple[int, int]:
    """Refine by the sets of one class; new cells are numbered from `n_used` on.

    `region` receives the cells into which the class's cell was cut.  Returns their number, and the
    cell that no set of the class reaches, -1 if there is none.
    """
    rest = region[0]
    n_region = 1
    for t in mine:
        inside, larger = sets[t].touch_inside != 0, sets[t].larger
        # A set inside a larger one of its own class and nest reaches nothing new.  Otherwise the
        # larger set, if any, holds the whole region, so that untouched cells are reached.
        within_own = larger >= 0 and class_of[larger] == class_of[t]
        rest_now = rest if inside or within_own else -1
        for i in range(touch(cells, members, sets[t].touch_begin, sets[t].touch_end, inside)):
            s = cells[TOUCHED, i]
            new = n_used + n_region - 1
            is_cut = split(cells, s, new, inside)
            if is_cut:
                region[n_region] = new
                n_region += 1
            if s == rest and not within_own:
                # If inside, the untouched part stays unreached; if outside, the touched part does.
                reached_all = inside and not is_cut
                rest_now = -1 if reached_all else new if is_cut and not inside else s
        rest = rest_now
    return n_region, rest


class _Reduced(NamedTuple):
    """Nests over the cells of cores; `filled` has the numbers of members, nests and sets so far."""

    members: IntArray
    nest_start: IntArray
    complement: IntArray
    set_start: IntArray
    set_end: IntArray
    set_index: IntArray
    filled: IntArray


@internal
def _reduce(
    members: IntArray,
    sets: RecordArray,
    cells: IntArray,
    mine: IntArray,
    number: IntArray,
    stamp: IntArray,
    out: _Reduced,
) -> None:
    """Write the sets of one core as nests over the core's cells.

    The sets of one class in one nest are consecutive there.  The smaller sets below them lie in one
    cell, so that one category represents these.
    """
    out_members, set_end, set_index = out.members, out.set_end, out.set_index
    nest_start, set_start = out.nest_start, out.set_start
    n_members, n_nests, n_sets = out.filled[0], out.filled[1], out.filled[2]
    for i in range(len(mine)):
        t = mine[i]
        if i == 0 or mine[i - 1] != t - 1 or sets[t - 1].bottom != sets[t].bottom:
            out.complement[n_nests] = sets[t].complement
            n_nests += 1
            if not sets[t].complement and sets[t].begin > sets[t].bottom:
                s = cells[CELL, members[sets[t].bottom]]
                stamp[s] = n_nests
                out_members[n_members] = number[s]
                n_members += 1
        for p in range(sets[t].begin, sets[t].end):
            s = cells[CELL, members[p]]
            if number[s] >= 0 and stamp[s] != n_nests:  # in the core and not yet listed
                stamp[s] = n_nests
                out_members[n_members] = number[s]
                n_members += 1
        set_end[n_sets] = n_members
        set_index[n_sets] = t
        n_sets += 1
        nest_start[n_nests] = n_members
        set_start[n_nests] = n_sets
    out.filled[0], out.filled[1], out.filled[2] = n_members, n_nests, n_sets

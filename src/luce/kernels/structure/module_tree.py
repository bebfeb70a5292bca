"""The module tree: refine by one overlap class after another, and record the cells of each.

Classes come in the order of their largest sets.  The union U of a class K lies in one cell when its
turn comes, because every earlier set contains U or misses it.  The sets of K cut that cell
into the cells of K and a rest that no set of K reaches.  Each cell of K becomes a module.
"""

from typing import Any, NamedTuple

import numpy as np

from luce._types import BoolArray, IntArray, RecordArray
from luce.kernels.jit import borrowed, compiled, internal
from luce.kernels.plain import integers, on_lists, records, uncompiled
from luce.kernels.structure.overlap import classes_of_equal_sizes, overlap_classes
from luce.kernels.structure.partition import (
    SET_RECORD,
    Partition,
    is_whole,
    lay_out,
    one_cell,
    ranks,
    split,
    touch,
)


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


class Reduced(NamedTuple):
    """Nests over the cells of cores; `filled` has the numbers of members, nests and sets so far."""

    members: IntArray
    nest_start: IntArray
    complement: IntArray
    set_start: IntArray
    set_end: IntArray
    set_index: IntArray
    filled: IntArray


def modules_of(
    n: int,
    members: IntArray,
    nest_start: IntArray,
    complement: BoolArray,
    set_start: IntArray,
    set_end: IntArray,
    sizes: IntArray,
    compiled: bool,
) -> ModuleTree:
    """Find the overlap classes and the module tree of a canonical family.

    Parameters
    ----------
    n, members, nest_start, complement, set_start, set_end
        The family, as in `luce.counts.family.SetFamily`.
    sizes
        Number of categories in each set.
    compiled
        Whether to use compiled code, or the same code as plain Python.
    """
    n_sets = len(sizes)
    by_rank = np.argsort(-sizes, kind="stable")
    given: list[Any] = [members, nest_start, complement, set_start, set_end, sizes, by_rank]
    lengths = len(members) + n_sets, n_sets + 1, n_sets, n_sets + 1, n_sets, n_sets, 3
    if compiled:
        # NumPy's large arrays are on large pages of memory, those that numba makes are not.
        out = Reduced(*(np.zeros(k, np.int64) for k in lengths))
        space: list[Any] = [np.zeros(n_sets, SET_RECORD), out]
        return find_modules(n, *[_read_only(array) for array in given] + space)
    out = Reduced(*(uncompiled(integers)(k, 0) for k in lengths))
    space = [uncompiled(records)(n_sets, SET_RECORD), out]
    found = on_lists(find_modules, n, *given, *space)
    return ModuleTree(*(np.asarray(part, np.int64) for part in found))


def _read_only(array: Any) -> Any:
    """View an array as read-only: code for writable ones would be compiled apart."""
    view = array.view()
    view.setflags(write=False)
    return view


@compiled
def find_modules(
    n: int,
    members: IntArray,
    nest_start: IntArray,
    complement: BoolArray,
    set_start: IntArray,
    set_end: IntArray,
    sizes: IntArray,
    by_rank: IntArray,
    sets: RecordArray,
    out: Reduced,
) -> ModuleTree:
    """Find the modules as `modules_of` does, with the sets by rank, a SET_RECORD each, and space.

    `out` receives the nests of the cores.
    """
    lay_out(members, nest_start, complement, set_start, set_end, sets)
    if len(sets) == 0 or sizes[by_rank[0]] == sizes[by_rank[-1]]:
        classes_of_equal_sizes(n, members, sets)
    else:
        overlap_classes(n, members, sets, ranks(by_rank, sizes, set_start))
    class_start = _sort_classes(sets, by_rank)
    return _build(n, members, sets, class_start, out)


@internal
def _sort_classes(sets: RecordArray, by_rank: IntArray) -> IntArray:
    """Sort sets by class, and classes by their largest set; returns the start of each class."""
    n_sets = len(sets)
    number = integers(n_sets, -1)  # of each class
    n_classes = 0
    for t in by_rank:
        if number[sets[t].group] < 0:
            number[sets[t].group] = n_classes
            n_classes += 1
    start = integers(n_classes + 1, 0)
    for t in range(n_sets):
        sets[t].group = number[sets[t].group]
        start[sets[t].group + 1] += 1
    for c in range(n_classes):
        start[c + 1] += start[c]
    ranked, numbered = start.copy(), start.copy()  # next position in each class
    for r in range(n_sets):
        c = sets[by_rank[r]].group
        sets[ranked[c]].by_class = by_rank[r]
        ranked[c] += 1
        c = sets[r].group
        sets[numbered[c]].in_nest_order = r
        numbered[c] += 1
    return start


@internal
def _build(
    n: int, members: IntArray, sets: RecordArray, class_start: IntArray, out: Reduced
) -> ModuleTree:
    """Build the module tree; class c of the sets starts at ``class_start[c]``."""
    n_classes = len(class_start) - 1
    partition = one_cell(n)
    places, cells = partition.places, partition.cells  # the owner of a cell is its module
    # At most n - 1 + n_classes cells, one union per class, and the root.
    most = n + 2 * n_classes
    parent, core, own_set = integers(most, -1), integers(most, -1), integers(most, -1)
    n_modules = n_used = 1  # numbers of modules and cells so far

    n_cores = 0
    union = integers(n_classes, 0)
    core_cells = integers(n + n_classes, 0)
    cell_start = integers(n_classes + 1, 0)
    core_nest = integers(n_classes + 1, 0)
    region = integers(n, 0)
    number = integers(n, -1)  # of each cell within the current core
    listed = integers(n, 0)  # number, from 1, of the last nest that lists a cell

    for c in range(n_classes):
        begin, end = class_start[c], class_start[c + 1]
        largest = sets[begin].by_class
        whole = places[sets[largest].some].cell
        inherited = cells[whole].owner
        region[0] = whole
        n_region, rest = _cut(members, sets, partition, n_used, begin, end, region)
        n_used += n_region - 1
        if end - begin == 1:
            for i in range(n_region):
                cells[region[i]].owner = inherited if region[i] == rest else n_modules
            parent[n_modules] = inherited
            own_set[n_modules] = largest
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
                cells[s].owner = inherited
                continue
            cells[s].owner = n_modules
            parent[n_modules] = top
            core[n_modules] = n_cores
            core_cells[first + n_cells] = n_modules
            number[s] = n_cells
            n_modules += 1
            n_cells += 1
        cell_start[n_cores + 1] = first + n_cells
        _reduce(members, sets, places, begin, end, number, listed, out)
        for i in range(n_region):
            number[region[i]] = -1
        n_cores += 1
        core_nest[n_cores] = out.filled[1]

    holder = integers(n, 0)
    for x in range(n):
        holder[x] = cells[places[x].cell].owner
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
    partition: Partition,
    n_used: int,
    begin: int,
    end: int,
    region: IntArray,
) -> tuple[int, int]:
    """Refine by the sets of one class, begin..end-1; new cells are numbered from `n_used` on.

    `region` receives the cells into which the class's cell was cut.  Returns their number, and the
    cell that no set of the class reaches, -1 if there is none.
    """
    members, sets, partition = borrowed(members), borrowed(sets), borrowed(partition)
    touched = partition.touched
    rest = region[0]
    n_region = 1
    for i in range(begin, end):
        t = sets[i].by_class
        inside, larger = is_whole(sets, t), sets[t].larger
        # A set inside a larger one of its own class and nest reaches nothing new.  Otherwise the
        # larger set, if any, holds the whole region, so that untouched cells are reached.
        within_own = larger >= 0 and sets[larger].group == sets[t].group
        rest_now = rest if inside or within_own else -1
        for k in range(touch(partition, members, sets, t, rest)):
            s = touched[k]
            new = n_used + n_region - 1
            is_cut = split(partition, s, new, inside)
            if is_cut:
                region[n_region] = new
                n_region += 1
            if s == rest and not within_own:
                # If inside, the untouched part stays unreached; if outside, the touched part does.
                reached_all = inside and not is_cut
                rest_now = -1 if reached_all else new if is_cut and not inside else s
        rest = rest_now
    return n_region, rest


@internal
def _reduce(
    members: IntArray,
    sets: RecordArray,
    places: RecordArray,
    begin: int,
    end: int,
    number: IntArray,
    listed: IntArray,
    out: Reduced,
) -> None:
    """Write the sets of one core, begin..end-1, as nests over the core's cells.

    The sets of one class in one nest are consecutive there.  The smaller sets below them lie in one
    cell, so that one category represents these.
    """
    members, sets, places, out = borrowed(members), borrowed(sets), borrowed(places), borrowed(out)
    out_members, set_end, set_index = out.members, out.set_end, out.set_index
    nest_start, set_start, complement = out.nest_start, out.set_start, out.complement
    n_members, n_nests, n_sets = out.filled[0], out.filled[1], out.filled[2]
    before = -1
    for i in range(begin, end):
        t = sets[i].in_nest_order
        is_first = sets[t].begin == sets[t].bottom  # of its nest
        if is_first or i == begin or before != t - 1:
            complement[n_nests] = sets[t].complement
            n_nests += 1
            if not sets[t].complement and not is_first:
                s = places[members[sets[t].bottom]].cell
                listed[s] = n_nests
                out_members[n_members] = number[s]
                n_members += 1
        for p in range(sets[t].begin, sets[t].end):
            s = places[members[p]].cell
            if number[s] < 0:  # not in the core
                continue
            if places[members[p]].place >= 0:  # not alone in its cell
                if listed[s] == n_nests:
                    continue
                listed[s] = n_nests
            out_members[n_members] = number[s]
            n_members += 1
        set_end[n_sets] = n_members
        set_index[n_sets] = t
        n_sets += 1
        before = t
        nest_start[n_nests] = n_members
        set_start[n_nests] = n_sets
    out.filled[0], out.filled[1], out.filled[2] = n_members, n_nests, n_sets

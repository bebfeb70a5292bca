"""The module tree: refine by one overlap class after another, and record the cells of each.

Classes come in the order of their largest sets.  The union U of a class K lies in one cell when its
turn comes, because every earlier set contains U or misses it.  The sets of K cut that cell
into the cells of K and a rest that no set of K reaches.  Each cell of K becomes a module.
"""

from typing import NamedTuple

from luce._types import BoolArray, IntArray, RecordArray
from luce.kernels.jit import compiled, internal
from luce.kernels.plain import integers
from luce.kernels.structure.overlap import classes_of_equal_sizes, overlap_classes
from luce.kernels.structure.partition import (
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
) -> ModuleTree:
    """Find the overlap classes and the module tree of a canonical family.

    Parameters
    ----------
    n, members, nest_start, complement, set_start, set_end
        The family, as in `luce.counts.family.SetFamily`.
    sizes, by_rank
        Sizes of the sets, and the sets by decreasing size.
    """
    sets = lay_out(members, nest_start, complement, set_start, set_end)
    if len(sets) == 0 or sizes[by_rank[0]] == sizes[by_rank[-1]]:
        class_of = classes_of_equal_sizes(n, members, sets)
    else:
        ranked = ranks(by_rank, sizes, set_start)
        class_of = overlap_classes(n, members, sets, ranked)
    by_class, in_nest_order, class_start = _classes_by_largest_set(class_of, by_rank)
    return _build(n, members, sets, class_of, by_class, in_nest_order, class_start)


@internal
def _classes_by_largest_set(
    class_of: IntArray, by_rank: IntArray
) -> tuple[IntArray, IntArray, IntArray]:
    """Sort sets by class, and classes by their largest set.

    Returns the sets of each class with the largest first, the same in order of number, and the
    start of each class.
    """
    n_sets = len(class_of)
    position, size = integers(n_sets, -1), integers(n_sets, 0)  # of each class
    n_classes = 0
    for t in by_rank:
        c = class_of[t]
        if position[c] < 0:
            position[c] = n_classes
            n_classes += 1
        size[position[c]] += 1
    start = integers(n_classes + 1, 0)
    for c in range(n_classes):
        start[c + 1] = start[c] + size[c]
    by_class, in_nest_order = integers(n_sets, 0), integers(n_sets, 0)
    fill, fill_too = start.copy(), start.copy()
    for r in range(n_sets):
        c = position[class_of[by_rank[r]]]
        by_class[fill[c]] = by_rank[r]
        fill[c] += 1
        c = position[class_of[r]]
        in_nest_order[fill_too[c]] = r
        fill_too[c] += 1
    return by_class, in_nest_order, start


@internal
def _build(
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
    n_sets = len(by_class)
    out = _Reduced(
        integers(len(members) + n_sets, 0),
        integers(n_sets + 1, 0),
        integers(n_sets, 0),
        integers(n_sets + 1, 0),
        integers(n_sets, 0),
        integers(n_sets, 0),
        integers(3, 0),
    )
    region = integers(n, 0)
    number = integers(n, -1)  # of each cell within the current core
    listed = integers(n, 0)  # number, from 1, of the last nest that lists a cell

    for c in range(n_classes):
        mine = by_class[class_start[c] : class_start[c + 1]]
        whole = places[sets[mine[0]].some].cell
        inherited = cells[whole].owner
        region[0] = whole
        n_region, rest = _cut(members, sets, partition, n_used, class_of, mine, region)
        n_used += n_region - 1
        if len(mine) == 1:
            for i in range(n_region):
                cells[region[i]].owner = inherited if region[i] == rest else n_modules
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
        mine = in_nest_order[class_start[c] : class_start[c + 1]]
        _reduce(members, sets, places, mine, number, listed, out)
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
        inside, larger = is_whole(sets, t), sets[t].larger
        # A set inside a larger one of its own class and nest reaches nothing new.  Otherwise the
        # larger set, if any, holds the whole region, so that untouched cells are reached.
        within_own = larger >= 0 and class_of[larger] == class_of[t]
        rest_now = rest if inside or within_own else -1
        for i in range(touch(partition, members, sets, t, rest)):
            s = partition.touched[i]
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
    places: RecordArray,
    mine: IntArray,
    number: IntArray,
    listed: IntArray,
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
        nest_start[n_nests] = n_members
        set_start[n_nests] = n_sets
    out.filled[0], out.filled[1], out.filled[2] = n_members, n_nests, n_sets

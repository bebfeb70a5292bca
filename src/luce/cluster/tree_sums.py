"""Sums over blocks that do not depend on the distribution of blocks over workers.

Blocks 0..B-1 are the leaves of a binary tree, and every node's value is the sum of its two halves'.
A worker adds up the largest nodes inside its consecutive blocks, and the driver adds up the rest.
The same additions are made in any case, only elsewhere, so the sum is the same to the last bit.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TypeVar

from luce._types import FloatArray

Node = tuple[int, int]  # first block and number of blocks, a power of two that divides the first

_Parts = list[FloatArray]
_T = TypeVar("_T")


def nodes_of(first: int, stop: int) -> list[Node]:
    """List the largest nodes that make up the blocks first..stop-1."""
    nodes = []
    while first < stop:
        size = first & -first or 1 << (stop - first).bit_length()
        while first + size > stop:
            size //= 2
        nodes.append((first, size))
        first += size
    return nodes


def sum_of(node: Node, leaf: Callable[[int], _Parts]) -> _Parts:
    """Add up all blocks of a node; `leaf` returns the arrays of a block, which are overwritten."""
    first, size = node
    if size == 1:
        return leaf(first)
    left, right = sum_of((first, size // 2), leaf), sum_of((first + size // 2, size // 2), leaf)
    for a, b in zip(left, right, strict=True):
        a += b
    return left


def total_of(n_blocks: int, found: Iterable[tuple[Node, _Parts]]) -> _Parts:
    """Add up nodes that together make up blocks 0..n_blocks-1."""
    known = dict(found)

    def value(node: Node) -> _Parts | None:
        first, size = node
        if node in known:
            return known[node]
        if first >= n_blocks:
            return None
        left, right = value((first, size // 2)), value((first + size // 2, size // 2))
        if left is None or right is None:
            return left or right
        return [a + b for a, b in zip(left, right, strict=True)]

    size = 1 << (n_blocks - 1).bit_length()
    total = value((0, size))
    assert total is not None
    return total

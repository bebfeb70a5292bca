"""Moments and quantiles of draws that are not kept, one draw after the other.

Moments by Welford's update.  Quantiles by P² (Jain and Chlamtac 1985, for several at once after
Raatikainen 1987): markers, whose heights are the estimates, are moved along a parabola through
their neighbours whenever they have fallen behind the places they should have.
"""

from luce._types import FloatArray, IntArray
from luce.kernels.jit import compiled, internal


@compiled
def add_moments(block: FloatArray, before: int, mean: FloatArray, spread: FloatArray) -> None:
    """Take in draws, one a row; `spread` is the sum of squares around the mean."""
    for d in range(len(block)):
        share = 1.0 / (before + d + 1)
        for i in range(len(mean)):
            off = block[d, i] - mean[i]
            mean[i] += share * off
            spread[i] += off * (block[d, i] - mean[i])


@compiled
def add_quantiles(
    block: FloatArray, before: int, fractions: FloatArray, heights: FloatArray, places: IntArray
) -> None:
    """Take in draws, one a row; `heights` and `places`, counted from 0, have shape (n, markers).

    Marker k is to stand at the fraction ``fractions[k]``, 0 for the first and 1 for the last.
    """
    for i in range(len(heights)):
        for d in range(len(block)):
            seen = before + d
            if seen < len(fractions):
                _insert(block[d, i], seen, heights[i], places[i])
            else:
                _move(block[d, i], seen, fractions, heights[i], places[i])


@internal
def _insert(x: float, seen: int, height: FloatArray, place: IntArray) -> None:
    """The first draws are the markers."""
    k = seen
    while k > 0 and height[k - 1] > x:
        height[k] = height[k - 1]
        k -= 1
    height[k] = x
    place[seen] = seen


@internal
def _move(x: float, seen: int, fractions: FloatArray, height: FloatArray, place: IntArray) -> None:
    last = len(fractions) - 1
    if x < height[0]:
        height[0] = x
    elif x > height[last]:
        height[last] = x
    for k in range(1, last):
        place[k] += height[k] > x
    place[last] += 1
    for k in range(1, last):
        behind = seen * fractions[k] - place[k]
        room_up, room_down = place[k + 1] - place[k], place[k] - place[k - 1]
        if (behind >= 1.0 and room_up > 1) or (behind <= -1.0 and room_down > 1):
            step = 1 if behind > 0.0 else -1
            up = (height[k + 1] - height[k]) / room_up
            down = (height[k] - height[k - 1]) / room_down
            curved = height[k] + step / (room_up + room_down) * (
                (room_down + step) * up + (room_up - step) * down
            )
            # Where the parabola would put the markers out of order, a straight line does not.
            if not height[k - 1] < curved < height[k + 1]:
                curved = height[k] + (up if step > 0 else -down)
            height[k] = curved
            place[k] += step

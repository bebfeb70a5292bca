"""Running moments and quantiles of draws that are not stored.

Moments by Welford's update.  Quantiles by P² (Jain and Chlamtac 1985, for several at once after
Raatikainen 1987): markers, whose heights are the estimates, are moved along a parabola through
their neighbours whenever they are a rank or more from their target.
"""

from luce._types import FloatArray, IntArray
from luce.kernels.jit import compiled, internal


@compiled
def add_moments(block: FloatArray, before: int, mean: FloatArray, spread: FloatArray) -> None:
    """Update means and sums of squares around the mean by a block of draws.

    Parameters
    ----------
    block
        Shape (draws, n).
    before
        Number of draws already included.
    mean, spread
        Shape (n,): mean and sum of squares around it; updated.
    """
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
    """Update quantile markers by a block of draws.

    Parameters
    ----------
    block
        Shape (draws, n).
    before
        Number of draws already included.
    fractions
        Target of each marker as a fraction of the draws: 0 for the first, 1 for the last.
    heights, places
        Shape (n, markers): value and rank, counted from 0, of each marker; updated.
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
    """Insert one of the first draws, in order, as a marker."""
    k = seen
    while k > 0 and height[k - 1] > x:
        height[k] = height[k - 1]
        k -= 1
    height[k] = x
    place[seen] = seen


@internal
def _move(x: float, seen: int, fractions: FloatArray, height: FloatArray, place: IntArray) -> None:
    """Count a draw, and move the markers that are a rank or more from their target."""
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
            # Use a straight line where the parabola would put the markers out of order.
            if not height[k - 1] < curved < height[k + 1]:
                curved = height[k] + (up if step > 0 else -down)
            height[k] = curved
            place[k] += step

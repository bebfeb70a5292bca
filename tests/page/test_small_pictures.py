"""Small pictures: their shapes have the sizes of their numbers."""

import math

import pytest
from lib.fragments import drawn, faults

from luce.page.plain_tables import PictureColumn, bare_html
from luce.page.small_pictures import SmallPicture, bar, intervals, lines, members


@pytest.mark.parametrize("share", [0.0, 0.25, 1.0])
def test_a_bar_is_as_long_as_its_share(share: float) -> None:
    whole, part = drawn(bar(share).svg, "rect")
    assert float(part.attrib["width"]) == pytest.approx(share * float(whole.attrib["width"]))


def test_intervals_have_one_scale() -> None:
    lower, middle, upper = [1.0, 2.0, 4.0], [2.0, 3.0, 4.5], [3.0, 6.0, 5.0]

    def ends(origin: bool) -> list[float]:
        found = []
        for picture in intervals(lower, middle, upper, origin=origin):
            path = drawn(picture.svg, "path")[1].attrib["d"]
            centre = drawn(picture.svg, "circle")[0].attrib["cx"]
            a, b = path.removeprefix("M").split(" 7H")
            found += [float(a), float(centre), float(b)]
        return found

    values = [x for row in zip(lower, middle, upper, strict=True) for x in row]
    for origin, low in ((False, 1.0), (True, 0.0)):
        at = ends(origin)
        slope = (at[-4] - at[0]) / (values[-4] - values[0])
        expected = [at[0] + slope * (x - values[0]) for x in values]
        assert at == pytest.approx(expected, abs=0.1)
        assert at[0] == pytest.approx(4 + slope * (1.0 - low), abs=0.1)


def test_lines_show_the_course_of_each_series() -> None:
    up, down = drawn(lines([[0.0, 1.0, 2.0], [2.0, 1.0, 0.0]]).svg, "polyline")
    heights = [[float(p.split(",")[1]) for p in x.attrib["points"].split()] for x in (up, down)]
    assert heights[0] == sorted(heights[0], reverse=True)  # up is less
    assert heights[1] == heights[0][::-1]


def test_boxes_are_filled_for_members() -> None:
    boxes = drawn(members({1, 3}, 5).svg, "rect")
    assert ["style" in box.attrib for box in boxes] == [False, True, False, True, False]


def test_numbers_that_cannot_be_drawn_are_left_out() -> None:
    assert bar(math.nan) == SmallPicture()
    assert lines([[math.nan], [math.inf]]) == SmallPicture()
    drawings = intervals([math.nan, 0.0], [0.5, 0.0], [1.0, 0.0])
    assert [bool(each.svg) for each in drawings] == [False, True]
    assert len(drawn(lines([[1.0, 1.0]]).svg, "polyline")) == 1
    assert intervals([], [], []) == []


def test_a_column_of_pictures() -> None:
    rows = [["name", "x"], ["<a>", "1"], ["b", "2"]]
    html = bare_html(rows, 0, [PictureColumn(1, "as a bar", [bar(0.5), SmallPicture()])])
    assert faults(html) == []
    assert html.count("<svg") == 1
    assert html.index("as a bar") < html.index(">x<")
    with pytest.raises(ValueError, match="zip"):
        bare_html(rows, 0, [PictureColumn(1, "as a bar", [bar(0.5)])])


@pytest.mark.parametrize(
    "html",
    [
        "<p><script>x</script></p>",
        "<table><tr><th>x</th></tr></table>",
        '<table><tr><th scope="col">x</th></tr><tr><td>1</td><td>2</td></tr></table>',
        bar(0.5).svg.replace("aria-hidden", "aria-label"),
        '<p onclick="x">y</p>',
    ],
)
def test_faults_are_found(html: str) -> None:
    assert faults(html)

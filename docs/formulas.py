r"""Typeset formulas while the site is built: TeX becomes MathML, which browsers draw themselves.

A formula stands between dollars in a line, or between lines of two dollars, as on forges::

    The mean of $\operatorname{Beta}(a, b)$ is

    $$
    \frac{a}{a + b}.
    $$

Pages need no script and no font for it.  A formula that cannot be typeset stops the build.
"""

import re
from typing import Any

from markdown import Markdown
from markdown.extensions import Extension
from markdown.inlinepatterns import InlineProcessor
from markdown.preprocessors import Preprocessor
from math_core import LatexError, LatexToMathML

INLINE = r"(?<![\\$\w])\$(?![\s$])([^$\n]+?)(?<!\s)\$(?![\w$])"
BLOCK = re.compile(r"^( *)\$\$ *\n(.*?)\n\1\$\$ *$", re.MULTILINE | re.DOTALL)


# A wide formula scrolls by itself, by keys too.
BOX = '<div class="formula" role="group" aria-label="Formula" tabindex="0">{}</div>'
CONVERTER = LatexToMathML()


def mathml(formula: str, *, block: bool = False) -> str:
    """Convert a formula from TeX to MathML."""
    try:
        return CONVERTER.convert_with_local_state(formula, displaystyle=block)
    except LatexError as error:
        raise ValueError(f"The formula {formula!r} cannot be typeset: {error}") from None


class Blocks(Preprocessor):
    """Formulas between lines of two dollars; blocks of code are put away before."""

    def run(self, lines: list[str]) -> list[str]:
        """Put each formula away as finished HTML."""

        def finished(found: re.Match[str]) -> str:
            html = BOX.format(mathml(found[2], block=True))
            return f"\n{found[1]}{self.md.htmlStash.store(html)}\n"

        return BLOCK.sub(finished, "\n".join(lines)).split("\n")


class Inline(InlineProcessor):
    """Formulas between dollars within a line; code is recognised before."""

    def handleMatch(self, m: re.Match[str], data: str) -> tuple[str, int, int]:
        """Put the formula away as finished HTML."""
        return self.md.htmlStash.store(mathml(m[1])), m.start(0), m.end(0)


class Formulas(Extension):
    """Read formulas between dollars."""

    def extendMarkdown(self, md: Markdown) -> None:
        """Register both kinds of formulas."""
        md.preprocessors.register(Blocks(md), "formulas", 18)  # blocks of code and of HTML: 25, 20
        md.inlinePatterns.register(Inline(INLINE, md), "formula", 185)  # code: 190, escapes: 180


def makeExtension(**settings: Any) -> Formulas:
    """Make the extension, as Python-Markdown asks for it."""
    return Formulas(**settings)

"""SVG as matplotlib writes it, made small, and made fit to stand inside a page beside others."""

from __future__ import annotations

import re
from collections.abc import Iterable
from html import escape

from entropylaw.report.palette import themed

_PROLOG = re.compile(r"<\?xml.*?\?>\s*|<!DOCTYPE.*?>\s*", re.DOTALL)
_COMMENT = re.compile(r"<!--.*?-->\s*", re.DOTALL)
_STYLE = re.compile(r"<defs>\s*<style.*?</style>\s*</defs>\s*", re.DOTALL)
_GEOMETRY = re.compile(r'(?<=[ \n])(d|x|y|width|height)="([^"]*)"')
_LONG_NUMBER = re.compile(r"-?\d+\.\d{3,}")
_BETWEEN = re.compile(r">\s+<")
_ALIKE = re.compile(r'<use [^>]* style="([^"]*)"/>\n(?:<use [^>]* style="\1"/>\n){2,}')
_GLYPH = re.compile(r'<path id="(DejaVuSans[\w-]*)"[^>]*/>')
_LETTER = re.compile(r'<use href="#DejaVuSans([\w-]*)"(?: transform="translate\((-?[\d.]+) 0\)")?/>')
_INLINE_STYLE = re.compile(r'style="([^"]*)"')
_COLOUR = re.compile(r"(?<=[\";])(fill|stroke):(#[0-9a-f]{6})(?=[\";])")
_ID = re.compile(r' id="([^"]*)"')
_REFERENCE = re.compile(r'href="#([^"]*)"|url\(#([^)]*)\)')
_ROOT = re.compile(r"<svg[^>]*>")
_CURVE = 400
_PATH = re.compile(r'\sd="([^"]*)"')
_VIEW = re.compile(r'viewBox="[^"]*"')


def minify(svg: str) -> str:
    """The same picture without prolog and comments, coordinates to a hundredth of a point."""
    svg = _COMMENT.sub("", _PROLOG.sub("", svg))

    def rounded(found: re.Match[str]) -> str:
        numbers = _LONG_NUMBER.sub(lambda n: f"{float(n[0]):.2f}".rstrip("0").rstrip("."), found[2])
        return f'{found[1]}="{" ".join(numbers.split())}"'

    def together(found: re.Match[str]) -> str:
        """Marks in a row that look the same: said once for all."""
        look = found[1]
        return f'<g style="{look}">\n' + found[0].replace(f' style="{look}"', "") + "</g>\n"

    return _ALIKE.sub(together, _BETWEEN.sub(">\n<", _GEOMETRY.sub(rounded, svg))).strip() + "\n"


def inline(svg: str, prefix: str, title: str, description: str, *, follow: bool = True) -> str:
    """The SVG as an element of an HTML page: no ids that another could have, a title for those who listen.

    The shapes of letters are left out; :func:`glyphs` gives them once for the whole page. Colours ``follow``
    the page's custom properties (:func:`entropylaw.report.palette.css`), and are our own where it has none.
    """
    body = _GLYPH.sub("", _STYLE.sub("", _PROLOG.sub("", svg)))
    body = re.sub(r"<defs>\s*</defs>\s*", "", body)
    used = dict.fromkeys(a or b for a, b in _REFERENCE.findall(body))
    names = {name: f"{prefix}-{i}" for i, name in enumerate(used)}

    def renamed(found: re.Match[str]) -> str:
        """A reference to a letter stays; any other goes by its short new name."""
        name = found[1] or found[2]
        return found[0] if name.startswith("DejaVuSans") else found[0].replace(f"#{name}", f"#{names[name]}")

    def letter(found: re.Match[str]) -> str:
        x = f' x="{float(found[2]):.1f}"' if found[2] else ""
        return f'<use href="#glyph{found[1]}"{x}/>'

    body = _ID.sub(lambda found: f' id="{names[found[1]]}"' if found[1] in names else "", body)
    body = _REFERENCE.sub(renamed, body).replace("xlink:href=", "href=")
    body = _INLINE_STYLE.sub(lambda found: found[0].replace("; ", ";").replace(": ", ":"), body)
    if follow:
        body = _COLOUR.sub(lambda f: f"{f[1]}:{themed(f[2], stroke=f[1] == 'stroke')}", body)
    body = _LETTER.sub(letter, body)
    view = _VIEW.search(_ROOT.search(body)[0])  # type: ignore[index]
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" {view[0] if view else ""} role="img" '
        f'aria-labelledby="{prefix}-title {prefix}-desc">\n'
        f'<title id="{prefix}-title">{escape(title)}</title>\n'
        f'<desc id="{prefix}-desc">{escape(description)}</desc>'
    )
    return _ROOT.sub(lambda _: head, body, count=1).strip()


def compact(svg: str) -> str:
    """The same picture in fewer bytes: paths without needless blanks, long ones to a tenth of a point."""

    def shortened(found: re.Match[str]) -> str:
        path = found[1]
        if len(path) > _CURVE and "." in path:
            path = re.sub(r"-?\d+\.\d+", lambda n: f"{float(n[0]):.1f}".removesuffix(".0"), path)
        return f' d="{re.sub(r" ?([A-Za-z]) ?", chr(92) + "1", path.strip()).replace(" -", "-")}"'

    return _PATH.sub(shortened, svg)


def glyphs(svgs: Iterable[str]) -> str:
    """The letters of all figures of a page, each once, in an element that is not seen itself."""
    found = {match[1]: match[0] for svg in svgs for match in _GLYPH.finditer(svg)}
    shapes = "\n".join(found[name].replace(' id="DejaVuSans', ' id="glyph') for name in sorted(found))
    head = '<svg xmlns="http://www.w3.org/2000/svg" class="glyphs" aria-hidden="true">'
    return f"{head}<defs>\n{shapes}\n</defs></svg>"

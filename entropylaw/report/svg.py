"""SVG as matplotlib writes it, made small, and made fit to stand inside a page beside others."""

from __future__ import annotations

import re
from collections.abc import Iterable
from html import escape

from entropylaw.report.palette import themed

_GLYPH = re.compile(r'<path id="(DejaVuSans[\w-]*)"[^>]*/>')
_REFERENCE = re.compile(r'href="#([^"]*)"|url\(#([^)]*)\)')


def minify(svg: str) -> str:
    """The same picture without prolog, comments, needless blanks; coordinates to a hundredth of a point."""
    svg = re.sub(r"(?s)(<\?xml.*?\?>|<!DOCTYPE.*?>|<!--.*?-->)\s*", "", svg)

    def rounded(found: re.Match[str]) -> str:
        numbers = re.sub(r"-?\d+\.\d{3,}", lambda n: f"{float(n[0]):.2f}".rstrip("0").rstrip("."), found[2])
        numbers = " ".join(numbers.split())
        if found[1] == "d":
            if len(numbers) > 400:
                # Of a long path a tenth of a point is exact enough.
                numbers = re.sub(r"-?\d+\.\d+", lambda n: f"{float(n[0]):.1f}".removesuffix(".0"), numbers)
            numbers = re.sub(" ?([A-Za-z]) ?", r"\1", numbers).replace(" -", "-")
        return f'{found[1]}="{numbers}"'

    def together(found: re.Match[str]) -> str:
        """Marks in a row that look the same: said once for all."""
        return f'<g style="{found[1]}">\n' + found[0].replace(f' style="{found[1]}"', "") + "</g>\n"

    svg = re.sub(r'(?<=[ \n])(d|x|y|width|height)="([^"]*)"', rounded, svg)
    svg = re.sub(r">\s+<", ">\n<", svg).strip() + "\n"
    return re.sub(r'<use [^>]* style="([^"]*)"/>\n(?:<use [^>]* style="\1"/>\n){2,}', together, svg)


def inline(svg: str, prefix: str, title: str, description: str, *, follow: bool = True) -> str:
    """What :func:`minify` made as an element of a page: no ids of another, a title for those who listen.

    The shapes of letters are left out; :func:`glyphs` gives them once for the whole page. Colours ``follow``
    the page's custom properties (:func:`entropylaw.report.palette.css`), and are our own where it has none.
    """
    body = _GLYPH.sub("", re.sub(r"(?s)<defs>\s*<style.*?</style>\s*</defs>\s*", "", svg))
    body = re.sub(r"<defs>\s*</defs>\s*", "", body)
    used = dict.fromkeys(a or b for a, b in _REFERENCE.findall(body))
    names = {name: f"{prefix}-{i}" for i, name in enumerate(used)}

    def renamed(found: re.Match[str]) -> str:
        """A reference to a letter stays; any other goes by its short new name."""
        name = found[1] or found[2]
        return found[0] if name.startswith("DejaVuSans") else found[0].replace(f"#{name}", f"#{names[name]}")

    body = re.sub(r' id="([^"]*)"', lambda f: f' id="{names[f[1]]}"' if f[1] in names else "", body)
    body = _REFERENCE.sub(renamed, body).replace("xlink:href=", "href=")
    body = re.sub(r'style="[^"]*"', lambda f: f[0].replace("; ", ";").replace(": ", ":"), body)
    if follow:
        colour = r"(?<=[\";])(fill|stroke):(#[0-9a-f]{6})(?=[\";])"
        body = re.sub(colour, lambda f: f"{f[1]}:{themed(f[2], stroke=f[1] == 'stroke')}", body)
    body = re.sub(r'<use href="#DejaVuSans([\w-]*)"', r'<use href="#glyph\1"', body)
    along = r'(<use href="#glyph[^"]*") transform="translate\((-?[\d.]+) 0\)"'
    body = re.sub(along, lambda f: f'{f[1]} x="{float(f[2]):.1f}"', body)
    head, _, body = body.partition(">")
    view = re.search(r'viewBox="[^"]*"', head)
    about = f'<title id="{prefix}-title">{escape(title)}</title>\n<desc id="{prefix}-desc">'
    label = f'role="img" aria-labelledby="{prefix}-title {prefix}-desc"'
    head = f'<svg xmlns="http://www.w3.org/2000/svg" {view[0] if view else ""} {label}>'
    return f"{head}\n{about}{escape(description)}</desc>{body}".strip()


def glyphs(svgs: Iterable[str]) -> str:
    """The letters of all figures of a page, each once, in an element that is not seen itself."""
    found = {match[1]: match[0] for svg in svgs for match in _GLYPH.finditer(svg)}
    shapes = "\n".join(found[name].replace(' id="DejaVuSans', ' id="glyph') for name in sorted(found))
    head = '<svg xmlns="http://www.w3.org/2000/svg" class="glyphs" aria-hidden="true">'
    return f"{head}<defs>\n{shapes}\n</defs></svg>"

"""A report as one HTML file that needs no other: the page of its only run, or the index with all pages below.

The pages are those of a report in a folder, which is made and removed.
"""

from __future__ import annotations

import re
import tempfile
from collections.abc import Callable
from pathlib import Path

from entropylaw.files import write_atomically
from entropylaw.paths import check_targets
from entropylaw.pipeline.site import PAGE, PHASES, Outcome
from entropylaw.results.result import replace

_STYLE = re.compile(r"<style>\n(.*?)</style>", re.DOTALL)
_BODY = re.compile(r"<header class=\"page\">.*</main>", re.DOTALL)
_LINKS = re.compile(r"<nav aria-label=\"Runs\">.*?</nav>\n", re.DOTALL)
_FILES = re.compile(r"The same as files: .*?</a>\. ")
_NAMES = re.compile(r'\b(id="|href="#|aria-labelledby="|aria-describedby="|url\(#)')


def one_page(target: Path, made: Callable[[Path], Outcome]) -> Outcome:
    """Write the report that ``made`` writes into a folder as one file.

    Raises OutputError (``cannot-write``); UsageError (``output-is-input``); and as ``made``.
    """
    with tempfile.TemporaryDirectory() as folder:
        outcome = made(Path(folder))
        if not outcome.written:
            return outcome
        pages = {one.row.slug: Path(folder) / "runs" / f"{one.row.slug}.html" for one in outcome.done}
        texts = {slug: page.read_text("utf-8") for slug, page in pages.items()}
        index, across = ((Path(folder) / name) for name in (PAGE, PHASES))
        whole = index.read_text("utf-8")
        phases = across.read_text("utf-8") if across.exists() else None
    check_targets([target])
    (first, *more) = texts.values()
    write_atomically(target, joined(whole, texts, phases) if more else _LINKS.sub("", first))
    return replace(outcome, written=(target,))


def joined(index: str, pages: dict[str, str], phases: str | None = None) -> str:
    """An index with the pages of its runs below, and its links to them within the file.

    ``phases`` is the page over the phases of several runs, which comes before those.

    Texts from logs are escaped in pages: what looks like an attribute is one.
    """
    sections = [("", PHASES, phases)] if phases is not None else []
    parts: list[str] = []
    for slug, address, page in [
        *sections,
        *((slug, f"runs/{slug}.html", page) for slug, page in pages.items()),
    ]:
        name = f"run:{slug}" if slug else "phases"
        index = index.replace(f'href="{address}"', f'href="#{name}"')
        parts = [part.replace(f'href="{address}"', f'href="#{name}"') for part in parts]
        (body,) = _BODY.findall(_LINKS.sub("", page))
        body = (
            _NAMES.sub(rf"\1{slug or 'phases'}:", body)
            .replace("<main ", "<div ")
            .replace("</main>", "</div>")
        )
        body += '\n<p><a href="#main">All runs</a></p>'
        parts.append(f'<section class="run" id="{name}">\n{body}\n</section>')
    (style,) = _STYLE.findall(next(iter(pages.values())))
    own = ".run>*{max-width:88rem!important;margin:0 auto;padding:0 clamp(1.25rem,4vw,3rem)!important}"
    index = _FILES.sub("", index.replace("<style>\n", f"<style>\n{style}{own}\n", 1))
    return index.replace("</body>", "\n".join([*parts, "</body>"]))

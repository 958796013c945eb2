"""Build the site into ``build/site``: ``nox -s docs``.

The pages are those of docs/, the README as the first, and one with every public name. Links to files that are
not on the site lead to the repository, and are plain text as long as it has no address.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tomllib
from html import unescape
from pathlib import Path
from urllib.parse import unquote

ROOT = Path(__file__).parent.parent
sys.path.insert(0, str(ROOT))

import entropylaw  # noqa: E402

DOCS, PAGES = ROOT / "docs", ROOT / "build" / "docs"
REPOSITORY = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]["urls"]["Repository"]
NOWHERE = ".example/"
"""In the address of a repository that is not public yet."""

OTHERS = {ROOT / "README.md": "index.md"} | {
    ROOT / name: name for name in ("CONTRIBUTING.md", "CHANGELOG.md")
}
"""Pages that are not in docs/, with their names on the site."""

LINK = re.compile(r"(!?)\[((?:[^\[\]]|\[[^\]]*\])*)\]\((?!https?:)([^)#\s]*)(#[^)\s]*)?\)")


def main() -> None:
    shutil.rmtree(PAGES, ignore_errors=True)
    shutil.copytree(DOCS, PAGES, ignore=shutil.ignore_patterns("*.py", "__pycache__"))
    sources = {path: path.relative_to(DOCS).as_posix() for path in sorted(DOCS.rglob("*.md"))} | OTHERS
    for source, name in sources.items():
        (PAGES / name).write_text(page(source, name, sources), encoding="utf-8")
    (PAGES / "api.md").write_text(api(), encoding="utf-8")
    program = Path(sys.executable).with_name("zensical")
    subprocess.run([program, "build", "--strict", "--clean"], cwd=ROOT, check=True)
    if dead := dead_links(ROOT / "build" / "site"):
        sys.exit("links that lead nowhere:\n" + "\n".join(dead))


def page(source: Path, name: str, sources: dict[Path, str]) -> str:
    """A page with its links as they are on the site."""

    def led(link: re.Match[str]) -> str:
        picture, text, target, anchor = link.groups(default="")
        path = Path(os.path.normpath(source.parent / target)) if target else source
        if path in sources:
            there = os.path.relpath(sources[path], Path(name).parent)
            return f"{picture}[{text}]({there}{anchor})"
        if path.is_relative_to(DOCS):
            return f"{picture}[{text}]({os.path.relpath(path.relative_to(DOCS), Path(name).parent)})"
        if NOWHERE in REPOSITORY:
            return text
        return f"[{text}]({REPOSITORY}/blob/main/{path.relative_to(ROOT).as_posix()})"

    text = re.sub(r"\A---\n.*?\n---\n", "", source.read_text(encoding="utf-8"), flags=re.DOTALL)
    return LINK.sub(led, text)


def dead_links(site: Path) -> list[str]:
    """The links of the built pages to files and headings that the site does not have."""
    pages = {path: path.read_text(encoding="utf-8") for path in site.rglob("*.html")}
    names = {path: set(re.findall(r'\b(?:id|name)="([^"]+)"', text)) for path, text in pages.items()}
    dead = []
    for path, text in pages.items():
        for link in re.findall(r'\b(?:href|src)="([^"]+)"', text):
            target, _, anchor = unquote(unescape(link)).partition("#")
            if re.match(r"[a-z]+:|/", target):
                continue
            there = Path(os.path.normpath(path.parent / target)) if target else path
            there = there / "index.html" if there.is_dir() else there
            if not there.exists() or (anchor and anchor not in names.get(there, ())):
                dead.append(f"{path.relative_to(site)}: {link}")
    return sorted(dead)


def api() -> str:
    """A section per public name, from its docstring."""
    parts = ["# Python", "Every name of `entropylaw.__all__`: what it takes, returns and raises, with units."]
    parts += [f"::: entropylaw.{name}" for name in entropylaw.__all__ if name != "__version__"]
    return "\n\n".join(parts) + "\n"


if __name__ == "__main__":
    main()

"""Regenerate everything in docs/ and the README that is made from the code: ``nox -s docs``.

python docs/generate.py            write the pages
python docs/generate.py --check    fail where a page differs from what would be written
"""

from __future__ import annotations

import inspect
import os
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path
from typing import Any

import msgspec

ROOT = Path(__file__).parent.parent
sys.path.insert(0, str(ROOT))

from benchmarks.docs import with_block  # noqa: E402
from docs import reference  # noqa: E402
from entropylaw.cli.command import all_settings  # noqa: E402
from entropylaw.documents.kinds import KINDS  # noqa: E402
from entropylaw.documents.kinds import Kind as DocumentKind  # noqa: E402
from entropylaw.documents.store import dumps  # noqa: E402
from entropylaw.gates.quantities import QUANTITIES, Kind, Part  # noqa: E402
from entropylaw.options import FitOptions, Option, PhaseOptions  # noqa: E402
from entropylaw.results.arrays import FloatArray  # noqa: E402
from entropylaw.settingsfile import general_settings  # noqa: E402

TYPER = f"typer {version('typer')}"
COMMANDS = (
    "columns",
    "fit",
    "predict",
    "backtest",
    "tokens",
    "phases",
    "plot",
    "report",
    "check",
    "config",
    "schema",
)


def main() -> None:
    pages = generated()
    stale = [
        path for path, text in pages.items() if not path.exists() or path.read_text(encoding="utf-8") != text
    ]
    if "--check" in sys.argv:
        sys.exit(f"stale: {', '.join(path.name for path in stale)}" if stale else 0)
    for path in stale:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(pages[path], encoding="utf-8")
        print(f"wrote {path.relative_to(ROOT)}")
    # Its --check is not ours: a test of its own compares the sample, which takes as long as six fits.
    subprocess.run([sys.executable, str(ROOT / "docs" / "sample.py")], cwd=ROOT, check=True)


def generated() -> dict[Path, str]:
    """Every generated page with its text."""
    readme, formats = ROOT / "README.md", ROOT / "docs" / "formats.md"
    settings, gates = ROOT / "docs" / "config.md", ROOT / "docs" / "ci.md"
    schemas = ROOT / "entropylaw" / "documents" / "schemas"
    pages = {
        formats: formats_page(formats.read_text(encoding="utf-8")),
        settings: with_block(settings.read_text(encoding="utf-8"), "settings", settings_table()),
        readme: readme_page(readme.read_text(encoding="utf-8")),
        gates: with_block(gates.read_text(encoding="utf-8"), "quantities", quantities_table()),
    }
    pages |= {schemas / f"{kind.name}-{kind.version}.json": dumps(schema(kind)) for kind in KINDS.values()}
    # Every release of typer lays out help in its own way: a page that another one made is not stale.
    commands = ROOT / "docs" / "cli.md"
    if "--check" not in sys.argv or TYPER in commands.read_text(encoding="utf-8"):
        pages[commands] = cli_page()
    return pages


def formats_page(text: str) -> str:
    """The page on formats with its tables from the registry and the catalog."""
    tables = {
        "formats": reference.formats_table(),
        "folders": reference.folders_table(),
        "refused": reference.refused_table(),
        "entropies": reference.entropy_table(),
        "rewards": reference.rewards_table(),
    }
    for name, table in tables.items():
        text = with_block(text, name, table)
    return text


def schema(kind: DocumentKind) -> dict[str, Any]:
    """The JSON Schema of a document, with the name of its schema pinned."""
    body = msgspec.json.schema(kind.type, schema_hook=_schema_of_number)
    whole = body["$defs"].pop(body.pop("$ref").removeprefix("#/$defs/"))
    for one in (whole, *body["$defs"].values()):
        one["description"] = inspect.cleandoc(one["description"])
    for options in (FitOptions, PhaseOptions):
        if options.__name__ in body["$defs"]:
            body["$defs"][options.__name__]["required"] = sorted(options.ALWAYS)
    whole["properties"] |= {"schema": {"const": kind.schema}, "version": {"type": "string"}}
    whole["required"] += ["schema", "version"]
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **body, **whole, "title": kind.schema}


def _schema_of_number(kind: type) -> dict[str, Any]:
    """Of arrays, and of numbers that may be infinite: null stands for infinity."""
    if kind is FloatArray:
        return {"type": "array", "items": {"type": ["number", "array"]}}
    return {"type": ["number", "null"]}


def quantities_table() -> str:
    """Every quantity of gates, and the documents that hold it."""
    found_in = {Part.law: "fit, report", Part.ahead: "report, prediction", Part.phases: "phases, report"}
    flags = {"invalid": "fit, report, prediction, logs", "refused": "all"}
    lines = ["| quantity | what | unit | compared by | only if the law holds | found in |"]
    lines.append("| --- | --- | --- | --- | --- | --- |")
    for one in QUANTITIES.values():
        words = f"word: {', '.join(f'`{word}`' for word in one.words)}"
        compared = {Kind.estimate: "interval", Kind.word: words}.get(one.kind, one.kind.value)
        where = flags.get(one.name, f"{found_in[one.part]}, logs")
        holds = "yes" if one.of_law else ""
        lines.append(f"| `{one.name}` | {one.meaning} | {one.unit} | {compared} | {holds} | {where} |")
    return "\n".join(lines)


def settings_table() -> str:
    """Every setting: what it takes, what holds without it, and the commands that have it."""
    commands = all_settings()
    lines = ["| key | flag | takes | without it | commands | |", "| --- | --- | --- | --- | --- | --- |"]
    for key, known in general_settings(commands).items():
        having = {name: settings[key] for name, settings in commands.items() if key in settings}
        cells = (
            f"`{key}`",
            f"`{known.flag}`",
            known.expected if known.general else f"{known.expected}, in the table of one command",
            " or ".join(dict.fromkeys(without(option) for option in having.values())),
            ", ".join(having),
            known.help,
        )
        lines.append(f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in cells)} |")
    return "\n".join(lines)


def without(option: Option) -> str:
    """What holds where neither a flag nor a file says anything."""
    if option.default in (None, ()):
        return option.unset
    return f"`{str(option.default).lower() if isinstance(option.default, bool) else option.default}`"


def cli_page() -> str:
    """``docs/cli.md``: the help of every command."""
    parts = ["# Command line", "", f"Made from `--help`, as {TYPER} prints it.", ""]
    for command in ("", *COMMANDS):
        name = f"entropylaw {command}".strip()
        parts += [f"## `{name}`", "", fenced(run([*name.split()[1:], "--help"])), ""]
    return "\n".join(parts).rstrip() + "\n"


def readme_page(text: str) -> str:
    """The README with what its commands print: the first one whole, and the head of a fit that fails."""
    whole = run(["fit", "data/lab/clean_start_s0/metrics.parquet", "-o", "-"])
    fails = run(["fit", "data/lab/grpo_s0/metrics.parquet", "-o", "-"])
    head = fails[: fails.index("  residual ")].rstrip()
    return with_block(with_block(text, "fit", fenced(whole)), "fails", fenced(f"{head}\n  …"))


def run(arguments: list[str]) -> str:
    """Standard output of the command line, 100 columns wide, without colour."""
    quiet = {
        key: value
        for key, value in os.environ.items()
        if key not in ("GITHUB_ACTIONS", "FORCE_COLOR", "PY_COLORS")
    }
    environment = quiet | {
        "COLUMNS": "100",
        "TERMINAL_WIDTH": "100",
        "NO_COLOR": "1",
        "PYTHONPATH": str(ROOT),
    }
    done = subprocess.run(
        [sys.executable, "-m", "entropylaw", *arguments],
        cwd=ROOT,
        env=environment,
        check=True,
        capture_output=True,
        encoding="utf-8",
    )
    return done.stdout.replace("python -m entropylaw", "entropylaw")


def fenced(text: str) -> str:
    return f"```text\n{text.rstrip()}\n```"


if __name__ == "__main__":
    main()

"""Regenerate everything in docs/ and the README that is made from the code: ``nox -s docs -- --write``.

python docs/generate.py            write the pages
python docs/generate.py --check    fail where a page differs from what would be written
"""

from __future__ import annotations

import math
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Iterable
from importlib.metadata import version
from pathlib import Path

ROOT = Path(__file__).parent.parent
sys.path.insert(0, str(ROOT))

from benchmarks.docs import with_block  # noqa: E402
from docs import reference  # noqa: E402
from docs.json_schema import json_schema  # noqa: E402
from entropylaw import Watcher, read_runs  # noqa: E402
from entropylaw.cli.command import NAMES, all_settings, command_of  # noqa: E402
from entropylaw.documents.codec import dumps  # noqa: E402
from entropylaw.documents.kinds import KINDS  # noqa: E402
from entropylaw.gates.differences import differences  # noqa: E402
from entropylaw.gates.quantities import QUANTITIES, Quantity  # noqa: E402
from entropylaw.option import Option, options_of  # noqa: E402
from entropylaw.roles.select import select  # noqa: E402
from entropylaw.units import range_words  # noqa: E402

TYPER = f"typer {version('typer')}"
COMMAND = re.compile(r"```sh\n(?:(cut .+) && |.* && )?entropylaw (.+)\n```\n(?:\n<!-- (\w+):begin -->)?")
"""A command of a page: what makes its log, its arguments, and the block right below for what it prints."""

TRIPPED = 5
"""Exit code of ``check`` where a gate trips."""

COMMANDS = (
    "columns",
    "fit",
    "predict",
    "tokens",
    "samples",
    "phases",
    "compare",
    "plot",
    "report",
    "check",
    "demo",
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
    # Without --check: tests/unit/test_sample_report.py compares the sample, which takes as long as six fits,
    # and tests/unit/test_demo.py the files of the demo.
    for script in ("sample.py", "demo.py"):
        subprocess.run([sys.executable, str(ROOT / "docs" / script)], cwd=ROOT, check=True)


def generated() -> dict[Path, str]:
    """Every generated page with its text."""
    readme = ROOT / "README.md"
    guide = ROOT / "docs" / "guide.md"
    formats = ROOT / "docs" / "formats.md"
    columns = ROOT / "docs" / "trainers.md"
    settings = ROOT / "docs" / "config.md"
    gates = ROOT / "docs" / "ci.md"
    documents = ROOT / "docs" / "schemas.md"
    loop = ROOT / "docs" / "loop.md"
    pages = {
        formats: formats_page(formats.read_text(encoding="utf-8")),
        columns: with_block(columns.read_text(encoding="utf-8"), "trainers", reference.trainer_sections()),
        settings: with_block(settings.read_text(encoding="utf-8"), "settings", settings_table()),
        **{page: with_outputs(page.read_text(encoding="utf-8")) for page in (readme, guide)},
        gates: with_block(gates.read_text(encoding="utf-8"), "quantities", quantities_table()),
        loop: with_block(loop.read_text(encoding="utf-8"), "said", fenced(said_at(152))),
        documents: with_block(documents.read_text(encoding="utf-8"), "kinds", kinds_table()),
    }
    pages[readme] = with_block(pages[readme], "trust", trust_table())
    # Agents look for skills in a folder of that name, readers on the site; the wheel has the source.
    skill = (ROOT / "entropylaw" / "SKILL.md").read_text(encoding="utf-8")
    pages[ROOT / "docs" / "SKILL.md"] = skill
    pages[ROOT / "skills" / "entropylaw" / "SKILL.md"] = skill
    pages[ROOT / "docs" / "llms.txt"] = llms_txt()
    for kind in KINDS.values():
        pages[ROOT / "docs" / "schemas" / f"{kind.name}.json"] = dumps(json_schema(kind))
    # Releases of typer differ in the layout of help: a page made with another release is not stale.
    commands = ROOT / "docs" / "cli.md"
    if "--check" not in sys.argv or TYPER in commands.read_text(encoding="utf-8"):
        pages[commands] = cli_page()
    return pages


def llms_txt() -> str:
    """The pages of the site by section, for language models (https://llmstxt.org)."""
    site = tomllib.loads((ROOT / "zensical.toml").read_text(encoding="utf-8"))["project"]
    lines = [f"# {site['site_name']}", "", f"> {site['site_description']}"]
    for entry in site["nav"]:
        ((section, listed),) = entry.items()
        pages = [entry] if isinstance(listed, str) else listed
        lines += ["", f"## {section}", ""]
        for page in pages:
            ((title, name),) = page.items()
            lines.append(f"- [{title}]({re.sub(r'(README|index)?[.]md$', '', name) or '.'})")
    return "\n".join(lines) + "\n"


def trust_table() -> str:
    """What the README quotes of the benchmarks: each number is a cell of a benchmark's page."""
    sizes = ("n 12", "n 40", "n 120", "n 500")
    covered = cell("forecasts", "covered · missed above · below · worst repository", "left-out half")
    at_0 = cell("table", "under the law, all", "reward at H = 0 covered")
    clear = cell("law_words", "the law, R² ≥ .5, n ≥ 40", "`holds`")
    clocks = [cell("law_words", truth, "`holds`") for truth in ("one clock", "two clocks")]
    rows = (
        (
            "`rising` is true, simulated runs of 12 · 40 · 120 · 500 evaluations",
            shares(cell("state", "`rising`", size) for size in sizes),
            "state",
        ),
        (
            "`flat` is true, of the same",
            shares(cell("state", "`flat`", size) for size in sizes),
            "state",
        ),
        (
            "a state other than `cannot tell`, public rewards",
            cell("state", "public rewards with a word, all:", "state_of"),
            "state",
        ),
        (
            "the reward half as many steps later is in its 95 % interval, repositories left out",
            covered.split(" · ")[0],
            "forecasts",
        ),
        ("the reward at H = 0 is in its 95 % interval, runs under the law", shares([at_0]), "table"),
        ("`holds` is said under the law, R² ≥ .5 and 40 evaluations or more", shares([clear]), "law_words"),
        (
            "`holds` is said where one clock · two clocks drive reward and entropy",
            shares(clocks),
            "law_words",
        ),
    )
    lines = ["| how often | | measured |", "| --- | ---: | --- |"]
    lines += [f"| {what} | {share} | [{page}](docs/benchmarks/{page}.md) |" for what, share, page in rows]
    return "\n".join(lines)


def tables_of(page: str) -> list[list[list[str]]]:
    """The tables of a benchmark's page: their rows of cells, the first of which are the titles."""
    text = (ROOT / "docs" / "benchmarks" / f"{page}.md").read_text(encoding="utf-8")
    found = []
    for table in re.findall(r"(?:^\|.*\n)+", text, re.MULTILINE):
        head, _, *rows = ([part.strip() for part in line[1:-1].split("|")] for line in table.splitlines())
        found.append([head, *rows])
    return found


def cell(page: str, begins: str, title: str) -> str:
    """The cell of a benchmark's page under a title, in the first row there that begins so."""
    for head, *rows in tables_of(page):
        row = next((row for row in rows if row[0].startswith(begins)), None)
        if title in head and row is not None:
            return row[head.index(title)]
    raise LookupError(f"docs/benchmarks/{page}.md has no row {begins!r} with a column {title!r}")


def shares(cells: Iterable[str]) -> str:
    """Percentages, some with their numbers of cases, as ``98.9 % of 184``, or a peer's, without these."""
    return " · ".join(text.split()[0] for text in cells) + " %"


def formats_page(text: str) -> str:
    """The page on formats with its tables from the registry and the catalog."""
    tables = {
        "formats": reference.formats_table(),
        "folders": reference.folders_table(),
        "refused": reference.refused_table(),
    }
    for name, table in tables.items():
        text = with_block(text, name, table)
    return text


def said_at(step: float) -> str:
    """What a watcher says of a run of the demo at a step."""
    said: list[str] = []
    (log,) = read_runs(ROOT / "entropylaw" / "demo" / "grpo_s0.csv")
    run = select(log)
    watcher = Watcher(steps=400, cost_per_step=0.8, max_reward=1, say=said.append)
    until = run.step <= step
    for at, entropy, reward in zip(run.step[until], run.entropy[until], run.reward[until], strict=True):
        watcher.update(at, entropy=entropy, rewards={"val_acc": reward})
    return said[-1]


def quantities_table() -> str:
    """Every quantity of gates, by what it is about and the documents that have it."""
    groups: dict[str, list[Quantity]] = {
        "Of a run (`fit`, `report` and logs; with a star also `predict`)": [],
        "Of its law (the same; unknown where there is none, with a dagger also where it fails)": [],
        "Of phases (`phases`, `report` and logs)": [],
        "Of samples (`samples` and logs)": [],
    }
    of_run, of_law, of_phases, of_samples = groups.values()
    for one in QUANTITIES.values():
        others = {"phases": of_phases, "samples": of_samples}
        of_fit = of_law if one.of_law or one.by_law else of_run
        others.get(one.reads[0], of_fit).append(one)
    lines = []
    for title, quantities in groups.items():
        lines += [f"**{title}**", "", "| quantity | what | unit, range | compared by |"]
        lines += ["| --- | --- | --- | --- |", *map(quantity_row, quantities), ""]
    names = ", ".join(f"`{name}`" for name in differences())
    return "\n".join([*lines, f"In a comparison `difference(ARM, BASELINE).NAME` is of {names}."])


def quantity_row(one: Quantity) -> str:
    """A quantity of gates with its unit and range, and what it is compared by."""
    words = f"word: {', '.join(f'`{word}`' for word in one.words)}"
    compared = {"estimate": "interval", "word": words}.get(one.kind, one.kind)
    marks = ("*" if "prediction" in one.reads else "") + ("†" if one.by_law else "")
    unit = ", ".join(filter(None, (one.unit.name, range_of(one))))
    return f"| `{one.name}`{marks.replace('*', chr(92) + '*')} | {one.meaning} | {unit} | {compared} |"


def kinds_table() -> str:
    """Every kind of document, the command that writes it, and its JSON Schema."""
    lines = ["| kind | written by | JSON Schema |", "| --- | --- | --- |"]
    for kind in KINDS.values():
        lines.append(f"| `{kind.schema}` | `{kind.command}` | [{kind.name}.json](schemas/{kind.name}.json) |")
    return "\n".join(lines)


def range_of(quantity: Quantity) -> str:
    """The range of a quantity with a number; empty for others, and where it may be any number."""
    unit = quantity.unit
    if quantity.kind in ("word", "flag") or (math.isinf(unit.low) and math.isinf(unit.high)):
        return ""
    return range_words(unit.low, unit.high, whole=unit.whole)


def settings_table() -> str:
    """Every setting: what it takes, its default, and the commands that have it."""
    lines = ["| key | takes | without it | commands |", "| --- | --- | --- | --- |"]
    options = [(name, option) for name in NAMES for option in options_of(command_of(name)).values()]
    for key, known in all_settings().items():
        having = {name: option for name, option in options if option.key == key}
        cells = (
            f"`{key}`",
            known.expected,
            " or ".join(dict.fromkeys(without(option) for option in having.values())),
            ", ".join(having),
        )
        lines.append(f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in cells)} |")
    return "\n".join(lines)


def without(option: Option) -> str:
    """The default of a setting."""
    if option.default in (None, ()):
        return option.unset
    if option.many:
        return ", ".join(f"`{value}`" for value in option.default)
    return f"`{str(option.default).lower() if isinstance(option.default, bool) else option.default}`"


def cli_page() -> str:
    """``docs/cli.md``: the help of every command, with what several commands share in the first of them."""
    head = f"Made from `--help`, as {TYPER} prints it. An option that an earlier command has is named alone."
    parts, shown = ["# Command line", "", head, ""], set[str]()
    for command in ("", *COMMANDS):
        name = f"entropylaw {command}".strip()
        printed = run([*name.split()[1:], "--help"])
        parts += [f"## `{name}`", "", fenced(shortened(printed, shown)), ""]
    return "\n".join(parts).rstrip() + "\n"


def shortened(printed: str, shown: set[str]) -> str:
    """A help text in which the options in ``shown`` are named alone; those that it prints are added there."""
    paragraphs = []
    for paragraph in printed.split("\n\n"):
        # An entry begins with its name, two columns in; its other lines are further in.
        heading, *entries = re.split(r"\n(?=  \S)", paragraph)
        kept, above = [heading], []
        for entry in entries:
            text = " ".join(entry.split())
            if entry.startswith("  -") and text in shown:
                above.append(re.split(r"[ ,]", text)[0])
            else:
                kept.append(entry)
                shown.add(text)
        if above:
            kept.append(f"  as above: {' '.join(above)}")
        paragraphs.append("\n".join(kept))
    return "\n\n".join(paragraphs)


def with_outputs(text: str) -> str:
    """A page whose commands are run in order, with what they print in the blocks right below them."""
    with tempfile.TemporaryDirectory() as folder:
        shutil.copytree(ROOT / "entropylaw" / "demo", Path(folder) / "demo")
        for makes_log, command, name in COMMAND.findall(text):
            if makes_log:
                subprocess.run(["sh", "-c", makes_log], cwd=folder, check=True)
            printed = run(shlex.split(command), Path(folder))
            text = with_block(text, name, fenced(printed)) if name else text
    return text


def run(arguments: list[str], folder: Path = ROOT) -> str:
    """What the command line prints, 100 columns wide and without colour: results, messages, exit code."""
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
        cwd=folder,
        env=environment,
        check=False,
        capture_output=True,
        encoding="utf-8",
    )
    if done.returncode not in (0, TRIPPED):
        sys.exit(f"entropylaw {shlex.join(arguments)} ended with exit code {done.returncode}\n{done.stderr}")
    printed = done.stdout + done.stderr
    return f"{printed}exit code {done.returncode}" if done.returncode else printed


def fenced(text: str) -> str:
    return f"```text\n{text.rstrip()}\n```"


if __name__ == "__main__":
    main()

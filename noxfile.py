"""Sessions: ``nox -l`` lists them."""

from __future__ import annotations

import os
import re
import tomllib
from pathlib import Path

import nox

nox.options.sessions = ["lint", "tests"]
nox.options.default_venv_backend = "venv"

PROJECT = tomllib.loads(Path("pyproject.toml").read_text(encoding="utf-8"))["project"]


def lowest(requirements: list[str]) -> list[str]:
    """``name>=version`` as ``name==version``: the oldest supported release."""
    return [re.sub(r">=", "==", requirement) for requirement in requirements]


@nox.session
def tests(session: nox.Session) -> None:
    """The whole test suite against the newest releases."""
    session.install("-e", ".[test]")
    session.run("python", "-m", "pytest", *session.posargs)


@nox.session(name="tests-lowest")
def tests_lowest(session: nox.Session) -> None:
    """The same against the lowest direct versions."""
    extras = PROJECT["optional-dependencies"]
    session.install(*lowest(PROJECT["dependencies"]), *lowest(extras["test"]))
    session.install("--no-deps", "-e", ".")
    # Old releases warn about their own dependencies.
    session.run("python", "-m", "pytest", "-o", "filterwarnings=default", *session.posargs)


@nox.session
def nightly(session: nox.Session) -> None:
    """The test suite with all that a call of it draws from: every run of the lab, 100 examples a property."""
    session.install("-e", ".[test]")
    session.run("python", "-m", "pytest", *session.posargs, env={"ENTROPYLAW_NIGHTLY": "1"})


@nox.session
def lab(session: nox.Session) -> None:
    """How the runs of the lab are made: a few steps of training, which needs PyTorch."""
    session.install("-e", ".[test,lab]")
    session.run("python", "-m", "pytest", "lab", *session.posargs)


@nox.session
def lint(session: nox.Session) -> None:
    """Style, types, imports between packages, words, the budget."""
    session.install("-e", ".[lint,test]")
    session.run("ruff", "check", ".")
    session.run("ruff", "format", "--check", ".")
    session.run("mypy")
    tests = [f"tests/unit/test_{name}.py" for name in ("arrows", "words", "budget")]
    session.run("python", "-m", "pytest", "-q", "-n0", *tests)


@nox.session
@nox.parametrize("transformers", ["<5", ">=5"], ids=["4", "5"])
def oracles(session: nox.Session, transformers: str) -> None:
    """Logs written by the real tools, read by entropylaw and by those tools."""
    session.install("-e", ".[test,oracles]", "tensorboardX", "polars", f"transformers{transformers}")
    tests = ["tests/oracles", "tests/unit/test_lab_formats.py"]
    session.run("python", "-m", "pytest", *tests, *session.posargs)


@nox.session(name="oracles-wandb")
@nox.parametrize("wandb", ["==0.18.7", "==0.21.4", "==0.25.1", "==0.28.0", "==0.29.0", ">=0.31"])
def oracles_wandb(session: nox.Session, wandb: str) -> None:
    """Logs of six versions of W&B: what is read of them is what was logged."""
    session.install("-e", ".", "pytest", "pytest-xdist", "hypothesis", f"wandb{wandb}")
    session.run("python", "-m", "pytest", "tests/oracles/test_trackers.py", "-k", "wandb", *session.posargs)


@nox.session
def fuzz(session: nox.Session) -> None:
    """20,000 damaged logs, 5,000 sets of inputs that could hide a run from a gate, 20,000 calls of Python.

    ``ENTROPYLAW_FUZZ``, ``ENTROPYLAW_FUZZ_SETS`` and ``ENTROPYLAW_FUZZ_CALLS`` set other numbers.
    """
    session.install("-e", ".[test]")
    counts = {"ENTROPYLAW_FUZZ": "20000", "ENTROPYLAW_FUZZ_SETS": "5000", "ENTROPYLAW_FUZZ_CALLS": "20000"}
    numbers = {name: os.environ.get(name, count) for name, count in counts.items()}
    session.run("python", "-m", "pytest", "tests/fuzz", *session.posargs, env=numbers)


@nox.session
def spark(session: nox.Session) -> None:
    """Ten million tokens by DuckDB and a local Spark: same bytes. ``ENTROPYLAW_SPARK_ROWS`` sets how many."""
    session.install("-e", ".[test,spark]")
    rows = os.environ.get("ENTROPYLAW_SPARK_ROWS", "10000000")
    session.run(
        "python", "-m", "pytest", "-n0", "tests/spark", *session.posargs, env={"ENTROPYLAW_SPARK_ROWS": rows}
    )


@nox.session(name="trl")
def trl_callback(session: nox.Session) -> None:
    """The callback in TRL's trainer: 30 steps of a tiny model with random weights, on the CPU."""
    session.install("-e", ".[test,trl]")
    # They warn of their own future.
    session.run("python", "-m", "pytest", "-o", "filterwarnings=default", "tests/trl", *session.posargs)


@nox.session
def bench(session: nox.Session) -> None:
    """Coverage and speed; writes the pages of docs/benchmarks. ``-- --full`` for many runs."""
    session.install("-e", ".[bench,test]")
    full = "--full" in session.posargs
    session.run("python", "-m", "benchmarks.table", "--seeds", "aside", "--runs", "400" if full else "40")
    session.run("python", "-m", "benchmarks.speed", "--write")
    session.run("python", "-m", "benchmarks.law_words", "--write", "--runs", "100" if full else "40")
    session.run("python", "-m", "benchmarks.states", "--write", "--runs", "200" if full else "40")
    session.run("python", "-m", "benchmarks.forecasts", "--left-out", "--write")
    session.run("python", "-m", "benchmarks.replay", "--left-out", "--write")
    session.run("python", "-m", "benchmarks.arms", "--write")
    session.run("python", "-m", "benchmarks.phases", "--write", "--runs", "1000" if full else "200")
    session.run("python", "-m", "benchmarks.samples", "--write", "--draws", "8000" if full else "800")
    session.run("python", "-m", "benchmarks.tokens", "--write", *(["--full"] if full else []))
    session.run("python", "-m", "benchmarks.report", "--write", *([] if full else ["--runs", "100"]))
    session.run("python", "-m", "benchmarks.startup", "--write")
    session.run("python", "-m", "benchmarks.evidence", "--write")
    session.run("python", "-m", "benchmarks.outliers", "--write", *([] if full else ["--runs", "40"]))
    # wandb 0.30 removed its reader in Python.
    session.install("wandb<0.30", "tensorboard", "pandas")
    session.run("python", "-m", "benchmarks.readers", "--write", *(["--full"] if full else []))


@nox.session
def docs(session: nox.Session) -> None:
    """Build the site, strictly, and look for links that lead nowhere. ``-- --write`` regenerates pages first.

    That is all that is made from the code: commands, formats, trainers, outputs in README and guide.
    """
    session.install("-e", ".[docs,tokens]")
    if "--write" in session.posargs:
        session.run("python", "docs/generate.py")
    session.run("python", "docs/website.py")


@nox.session
def release(session: nox.Session) -> None:
    """Build wheel and sdist, check them, and try each in a clean environment; prints their sizes."""
    session.install(*PROJECT["optional-dependencies"]["release"])
    session.run("python", "docs/release.py")

"""Python's function for one log: columns by name, and the refusal of several runs."""

from collections import UserDict

import pandas as pd
import pytest

import entropylaw
from tests.hostile import refused
from tests.typed import write_csv


def test_named_columns_are_used(tmp_path):
    log = write_csv(tmp_path / "x.csv", header="zork,ent,acc")
    with pytest.raises(entropylaw.InputError, match="no step column"):
        entropylaw.fit(log, entropy="ent", reward="acc")
    for source in (log, pd.read_csv(log)):
        assert entropylaw.fit(source, step="zork", entropy="ent", reward="acc").law.n == 40


def test_several_runs_are_named_and_so_is_their_source(tmp_path):
    table = pd.read_csv(write_csv(tmp_path / "x.csv"))
    both = pd.concat([table.assign(arm="a"), table.assign(arm="b")])
    both.to_csv(tmp_path / "both.csv")
    for source, name in ((both, "the table"), (tmp_path / "both.csv", "both.csv")):
        with pytest.raises(entropylaw.InputError, match=f"{name} holds 2 runs: a, b") as caught:
            entropylaw.fit(source, run="arm")
        assert caught.value.slug == "several-runs"


class BadPath:
    """A path that raises when it is asked for its name."""

    def __fspath__(self):
        raise ZeroDivisionError


class BadObject:
    """Raises for every attribute."""

    def __getattr__(self, name):
        raise ZeroDivisionError


class BadTable:
    """A table that raises for its columns' values."""

    columns = ("step", "reward")

    def __getitem__(self, name):
        raise ZeroDivisionError


class BadItems(UserDict):
    """A mapping without items."""

    def items(self):
        raise ZeroDivisionError


@pytest.mark.parametrize(
    ("call", "kind", "slug"),
    [
        (entropylaw.load, BadPath, "bad-argument"),
        (entropylaw.read_runs, BadObject, "frame-not-understood"),
        (entropylaw.read_runs, BadTable, "frame-not-understood"),
        (entropylaw.compare, BadItems, "bad-argument"),
    ],
)
def test_an_argument_that_raises_errors_of_its_own_is_named(call, kind, slug):
    refused(slug, call, kind(), kind=entropylaw.UsageError)

"""A plugin of pytest: notes which tests are skipped, or runs those alone that were skipped before.

``SKIPPED`` is the file of their names. It is written where it does not exist when the session begins.
"""

import os
from pathlib import Path

import pytest

NAMES = Path(os.environ["SKIPPED"])


def pytest_configure(config: pytest.Config) -> None:
    """Choose between the two."""
    plugin = Again(set(NAMES.read_text("utf-8").splitlines())) if NAMES.exists() else Noted()
    config.pluginmanager.register(plugin)


class Noted:
    """Notes the skipped tests, and the modules that are skipped as a whole."""

    def __init__(self) -> None:
        self.names: list[str] = []

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Of a test."""
        if report.skipped:
            self.names.append(report.nodeid)

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        """Of a module."""
        if report.skipped:
            self.names.append(report.nodeid)

    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        """Write the names, where all tests have ended."""
        if not hasattr(session.config, "workerinput"):
            NAMES.write_text("\n".join(self.names), "utf-8")


class Again:
    """Runs those tests alone."""

    def __init__(self, names: set[str]) -> None:
        self.names = names

    def pytest_ignore_collect(self, collection_path: Path, config: pytest.Config) -> bool | None:
        """Collect no other module."""
        files = {name.partition("::")[0] for name in self.names}
        path = collection_path.relative_to(config.rootpath).as_posix()
        return True if collection_path.name.startswith("test_") and path not in files else None

    def pytest_collection_modifyitems(self, config: pytest.Config, items: list[pytest.Item]) -> None:
        """Keep those that were skipped, alone or with their module."""
        items[:] = [item for item in items if {item.nodeid, item.nodeid.partition("::")[0]} & self.names]

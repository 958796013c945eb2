"""What the tests with real tools share."""

import warnings

import pytest

pytest.register_assert_rewrite("tests.oracles.trace")

from tests.oracles.trace import trace  # noqa: E402  once its assertions can say what differs


def pytest_collection_modifyitems(items):
    """The tools warn about their own dependencies; that is not for this project to mend."""
    for item in items:
        if "oracles" in item.path.parts:
            item.add_marker(pytest.mark.filterwarnings("ignore"))


@pytest.fixture(scope="session")
def run():
    """The run that every tool writes."""
    return trace()


@pytest.fixture
def need():
    """Import a module or skip the test, whatever the module has to warn of."""

    def module(name):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return pytest.importorskip(name, exc_type=ImportError)

    return module
